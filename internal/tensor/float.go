package tensor

import "math"

// Float is a binary floating-point format: a sign bit, Exponent bits of a biased exponent and
// Mantissa bits of the fraction, with subnormal numbers.
type Float struct {
	Exponent, Mantissa int
	MinExp             int     // exponent of the smallest normal number
	Max                float64 // largest finite number
}

// MaxFloat16 is the largest finite float16.
const MaxFloat16 = 65504

// floats is indexed by DType; a complex type has the format of its parts. The sources are IEEE
// 754 (16 to 64 bits), the OCP 8-bit Floating Point Specification (OFP8) 1.0 and the OCP
// Microscaling Formats (MX) specification 1.0 (4 and 6 bits; it does not have float4_e1m2).
// hifloat8 and float8_e8m0 have no fraction of a fixed length.
var floats = [len(dtypes)]Float{
	Float16:      half,
	BFloat16:     {8, 7, -126, 0x1.fep127},
	Float32:      single,
	Float64:      double,
	Complex32:    half,
	Complex64:    single,
	Complex128:   double,
	Float8E5M2:   {5, 2, -14, 57344},
	Float8E4M3FN: {4, 3, -6, 448},
	Float6E3M2:   {3, 2, -2, 28},
	Float6E2M3:   {2, 3, 0, 7.5},
	Float4E2M1:   {2, 1, 0, 6},
	Float4E1M2:   {1, 2, 0, 1.75},
}

var (
	half   = Float{5, 10, -14, MaxFloat16}
	single = Float{8, 23, -126, math.MaxFloat32}
	double = Float{11, 52, -1022, math.MaxFloat64}
)

// FloatOf returns the format of the elements of a type, or of the parts of complex elements; ok is
// false for types without a format.
func FloatOf(d DType) (f Float, ok bool) {
	if d >= 0 && int(d) < len(floats) {
		f = floats[d]
	}
	return f, f.Mantissa > 0
}

// ScalarFloat is FloatOf without complex types and without the formats below 8 bits, whose elements
// share a scale in blocks.
func ScalarFloat(d DType) (f Float, ok bool) {
	f, ok = FloatOf(d)
	if d.Host().Complex() || f.Bits() < 8 {
		return Float{}, false
	}
	return f, ok
}

// Bits is the size of a number.
func (f Float) Bits() int { return 1 + f.Exponent + f.Mantissa }

// Epsilon is the distance from 1 to the next larger number.
func (f Float) Epsilon() float64 { return math.Ldexp(1, -f.Mantissa) }

// Normal is the smallest normal number.
func (f Float) Normal() float64 { return math.Ldexp(1, f.MinExp) }

// Subnormal is the smallest positive number, the distance of all subnormal ones.
func (f Float) Subnormal() float64 { return math.Ldexp(1, f.MinExp-f.Mantissa) }

// MaxCode is the code of Max: the number of positive numbers up to it.
func (f Float) MaxCode() int64 { return int64(f.Code(f.Max)) }

// Code is the code of a number of the format, by IEEE 754: an exponent of all ones is an infinity or NaN.
func (f Float) Code(x float64) (code uint64) {
	least := uint64(f.MinExp+1023) << f.Mantissa // the bits of the smallest normal number
	switch a := math.Abs(x); {
	case a > f.Max || x != x:
		code = uint64(1<<f.Exponent-1) << f.Mantissa
		if x != x {
			code |= 1 << (f.Mantissa - 1)
		}
	case math.Float64bits(a)>>(52-f.Mantissa) >= least:
		code = math.Float64bits(a)>>(52-f.Mantissa) - least + 1<<f.Mantissa
	case a > 0:
		code = uint64(a / f.Subnormal())
	}
	return code | math.Float64bits(x)>>63<<(f.Bits()-1)
}

// lastPlace is the exponent of the unit in the last place of a number other than 0.
func (f Float) lastPlace(x float64) int {
	_, exp := math.Frexp(x) // 2^(exp-1) <= |x| < 2^exp
	return max(exp-1, f.MinExp) - f.Mantissa
}

// Ulp is the unit in the last place of x rounded to the format; beyond Max it is Ulp(Max).
func (f Float) Ulp(x float64) float64 {
	a := min(math.Abs(f.Round(x)), f.Max)
	if a == 0 {
		return f.Subnormal()
	}
	return math.Ldexp(1, f.lastPlace(a))
}

// Round returns the nearest number of the format, ties to even, and an infinity beyond Max.
func (f Float) Round(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || x != x {
		return x
	}
	place := f.lastPlace(x)
	y := math.Ldexp(math.RoundToEven(math.Ldexp(x, -place)), place)
	if math.Abs(y) > f.Max {
		return math.Inf(int(math.Copysign(1, x)))
	}
	return y
}

// RoundAll rounds values in place.
func (f Float) RoundAll(values []float64) {
	if f.Mantissa >= 52 {
		return
	}
	// Normal numbers far from Max are rounded by their bits; 52 of them are the fraction of a
	// float64.
	shift := 52 - uint(f.Mantissa)
	least := f.Normal()
	for i, x := range values {
		a := math.Abs(x)
		if !(a >= least && a < f.Max/2) {
			values[i] = f.Round(x)
			continue
		}
		bits := math.Float64bits(x)
		bits += 1<<(shift-1) - 1 + bits>>shift&1
		values[i] = math.Float64frombits(bits >> shift << shift)
	}
}

// Has reports whether x is a number of the format, NaN or an infinity.
func (f Float) Has(x float64) bool {
	if x == 0 || x-x != 0 {
		return true
	}
	units := math.Ldexp(x, -f.lastPlace(x))
	return math.Abs(x) <= f.Max && units == math.Trunc(units)
}

// decodeCode returns the number of a code of at most 8 bits. An exponent of all ones is not special.
// Bits above the sign are ignored.
func (f Float) decodeCode(code byte) float64 {
	fraction := int(code) & (1<<f.Mantissa - 1)
	exponent := int(code) >> f.Mantissa & (1<<f.Exponent - 1)
	if exponent == 0 {
		exponent = 1
	} else {
		fraction |= 1 << f.Mantissa
	}
	value := math.Ldexp(float64(fraction), exponent-1+f.MinExp-f.Mantissa)
	return applySign(value, code>>(f.Exponent+f.Mantissa)&1 != 0)
}
