package kernel

import (
	"encoding/binary"
	"math"

	"dumptool/internal/tensor"
)

// plainPairSums has the sums of plainPairs. In an alike chunk every reference rounds to its n.
type plainPairSums struct {
	n       bitBounds // of n, in chunks that are not alike
	r       bitBounds // of r, in chunks that are not alike
	alike   bitBounds // of r, in alike chunks
	digests Digests
	others  bool // some chunks are not alike
	// Of n in alike chunks: the number of zeros, and of subnormal values
	// without the zeros.
	zeros, small int64
}

// plainPairs is HalfPairs without vectors. If an operator is right, most references round to
// the NPU element. If all pairs of a chunk do, a single code is hashed for both sides, and the
// bounds of n follow from the bounds of r by rounding. All other chunks use short loops,
// which do not run out of registers.
func plainPairs(n, r []float64, nStored, rStored []byte, nSpan, rSpan *Span, d *Digests) bool {
	h := plainPairSums{n: newBitBounds(), r: newBitBounds(), alike: newBitBounds()}
	i := 0
	for ; i+chunk <= len(n); i += chunk {
		x, y := (*[chunk]float64)(n[i:]), (*[chunk]float64)(r[i:])
		nPart, rPart := (*[2 * chunk]byte)(nStored[2*i:]), (*[4 * chunk]byte)(rStored[4*i:])
		if !h.addAlike(x, y, nPart, rPart) {
			h.addOthers(x, y, nPart, rPart)
		}
	}
	for ; i < len(n); i++ {
		half, single := binary.LittleEndian.Uint16(nStored[2*i:]), binary.LittleEndian.Uint32(rStored[4*i:])
		n[i], r[i] = tensor.Float16To64(half), float64(math.Float32frombits(single))
		h.add(n[i], r[i], int64(int16(half)), single)
	}
	return h.finish(nSpan, rSpan, d)
}

// decodeFloat16 decodes float16 elements. Infinities and NaN decode to values beyond the
// largest finite one.
func decodeFloat16(n *[chunk]float64, nStored *[2 * chunk]byte) {
	const (
		// The bits of a float16, moved to the exponent and fraction of a float64, give
		// the value divided by this factor.
		factor = 0x1p1008
		mask   = SignBit | (1<<15-1)<<42
	)
	_, _ = n[0], nStored[0]
	for i := 0; i < chunk; i += 4 {
		four := binary.LittleEndian.Uint64(nStored[2*i:])
		n[i] = math.Float64frombits(uint64(int64(four<<48)>>6)&mask) * factor
		n[i+1] = math.Float64frombits(uint64(int64(four<<32)>>6)&mask) * factor
		n[i+2] = math.Float64frombits(uint64(int64(four<<16)>>6)&mask) * factor
		n[i+3] = math.Float64frombits(uint64(int64(four)>>6)&mask) * factor
	}
}

func decodeFloat32(r *[chunk]float64, rStored *[4 * chunk]byte) {
	_, _ = r[0], rStored[0]
	for i := 0; i < chunk; i += 4 {
		r[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(rStored[4*i:])))
		r[i+1] = float64(math.Float32frombits(binary.LittleEndian.Uint32(rStored[4*i+4:])))
		r[i+2] = float64(math.Float32frombits(binary.LittleEndian.Uint32(rStored[4*i+8:])))
		r[i+3] = float64(math.Float32frombits(binary.LittleEndian.Uint32(rStored[4*i+12:])))
	}
}

