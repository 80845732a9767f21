package recompute

import (
	"math"
	"slices"

	"dumptool/internal/exact"
	"dumptool/internal/tensor"
)

// Products are rounded by explicit conversions float64(a*b), so that no processor fuses them with an addition.

// trackMagnitude records the largest finite product or sum, to find overflow inside the operator.
func (m *machine) trackMagnitude(v float64) {
	if v = math.Abs(v); v > m.maxMagnitude && v <= math.MaxFloat64 {
		m.maxMagnitude = v
	}
}

func (x *Array) trackMagnitudes() *Array {
	for _, v := range x.v {
		x.m.trackMagnitude(v)
	}
	return x
}

// elementValues and pairValues compute a function of each element of one or two arrays. elementErrors and pairErrors
// compute the absolute bound e of each result v for inputs x and y with bounds ex and ey, under the rounding c. They
// loop over slices because a function call for each element costs more than the arithmetic.
type (
	elementValues func(v, x []float64)
	elementErrors func(e, v, x, ex []float64, c *bounds)
	pairValues    func(v, x, y []float64)
	pairErrors    func(e, v, x, ex, y, ey []float64, c *bounds)
)

// mapElements applies a function to each element.
func (x *Array) mapElements(values elementValues, errors elementErrors) *Array {
	m := x.m
	if m.err != nil {
		return x
	}
	z := m.array(x.shape)
	a, b := x.errorBounds()
	m.eachRange(len(z.v), func(lo, hi int) {
		v, x := z.v[lo:hi], x.v[lo:hi]
		values(v, x)
		errors(z.narrow[lo:hi], v, x, a[lo:hi], &m.narrow)
		errors(z.wide[lo:hi], v, x, b[lo:hi], &m.wide)
	})
	return z.clearNonFinite()
}

// mapPairs applies a function to each pair of elements of two arrays, which are broadcast.
func (x *Array) mapPairs(y *Array, values pairValues, errors pairErrors) *Array {
	p, q, z := broadcastPair(x, y)
	m := x.m
	pa, pb := p.errorBounds()
	qa, qb := q.errorBounds()
	m.eachRange(len(z.v), func(lo, hi int) {
		v, x, y := z.v[lo:hi], p.v[lo:hi], q.v[lo:hi]
		values(v, x, y)
		errors(z.narrow[lo:hi], v, x, pa[lo:hi], y, qa[lo:hi], &m.narrow)
		errors(z.wide[lo:hi], v, x, pb[lo:hi], y, qb[lo:hi], &m.wide)
	})
	return z.clearNonFinite()
}

// clearNonFinite sets the bounds of NaN and infinite elements to 0.
func (x *Array) clearNonFinite() *Array {
	for i, v := range x.v {
		if v-v != 0 {
			x.narrow[i], x.wide[i] = 0, 0
		}
	}
	return x
}

// elementLoop applies a function of one number to each element.
func elementLoop(f func(x float64) float64) elementValues {
	return func(v, x []float64) {
		for i, s := range x {
			v[i] = f(s)
		}
	}
}

func sumErrors(e, v, _, ex, _, ey []float64, c *bounds) {
	for i, s := range v {
		e[i] = ex[i] + ey[i] + float64(c.u*math.Abs(s))
	}
}

func (x *Array) add(y *Array) *Array {
	return x.mapPairs(y, func(v, x, y []float64) {
		for i, s := range x {
			v[i] = s + y[i]
		}
	}, sumErrors)
}

func (x *Array) sub(y *Array) *Array {
	return x.mapPairs(y, func(v, x, y []float64) {
		for i, s := range x {
			v[i] = s - y[i]
		}
	}, sumErrors)
}

func (x *Array) mul(y *Array) *Array {
	return x.mapPairs(y, func(v, x, y []float64) {
		for i, s := range x {
			v[i] = float64(s * y[i])
		}
	}, func(e, v, x, ex, y, ey []float64, c *bounds) {
		for i, s := range v {
			a, b := ex[i], ey[i]
			e[i] = float64(math.Abs(x[i])*b) + float64(math.Abs(y[i])*a) + float64(a*b) + float64(c.u*math.Abs(s)) + c.eta
		}
	}).trackMagnitudes()
}

// tiny replaces a divisor of 0.
const tiny = 1e-300

func (x *Array) div(y *Array) *Array {
	return x.mapPairs(y, func(v, x, y []float64) {
		for i, s := range x {
			v[i] = s / y[i]
		}
	}, func(e, v, _, ex, y, ey []float64, c *bounds) {
		for i, s := range v {
			size, t := math.Abs(s), math.Abs(y[i])
			e[i] = (ex[i]+float64(size*ey[i]))/max(t-ey[i], tiny) + float64(c.td*size) + c.eta
			if c.half && t > tensor.MaxFloat16 {
				e[i] += size // a divisor that overflowed leaves 0
			}
		}
	})
}

