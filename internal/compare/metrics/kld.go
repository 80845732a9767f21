package metrics

import (
	"context"
	"math"

	"dumptool/internal/exact"
	"dumptool/internal/tensor"
)

// kldFloor is the smallest share of an element: the float32 epsilon, as in
// msaccucmp.
const kldFloor = 1.1920928955078125e-07

// kldEpsilon is what msaccucmp takes for no divergence, the float64 epsilon.
const kldEpsilon = 2.220446049250313e-16

// kldBlock is the number of elements that are read at a time.
const kldBlock = 1 << 16

// KLD returns the Kullback-Leibler divergence of two tensors as msaccucmp
// defines it: each side is scaled to 0..1 by its own minimum and maximum, raised
// to a floor, and divided by its sum; the result is the sum of p ln(p/q), p of
// the NPU. A constant side is not scaled, so all of its shares are equal; whether
// that says anything is up to the reader. It takes the second pass for which the
// result of the first has the ranges, and is undefined for elements that are not
// finite or not real, for ranges beyond float64 and for empty tensors.
func KLD(ctx context.Context, req Request, res *Result, ref, npu Reader) (Metric, error) {
	n := res.Total
	if n == 0 || res.Complex || res.BothFinite() != n {
		return Metric{}, nil
	}
	r, err := newKLDSide(req.RefDType, ref, &res.Ref)
	if err != nil {
		return Metric{}, err
	}
	m, err := newKLDSide(req.NPUDType, npu, &res.NPU)
	if err != nil {
		return Metric{}, err
	}
	if math.IsInf(r.span, 0) || math.IsInf(m.span, 0) {
		return Metric{}, nil
	}
	var sumP, sumQ, sum float64
	for first := int64(0); first < n; first += kldBlock {
		if err := ctx.Err(); err != nil {
			return Metric{}, err
		}
		k := min(kldBlock, n-first)
		p, err := m.read(first, k)
		if err != nil {
			return Metric{}, err
		}
		q, err := r.read(first, k)
		if err != nil {
			return Metric{}, err
		}
		// Sums of a block first: their rounding errors stay small.
		var blockP, blockQ, block float64
		for i, v := range p {
			w := q[i]
			blockP += v
			blockQ += w
			block += float64(v * exact.Log(v/w))
		}
		sumP, sumQ, sum = sumP+blockP, sumQ+blockQ, sum+block
	}
	// sum (p/P) ln((p/P)/(q/Q)) in terms of the sums of the parts.
	value := sum/sumP + exact.Log(sumQ/sumP)
	if math.Abs(value) < kldEpsilon {
		value = 0
	}
	return NumberOf(value), nil
}

// kldSide reads the scaled elements of one side.
type kldSide struct {
	from    Reader
	decoder tensor.Decoder
	low     float64
	span    float64 // 0 for a constant tensor
	stored  []byte
	host    []byte
	values  []float64
}

func newKLDSide(d tensor.DType, from Reader, stats *SideStats) (*kldSide, error) {
	decoder, err := tensor.NewDecoder(d)
	if err != nil {
		return nil, err
	}
	return &kldSide{
		from: from, decoder: decoder, low: stats.Min.Value(), span: stats.Max.Value() - stats.Min.Value(),
		stored: make([]byte, kldBlock*decoder.UnitSize()), host: make([]byte, kldBlock*decoder.Host().Size()),
		values: make([]float64, kldBlock),
	}, nil
}

// read returns n scaled elements from first on.
func (s *kldSide) read(first, n int64) ([]float64, error) {
	stored := s.stored[:n*int64(s.decoder.UnitSize())]
	if err := s.from.ReadElements(stored, first); err != nil {
		return nil, err
	}
	host := s.host[:n*int64(s.decoder.Host().Size())]
	s.decoder.Decode(host, stored)
	values := s.values[:n]
	if s.span == 0 {
		for i := range values {
			values[i] = 1
		}
		return values, nil
	}
	tensor.Float64s(values, host, s.decoder.Host())
	for i, v := range values {
		values[i] = max((v-s.low)/s.span, kldFloor)
	}
	return values, nil
}
