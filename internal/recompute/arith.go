package recompute

import (
	"math"

	"dumptool/internal/exact"
	"dumptool/internal/tensor"
)

// Products of results are rounded by explicit conversions, so that no processor fuses them
// with a sum.

// note remembers the largest finite product or sum.
func (m *machine) note(v float64) {
	if v = math.Abs(v); v > m.top && v <= math.MaxFloat64 {
		m.top = v
	}
}

func (x *Array) add(y *Array) *Array {
	p, q, z := together(x, y)
	m := x.m
	pa, pb := p.errs()
	qa, qb := q.errs()
	for i, s := range p.v {
		v := s + q.v[i]
		size := math.Abs(v)
		z.set(i, v, pa[i]+qa[i]+float64(m.narrow.u*size), pb[i]+qb[i]+float64(m.wide.u*size))
	}
	return z.paired(p, q, func(_ int, n, k int64) int64 { return n + k })
}

func (x *Array) sub(y *Array) *Array { return x.add(y.neg()) }

func (x *Array) mul(y *Array) *Array {
	p, q, z := together(x, y)
	m := x.m
	pa, pb := p.errs()
	qa, qb := q.errs()
	for i, s := range p.v {
		t := q.v[i]
		v := float64(s * t)
		m.note(v)
		s, t, size := math.Abs(s), math.Abs(t), math.Abs(v)
		z.set(i, v, productError(s, pa[i], t, qa[i], size, &m.narrow), productError(s, pb[i], t, qb[i], size, &m.wide))
	}
	return z.paired(p, q, func(_ int, n, k int64) int64 { return n * k })
}

func productError(s, es, t, et, size float64, c *bounds) float64 {
	return float64(s*et) + float64(t*es) + float64(es*et) + float64(c.u*size) + c.eta
}

const tiny = 1e-300

func (x *Array) div(y *Array) *Array {
	p, q, z := together(x, y)
	m := x.m
	pa, pb := p.errs()
	qa, qb := q.errs()
	for i, s := range p.v {
		t := q.v[i]
		v := s / t
		size, t := math.Abs(v), math.Abs(t)
		z.set(i, v, quotientError(pa[i], t, qa[i], size, &m.narrow), quotientError(pb[i], t, qb[i], size, &m.wide))
	}
	return z
}

func quotientError(es, t, et, size float64, c *bounds) float64 {
	e := (es+float64(size*et))/max(t-et, tiny) + float64(c.td*size) + c.eta
	if c.half && t > maxHalf {
		e += size // a divisor that overflowed leaves 0
	}
	return e
}

const maxHalf = 65504

// each returns a function of the elements: f gives the value and what one element's error
// becomes, by the bounds of a way.
func (x *Array) each(f func(x float64) float64, e func(x, v, ex float64, c *bounds) float64) *Array {
	m := x.m
	if m.err != nil {
		return x
	}
	z := m.array(x.shape)
	a, b := x.errs()
	for i, s := range x.v {
		v := f(s)
		z.set(i, v, e(s, v, a[i], &m.narrow), e(s, v, b[i], &m.wide))
	}
	return z
}

// kept returns a function of the elements that keeps their errors.
func (x *Array) kept(f func(x float64) float64) *Array {
	return x.each(f, func(_, _, e float64, _ *bounds) float64 { return e })
}

// stepped is an array that may be rounded to the type of the output before the next step.
func (x *Array) stepped() *Array {
	between := x.m.between
	if between == 0 {
		return x
	}
	return x.each(func(x float64) float64 { return x }, func(_, v, e float64, _ *bounds) float64 { return e + float64(between*math.Abs(v)) })
}

func (x *Array) neg() *Array {
	return x.kept(func(x float64) float64 { return -x }).mapped(x, func(n int64) int64 { return -n })
}

func (x *Array) abs() *Array {
	return x.kept(math.Abs).mapped(x, func(n int64) int64 { return max(n, -n) })
}

// steps returns a function of the elements that has no slope: rounding and comparing.
func (x *Array) steps(f func(x float64) float64) *Array {
	return x.each(f, func(_, _, _ float64, _ *bounds) float64 { return 0 })
}

func (x *Array) exp() *Array {
	return x.each(exact.Exp, func(_, v, e float64, c *bounds) float64 {
		if e != 0 {
			e = float64(v * growth(e))
		}
		return e + float64(c.tf*v) + c.eta
	})
}

// growth is by what share of itself a power grows where its exponent is e larger: two terms of
// the series are as good as all where e is small.
func growth(e float64) float64 {
	const small = 1e-3
	if e < small {
		return e + float64(float64(e*e)/2)
	}
	return exact.Expm1(min(e, 30))
}

