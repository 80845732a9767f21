package verdict

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// measured returns the noise of a tensor whose reference has the values, as float32.
func measured(t *testing.T, shape tensor.Shape, values []float64) *noise.Noise {
	t.Helper()
	half, _ := noise.TypeOf(tensor.Float16)
	req := &noise.Request{Shape: shape, Type: half, Mask: math.Inf(-1), Groups: 256}
	stored := make([]float64, len(values))
	for i, x := range values {
		stored[i] = float64(float32(x))
	}
	c := noise.NewCollector(req)
	c.Add(0, stored, stored)
	return c.Finish(func(func(float64, int64) bool) {})
}

// drawn returns normally distributed numbers.
func drawn(seed uint64, count int64) []float64 {
	random := rand.New(rand.NewPCG(seed, 3))
	values := make([]float64, count)
	for i := range values {
		values[i] = float64(float32(random.NormFloat64()))
	}
	return values
}

// eachOf applies a function to elements.
func eachOf(f func(float64) float64) func(x, y []float64, length int) []float64 {
	return func(x, _ []float64, _ int) []float64 {
		out := make([]float64, len(x))
		for i, v := range x {
			out[i] = f(v)
		}
		return out
	}
}

func bothOf(f func(a, b float64) float64) func(x, y []float64, length int) []float64 {
	return func(x, y []float64, _ int) []float64 {
		out := make([]float64, len(x))
		for i, v := range x {
			out[i] = f(v, y[i%len(y)])
		}
		return out
	}
}

// rowsOf applies a function to rows.
func rowsOf(f func(row []float64) []float64) func(x, y []float64, length int) []float64 {
	return func(x, _ []float64, length int) (out []float64) {
		for row := range slices.Chunk(x, length) {
			out = append(out, f(row)...)
		}
		return out
	}
}

func meanOf(row []float64) (mean, std float64) {
	for _, x := range row {
		mean += x / float64(len(row))
	}
	for _, x := range row {
		std += (x - mean) * (x - mean) / float64(len(row))
	}
	return mean, math.Sqrt(std)
}

func sumOfExp(row []float64) (sum float64) {
	for _, x := range row {
		sum += math.Exp(x)
	}
	return sum
}

// TestSteepen: a function that rises faster than the named function gets the slope of the references; other functions
// keep their factor.
func TestSteepen(t *testing.T) {
	for _, tt := range []struct {
		name, op string
		f        func(float64) float64
		least    float64 // of the factor; 0: unchanged
	}{
		{"Tanh", "Tanh", math.Tanh, 0},
		{"Gelu", "Gelu", func(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) }, 0},
		{"of bfloat16", "Tanh", func(x float64) float64 {
			return float64(math.Float32frombits(math.Float32bits(float32(math.Tanh(x))) &^ 0xffff))
		}, 0},
		{"Elu of another alpha", "Elu", func(x float64) float64 { return max(x, 0) + 3*math.Expm1(min(x, 0)) }, 2.5},
		{"a sign", "Softsign", func(x float64) float64 { return x / (math.Abs(x) + 1e-7) }, 15},
		{"not smooth by its name", "Relu", func(x float64) float64 { return 9 * max(x, 0) }, 0},
		{"sums", "LogSoftmax", func(x float64) float64 { return 9 * x }, 0},
	} {
		o := operator(tt.op, 1)
		o.Inputs[0] = even(tensor.Float16, o.Out.Shape, 1, 0.05)
		for i := range 128 {
			x := float64(i-64) / 32 // a step that no precision hides
			o.Inputs[0].Probe.Values = append(o.Inputs[0].Probe.Values, float32(x))
			o.Out.Probe.Values = append(o.Out.Probe.Values, float32(tt.f(x)))
		}
		before := o.Type.Factor
		if changed := o.steepen(); changed != (tt.least > 0) || changed && o.Type.Factor < tt.least || !changed && o.Type.Factor != before {
			t.Errorf("%s: factor %v, was %v; want %v at least", tt.name, o.Type.Factor, before, tt.least)
		}
	}
}

