package compare

import (
	"context"
	"fmt"

	"dumptool/internal/compare/engine"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

// checkPadding checks that everything that was cut off an NPU tensor is zero:
// the whole tensor must not have more elements that are not zero than the part
// that was compared.
func checkPadding(ctx context.Context, s *settled, res *engine.Result, version int) error {
	o, err := s.npu.place.open(version, s.npu.hint)
	if err != nil {
		return err
	}
	defer o.Close()
	whole := s.npu
	whole.then = nil
	used, err := whole.nonZero(ctx, o, count(whole.shape))
	if err != nil {
		return err
	}
	kept := res.Total - res.NPU.Zeros
	if s.partial {
		if kept, err = s.npu.nonZero(ctx, o, count(s.ref.shape)); err != nil {
			return err
		}
	}
	if used != kept {
		return &paddingError{whole.shape, used - kept}
	}
	return nil
}

// nonZero counts the elements that are not zero among the n of a view.
func (v *view) nonZero(ctx context.Context, o *opened, n int64) (used int64, err error) {
	reader, err := v.reader(o, [2]*layout.Buffers{new(layout.Buffers), new(layout.Buffers)})
	if err != nil {
		return 0, err
	}
	dec, err := tensor.NewDecoder(v.dtype)
	if err != nil {
		return 0, err
	}
	stored := make([]byte, engine.BlockElements*dec.UnitSize())
	host := make([]byte, engine.BlockElements*dec.Host().Size())
	numbers := make([]float64, 2*engine.BlockElements)
	for first := int64(0); first < n; first += engine.BlockElements {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		k := min(engine.BlockElements, n-first)
		part := stored[:k*int64(dec.UnitSize())]
		if err := reader.ReadElements(part, first); err != nil {
			return 0, err
		}
		decoded := host[:k*int64(dec.Host().Size())]
		dec.Decode(decoded, part)
		used += nonZero(decoded, dec.Host(), numbers)
	}
	return used, nil
}

// paddingError says that what was cut off an NPU tensor is not padding.
type paddingError struct {
	shape tensor.Shape
	count int64
}

func (e *paddingError) Error() string {
	return fmt.Sprintf("%d elements of the padding of the NPU tensor %v are not zero", e.count, e.shape)
}

// nonZero counts the elements that are not zero, into values.
func nonZero(host []byte, h tensor.Host, values []float64) int64 {
	parts := 1
	if h.Complex() {
		parts = 2
		h = map[tensor.Host]tensor.Host{tensor.HostComplex64: tensor.HostFloat32, tensor.HostComplex128: tensor.HostFloat64}[h]
	}
	values = values[:len(host)/h.Size()]
	tensor.Float64s(values, host, h)
	var n int64
	for i := 0; i < len(values); i += parts {
		if values[i] != 0 || values[i+parts-1] != 0 {
			n++
		}
	}
	return n
}
