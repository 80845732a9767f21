package recompute

import (
	"context"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Array is a dense array of triples: what was computed, and how far a healthy NPU may be
// off it, in the narrow and in the wide way.
type Array struct {
	m     *machine
	shape tensor.Shape
	v     []float64
	// a and b are the bounds of the narrow and the wide way; nil for numbers without error.
	a, b []float64
}

// bounds are what a way of computing does to numbers.
type bounds struct {
	// u is the rounding of an intermediate result, tf the relative error of tables of exp, log,
	// tanh, erf and the like, td that of roots and quotients, eta the smallest step.
	u, tf, td, eta float64
	// acc is the rounding of a sum of products, inp that of its factors.
	acc, inp float64
	// half is set for float16 inside: a divisor that overflows leaves 0.
	half bool
	// wide is set for tables and for what Winograd's transforms add.
	wide bool
}

const (
	half   = 0x1p-11 // half a unit in the last place of float16
	single = 0x1p-24
)

// narrowBounds are those of float32 inside.
var narrowBounds = bounds{u: single, tf: 0x1p-19, td: 0x1p-20, eta: 0x1p-149, acc: single}

// wideBounds are those of a float16 vector unit for float16, of tables for others, and of
// HF32 products for float32.
func wideBounds(out tensor.DType) bounds {
	w := bounds{u: single, tf: 0x1p-9, td: 0x1p-8, eta: 0x1p-149, acc: single, wide: true}
	switch out {
	case tensor.Float16:
		w.u, w.acc, w.eta, w.half = half, half, 0x1p-24, true
	case tensor.Float32:
		w.inp = half
	}
	return w
}

// machine computes with arrays: it has their memory, and the first thing that did not fit.
type machine struct {
	ctx          context.Context
	narrow, wide bounds
	// between is the rounding to the type of the output that may stand between two steps.
	between float64
	// top is the largest finite product or sum, selects is set once elements were chosen by a
	// comparison, which may treat a NaN in its own way.
	top     float64
	selects bool
	// inside are the largest values between inputs and outputs.
	inside largestInside
	// counts is set once the length of an output followed from values of the inputs.
	counts bool
	err    error
	// inexact is set once an integer beyond 2^53 was read: float64 does not hold all of these.
	inexact bool
	// lacks is set once a formula wanted an input that is not there: some attributes need it.
	lacks bool

	free, used [][]float64
	zero       []float64
	products   []product
}

// reset forgets all arrays: their memory is used again.
func (m *machine) reset() {
	m.free, m.used = append(m.free, m.used...), m.used[:0]
	m.err, m.selects, m.counts, m.products = nil, false, false, m.products[:0]
}

// stopped reports whether nothing more has to be computed: something did not fit, or the work was
// interrupted. Between two calls lies work of at most a few cells.
func (m *machine) stopped() bool {
	if m.err == nil {
		m.err = m.ctx.Err()
	}
	return m.err != nil
}

// blocks calls f for parts of n elements, from lo to hi each, between which it may stop.
func (m *machine) blocks(n int, f func(lo, hi int)) {
	for lo := 0; lo < n && !m.stopped(); lo += cellElements {
		f(lo, min(n, lo+cellElements))
	}
}

// mark is how much memory is used; release frees what was taken since.
func (m *machine) mark() int { return len(m.used) }

func (m *machine) release(mark int) {
	m.free, m.used = append(m.free, m.used[mark:]...), m.used[:mark]
}

// alloc returns memory of n numbers with any content.
func (m *machine) alloc(n int) []float64 {
	for i := len(m.free) - 1; i >= 0; i-- {
		if s := m.free[i]; cap(s) >= n && cap(s) <= 2*n+64 {
			m.free = slices.Delete(m.free, i, i+1)
			m.used = append(m.used, s)
			return s[:n]
		}
	}
	if len(m.free) > 64 { // of other sizes
		m.free = m.free[:0]
	}
	s := make([]float64, n)
	m.used = append(m.used, s)
	return s
}

// zeros returns n zeros that nobody may change.
func (m *machine) zeros(n int) []float64 {
	if len(m.zero) < n {
		m.zero = make([]float64, n)
	}
	return m.zero[:n]
}

// fail notes what does not fit; the array stands for the result then.
func (m *machine) fail(format string, args ...any) *Array {
	if m.err == nil {
		m.err = lang.Errorf(format, args...)
	}
	return &Array{m: m, shape: tensor.Shape{0}}
}

// exact returns an array of numbers without error.
func (m *machine) exact(shape tensor.Shape, v []float64) *Array {
	return &Array{m: m, shape: shape, v: v}
}

// number returns a number without error.
func (m *machine) number(x float64) *Array { return m.exact(nil, []float64{x}) }

// array returns an array of a shape with any content.
func (m *machine) array(shape tensor.Shape) *Array {
	n := int(shape.Elements())
	return &Array{m: m, shape: shape, v: m.alloc(n), a: m.alloc(n), b: m.alloc(n)}
}

// errs returns the bounds of an array, zeros for those without.
func (x *Array) errs() (a, b []float64) {
	if x.a == nil {
		z := x.m.zeros(len(x.v))
		return z, z
	}
	return x.a, x.b
}

// set sets an element. What is not finite has no bound.
func (x *Array) set(i int, v, a, b float64) {
	if v-v != 0 {
		a, b = 0, 0
	}
	x.v[i], x.a[i], x.b[i] = v, a, b
}

// move returns an array that each source of which is an element of x, -1 for fill.
func (x *Array) move(shape tensor.Shape, fill float64, source func(i int) int) *Array {
	if x.m.err != nil {
		return x
	}
	z := &Array{m: x.m, shape: shape, v: x.m.alloc(int(shape.Elements()))}
	if x.a != nil {
		z.a, z.b = x.m.alloc(len(z.v)), x.m.alloc(len(z.v))
	}
	x.m.blocks(len(z.v), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			z.take(i, x, source(i), fill)
		}
	})
	return z
}

