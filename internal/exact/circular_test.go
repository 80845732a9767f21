package exact

import (
	"math"
	"testing"
)

// TestInverses holds circular and hyperbolic functions and their inverses against the functions of
// the standard library, which lose up to 40 units in the last place (acos near 1).
func TestInverses(t *testing.T) {
	inside := []float64{0, 1e-300, 1e-9, -1e-4, .01, -.3, .5, .7071, -.9, .999, 1, -1}
	all := append([]float64{1.5, -3, 20, -300, 1e8, 1e120, math.Inf(1), math.Inf(-1), math.NaN()}, inside...)
	above := []float64{1, 1 + 1e-9, 1.5, 20, 1e8, 1e120, .5, -1, -1e17, -1e120, math.Inf(1)}
	for _, c := range []struct {
		name      string
		got, want func(float64) float64
		at        []float64
	}{
		{"atan", Atan, math.Atan, all}, {"asin", Asin, math.Asin, append(inside, 2)}, {"acos", Acos, math.Acos, append(inside, -2)},
		{"sinh", Sinh, math.Sinh, all}, {"cosh", Cosh, math.Cosh, all}, {"log1p", Log1p, math.Log1p, append(above, -.9, -1e-9, 1e-20, -2)},
		{"asinh", Asinh, math.Asinh, all}, {"acosh", Acosh, math.Acosh, above}, {"atanh", Atanh, math.Atanh, append(inside, 2)},
	} {
		for _, x := range c.at {
			got, want := c.got(x), c.want(x)
			if got != want && (got == got || want == want) && !(math.Abs(got-want) <= 1e-14*math.Abs(want)) {
				t.Errorf("%s(%g) is %g, want %g", c.name, x, got, want)
			}
		}
	}
	for _, y := range all {
		for _, x := range all {
			got, want := Atan2(y, x), math.Atan2(y, x)
			if got != want && (got == got || want == want) && !(math.Abs(got-want) <= 1e-14*math.Abs(want)) {
				t.Errorf("atan2(%g, %g) is %g, want %g", y, x, got, want)
			}
		}
	}
}
