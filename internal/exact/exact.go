// Package exact provides logarithms, exponentials and lengths with the same bits on every
// processor. The functions of package math are assembly on some processors and use fused
// multiply-adds on others, so that their last bits differ between amd64 and arm64; reports have to
// be equal byte for byte.
//
// Every product is either rounded by an explicit float64 conversion, which forbids the compiler to
// fuse it with a sum (it fuses across statements and inlined calls), or fused on purpose by
// math.FMA, which has one right answer. Results are within 0.6 ulp; Hypot and subnormal results
// within 1.5. The functions are for derived numbers; only Hypot is fast enough for a call per
// element.
package exact

import "math"

// pair is the unevaluated sum of two numbers: about 106 significant bits (T. J. Dekker, A
// floating-point technique for extending the available precision, 1971).
type pair struct{ hi, lo float64 }

// sum returns a+b exactly.
func sum(a, b float64) pair {
	hi := a + b
	back := hi - a
	return pair{hi, (a - (hi - back)) + (b - back)}
}

// product returns a*b exactly.
func product(a, b float64) pair {
	hi := float64(a * b)
	return pair{hi, math.FMA(a, b, -hi)}
}

func (p pair) value() float64 { return p.hi + p.lo }

func (p pair) plus(q pair) pair {
	s := sum(p.hi, q.hi)
	return sum(s.hi, s.lo+(p.lo+q.lo))
}

func (p pair) times(q pair) pair {
	s := product(p.hi, q.hi)
	return sum(s.hi, s.lo+(float64(p.hi*q.lo)+float64(p.lo*q.hi)))
}

func (p pair) divide(q pair) pair {
	ratio := p.hi / q.hi
	back := product(ratio, q.hi)
	rest := (p.hi - back.hi) - back.lo + p.lo - float64(ratio*q.lo)
	return sum(ratio, rest/q.hi)
}

// The first part of the constants that are multiplied by an exponent has 32 significant bits, so
// that the product is exact.
var (
	ln2High, ln2Rest     = 0x1.62e42feep-1, pair{0x1.a39ef35793c76p-33, 0x1.cc01f97b57a08p-87}
	log2High, log2Rest   = 0x1.34413508p-2, pair{0x1.f79fef311f12bp-34, 0x1.ac0b7c917826bp-89} // log10(2)
	oneOverLn2           = pair{0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56}
	oneOverLn10          = pair{0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57}
	atanhTerms, expTerms = 13, 17
)

// multiple returns n times the constant high+rest.
func multiple(n, high float64, rest pair) pair {
	return pair{float64(n * high), 0}.plus(pair{n, 0}.times(rest))
}

// Log returns the natural logarithm of x, NaN for negative x and -Inf for 0.
func Log(x float64) float64 {
	if isNotFinite(x) {
		return specialLog(x)
	}
	m, e := logOfFraction(x)
	return multiple(e, ln2High, ln2Rest).plus(m).value()
}

// Log2 returns the binary logarithm of x; it is exact for powers of two.
func Log2(x float64) float64 {
	if isNotFinite(x) {
		return specialLog(x)
	}
	m, e := logOfFraction(x)
	return pair{e, 0}.plus(m.times(oneOverLn2)).value()
}

// Log10 returns the decimal logarithm of x; it is exact for powers of ten.
func Log10(x float64) float64 {
	if isNotFinite(x) {
		return specialLog(x)
	}
	m, e := logOfFraction(x)
	return multiple(e, log2High, log2Rest).plus(m.times(oneOverLn10)).value()
}

// Remainder returns x - a*b, rounded once.
func Remainder(x, a, b float64) float64 { return math.FMA(-a, b, x) }

// reciprocals[n] is 1/n.
var reciprocals = func() (all [64]float64) {
	for n := range all {
		all[n] = 1 / float64(n)
	}
	return all
}()

// isNotFinite reports whether the logarithm of x is no finite number.
func isNotFinite(x float64) bool { return !(x > 0) || math.IsInf(x, 1) }

func specialLog(x float64) float64 {
	switch {
	case x == 0:
		return math.Inf(-1)
	case x < 0:
		return math.NaN()
	}
	return x
}

// logOfFraction splits x into m times 2^e, with m between sqrt(1/2) and sqrt(2), and returns the
// natural logarithm of m: with s = (m-1)/(m+1) it is 2 atanh(s) = 2s + 2s(s^2/3 + s^4/5 + ...).
func logOfFraction(x float64) (log pair, e float64) {
	m, exp := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, exp = float64(2*m), exp-1
	}
	s := pair{m - 1, 0}.divide(sum(m, 1))
	square, tail := float64(s.hi*s.hi), 0.0
	for n := atanhTerms; n > 0; n-- {
		tail = float64(square * (reciprocals[2*n+1] + tail))
	}
	twice := pair{float64(2 * s.hi), float64(2 * s.lo)}
	return twice.plus(pair{float64(twice.hi * tail), 0}), float64(exp)
}

