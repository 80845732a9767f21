package exact

import (
	"math"
	"math/big"
)

// Tanh returns the hyperbolic tangent of x.
func Tanh(x float64) float64 {
	const one = 20 // beyond it the result rounds to 1
	switch size := math.Abs(x); {
	case size > one:
		return math.Copysign(1, x)
	case x != x || size < 0x1p-28:
		return x
	}
	e := Expm1(-2 * math.Abs(x))
	return math.Copysign(-e/(2+e), x)
}

// Erf returns the error function of x: up to 1.5 it is 2/sqrt(pi) e^(-x^2) times the sum of 2^n
// x^(2n+1)/(1*3*...*(2n+1)), whose terms all have the same sign; beyond 1.5, 1 minus a continued
// fraction.
func Erf(x float64) float64 {
	const one, far, twoOverRootPi, levels = 6, 1.5, 0x1.20dd750429b6dp+0, 120
	size := math.Abs(x)
	switch {
	case x != x:
		return x
	case size > one:
		return math.Copysign(1, x)
	case size > far:
		rest := 0.0
		for n := levels; n > 0; n-- {
			rest = float64(n) / 2 / (size + rest)
		}
		return math.Copysign(1-Exp(-float64(size*size))*(twoOverRootPi/2)/(size+rest), x)
	}
	term, sum := 1.0, pair{1, 0}
	twice := product(size, size)
	square := twice
	twice = pair{2 * twice.hi, 2 * twice.lo}
	for n := 1; term > sum.hi*0x1p-56; n++ {
		term = float64(term*twice.hi) / float64(2*n+1)
		sum = sum.plus(pair{term, 0})
	}
	e := pair{Exp(-square.hi), 0}
	e = e.times(pair{1, -square.lo})
	return math.Copysign(e.times(sum).times(pair{size, 0}).times(pair{twoOverRootPi, 0x1.1ae3a914fed8p-56}).value(), x)
}

// Pow returns x to the power of y, with the special cases of math.Pow.
func Pow(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case x != x || y != y || x == 0 || math.IsInf(x, 0) || math.IsInf(y, 0):
		return math.Pow(x, y) //nolint:forbidigo // a special case, which is exact
	}
	sign := 1.0
	if x < 0 {
		whole := math.Trunc(y)
		if whole != y {
			return math.NaN()
		}
		if math.Mod(whole, 2) != 0 {
			sign = -1
		}
	}
	m, e := logOfFraction(math.Abs(x))
	power := multiple(e, ln2High, ln2Rest).plus(m).times(pair{y, 0})
	result := Exp(power.hi)
	if result-result == 0 {
		result += float64(result * power.lo)
	}
	return sign * result
}

// quarter is pi/2 in parts of 33 bits, whose products with numbers of 20 bits are exact.
var quarter = [...]float64{0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69}

// reduceQuarterTurns returns x modulo pi/2, and the number of quarter turns removed, modulo 4.
func reduceQuarterTurns(x float64) (rest pair, quadrant int) {
	const most = 1 << 19
	n := math.RoundToEven(x / (math.Pi / 2))
	if math.Abs(n) < most {
		r := sum(x, -float64(n*quarter[0]))
		for _, part := range quarter[1:] {
			p := product(n, part)
			r = r.plus(pair{-p.hi, -p.lo})
		}
		return r, int(int64(n) & 3)
	}
	const bits = 1300 // enough for an argument of 1024 bits and the result
	pi, _, _ := big.ParseFloat(piDigits, 10, bits, big.ToNearestEven)
	half := pi.Quo(pi, big.NewFloat(2).SetPrec(bits))
	big1 := new(big.Float).SetPrec(bits).SetFloat64(x)
	count, _ := new(big.Float).SetPrec(bits).Quo(big1, half).Int(nil)
	r := big1.Sub(big1, half.Mul(half, new(big.Float).SetPrec(bits).SetInt(count)))
	hi, _ := r.Float64()
	lo, _ := r.Sub(r, big.NewFloat(hi).SetPrec(bits)).Float64()
	return pair{hi, lo}, int(new(big.Int).And(count, big.NewInt(3)).Int64())
}

// sineOrCosine returns the sine or cosine of an angle within half a turn by its Taylor series.
func sineOrCosine(r pair, cosine bool) float64 {
	const terms = 16
	square, tail := float64(r.hi*r.hi), 0.0
	first := 3
	if cosine {
		first = 2
	}
	for n := first + 2*terms; n > first; n -= 2 {
		tail = float64(-square / float64(n*(n-1)) * (1 + tail))
	}
	if cosine {
		// 1 - r^2/2 (1 + tail)
		s := r.times(r)
		return pair{1, 0}.plus(pair{-s.hi / 2, -s.lo / 2}).plus(pair{-float64(square / 2 * tail), 0}).value()
	}
	cube := -float64(square*r.hi) / 6 * (1 + tail)
	return r.plus(pair{cube, 0}).value()
}

// Sin returns the sine of x.
func Sin(x float64) float64 { return quadrants(x, 0) }

// Cos returns the cosine of x.
func Cos(x float64) float64 { return quadrants(x, 1) }

func quadrants(x float64, ahead int) float64 {
	if x-x != 0 {
		return math.NaN()
	}
	if x == 0 && ahead == 0 {
		return x
	}
	r, n := reduceQuarterTurns(x)
	n += ahead
	v := sineOrCosine(r, n&1 == 1)
	if n&2 == 2 {
		return -v
	}
	return v
}

// piDigits holds enough decimal digits of pi for 1300 bits.
const piDigits = "3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986280348" +
	"253421170679821480865132823066470938446095505822317253594081284811174502841027019385211055" +
	"596446229489549303819644288109756659334461284756482337867831652712019091456485669234603486" +
	"104543266482133936072602491412737245870066063155881748815209209628292540917153643678925903" +
	"600113305305488204665213841469519415116094"
