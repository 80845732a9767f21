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

func (s sum) merged(t sum) sum {
	s = s.plus(t.value)
	s.rest += t.rest
	return s
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
func apart(a, b moment) float64 { return (b.mean - a.mean) + (b.rest - a.rest) }

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

// merged joins the moments of two sets of values (Chan, Golub and LeVeque,
// "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances").
func (m moment) merged(b moment) moment {
	switch {
	case b.count == 0:
		return m
	case m.count == 0:
		return b
	}
	a, b := aligned(m, b)
	n, share, weight := weights(a.count, b.count)
	delta := apart(a, b)
	mean := sum{a.mean, a.rest}.plus(float64(delta * share))
	mean = sum{value: mean.value}.plus(mean.rest)
	return moment{
		count: n,
		mean:  mean.value,
		rest:  mean.rest,
		m2:    a.m2 + b.m2 + float64(float64(delta*delta)*weight),
		exp:   a.exp,
	}
}

// weights returns a+b, b/(a+b) and ab/(a+b).
func weights(a, b int64) (n int64, share, weight float64) {
	n = a + b
	share = float64(b) / float64(n)
	return n, share, float64(a) * share
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

func (p pair) merged(q pair) pair {
	switch {
	case q.n.count == 0:
		return p
	case p.n.count == 0:
		return q
	}
	pn, qn := aligned(p.n, q.n)
	pr, qr := aligned(p.r, q.r)
	pd, qd := aligned(p.d, q.d)
	_, _, weight := weights(pn.count, qn.count)
	between := float64(float64(apart(pn, qn)*apart(pr, qr)) * weight)
	return pair{
		n: pn.merged(qn), r: pr.merged(qr), d: pd.merged(qd),
		co: rescaled(p.co, p.n.exp-pn.exp+p.r.exp-pr.exp) +
			rescaled(q.co, q.n.exp-qn.exp+q.r.exp-qr.exp) + between,
		absD: p.absD.scaled(p.d.exp - pd.exp).merged(q.absD.scaled(q.d.exp - qd.exp)),
		absR: p.absR.scaled(p.r.exp - pr.exp).merged(q.absR.scaled(q.r.exp - qr.exp)),
	}
}

func rescaled(x float64, exp int) float64 {
	if exp == 0 {
		return x
	}
	return math.Ldexp(x, exp)
}

// product returns the sum of the products of n and r, times 2^(n.exp+r.exp).
func (p *pair) product() float64 {
	return p.co + float64(float64(float64(p.n.count)*p.n.mean)*p.r.mean)
}
