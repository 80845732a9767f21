package statistics

import (
	"math"
	"slices"
	"strings"

	"dumptool/internal/exact"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// amplified is the maximum amplification of noise by a product, a quotient or a cancellation, as a factor.
const amplified = 30

// absolute returns the noise of an entry in the tensor's own units: the relative noise times the scale. The larger
// scale of both sides counts, since the reference may be nearly 0 where the NPU is not.
func (e entry) absolute() float64 {
	size := e.ref.scale()
	if e.npu != nil && e.npu.isFinite() {
		size = max(size, e.npu.scale())
	}
	return float64(e.noise * size)
}

// isInput reports whether the tensor is the input with this index. Parameters have names instead of indices.
func (e entry) isInput(index int) bool { return e.row.Output == index && e.kind() == tensor.Input }

// rootSumSquares combines independent noises.
func rootSumSquares(all ...float64) float64 {
	s := 0.0
	for _, x := range all {
		s += float64(x * x)
	}
	return math.Sqrt(s)
}

func noiseIn(e entry) float64 { return e.noise }

// sumOf returns the root of the sum of squares of a property over all entries.
func sumOf(all []entry, of func(entry) float64) float64 {
	s := 0.0
	for _, e := range all {
		s += float64(of(e) * of(e))
	}
	return math.Sqrt(s)
}

// largestOf returns the largest value of a property among entries, 0 without entries.
func largestOf(all []entry, of func(entry) float64) float64 {
	largest := 0.0
	for _, e := range all {
		largest = max(largest, of(e))
	}
	return largest
}

// clamp limits x to the range low to high.
func clamp(low, x, high float64) float64 { return max(low, min(x, high)) }

// terms holds the quantities that the formulas read: the floating-point inputs (of a backward call also the inputs of
// its forward call), the size of the output, and the rounding of the operator.
type terms struct {
	*call
	in       []entry
	ref      *sideStatistics
	rms      float64 // root mean square of the reference output; of a mask, its unmasked elements
	own      float64
	total    float64 // relative noise of all inputs together
	absolute float64 // the same in the units of the inputs
	casts    bool    // the type of the output differs from the type of an input, on either side
	typed    bool    // the types of the two sides differ
	power    float64 // exponent of a power, 0 for none
	index    int     // of a backward call: the forward input whose gradient the output is
	// back is the relative noise of all incoming gradients, size their largest root mean square and n their number of
	// elements. sums is the number of gradient elements for each element of the output. shift is the largest
	// difference of the means of incoming gradients.
	back, size, n, sums, shift float64
}

// formulas bound the noise of an output. Each way in which an operator passes noise on has a formula for forward and
// one for backward calls.
var formulas = [...]struct {
	forward, backward func(*terms) float64
}{
	optype.NoiseUnknown:   {(*terms).unknown, (*terms).gradient},
	optype.NoiseMove:      {(*terms).move, (*terms).elementwiseGradient},
	optype.NoiseLipschitz: {(*terms).lipschitz, (*terms).elementwiseGradient},
	optype.NoiseFunction:  {(*terms).function, (*terms).elementwiseGradient},
	optype.NoiseProduct:   {(*terms).product, (*terms).productGradient},
	optype.NoiseQuotient:  {(*terms).quotient, (*terms).gradient},
	optype.NoiseExponent:  {(*terms).exponent, (*terms).exponentGradient},
	optype.NoiseNorm:      {(*terms).norm, (*terms).normGradient},
	optype.NoiseSums:      {(*terms).linear, (*terms).linearGradient},
	optype.NoiseReduce:    {(*terms).reduceTerms, (*terms).reduceGradient},
	optype.NoiseLoss:      {(*terms).loss, (*terms).lossGradient},
	optype.NoiseRanks:     {(*terms).ranks, (*terms).gradient},
	optype.NoiseAttention: {(*terms).attention, (*terms).gradient},
	optype.NoiseRandom:    {(*terms).unknown, (*terms).gradient},
	optype.NoiseGarbage:   {(*terms).unknown, (*terms).gradient},
}

// expectCapped is expect limited to 1, which allows any error; NaN becomes 1, too.
func (c *call) expectCapped(v *value) float64 {
	if e := c.expectedNoise(v); e < 1 {
		return e
	}
	return 1
}

// expectedNoise returns the noise that an output may have, relative to its root mean square; 1 allows any error. It is NaN
// if an input is not finite.
func (c *call) expectedNoise(v *value) float64 {
	rms := v.ref.rms()
	if rms <= 0 {
		rms = v.npu.rms()
	}
	if v.ref.isMask() {
		rms = v.ref.scale()
	}
	t := &terms{call: c, ref: v.ref, rms: rms, own: v.roundingError(c.noise), typed: v.ref.dtype != v.npu.dtype, power: v.place.Exponent, index: v.row.Output}
	if rms <= 0 {
		return t.own
	}
	for _, e := range c.entries {
		switch {
		case !e.ref.isFloat() || !e.ref.hasRange():
		case e.gradient:
			t.back += float64(e.noise * e.noise)
			t.size, t.n, t.shift = max(t.size, e.ref.rms()), t.n+e.ref.n, max(t.shift, math.Abs(e.shift))
		default:
			t.in = append(t.in, e)
			t.casts = t.casts || e.ref.dtype != v.ref.dtype || e.npu != nil && e.npu.dtype != v.npu.dtype
		}
	}
	if t.power == 0 && c.typ.Form == optype.Square {
		t.power = 2
	}
	t.total, t.absolute = sumOf(t.in, noiseIn), sumOf(t.in, entry.absolute)
	t.back, t.sums = math.Sqrt(t.back), max(1, t.n/max(v.ref.n, 1))
	switch {
	case c.isLate():
		return formulas[c.noise].backward(t)
	case len(t.in) == 0:
		return 4 * t.own
	}
	return formulas[c.noise].forward(t)
}

func (t *terms) unknown() float64 {
	if t.module {
		return float64(4*t.total) + float64(8*t.own)
	}
	return float64(3*t.total) + float64(4*t.own)
}

func (t *terms) move() float64 {
	noise := largestOf(t.in, func(e entry) float64 { return max(e.noise, e.absolute()/t.rms) })
	if t.casts {
		return noise + t.own
	}
	return noise + resolved
}

func (t *terms) lipschitz() float64 {
	own := t.own
	if t.typ.Selects {
		if own = resolved; t.typed {
			own += t.own
		}
	}
	return t.absolute/t.rms + own
}

func (t *terms) function() float64 { return float64(1.2*t.absolute/t.rms) + float64(2*t.own) }

func (t *terms) product() float64 {
	if t.power != 0 {
		return float64(clamp(1, math.Abs(t.power), 8)*t.total) + t.own
	}
	size := t.rms
	if len(t.in) > 1 {
		largest := slices.Clone(t.in)
		slices.SortStableFunc(largest, func(a, b entry) int { return int(clamp(-1, b.ref.n-a.ref.n, 1)) })
		size = largest[0].ref.rms() * largest[1].ref.rms()
	}
	return float64(t.total*clamp(1, size/t.rms, amplified)) + t.own
}

func (t *terms) quotient() float64 {
	below := t.in[len(t.in)-1]
	if t.typ.Form == optype.Plain && len(t.in) == 1 && t.typ.Class == optype.Divide {
		return below.noise + t.own
	}
	least, relative, above := 0.0, 0.0, 0.0
	if below.ref.Max.Value()*below.ref.Min.Value() > 0 {
		least = min(math.Abs(below.ref.Max.Value()), math.Abs(below.ref.Min.Value()))
	}
	switch {
	case least > 0:
		relative = below.absolute() / least
	case below.noise > 0:
		relative = 1
	}
	if t.typ.Form == optype.Logarithm {
		return min(relative*max(1, 1/t.rms), 1) + float64(2*t.own)
	}
	if len(t.in) > 1 {
		above = largestOf(t.in[:len(t.in)-1], func(e entry) float64 { return e.noise * clamp(1, e.ref.rms()/max(least, 1e-30)/t.rms, amplified) })
	}
	return min(1, relative+above) + float64(2*t.own)
}

// steepest returns the relative error that exp makes of the largest absolute noise of the inputs, multiplied by
// reserve; exponents end at 5.
func (t *terms) steepest(reserve float64) float64 {
	return largestOf(t.in, func(e entry) float64 { return exact.Expm1(min(reserve*e.absolute(), 5)) })
}

func (t *terms) exponent() float64 { return min(1, t.steepest(3)) + float64(2*t.own) }

// norm: the result has the size of the standard deviation. Subtracting a mean therefore amplifies noise by the root
// mean square divided by the standard deviation.
func (t *terms) norm() float64 {
	x, g := t.in[0], 1.0
	if t.typ.Form != optype.RootMeanNorm && t.trait() != optype.KeepsMean {
		g = x.ref.rms() / max(x.ref.deviation(), 1e-30)
	}
	parameters := t.in[1:]
	bias := 0.0
	if last := len(parameters) - 1; last > 0 && t.isBias(parameters[last]) {
		bias, parameters = parameters[last].absolute()/t.rms, parameters[:last]
	}
	return rootSumSquares(x.noise*g, sumOf(parameters, noiseIn), bias) + float64((1+g)*t.own)
}

// isBias reports whether the last input of a normalisation is the bias, as in all functions of PyTorch.
func (t *terms) isBias(last entry) bool {
	return strings.HasSuffix(last.place.Tensor, "bias") || t.api != "" && !t.module
}

// linear bounds matrix products and convolutions, whose sums may cancel. The length of the sums is estimated from the
// numbers of elements: sqrt(elements of a * elements of b / elements of the output).
func (t *terms) linear() float64 {
	if len(t.in) < 2 {
		return float64(2*t.total) + t.own
	}
	a, b, others := t.in[0], t.in[1], t.in[2:]
	if t.typ.Buffer == optype.FirstTimesBeta && len(t.in) > 2 {
		a, b, others = t.in[1], t.in[2], t.in[:1]
	}
	n := max(t.ref.n, 1)
	length := math.Sqrt(max(1, a.ref.n*b.ref.n/n))
	w := a.ref.rms() * b.ref.rms() * math.Sqrt(a.ref.n*b.ref.n/max(1, length*n)) / t.rms // size of sums of independent terms beside the size of the output
	noise := rootSumSquares(a.noise, b.noise)
	return max(noise*w, 0.7*noise) + sumOf(others, entry.absolute)/t.rms + clamp(t.own, t.own*w, amplified*t.own)
}

func (t *terms) reduceTerms() float64 {
	x := t.in[0]
	if t.trait() == optype.Spreads {
		return 2 * (float64(x.noise*clamp(1, x.ref.rms()/max(x.ref.deviation(), 1e-30), 100)) + t.own)
	}
	k, sum := max(1, x.ref.n/max(t.ref.n, 1)), 1.0
	if t.typ.Form == optype.Sum {
		sum = k
	}
	size := sum * x.ref.rms() / t.rms
	return max(sum*(float64(x.absolute()*max(1/math.Sqrt(k), 0.3))+math.Abs(x.shift))/t.rms, x.noise/2*min(1, size)) + float64(t.own*clamp(1, size, 1000))
}

func (t *terms) loss() float64 {
	x := t.in[0]
	return (float64(1.5*x.absolute())+float64(t.own*x.ref.magnitude()))/t.rms + float64(x.noise/2) + t.own
}

func (t *terms) ranks() float64 {
	e := t.total + float64(4*t.own)
	if t.trait() == optype.AddsRanks {
		e += t.absolute / t.rms
	}
	return e
}

func (t *terms) attention() float64 { return 4 * (t.total + t.own) }

// added returns the noise of gradients that are accumulated, in units of the output.
func (t *terms) added() float64 {
	return float64(t.back*t.size*math.Sqrt(t.sums)) + float64(t.sums*t.shift)
}

func (t *terms) gradient() float64 {
	e := 3 * rootSumSquares(t.back, t.total)
	return max(e, min(20*e, t.added()/t.rms)) + float64(3*t.own)
}

func (t *terms) elementwiseGradient() float64 {
	e, noise := t.added(), largestOf(t.in, noiseIn)
	switch {
	case t.trait() == optype.Picks || t.typ.Indices != 0:
		e = rootSumSquares(e, math.Sqrt(noise)*t.size)
	case t.noise == optype.NoiseFunction:
		e = rootSumSquares(e, 2*noise*t.size)
	case t.noise == optype.NoiseLipschitz && t.trait() != optype.Adds: // noise flips elements of the mask
		e = rootSumSquares(e, math.Sqrt(0.6*noise)*t.size)
	}
	return max(e/t.rms, t.back) + t.own
}

func (t *terms) productGradient() float64 {
	others := slices.DeleteFunc(slices.Clone(t.in), func(e entry) bool { return e.isInput(t.index) })
	if len(others) == 0 && t.typ.Class != optype.Multiply {
		others = t.in
	}
	if len(others) == 0 {
		return t.back + t.own
	}
	h, size := rootSumSquares(t.back, largestOf(others, noiseIn)), largestOf(others, func(e entry) float64 { return e.ref.rms() })
	return max(h, min(h*t.size*size*math.Sqrt(t.sums)/t.rms, amplified*h)) + t.own
}

func (t *terms) exponentGradient() float64 {
	p := 1.0
	if len(t.outputs) > 0 && t.outputs[0].ref != nil {
		p = 0
		for _, v := range t.outputs {
			if v.ref != nil { // nil: an output that only the NPU has
				p = max(p, v.ref.rms())
			}
		}
	}
	return float64(rootSumSquares(t.back, t.steepest(2))*clamp(1, 2*t.size*p/t.rms, 4)) + float64(2*t.own)
}

func (t *terms) normGradient() float64 {
	x, spread, weight, amplifies := 0.0, 1.0, 0.0, 0.0
	for _, e := range t.in {
		if !e.isInput(0) {
			weight = max(weight, e.ref.rms())
			continue
		}
		spread = e.ref.deviation()
		amplifies = e.ref.rms() / spread
		x = e.noise * amplifies
	}
	if weight == 0 {
		weight = 1
	}
	h := rootSumSquares(t.back, x)
	if t.ref.n < t.n {
		return (float64(h*t.size*math.Sqrt(t.sums))+float64(t.sums*t.shift))/t.rms + h + t.own
	}
	return float64(h*clamp(1, t.size*weight/spread/t.rms, 10)) + float64((2+amplifies)*t.own)
}

// linearGradient bounds the gradient of a factor (the incoming gradient times the other factor), or of an added term.
func (t *terms) linearGradient() float64 {
	if !(t.size > 0) {
		return t.gradient()
	}
	i := slices.IndexFunc(t.in, func(e entry) bool { return !e.isInput(t.index) && e.ref.n > 1 && len(e.ref.shape) != 1 })
	if t.index >= 2 || i < 0 {
		return t.added()/t.rms + t.back + t.own
	}
	other, n := t.in[i], max(t.ref.n, 1)
	length := math.Sqrt(max(1, t.n*other.ref.n/n))
	noise := rootSumSquares(t.back, other.noise)
	w := t.size * math.Sqrt(t.n) * other.ref.rms() * math.Sqrt(other.ref.n) / math.Sqrt(max(1, length*n)) / t.rms
	return max(noise, noise*w) + clamp(t.own, t.own*w, amplified*t.own)
}

func (t *terms) reduceGradient() float64 { return t.back + float64(t.sums*t.shift/t.rms) + t.own }

func (t *terms) lossGradient() float64 {
	return float64(1.5*rootSumSquares(t.back, t.steepest(2))) + float64(2*t.own)
}