// Beyond these arguments exp is +Inf, or 0.
const maxExp, minExp = 710, -746

// parts is the number of table steps per power of two, 2^partBits; powers[i] is 2^(i/parts), a
// product of the roots of 2.
const partBits, parts = 7, 1 << 7

var powers = func() (all [parts]pair) {
	all[0] = pair{1, 0}
	for bit, root := range roots {
		at := parts >> (bit + 1)
		for i := at; i < parts; i += 2 * at {
			all[i] = all[i-at].times(root)
		}
	}
	return all
}()

// roots lists the second, fourth, eighth root of 2 and so on.
var roots = [partBits]pair{
	{0x1.6a09e667f3bcdp+0, -0x1.bdd3413b26456p-54},
	{0x1.306fe0a31b715p+0, 0x1.6f46ad23182e4p-55},
	{0x1.172b83c7d517bp+0, -0x1.19041b9d78a76p-55},
	{0x1.0b5586cf9890fp+0, 0x1.8a62e4adc610bp-54},
	{0x1.059b0d3158574p+0, 0x1.d73e2a475b465p-55},
	{0x1.02c9a3e778061p+0, -0x1.19083535b085dp-56},
	{0x1.0163da9fb3335p+0, 0x1.b61299ab8cdb7p-54},
}

// Exp returns e^x. With n the multiple of ln(2)/parts nearest to x, and r the rest, it is
// 2^(n/parts) (1 + r + r^2/2 + ...).
func Exp(x float64) float64 {
	const (
		perPart  = parts / math.Ln2
		toWhole  = 0x1.8p52             // adding it rounds to an integer
		partHigh = 0x1.62e42fee00000p-8 // 32 bits: its product with n is exact
		partRest = 0x1.a39ef35793c76p-40
		safe     = 700 // below it powers of two are normal and finite
	)
	switch {
	case x != x:
		return x
	case x > maxExp:
		return math.Inf(1)
	case x < minExp:
		return 0
	}
	whole := float64(x*perPart) + toWhole
	n := whole - toWhole
	high, low := x-float64(n*partHigh), float64(n*partRest)
	r := high - low
	rest := (high - r) - low
	more := float64(float64(r*r) * (.5 + float64(r*(1.0/6+float64(r*(1.0/24+float64(r*(1.0/120))))))))
	i := int(n)
	p := &powers[i&(parts-1)]
	v := p.hi + (p.lo + float64(p.hi*(r+(rest+more))))
	if math.Abs(x) < safe {
		return float64(v * math.Float64frombits(uint64(i>>partBits+1023)<<52))
	}
	return math.Ldexp(v, i>>partBits)
}

// Expm1 returns e^x - 1, accurately even if e^x is almost 1.
func Expm1(x float64) float64 {
	const tiny, beyondOne = 0x1p-60, 110
	if math.Abs(x) < tiny || math.IsNaN(x) {
		return x
	}
	if x > maxExp || x < minExp {
		return Exp(x) - 1
	}
	m, e := expOfRest(x)
	if e > beyondOne {
		return Exp(x) // 1 is negligible
	}
	scale := math.Ldexp(1, e)
	return pair{scale, 0}.plus(pair{-1, 0}).plus(pair{float64(scale * m.hi), float64(scale * m.lo)}).value()
}

// expOfRest splits x into r plus e times ln(2), with the smallest possible r, and returns e^r - 1 =
// r + r^2/2 + r^3(1/3! + r/4! + ...).
func expOfRest(x float64) (m pair, e int) {
	n := math.Round(x / math.Ln2)
	r := pair{x, 0}.plus(multiple(-n, ln2High, ln2Rest))
	tail := 0.0
	for k := expTerms; k > 3; k-- {
		tail = float64(float64((1+tail)*r.hi) * reciprocals[k])
	}
	square := r.times(r)
	cube := float64(square.hi*r.hi) * (1 + tail) / 6
	return r.plus(pair{float64(square.hi / 2), float64(square.lo / 2)}).plus(pair{cube, 0}), int(n)
}

// Hypot returns the length of (a, b), sqrt(a*a + b*b), without intermediate overflow or underflow.
// It is +Inf if either is infinite, even if the other is NaN.
func Hypot(a, b float64) float64 {
	const large, small = 0x1p+500, 0x1p-500
	a, b = math.Abs(a), math.Abs(b)
	scale := 1.0
	switch longest := max(a, b); {
	case math.IsInf(a, 0) || math.IsInf(b, 0):
		return math.Inf(1)
	case longest > large:
		scale = 0x1p-600
	case longest < small:
		scale = 0x1p+600
	}
	a, b = float64(a*scale), float64(b*scale)
	return math.Sqrt(float64(a*a)+float64(b*b)) / scale
}