// take sets an element to one of src, or to fill for a negative place.
func (x *Array) take(i int, src *Array, from int, fill float64) {
	v, a, b := fill, 0.0, 0.0
	if from >= 0 {
		v = src.v[from]
		if x.a != nil {
			a, b = src.a[from], src.b[from]
		}
	}
	if x.v[i] = v; x.a != nil {
		x.a[i], x.b[i] = a, b
	}
}

// reshape returns the same elements in another shape; one axis may be -1.
func (x *Array) reshape(shape ...int64) *Array {
	s, known, open := tensor.Shape(slices.Clone(shape)), int64(1), -1
	for i, n := range s {
		if n < 0 {
			open = i
			continue
		}
		known *= n
	}
	if open >= 0 && known > 0 {
		s[open] = int64(len(x.v)) / known
	}
	if n, ok := s.Count(); x.m.err != nil || !ok || n != int64(len(x.v)) {
		return x.m.fail("%d elements in the shape %s", len(x.v), s)
	}
	z := *x
	z.shape = s
	return &z
}

// walk calls f for the offsets, in C order of a shape, that strides give its elements.
func walk(shape tensor.Shape, strides []int64, f func(i, offset int)) {
	at, offset := make([]int64, len(shape)), int64(0)
	n := int(shape.Elements())
	for i := range n {
		f(i, int(offset))
		for k := len(shape) - 1; k >= 0; k-- {
			at[k]++
			offset += strides[k]
			if at[k] < shape[k] {
				break
			}
			offset -= at[k] * strides[k]
			at[k] = 0
		}
	}
}

// lead returns the array with axes of length 1 in front up to a rank.
func (x *Array) lead(rank int) *Array {
	if len(x.shape) >= rank {
		return x
	}
	shape := make(tensor.Shape, rank)
	for i := range shape {
		if k := i - rank + len(x.shape); k >= 0 {
			shape[i] = x.shape[k]
		} else {
			shape[i] = 1
		}
	}
	z := *x
	z.shape = shape
	return &z
}

