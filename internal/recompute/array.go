package recompute

import (
	"context"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Array is a dense array of computed values. Each value has two error bounds of a healthy NPU: narrow for float32
// arithmetic, wide for float16 arithmetic and function tables.
type Array struct {
	m     *machine
	shape tensor.Shape
	v     []float64
	// narrow are the narrow bounds, b the wide bounds, both absolute; nil for values without error.
	narrow, wide []float64
}

// bounds are the relative roundings of one kind of arithmetic.
type bounds struct {
	// u is the rounding of an intermediate result, tf the error of tables for exp, log, tanh, erf and the like, td
	// the error of roots and quotients, eta the smallest absolute step.
	u, tf, td, eta float64
	// acc is the rounding of the accumulator of a matrix product, inp the rounding of its factors.
	acc, inp float64
	// half: the NPU computes in float16, where a divisor that overflows gives a quotient of 0.
	half bool
	// wide: function tables and Winograd transforms are allowed.
	wide bool
}

const (
	half   = 0x1p-11 // half a unit in the last place of float16
	single = 0x1p-24
)

// narrowBounds are the roundings of float32 arithmetic.
var narrowBounds = bounds{u: single, tf: 0x1p-19, td: 0x1p-20, eta: 0x1p-149, acc: single}

// wideBounds are the roundings of a float16 vector unit for float16, of function tables for other types, and in
// addition of HF32 products for float32.
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

// machine computes with arrays. It owns their memory, and keeps the first error.
type machine struct {
	ctx          context.Context
	narrow, wide bounds
	// stepRounding is the relative rounding to the output type that may happen between two steps, 0 for none.
	stepRounding float64
	// maxMagnitude is the largest finite product or sum. selects: elements were chosen by a comparison, for which
	// kernels treat NaN differently.
	maxMagnitude float64
	selects      bool
	// largest holds the largest values between inputs and outputs.
	largest largestValues
	// dynamicLength: the length of an output followed from the values of the inputs.
	dynamicLength bool
	err           error
	// inexact: an integer beyond 2^53 was read, which float64 may not hold.
	inexact bool
	// lacksInput: a formula needed an absent input, so that some values of attributes could not be tried.
	lacksInput bool

	free, used [][]float64
	zero       []float64
	products   []product
}

// reset frees all arrays for reuse.
func (m *machine) reset() {
	m.free, m.used = append(m.free, m.used...), m.used[:0]
	m.err, m.selects, m.dynamicLength, m.products = nil, false, false, m.products[:0]
}

// isStopped reports whether to stop computing: after an error, or if the context is done. Loops call it at least once
// every few cells.
func (m *machine) isStopped() bool {
	if m.err == nil {
		m.err = m.ctx.Err()
	}
	return m.err != nil
}

// eachRange calls f for consecutive ranges lo..hi of n elements, and stops between them if the machine is stopped.
func (m *machine) eachRange(n int, f func(lo, hi int)) {
	for lo := 0; lo < n && !m.isStopped(); lo += cellElements {
		f(lo, min(n, lo+cellElements))
	}
}

// mark and release bracket temporary arrays: release frees the memory allocated since mark.
func (m *machine) mark() int { return len(m.used) }

func (m *machine) release(mark int) {
	m.free, m.used = append(m.free, m.used[mark:]...), m.used[:mark]
}

// alloc returns n numbers, not initialised.
func (m *machine) alloc(n int) []float64 {
	for i := len(m.free) - 1; i >= 0; i-- {
		if s := m.free[i]; cap(s) >= n && cap(s) <= 2*n+64 {
			m.free = slices.Delete(m.free, i, i+1)
			m.used = append(m.used, s)
			return s[:n]
		}
	}
	if len(m.free) > 64 { // drop buffers of unsuitable sizes
		m.free = m.free[:0]
	}
	s := make([]float64, n)
	m.used = append(m.used, s)
	return s
}

// zeros returns n shared zeros, which must not be changed.
func (m *machine) zeros(n int) []float64 {
	if len(m.zero) < n {
		m.zero = make([]float64, n)
	}
	return m.zero[:n]
}

// fail records the first error and returns an empty array in place of a result.
func (m *machine) fail(format string, args ...any) *Array {
	if m.err == nil {
		m.err = lang.Errorf(format, args...)
	}
	return &Array{m: m, shape: tensor.Shape{0}}
}

// exactArray returns an array of values without error.
func (m *machine) exactArray(shape tensor.Shape, v []float64) *Array {
	return &Array{m: m, shape: shape, v: v}
}

// number returns a number without error, which broadcasts to every shape.
func (m *machine) number(x float64) *Array { return m.exactArray(nil, []float64{x}) }

// array returns an array of a shape, not initialised.
func (m *machine) array(shape tensor.Shape) *Array {
	n := int(shape.Elements())
	return &Array{m: m, shape: shape, v: m.alloc(n), narrow: m.alloc(n), wide: m.alloc(n)}
}

// errorBounds returns the bounds of an array, zeros for values without error.
func (x *Array) errorBounds() (a, b []float64) {
	if x.narrow == nil {
		z := x.m.zeros(len(x.v))
		return z, z
	}
	return x.narrow, x.wide
}

// set sets an element and its bounds, which are 0 for NaN and infinities.
func (x *Array) set(i int, v, a, b float64) {
	if v-v != 0 {
		a, b = 0, 0
	}
	x.v[i], x.narrow[i], x.wide[i] = v, a, b
}

// gatherFrom returns an array whose element i is element source(i) of x, or fill where source(i) is negative.
func (x *Array) gatherFrom(shape tensor.Shape, fill float64, source func(i int) int) *Array {
	if x.m.err != nil {
		return x
	}
	z := &Array{m: x.m, shape: shape, v: x.m.alloc(int(shape.Elements()))}
	if x.narrow != nil {
		z.narrow, z.wide = x.m.alloc(len(z.v)), x.m.alloc(len(z.v))
	}
	x.m.eachRange(len(z.v), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			z.copyElement(i, x, source(i), fill)
		}
	})
	return z
}

