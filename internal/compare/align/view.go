package align

import (
	"context"
	"iter"
	"sync"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/safefile"
	"dumptool/internal/tensor"
)

// View reads the elements of one side, through a plan or as stored.
type View struct {
	DType tensor.DType
	Shape tensor.Shape

	tensor *Tensor
	plan   *layout.Plan // nil for the stored elements
	// second is a second plan on the result of the first, nil for none.
	second *layout.Plan
}

// restrict restricts the reference to the part that the NPU tensor holds. Padding of the tensor, and
// slices that are not in the reference, are left out.
func (a *Alignment) restrict(part *record.Part) error {
	ref, npu := make([][]layout.Run, len(a.Ref.Shape)), make([][]layout.Run, len(a.NPU.Shape))
	besides := false
	for _, axis := range part.Axes {
		if axis.Axis < 0 || axis.Axis >= len(ref) || axis.Axis >= len(npu) {
			return lang.Errorf("a part of axis %d, but the tensor has %d axes", axis.Axis, len(ref))
		}
		at, left := int64(0), false
		to, from := &ref[axis.Axis], []layout.Run{}
		*to = []layout.Run{}
		for _, r := range axis.Runs {
			if r[0] >= 0 {
				*to, from = append(*to, layout.Run{From: r[0], N: r[1]}), append(from, layout.Run{From: at, N: r[1]})
			} else {
				left = true
			}
			at += r[1]
		}
		if left {
			npu[axis.Axis], besides = from, true
		}
	}
	plan, err := layout.Pick(a.Ref.Shape, ref)
	if err != nil {
		return err
	}
	a.Ref.second, a.Ref.Shape = plan, plan.Shape
	if besides {
		if plan, err = layout.Pick(a.NPU.Shape, npu); err != nil {
			return err
		}
		a.NPU.second, a.NPU.Shape = plan, plan.Shape
	}
	a.note(lang.Say("part of the reference: %s", part))
	return nil
}

// reader returns the elements of the view.
func (v *View) reader(buffers []layout.Buffers) (layout.Source, error) {
	src, err := v.tensor.elementReader()
	if err != nil {
		return nil, err
	}
	for i, plan := range []*layout.Plan{v.plan, v.second} {
		if plan == nil || plan.Copies() {
			continue
		}
		r, err := plan.Reader(src, v.DType.UnitSize(), &buffers[i])
		if err != nil {
			return nil, err
		}
		src = r
	}
	return src, nil
}

// Buffers keeps the memory of readers for the next pair. The zero value is ready.
type Buffers struct{ pool sync.Pool } // of *buffers

// buffers is the memory of one Readers.
type buffers struct {
	sides [4]layout.Buffers // two for each side, for its two plans
	block []byte            // for Blocks
}

// Readers reads both sides of a pair, in one goroutine.
type Readers struct {
	Ref, NPU metrics.Reader
	pool     *Buffers
	buffers  *buffers
}

// Readers returns readers of an open alignment. Each goroutine needs its own.
func (a *Alignment) Readers(from *Buffers) (*Readers, error) {
	r := &Readers{pool: from}
	if kept, ok := from.pool.Get().(*buffers); ok {
		r.buffers = kept
	} else {
		r.buffers = new(buffers)
	}
	var err error
	if r.Ref, err = a.Ref.reader(r.buffers.sides[:2]); err != nil {
		return nil, &SideError{reference, safefile.WithPath(a.Ref.path(), err)}
	}
	if r.NPU, err = a.NPU.reader(r.buffers.sides[2:]); err != nil {
		return nil, &SideError{NPUSide, safefile.WithPath(a.NPU.path(), err)}
	}
	if a.Kept != nil {
		r.Ref, r.NPU = &keptReader{r.Ref, a.Kept, a.Ref.DType.UnitSize()}, &keptReader{r.NPU, a.Kept, a.NPU.DType.UnitSize()}
	}
	return r, nil
}

// keptReader reads zeros in place of the elements that are not kept.
type keptReader struct {
	metrics.Reader
	kept []bool
	size int // of an element, in bytes
}

