package convert

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"dumptool/internal/format/npy"
	"dumptool/internal/format/torch"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// elements are stored elements, n of them, in the order in which they are
// written.
type elements struct {
	layout.Source
	dtype tensor.DType
	n     int64
	// another is a reader of the same elements for another goroutine, nil where it
	// would read what this one reads.
	another func(*layout.Buffers) (layout.Source, error)
	// verify compares what was read with its checksum at the end, nil where reading all
	// of it does.
	verify func() error
}

// check is the error of elements that do not fit their checksum, once they have been read.
func (e *elements) check() error {
	if e.verify == nil {
		return nil
	}
	return e.verify()
}

// storedElements are the first n elements of a tensor.
func storedElements(t *tensorfile.Tensor, n int64) elements {
	src := elements{Source: t.Elements(), dtype: t.DType, n: n}
	if isRandom(t) {
		src.another = func(*layout.Buffers) (layout.Source, error) { return t.Elements(), nil }
	}
	return src
}

// storedBytes are the first size bytes of data.
func storedBytes(data *io.SectionReader, size int64) elements {
	bytes := tensorfile.Tensor{Tensor: tensor.Tensor{DType: tensor.Uint8, Size: size, Data: data}}
	return storedElements(&bytes, size)
}

// encoding is how elements become the content of a file: a header, then every
// block of them encoded.
type encoding struct {
	header []byte
	lead   int64 // elements that take as many bytes as the header
	encode func(block []byte) []byte
	host   tensor.Host // of what is encoded, where it is decoded
	unit   int64       // bytes that each element has in the file, 0 where that differs
}

// encoding returns how elements of a type become a file of type to. What encode
// returns is valid until the next call.
func (m *memory) encoding(to Type, dtype tensor.DType, shape tensor.Shape) (encoding, error) {
	if to == Bin {
		enc := encoding{encode: m.packer(dtype)}
		if !dtype.Packed() {
			enc.unit = int64(dtype.UnitSize())
		}
		return enc, nil
	}
	dec, err := tensor.NewDecoder(dtype)
	if err != nil {
		return encoding{}, err
	}
	decode := func(block []byte) []byte {
		if dec.Identity() {
			return block
		}
		host := grown(&m.out, int64(len(block)/dec.UnitSize()*dec.Host().Size()))
		dec.Decode(host, block)
		return host
	}
	if to == Txt {
		return encoding{encode: func(block []byte) []byte {
			m.text = tensor.AppendText(m.text[:0], decode(block), dec.Host())
			return m.text
		}}, nil
	}
	if to == Pt || to == Safetensors {
		return encoding{encode: decode, host: dec.Host()}, nil
	}
	header, err := npy.AppendHeader(m.head[:0], dec.Host(), shape)
	unit := int64(dec.Host().Size())
	return encoding{header: header, lead: int64(len(header)) / unit, encode: decode, unit: unit}, err
}

// packer returns what stores elements: several to a byte where their type has
// it so.
func (m *memory) packer(dtype tensor.DType) func([]byte) []byte {
	if !dtype.Packed() {
		return func(block []byte) []byte { return block }
	}
	return func(codes []byte) []byte {
		size, _ := dtype.Bytes(int64(len(codes)))
		packed := grown(&m.out, size)
		clear(packed)
		tensor.Pack(packed, codes, dtype, 0)
		return packed
	}
}

// write writes elements to a file of type to, or leaves nothing behind.
func (c *conversion) write(path string, to Type, src elements, shape tensor.Shape) error {
	enc, err := c.mem.encoding(to, src.dtype, shape)
	if err != nil {
		return err
	}
	f, err := safefile.Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	f.Reserve(int64(len(enc.header)) + src.n*enc.unit)
	switch {
	case to == Pt:
		err = c.fillTorch(f, src, enc, shape)
	case c.isParted(f, src, enc):
		err = c.fillParts(f, src, enc, func(m *memory) (encoding, error) { return m.encoding(to, src.dtype, shape) })
	default:
		err = c.fill(f, src, enc)
	}
	if err == nil {
		err = src.check()
	}
	if err != nil {
		return err
	}
	return f.Commit()
}

// fillTorch writes a file of PyTorch, in which more follows the elements.
func (c *conversion) fillTorch(f io.Writer, src elements, enc encoding, shape tensor.Shape) error {
	w, err := torch.NewWriter(f, enc.host, shape)
	if err != nil {
		return err
	}
	enc.lead = w.Lead()
	if err := c.fill(w, src, enc); err != nil {
		return err
	}
	return w.Close()
}