// mapKeepingErrors applies a function that does not change absolute errors, such as a sign.
func (x *Array) mapKeepingErrors(values elementValues) *Array {
	if x.m.err != nil {
		return x
	}
	z := &Array{m: x.m, shape: x.shape, v: x.m.alloc(len(x.v)), narrow: x.narrow, wide: x.wide}
	values(z.v, x.v)
	return z
}

// roundBetweenSteps adds the rounding to the output type that a healthy kernel may do before the next step.
func (x *Array) roundBetweenSteps() *Array {
	rounding := x.m.stepRounding
	if rounding == 0 {
		return x
	}
	return x.mapElements(func(v, x []float64) { copy(v, x) }, func(e, v, _, ex []float64, _ *bounds) {
		for i, s := range v {
			e[i] = ex[i] + float64(rounding*math.Abs(s))
		}
	})
}

func (x *Array) neg() *Array {
	return x.mapKeepingErrors(func(v, x []float64) {
		for i, s := range x {
			v[i] = -s
		}
	})
}

func (x *Array) abs() *Array {
	return x.mapKeepingErrors(func(v, x []float64) {
		for i, s := range x {
			v[i] = math.Abs(s)
		}
	})
}

// mapSteps applies a function with slope 0, such as a rounding or a comparison: the result has no error.
func (x *Array) mapSteps(f func(x float64) float64) *Array {
	if x.m.err != nil {
		return x
	}
	z := x.m.exactArray(x.shape, x.m.alloc(len(x.v)))
	elementLoop(f)(z.v, x.v)
	return z
}

func (x *Array) exp() *Array {
	return x.mapElements(elementLoop(exact.Exp), func(e, v, _, ex []float64, c *bounds) {
		for i, s := range v {
			t := ex[i]
			if t != 0 {
				t = float64(s * expChange(t))
			}
			e[i] = t + float64(c.tf*s) + c.eta
		}
	})
}

// expChange is the relative change of exp(x) if x grows by e: exp(e)-1, or two terms of its series where e is small.
func expChange(e float64) float64 {
	const small = 1e-3
	if e < small {
		return e + float64(float64(e*e)/2)
	}
	return exact.Expm1(min(e, 30))
}

func (x *Array) log() *Array {
	return x.mapElements(elementLoop(exact.Log), func(e, v, x, ex []float64, c *bounds) {
		for i, s := range v {
			e[i] = ex[i]/max(x[i]-ex[i], tiny) + float64(c.tf*(math.Abs(s)+.1))
		}
	})
}

func (x *Array) sqrt() *Array {
	return x.mapElements(func(v, x []float64) {
		for i, s := range x {
			v[i] = math.Sqrt(s)
		}
	}, func(e, v, _, ex []float64, c *bounds) {
		for i, s := range v {
			e[i] = min(ex[i]/max(2*s, tiny), math.Sqrt(ex[i])) + float64(c.td*s)
		}
	})
}

func (x *Array) rsqrt() *Array {
	return x.mapElements(func(v, x []float64) {
		for i, s := range x {
			v[i] = 1 / math.Sqrt(s)
		}
	}, func(e, v, x, ex []float64, c *bounds) {
		for i, s := range v {
			e[i] = float64(s*min(ex[i]/max(2*(x[i]-ex[i]), tiny), 1e3)) + float64(c.td*s)
		}
	})
}

func (x *Array) reciprocal() *Array {
	return x.mapElements(func(v, x []float64) {
		for i, s := range x {
			v[i] = 1 / s
		}
	}, func(e, v, x, ex []float64, c *bounds) {
		for i, s := range v {
			s = math.Abs(s)
			e[i] = float64(s*ex[i])/max(math.Abs(x[i])-ex[i], tiny) + float64(c.td*s)
		}
	})
}

func (x *Array) tanh() *Array {
	return x.mapElements(elementLoop(exact.Tanh), func(e, v, _, ex []float64, c *bounds) {
		for i, s := range v {
			e[i] = float64((1-float64(s*s))*ex[i]) + float64(c.tf*math.Abs(s)) + 2*c.u
		}
	}).capErrors(2)
}

// capErrors limits the bounds to the largest possible distance of two results, such as 2 for numbers between -1 and
// 1. Without a limit, bounds that grow from step to step become infinite, and infinity times 0 is NaN.
func (x *Array) capErrors(distance float64) *Array {
	for i := range x.narrow {
		if !(x.narrow[i] <= distance) {
			x.narrow[i] = distance
		}
		if !(x.wide[i] <= distance) {
			x.wide[i] = distance
		}
	}
	return x
}

