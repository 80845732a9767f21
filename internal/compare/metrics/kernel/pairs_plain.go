package kernel

import (
	"encoding/binary"
)

// halfPairsPlain is HalfPairs without vectors.
func halfPairsPlain(n, r []float64, nStored, rStored []byte, nSpan, rSpan *Span, d *Digests) bool {
	*nSpan, *rSpan, *d = Float16s(n, nStored), Float32s(r, rStored), Digests{}
	if nSpan.Special || rSpan.Special {
		return false
	}
	var sumN, squaresN, sumR, squaresR int64
	for i := range n {
		a := signedCode(int64(int16(binary.LittleEndian.Uint16(nStored[2*i:]))), 0x7fff)
		b := float16Code(binary.LittleEndian.Uint32(rStored[4*i:]))
		sumN += a
		squaresN += a * a
		sumR += b
		squaresR += b * b
		apart := uint64(max(a, b) - min(a, b))
		d.SumDistance += apart
		d.MaxDistance = max(d.MaxDistance, apart)
	}
	d.N, d.R = sumOfHashes(sumN, squaresN), sumOfHashes(sumR, squaresR)
	return true
}