// copyElement sets element i to element from of src, or to fill if from is negative.
func (x *Array) copyElement(i int, src *Array, from int, fill float64) {
	v, a, b := fill, 0.0, 0.0
	if from >= 0 {
		v = src.v[from]
		if x.narrow != nil {
			a, b = src.narrow[from], src.wide[from]
		}
	}
	if x.v[i] = v; x.narrow != nil {
		x.narrow[i], x.wide[i] = a, b
	}
}

// reshape returns the same elements in another shape; one axis may be -1 and is computed.
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

// walkElements calls f for each element of a shape in C order, with its offset under the strides.
func walkElements(shape tensor.Shape, strides []int64, f func(i, offset int)) {
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

// broadcast returns the common shape of two shapes by the rules of numpy.
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

// expand broadcasts the array to a shape.
func (x *Array) expand(shape tensor.Shape) *Array {
	if x.shape.Equal(shape) || x.m.err != nil {
		return x
	}
	if s, ok := broadcast(x.shape, shape); !ok || !s.Equal(shape) {
		return x.m.fail("shapes %s and %s do not broadcast", x.shape, shape)
	}
	if len(x.v) == 1 && x.narrow == nil { // narrow number
		z := &Array{m: x.m, shape: shape, v: x.m.alloc(int(shape.Elements()))}
		for i := range z.v {
			z.v[i] = x.v[0]
		}
		return z
	}
	own := padShape(x.shape, len(shape))
	strides := own.Strides()
	for i := range strides {
		if own[i] == 1 {
			strides[i] = 0
		}
	}
	z := &Array{m: x.m, shape: shape, v: x.m.alloc(int(shape.Elements()))}
	copyStrided(z.v, x.v, shape, strides)
	if x.narrow != nil {
		z.narrow, z.wide = x.m.alloc(len(z.v)), x.m.alloc(len(z.v))
		copyStrided(z.narrow, x.narrow, shape, strides)
		copyStrided(z.wide, x.wide, shape, strides)
	}
	return z
}

// copyStrided sets dst, in C order of a shape, to the elements of src at strides. It copies contiguous or repeated
// elements in one go.
func copyStrided[T any](dst, src []T, shape tensor.Shape, strides []int64) {
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
	walkElements(shape[:outer], strides[:outer], func(i, offset int) {
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

// broadcastPair returns two arrays broadcast to their common shape, and a new array of that shape for the result.
func broadcastPair(x, y *Array) (p, q, z *Array) {
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

// cat concatenates arrays along an axis.
func cat(axis int, all ...*Array) *Array {
	m := all[0].m
	shape, exact := slices.Clone(all[0].shape), true
	if axis < 0 || axis >= len(shape) {
		return m.fail("axis %d of shape %s", axis, shape)
	}
	shape[axis] = 0
	for _, x := range all {
		if m.err != nil || len(x.shape) != len(shape) {
			return m.fail("arrays of %d and %d axes cannot be concatenated", len(shape), len(x.shape))
		}
		shape[axis] += x.shape[axis]
		exact = exact && x.narrow == nil
	}
	z := m.array(shape)
	if exact {
		z.narrow, z.wide = nil, nil
	}
	inner, outer := int(shape[axis+1:].Elements()), int(shape[:axis].Elements())
	at := 0
	for o := range outer {
		for _, x := range all {
			n := int(x.shape[axis]) * inner
			if len(x.v) != n*outer {
				return m.fail("shapes %s and %s cannot be concatenated along axis %d", all[0].shape, x.shape, axis)
			}
			copy(z.v[at:], x.v[o*n:(o+1)*n])
			if !exact {
				a, b := x.errorBounds()
				copy(z.narrow[at:], a[o*n:(o+1)*n])
				copy(z.wide[at:], b[o*n:(o+1)*n])
			}
			at += n
		}
	}
	return z
}
