package convert

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"dumptool/internal/format"
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

// elements are n stored elements in the order in which they are written.
type elements struct {
	layout.Source
	dtype tensor.DType
	n     int64
	// openAnother opens an independent reader of the same elements for another goroutine, nil if there
	// can be only one reader.
	openAnother func(*layout.Buffers) (layout.Source, error)
	// verify compares the checksum after all elements were read; nil if reading already compares
	// it.
	verify func() error
}

// verifyChecksum compares the checksum, after the elements have been read.
func (e *elements) verifyChecksum() error {
	if e.verify == nil {
		return nil
	}
	return e.verify()
}

// storedElements returns the first n elements of a tensor.
func storedElements(t *tensorfile.Tensor, n int64) elements {
	src := elements{Source: t.Elements(), dtype: t.DType, n: n}
	if isRandomAccess(t) {
		src.openAnother = func(*layout.Buffers) (layout.Source, error) { return t.Elements(), nil }
	}
	return src
}

// storedBytes returns the first size bytes of data.
func storedBytes(data *io.SectionReader, size int64) elements {
	bytes := tensorfile.Tensor{Tensor: format.Tensor{Tensor: tensor.Tensor{DType: tensor.Uint8, Size: size, Data: data}}}
	return storedElements(&bytes, size)
}

// encoding is the form of elements in a file: a header, then every block of elements encoded.
type encoding struct {
	header []byte
	lead   int64 // number of elements with the size of the header
	encode func(block []byte) []byte
	host   tensor.Host // type of encoded elements, if they are decoded
	unit   int64       // bytes of each element in the file, 0 if they vary
}

