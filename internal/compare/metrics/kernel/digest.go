package kernel

import (
	"encoding/binary"
	"math"
)

// The factors of Hash: odd numbers without a pattern.
const sumKey, squareKey = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93

// Hash is a polynomial of a code, modulo 2^64, so the sum of hashes follows from the sum of
// the codes and the sum of their squares. If two tensors have equal sums of hashes, they very
// likely hold the same elements, in any order.
func Hash(code int64) uint64 { return sumOfHashes(code, code*code) }

// sumOfHashes returns the sum of hashes from the sum of the codes and the sum of squares.
func sumOfHashes(codes, squares int64) uint64 {
	return uint64(codes)*sumKey + uint64(squares)*squareKey
}

// Digests has the sum of hashes of each side, and the maximum and the sum of the distances
// of codes, in ulps.
type Digests struct {
	N, R, MaxDistance, SumDistance uint64
}

// Digest returns the digests of two sides; codes have less than 40 bits.
func Digest(n, r []int64) (d Digests) {
	r = r[:len(n)]
	var sumN, squaresN, sumR, squaresR int64
	for i, a := range n {
		b := r[i]
		sumN += a
		squaresN += a * a
		sumR += b
		squaresR += b * b
		apart := a - b
		apart = (apart ^ apart>>63) - apart>>63
		d.SumDistance += uint64(apart)
		d.MaxDistance = max(d.MaxDistance, uint64(apart))
	}
	d.N, d.R = sumOfHashes(sumN, squaresN), sumOfHashes(sumR, squaresR)
	return d
}

// DigestEqual returns Digest(codes, codes).
func DigestEqual(codes []int64) Digests {
	var sum, squares int64
	for _, a := range codes {
		sum += a
		squares += a * a
	}
	return equalDigests(sum, squares)
}

// DigestEqual32 is DigestEqual for stored float32 elements.
func DigestEqual32(src []byte) Digests {
	var sum, squares int64
	for ; len(src) >= 16; src = src[16:] {
		two, next := binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint64(src[8:])
		a, b := signedCode(int64(two<<32)>>32, math.MaxInt32), signedCode(int64(two)>>32, math.MaxInt32)
		c, d := signedCode(int64(next<<32)>>32, math.MaxInt32), signedCode(int64(next)>>32, math.MaxInt32)
		sum += a + b + c + d
		squares += a*a + b*b + c*c + d*d
	}
	for ; len(src) > 0; src = src[4:] {
		a := signedCode(int64(int32(binary.LittleEndian.Uint32(src))), math.MaxInt32)
		sum += a
		squares += a * a
	}
	return equalDigests(sum, squares)
}

func equalDigests(sum, squares int64) Digests {
	hash := sumOfHashes(sum, squares)
	return Digests{N: hash, R: hash}
}

// HashPairs returns the sum of hashes of elements with two codes each.
func HashPairs(codes []int64) (total uint64) {
	for ; len(codes) >= 2; codes = codes[2:] {
		total += Hash(int64(Hash(codes[0])) + codes[1])
	}
	return total
}
