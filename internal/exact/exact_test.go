package exact

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// precision is the precision of the slow references, in bits.
const precision = 300

func number(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

// slowExp returns e^x and e^x - 1: it sums x^n/n! from n = 1 for x/2^40, and then applies (1+y)^2 -
// 1 = y(2+y) 40 times.
func slowExp(x *big.Float) (exp, less *big.Float) {
	const halvings = 40
	if x.Sign() < 0 {
		exp, less = slowExp(new(big.Float).Neg(x))
		return new(big.Float).Quo(number(1), exp), less.Neg(less.Quo(less, exp))
	}
	small := new(big.Float).SetMantExp(x, -halvings)
	total, term := number(0), number(1)
	for n := 1; n < 20; n++ {
		term = new(big.Float).Quo(term.Mul(term, small), number(float64(n)))
		total.Add(total, term)
	}
	for range halvings {
		total.Mul(total, new(big.Float).Add(number(2), total))
	}
	return new(big.Float).Add(total, number(1)), total
}

// slowLog solves e^y = x by Newton's method.
func slowLog(x float64) *big.Float {
	m, e := math.Frexp(x)
	y, want := number(math.Log(m)+float64(e)*math.Ln2), number(x)
	for range 4 {
		exp, _ := slowExp(y)
		correction := new(big.Float).Sub(want, exp)
		y.Add(y, correction.Quo(correction, exp))
	}
	return y
}

func slowLogTo(base float64) func(float64) *big.Float {
	denominator := slowLog(base)
	return func(x float64) *big.Float { return new(big.Float).Quo(slowLog(x), denominator) }
}

// check expects got within ulps units in the last place of want.
func check(t interface{ Errorf(string, ...any) }, name string, got float64, want *big.Float, ulps float64) {
	rounded, _ := want.Float64()
	if math.IsInf(rounded, 0) || math.IsInf(got, 0) {
		if rounded != got {
			t.Errorf("%s = %g, want %g", name, got, rounded)
		}
		return
	}
	unit := math.Nextafter(math.Abs(rounded), math.Inf(1)) - math.Abs(rounded)
	diff, _ := new(big.Float).Quo(new(big.Float).Sub(number(got), want), number(unit)).Float64()
	if math.Abs(diff) > ulps {
		t.Errorf("%s = %x, want %.25g: %g units in the last place off", name, got, want, diff)
	}
}

func positive() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Float64Range(0.5, 2),
		rapid.Map(rapid.Float64Range(-1, 1), func(x float64) float64 { return 1 + x/(1<<30) }),
		rapid.Map(rapid.Uint64Range(1, math.Float64bits(math.MaxFloat64)), math.Float64frombits),
	)
}

func exponent() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Float64Range(-1, 1), rapid.Float64Range(-745, 709.7), rapid.Float64Range(-1e-9, 1e-9),
		rapid.Map(rapid.IntRange(-1000, 1000), func(n int) float64 { return (float64(n) + 0.5) * math.Ln2 / 2 }),
	)
}

func TestAccuracy(t *testing.T) {
	log2, log10 := slowLogTo(2), slowLogTo(10)
	rapid.Check(t, func(t *rapid.T) {
		x := positive().Draw(t, "x")
		check(t, fmt.Sprintf("Log(%x)", x), Log(x), slowLog(x), 0.6)
		check(t, fmt.Sprintf("Log2(%x)", x), Log2(x), log2(x), 0.6)
		check(t, fmt.Sprintf("Log10(%x)", x), Log10(x), log10(x), 0.6)
	})
	rapid.Check(t, func(t *rapid.T) {
		x := exponent().Draw(t, "x")
		exp, less := slowExp(number(x))
		limit := 0.6
		if e, _ := exp.Float64(); e < 0x1p-1022 {
			limit = 1.5
		}
		check(t, fmt.Sprintf("Exp(%x)", x), Exp(x), exp, limit)
		check(t, fmt.Sprintf("Expm1(%x)", x), Expm1(x), less, 0.6)
	})
	rapid.Check(t, func(t *rapid.T) {
		finite := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-2, 2))
		a, b := finite.Draw(t, "a"), finite.Draw(t, "b")
		square := new(big.Float).Add(new(big.Float).Mul(number(a), number(a)), new(big.Float).Mul(number(b), number(b)))
		check(t, fmt.Sprintf("Hypot(%x, %x)", a, b), Hypot(a, b), square.Sqrt(square), 1.5)
	})
}

func TestPowers(t *testing.T) {
	for n := -1074; n < 1024; n++ {
		if got := Log2(math.Ldexp(1, n)); got != float64(n) {
			t.Errorf("Log2(2^%d) = %v", n, got)
		}
	}
	for n, x := 0, 1.0; n <= 22; n, x = n+1, 10*x {
		if got := Log10(x); got != float64(n) {
			t.Errorf("Log10(1e%d) = %v", n, got)
		}
	}
}

func TestSpecialValues(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"Log(0)", Log(0), -inf}, {"Log(-0)", Log(math.Copysign(0, -1)), -inf}, {"Log(-1)", Log(-1), nan},
		{"Log(-Inf)", Log(-inf), nan}, {"Log(+Inf)", Log(inf), inf}, {"Log(NaN)", Log(nan), nan}, {"Log(1)", Log(1), 0},
		{"Log2(0)", Log2(0), -inf}, {"Log10(-2)", Log10(-2), nan},
		{"Exp(0)", Exp(0), 1}, {"Exp(+Inf)", Exp(inf), inf}, {"Exp(-Inf)", Exp(-inf), 0}, {"Exp(NaN)", Exp(nan), nan},
		{"Exp(710)", Exp(710), inf}, {"Exp(-745.2)", Exp(-745.2), 0},
		{"Expm1(-0)", 1 / Expm1(math.Copysign(0, -1)), -inf}, {"Expm1(-Inf)", Expm1(-inf), -1}, {"Expm1(+Inf)", Expm1(inf), inf},
		{"Expm1(NaN)", Expm1(nan), nan}, {"Expm1(-50)", Expm1(-50), -1},
		{"Hypot(3, -4)", Hypot(3, -4), 5}, {"Hypot(0, 0)", Hypot(0, 0), 0}, {"Hypot(Inf, NaN)", Hypot(-inf, nan), inf},
		{"Hypot(NaN, 1)", Hypot(nan, 1), nan}, {"Hypot of the largest", Hypot(math.MaxFloat64, 0), math.MaxFloat64},
		{"Hypot of the smallest", Hypot(0, math.SmallestNonzeroFloat64), math.SmallestNonzeroFloat64},
	} {
		if c.got != c.want && !(math.IsNaN(c.got) && math.IsNaN(c.want)) {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}

func BenchmarkHypot(b *testing.B) {
	x := 1.0
	for b.Loop() {
		x = Hypot(x, 1) - 0.25
	}
	if x < 0 {
		b.Error(x)
	}
}

// TestRemainder expects the rounding error of a quotient, times its divisor.
func TestRemainder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, b := rapid.Float64Range(1, 1e9).Draw(t, "x"), rapid.Float64Range(1, 1e9).Draw(t, "b")
		a := x / b
		want := new(big.Float).Sub(number(x), new(big.Float).Mul(number(a), number(b)))
		if exact, _ := want.Float64(); Remainder(x, a, b) != exact {
			t.Errorf("Remainder(%x, %x, %x) = %x, want %x", x, a, b, Remainder(x, a, b), exact)
		}
	})
}
