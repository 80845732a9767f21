package statistics

import (
	"math"
	"slices"

	"dumptool/internal/exact"

	"dumptool/internal/optype"
)

// amplified is the most that a product, a quotient or a cancellation may add to noise.
const amplified = 30

// absolute is the noise of an entry in its own units.
func (e entry) absolute() float64 { return float64(e.noise * e.ref.scale()) }

// together is the root of the sum of squares.
func together(all ...float64) float64 {
	s := 0.0
	for _, x := range all {
		s += float64(x * x)
	}
	return math.Sqrt(s)
}

// sumOf is together for what each of some entries has.
func sumOf(all []entry, of func(entry) float64) float64 {
	s := 0.0
	for _, e := range all {
		s += float64(of(e) * of(e))
	}
	return math.Sqrt(s)
}

func noiseIn(e entry) float64    { return e.noise }
func absoluteIn(e entry) float64 { return e.absolute() }

// between bounds a factor from both sides.
func between(low, x, high float64) float64 { return max(low, min(x, high)) }

// forward is what a formula knows: the inputs of floating-point numbers, the size of the
// output, the rounding of the operator.
type forward struct {
	*call
	in    []entry
	ref   *numbers
	rms   float64 // of the reference, or what it is without its mask
	own   float64
	total float64 // noise of all inputs together
	casts bool    // the type of the output is another one than that of an input, or the NPU's
	typed bool    // the types of the two sides differ
	power float64 // the exponent, 0 for none
}

// expect is the noise that an output may have, beside its root mean square; 1 is anything.
func (j *judge) expect(c *call, v *value) float64 {
	own, rms := j.own(v, c.noise), v.ref.rms()
	if rms <= 0 {
		rms = v.npu.rms()
	}
	if v.ref.mask() {
		rms = v.ref.scale()
	}
	if rms <= 0 {
		return own
	}
	f := &forward{call: c, ref: v.ref, rms: rms, own: own, typed: v.ref.dtype != v.npu.dtype}
	for _, e := range c.entries {
		if e.ref.float() && e.ref.known() {
			f.in = append(f.in, e)
			f.casts = f.casts || e.ref.dtype != v.ref.dtype
		}
	}
	if f.power = v.place.Exponent; f.power == 0 && c.typ.Form == optype.Square {
		f.power = 2
	}
	f.total = sumOf(f.in, noiseIn)
	if c.late() {
		return f.gradient(v.row.Output)
	}
	if formula := formulas[c.noise]; formula != nil {
		return formula(f)
	}
	if c.module {
		return float64(4*f.total) + float64(8*own)
	}
	return float64(3*f.total) + float64(4*own)
}

// formulas are those of forward calls, by how noise passes.
var formulas = [...]func(*forward) float64{
	optype.NoiseMove:      (*forward).move,
	optype.NoiseLipschitz: (*forward).lipschitz,
	optype.NoiseFunction:  func(f *forward) float64 { return float64(1.2*sumOf(f.in, absoluteIn)/f.rms) + float64(2*f.own) },
	optype.NoiseProduct:   (*forward).product,
	optype.NoiseQuotient:  (*forward).quotient,
	optype.NoiseExponent:  (*forward).exponent,
	optype.NoiseNorm:      (*forward).norm,
	optype.NoiseSums:      (*forward).sums,
	optype.NoiseReduce:    (*forward).reduce,
	optype.NoiseLoss:      (*forward).loss,
	optype.NoiseRanks:     (*forward).ranks,
	optype.NoiseAttention: func(f *forward) float64 { return 4 * (f.total + f.own) },
	optype.NoiseGarbage:   nil,
}

func (f *forward) move() float64 {
	most := 0.0
	for _, e := range f.in {
		most = max(most, e.noise, e.absolute()/f.rms)
	}
	if f.casts || f.typed {
		return most + f.own
	}
	return most + resolved
}

func (f *forward) lipschitz() float64 {
	own := f.own
	if f.typ.Selects {
		if own = resolved; f.typed {
			own += f.own
		}
	}
	return sumOf(f.in, absoluteIn)/f.rms + own
}

