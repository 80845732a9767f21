package align

import (
	"context"
	"fmt"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

// CheckPadding checks that everything that was cut off the NPU tensor is zero:
// the whole tensor must not have more elements that are not zero than the part
// that was compared, of which res is the result. The error is a PaddingError if
// it is not.
func (a *Alignment) CheckPadding(ctx context.Context, res *metrics.Result) error {
	if !a.cropped {
		return nil
	}
	whole := a.NPU
	whole.then = nil
	used, err := whole.nonZero(ctx, count(whole.Shape))
	if err != nil {
		return err
	}
	kept := res.Total - res.NPU.Zeros
	if a.Partial {
		if kept, err = a.NPU.nonZero(ctx, count(a.Ref.Shape)); err != nil {
			return err
		}
	}
	if used != kept {
		return &PaddingError{whole.Shape, used - kept}
	}
	return nil
}

// nonZero counts the elements that are not zero among the n of a view.
func (v *View) nonZero(ctx context.Context, n int64) (used int64, err error) {
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
			used += nonZero(complexes[:k])
		} else {
			tensor.Float64s(reals[:k], decoded, dec.Host())
			used += nonZero(reals[:k])
		}
	}
	return used, nil
}

func nonZero[T float64 | complex128](values []T) (n int64) {
	for _, v := range values {
		if v != 0 {
			n++
		}
	}
	return n
}

// PaddingError says that what was cut off an NPU tensor is not padding.
type PaddingError struct {
	Shape tensor.Shape
	Count int64
}

func (e *PaddingError) Error() string {
	return fmt.Sprintf("%d elements of the padding of the NPU tensor %v are not zero", e.Count, e.Shape)
}