// fill writes the header and the elements from front to back.
func (c *conversion) fill(w io.Writer, src elements, enc encoding) error {
	if len(enc.header) > 0 {
		if _, err := w.Write(enc.header); err != nil {
			return err
		}
	}
	return c.each(c.mem, src, enc, 0, src.n, func(out []byte, _ int64) error {
		_, err := w.Write(out)
		return err
	})
}

// blockBytes is how much of a file is read or written at once, if its elements allow:
// enough to make few calls of the system, and little enough to stay in the second
// level cache of the processor on the way from one file to the other.
const blockBytes = 512 << 10

// block is how many elements of unit bytes are encoded at once.
func (e *encoding) block(unit int) int64 {
	size := max(int64(unit), e.unit)
	if e.unit == 0 || size == 0 {
		return layout.BlockElements
	}
	return layout.BlockElements * max(1, blockBytes/(layout.BlockElements*size))
}

// each calls write with the encoded elements [first, end) of src, block by block and
// the number of the first element of each. The first block is shorter by as many
// elements as lie before it in the file, so that writes end at multiples of a block,
// which costs less than writes at odd places.
func (c *conversion) each(mem *memory, src elements, enc encoding, first, end int64, write func(out []byte, first int64) error) error {
	unit := int64(src.dtype.UnitSize())
	whole := enc.block(int(unit))
	for first < end {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		next := min((first+enc.lead)/whole*whole+whole-enc.lead, end)
		block := grown(&mem.in, (next-first)*unit)
		if err := src.ReadElements(block, first); err != nil {
			return err
		}
		if err := write(enc.encode(block), first); err != nil {
			return err
		}
		c.progress.add(int64(len(block)))
		first = next
	}
	return nil
}

// memory is what converting a file takes, kept for the next one.
type memory struct {
	layout              layout.Buffers
	in, out, text, head []byte
}

func exists(path string) bool {
	_, err := store.Stat(path)
	return err == nil
}

// grown returns a slice of n bytes, in the memory of b when it suffices.
func grown(b *[]byte, n int64) []byte {
	*b = slices.Grow((*b)[:0], int(n))
	return (*b)[:n]
}

// plain writes a tensor in the order in which it is stored.
func (c *conversion) plain(row *Row, t *tensorfile.Tensor, name namer) error {
	shape, err := t.Stored()
	if err != nil {
		return err
	}
	return c.saveStored(row, t, product{kind: row.Kind, index: row.Index, shape: shape, format: t.Format, dtype: binDType(t.DType)}, name)
}

// saveStored writes a product whose elements are the stored ones in their order.
func (c *conversion) saveStored(row *Row, t *tensorfile.Tensor, p product, name namer) error {
	n := p.shape.Elements()
	if c.run.opt.Type == Bin {
		size, _ := t.DType.Bytes(n)
		return c.save(row, p, storedBytes(t.Data, size), name)
	}
	return c.save(row, p, storedElements(t, n), name)
}

// savePlanned writes a product that a plan makes.
func (c *conversion) savePlanned(row *Row, t *tensorfile.Tensor, p product, plan *layout.Plan, name namer) error {
	if plan.Copies() {
		return c.saveStored(row, t, p, name)
	}
	open := func(buf *layout.Buffers) (layout.Source, error) {
		return plan.Reader(t.Elements(), t.DType.UnitSize(), buf)
	}
	r, err := open(&c.mem.layout)
	if err != nil {
		return err
	}
	src := elements{Source: r, dtype: t.DType, n: p.shape.Elements(), verify: t.Verify}
	if c.run.opt.Type == Safetensors {
		src.Source = &later{open: func() (layout.Source, error) { return open(&c.mem.layout) }}
	}
	if isRandom(t) {
		src.another = open
	}
	return c.save(row, p, src, name)
}

// save writes a product to the file that its name says, unless that is there
// already and is to be kept.
func (c *conversion) save(row *Row, p product, src elements, name namer) error {
	if c.run.opt.Type == Safetensors {
		return c.hold(row, p, src)
	}
	ready, err := c.claim(row, name(p))
	if err != nil || !ready {
		return err
	}
	return c.write(row.Path, c.run.opt.Type, src, p.shape)
}

// binDType is the element type in the name of a .bin file: numpy's name
// where the stored elements are those of a numpy type.
func binDType(d tensor.DType) string {
	if dec, err := tensor.NewDecoder(d); err == nil && (dec.Identity() || d == tensor.Bool) {
		return dec.Host().String()
	}
	return d.String()
}