func (x *Array) log() *Array {
	return x.each(exact.Log, func(x, v, e float64, c *bounds) float64 {
		return e/max(x-e, tiny) + float64(c.tf*(math.Abs(v)+.1))
	})
}

func (x *Array) sqrt() *Array {
	return x.each(math.Sqrt, func(_, v, e float64, c *bounds) float64 {
		return min(e/max(2*v, tiny), math.Sqrt(e)) + float64(c.td*v)
	})
}

func (x *Array) rsqrt() *Array {
	return x.each(func(x float64) float64 { return 1 / math.Sqrt(x) }, func(x, v, e float64, c *bounds) float64 {
		return float64(v*min(e/max(2*(x-e), tiny), 1e3)) + float64(c.td*v)
	})
}

func (x *Array) reciprocal() *Array {
	return x.each(func(x float64) float64 { return 1 / x }, func(x, v, e float64, c *bounds) float64 {
		v = math.Abs(v)
		return float64(v*e)/max(math.Abs(x)-e, tiny) + float64(c.td*v)
	})
}

func (x *Array) tanh() *Array {
	return x.each(exact.Tanh, func(_, v, e float64, c *bounds) float64 {
		return float64((1-float64(v*v))*e) + float64(c.tf*math.Abs(v)) + 2*c.u
	})
}

func (x *Array) erf() *Array {
	return x.each(exact.Erf, func(x, v, e float64, c *bounds) float64 {
		if e != 0 {
			e = float64(1.1284 * exact.Exp(-float64(x*x)) * e)
		}
		return e + float64(c.tf*math.Abs(v)) + 2*c.u
	})
}

func waveError(x, _, e float64, c *bounds) float64 { return e + c.tf + float64(c.u*math.Abs(x)) }

func (x *Array) sin() *Array { return x.each(exact.Sin, waveError) }
func (x *Array) cos() *Array { return x.each(exact.Cos, waveError) }

func (x *Array) pow(y *Array) *Array {
	p, q, z := together(x, y)
	m := x.m
	for i, s := range p.v {
		v, l := exact.Pow(s, q.v[i]), math.Abs(exact.Log(max(math.Abs(s), tiny)))
		e := func(c *bounds) float64 {
			r := float64(math.Abs(q.v[i])*(float64(c.tf*(l+.1))+float64(2*c.u*l))) + c.tf
			return float64(math.Abs(v) * growth(r))
		}
		z.set(i, v, e(&m.narrow), e(&m.wide))
	}
	return z
}

// choose returns the elements of x or y that pick chooses by their values, with the larger of
// both errors.
func (x *Array) choose(y *Array, pick func(x, y float64) float64) *Array {
	p, q, z := together(x, y)
	x.m.selects = true
	pa, pb := p.errs()
	qa, qb := q.errs()
	for i, s := range p.v {
		z.set(i, pick(s, q.v[i]), max(pa[i], qa[i]), max(pb[i], qb[i]))
	}
	return z.paired(p, q, func(i int, n, k int64) int64 {
		if first := pick(0, 1) == 0; p.before(i, q, i) == first {
			return n
		}
		return k
	})
}

func larger(x, y float64) float64 {
	if x > y || x != x {
		return x
	}
	return y
}

func smaller(x, y float64) float64 {
	if x < y || x != x {
		return x
	}
	return y
}

func (x *Array) max(y *Array) *Array { return x.choose(y, larger) }
func (x *Array) min(y *Array) *Array { return x.choose(y, smaller) }

// where returns elements of y where x is not 0, of other elsewhere.
func (x *Array) where(y, other *Array) *Array {
	shape, _ := broadcast(x.shape, y.shape)
	p, q, z := together(y, other)
	if shape, ok := broadcast(shape, p.shape); ok && x.m.err == nil && !shape.Equal(p.shape) {
		p, q, z = p.expand(shape), q.expand(shape), x.m.array(shape)
	}
	x.m.selects = true
	on := x.expand(z.shape)
	if x.m.err != nil || len(on.v) != len(z.v) {
		return x.m.fail("a mask of shape %s for shape %s", x.shape, z.shape)
	}
	pa, pb := p.errs()
	qa, qb := q.errs()
	for i, s := range on.v {
		if s != 0 {
			z.set(i, p.v[i], pa[i], pb[i])
		} else {
			z.set(i, q.v[i], qa[i], qb[i])
		}
	}
	return z.paired(p, q, func(i int, n, k int64) int64 {
		if on.v[i] != 0 {
			return n
		}
		return k
	})
}

// compare returns 1 where a comparison holds, else 0.
func (x *Array) compare(y *Array, holds func(x, y float64) bool) *Array {
	p, q, z := together(x, y)
	for i, s := range p.v {
		t := q.v[i]
		switch {
		case p.before(i, q, i): // also of integers that are one number as float64
			s = min(s, math.Nextafter(t, math.Inf(-1)))
		case q.before(i, p, i):
			s = max(s, math.Nextafter(t, math.Inf(1)))
		}
		z.set(i, flag(holds(s, t)), 0, 0)
	}
	return z
}

