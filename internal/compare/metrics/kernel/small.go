package kernel

import "math"

// Small counts the zeros of both sides, the other elements below the smallest
// normal numbers of their types, and the pairs whose NPU element is below that
// while the reference is not below the NPU's.
type Small struct{ NZeros, NSmall, RZeros, RSmall, Under int64 }

// CountSmall counts small elements; types without subnormal numbers have the
// smallest normal number 0.
func CountSmall(n, r []float64, nNormal, rNormal float64) Small {
	var out [20]int64
	done := smallHead(n, r, nNormal, rNormal, &out)
	var c [5]int64
	for i, x := range out {
		c[i/4] += x
	}
	nBits, rBits := math.Float64bits(nNormal), math.Float64bits(rNormal)
	r = r[:len(n)]
	for i := done; i < len(n); i++ {
		x, y := math.Float64bits(n[i])&^SignBit, math.Float64bits(r[i])&^SignBit
		below := (x - nBits) >> 63
		c[0] += int64((x - 1) >> 63)
		c[1] += int64(below)
		c[2] += int64((y - 1) >> 63)
		c[3] += int64((y - rBits) >> 63)
		c[4] += int64(below &^ ((y - nBits) >> 63))
	}
	s := Small{NZeros: c[0], RZeros: c[2], Under: c[4]}
	if nNormal > 0 {
		s.NSmall = c[1] - c[0]
	}
	if rNormal > 0 {
		s.RSmall = c[3] - c[2]
	}
	return s
}
