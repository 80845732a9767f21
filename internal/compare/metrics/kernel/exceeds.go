package kernel

import "math"

// Exceeds reports whether some |d| > atol + rtol*|r|, or a NaN. It is the rule of
// metrics.Limits in the mode IsClose.
func Exceeds(abs, r []float64, atol, rtol float64) bool {
	r = r[:len(abs)]
	i, exceeds := exceedsHead(abs, r, atol, rtol)
	for ; i < len(abs) && !exceeds; i++ {
		exceeds = !(abs[i] <= atol+float64(rtol*math.Abs(r[i])))
	}
	return exceeds
}
