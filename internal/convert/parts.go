package convert

import (
	"sync"
	"sync/atomic"

	"dumptool/internal/guard"
	"dumptool/internal/layout"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
)

const (
	// partElements is the number of elements of a part of a tensor, several of which
	// are converted at a time; a multiple of those of a block, and much more than the
	// window of a layout.Reader.
	partElements = 64 * layout.BlockElements
	// fewParts is how many parts are worth it.
	fewParts = 4
	// partMemory is about the memory that a part takes while it is converted.
	partMemory = 1<<20 + layout.BufferBytes
)

// isRandom reports whether several goroutines can read a tensor at different places:
// it is in a file as it is, and not packed by an archive.
func isRandom(t *tensorfile.Tensor) bool {
	if t.Data == nil {
		return false
	}
	file, _, _ := t.Data.Outer()
	_, ok := file.(store.Source)
	return ok
}

// isParted reports whether a tensor is large enough for more than one worker, and its
// file can be written at several places.
func (c *conversion) isParted(f *safefile.File, src elements, enc encoding) bool {
	return src.n >= fewParts*partElements && src.another != nil && enc.unit > 0 && cap(c.run.slots) > 1 && f.WritesAt()
}

// fillParts is fill by all workers that are free: each writes parts of the tensor to
// their places. The caller's place among the workers is one of those. The error is
// that of the first part that has one.
func (c *conversion) fillParts(f *safefile.File, src elements, enc encoding, encoder func(*memory) (encoding, error)) error {
	if _, err := f.WriteAt(enc.header, 0); err != nil {
		return err
	}
	<-c.run.slots
	defer func() { c.run.slots <- struct{}{} }()
	count := (src.n + enc.lead + partElements - 1) / partElements
	var next atomic.Int64
	var failed atomic.Bool
	errs := make([]error, count)
	var workers sync.WaitGroup
	for range min(int(count), cap(c.run.slots)) {
		workers.Add(1)
		k := int64(0) // the part that the worker is at
		guard.Go(func() error {
			p := part{conversion: c, file: f, src: src, header: int64(len(enc.header)), encoder: encoder}
			defer p.close()
			for k = next.Add(1) - 1; k < count && !failed.Load(); k = next.Add(1) - 1 {
				if err := p.run(max(0, k*partElements-enc.lead), min((k+1)*partElements-enc.lead, src.n)); err != nil {
					return err
				}
			}
			return nil
		}, func(err error) {
			if err != nil {
				errs[k] = err
				failed.Store(true)
			}
			workers.Done()
		})
	}
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// part is what a worker converts parts of a tensor with.
type part struct {
	*conversion
	file    *safefile.File
	src     elements
	header  int64 // bytes before the elements
	encoder func(*memory) (encoding, error)

	enc encoding
	mem *memory // nil before the first part
}

// open makes a reader and an encoding of the worker's own.
func (p *part) open() (err error) {
	p.mem = p.conversion.run.memory.Get().(*memory)
	if p.enc, err = p.encoder(p.mem); err == nil {
		p.src.Source, err = p.src.another(&p.mem.layout)
	}
	return err
}

func (p *part) close() {
	if p.mem != nil {
		p.conversion.run.memory.Put(p.mem)
	}
}

// run writes the elements [first, end).
func (p *part) run(first, end int64) error {
	r := p.conversion.run
	r.parts <- struct{}{}
	defer func() { <-r.parts }()
	r.slots <- struct{}{}
	defer func() { <-r.slots }()
	if p.mem == nil {
		if err := p.open(); err != nil {
			return err
		}
	}
	if converted, ok := p.src.Source.(*layout.Reader); ok {
		converted.Expect(first, end)
	}
	return p.each(p.mem, p.src, p.enc, first, end, func(out []byte, first int64) error {
		_, err := p.file.WriteAt(out, p.header+first*p.enc.unit)
		return err
	})
}
