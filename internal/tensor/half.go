package tensor

import "math"

// halfRow holds what the upper six bits of a float16 (sign and exponent) say
// about its value: (hidden | fraction) x scale.
type halfRow struct {
	hidden uint16 // the leading one, 0 for subnormals
	scale  float64
}

// halfRows lets zeros, subnormals and normal numbers, which real data mixes at
// random, convert without a branch.
var halfRows = func() (rows [64]halfRow) {
	for i := range rows {
		exp := i & 0x1f
		row := halfRow{hidden: 1 << 10, scale: math.Ldexp(1, exp-25)}
		if exp == 0 {
			row = halfRow{scale: math.Ldexp(1, -24)}
		}
		if i >= 32 {
			row.scale = -row.scale
		}
		rows[i] = row
	}
	return rows
}()

const (
	halfExp  = 0x7c00
	halfFrac = 0x03ff
)

// Float16To64 returns the value of an IEEE 754 binary16 number. The conversion
// is exact; a NaN becomes quiet and keeps its sign and payload.
func Float16To64(h uint16) float64 {
	if h&halfExp == halfExp {
		return halfSpecial(h)
	}
	row := &halfRows[h>>10]
	return float64(int32(h&halfFrac|row.hidden)) * row.scale
}

// Float16To32 is Float16To64 for float32, which holds every float16 too.
func Float16To32(h uint16) float32 { return float32(Float16To64(h)) }

// halfSpecial converts an infinity or a NaN.
func halfSpecial(h uint16) float64 {
	bits := uint64(h&0x8000)<<48 | 0x7ff<<52 | uint64(h&halfFrac)<<42
	if h&halfFrac != 0 {
		bits |= 1 << 51
	}
	return math.Float64frombits(bits)
}
