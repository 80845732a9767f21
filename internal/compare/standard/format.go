package standard

import "math"

// format is a binary floating-point type: the bits of its fraction, the exponent of
// its smallest normal number, and its largest number.
type format struct {
	fraction, minExp int
	largest          float64
}

// ulp is the unit of the last place of x.
func (f *format) ulp(x float64) float64 {
	a := min(math.Abs(f.narrow(x)), f.largest)
	if a == 0 {
		return math.Ldexp(1, f.minExp-f.fraction)
	}
	_, exp := math.Frexp(a) // a is below 2^exp
	return math.Ldexp(1, max(exp-1, f.minExp)-f.fraction)
}

// narrow rounds x to the nearest number of the type, of two to the even one, and to an
// infinity beyond the range.
func (f *format) narrow(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || x != x {
		return x
	}
	_, exp := math.Frexp(x)
	step := max(exp-1, f.minExp) - f.fraction
	y := math.Ldexp(math.RoundToEven(math.Ldexp(x, -step)), step)
	if math.Abs(y) > f.largest {
		return math.Inf(int(math.Copysign(1, x)))
	}
	return y
}

// narrowAll is narrow for many numbers.
func (f *format) narrowAll(values []float64) {
	if f.fraction >= 52 {
		return
	}
	// Numbers of usual size are rounded by their bits; 52 of them are the fraction of
	// a float64.
	shift := 52 - uint(f.fraction)
	least := math.Ldexp(1, f.minExp)
	for i, x := range values {
		a := math.Abs(x)
		if !(a >= least && a < f.largest/2) {
			values[i] = f.narrow(x)
			continue
		}
		bits := math.Float64bits(x)
		bits += 1<<(shift-1) - 1 + bits>>shift&1
		values[i] = math.Float64frombits(bits >> shift << shift)
	}
}
