package metrics

import (
	"context"
	"math"

	"dumptool/internal/exact"
)

// kldFloor is the smallest scaled value of an element: the float32 epsilon, as in
// msaccucmp.
const kldFloor = 1.1920928955078125e-07

// kldEpsilon is the float64 epsilon: msaccucmp takes smaller divergences for 0.
const kldEpsilon = 2.220446049250313e-16

// kldBlock is the number of elements of a partial sum: partial sums keep rounding errors
// small.
const kldBlock = 1 << 16

// KLD returns the Kullback-Leibler divergence of two tensors as msaccucmp defines it: each
// side is scaled to 0..1 by its own minimum and maximum, raised to kldFloor, and divided by
// its sum; the result is the sum of p ln(p/q), p of the NPU and q of the reference. A
// constant side is not scaled, so all its shares are equal; the reader decides whether that
// means anything. KLD reads both tensors; res is the result of the first pass and has the
// ranges. It is undefined for elements that are not finite or not real, for ranges beyond
// float64 and for empty tensors.
func (p *Pool) KLD(ctx context.Context, req Request, res *Result, ref, npu Reader) (Metric, error) {
	n := res.Total
	if n == 0 || res.Complex || res.CountBothFinite() != n {
		return Metric{}, nil
	}
	r, m := newKLDSide(&res.Ref), newKLDSide(&res.NPU)
	if math.IsInf(r.span, 0) || math.IsInf(m.span, 0) {
		return Metric{}, nil
	}
	req.Noise, req.Points = nil, 0
	e, err := p.New(req)
	if err != nil {
		return Metric{}, err
	}
	var part, all struct{ p, q, log float64 }
	err = e.walk(ctx, ref, npu, Range{0, n}.runs(e.readElements), func(b *block) {
		p, q := m.scale(b.scratch[0][:b.count], b.n.values), r.scale(b.scratch[1][:b.count], b.r.values)
		for i, v := range p {
			w := q[i]
			part.p += v
			part.q += w
			part.log += float64(v * exact.Log(v/w))
		}
		if end := b.first + int64(b.count); end%kldBlock == 0 || end == n {
			all.p, all.q, all.log = all.p+part.p, all.q+part.q, all.log+part.log
			part.p, part.q, part.log = 0, 0, 0
		}
	})
	if err != nil {
		return Metric{}, err
	}
	// sum (p/P) ln((p/P)/(q/Q)), written with the sums over the unscaled p and q.
	value := all.log/all.p + exact.Log(all.q/all.p)
	if math.Abs(value) < kldEpsilon {
		value = 0
	}
	return NumberOf(value), nil
}

// kldSide scales the elements of one side. The span of a constant tensor is 0.
type kldSide struct{ low, span float64 }

func newKLDSide(stats *SideStats) kldSide {
	return kldSide{low: stats.Min.Value(), span: stats.Max.Value() - stats.Min.Value()}
}

// scale sets dst to scaled values.
func (s kldSide) scale(dst, values []float64) []float64 {
	for i, v := range values {
		if dst[i] = 1; s.span != 0 {
			dst[i] = max((v-s.low)/s.span, kldFloor)
		}
	}
	return dst
}
