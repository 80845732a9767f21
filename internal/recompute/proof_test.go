package recompute

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"dumptool/internal/tensor"
)

// outputOf returns a float32 tensor with the values of f.
func outputOf(x *Tensor, f func(i int, v float64) float64) *Tensor {
	in := x.Source.(numbers).v
	out := make([]float64, len(in))
	for i, v := range in {
		out[i] = float64(float32(f(i, v)))
	}
	return &Tensor{DType: tensor.Float32, Stored: tensor.Float32, Shape: x.Shape, Source: numbers{out, tensor.Float32}}
}

// TestProof: which attributes and elements decide that an operator is WRONG. The formulas are written out here: Elu
// is x above 0 and alpha (e^x - 1) below, HardSigmoid is alpha x + beta between 0 and 1, Softplus is log(1 + e^(beta
// x)) / beta up to a threshold of beta x and x above it.
func TestProof(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(21, 4))
	x, few, three := randomTensor(r, 1, 40, 50), randomTensor(r, 1, 7), randomTensor(r, 1, 1, 3)
	for i, v := range few.Source.(numbers).v { // only the negative side of Elu depends on alpha
		few.Source.(numbers).v[i] = -.1 - math.Abs(v)
	}
	elu := func(v float64) float64 {
		if v > 0 {
			return v
		}
		return math.Expm1(v)
	}
	clamped := func(v float64) float64 { return min(max(v, 0), 1) }
	softplus := func(beyond float64) func(int, float64) float64 {
		return func(_ int, v float64) float64 {
			if v > beyond {
				return v
			}
			return math.Log1p(math.Exp(v))
		}
	}
	random := func(int, float64) float64 { return float64(float32(r.NormFloat64())) }
	for _, c := range []struct {
		name, formula, attrs string
		in                   *Tensor
		f                    func(i int, v float64) float64
		known                bool // a graph lists all attributes that differ from their defaults
		want                 Status
		extent               Extent
	}{
		{"one number that nobody says, fitted to a healthy output", "Elu", "scale=1 input_scale=1", x, func(_ int, v float64) float64 { return .7*min(elu(v), 0) + max(v, 0) }, false, OK, ""},
		{"one number that nobody says, and no value explains it", "Elu", "scale=1 input_scale=1", x, random, false, Wrong, All},
		{"too few elements to fit the number", "Elu", "scale=1 input_scale=1", few, random, false, Undecided, ""},
		{"the number is known", "Elu", "alpha=1 scale=1 input_scale=1", few, random, false, Wrong, All},
		{"two numbers that nobody says", "HardSigmoid", "", x, random, false, Misfit, ""},
		{"two numbers, one of which is known", "HardSigmoid", "alpha=0.2", x, random, false, Wrong, All},
		{"rows are wrong beside usual values", "HardSigmoid", "", x, func(i int, v float64) float64 {
			if i/50 == 7 || i/50 == 8 {
				return 3
			}
			return clamped(v/6 + .5)
		}, false, Wrong, Part},
		{"a single element is wrong beside usual values", "HardSigmoid", "", x, func(i int, v float64) float64 {
			if i == 777 {
				return 3
			}
			return clamped(v/6 + .5)
		}, false, Wrong, Part},
		{"elements everywhere are wrong beside usual values", "HardSigmoid", "", x, func(i int, v float64) float64 {
			if i%7 == 1 {
				return 3
			}
			return clamped(v/6 + .5)
		}, false, Misfit, ""},
		{"a threshold that nobody says", "Softplus", "", x, softplus(.5), false, Misfit, ""},
		{"the threshold has its default in a graph", "Softplus", "beta=1", x, softplus(.5), true, Wrong, Part},
		{"the threshold is said", "Softplus", "beta=1 threshold=0.5", x, softplus(.5), false, OK, ""},
		{"the default threshold, said by nobody", "Softplus", "", x, softplus(20), false, OK, ""},
		{"three elements, nearly all wrong", "Sigmoid", "", three, random, false, Wrong, All},
	} {
		op := &Operator{Formula: c.formula, Inputs: []*Tensor{c.in}, Outputs: []*Tensor{outputOf(c.in, c.f)}, Attributes: attributesOf(c.attrs), AttributesComplete: c.known, Fused: new(bool)}
		v, err := Judge(context.Background(), op)
		if err != nil || v.Status != c.want || v.Extent != c.extent {
			t.Errorf("%s: %s %s %s with %v, %v, want %s %s", c.name, v.Status, v.Reason, v.Extent, v.Attributes, err, c.want, c.extent)
		}
	}
}

