package diagnose

import "math"

// chiSquareTail is the probability that a chi-square variable of that many
// degrees of freedom is at least x: the regularized incomplete gamma function
// Q(df/2, x/2), by its series or its continued fraction (Abramowitz and Stegun
// 6.5.29 and 6.5.31).
func chiSquareTail(x float64, df int) float64 {
	a, z := float64(df)/2, x/2
	if z <= 0 || df < 1 {
		return 1
	}
	logGamma, _ := math.Lgamma(a)
	scale := math.Exp(a*math.Log(z) - z - logGamma)
	if z < a+1 {
		return 1 - scale*gammaSeries(a, z)
	}
	return scale * gammaFraction(a, z)
}

// gammaTerms is far more than either sum needs for as many degrees of freedom
// as there are bins.
const gammaTerms = 10000

func gammaSeries(a, z float64) float64 {
	term := 1 / a
	sum := term
	for k := 1.0; k < gammaTerms && term > sum*1e-16; k++ {
		term *= z / (a + k)
		sum += term
	}
	return sum
}

// gammaFraction evaluates the continued fraction by Lentz's method.
func gammaFraction(a, z float64) float64 {
	b := z + 1 - a
	c, d := math.Inf(1), 1/b
	h := d
	for k := 1.0; k < gammaTerms; k++ {
		f := -k * (k - a)
		b += 2
		d = 1 / (f*d + b)
		c = b + f/c
		h *= d * c
		if math.Abs(d*c-1) < 1e-15 {
			break
		}
	}
	return h
}
