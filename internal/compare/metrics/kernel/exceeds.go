package kernel

import "math"

// Exceeds reports whether some |d| > atol + rtol*|r|, or a NaN. It is the rule of
// metrics.Limits in the mode IsClose.
func Exceeds(abs, r []float64, atol, rtol float64) bool {
	r = r[:len(abs)]
	for i, a := range abs {
		if !(a <= atol+float64(rtol*math.Abs(r[i]))) {
			return true
		}
	}
	return false
}