func (x *Array) erf() *Array {
	return x.mapElements(elementLoop(exact.Erf), func(e, v, x, ex []float64, c *bounds) {
		for i, s := range v {
			t := ex[i]
			if t != 0 {
				t = float64(1.1284 * exact.Exp(-float64(x[i]*x[i])) * t)
			}
			e[i] = t + float64(c.tf*math.Abs(s)) + 2*c.u
		}
	})
}

func sineErrors(e, _, x, ex []float64, c *bounds) {
	for i, s := range x {
		e[i] = ex[i] + c.tf + float64(c.u*math.Abs(s))
	}
}

func (x *Array) sin() *Array { return x.mapElements(elementLoop(exact.Sin), sineErrors) }
func (x *Array) cos() *Array { return x.mapElements(elementLoop(exact.Cos), sineErrors) }

func (x *Array) pow(y *Array) *Array {
	return x.mapPairs(y, func(v, x, y []float64) {
		for i, s := range x {
			v[i] = exact.Pow(s, y[i])
		}
	}, func(e, v, x, _, y, _ []float64, c *bounds) {
		for i, s := range v {
			l := math.Abs(exact.Log(max(math.Abs(x[i]), tiny)))
			r := float64(math.Abs(y[i])*(float64(c.tf*(l+.1))+float64(2*c.u*l))) + c.tf
			e[i] = float64(math.Abs(s) * expChange(r))
		}
	})
}

// allowDroppedNaN lets kernels return a number in place of NaN, and returns the array.
func (x *Array) allowDroppedNaN() *Array {
	x.m.selects = true
	return x
}

// preference selects the larger or the smaller of two numbers.
type preference bool

const (
	larger  preference = true
	smaller preference = false
)

// choose returns one of two numbers; NaN takes precedence.
func (p preference) choose(x, y float64) float64 {
	if x != x || p == larger && x > y || p == smaller && x < y {
		return x
	}
	return y
}

// selectPreferred returns for each pair of elements the preferred one, with the larger of both bounds.
func (x *Array) selectPreferred(y *Array, by preference) *Array {
	p, q, z := broadcastPair(x, y)
	x.m.selects = true
	for i, s := range p.v {
		z.v[i] = by.choose(s, q.v[i])
	}
	if p.narrow == nil && q.narrow == nil {
		z.narrow, z.wide = nil, nil
	} else {
		pa, pb := p.errorBounds()
		qa, qb := q.errorBounds()
		for i := range z.v {
			z.narrow[i], z.wide[i] = max(pa[i], qa[i]), max(pb[i], qb[i])
		}
		z.clearNonFinite()
	}
	return z
}

func (x *Array) max(y *Array) *Array { return x.selectPreferred(y, larger) }
func (x *Array) min(y *Array) *Array { return x.selectPreferred(y, smaller) }

// selectWhere returns elements of y where x is not 0, elements of other elsewhere.
func (x *Array) selectWhere(y, other *Array) *Array {
	shape, _ := broadcast(x.shape, y.shape)
	p, q, z := broadcastPair(y, other)
	if shape, ok := broadcast(shape, p.shape); ok && x.m.err == nil && !shape.Equal(p.shape) {
		p, q, z = p.expand(shape), q.expand(shape), x.m.array(shape)
	}
	x.m.selects = true
	on := x.expand(z.shape)
	if x.m.err != nil || len(on.v) != len(z.v) {
		return x.m.fail("a mask of shape %s for shape %s", x.shape, z.shape)
	}
	for i, s := range on.v {
		if z.v[i] = q.v[i]; s != 0 {
			z.v[i] = p.v[i]
		}
	}
	if p.narrow == nil && q.narrow == nil {
		z.narrow, z.wide = nil, nil
	} else {
		pa, pb := p.errorBounds()
		qa, qb := q.errorBounds()
		for i, s := range on.v {
			if z.narrow[i], z.wide[i] = qa[i], qb[i]; s != 0 {
				z.narrow[i], z.wide[i] = pa[i], pb[i]
			}
		}
	}
	return z
}

// mapPairsExactly applies a function without error to each pair of elements of two arrays.
func (x *Array) mapPairsExactly(y *Array, f func(x, y float64) float64) *Array {
	p, q, z := broadcastPair(x, y)
	z.narrow, z.wide = nil, nil
	for i, s := range p.v {
		z.v[i] = f(s, q.v[i])
	}
	return z
}

