package execute

import (
	"context"
	"math"
	"slices"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/record"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

const (
	// maxSamples is the maximum number of elements in the sample for maskLimit.
	maxSamples = 4096
	// An element of the reference is a mask if it is at most maskStart and its magnitude is
	// at least maskFactor times the median.
	maskStart, maskFactor = -9000, 64
)

// noiseRequest returns the noise request for a pair, nil if its type has no noise. Atol and Rtol
// are added, whatever the mode of the limits.
func noiseRequest(a *align.Alignment, row *record.Row) *noise.Request {
	t, ok := noise.TypeOf(a.NPU.DType)
	if !ok || a.Ref.DType.Host().Complex() {
		return nil
	}
	req := &noise.Request{Shape: a.Shape, Type: t, Mask: math.Inf(-1), Groups: noise.MaxGroups, Atol: row.Limits.Atol, Rtol: row.Limits.Rtol}
	if kind := tensor.Kind(row.Kind); kind.IsInput() || recompute.TypeOfOperator(row.OpType, row.Op).Start {
		req.Ref, req.NPU = a.Ref.DType, a.NPU.DType
	}
	return req
}

// measureNoise measures a pair. If the first pass finds masks in the reference, or elements beyond the range of the
// type whose values the float32 elements hold, it measures again without these elements.
func (e *executor) measureNoise(ctx context.Context, a *align.Alignment, row *record.Row, req metrics.Request) (*metrics.Result, error) {
	req.Noise = noiseRequest(a, row)
	res, err := e.measure(ctx, a, req)
	if err != nil || res.Noise == nil {
		return res, err
	}
	again := false
	if res.Ref.Min.IsDefined() && res.Ref.Min.Value() <= maskStart {
		if req.Noise.Mask, err = e.maskLimit(a, req); err != nil {
			return nil, err
		}
		again = !math.IsInf(req.Noise.Mask, -1)
	}
	if held, ok := res.Noise.HeldType(); ok && res.Noise.Grid.Saturated > 0 {
		t, _ := noise.TypeOf(held)
		req.Noise.Type.Max, again = t.Max, true
	}
	if again {
		res, err = e.measure(ctx, a, req)
	}
	return res, err
}

// maskLimit returns the threshold of masks, which is far below the usual elements; -inf without masks.
func (e *executor) maskLimit(a *align.Alignment, req metrics.Request) (float64, error) {
	var values []float64
	err := e.withReaders(a, func(r *align.Readers) (err error) {
		values, err = readSample(r.Ref, req.RefDType, req.Shape)
		return err
	})
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

// readSample reads at most sampled elements of a side, evenly spaced.
func readSample(from metrics.Reader, d tensor.DType, shape tensor.Shape) ([]float64, error) {
	total, _ := shape.Count()
	count, size := min(total, maxSamples), d.UnitSize()
	if count == 0 {
		return nil, nil
	}
	raw := make([]byte, int(count)*size)
	if total <= 4*maxSamples { // one read is cheaper than thousands
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