func (f *forward) product() float64 {
	if f.power != 0 {
		return float64(between(1, math.Abs(f.power), 8)*f.total) + f.own
	}
	size, own := f.rms, f.own
	if len(f.in) > 2 {
		own = 3 * own
	}
	largest := slices.Clone(f.in)
	slices.SortStableFunc(largest, func(a, b entry) int { return int(between(-1, b.ref.n-a.ref.n, 1)) })
	if len(largest) > 1 {
		size = largest[0].ref.rms() * largest[1].ref.rms()
	}
	return float64(f.total*between(1, size/f.rms, amplified)) + own
}

func (f *forward) quotient() float64 {
	if len(f.in) == 0 {
		return f.own
	}
	below := f.in[len(f.in)-1]
	if f.typ.Form == optype.Plain && len(f.in) == 1 && f.typ.Class == optype.Divide {
		return below.noise + f.own
	}
	least := 0.0
	if below.ref.Max.Value*below.ref.Min.Value > 0 {
		least = min(math.Abs(below.ref.Max.Value), math.Abs(below.ref.Min.Value))
	}
	relative := 0.0
	switch {
	case least > 0:
		relative = below.absolute() / least
	case below.noise > 0:
		relative = 1
	}
	if f.typ.Form == optype.Logarithm {
		return min(relative*max(1, 1/f.rms), 1) + float64(2*f.own)
	}
	above := 0.0
	if len(f.in) > 1 {
		above = f.in[0].noise * between(1, f.in[0].ref.rms()/max(least, 1e-30)/f.rms, amplified)
	}
	return min(1, relative+above) + float64(2*f.own)
}

func (f *forward) exponent() float64 {
	most := 0.0
	for _, e := range f.in {
		most = max(most, exact.Expm1(min(3*e.absolute(), 5)))
	}
	return min(1, most) + float64(2*f.own)
}

// norm: what is taken away with the mean is not there to hide noise.
func (f *forward) norm() float64 {
	if len(f.in) == 0 {
		return 2 * f.own
	}
	x, g := f.in[0], 1.0
	if f.typ.Form != optype.RootMeanNorm && !f.rootMean() {
		g = x.ref.rms() / max(x.ref.spread(), 1e-30)
	}
	return together(x.noise*g, sumOf(f.in[1:], noiseIn)) + float64((1+g)*f.own)
}

// sums is for products of matrices and convolutions: their sums may cancel. How long they
// are follows from the numbers of elements alone.
func (f *forward) sums() float64 {
	if len(f.in) < 2 {
		return float64(2*f.total) + f.own
	}
	a, b, others := f.in[0], f.in[1], f.in[2:]
	if f.typ.Buffer == optype.FirstTimesBeta && len(f.in) > 2 {
		a, b, others = f.in[1], f.in[2], f.in[:1]
	}
	w := cancels(a.ref, b.ref, f.ref.n) / f.rms
	noise := together(a.noise, b.noise)
	return max(noise*w, 0.7*noise) + sumOf(others, absoluteIn)/f.rms + between(f.own, f.own*w, amplified*f.own)
}

// cancels is the root mean square of sums of products of two tensors that are n numbers, if
// nothing in them cancels.
func cancels(a, b *numbers, n float64) float64 {
	n = max(n, 1)
	length := math.Sqrt(max(1, a.n*b.n/n))
	return a.rms() * b.rms() * math.Sqrt(a.n*b.n/max(1, length*n))
}

func (f *forward) reduce() float64 {
	if len(f.in) == 0 {
		return f.own
	}
	x := f.in[0]
	if f.spreads() {
		return 2 * (float64(x.noise*between(1, x.ref.rms()/max(x.ref.spread(), 1e-30), 100)) + f.own)
	}
	k, sum := max(1, x.ref.n/max(f.ref.n, 1)), 1.0
	if f.typ.Form == optype.Sum {
		sum = k
	}
	size := sum * x.ref.rms() / f.rms
	return max(sum*(float64(x.absolute()*max(1/math.Sqrt(k), 0.3))+math.Abs(x.shift))/f.rms, x.noise/2*min(1, size)) + float64(f.own*between(1, size, 1000))
}

func (f *forward) loss() float64 {
	if len(f.in) == 0 {
		return f.own
	}
	x := f.in[0]
	return (float64(1.5*x.absolute())+float64(f.own*x.ref.magnitude()))/f.rms + float64(x.noise/2) + f.own
}

func (f *forward) ranks() float64 {
	e := f.total + float64(4*f.own)
	if f.sumsRanks() {
		e += sumOf(f.in, absoluteIn) / f.rms
	}
	return e
}
