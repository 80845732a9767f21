package engine

// hash spreads a code over 64 bits: both of its halves are multiplied, and the
// upper bits of the sum go into its lower ones, so that sums of hashes tell more
// than sums of codes.
func hash(code int64) uint64 {
	const lowKey, highKey = 0xb8659fd9, 0xd6e8feb9
	x := uint64(code) ^ 0x7f4a7c159e3779b9
	x = x&0xffffffff*lowKey + x>>32*highKey
	return x ^ x>>29
}

// digests are the hash sums of the codes of both sides and the distances of
// these, which are distances in units of the last place.
type digests struct {
	n, r, high, total uint64
}

// digest returns the digests of codes of less than 40 bits.
func digest(n, r []int64) (d digests) {
	var out [16]uint64
	done := digestHead(n, r, &out)
	for k := range 4 {
		d.n += out[k]
		d.r += out[4+k]
		d.high = max(d.high, out[8+k])
		d.total += out[12+k]
	}
	r = r[:len(n)]
	for i := done; i < len(n); i++ {
		a, b := n[i], r[i]
		d.n += hash(a)
		d.r += hash(b)
		apart := uint64(max(a, b) - min(a, b))
		d.total += apart
		d.high = max(d.high, apart)
	}
	return d
}

// hashPairs returns the sum of the hashes of elements of two codes each.
func hashPairs(codes []int64) (total uint64) {
	for ; len(codes) >= 2; codes = codes[2:] {
		total += hash(int64(hash(codes[0])) + codes[1])
	}
	return total
}

// distance returns how far two codes are apart.
func distance(a, b int64) uint64 { return uint64(max(a, b)) - uint64(min(a, b)) }

// distances sets dst to the distances of codes.
func distances(dst []uint64, a, b []int64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = distance(a[i], b[i])
	}
}

// maxAndSum returns the largest of values and their sum in float64.
func maxAndSum(values []uint64) (high uint64, total float64) {
	var low, upper uint64
	for _, v := range values {
		low += v & 0xffffffff
		upper += v >> 32
		high = max(high, v)
	}
	return high, float64(low) + float64(upper)*(1<<32)
}
