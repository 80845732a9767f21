package metrics

import "math"

// Integers of 64 bits do not fit in float64, so their differences are taken
// before they are rounded.

// integerDifferences sets d and abs to n-r, both integers in two's complement
// if they are signed.
func integerDifferences(d, abs []float64, n, r []uint64, nSigned, rSigned bool) {
	for i := range d {
		a := difference(n[i], r[i], nSigned, rSigned)
		d[i], abs[i] = a, math.Abs(a)
	}
}

// difference returns n-r rounded to float64.
func difference(n, r uint64, nSigned, rSigned bool) float64 {
	nNegative, rNegative := nSigned && int64(n) < 0, rSigned && int64(r) < 0
	switch {
	case nNegative && !rNegative:
		return -magnitudeSum(-n, r)
	case rNegative && !nNegative:
		return magnitudeSum(n, -r)
	case nNegative: // both
		n, r = -r, -n
	}
	if n < r {
		return -float64(r - n)
	}
	return float64(n - r)
}

// magnitudeSum returns a+b, which may need 65 bits, rounded to float64.
func magnitudeSum(a, b uint64) float64 {
	total := a + b
	if total >= a {
		return float64(total)
	}
	// The last bit is kept for the sake of ties.
	return float64(total>>1|total&1|1<<63) * 2
}

// wideDifferences sets d and abs to n-r where one side is a 64-bit integer, in
// two's complement in exact, and the other is not an integer. wide are the
// float64 values of the integers; sign is -1 where they are the reference.
func wideDifferences(d, abs, n, r []float64, exact []uint64, wide []float64, sign float64) {
	for i, x := range wide {
		// Knuth's two-sum, and what rounding took from the integer.
		s := n[i] - r[i]
		part := s - n[i]
		rest := (n[i] - (s - part)) - (r[i] + part)
		if math.Abs(x) >= 1<<53 {
			rest += float64(sign * float64(int64(exact[i]-wrapped(x))))
		}
		d[i] = s + rest
		abs[i] = math.Abs(d[i])
	}
}

// wrapped returns an integral value modulo 2^64; it may be 2^64 itself.
func wrapped(x float64) uint64 {
	if math.Abs(x) < 1<<62 {
		return uint64(int64(x))
	}
	return uint64(int64(x/4)) << 2
}

// integerCodes sets dst to the values of a side, rounded to integers of the
// type. exact are the integers of a side that has any. What a 64-bit type does
// not hold has a code of its own.
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
	case side.integer && !side.wide():
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
