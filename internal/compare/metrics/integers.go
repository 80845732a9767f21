package metrics

import "math"

// integerDifferences sets d and abs to n-r and |n-r|. If two 64-bit integers differ but have
// the same float64 value, d is their exact difference: equality is exact.
func integerDifferences(d, abs []float64, n, r *side) {
	for i := range d {
		x := n.values[i] - r.values[i]
		if x == 0 {
			x = n.float64Rest(i) - r.float64Rest(i)
		}
		d[i], abs[i] = x, math.Abs(x)
	}
}

// float64Rest returns an element minus its float64 value: 0 unless it is a 64-bit integer.
func (s *side) float64Rest(i int) float64 {
	x := s.values[i]
	if !s.number.is64Bit() || math.Abs(x) < 1<<53 {
		return 0
	}
	return float64(int64(s.exact[i] - wrapInt64(x)))
}

// wrapInt64 returns an integral value modulo 2^64; |x| may be up to 2^64.
func wrapInt64(x float64) uint64 {
	if math.Abs(x) < 1<<62 {
		return uint64(int64(x))
	}
	return uint64(int64(x/4)) << 2
}

// integerCodes sets dst to the values of a side, rounded to integers of the type n. exact
// has the integers of the side, nil if it has none. Values out of the range of a 64-bit type
// get the code outside.
func (n *number) integerCodes(dst []int64, side *number, values []float64, exact []uint64) {
	const outside = math.MaxInt64 - 1
	switch {
	case exact != nil:
		for i, v := range exact[:len(dst)] {
			dst[i] = int64(v)
			if int64(v) < 0 && (!side.signed && (n.signed || n.bits < 64) || side.signed && !n.signed && n.bits == 64) {
				dst[i] = outside
			}
		}
	case side.integer && !side.is64Bit():
		for i, x := range values[:len(dst)] {
			dst[i] = int64(x)
		}
	default:
		for i, x := range values[:len(dst)] {
			x = math.RoundToEven(x)
			switch {
			case x >= -(1<<63) && x < 1<<63 && (x >= 0 || n.signed || n.bits < 64):
				dst[i] = int64(x)
			case x >= 1<<63 && x < 1<<64 && !n.signed && n.bits == 64:
				dst[i] = int64(uint64(x))
			default:
				dst[i] = outside
			}
		}
	}
}
