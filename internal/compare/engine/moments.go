package engine

import "math"

// sum is a sum with the rounding errors of its additions kept beside it.
type sum struct{ value, rest float64 }

// plus adds x without losing what rounding cuts off (Knuth's two-sum).
func (s sum) plus(x float64) sum {
	total := s.value + x
	part := total - s.value
	return sum{total, s.rest + ((s.value - (total - part)) + (x - part))}
}

func (s *sum) merge(t sum) {
	*s = s.plus(t.value)
	s.rest += t.rest
}

func (s sum) total() float64 {
	if math.IsInf(s.value, 0) {
		return s.value
	}
	return s.value + s.rest
}

func (s sum) scaled(exp int) sum {
	if exp == 0 {
		return s
	}
	return sum{math.Ldexp(s.value, exp), math.Ldexp(s.rest, exp)}
}

// moment holds the mean of values and the sum of the squares of their distances
// from it. The values are those stored times 2^exp. What rounding takes from the
// mean is kept in rest, since the distances of means may be small against them.
type moment struct {
	count          int64
	mean, rest, m2 float64
	exp            int
}

// newMoment returns the moment of count values from the sums of their distances
// from one of them and of the squares of these.
func newMoment(count int, from, distances, squares float64) moment {
	mean := distances / float64(count)
	m := sum{value: from}.plus(mean)
	return moment{
		count: int64(count), mean: m.value, rest: m.rest,
		m2: max(squares-float64(mean*distances), 0),
	}
}

// apart returns the distance of the mean of b from that of a.
func apart(a, b *moment) float64 { return (b.mean - a.mean) + (b.rest - a.rest) }

// zero reports whether all values are zero, which any exponent fits.
func (m moment) zero() bool { return m.mean == 0 && m.m2 == 0 }

// aligned returns both moments with the larger exponent of the two.
func aligned(a, b moment) (moment, moment) {
	switch {
	case a.exp == b.exp:
	case a.zero():
		a.exp = b.exp
	case b.zero():
		b.exp = a.exp
	default:
		exp := max(a.exp, b.exp)
		a, b = a.scaledTo(exp), b.scaledTo(exp)
	}
	return a, b
}

func (m moment) scaledTo(exp int) moment {
	if shift := m.exp - exp; shift != 0 {
		m.mean, m.rest = math.Ldexp(m.mean, shift), math.Ldexp(m.rest, shift)
		m.m2 = math.Ldexp(m.m2, 2*shift)
		m.exp = exp
	}
	return m
}

// merge joins the moments of two sets of values (Chan, Golub and LeVeque,
// "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances").
func (m *moment) merge(b *moment) {
	switch {
	case b.count == 0:
	case m.count == 0:
		*m = *b
	default:
		x, y := aligned(*m, *b)
		m.join(&x, &y, newWeights(x.count, y.count))
	}
}

// join sets m to the moment of two sets of values with equal exponents.
func (m *moment) join(a, b *moment, w weights) {
	delta := apart(a, b)
	mean := sum{a.mean, a.rest}.plus(float64(delta * w.share))
	mean = sum{value: mean.value}.plus(mean.rest)
	*m = moment{
		count: w.count,
		mean:  mean.value,
		rest:  mean.rest,
		m2:    a.m2 + b.m2 + float64(float64(delta*delta)*w.between),
		exp:   a.exp,
	}
}

// weights are the count of two sets together, the share of the second one in it,
// and the weight of the square of the distance of their means.
type weights struct {
	count          int64
	share, between float64
}

func newWeights(a, b int64) weights {
	share := float64(b) / float64(a+b)
	return weights{a + b, share, float64(a) * share}
}

// square returns the sum of the squares of the values stored.
func (m moment) square() float64 {
	return m.m2 + float64(float64(float64(m.count)*m.mean)*m.mean)
}

// constant reports whether the values are equal but for rounding.
func (m moment) constant() bool {
	limit := 4 * 0x1p-52 * m.mean
	return m.m2 <= float64(float64(limit*limit)*float64(m.count))
}

// pair holds the moments of the elements of both sides and of their
// differences, with the co-moment of the sides. Of complex elements the parts
// count as values of their own.
type pair struct {
	n, r, d moment
	co      float64 // times 2^(n.exp + r.exp)
	// absD and absR are the sums of |d| and |r|, times 2^d.exp and 2^r.exp;
	// of complex elements those of the moduli.
	absD, absR sum
}

// merge joins the moments of two sets of pairs.
func (p *pair) merge(q *pair) {
	switch {
	case q.n.count == 0:
	case p.n.count == 0:
		*p = *q
	case p.n.exp == q.n.exp && p.r.exp == q.r.exp && p.d.exp == q.d.exp:
		p.join(p, q)
	default:
		x, y := *p, *q
		x.n, y.n = aligned(p.n, q.n)
		x.r, y.r = aligned(p.r, q.r)
		x.d, y.d = aligned(p.d, q.d)
		x.rescale(p)
		y.rescale(q)
		p.join(&x, &y)
	}
}

// rescale fits the sums to the exponents of the moments, which were those of
// another pair.
func (p *pair) rescale(from *pair) {
	if exp := from.n.exp - p.n.exp + from.r.exp - p.r.exp; exp != 0 {
		p.co = math.Ldexp(p.co, exp)
	}
	p.absD = p.absD.scaled(from.d.exp - p.d.exp)
	p.absR = p.absR.scaled(from.r.exp - p.r.exp)
}

// join sets p to the moments of two sets of pairs with equal exponents.
func (p *pair) join(a, b *pair) {
	w := newWeights(a.n.count, b.n.count)
	between := float64(float64(apart(&a.n, &b.n)*apart(&a.r, &b.r)) * w.between)
	p.co = a.co + b.co + between
	p.n.join(&a.n, &b.n, w)
	p.r.join(&a.r, &b.r, w)
	p.d.join(&a.d, &b.d, w)
	p.absD, p.absR = a.absD, a.absR
	p.absD.merge(b.absD)
	p.absR.merge(b.absR)
}

// product returns the sum of the products of n and r, times 2^(n.exp+r.exp).
func (p *pair) product() float64 {
	return p.co + float64(float64(float64(p.n.count)*p.n.mean)*p.r.mean)
}
