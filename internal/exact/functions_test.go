package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

const manyBits = 400

func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(manyBits).SetFloat64(x) }

// series adds terms, each computed from the one before, until they vanish.
func series(first *big.Float, next func(n int64, term *big.Float) *big.Float) *big.Float {
	sum, term := bigOf(0), first
	for n := int64(1); term.Sign() != 0 && term.MantExp(nil) > -manyBits; n++ {
		sum.Add(sum, term)
		term = next(n, term)
	}
	return sum
}

func times(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(manyBits).Mul(x, y) }
func over(x *big.Float, n int64) *big.Float {
	return new(big.Float).SetPrec(manyBits).Quo(x, bigOf(float64(n)))
}

func bigExp(x *big.Float) *big.Float {
	return series(bigOf(1), func(n int64, term *big.Float) *big.Float { return over(times(term, x), n) })
}

// references are slow sums for the same functions.
var references = map[string]func(x float64) *big.Float{
	"sin": func(x float64) *big.Float {
		square := times(bigOf(-x), bigOf(x))
		return series(bigOf(x), func(n int64, t *big.Float) *big.Float { return over(times(t, square), 2*n*(2*n+1)) })
	},
	"cos": func(x float64) *big.Float {
		square := times(bigOf(-x), bigOf(x))
		return series(bigOf(1), func(n int64, t *big.Float) *big.Float { return over(times(t, square), 2*n*(2*n-1)) })
	},
	"erf": func(x float64) *big.Float {
		square := times(bigOf(-x), bigOf(x))
		power := bigOf(x)
		sum := bigOf(0)
		for n := int64(0); n < 400; n++ {
			sum.Add(sum, over(power, 2*n+1))
			power = over(times(power, square), n+1)
		}
		pi, _, _ := big.ParseFloat(piDigits, 10, manyBits, big.ToNearestEven)
		return times(sum, new(big.Float).SetPrec(manyBits).Quo(bigOf(2), new(big.Float).SetPrec(manyBits).Sqrt(pi)))
	},
	"tanh": func(x float64) *big.Float {
		e := bigExp(bigOf(2 * x))
		return new(big.Float).SetPrec(manyBits).Quo(new(big.Float).Sub(e, bigOf(1)), new(big.Float).Add(e, bigOf(1)))
	},
}

// TestFunctions compares functions with sums of 400 bits.
func TestFunctions(t *testing.T) {
	functions := map[string]func(float64) float64{"sin": Sin, "cos": Cos, "erf": Erf, "tanh": Tanh}
	r := rand.New(rand.NewPCG(1, 2))
	for name, f := range functions {
		worst, at := 0.0, 0.0
		for range 400 {
			x := (r.Float64() - .5) * math.Exp2(float64(r.IntN(12)-7))
			if name == "erf" || name == "tanh" {
				x = math.Mod(x, 5)
			}
			want, _ := references[name](x).Float64()
			if d := math.Abs(f(x)-want) / math.Max(math.Nextafter(math.Abs(want), 9)-math.Abs(want), 5e-324); d > worst {
				worst, at = d, x
			}
		}
		if worst > 2 {
			t.Errorf("%s(%g) is off by %g units in the last place", name, at, worst)
		}
	}
	for name, got := range map[string]float64{
		"sin of a large number": Sin(1e22) + 0.8522008497671888, "cos of a large number": Cos(1e22) - 0.5232147853951389,
		"sin 0": Sin(0), "erf 9": Erf(9) - 1, "erf -9": Erf(-9) + 1, "tanh 99": Tanh(99) - 1, "tanh -99": Tanh(-99) + 1, "cos 0": Cos(0) - 1,
	} {
		if math.Abs(got) > 2.3e-16 {
			t.Errorf("%s is off by %g", name, got)
		}
	}
	for _, f := range functions {
		if v := f(math.NaN()); v == v {
			t.Errorf("of NaN it is %g", v)
		}
	}
}

// TestPow compares with e to the power y log(x).
func TestPow(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 400 {
		n, x := r.IntN(40)+1, r.Float64()*3
		want := bigOf(1)
		for range n {
			want = times(want, bigOf(x))
		}
		w, _ := want.Float64()
		if got := Pow(x, float64(n)); math.Abs(got-w) > 2*(math.Nextafter(w, 1e300)-w) {
			t.Fatalf("%g to the power of %d is %g, want %g", x, n, got, w)
		}
		if got, w := Pow(-x, float64(n)), w*math.Pow(-1, float64(n)); math.Abs(got-w) > 2*(math.Nextafter(math.Abs(w), 1e300)-math.Abs(w)) {
			t.Fatalf("%g to the power of %d is %g, want %g", -x, n, got, w)
		}
	}
	for _, c := range [][3]float64{{2, .5, math.Sqrt2}, {4, -.5, .5}, {0, 2, 0}, {0, 0, 1}, {1, math.Inf(1), 1}, {2, 2000, math.Inf(1)}, {2, -2000, 0}, {math.Inf(1), -1, 0}} {
		if got := Pow(c[0], c[1]); got != c[2] && !(math.Abs(got-c[2]) < 3e-16) {
			t.Errorf("%g to the power of %g is %g, want %g", c[0], c[1], got, c[2])
		}
	}
	if v := Pow(-2, .5); v == v {
		t.Errorf("a root of -2 is %g", v)
	}
}
