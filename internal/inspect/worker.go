package inspect

import (
	"context"
	"errors"
	"strings"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// worker is the memory that statistics take, kept for the next file.
type worker struct {
	opt     Options
	in, out []byte
}

// file inspects one file.
func (w *worker) file(ctx context.Context, e tensorfile.Entry) *File {
	f := &File{Entry: e, Err: e.Err}
	f.Name, f.HasName = dumpfmt.ParseName(e.Name)
	if f.HasName {
		f.OpType, f.OpName = f.Name.OpType, f.Name.OpName
	}
	if f.Err != nil {
		return f
	}
	src, err := tensorfile.Open(e.Path, dumpfmt.Options{Version: w.opt.Version})
	if err != nil {
		f.fail(err)
		return f
	}
	defer src.Close()
	f.Warnings = src.Warnings
	f.describe(src)
	slices := f.slices(src.Dump)
	for i := range src.Tensors {
		t := w.tensor(ctx, f, &src.Tensors[i], slices)
		if errors.Is(t.Err, context.Canceled) {
			return &File{Entry: e, Err: t.Err}
		}
		if t.Kind == tensorfile.Input {
			f.Inputs = append(f.Inputs, t)
		} else {
			f.Outputs = append(f.Outputs, t)
		}
	}
	if len(f.Inputs)+len(f.Outputs)+len(f.Buffers)+len(f.Spaces) == 0 {
		f.Warnings = append(f.Warnings, "the dump holds no tensors")
	}
	return f
}

// fail notes the error of opening the file.
func (f *File) fail(err error) {
	notDump := errors.Is(err, dumpfmt.ErrNotDump)
	switch {
	case notDump && !f.HasName && !f.Entry.Alone && !isArrayName(f.Entry.Name):
		f.NotDump = true
	case notDump && isArrayName(f.Entry.Name):
		f.Err = errors.New(`not a .npy array: it does not begin with "\x93NUMPY" at 0x0`)
	default:
		f.Err = err
	}
}

// describe notes what the file says as a whole.
func (f *File) describe(src *tensorfile.File) {
	d := src.Dump
	if d == nil {
		f.Container = "npy"
		return
	}
	f.Container = d.Container.String()
	f.OpDebug = src.IsRecord(f.Entry.Name)
	if d.OpName != "" {
		f.OpName = d.OpName
	}
	f.DumpTime = d.DumpTime
	// The name of an exception dump, which names no operator, has a date instead.
	if f.DumpTime == 0 && f.Name.OpName != "" {
		f.DumpTime = f.Name.Timestamp
	}
	f.Buffers, f.Spaces = blobs(d.Buffers), blobs(d.Spaces)
}

func blobs(list []dumpfmt.Blob) []Blob {
	var all []Blob
	for _, b := range list {
		all = append(all, Blob{b.Type, b.Size})
	}
	return all
}

// slices returns the shapes of the thread's part by kind of tensor, nil for an
// operator that was not sliced by threads.
func (f *File) slices(d *dumpfmt.Dump) map[tensorfile.Kind][]tensor.Shape {
	if d == nil {
		return nil
	}
	inputs, outputs, ok, err := dumpfmt.ThreadSlices(d, f.Name)
	if err != nil {
		f.Warnings = append(f.Warnings, strings.TrimPrefix(err.Error(), "dumpfmt: "))
	}
	if !ok {
		return nil
	}
	f.Sliced = true
	return map[tensorfile.Kind][]tensor.Shape{tensorfile.Input: inputs, tensorfile.Output: outputs}
}

// tensor inspects one tensor.
func (w *worker) tensor(ctx context.Context, f *File, src *tensorfile.Tensor, slices map[tensorfile.Kind][]tensor.Shape) Tensor {
	t := Tensor{Tensor: src.Tensor, Kind: src.Kind, Index: src.Index, Err: src.Err}
	t.Data = nil
	if list := slices[t.Kind]; t.Index < len(list) {
		t.Slice = list[t.Index]
	}
	switch {
	case t.Err != nil:
	case f.OpDebug && t.Kind == tensorfile.Output:
		if t.Record, t.Err = src.Record(); t.Err == nil {
			f.Warnings = append(f.Warnings, t.Record.Warnings...)
		}
	default:
		w.elements(ctx, src, &t)
	}
	return t
}

// elements checks that the bytes hold the elements and gathers statistics.
func (w *worker) elements(ctx context.Context, src *tensorfile.Tensor, t *Tensor) {
	if t.Slice != nil && !holds(src, src.Shape) {
		src.Shape = t.Slice
	}
	shape, err := src.Stored()
	var noElements *tensor.UnsupportedType
	switch {
	case errors.As(err, &noElements) && !w.opt.Stats:
	case err != nil:
		t.Err = err
	case w.opt.Stats:
		t.Stats, t.Err = w.stats(ctx, src, shape)
	}
}

// holds reports whether the bytes of a tensor suffice for a shape.
func holds(t *tensorfile.Tensor, shape tensor.Shape) bool {
	n, ok := shape.Count()
	if !ok {
		return false
	}
	need, ok := t.DType.Bytes(n)
	return ok && need <= t.Size
}

// Statistics are gathered over blocks of elements, of 16 bytes at most.
const (
	blockElements = 64 << 10
	maxBlock      = 16 * blockElements
)

// stats reads a tensor of the given shape once.
func (w *worker) stats(ctx context.Context, t *tensorfile.Tensor, shape tensor.Shape) (*tensor.Summary, error) {
	dec, err := tensor.NewDecoder(t.DType)
	if err != nil {
		return nil, err
	}
	n, _ := shape.Count() // Stored has checked it
	src, stats := t.Elements(), tensor.NewStats(dec.Host())
	for first := int64(0); first < n; first += blockElements {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		count := int(min(blockElements, n-first))
		block := grown(&w.in, count*dec.UnitSize())
		if err := src.ReadElements(block, first); err != nil {
			return nil, err
		}
		if !dec.Identity() {
			host := grown(&w.out, count*dec.Host().Size())
			dec.Decode(host, block)
			block = host
		}
		stats.Add(block)
	}
	sum := stats.Summary()
	return &sum, nil
}

// grown returns a slice of n bytes, in the memory of b when it suffices.
func grown(b *[]byte, n int) []byte {
	if cap(*b) < n {
		*b = make([]byte, n)
	}
	return (*b)[:n]
}