// compare returns 1 where holds is true, else 0.
func (x *Array) compare(y *Array, holds func(x, y float64) bool) *Array {
	return x.mapPairsExactly(y, func(x, y float64) float64 { return boolToFloat(holds(x, y)) })
}

func boolToFloat(is bool) float64 {
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

// eachLine calls f for every line of elements along axes. first is the offset of the line's first element, offsets are
// the offsets of all its elements relative to first.
func (x *Array) eachLine(axes []int, f func(line, first int, offsets []int)) {
	if x.checkAxes(axes); x.m.err != nil {
		return
	}
	strides := x.shape.Strides()
	var along, across tensor.Shape
	var alongStrides, acrossStrides []int64
	isAlong := make([]bool, len(x.shape))
	for _, k := range axes {
		isAlong[k] = true
	}
	for k, n := range x.shape {
		if isAlong[k] {
			along, alongStrides = append(along, n), append(alongStrides, strides[k])
		} else {
			across, acrossStrides = append(across, n), append(acrossStrides, strides[k])
		}
	}
	offsets := make([]int, along.Elements())
	walkElements(along, alongStrides, func(i, offset int) { offsets[i] = offset })
	untilCheck := 0 // elements until the context is checked again
	walkElements(across, acrossStrides, func(i, offset int) {
		if untilCheck -= len(offsets); untilCheck <= 0 && !x.m.isStopped() {
			untilCheck = cellElements
		}
		if x.m.err == nil {
			f(i, offset, offsets)
		}
	})
}

// checkAxes fails for axes that the array does not have.
func (x *Array) checkAxes(axes []int) {
	for _, k := range axes {
		if k < 0 || k >= len(x.shape) {
			x.m.fail("axis %d of shape %s", k, x.shape)
		}
	}
}

// row is a line of contiguous elements with their bounds.
type row struct{ v, a, b []float64 }

// reduce computes one element from every line along axes. The result keeps these axes with length 1.
func (x *Array) reduce(axes []int, f func(z *Array, line int, r row)) *Array {
	if x.checkAxes(axes); x.m.err != nil {
		return x
	}
	kept := slices.Clone(x.shape)
	for _, k := range axes {
		kept[k] = 1
	}
	z := x.m.array(kept)
	a, b := x.errorBounds()
	var gathered row
	x.eachLine(axes, func(line, first int, offsets []int) {
		n := len(offsets)
		if n == 0 || offsets[n-1] == n-1 { // contiguous in memory
			f(z, line, row{x.v[first:][:n], a[first:][:n], b[first:][:n]})
			return
		}
		if gathered.v == nil {
			gathered = row{x.m.alloc(n), x.m.alloc(n), x.m.alloc(n)}
		}
		for i, k := range offsets {
			gathered.v[i], gathered.a[i], gathered.b[i] = x.v[first+k], a[first+k], b[first+k]
		}
		f(z, line, gathered)
	})
	return z
}

func (x *Array) sum(axes ...int) *Array {
	m := x.m
	return x.reduce(axes, func(z *Array, line int, r row) {
		var v, size, ea, eb float64
		for i, s := range r.v {
			v, size, ea, eb = v+s, size+math.Abs(s), ea+r.a[i], eb+r.b[i]
		}
		m.trackMagnitude(v)
		n := 1 + 2*math.Sqrt(float64(len(r.v)))
		z.set(line, v, ea+float64(m.narrow.u*n*size), eb+float64(m.wide.u*n*size))
	})
}

func (x *Array) mean(axes ...int) *Array {
	s := x.sum(axes...)
	if x.m.err != nil {
		return s
	}
	n := max(1, float64(len(x.v))/max(1, float64(len(s.v))))
	return s.mul(&Array{m: x.m, v: []float64{1 / n}, narrow: []float64{x.m.narrow.u / n}, wide: []float64{x.m.wide.u / n}})
}

// reducePreferred returns the preferred element of every line, with the largest bound of the line.
func (x *Array) reducePreferred(by preference, axes ...int) *Array {
	return x.reduce(axes, func(z *Array, line int, r row) {
		if len(r.v) == 0 {
			return
		}
		v, ea, eb := r.v[0], 0.0, 0.0
		for _, s := range r.v {
			v = by.choose(s, v)
		}
		for i, e := range r.a {
			ea, eb = max(ea, e), max(eb, r.b[i])
		}
		z.set(line, v, ea, eb)
	})
}

func (x *Array) largest(axes ...int) *Array  { return x.reducePreferred(larger, axes...) }
func (x *Array) smallest(axes ...int) *Array { return x.reducePreferred(smaller, axes...) }
