package kernel

import "math"

// Small counts the zeros of both sides, the other elements below the smallest
// normal numbers of their types, and the pairs whose NPU element is below that
// while the reference is not below the NPU's.
type Small struct{ NZeros, NSmall, RZeros, RSmall, Under int64 }

// CountSmall counts small elements; types without subnormal numbers have the
// smallest normal number 0.
func CountSmall(n, r []float64, nNormal, rNormal float64) Small {
	var s Small
	s.add(n, r, nNormal, rNormal)
	s.NSmall, s.RSmall = max(s.NSmall-s.NZeros, 0), max(s.RSmall-s.RZeros, 0) // below 0 are none
	return s
}

// CountBelow is CountSmall where n is 0 where r is and nowhere else, which are so many
// pairs, and no other reference is below the normal numbers of its type.
func CountBelow(n, r []float64, nNormal float64, zeros int64) Small {
	limit := math.Float64bits(nNormal)
	var below, both uint64
	rest := sliceBits(r)[:len(n)]
	for i, x := range sliceBits(n) {
		x, y := x&^SignBit-limit, rest[i]&^SignBit-limit
		below += x >> 63
		both += (x & y) >> 63
	}
	return Small{NZeros: zeros, RZeros: zeros, NSmall: max(int64(below)-zeros, 0), Under: int64(below - both)}
}

// add counts zeros as small too.
func (s *Small) add(n, r []float64, nNormal, rNormal float64) {
	nBits, rBits := math.Float64bits(nNormal), math.Float64bits(rNormal)
	var nZeros, nSmall, rZeros, rSmall, under uint64
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
	s.NZeros += int64(nZeros)
	s.NSmall += int64(nSmall)
	s.RZeros += int64(rZeros)
	s.RSmall += int64(rSmall)
	s.Under += int64(under)
}
