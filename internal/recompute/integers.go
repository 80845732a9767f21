package recompute

import (
	"cmp"
	bits "encoding/binary"
	"math"

	"dumptool/internal/tensor"
)

// Integers of 64 bits do not fit float64 beyond 2^53. An array of such numbers has them a
// second time, as integers modulo 2^64, and the functions whose results are integers keep
// both.

// readIntegers are the elements of 64 bits in host bytes, nil for other types.
func readIntegers(dst []int64, src []byte, h tensor.Host) []int64 {
	if h != tensor.HostInt64 && h != tensor.HostUint64 {
		return nil
	}
	dst = resize(dst, len(src)/8)
	for i := range dst {
		dst[i] = int64(bits.LittleEndian.Uint64(src[8*i:]))
	}
	return dst
}

// integer is a number as an integer, if no other integer has the same value as float64.
func integer(v float64) (n int64, ok bool) {
	return int64(v), v == math.Trunc(v) && (math.Abs(v) <= maxInteger || v == math.MinInt64)
}

// integers are the elements as integers, nil where some are none.
func (x *Array) integers() []int64 {
	if x.ints != nil || x.a != nil {
		return x.ints
	}
	all := make([]int64, len(x.v))
	for i, v := range x.v {
		n, ok := integer(v)
		if !ok {
			return nil
		}
		all[i] = n
	}
	return all
}

// wide reports whether one of some arrays has integers of 64 bits, and all have integers.
func wide(all ...*Array) bool {
	some := false
	for _, x := range all {
		some = some || x.ints != nil
	}
	for _, x := range all {
		some = some && x.integers() != nil
	}
	return some
}

// mapped sets the integers of a function of an array.
func (x *Array) mapped(from *Array, f func(n int64) int64) *Array {
	if from.ints != nil && from.m.err == nil {
		x.ints = make([]int64, len(from.ints))
		for i, n := range from.ints {
			x.ints[i] = f(n)
		}
	}
	return x
}

// paired sets the integers of a function of elements of two arrays of the same shape.
func (x *Array) paired(p, q *Array, f func(i int, n, k int64) int64) *Array {
	if !wide(p, q) || len(p.v) != len(x.v) || len(q.v) != len(x.v) {
		return x
	}
	ns, ks := p.integers(), q.integers()
	x.ints = make([]int64, len(ns))
	for i, n := range ns {
		x.ints[i] = f(i, n, ks[i])
	}
	return x
}

// joined sets the integers of lines: what join makes of all of a line.
func (x *Array) joined(from *Array, axes []int, start int64, join func(n, k int64) int64) *Array {
	if from.ints == nil || from.m.err != nil {
		return x
	}
	x.ints = make([]int64, len(x.v))
	from.lines(from.axesOf(axes), func(line, first int, beside []int) {
		n := start
		for _, k := range beside {
			n = join(n, from.ints[first+k])
		}
		x.ints[line] = n
	})
	return x
}

// before reports whether element i of x is less than element k of y, which integers tell
// where both are the same as float64.
func (x *Array) before(i int, y *Array, k int) bool {
	if x.v[i] == y.v[k] && x.ints != nil && y.ints != nil {
		return x.ints[i]-y.ints[k] < 0
	}
	return x.v[i] < y.v[k]
}

// order orders two elements, NaN first.
func (x *Array) order(i, k int) int {
	switch {
	case x.before(i, x, k):
		return -1
	case x.before(k, x, i):
		return 1
	}
	return cmp.Compare(x.v[i], x.v[k])
}

// apart is how far two integers of 64 bits are apart whose values are d apart as float64.
func apart(n, k int64, d float64) float64 {
	const near = 1 << 20 // a few steps of float64 beside 2^64
	switch {
	case n == k:
		return 0
	case d < near:
		return math.Abs(float64(n - k))
	}
	return d
}