// ReadElements implements metrics.Reader.
func (r *keptReader) ReadElements(dst []byte, first int64) error {
	if err := r.Reader.ReadElements(dst, first); err != nil {
		return err
	}
	for i, kept := range r.kept[first : first+int64(len(dst)/r.size)] {
		if !kept {
			clear(dst[i*r.size : (i+1)*r.size])
		}
	}
	return nil
}

func (v *View) path() string { return v.tensor.file.Path }

// Expect announces that the elements [first, end) are read next, in order.
func (r *Readers) Expect(first, end int64) {
	for _, side := range []metrics.Reader{r.Ref, r.NPU} {
		if converted, ok := side.(*layout.Reader); ok {
			converted.Expect(first, end)
		}
	}
}

// Blocks reads all elements of the NPU's side, as layout.Blocks does.
func (a *Alignment) Blocks(ctx context.Context, r *Readers) iter.Seq2[[]byte, error] {
	count, _ := a.Shape.Count()
	return layout.Blocks(ctx, r.NPU, count, a.NPU.DType.UnitSize(), &r.buffers.block)
}

// Close returns the memory to the pool. The readers must not be used afterwards.
func (r *Readers) Close() { r.pool.pool.Put(r.buffers) }

// CheckPadding checks that all elements cut off the NPU tensor are zero: the whole tensor must not
// have more nonzero elements than the compared part with result res. Otherwise the error is a
// *PaddingError.
func (a *Alignment) CheckPadding(ctx context.Context, res *metrics.Result) error {
	if !a.isCropped {
		return nil
	}
	whole := a.NPU
	whole.second = nil
	used, err := whole.countNonZero(ctx, elementCount(whole.Shape))
	if err != nil {
		return err
	}
	kept := res.Total - res.NPU.Zeros
	if a.Partial || a.Kept != nil {
		if kept, err = a.NPU.countNonZero(ctx, elementCount(a.Ref.Shape)); err != nil {
			return err
		}
	}
	if used != kept {
		return &PaddingError{whole.Shape, used - kept}
	}
	return nil
}

// Verify checks the checksums of both tensors, after the comparison.
func (a *Alignment) Verify() error {
	for _, v := range []*View{&a.Ref, &a.NPU} {
		if err := v.tensor.Verify(); err != nil {
			return err
		}
	}
	return nil
}

// countNonZero counts the nonzero elements among the first n of a view.
func (v *View) countNonZero(ctx context.Context, n int64) (used int64, err error) {
	reader, err := v.reader(make([]layout.Buffers, 2))
	if err != nil {
		return 0, err
	}
	dec, err := tensor.NewDecoder(v.DType)
	if err != nil {
		return 0, err
	}
	var buf []byte
	host := make([]byte, layout.BlockElements*dec.Host().Size())
	reals, complexes := make([]float64, layout.BlockElements), make([]complex128, layout.BlockElements)
	for block, err := range layout.Blocks(ctx, reader, n, dec.UnitSize(), &buf) {
		if err != nil {
			return 0, err
		}
		k := len(block) / dec.UnitSize()
		decoded := host[:k*dec.Host().Size()]
		dec.Decode(decoded, block)
		if dec.Host().Complex() {
			tensor.Complex128s(complexes[:k], decoded, dec.Host())
			used += countNonZero(complexes[:k])
		} else {
			tensor.Float64s(reals[:k], decoded, dec.Host())
			used += countNonZero(reals[:k])
		}
	}
	return used, nil
}

func countNonZero[T float64 | complex128](values []T) (n int64) {
	for _, v := range values {
		if v != 0 {
			n++
		}
	}
	return n
}

// PaddingError says that elements cut off an NPU tensor are not padding.
type PaddingError struct {
	Shape tensor.Shape
	Count int64
}

func (e *PaddingError) Error() string { return e.Text().String() }

// Text returns the error in both languages.
func (e *PaddingError) Text() lang.Text {
	return lang.Say("%d elements of the padding of the NPU tensor %v are not zero", e.Count, e.Shape).Text()
}