// LayoutOptions say of layouts what files do not.
type LayoutOptions struct {
	// Order is the axis order of the original shapes where they do not record it.
	Order *tensor.Format
	// C0 is the channel block of device layouts to make.
	C0 int64
	// Groups overrides the groups of FRACTAL_Z tensors.
	Groups int64
	// HiddenSize and InputSize are attributes of RNN layouts.
	HiddenSize, InputSize int64
}

// reformat converts a tensor to the target format and writes it.
func (c *conversion) reformat(row *Row, t *tensorfile.Tensor, name namer) error {
	shape, err := c.stored(t)
	if err != nil {
		return err
	}
	opt := &c.run.opt
	if opt.Custom.Has(t.Format, *opt.Target) {
		var unusable *unusableError
		err := c.custom(row, t, shape, name)
		if !errors.As(err, &unusable) {
			return err
		}
		row.Warnings = append(row.Warnings, lang.Say("%v: the built-in converter is used", err))
	}
	plan, err := layout.NewPlan(layout.Request{
		DType: t.DType, Source: t.Format, Shape: shape, C0: t.C0, Groups: cmp.Or(opt.Groups, t.Groups),
		Original: t.OriginalShape, OriginalFormat: t.OriginalFormat,
		Target: *opt.Target, TargetShape: opt.Shape, Order: opt.Order, TargetC0: opt.C0,
		HiddenSize: opt.HiddenSize, InputSize: opt.InputSize,
	})
	if err != nil {
		return err
	}
	row.Warnings = append(row.Warnings, plan.Warnings...)
	p := product{kind: row.Kind, index: row.Index, shape: plan.Shape, format: plan.Format, converted: true, dtype: binDType(t.DType)}
	return c.savePlanned(row, t, p, plan, name)
}

// stored is the shape of the stored elements for a conversion: bytes of
// undefined type count as elements when the shape takes exactly all of them.
func (c *conversion) stored(t *tensorfile.Tensor) (tensor.Shape, error) {
	shape, err := t.Stored()
	if err == nil && t.DType == tensor.Undefined && len(t.Shape) > 0 {
		if n, ok := t.Shape.Count(); ok && n == t.Size {
			return t.Shape, nil
		}
	}
	return shape, err
}

// custom converts a tensor with the user's own converter.
func (c *conversion) custom(row *Row, t *tensorfile.Tensor, shape tensor.Shape, name namer) error {
	dir, err := os.MkdirTemp("", "dumptool-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	n := shape.Elements()
	in := filepath.Join(dir, "in.npy")
	if err := c.write(in, Npy, storedElements(t, n), tensor.Shape{n}); err != nil {
		return err
	}
	to := c.run.opt.Shape
	if len(to) == 0 {
		to = t.OriginalShape
	}
	out := filepath.Join(dir, "out.npy")
	if err := c.run.opt.Custom.convert(c.ctx, call{
		pair: pair{t.Format, *c.run.opt.Target}, In: in, Out: out, ShapeFrom: shape, ShapeTo: to, Group: t.Groups,
	}); err != nil {
		return err
	}
	f, err := tensorfile.Open(out, tensorfile.Options{})
	if err != nil {
		return lang.Errorf("the converter's result: %w", err)
	}
	defer f.Close()
	result := &f.Tensors[0]
	p := product{kind: row.Kind, index: row.Index, shape: result.Shape, format: *c.run.opt.Target, converted: true, dtype: binDType(result.DType)}
	crop, err := cropTo(result.Shape, to)
	if err != nil {
		row.Warnings = append(row.Warnings, lang.Error(err))
	}
	p.shape = crop.Shape
	return c.savePlanned(row, result, p, crop, name)
}

// cropTo cuts the padding off the result of a user's converter, which may return
// more than the host shape that it was asked for. A result that merely has its
// axes in another order is left alone, and so, with the error, is one that
// cannot be cut.
func cropTo(got, want tensor.Shape) (*layout.Plan, error) {
	if len(want) == 0 || got.Elements() == want.Elements() {
		return &layout.Plan{Shape: got}, nil
	}
	plan, err := layout.Crop(got, want)
	if err != nil {
		return &layout.Plan{Shape: got}, lang.Errorf("the converter returned %v, which cannot be cut to %v: left as it is", got, want)
	}
	return plan, nil
}

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
	file, _ := store.Origin(t.Data, 0)
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
