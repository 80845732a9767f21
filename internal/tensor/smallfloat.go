package tensor

import "math"

// floatTable holds the float32 bits of every code of an 8-bit or narrower
// floating-point format.
type floatTable [256]uint32

// The value tables of the small formats. Bits of a code that its format does
// not have are ignored. A NaN is the quiet one, with the sign of its code
// where the format has a NaN of either sign.
var (
	hifloat8Table = newFloatTable(hifloat8)
	e5m2Table     = newFloatTable(float8E5M2)
	e4m3fnTable   = newFloatTable(float8E4M3FN)
	e8m0Table     = newFloatTable(float8E8M0)
	e3m2Table     = newFloatTable(smallFloat{exp: 3, frac: 2, bias: 3}.value)
	e2m3Table     = newFloatTable(smallFloat{exp: 2, frac: 3, bias: 1}.value)
	e2m1Table     = newFloatTable(smallFloat{exp: 2, frac: 1, bias: 1}.value)
	e1m2Table     = newFloatTable(smallFloat{exp: 1, frac: 2, bias: 1}.value)
)

func newFloatTable(value func(code byte) float64) *floatTable {
	table := new(floatTable)
	for code := range table {
		table[code] = math.Float32bits(float32(value(byte(code))))
	}
	return table
}

// smallFloat is a format of a sign bit, exponent bits and fraction bits, with
// subnormals and without infinities or NaN: the 6-bit and 4-bit formats of the
// OCP Microscaling Formats (MX) specification 1.0, and float4_e1m2.
type smallFloat struct{ exp, frac, bias int }

func (f smallFloat) value(code byte) float64 {
	fraction := int(code) & (1<<f.frac - 1)
	exponent := int(code) >> f.frac & (1<<f.exp - 1)
	if exponent == 0 {
		exponent = 1
	} else {
		fraction |= 1 << f.frac
	}
	value := math.Ldexp(float64(fraction), exponent-f.bias-f.frac)
	return signed(value, code>>(f.exp+f.frac)&1 != 0)
}

func signed(value float64, negative bool) float64 {
	if negative {
		return math.Copysign(value, -1)
	}
	return value
}

// float8E5M2 is E5M2 of the OCP 8-bit Floating Point Specification (OFP8) 1.0:
// exponent 31 is an infinity or NaN, as in IEEE 754.
func float8E5M2(code byte) float64 {
	negative := code&0x80 != 0
	switch magnitude := code & 0x7f; {
	case magnitude == 0x7c:
		return signed(math.Inf(1), negative)
	case magnitude > 0x7c:
		return signed(math.NaN(), negative)
	}
	return smallFloat{exp: 5, frac: 2, bias: 15}.value(code)
}

// float8E4M3FN is E4M3 of the OCP 8-bit Floating Point Specification (OFP8)
// 1.0: no infinities, and only the code of all ones is NaN.
func float8E4M3FN(code byte) float64 {
	if code&0x7f == 0x7f {
		return signed(math.NaN(), code&0x80 != 0)
	}
	return smallFloat{exp: 4, frac: 3, bias: 7}.value(code)
}

// float8E8M0 is the scale format E8M0 of the OCP Microscaling Formats (MX)
// specification 1.0: a bare exponent.
func float8E8M0(code byte) float64 {
	if code == 0xff {
		return math.NaN()
	}
	return math.Ldexp(1, int(code)-127)
}

// hifloat8 is HiF8 (arXiv 2409.16626): a sign, a prefix code for the number of
// exponent bits, a sign-magnitude exponent with a hidden leading one, and the
// fraction in the bits that are left.
func hifloat8(code byte) float64 {
	switch code {
	case 0x00:
		return 0
	case 0x80:
		return math.NaN()
	case 0x6f:
		return math.Inf(1)
	case 0xef:
		return math.Inf(-1)
	}
	negative, bits := code&0x80 != 0, int(code&0x7f)
	for _, row := range hifloat8Rows {
		if bits>>row.shift != row.prefix {
			continue
		}
		fracBits := row.shift - row.exp
		fraction := bits & (1<<fracBits - 1)
		exponent := 0
		if row.exp > 0 {
			field := bits >> fracBits & (1<<row.exp - 1)
			hidden := 1 << (row.exp - 1)
			exponent = hidden | field&(hidden-1)
			if field&hidden != 0 {
				exponent = -exponent
			}
		}
		return signed(math.Ldexp(float64(int(1)<<fracBits+fraction), exponent-fracBits), negative)
	}
	return signed(math.Ldexp(1, bits-23), negative) // prefix 0000: denormal
}

// hifloat8Rows lists the prefixes of the seven bits below the sign, each with
// the number of bits after it and how many of them are the exponent.
var hifloat8Rows = []struct{ prefix, shift, exp int }{
	{0b11, 5, 4},
	{0b10, 5, 3},
	{0b01, 5, 2},
	{0b001, 4, 1},
	{0b0001, 3, 0},
}
