package tensor

import "math"

// ValueType infers the type of numbers that a file stores as float32: files without bfloat16 or
// float16 keep such numbers in float32. It counts finite elements; NaN and infinities belong to
// every type.
type ValueType struct {
	// Elements is the number of finite elements.
	Elements int64
	// Fine counts the elements that need more than 4 bits of the mantissa, up to LeastFine. Small
	// integers, masks, constants and powers of two need fewer: they fit every type.
	Fine int64
	// OffFloat16 and OffBFloat16 count the elements that these types cannot represent.
	OffFloat16, OffBFloat16 int64
}

const (
	// LeastFine is the smallest Fine for which the type of nearly all elements decides, not the
	// type of all.
	LeastFine = 32
	// coarseBits is the number of mantissa bits that numbers of every type have.
	coarseBits = 4
	// The bits of the fraction of a float64.
	fractionBits = 52
	signBit      = 1 << 63
)

// The candidate types, coarsest first; float32 is the default.
var candidateTypes = []DType{BFloat16, Float16}

// Bits in the fraction of a float64 beyond the fraction of a float16, of a bfloat16, and of a
// number with coarseBits. The fraction of a normal float32 ends 29 bits earlier.
const (
	halfBits   = 1<<(fractionBits-10) - 1
	bfloatBits = 1<<(fractionBits-7) - 1
	fineBits   = 1<<(fractionBits-coarseBits) - 1
)

// valueChunk is the number of elements that Add counts at a time.
const valueChunk = 64

// Add counts decoded elements. Usually all of them need float32: chunks of such elements are
// counted without checking ranges.
func (v *ValueType) Add(values []float64) {
	for len(values) > 0 {
		chunk := values[:min(len(values), valueChunk)]
		if values = values[len(chunk):]; len(chunk) == valueChunk && allNeedFloat32((*[valueChunk]float64)(chunk)) {
			v.Elements, v.OffFloat16, v.OffBFloat16 = v.Elements+valueChunk, v.OffFloat16+valueChunk, v.OffBFloat16+valueChunk
			v.Fine = LeastFine
			continue
		}
		v.addChunk(chunk)
	}
}

// allNeedFloat32 reports whether all values are finite and have bits beyond the fraction of float16:
// neither float16 nor bfloat16 can represent them.
func allNeedFloat32(values *[valueChunk]float64) bool {
	if math.Float64bits(values[0])&halfBits == 0 { // then most other values have no such bits either
		return false
	}
	none, special := uint64(0), 0.0 // none is negative if a value has no such bits
	for _, x := range values {
		none |= math.Float64bits(x)&halfBits - 1
		special += x - x
	}
	return none < signBit && special == 0
}

// addChunk counts values.
func (v *ValueType) addChunk(values []float64) {
	off16, offBFloat, fine, special := uint64(0), uint64(0), uint64(0), 0
	for _, x := range values {
		bits, a := math.Float64bits(x), math.Abs(x)
		if a-a != 0 {
			special++
			continue
		}
		ofHalf := bits & halfBits
		switch {
		case a == 0 || a >= halfNormal && a <= MaxFloat16:
		case a > MaxFloat16:
			ofHalf = 1
		case a*halfUnits != math.Trunc(a*halfUnits):
			ofHalf = 1
		}
		ofBFloat := bits & bfloatBits
		if a > 0 && a < singleNormal && a*bfloatUnits != math.Trunc(a*bfloatUnits) {
			ofBFloat = 1
		}
		off16 += (ofHalf + halfBits) >> (fractionBits - 10)
		offBFloat += (ofBFloat + bfloatBits) >> (fractionBits - 7)
		fine += (bits&fineBits + fineBits) >> (fractionBits - coarseBits)
	}
	v.Elements += int64(len(values) - special)
	v.OffFloat16, v.OffBFloat16 = v.OffFloat16+int64(off16), v.OffBFloat16+int64(offBFloat)
	v.Fine = min(v.Fine+int64(fine), LeastFine)
}

// halfNormal and singleNormal are the smallest normal numbers of float16 and float32. Subnormal numbers of float16 times
// halfUnits, and of bfloat16 times bfloatUnits, are whole numbers.
const (
	halfNormal   = 0x1p-14
	halfUnits    = 0x1p24
	singleNormal = 0x1p-126
	bfloatUnits  = 0x1p133
)

// Merge adds the elements that another ValueType counted.
func (v *ValueType) Merge(other *ValueType) {
	v.Elements, v.OffFloat16, v.OffBFloat16 = v.Elements+other.Elements, v.OffFloat16+other.OffFloat16, v.OffBFloat16+other.OffBFloat16
	v.Fine = min(v.Fine+other.Fine, LeastFine)
}

// countOutside returns the number of elements whose values the type d cannot represent.
func (v *ValueType) countOutside(d DType) int64 {
	switch d {
	case BFloat16:
		return v.OffBFloat16
	case Float16:
		return v.OffFloat16
	}
	return 0
}

// Fits reports whether d represents all elements except a share of at most share (0 to 1), which
// allows for damaged elements.
func (v *ValueType) Fits(d DType, share float64) bool {
	return float64(v.countOutside(d)) <= share*float64(v.Elements)
}

// damagedShare is the share of damaged elements that DType tolerates, 0 to 1.
const damagedShare = 0.01

// DType returns the type of the numbers: the coarsest of bfloat16, float16 and float32 that fits
// nearly all elements. If Fine is below LeastFine it must fit all elements, so that few or simple
// elements do not suggest a too narrow type.
func (v *ValueType) DType() DType {
	if v.Fine < LeastFine {
		return v.Coarsest(0)
	}
	return v.Coarsest(damagedShare)
}

// Coarsest returns the coarsest type that fits all elements except a share (0 to 1), whatever Fine
// is.
func (v *ValueType) Coarsest(share float64) DType {
	for _, d := range candidateTypes {
		if v.Fits(d, share) {
			return d
		}
	}
	return Float32
}