// addAlike decodes a chunk in groups of four and adds it. It returns false, and adds nothing,
// if some pair is not alike.
func (h *plainPairSums) addAlike(n, r *[chunk]float64, nStored *[2 * chunk]byte, rStored *[4 * chunk]byte) bool {
	const (
		// The bits of a float16, moved to the exponent and fraction of a float64, give
		// the value divided by this factor.
		factor = 0x1p1008
		mask   = SignBit | (1<<15-1)<<42
		// If the bits of two values differ by less than half the distance of neighbours in
		// float16, they round to the same float16. Subnormal numbers are farther apart.
		halfway = 41
		// Multiplying by four16 sums four 16-bit numbers in the top 16 bits.
		four16 = 0x0001_0001_0001_0001
	)
	var notZeros, normals uint64
	negative, positive, least := h.alike.negative, h.alike.positive, h.alike.least
	var codes, squares int64
	for i := 0; i < chunk; i += 4 {
		four := binary.LittleEndian.Uint64(nStored[2*i:])
		x0 := math.Float64frombits(uint64(int64(four<<48)>>6)&mask) * factor
		x1 := math.Float64frombits(uint64(int64(four<<32)>>6)&mask) * factor
		x2 := math.Float64frombits(uint64(int64(four<<16)>>6)&mask) * factor
		x3 := math.Float64frombits(uint64(int64(four)>>6)&mask) * factor
		y0 := float64(math.Float32frombits(binary.LittleEndian.Uint32(rStored[4*i:])))
		y1 := float64(math.Float32frombits(binary.LittleEndian.Uint32(rStored[4*i+4:])))
		y2 := float64(math.Float32frombits(binary.LittleEndian.Uint32(rStored[4*i+8:])))
		y3 := float64(math.Float32frombits(binary.LittleEndian.Uint32(rStored[4*i+12:])))
		n[i], n[i+1], n[i+2], n[i+3] = x0, x1, x2, x3
		r[i], r[i+1], r[i+2], r[i+3] = y0, y1, y2, y3
		apart := distanceOf(math.Float64bits(y0), math.Float64bits(x0)) | distanceOf(math.Float64bits(y1), math.Float64bits(x1)) |
			distanceOf(math.Float64bits(y2), math.Float64bits(x2)) | distanceOf(math.Float64bits(y3), math.Float64bits(x3))
		if apart>>halfway != 0 {
			return false
		}
		notZeros += (four&fourMagnitudes + fourNotZero) &^ fourMagnitudes >> 15
		normals += (four&fourMagnitudes + fourNormal) &^ fourMagnitudes >> 15
		c0, c1 := signedCode(int64(four<<48)>>48, 0x7fff), signedCode(int64(four<<32)>>48, 0x7fff)
		c2, c3 := signedCode(int64(four<<16)>>48, 0x7fff), signedCode(int64(four)>>48, 0x7fff)
		codes += c0 + c1 + c2 + c3
		squares += c0*c0 + c1*c1 + c2*c2 + c3*c3
		b0, b1, b2, b3 := math.Float64bits(y0), math.Float64bits(y1), math.Float64bits(y2), math.Float64bits(y3)
		negative = max(negative, b0, b1, b2, b3)
		positive = max(positive, int64(b0), int64(b1), int64(b2), int64(b3))
		least = min(least, b0<<1, b1<<1, b2<<1, b3<<1)
	}
	notZeros, normals = notZeros*four16>>48, normals*four16>>48
	h.zeros += int64(chunk - notZeros)
	h.small += int64(notZeros - normals)
	h.alike = bitBounds{negative, positive, least}
	hash := sumOfHashes(codes, squares)
	h.digests.N += hash
	h.digests.R += hash
	return true
}

// addOthers decodes and adds a chunk whose pairs are not alike.
func (h *plainPairSums) addOthers(n, r *[chunk]float64, nStored *[2 * chunk]byte, rStored *[4 * chunk]byte) {
	h.others = true
	decodeFloat16(n, nStored)
	decodeFloat32(r, rStored)
	h.n.addChunk(bitsIn(n))
	h.r.addChunk(bitsIn(r))
	var sumN, squaresN, sumR, squaresR int64
	var sum uint64
	most := h.digests.MaxDistance
	for i := 0; i < chunk; i++ {
		a := signedCode(int64(int16(binary.LittleEndian.Uint16(nStored[2*i:]))), 0x7fff)
		b := float16Code(binary.LittleEndian.Uint32(rStored[4*i:]))
		sumN += a
		squaresN += a * a
		sumR += b
		squaresR += b * b
		apart := distanceOf(uint64(a), uint64(b))
		sum += apart
		most = max(most, apart)
	}
	h.digests.N += sumOfHashes(sumN, squaresN)
	h.digests.R += sumOfHashes(sumR, squaresR)
	h.digests.SumDistance += sum
	h.digests.MaxDistance = most
}

// distanceOf returns the distance of two numbers of equal sign, given their bits.
func distanceOf(a, b uint64) uint64 {
	d := int64(a - b)
	sign := d >> 63
	return uint64(d ^ sign - sign)
}

// add adds a pair outside of the chunks. half has the sign-extended bits of the float16 element, single the bits of
// the float32 element.
func (h *plainPairSums) add(n, r float64, half int64, single uint32) {
	a, b := signedCode(half, 0x7fff), float16Code(single)
	h.others = true
	h.n.add(math.Float64bits(n))
	h.r.add(math.Float64bits(r))
	h.digests.N += Hash(a)
	h.digests.R += Hash(b)
	apart := distanceOf(uint64(a), uint64(b))
	h.digests.SumDistance += apart
	h.digests.MaxDistance = max(h.digests.MaxDistance, apart)
}

// finish converts the sums to spans and digests; false if a value is not finite. Bounds of n
// in alike chunks are the bounds of r, rounded.
func (h *plainPairSums) finish(nSpan, rSpan *Span, d *Digests) bool {
	const infinity, beyond = 0x7c00, 0x1p16
	if !h.alike.empty() {
		low, high, minAbs, _ := h.alike.bounds()
		for _, y := range [3]float64{low, high, math.Copysign(minAbs, high)} {
			code := float16Code(math.Float32bits(float32(y)))
			if max(code, -code) >= infinity {
				return false
			}
			h.n.add(math.Float64bits(tensor.Float16To64(uint16(max(code, -code)) | uint16(math.Float64bits(y)>>48&0x8000))))
		}
	}
	h.r.merge(h.alike)
	if !h.others {
		// In alike chunks, r is 0 if n is; if n is subnormal in float16, r is a normal
		// number in float32.
		h.digests.Counted, h.digests.Small = true, Small{NZeros: h.zeros, NSmall: h.small, RZeros: h.zeros}
	}
	*nSpan, *rSpan, *d = h.n.span(), h.r.span(), h.digests
	return nSpan.MaxAbs < beyond && !nSpan.Special && !rSpan.Special
}
