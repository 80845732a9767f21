package kernel

import "math"

// Hash spreads a code over 64 bits: both of its halves are multiplied, and the
// upper bits of the sum go into its lower ones, so that sums of hashes say more
// than sums of codes.
func Hash(code int64) uint64 {
	const lowKey, highKey = 0xb8659fd9, 0xd6e8feb9
	x := uint64(code) ^ 0x7f4a7c159e3779b9
	x = uint64(uint32(x))*lowKey + x>>32*highKey
	return x ^ x>>29
}

// hash32 is Hash for codes of 32 bits: the upper half of one is that of the sign, so there
// is one product.
func hash32(code int64) uint64 {
	const lowKey, highKey, low, high = 0xb8659fd9, 0xd6e8feb9, 0x9e3779b9, 0x7f4a7c15
	const positive, negative = high * highKey, (high ^ math.MaxUint32) * highKey
	x := uint64(uint32(code)^low)*lowKey + positive + uint64(code>>63)&(negative-positive)
	return x ^ x>>29
}

// Digests are the sums of hashes of the codes of both sides, and the largest and
// the sum of the distances of these, which are units in the last place.
type Digests struct {
	N, R, MaxDistance, SumDistance uint64
	// Small is what CountSmall finds of the pairs where Counted is set, which a loop that
	// has looked at all of them may do.
	Small   Small
	Counted bool
}

// Digest returns the digests of codes of less than 40 bits.
func Digest(n, r []int64) (d Digests) {
	r = r[:len(n)]
	for i, a := range n {
		b := r[i]
		d.N += Hash(a)
		d.R += Hash(b)
		apart := a - b
		apart = (apart ^ apart>>63) - apart>>63
		d.SumDistance += uint64(apart)
		d.MaxDistance = max(d.MaxDistance, uint64(apart))
	}
	return d
}

// HashPairs returns the sum of the hashes of elements of two codes each.
func HashPairs(codes []int64) (total uint64) {
	for ; len(codes) >= 2; codes = codes[2:] {
		total += Hash(int64(Hash(codes[0])) + codes[1])
	}
	return total
}
