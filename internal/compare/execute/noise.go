package execute

import (
	"context"
	"math"
	"slices"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/tensor"
)

const (
	// sampled is the number of elements that are looked at for masks, evenly spaced.
	sampled = 4096
	// maskStart and maskFactor: an element of the reference is a mask from -9000 on,
	// if it is 64 times the median.
	maskStart, maskFactor = -9000, 64
)

// noiseRequest asks for the noise of a pair with the limits of its row, nil where its type
// has none. The limits are a sum here, whatever the mode of the row makes of them.
func noiseRequest(a *align.Alignment, limits metrics.Limits) *noise.Request {
	t, ok := noise.TypeOf(a.NPU.DType)
	if !ok || a.Ref.DType.Host().Complex() {
		return nil
	}
	return &noise.Request{Shape: a.Shape, Type: t, Mask: math.Inf(-1), Groups: noise.MaxGroups, Atol: limits.Atol, Rtol: limits.Rtol}
}

// measureNoise measures a pair; once more where the reference has masks, or elements
// beyond the range of the type whose numbers an array of float32 holds, which are to be
// left out: the first pass over all elements finds both.
func (e *executor) measureNoise(ctx context.Context, a *align.Alignment, req metrics.Request) (*metrics.Result, error) {
	req.Noise = noiseRequest(a, req.Limits)
	res, err := e.measure(ctx, a, req)
	if err != nil || res.Noise == nil {
		return res, err
	}
	again := false
	if res.Ref.Min.Defined() && res.Ref.Min.Value() <= maskStart {
		if req.Noise.Mask, err = e.maskLimit(a, req); err != nil {
			return nil, err
		}
		again = !math.IsInf(req.Noise.Mask, -1)
	}
	if held, ok := res.Noise.Held(); ok && res.Noise.Grid.Saturated > 0 {
		t, _ := noise.TypeOf(held)
		req.Noise.Type.Max, again = t.Max, true
	}
	if again {
		res, err = e.measure(ctx, a, req)
	}
	return res, err
}

// maskLimit is the largest element that is a mask, -inf for none: one far beyond the
// usual elements.
func (e *executor) maskLimit(a *align.Alignment, req metrics.Request) (float64, error) {
	r, err := a.Readers(&e.buffers)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	values, err := sample(r.Ref, req.RefDType, req.Shape)
	if err != nil {
		return 0, err
	}
	values = slices.DeleteFunc(values, func(x float64) bool { return !(x > maskStart) || math.IsInf(x, 0) })
	if len(values) == 0 {
		return maskStart, nil
	}
	for i := range values {
		values[i] = math.Abs(values[i])
	}
	slices.Sort(values)
	median := (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	return -max(-maskStart, maskFactor*median), nil
}

// sample reads at most 4096 elements of a side, evenly spaced.
func sample(from metrics.Reader, d tensor.DType, shape tensor.Shape) ([]float64, error) {
	total, _ := shape.Count()
	count, size := min(total, sampled), d.UnitSize()
	if count == 0 {
		return nil, nil
	}
	raw := make([]byte, int(count)*size)
	if total <= 4*sampled { // one read is cheaper than thousands
		whole := make([]byte, int(total)*size)
		if err := from.ReadElements(whole, 0); err != nil {
			return nil, err
		}
		for k := range count {
			copy(raw[int(k)*size:], whole[int(k*total/count)*size:][:size])
		}
	} else {
		for k := range count {
			// k*total would overflow for the largest tensors.
			at := k*(total/count) + k*(total%count)/count
			if err := from.ReadElements(raw[int(k)*size:][:size], at); err != nil {
				return nil, err
			}
		}
	}
	return metrics.Decode(d, raw)
}
