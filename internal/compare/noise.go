package compare

import (
	"context"
	"math"
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/compare/align"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

const (
	// noiseBudget is the memory of the groups of all pairs, groupSize that of a bin
	// of rows and one of channels.
	noiseBudget = 32 << 20
	groupSize   = 72
	// leastGroups and mostGroups bound the bins of a pair.
	leastGroups, mostGroups = 16, 256

	// sampled is the number of elements that are looked at before a pair is compared,
	// evenly spaced, and sampledPairs that of the pairs of a run.
	sampled, sampledPairs = 4096, 256
	// fewValues is the number of different values below which a tensor says nothing
	// about its type. Where all tensors of a run are such, fewPooled different values
	// of all together have to do.
	fewValues, fewPooled = 64, 16
	// agreement is the share of the tensors that must hold numbers of a type.
	agreement = 0.9
	// maskStart and maskFactor: an element of the reference is a mask from -9000 on,
	// if it is 64 times the median.
	maskStart, maskFactor = -9000, 64
)

// groups is how many bins of rows and channels a pair keeps.
func (p *Plan) groups() int {
	return min(max(noiseBudget/(max(len(p.Pairs), 1)*groupSize), leastGroups), mostGroups)
}

// effective is the type whose numbers the elements of an NPU tensor are in this run.
func (p *Plan) effective(d tensor.DType) tensor.DType {
	if d == tensor.Float32 && p.Effective != tensor.Undefined {
		return p.Effective
	}
	return d
}

// noiseRequest asks for the noise of a pair, nil where its type has none.
func (e *executor) noiseRequest(a *align.Alignment) *noise.Request {
	t, ok := noise.TypeOf(e.plan.effective(a.NPU.DType))
	if !ok || a.Ref.DType.Host().Complex() {
		return nil
	}
	return &noise.Request{Shape: a.Shape, Type: t, Mask: math.Inf(-1), Groups: e.plan.groups()}
}

// measureNoise measures a pair; once more where the reference has masks, which are to
// be left out, or the NPU's elements have more bits than the type that the run has in
// effect.
func (e *executor) measureNoise(ctx context.Context, a *align.Alignment, req metrics.Request) (*metrics.Result, lang.Sentence, error) {
	var note lang.Sentence
	req.Noise = e.noiseRequest(a)
	res, err := e.measure(ctx, a, req)
	if err != nil || res.Noise == nil {
		return res, note, err
	}
	again := false
	if res.Ref.Min.Defined && res.Ref.Min.Value <= maskStart {
		if req.Noise.Mask, err = e.maskLimit(a, req); err != nil {
			return nil, note, err
		}
		again = !math.IsInf(req.Noise.Mask, -1)
	}
	if own, _ := noise.TypeOf(a.NPU.DType); own != req.Noise.Type && res.Noise.Bits > req.Noise.Type.Mantissa {
		note = lang.Sayf("has more bits than %s, the type of the run in effect", "位数多于本次运行的有效类型 %s", req.Noise.Type.Name)
		req.Noise.Type, again = own, true
	}
	if again {
		res, err = e.measure(ctx, a, req)
	}
	return res, note, err
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

// effectiveTypes are those that arrays of float32 may hold, the coarsest first.
var effectiveTypes = []tensor.DType{tensor.BFloat16, tensor.Float16}

// findEffective finds out which type the arrays of float32 of the NPU hold in effect:
// tools that convert dumps store bfloat16 as float32. Some pairs all over the run are
// looked at; what cannot be read has its error when it is compared.
func (p *Plan) findEffective(ctx context.Context) {
	e := newExecutor(p)
	tried, fits := 0, make([]int, len(effectiveTypes))
	pairs := make([]*Pair, min(len(p.Pairs), sampledPairs))
	for k := range pairs {
		pairs[k] = &p.Pairs[k*len(p.Pairs)/len(pairs)]
	}
	var pooled []float64 // of tensors of few different values
	err := batch.Run(ctx, batch.Options{Workers: p.opt.Workers}, pairs, nil,
		func(_ context.Context, x *Pair) []float64 { return e.sampleNPU(x) },
		func(_ int, values []float64) {
			if !isVaried(values, fewValues) {
				pooled = append(pooled, values...)
				return
			}
			tried += fit(values, fits)
		})
	if err != nil {
		return
	}
	if tried == 0 && isVaried(pooled, fewPooled) {
		tried = fit(pooled, fits)
	}
	for i, d := range effectiveTypes {
		if tried > 0 && float64(fits[i]) >= agreement*float64(tried) {
			p.Effective = d
			return
		}
	}
}

// fit counts values that are numbers of each effective type.
func fit(values []float64, fits []int) (tried int) {
	for i, d := range effectiveTypes {
		if holds(values, d) {
			fits[i]++
		}
	}
	return 1
}

// sampleNPU samples the tensor of the NPU where it is of float32.
func (e *executor) sampleNPU(x *Pair) []float64 {
	if x.Row.Pair.Status != "" || x.Ref.Err != nil || x.NPU.Err != nil {
		return nil
	}
	if !x.NPU.Raw { // another type needs no look at the reference
		t, err := x.NPU.Open(e.opt.Version, tensorfile.RawHint{})
		if err != nil {
			return nil
		}
		t.Close()
		if t.DType != tensor.Float32 {
			return nil
		}
	}
	a, err := e.align(x, false)
	if err != nil {
		return nil
	}
	defer a.Close()
	if a.Status != "" || a.NPU.DType != tensor.Float32 {
		return nil
	}
	r, err := a.Readers(&e.buffers)
	if err != nil {
		return nil
	}
	defer r.Close()
	values, err := sample(r.NPU, a.NPU.DType, a.Shape)
	if err != nil {
		return nil
	}
	return values
}

// isVaried reports whether there are enough different values to tell a type by.
func isVaried(values []float64, enough int) bool {
	seen := map[float64]bool{}
	for _, x := range values {
		if seen[x] = true; len(seen) >= enough {
			return true
		}
	}
	return false
}

// holds reports whether all values are numbers of a type.
func holds(values []float64, d tensor.DType) bool {
	t, _ := noise.TypeOf(d)
	for _, x := range values {
		if math.Float64bits(x)<<(12+t.Mantissa) != 0 && !math.IsNaN(x) || math.Abs(x) > t.Max && !math.IsInf(x, 0) {
			return false
		}
	}
	return true
}
