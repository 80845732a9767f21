package exact

import "math"

// Atan returns the arc tangent of x in radians, within 4 units in the last place. Three times
// atan(x) = 2 atan(x/(1+sqrt(1+x²))) leaves a small x for the Taylor series.
func Atan(x float64) float64 {
	const halvings, terms = 3, 14
	if math.Abs(x) > 1 {
		return math.Copysign(math.Pi/2, x) - Atan(1/x)
	}
	t := x
	for range halvings {
		t /= 1 + math.Sqrt(1+float64(t*t))
	}
	square, sum := float64(t*t), 0.0
	for n := terms; n >= 0; n-- { // Horner's scheme of t - t³/3 + t⁵/5 ...
		sum = 1/float64(2*n+1) - float64(sum*square)
	}
	return float64(sum*t) * (1 << halvings)
}

// Atan2 returns the angle of the point (x, y) in radians, from -π to π.
func Atan2(y, x float64) float64 {
	switch {
	case x != x || y != y || y == 0 || x == 0 || math.IsInf(x, 0) || math.IsInf(y, 0):
		return math.Atan2(y, x) // these cases are exact
	case x < 0:
		return Atan(y/x) + math.Copysign(math.Pi, y)
	}
	return Atan(y / x)
}

// Asin returns the arc sine of x in radians, NaN outside of -1 to 1.
func Asin(x float64) float64 { return Atan2(x, math.Sqrt(float64((1-x)*(1+x)))) }

// Acos returns the arc cosine of x in radians, NaN outside of -1 to 1.
func Acos(x float64) float64 { return 2 * Atan2(math.Sqrt(1-x), math.Sqrt(1+x)) }

// Sinh returns the hyperbolic sine of x.
func Sinh(x float64) float64 {
	e := Expm1(math.Abs(x))
	if math.IsInf(e, 1) {
		return x * math.Inf(1)
	}
	return math.Copysign((e+e/(e+1))/2, x)
}

// Cosh returns the hyperbolic cosine of x.
func Cosh(x float64) float64 {
	e := Exp(math.Abs(x))
	return (e + 1/e) / 2
}

// Log1p returns the logarithm of 1+x. What 1+x loses of a small x is made up for by the ratio of x
// to it (Kahan).
func Log1p(x float64) float64 {
	u := 1 + x
	if u == 1 || math.IsInf(u, 1) {
		return x
	}
	return Log(u) * (x / (u - 1))
}

// Asinh returns the inverse hyperbolic sine of x.
func Asinh(x float64) float64 {
	size := math.Abs(x)
	if size > 1e100 {
		return math.Copysign(Log(size)+math.Ln2, x)
	}
	square := float64(size * size)
	return math.Copysign(Log1p(size+square/(1+math.Sqrt(1+square))), x)
}

// Acosh returns the inverse hyperbolic cosine of x, NaN below 1.
func Acosh(x float64) float64 {
	if x > 1e100 {
		return Log(x) + math.Ln2
	}
	t := x - 1
	return Log1p(t + float64(math.Sqrt(t)*math.Sqrt(t+2)))
}

// Atanh returns the inverse hyperbolic tangent of x, NaN outside of -1 to 1.
func Atanh(x float64) float64 {
	return math.Copysign(Log1p(2*math.Abs(x)/(1-math.Abs(x)))/2, x)
}
