package tensorfile

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"

	"dumptool/internal/guard"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

// Elements reads the stored elements of a tensor by position, packed ones
// unpacked to a byte each. It is a layout.Source; it serves one goroutine.
type Elements struct {
	t      *Tensor
	unit   int64
	packed []byte
}

// Elements returns a reader of the stored elements.
func (t *Tensor) Elements() *Elements {
	return &Elements{t: t, unit: int64(t.DType.UnitSize())}
}

// Blocks reads the first n stored elements of the tensor; see layout.Blocks.
func (t *Tensor) Blocks(ctx context.Context, n int64, buf *[]byte) iter.Seq2[[]byte, error] {
	return layout.Blocks(ctx, t.Elements(), n, t.DType.UnitSize(), buf)
}

// Stats returns the statistics of the stored elements of a shape, of which Stored
// has checked that the file holds them. The elements are read in blocks into buf,
// which grows. The error may be a *tensor.UnsupportedType.
func (t *Tensor) Stats(ctx context.Context, shape tensor.Shape, buf *[]byte) (*tensor.Stats, error) {
	return t.stats(ctx, shape, buf, tensor.NewAccumulator)
}

// StatsAndNorm is Stats with the norm too, which takes longer.
func (t *Tensor) StatsAndNorm(ctx context.Context, shape tensor.Shape, buf *[]byte) (*tensor.Stats, error) {
	return t.stats(ctx, shape, buf, tensor.NewNormAccumulator)
}

func (t *Tensor) stats(ctx context.Context, shape tensor.Shape, buf *[]byte, accumulator func(tensor.DType) (*tensor.Accumulator, error)) (stats *tensor.Stats, err error) {
	err = guard.Do(func() error {
		elements, err := accumulator(t.DType)
		if err != nil {
			return err
		}
		for block, err := range t.Blocks(ctx, shape.Elements(), buf) {
			if err != nil {
				return err
			}
			elements.Add(block)
		}
		all := elements.Stats()
		stats = &all
		return nil
	})
	return stats, err
}

// ReadElements fills dst with the elements from first on. What panics in a reader of
// a format is an error here, whatever reads the elements.
func (e *Elements) ReadElements(dst []byte, first int64) error {
	return guard.Do(func() error { return e.readElements(dst, first) })
}

func (e *Elements) readElements(dst []byte, first int64) error {
	if !e.t.DType.Packed() {
		return e.read(dst, first*e.unit)
	}
	n := int64(len(dst))
	per := int64(8 / e.t.DType.Bits())
	from, to := first/per, (first+n+per-1)/per
	e.packed = slices.Grow(e.packed[:0], int(to-from))[:to-from]
	if err := e.read(e.packed, from); err != nil {
		return err
	}
	tensor.Unpack(dst, e.packed, e.t.DType, first-from*per)
	return nil
}

// read fills dst with stored bytes, or says where the file ends.
func (e *Elements) read(dst []byte, off int64) error {
	n, err := e.t.Data.ReadAt(dst, off)
	if n == len(dst) {
		return nil
	}
	_, base, _ := e.t.Data.Outer()
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("at 0x%x: read %d bytes, want %d: %w", base+off, n, len(dst), err)
}
