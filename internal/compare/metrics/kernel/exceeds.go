package kernel

import "math"

// FindFirstBeyond returns the index of the first NaN in |d|, or the first |d| that exceeds atol + rtol*|r|, len(abs) if
// there is none: the rule of metrics.Limits in the mode IsClose.
func FindFirstBeyond(abs, r []float64, atol, rtol float64) int {
	r = r[:len(abs)]
	for i, a := range abs {
		if !(a <= atol+float64(rtol*math.Abs(r[i]))) {
			return i
		}
	}
	return len(abs)
}