func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Arithmetic with plain numbers.

func (x *Array) plus(n float64) *Array {
	if n == 0 {
		return x
	}
	return x.add(x.m.number(n))
}

func (x *Array) times(n float64) *Array {
	if n == 1 {
		return x
	}
	return x.mul(x.m.number(n))
}

func (x *Array) atLeast(n float64) *Array { return x.max(x.m.number(n)) }
func (x *Array) atMost(n float64) *Array  { return x.min(x.m.number(n)) }

// lines calls f for every line of elements along axes: the offset of its first element, and
// those of all of them beside it.
func (x *Array) lines(axes []int, f func(line, first int, beside []int)) tensor.Shape {
	strides := x.shape.Strides()
	var along, across tensor.Shape
	var alongStrides, acrossStrides []int64
	kept := make(tensor.Shape, len(x.shape))
	in := make([]bool, len(x.shape))
	for _, k := range axes {
		in[k] = true
	}
	for k, n := range x.shape {
		if kept[k] = n; in[k] {
			kept[k] = 1
			along, alongStrides = append(along, n), append(alongStrides, strides[k])
		} else {
			across, acrossStrides = append(across, n), append(acrossStrides, strides[k])
		}
	}
	beside := make([]int, along.Elements())
	walk(along, alongStrides, func(i, offset int) { beside[i] = offset })
	walk(across, acrossStrides, func(i, offset int) { f(i, offset, beside) })
	return kept
}

// axesOf checks axes of an array; they may count from the end.
func (x *Array) axesOf(axes []int) []int {
	all := make([]int, 0, len(axes))
	for _, k := range axes {
		if k < 0 {
			k += len(x.shape)
		}
		if k < 0 || k >= len(x.shape) {
			x.m.fail("axis %d of shape %s", k, x.shape)
			return nil
		}
		all = append(all, k)
	}
	return all
}

// reduce makes one element of every line along axes, which keep the length 1.
func (x *Array) reduce(axes []int, f func(z *Array, line, first int, beside []int)) *Array {
	axes = x.axesOf(axes)
	if x.m.err != nil {
		return x
	}
	kept := make(tensor.Shape, len(x.shape))
	copy(kept, x.shape)
	for _, k := range axes {
		kept[k] = 1
	}
	z := x.m.array(kept)
	x.lines(axes, func(line, first int, beside []int) { f(z, line, first, beside) })
	return z
}

func (x *Array) sum(axes ...int) *Array {
	m := x.m
	a, b := x.errs()
	return x.reduce(axes, func(z *Array, line, first int, beside []int) {
		var v, size, ea, eb float64
		for _, k := range beside {
			s := x.v[first+k]
			v, size, ea, eb = v+s, size+math.Abs(s), ea+a[first+k], eb+b[first+k]
		}
		m.note(v)
		n := 1 + 2*math.Sqrt(float64(len(beside)))
		z.set(line, v, ea+float64(m.narrow.u*n*size), eb+float64(m.wide.u*n*size))
	}).joined(x, axes, 0, func(n, k int64) int64 { return n + k })
}

func (x *Array) mean(axes ...int) *Array {
	s := x.sum(axes...)
	if x.m.err != nil {
		return s
	}
	n := max(1, float64(len(x.v))/max(1, float64(len(s.v))))
	return s.mul(&Array{m: x.m, v: []float64{1 / n}, a: []float64{x.m.narrow.u / n}, b: []float64{x.m.wide.u / n}})
}

// extreme returns the element of every line that pick prefers.
func (x *Array) extreme(pick func(x, y float64) float64, axes ...int) *Array {
	a, b := x.errs()
	z := x.reduce(axes, func(z *Array, line, first int, beside []int) {
		v, ea, eb := x.v[first], 0.0, 0.0
		for _, k := range beside {
			v, ea, eb = pick(x.v[first+k], v), max(ea, a[first+k]), max(eb, b[first+k])
		}
		z.set(line, v, ea, eb)
	})
	if x.ints == nil || x.m.err != nil {
		return z
	}
	z.ints = make([]int64, len(z.v))
	x.lines(x.axesOf(axes), func(line, first int, beside []int) {
		best := first
		for _, k := range beside {
			if k += first; k != best && x.before(k, x, best) == (pick(0, 1) == 0) {
				best = k
			}
		}
		z.ints[line] = x.ints[best]
	})
	return z
}

func (x *Array) largest(axes ...int) *Array  { return x.extreme(larger, axes...) }
func (x *Array) smallest(axes ...int) *Array { return x.extreme(smaller, axes...) }
