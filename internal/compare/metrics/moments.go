package metrics

import (
	"math"

	"dumptool/internal/compare/metrics/kernel"
	"dumptool/internal/tensor"
)

// sumValue returns the value of a sum, +inf if it exceeds the range of float64.
func sumValue(s tensor.Sum) float64 {
	if math.IsInf(s.Value, 0) {
		return s.Value
	}
	return s.Total()
}

// moment holds the mean of values and m2, the sum of the squares of their distances
// from the mean. rest is the rounding error of mean: differences of means may be as small.
// The numbers are valid only if hasSquares is true.
type moment struct {
	count              int64
	mean, meanRest, m2 float64
}

// hasSquares reports whether sums of squares fit in float64, given the largest magnitude of
// the values: 2^200 squares below 2^800 have a sum in its range.
func hasSquares(largest float64) bool {
	return largest == 0 || largest > 0x1p-400 && largest < 0x1p400
}

// newMoment returns the moment of count values from the sum of their distances from one
// value (from) and the sum of the squares of these distances.
func newMoment(count int, from, distances, squares float64) moment {
	mean := distances / float64(count)
	m := tensor.Sum{Value: from}.Plus(mean)
	return moment{
		count: int64(count), mean: m.Value, meanRest: m.Rest,
		m2: max(squares-float64(mean*distances), 0),
	}
}

// pairMoments returns the moments of both sides and their co-moment.
func pairMoments(n, r []float64) (a, b moment, co float64) {
	if len(n) == 0 {
		return moment{}, moment{}, 0
	}
	s, count := kernel.SumPairs(n, r), len(n)
	a, b = newMoment(count, s.N0, s.N, s.NN), newMoment(count, s.R0, s.R, s.RR)
	return a, b, s.NR - float64(s.N/float64(count)*s.R)
}

// momentOf returns the moment of values.
func momentOf(values []float64) moment {
	m, _, _ := pairMoments(values, values)
	return m
}

// meanDifference returns the mean of b minus the mean of a.
func meanDifference(a, b *moment) float64 { return (b.mean - a.mean) + (b.meanRest - a.meanRest) }

// merge joins the moments of two sets of values (Chan, Golub and LeVeque,
// "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances").
func (m *moment) merge(b *moment) {
	switch {
	case b.count == 0:
	case m.count == 0:
		*m = *b
	default:
		m.join(m, b, newWeights(m.count, b.count))
	}
}

// join sets m to the moment of two sets of values.
func (m *moment) join(a, b *moment, w weights) {
	delta := meanDifference(a, b)
	mean := tensor.Sum{Value: a.mean, Rest: a.meanRest}.Plus(float64(delta * w.share))
	mean = tensor.Sum{Value: mean.Value}.Plus(mean.Rest)
	*m = moment{
		count:    w.count,
		mean:     mean.Value,
		meanRest: mean.Rest,
		m2:       a.m2 + b.m2 + float64(float64(delta*delta)*w.between),
	}
}

// weights has the factors for joining two sets of values: the total count, the share of
// the second set in it, and the weight of the squared difference of the means.
type weights struct {
	count          int64
	share, between float64
}

func newWeights(a, b int64) weights {
	share := float64(b) / float64(a+b)
	return weights{a + b, share, float64(a) * share}
}

// minShare is the smallest share of the sums that may remain in a moment after subtraction: at
// most eight bits are lost.
const minShare = 0x1p-8

// setRuns computes the moments from sums over d = n-r and over r-Shift. It returns false if
// the subtraction would lose more bits than minShare allows: n or d has hardly any spread
// compared with the sums.
func (p *pair) setRuns(s *kernel.GroupSums) bool {
	shifted := float64(s.Shift * s.D)
	dr := s.DR - shifted // of r-Shift
	p.n = newMoment(int(s.Count), s.Shift, s.R+s.D, s.RR+2*dr+s.DD)
	p.r = newMoment(int(s.Count), s.Shift, s.R, s.RR)
	p.d = newMoment(int(s.Count), 0, s.D, s.DD)
	p.co = s.RR + dr - float64((s.R+s.D)/s.Count*s.R)
	return p.n.m2 >= minShare*(s.RR+s.DD+2*(math.Abs(s.DR)+math.Abs(shifted))) && p.d.m2 >= float64(minShare*s.DD)
}

// sumOfSquares returns the sum of squares of the values.
func (m moment) sumOfSquares() float64 {
	return m.m2 + float64(float64(float64(m.count)*m.mean)*m.mean)
}

// isConstant reports whether the values are equal up to rounding.
func (m moment) isConstant() bool {
	limit := 4 * 0x1p-52 * m.mean
	return m.m2 <= float64(float64(limit*limit)*float64(m.count))
}

// pair holds the moments of n, r and d, and the co-moment of n and r. The two parts of a
// complex element are separate values.
type pair struct {
	n, r, d moment
	co      float64
	// absD and absR are the sums of |d| and |r|, for complex elements of moduli.
	absD, absR tensor.Sum
}

// merge joins the moments of two sets of pairs.
func (p *pair) merge(q *pair) {
	switch {
	case q.n.count == 0:
	case p.n.count == 0:
		*p = *q
	default:
		p.join(p, q)
	}
}

// join sets p to the moments of two sets of pairs.
func (p *pair) join(a, b *pair) {
	w := newWeights(a.n.count, b.n.count)
	between := float64(float64(meanDifference(&a.n, &b.n)*meanDifference(&a.r, &b.r)) * w.between)
	p.co = a.co + b.co + between
	p.n.join(&a.n, &b.n, w)
	p.r.join(&a.r, &b.r, w)
	p.d.join(&a.d, &b.d, w)
	p.absD, p.absR = a.absD.Merge(b.absD), a.absR.Merge(b.absR)
}

// sumOfProducts returns the sum of the products of n and r.
func (p *pair) sumOfProducts() float64 {
	return p.co + float64(float64(float64(p.n.count)*p.n.mean)*p.r.mean)
}