// TestRelate: an operator is recognised by its values, and not recognised if one value of the probe differs.
func TestRelate(t *testing.T) {
	shapes := []tensor.Shape{{9, 40}, {3, 5, 32}, {2, 16, 9, 10}}
	for _, tt := range []struct {
		name string
		make func(x, y []float64, length int) []float64
		two  bool
		want optype.Type
	}{
		{"Relu", eachOf(func(x float64) float64 { return max(x, 0) }), false, optype.Type{Class: optype.Lipschitz, Factor: 1, Selects: true}},
		{"LeakyRelu", eachOf(func(x float64) float64 { return max(x, 0.1*x) }), false, optype.Type{Class: optype.Lipschitz, Factor: 1, Selects: true}},
		{"MaskedFill", eachOf(func(x float64) float64 {
			if x > 0.5 {
				return math.Inf(-1)
			}
			return x
		}), false, optype.Type{Class: optype.Lipschitz, Factor: 1, Selects: true}},
		{"Abs", eachOf(math.Abs), false, optype.Type{Class: optype.Lipschitz, Factor: 1}},
		{"Tanh", eachOf(math.Tanh), false, optype.Type{Class: optype.Lipschitz, Factor: 1, Transcendental: true}},
		{"Sigmoid", eachOf(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }), false, optype.Type{Class: optype.Lipschitz, Factor: 1, Transcendental: true}},
		{"Softplus", eachOf(func(x float64) float64 { return math.Log1p(math.Exp(x)) }), false, optype.Type{Class: optype.Lipschitz, Factor: 1, Transcendental: true}},
		{"Gelu", eachOf(func(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) }), false, optype.Type{Class: optype.Lipschitz, Factor: 1.13, Transcendental: true}},
		{"Gelu by tanh", eachOf(func(x float64) float64 {
			return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		}), false, optype.Type{Class: optype.Lipschitz, Factor: 1.13, Transcendental: true}},
		{"QuickGelu", eachOf(func(x float64) float64 { return x / (1 + math.Exp(-1.702*x)) }), false, optype.Type{Class: optype.Lipschitz, Factor: 1.13, Transcendental: true}},
		{"Swish", eachOf(func(x float64) float64 { return x / (1 + math.Exp(-x)) }), false, optype.Type{Class: optype.Lipschitz, Factor: 1.1, Transcendental: true}},
		{"Square", eachOf(func(x float64) float64 { return x * x }), false, optype.Type{Class: optype.Multiply, Form: optype.Square}},
		{"Muls", eachOf(func(x float64) float64 { return -0.37 * x }), false, optype.Type{Class: optype.Multiply, Fitted: true}},
		{"Reciprocal", eachOf(func(x float64) float64 { return 1 / x }), false, optype.Type{Class: optype.Divide}},
		{"Exp", eachOf(math.Exp), false, optype.Type{Class: optype.Exponential, Transcendental: true}},
		{"Softmax", rowsOf(func(row []float64) (out []float64) {
			for _, x := range row {
				out = append(out, math.Exp(x)/sumOfExp(row))
			}
			return out
		}), false, optype.Type{Class: optype.Exponential, Transcendental: true}},
		{"LogSoftmax", rowsOf(func(row []float64) (out []float64) {
			for _, x := range row {
				out = append(out, x-math.Log(sumOfExp(row)))
			}
			return out
		}), false, optype.Type{Class: optype.Lipschitz, Factor: 2, Transcendental: true, Form: optype.LogSoftmax}},
		{"LayerNorm", rowsOf(func(row []float64) (out []float64) {
			mean, std := meanOf(row)
			for i, x := range row {
				out = append(out, (x-mean)/math.Sqrt(std*std+1e-5)*(1+0.1*math.Sin(float64(i)))+0.2*math.Cos(float64(i)))
			}
			return out
		}), false, optype.Type{Class: optype.Normalise}},
		{"RmsNorm", rowsOf(func(row []float64) (out []float64) {
			mean, std := meanOf(row)
			for i, x := range row {
				out = append(out, x/math.Sqrt(std*std+mean*mean+1e-5)*(1+0.1*math.Sin(float64(i))))
			}
			return out
		}), false, optype.Type{Class: optype.Normalise, Form: optype.RootMeanNorm}},
		{"Add", bothOf(func(a, b float64) float64 { return a + b }), true, optype.Type{Class: optype.Lipschitz, Factor: 1}},
		{"Sub", bothOf(func(a, b float64) float64 { return b - a }), true, optype.Type{Class: optype.Lipschitz, Factor: 1}},
		{"Mul", bothOf(func(a, b float64) float64 { return a * b }), true, optype.Type{Class: optype.Multiply}},
		{"RealDiv", bothOf(func(a, b float64) float64 { return a / b }), true, optype.Type{Class: optype.Divide}},
		{"Maximum", bothOf(math.Max), true, optype.Type{Class: optype.Lipschitz, Factor: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for k, shape := range shapes {
				x, y := drawn(uint64(k), shape.Elements()), drawn(uint64(k+10), shape.Elements())
				values := tt.make(x, y, int(shape[len(shape)-1]))
				in := []*noise.Noise{measured(t, shape, x)}
				if tt.two {
					in = append(in, measured(t, shape, y))
				}
				if got, ok := Relate(measured(t, shape, values), in...); !ok || got != tt.want {
					t.Errorf("%v: %+v, %v, want %+v", shape, got, ok, tt.want)
				}
				if got, ok := Relate(measured(t, shape, drawn(99, shape.Elements())), in...); ok {
					t.Errorf("%v: what has nothing to do with it is %+v", shape, got)
				}
				for i := range values {
					values[i] += 0.01 * math.Sin(float64(i*i))
				}
				if got, ok := Relate(measured(t, shape, values), in...); ok {
					t.Errorf("%v: what is near it is %+v", shape, got)
				}
			}
		})
	}
}

