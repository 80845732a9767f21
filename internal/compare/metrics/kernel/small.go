package kernel

import "math"

// Small counts the zeros of both sides, the other elements below the smallest
// normal numbers of their types, and the pairs whose NPU element is below that
// while the reference is not below the NPU's.
type Small struct{ NZeros, NSmall, RZeros, RSmall, Under int64 }

// CountSmall counts small elements; types without subnormal numbers have the
// smallest normal number 0.
func CountSmall(n, r []float64, nNormal, rNormal float64) Small {
	nBits, rBits := math.Float64bits(nNormal), math.Float64bits(rNormal)
	var nZeros, nSmall, rZeros, rSmall, under uint64 // small ones with zeros
	r = r[:len(n)]
	for i, x := range n {
		x, y := math.Float64bits(x)&^SignBit, math.Float64bits(r[i])&^SignBit
		below := (x - nBits) >> 63
		nZeros += (x - 1) >> 63
		nSmall += below
		rZeros += (y - 1) >> 63
		rSmall += (y - rBits) >> 63
		under += below &^ ((y - nBits) >> 63)
	}
	small := func(all, zeros uint64) int64 { return max(int64(all-zeros), 0) } // below 0 are none
	return Small{int64(nZeros), small(nSmall, nZeros), int64(rZeros), small(rSmall, rZeros), int64(under)}
}