// newEncoding returns the encoding of elements of a type in a file of type to. The result of encode is
// valid until the next call.
func (m *memory) newEncoding(to Type, dtype tensor.DType, shape tensor.Shape) (encoding, error) {
	if to == Bin {
		enc := encoding{encode: m.newPacker(dtype)}
		if !dtype.IsPacked() {
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
		host := resize(&m.out, int64(len(block)/dec.UnitSize()*dec.Host().Size()))
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

// newPacker returns the encoder of stored elements, which packs sub-byte types.
func (m *memory) newPacker(dtype tensor.DType) func([]byte) []byte {
	if !dtype.IsPacked() {
		return func(block []byte) []byte { return block }
	}
	return func(codes []byte) []byte {
		size, _ := dtype.Bytes(int64(len(codes)))
		packed := resize(&m.out, size)
		clear(packed)
		tensor.Pack(packed, codes, dtype)
		return packed
	}
}

// write writes elements to a file of type to, completely or not at all.
func (c *conversion) write(path string, to Type, src elements, shape tensor.Shape) error {
	enc, err := c.mem.newEncoding(to, src.dtype, shape)
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
	case c.canSplit(f, src, enc):
		err = c.fillParts(f, src, enc, func(m *memory) (encoding, error) { return m.newEncoding(to, src.dtype, shape) })
	default:
		err = c.writeArray(f, src, enc)
	}
	if err == nil {
		err = src.verifyChecksum()
	}
	if err != nil {
		return err
	}
	return f.Commit()
}

// fillTorch writes a file of PyTorch, which continues after the elements.
func (c *conversion) fillTorch(f io.Writer, src elements, enc encoding, shape tensor.Shape) error {
	w, err := torch.NewWriter(f, enc.host, shape)
	if err != nil {
		return err
	}
	enc.lead = w.PrefixLength()
	if err := c.writeArray(w, src, enc); err != nil {
		return err
	}
	return w.Close()
}

// writeArray writes the header and the elements sequentially.
func (c *conversion) writeArray(w io.Writer, src elements, enc encoding) error {
	if len(enc.header) > 0 {
		if _, err := w.Write(enc.header); err != nil {
			return err
		}
	}
	return c.eachBlock(c.mem, src, enc, 0, src.n, func(out []byte, _ int64) error {
		_, err := w.Write(out)
		return err
	})
}

// blockBytes is the approximate number of bytes read or written at once: large enough to need few
// system calls, small enough to stay in the second-level cache between reading and writing.
const blockBytes = 512 << 10

// blockLength returns the number of elements of unit bytes to encode at once.
func (e *encoding) blockLength(unit int) int64 {
	size := max(int64(unit), e.unit)
	if e.unit == 0 || size == 0 {
		return layout.BlockElements
	}
	return layout.BlockElements * max(1, blockBytes/(layout.BlockElements*size))
}

// eachBlock calls write with the encoded elements [first, end) of src, block by block, with the index of
// the first element. The first block is shorter by enc.lead elements, so that writes end at
// multiples of a block in the file, which is faster than unaligned writes.
func (c *conversion) eachBlock(mem *memory, src elements, enc encoding, first, end int64, write func(out []byte, first int64) error) error {
	unit := int64(src.dtype.UnitSize())
	whole := enc.blockLength(int(unit))
	for first < end {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		next := min((first+enc.lead)/whole*whole+whole-enc.lead, end)
		block := resize(&mem.in, (next-first)*unit)
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

// memory is the memory for converting one file, reused for the next one.
type memory struct {
	layout              layout.Buffers
	in, out, text, head []byte
}

func exists(path string) bool {
	_, err := store.Stat(path)
	return err == nil
}

// resize returns a slice of n bytes, reusing the memory of b if it suffices.
func resize(b *[]byte, n int64) []byte {
	*b = slices.Grow((*b)[:0], int(n))
	return (*b)[:n]
}

// writeUnchanged writes a tensor in its stored order.
func (c *conversion) writeUnchanged(row *Row, t *tensorfile.Tensor, name namer) error {
	shape, err := t.StoredShape()
	if err != nil {
		return err
	}
	return c.saveStored(t, product{Row: row, shape: shape, format: t.Format, dtype: binDType(t.DType)}, name)
}

// saveStored writes a product with the stored elements in their order.
func (c *conversion) saveStored(t *tensorfile.Tensor, p product, name namer) error {
	n := p.shape.Elements()
	if c.run.opt.Type == Bin {
		size, _ := t.DType.Bytes(n)
		return c.save(p, storedBytes(t.Data, size), name)
	}
	return c.save(p, storedElements(t, n), name)
}

// savePlanned writes the result of a plan.
func (c *conversion) savePlanned(t *tensorfile.Tensor, p product, plan *layout.Plan, name namer) error {
	if plan.Copies() {
		return c.saveStored(t, p, name)
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
		src.Source = &lazySource{open: func() (layout.Source, error) { return open(&c.mem.layout) }}
	}
	if isRandomAccess(t) {
		src.openAnother = open
	}
	return c.save(p, src, name)
}

// save writes a product to its file, unless an existing file is kept.
func (c *conversion) save(p product, src elements, name namer) error {
	if c.run.opt.Type == Safetensors {
		return c.addPending(p, src)
	}
	ready, err := c.claimOutput(p.Row, name(p))
	if err != nil || !ready {
		return err
	}
	return c.write(p.Path, c.run.opt.Type, src, p.shape)
}

// binDType returns the element type in the name of a .bin file: numpy's name if the stored elements
// have a numpy type.
func binDType(d tensor.DType) string {
	if dec, err := tensor.NewDecoder(d); err == nil && (dec.Identity() || d == tensor.Bool) {
		return dec.Host().String()
	}
	return d.String()
}

// LayoutOptions are the facts about layouts that files do not record.
type LayoutOptions struct {
	// Order is the axis order of original shapes, if not recorded.
	Order *tensor.Format
	// C0 is the channel block of the device layouts to make.
	C0 int64
	// Groups overrides the groups of FRACTAL_Z tensors.
	Groups int64
	// ShapeOf finds the host shape of a tensor whose file does not record it, and names the graph with the shape. The
	// shape is nil if no graph has it.
	ShapeOf func(ctx context.Context, file string, t *tensorfile.Tensor) (shape tensor.Shape, graph string)
	// HiddenSize and InputSize are attributes of RNN layouts.
	HiddenSize, InputSize int64
}

// convertLayout converts a tensor to the target format and writes it.
func (c *conversion) convertLayout(row *Row, t *tensorfile.Tensor, name namer) error {
	shape, err := c.storedShape(t)
	if err != nil {
		return err
	}
	opt := &c.run.opt
	if opt.Custom.Has(t.Format, *opt.Target) {
		var unusable *unusableError
		err := c.convertCustom(row, t, shape, name)
		if !errors.As(err, &unusable) {
			return err
		}
		row.Warnings = append(row.Warnings, lang.Say("%v: the built-in converter is used", err))
	}
	request := layout.Request{
		DType: t.DType, Source: t.Format, Shape: shape, C0: t.C0, Groups: cmp.Or(opt.Groups, t.Groups),
		Original: t.OriginalShape, OriginalFormat: t.OriginalFormat,
		Target: *opt.Target, TargetShape: opt.Shape, Order: opt.Order, TargetC0: opt.C0,
		HiddenSize: opt.HiddenSize, InputSize: opt.InputSize,
	}
	plan, err := layout.NewPlan(request)
	if missing := (*layout.MissingError)(nil); errors.As(err, &missing) {
		var from string
		if opt.ShapeOf != nil {
			request.Original, from = opt.ShapeOf(c.ctx, c.job.Path(), t)
		}
		if request.Original != nil {
			row.Warnings = append(row.Warnings, lang.Say("the original shape %v comes from the graph %s", request.Original, from))
			plan, err = layout.NewPlan(request)
		}
	}
	if err != nil {
		return err
	}
	row.Warnings = append(row.Warnings, plan.Warnings...)
	p := product{Row: row, shape: plan.Shape, format: plan.Format, converted: true, dtype: binDType(t.DType)}
	return c.savePlanned(t, p, plan, name)
}

// storedShape returns the shape of the stored elements for a conversion: bytes of undefined type count
// as elements if the shape has exactly as many.
func (c *conversion) storedShape(t *tensorfile.Tensor) (tensor.Shape, error) {
	shape, err := t.StoredShape()
	if err == nil && t.DType == tensor.Undefined && len(t.Shape) > 0 {
		if n, ok := t.Shape.Count(); ok && n == t.Size {
			return t.Shape, nil
		}
	}
	return shape, err
}

// convertCustom converts a tensor with the user's own converter.
func (c *conversion) convertCustom(row *Row, t *tensorfile.Tensor, shape tensor.Shape, name namer) error {
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
		pair: formatPair{t.Format, *c.run.opt.Target}, In: in, Out: out, ShapeFrom: shape, ShapeTo: to, Group: t.Groups,
	}); err != nil {
		return err
	}
	f, err := tensorfile.Open(out, tensorfile.Options{})
	if err != nil {
		return lang.Errorf("the converter's result: %w", err)
	}
	defer f.Close()
	result := &f.Tensors[0]
	p := product{Row: row, shape: result.Shape, format: *c.run.opt.Target, converted: true, dtype: binDType(result.DType)}
	crop, err := cropTo(result.Shape, to)
	if err != nil {
		row.Warnings = append(row.Warnings, lang.Error(err))
	}
	p.shape = crop.Shape
	return c.savePlanned(result, p, crop, name)
}

// cropTo crops the padding off the result of a user's converter, which may be larger than the
// wanted host shape. A result with the wanted number of elements is not cropped, since only the
// order of its axes may differ. A result that cannot be cropped is returned with an error.
func cropTo(got, want tensor.Shape) (*layout.Plan, error) {
	if len(want) == 0 || got.Elements() == want.Elements() {
		return &layout.Plan{Shape: got}, nil
	}
	plan, err := layout.Crop(got, want)
	if err != nil {
		return &layout.Plan{Shape: got}, lang.Errorf("the converter returned %v, which cannot be cut to %v: used unchanged", got, want)
	}
	return plan, nil
}

const (
	// partElements is the number of elements in a part of a tensor. Several parts are converted at
	// a time. It is a multiple of a block, and much larger than the window of a layout.Reader.
	partElements = 64 * layout.BlockElements
	// fewParts is the minimum number of parts.
	fewParts = 4
	// partMemory is the approximate memory for converting a part, in bytes.
	partMemory = 1<<20 + layout.BufferBytes
)

// isRandomAccess reports whether several goroutines can read a tensor at different offsets: it is
// stored in a file, not compressed in an archive.
func isRandomAccess(t *tensorfile.Tensor) bool {
	if t.Data == nil {
		return false
	}
	file, _ := store.Origin(t.Data, 0)
	_, ok := file.(store.Source)
	return ok
}

// canSplit reports whether a tensor is large enough for several workers and its file allows writes
// at any offset.
func (c *conversion) canSplit(f *safefile.File, src elements, enc encoding) bool {
	return src.n >= fewParts*partElements && src.openAnother != nil && enc.unit > 0 && cap(c.run.slots) > 1 && f.CanWriteAt()
}

// fillParts writes a file like fill, with all free workers: each writes parts of the tensor at
// their offsets. The caller's slot is free meanwhile. The error is from the first failed part.
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
		k := int64(0) // the current part
		guard.Go(func() error {
			p := partWorker{conversion: c, file: f, src: src, header: int64(len(enc.header)), encoder: encoder}
			defer p.close()
			for k = next.Add(1) - 1; k < count && !failed.Load(); k = next.Add(1) - 1 {
				if err := p.writeElements(max(0, k*partElements-enc.lead), min((k+1)*partElements-enc.lead, src.n)); err != nil {
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

// partWorker converts parts of a tensor in one worker.
type partWorker struct {
	*conversion
	file    *safefile.File
	src     elements
	header  int64 // bytes before the elements
	encoder func(*memory) (encoding, error)

	enc encoding
	mem *memory // nil before the first part
}

// open opens a reader and an encoding for this worker.
func (p *partWorker) open() (err error) {
	p.mem = p.conversion.run.memory.Get().(*memory)
	if p.enc, err = p.encoder(p.mem); err == nil {
		p.src.Source, err = p.src.openAnother(&p.mem.layout)
	}
	return err
}

func (p *partWorker) close() {
	if p.mem != nil {
		p.conversion.run.memory.Put(p.mem)
	}
}

// writeElements writes the elements [first, end).
func (p *partWorker) writeElements(first, end int64) error {
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
	return p.eachBlock(p.mem, p.src, p.enc, first, end, func(out []byte, first int64) error {
		_, err := p.file.WriteAt(out, p.header+first*p.enc.unit)
		return err
	})
}