// TestRelateShapes: inputs may be of other shapes.
func TestRelateShapes(t *testing.T) {
	shape, narrow := tensor.Shape{9, 40}, tensor.Shape{9, 1}
	x, column := drawn(1, 360), drawn(2, 9)
	var sums, means, divided, biased, mapped []float64
	for row := range slices.Chunk(x, 40) {
		mean, _ := meanOf(row)
		means, sums = append(means, mean), append(sums, 40*mean)
	}
	for i, v := range x {
		divided = append(divided, v/column[i/40])
		biased = append(biased, v+math.Sin(float64(i%40)))
		mapped = append(mapped, v*math.Cos(float64(i%40))+math.Sin(float64(i%40)))
	}
	positive := eachOf(math.Abs)(x, nil, 0)
	roots := eachOf(func(v float64) float64 { return 1 / math.Sqrt(v+1e-3) })(positive, nil, 0)
	turned := make([]float64, 0, 360) // transposed
	for c := range 40 {
		for r := range 9 {
			turned = append(turned, x[r*40+c])
		}
	}
	z := drawn(5, 80)
	for _, tt := range []struct {
		name  string
		shape tensor.Shape
		made  []float64
		in    []*noise.Noise
		want  optype.Type
	}{
		{"divided by a column", shape, divided, []*noise.Noise{measured(t, shape, x), measured(t, narrow, column)}, optype.Type{Class: optype.Divide}},
		{"means", narrow, means, []*noise.Noise{measured(t, shape, x)}, optype.Type{Class: optype.Reduce}},
		{"sums", narrow, sums, []*noise.Noise{measured(t, shape, x)}, optype.Type{Class: optype.Reduce, Form: optype.Sum}},
		{"bias", shape, biased, []*noise.Noise{measured(t, shape, x)}, optype.Type{Class: optype.Lipschitz, Factor: 1, Fitted: true}},
		{"BatchNorm", shape, mapped, []*noise.Noise{measured(t, shape, x)}, optype.Type{Class: optype.BatchNormalise, Fitted: true}},
		{"Rsqrt", shape, roots, []*noise.Noise{measured(t, shape, positive)}, optype.Type{Class: optype.Divide}},
		{"Transpose", tensor.Shape{40, 9}, turned, []*noise.Noise{measured(t, shape, x)}, optype.Type{Class: optype.Move}},
		{"Concat", tensor.Shape{11, 40}, slices.Concat(x, z), []*noise.Noise{measured(t, shape, x), measured(t, tensor.Shape{2, 40}, z)}, optype.Type{Class: optype.Move}},
	} {
		if got, ok := Relate(measured(t, tt.shape, tt.made), tt.in...); !ok || got != tt.want {
			t.Errorf("%s: %+v, %v, want %+v", tt.name, got, ok, tt.want)
		}
	}
	if got, ok := Relate(measured(t, narrow, eachOf(math.Abs)(means, nil, 0)), measured(t, shape, x)); ok {
		t.Errorf("the magnitudes of means are %+v", got)
	}
	constant := make([]float64, 360)
	if got, ok := Relate(measured(t, shape, constant), measured(t, shape, x)); ok {
		t.Errorf("zeros are %+v", got)
	}
	if got, ok := Relate(measured(t, shape, x), &noise.Noise{}); ok {
		t.Errorf("made of what nothing is known of: %+v", got)
	}
	if got, ok := Relate(measured(t, shape, x)); ok {
		t.Errorf("made of nothing: %+v", got)
	}
}

