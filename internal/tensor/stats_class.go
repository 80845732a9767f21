package tensor

import "math"

// class is what an element is counted as. A complex element belongs to the
// lower one of the classes of its parts.
type class uint8

const (
	nan class = iota
	posInf
	negInf
	atLimit
	halfTrace
	ordinary
	numClasses
)

// limits are the values of a type, or of the parts of a complex type, that are
// not ordinary.
type limits struct {
	low, high float64 // the values at the limits; equal where only one counts, NaN where none does
	traces    bool    // whether values may be what conversions make of a float16
	quiet     float64 // values below this magnitude are ordinary, and their sums do not overflow
}

// Limits returns the values at the limits of a type, as Stats.Saturated counts
// them: low and high are equal where only one counts, and NaN where none does.
func Limits(d DType) (low, high float64) {
	dec, err := NewDecoder(d)
	if err != nil {
		return math.NaN(), math.NaN()
	}
	if d.Bits() > 16 {
		l := wideLimits(d)
		return l.low, l.high
	}
	l := narrowTypeOf(dec).limits
	return l.low, l.high
}

// wideLimits returns the limits of a type of more than 16 bits.
func wideLimits(d DType) limits {
	var high float64
	switch host := d.Host(); {
	case d == Resource: // a handle is no number
		return limits{low: math.NaN(), high: math.NaN(), quiet: math.Inf(1)}
	case d == Complex32:
		high = largestHalf
	case d == Float32 || d == Complex64:
		return limits{low: -math.MaxFloat32, high: math.MaxFloat32, traces: true, quiet: largestHalf}
	case d == Float64 || d == Complex128:
		return limits{low: -math.MaxFloat64, high: math.MaxFloat64, quiet: hugeLimit}
	case host == HostUint32 || host == HostUint64:
		high = math.Ldexp(1, d.Bits()) - 1
		return limits{low: high, high: high, quiet: high}
	default:
		high = math.Ldexp(1, d.Bits()-1) - 1
		return limits{low: -high - 1, high: high, quiet: high}
	}
	return limits{low: -high, high: high, quiet: high}
}

const largestHalf = 65504 // the largest finite float16

// isQuiet reports whether a value, and all of lower magnitude, are ordinary.
func (l *limits) isQuiet(x float32) bool { return math.Abs(float64(x)) < l.quiet }

// classOf returns the class of a value.
func (l *limits) classOf(x float64) class {
	switch magnitude := math.Abs(x); {
	case x != x:
		return nan
	case x > math.MaxFloat64:
		return posInf
	case x < -math.MaxFloat64:
		return negInf
	case x == l.high || x == l.low:
		return atLimit
	case l.traces && (magnitude == largestHalf || magnitude == 65536 || magnitude == 98304):
		return halfTrace
	}
	return ordinary
}