// TestWhatDecides: an operator whose elements are all wrong is WRONG if all attributes are decided, else a MISFIT.
func TestWhatDecides(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(22, 4))
	a, b := randomTensor(r, 1, 16, 24), randomTensor(r, 1, 24, 20)
	image := randomTensor(r, 1, 1, 3, 9, 9)
	yes := new(bool)
	*yes = true
	for _, c := range []struct {
		name string
		op   Operator
		want Status
	}{
		{"a product", Operator{Formula: "MatMul", Inputs: []*Tensor{a, b}, Outputs: []*Tensor{randomTensor(r, 5, 16, 20)}, Fused: new(bool), Attributes: attributesOf("transpose_x1=0 transpose_x2=0")}, Wrong},
		{"a product of which nothing is known", Operator{Formula: "MatMul", Inputs: []*Tensor{a, b}, Outputs: []*Tensor{randomTensor(r, 5, 16, 20)}, Fused: new(bool)}, Misfit},
		{"a product, perhaps with an activation", Operator{Formula: "MatMul", Inputs: []*Tensor{a, b}, Outputs: []*Tensor{randomTensor(r, 5, 16, 20)}, Attributes: attributesOf("transpose_x1=0 transpose_x2=0")}, Misfit},
		{"a product of which the activation is known", Operator{Formula: "MatMul", Inputs: []*Tensor{a, b}, Outputs: []*Tensor{randomTensor(r, 5, 16, 20)}, Attributes: attributesOf("transpose_x1=0 transpose_x2=0 activation=none")}, Wrong},
		{"a product in a module", Operator{Formula: "MatMul", Inputs: []*Tensor{a, b}, Outputs: []*Tensor{randomTensor(r, 5, 16, 20)}, Fused: new(bool), Open: true, Attributes: attributesOf("transpose_x1=0 transpose_x2=0")}, Misfit},
		{"a slice of which nobody says the begin", Operator{Formula: "StridedSlice", Inputs: []*Tensor{a}, Outputs: []*Tensor{randomTensor(r, 1, 4, 6)}, Fused: new(bool)}, Misfit},
		{"a slice of which all is known", Operator{Formula: "StridedSlice", Inputs: []*Tensor{a}, Outputs: []*Tensor{randomTensor(r, 1, 4, 6)}, Fused: new(bool), Attributes: attributesOf("begin=2,3 strides=1,1")}, Wrong},
		{"a pool of unknown windows", Operator{Formula: "AvgPool", Inputs: []*Tensor{image}, Outputs: []*Tensor{randomTensor(r, 1, 1, 3, 4, 4)}, Fused: new(bool)}, Misfit},
		{"a pool of known windows", Operator{Formula: "AvgPool", Inputs: []*Tensor{image}, Outputs: []*Tensor{randomTensor(r, 1, 1, 3, 4, 4)}, Fused: new(bool), Attributes: attributesOf("ksize=3,3 strides=2,2 pads=0,0 dilations=1,1 exclusive=1 divisor=0")}, Wrong},
		{"the output holds the input", Operator{Formula: "Sigmoid", Inputs: []*Tensor{a}, Outputs: []*Tensor{outputOf(a, func(_ int, v float64) float64 { return v })}, Fused: new(bool)}, Undecided},
		{"the output holds the input of a call, which was saved before", Operator{Formula: "Sigmoid", Inputs: []*Tensor{a}, Outputs: []*Tensor{outputOf(a, func(_ int, v float64) float64 { return v })}, Fused: new(bool), Called: true}, Wrong},
		{"wrong, and in the memory of the input", Operator{Formula: "Sigmoid", Inputs: []*Tensor{a}, Outputs: []*Tensor{randomTensor(r, 1, 16, 24)}, Fused: new(bool), Overlap: yes}, Undecided},
		{"wrong, and in memory of its own", Operator{Formula: "Sigmoid", Inputs: []*Tensor{a}, Outputs: []*Tensor{randomTensor(r, 1, 16, 24)}, Fused: new(bool), Overlap: new(bool)}, Wrong},
		{"a Relu of its own output", Operator{Formula: "Relu", Inputs: []*Tensor{a}, Outputs: []*Tensor{outputOf(a, func(_ int, v float64) float64 { return v })}, Fused: new(bool)}, Wrong},
	} {
		if c.op.Attributes == nil {
			c.op.Attributes = Attributes{}
		}
		if v, err := Judge(context.Background(), &c.op); err != nil || v.Status != c.want || v.Status == Undecided && v.Reason != InPlace {
			t.Errorf("%s: %s %s with %v, %v, want %s", c.name, v.Status, v.Reason, v.Attributes, err, c.want)
		}
	}
}

// TestDensestCentre: the centre of the range that most intervals share.
func TestDensestCentre(t *testing.T) {
	for _, c := range []struct {
		all  []interval
		x    float64
		most int
	}{
		{nil, 0, 0},
		{[]interval{{1, 3}}, 2, 1},
		{[]interval{{1, 3}, {2, 6}}, 2.5, 2},
		{[]interval{{1, 3}, {2, 6}, {2, 8}, {2.5, 2.75}}, 2.625, 4},
		{[]interval{{0, 1}, {5, 6}, {5.5, 9}}, 5.75, 2},
		{[]interval{{0, 1}, {1, 2}}, 1, 2}, // they touch
		{[]interval{{-4, -2}, {-3, -1}, {7, 9}}, -2.5, 2},
	} {
		if x, most := findDensestCentre(c.all); x != c.x || most != c.most {
			t.Errorf("%v: %v by %d, want %v by %d", c.all, x, most, c.x, c.most)
		}
	}
}

// TestFactors: a base of a logarithm near e with many digits is a wrong factor of the output: a result f*ln(x) looks
// like a logarithm to the base e^(1/f).
func TestFactors(t *testing.T) {
	natural := fitRule{natural: math.E}
	for x, want := range map[float64]bool{
		math.E: true, // many digits
		2.7:    false, 2: false, 10: false, 3: false,
		math.Exp(1 / 1.02): true, math.Exp(1 / .98): true, // factors of 1.02 and .98
		math.Exp(1 / 1.5): false, // far away
		math.Exp(1.03):    false,
	} {
		if got := natural.isFactor(x); got != want {
			t.Errorf("%v: %t, want %t", x, got, want)
		}
		if (&fitRule{}).isFactor(x) {
			t.Errorf("%v: a factor of an attribute without a natural value", x)
		}
	}
	for _, c := range []struct {
		x      float64
		digits int
		want   float64
	}{{0.123456, 1, .1}, {0.123456, 3, .123}, {99.6, 2, 100}, {-1.25e-7, 2, -1.2e-7}, {4, 3, 4}} {
		if got := roundDigits(c.x, c.digits); got != c.want {
			t.Errorf("%v with %d digits: %v, want %v", c.x, c.digits, got, c.want)
		}
	}
}
