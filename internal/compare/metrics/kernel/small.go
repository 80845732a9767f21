package kernel

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Small counts zeros of both sides, other elements below the smallest normal number of their
// type, and, in Under, pairs whose NPU element is below it although the reference is not below
// the smallest normal number of the NPU's type.
type Small struct{ NZeros, NSmall, RZeros, RSmall, Under int64 }

// CountSmall counts small elements. A type without subnormal numbers has 0 as its smallest
// normal number.
func CountSmall(n, r []float64, nNormal, rNormal float64) Small {
	var s Small
	s.add(n, r, nNormal, rNormal)
	s.NSmall, s.RSmall = max(s.NSmall-s.NZeros, 0), max(s.RSmall-s.RZeros, 0) // without subnormal numbers the difference is negative
	return s
}

// For four float16 in a uint64: a mask without the signs; adding fourNotZero carries into the
// sign of each nonzero element, fourNormal into the sign of each normal one.
const (
	fourMagnitudes = 0x7fff_7fff_7fff_7fff
	fourNotZero    = 0x7fff_7fff_7fff_7fff
	fourNormal     = 0x7c00_7c00_7c00_7c00
)

// CountBelow is CountSmall for stored float16 beside float32, if the two sides are zero at the same positions (zeros
// is their number) and no other reference is subnormal.
func CountBelow(n []byte, r []float64, zeros int64) Small {
	s := Small{NZeros: zeros, RZeros: zeros}
	for ; len(n) >= 8 && len(r) >= 4; n, r = n[8:], r[4:] {
		s.addFour(binary.LittleEndian.Uint64(n), r)
	}
	var last [8]byte
	copy(last[:], n)
	s.addFour(binary.LittleEndian.Uint64(last[:]), r)
	return s
}

// addFour adds the subnormal elements of four float16.
func (s *Small) addFour(n uint64, r []float64) {
	n &= fourMagnitudes
	for small := (n + fourNotZero) &^ (n + fourNormal) &^ fourMagnitudes; small != 0; small &= small - 1 {
		s.NSmall++
		if math.Abs(r[bits.TrailingZeros64(small)/16]) >= 0x1p-14 {
			s.Under++
		}
	}
}

// add counts; NSmall and RSmall include the zeros.
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
