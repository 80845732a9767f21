package statistics

import (
	"math"
	"strings"

	"dumptool/internal/exact"

	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// late is what a formula of a backward call knows: the gradients that come in, and what the
// forward call read.
type late struct {
	*forward
	forth       []entry // what the forward call read
	noise       float64 // of the gradients
	size        float64 // their root mean square
	n           float64 // their number of elements
	sums, shift float64 // elements of them for each one of the output, the shift of their means
	read        float64 // the noise of all that the forward call read
}

// gradient is the noise that the gradient of an input, which is at an index, may have.
func (f *forward) gradient(index int) float64 {
	l := &late{forward: f}
	var squares float64
	for _, e := range f.in {
		if !e.gradient {
			l.forth = append(l.forth, e)
			continue
		}
		squares += float64(e.noise * e.noise)
		l.size, l.n, l.shift = max(l.size, e.ref.rms()), l.n+e.ref.n, max(l.shift, math.Abs(e.shift))
	}
	l.noise, l.sums, l.read = math.Sqrt(squares), max(1, l.n/max(f.ref.n, 1)), sumOf(l.forth, noiseIn)
	switch {
	case f.op.noise == optype.NoiseSums && l.size > 0:
		return l.ofSums(index)
	case f.op.noise == optype.NoiseLipschitz || f.op.noise == optype.NoiseFunction || f.op.noise == optype.NoiseMove:
		return l.ofLipschitz()
	case f.op.noise == optype.NoiseProduct:
		return l.ofProduct(index)
	case f.op.noise == optype.NoiseExponent:
		p := 1.0
		if len(l.outputs) > 0 && l.outputs[0].ref != nil {
			p = 0
			for _, v := range l.outputs {
				p = max(p, v.ref.rms())
			}
		}
		return float64(together(l.noise, l.steepest())*between(1, 2*l.size*p/f.rms, 4)) + float64(2*f.own)
	case f.op.noise == optype.NoiseNorm:
		return l.ofNorm()
	case f.op.noise == optype.NoiseLoss:
		return float64(1.5*together(l.noise, l.steepest())) + float64(2*f.own)
	case f.op.noise == optype.NoiseReduce:
		return l.noise + float64(l.sums*l.shift/f.rms) + f.own
	}
	e := 3 * together(l.noise, l.read)
	return max(e, min(20*e, l.added()/f.rms)) + float64(3*f.own)
}

// added is the noise of gradients that are added up, in units of the output.
func (l *late) added() float64 {
	return float64(l.noise*l.size*math.Sqrt(l.sums)) + float64(l.sums*l.shift)
}

// steepest is what the noise of the forward call makes of an exponent.
func (l *late) steepest() float64 {
	most := 0.0
	for _, e := range l.forth {
		most = max(most, exact.Expm1(min(2*e.absolute(), 5)))
	}
	return most
}

func (l *late) ofSums(index int) float64 {
	if index < 2 {
		for _, other := range l.forth {
			if other.is(index) || other.ref.n <= 1 || len(other.ref.shape) == 1 {
				continue
			}
			n := max(l.ref.n, 1)
			length := math.Sqrt(max(1, l.n*other.ref.n/n))
			noise := together(l.noise, other.noise)
			return max(noise, noise*l.size*math.Sqrt(l.n)*other.ref.rms()*math.Sqrt(other.ref.n)/math.Sqrt(max(1, length*n))/l.rms) + l.own
		}
	}
	return l.added()/l.rms + l.noise + l.own
}

func (l *late) ofLipschitz() float64 {
	e, most := l.added(), 0.0
	for _, x := range l.forth {
		most = max(most, x.noise)
	}
	switch way := l.op.noise; {
	case l.picks():
		e = together(e, math.Sqrt(most)*l.size)
	case way == optype.NoiseFunction:
		e = together(e, 2*most*l.size)
	case way == optype.NoiseLipschitz && !l.adds(): // masks flip
		e = together(e, math.Sqrt(0.6*most)*l.size)
	}
	return max(e/l.rms, l.noise) + l.own
}

func (l *late) ofProduct(index int) float64 {
	var others []entry
	for _, e := range l.forth {
		if !e.is(index) {
			others = append(others, e)
		}
	}
	if len(others) == 0 && l.typ.Class != optype.Multiply {
		others = l.forth
	}
	if len(others) == 0 {
		return l.noise + l.own
	}
	noise, size := 0.0, 0.0
	for _, e := range others {
		noise, size = max(noise, e.noise), max(size, e.ref.rms())
	}
	h := together(l.noise, noise)
	return max(h, min(h*l.size*size*math.Sqrt(l.sums)/l.rms, amplified*h)) + l.own
}

func (l *late) ofNorm() float64 {
	x, spread, weight := 0.0, 1.0, 0.0
	amplifies := 0.0
	for _, e := range l.forth {
		if e.is(0) {
			spread = e.ref.spread()
			amplifies = e.ref.rms() / spread
			x = e.noise * amplifies
			continue
		}
		weight = max(weight, e.ref.rms())
	}
	if weight == 0 {
		weight = 1
	}
	h := together(l.noise, x)
	if l.ref.n < l.n {
		return (float64(h*l.size*math.Sqrt(l.sums))+float64(l.sums*l.shift))/l.rms + h + l.own
	}
	return float64(h*between(1, l.size*weight/spread/l.rms, 10)) + float64((2+amplifies)*l.own)
}

// is reports whether a tensor is an input by its index; parameters go by names.
func (e entry) is(index int) bool { return e.row.Output == index && e.kind() == tensor.Input }

// The functions of a class that do not go by it.

// picks reports whether an output is one of its inputs.
func (l *late) picks() bool {
	return strings.HasPrefix(l.function(), "max_pool") || l.typ.Indices != 0
}

// adds reports whether the function adds or subtracts: no mask is in it.
func (l *late) adds() bool {
	switch strings.Trim(l.function(), "_") {
	case "add", "sub", "radd", "iadd", "rsub", "isub":
		return true
	}
	return false
}

// function is the name of the function that is called.
func (o *op) function() string {
	_, name, _ := strings.Cut(o.api, ".")
	return name
}

// rootMean reports whether a norm does not take the mean away.
func (o *op) rootMean() bool {
	switch o.function() {
	case "normalize", "npu_add_rms_norm":
		return true
	}
	return false
}

// spreads reports whether a reduction is one of squares.
func (o *op) spreads() bool {
	switch o.function() {
	case "var", "std", "norm", "linalg_norm", "var_mean", "prod":
		return true
	}
	return false
}

// sumsRanks reports whether a communication adds what the ranks have.
func (o *op) sumsRanks() bool {
	switch o.function() {
	case "all_reduce", "reduce_scatter", "_reduce_scatter_base", "reduce_scatter_tensor", "reduce":
		return true
	}
	return false
}