// broadcast is the shape of two arrays together, as numpy has it.
func broadcast(s, t tensor.Shape) (tensor.Shape, bool) {
	if s.Equal(t) {
		return s, true
	}
	shape := make(tensor.Shape, max(len(s), len(t)))
	for i := range shape {
		p, q := int64(1), int64(1)
		if k := i - len(shape) + len(s); k >= 0 {
			p = s[k]
		}
		if k := i - len(shape) + len(t); k >= 0 {
			q = t[k]
		}
		switch {
		case p == q || q == 1:
			shape[i] = p
		case p == 1:
			shape[i] = q
		default:
			return nil, false
		}
	}
	return shape, true
}

// expand returns the array in a shape that it fits in.
func (x *Array) expand(shape tensor.Shape) *Array {
	if x.shape.Equal(shape) || x.m.err != nil {
		return x
	}
	if s, ok := broadcast(x.shape, shape); !ok || !s.Equal(shape) {
		return x.m.fail("shapes %s and %s do not broadcast", x.shape, shape)
	}
	if len(x.v) == 1 && x.a == nil { // a number
		z := &Array{m: x.m, shape: shape, v: x.m.alloc(int(shape.Elements()))}
		for i := range z.v {
			z.v[i] = x.v[0]
		}
		return z
	}
	y := x.lead(len(shape))
	strides := y.shape.Strides()
	for i := range strides {
		if y.shape[i] == 1 {
			strides[i] = 0
		}
	}
	z := &Array{m: x.m, shape: shape, v: x.m.alloc(int(shape.Elements()))}
	spread(z.v, x.v, shape, strides)
	if x.a != nil {
		z.a, z.b = x.m.alloc(len(z.v)), x.m.alloc(len(z.v))
		spread(z.a, x.a, shape, strides)
		spread(z.b, x.b, shape, strides)
	}
	return z
}

// spread sets elements of a shape to those at strides of others: as many at a time as lie
// behind each other, or are the same one.
func spread[T any](dst, src []T, shape tensor.Shape, strides []int64) {
	outer, run := len(shape), 1
	next := func(stride int64) bool { return outer > 0 && (strides[outer-1] == stride || shape[outer-1] == 1) }
	for outer > 0 && shape[outer-1] == 1 {
		outer--
	}
	same := next(0)
	for same && next(0) || !same && next(int64(run)) {
		outer--
		run *= int(shape[outer])
	}
	if len(dst) == 0 {
		return
	}
	walk(shape[:outer], strides[:outer], func(i, offset int) {
		to := dst[i*run:][:run]
		if !same {
			copy(to, src[offset:])
			return
		}
		for k := range to {
			to[k] = src[offset]
		}
	})
}

// together returns two arrays in one shape, and an array for the result.
func together(x, y *Array) (p, q, z *Array) {
	m := x.m
	shape, ok := broadcast(x.shape, y.shape)
	if !ok && m.err == nil {
		m.fail("shapes %s and %s do not broadcast", x.shape, y.shape)
	}
	if m.err != nil {
		none := m.array(tensor.Shape{0})
		return none, none, none
	}
	return x.expand(shape), y.expand(shape), m.array(shape)
}

// cat puts arrays behind each other along an axis.
func cat(axis int, all ...*Array) *Array {
	m := all[0].m
	shape, exact := slices.Clone(all[0].shape), true
	if axis < 0 || axis >= len(shape) {
		return m.fail("axis %d of shape %s", axis, shape)
	}
	shape[axis] = 0
	for _, x := range all {
		if m.err != nil || len(x.shape) != len(shape) {
			return m.fail("arrays of %d and %d axes behind each other", len(shape), len(x.shape))
		}
		shape[axis] += x.shape[axis]
		exact = exact && x.a == nil
	}
	z := m.array(shape)
	if exact {
		z.a, z.b = nil, nil
	}
	inner, outer := int(shape[axis+1:].Elements()), int(shape[:axis].Elements())
	at := 0
	for o := range outer {
		for _, x := range all {
			n := int(x.shape[axis]) * inner
			if len(x.v) != n*outer {
				return m.fail("shapes %s and %s behind each other along axis %d", all[0].shape, x.shape, axis)
			}
			copy(z.v[at:], x.v[o*n:(o+1)*n])
			if !exact {
				a, b := x.errs()
				copy(z.a[at:], a[o*n:(o+1)*n])
				copy(z.b[at:], b[o*n:(o+1)*n])
			}
			at += n
		}
	}
	return z
}