// TestMixes: a matrix product mixes the elements of its input; no elementwise function does, however steep.
func TestMixes(t *testing.T) {
	shape := tensor.Shape{16, 24}
	x, weights := drawn(7, 384), drawn(8, 24*24)
	product := make([]float64, 384)
	for i := range product {
		for k := range 24 {
			product[i] += x[i/24*24+k] * weights[k*24+i%24]
		}
	}
	op := func(made []float64, shape tensor.Shape) *Operator {
		return &Operator{Out: measured(t, shape, made), Inputs: []*noise.Noise{measured(t, tensor.Shape{16, 24}, x)}}
	}
	if !op(product, shape).mixesElements() || !op(product[:16*9], tensor.Shape{16, 9}).mixesElements() {
		t.Error("a product of matrices mixes nothing")
	}
	for name, f := range map[string]func(float64) float64{
		"pole": func(x float64) float64 { return 1 / (x - 0.1) }, "wave": func(x float64) float64 { return math.Sin(6 * x) },
		"steps": math.Round, "square": func(x float64) float64 { return x * x },
	} {
		if op(eachOf(f)(x, nil, 0), shape).mixesElements() {
			t.Errorf("%s mixes elements", name)
		}
	}
	two := op(product, shape)
	two.Inputs = append(two.Inputs, measured(t, shape, drawn(9, 384)))
	if two.mixesElements() || (&Operator{Out: two.Out}).mixesElements() {
		t.Error("what may be a function of two tensors, or of an unknown one, mixes elements")
	}
}

// someOfTwo reports whether the first elements x and z allow that an operator produces y.
func someOfTwo(x, z, y float32) bool {
	of := func(x float32) *noise.Noise { return &noise.Noise{Probe: noise.Probe{Values: noise.Column{x}}} }
	out, _ := NewOutput(of(y))
	half := out.CombinedWith(of(x))
	return half.mayProduce(float64(z))
}

// TestSomeOfTwo: operators may produce the results of two elements, also results that are slightly off.
func TestSomeOfTwo(t *testing.T) {
	random := rand.New(rand.NewPCG(35, 2))
	element := func() float32 {
		switch random.IntN(12) {
		case 0:
			return 0
		case 1:
			return float32(math.Inf(1 - 2*random.IntN(2)))
		case 2:
			return float32(math.NaN())
		}
		return float32(math.Ldexp(random.NormFloat64(), random.IntN(200)-100))
	}
	rejected := 0
	for range 20000 {
		x, z := element(), element()
		for _, o := range binaryRelations {
			y := float32(o.function(float64(x), float64(z)))
			for range random.IntN(4) {
				y = math.Nextafter32(y, float32(math.Inf(1)))
			}
			a, b := broadcastView{values: []float32{x}}, broadcastView{values: []float32{z}}
			if o.holds([]float32{y}, &a, &b) && !someOfTwo(x, z, y) {
				t.Fatalf("%v of %v and %v is not made", y, x, z)
			}
		}
		if !someOfTwo(float32(random.NormFloat64()), float32(random.NormFloat64()), float32(random.NormFloat64())) {
			rejected++
		}
	}
	if rejected < 19900 {
		t.Errorf("only %d of 20000 elements are told from what is made", rejected)
	}
}

// TestRelateCutProbe relates probes of any length, as documents may have shortened ones.
func TestRelateCutProbe(t *testing.T) {
	t.Parallel()
	shape := tensor.Shape{2, 2, 3, 3}
	x := drawn(5, shape.Elements())
	y := slices.Clone(x)
	for i := range y {
		y[i] += float64(1 + i/9%2)
	}
	in, out := measured(t, shape, x), measured(t, shape, y)
	all := len(out.Probe.Values)
	for n := all; n >= 2*leastLine; n-- {
		in.Probe.Values, out.Probe.Values = in.Probe.Values[:n], out.Probe.Values[:n]
		if typ, ok := Relate(out, in); !ok || typ.Class != optype.Lipschitz || !typ.Fitted {
			t.Errorf("%d of %d elements: %v, %v", n, all, typ, ok)
		}
	}
}
