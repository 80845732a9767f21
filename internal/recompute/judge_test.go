package recompute

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/tensor"
)

// randomTensor returns a tensor of normally distributed numbers.
func randomTensor(r *rand.Rand, scale float64, s ...int64) *Tensor {
	v := make([]float64, tensor.Shape(s).Elements())
	for i := range v {
		v[i] = float64(float32(r.NormFloat64() * scale))
	}
	return &Tensor{DType: tensor.Float32, Stored: tensor.Float32, Shape: s, Source: numbers{v, tensor.Float32}}
}

// computedBy returns the output of an operator with some attributes, rounded to float32.
func computedBy(t *testing.T, formula, attrs string, shape tensor.Shape, in ...*Tensor) *Tensor {
	t.Helper()
	out := &Tensor{DType: tensor.Float32, Stored: tensor.Float32, Shape: shape, Source: numbers{make([]float64, shape.Elements()), tensor.Float32}}
	all, err := ComputeExpected(context.Background(), &Operator{Formula: formula, Inputs: in, Outputs: []*Tensor{out}}, attributesOf(attrs))
	if err != nil || all == nil || all.Values[0] == nil {
		t.Fatalf("%s %s: not computed, %v", formula, attrs, err)
	}
	v := all.Values[0]
	for i := range v {
		v[i] = float64(float32(v[i]))
	}
	out.Source = numbers{v, tensor.Float32}
	return out
}

// TestUnusualAttributes: a healthy operator with unknown attributes is not WRONG, however unusual their values are.
func TestUnusualAttributes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	image := tensor.Shape{2, 24, 9, 8}
	x, small := randomTensor(r, 1, 8, 40), randomTensor(r, 1e-3, 8, 40)
	for _, c := range []struct {
		formula, attrs string
		shape          tensor.Shape
		in             []*Tensor
	}{
		{"Elu", "alpha=0.5 scale=1 input_scale=1", x.Shape, []*Tensor{x}},
		{"Swish", "scale=1.5", x.Shape, []*Tensor{x}},
		{"HardSigmoid", "alpha=0.25 beta=0.5", x.Shape, []*Tensor{x}},
		{"Exp", "base=3 scale=1 shift=0", x.Shape, []*Tensor{x}},
		{"GroupNorm", "num_groups=6 epsilon=1e-5", image, []*Tensor{randomTensor(r, 1, image...), randomTensor(r, 1, 24), randomTensor(r, 1, 24)}},
		{"GroupNorm", "num_groups=12 epsilon=1e-5", image, []*Tensor{randomTensor(r, 1, image...), randomTensor(r, 1, 24), randomTensor(r, 1, 24)}},
		{"RmsNorm", "axes=1 epsilon=5e-5", small.Shape, []*Tensor{small, randomTensor(r, 1, 40)}},
		{"L2Normalize", "axes=1 epsilon=1e-4", small.Shape, []*Tensor{small}},
		{"LayerNorm", "axes=1,2 epsilon=1e-5", tensor.Shape{4, 6, 16}, []*Tensor{randomTensor(r, 1, 4, 6, 16), randomTensor(r, 1, 16), randomTensor(r, 1, 16)}},
		{"Conv2D", "strides=1,1 pads=4,4 dilations=4,4 activation=none", tensor.Shape{1, 4, 12, 12}, []*Tensor{randomTensor(r, 1, 1, 3, 12, 12), randomTensor(r, 1, 4, 3, 3, 3)}},
		{"Conv2D", "strides=1,1 pads=6,6 dilations=6,6 activation=none", tensor.Shape{1, 4, 14, 14}, []*Tensor{randomTensor(r, 1, 1, 3, 14, 14), randomTensor(r, 1, 4, 3, 3, 3)}},
		{"Conv2D", "strides=5,5 pads=0,0 dilations=1,1 activation=none", tensor.Shape{1, 4, 2, 2}, []*Tensor{randomTensor(r, 1, 1, 3, 10, 10), randomTensor(r, 1, 4, 3, 5, 5)}},
		{"LeakyRelu", "negative_slope=0.07", x.Shape, []*Tensor{x}},
		{"Muls", "value=0.08839", x.Shape, []*Tensor{x}},
		{"Adds", "value=-17", x.Shape, []*Tensor{x}},
	} {
		out := computedBy(t, c.formula, c.attrs, c.shape, c.in...)
		v, err := Judge(context.Background(), &Operator{Formula: c.formula, Inputs: c.in, Outputs: []*Tensor{out}, Attributes: Attributes{}})
		if err != nil || v.Status == Wrong {
			t.Errorf("%s %s is %s %s with %v, %v", c.formula, c.attrs, v.Status, v.Reason, v.Attributes, err)
		}
	}
}

// TestTwoNumbers: of two unknown numbers, one usual value and a fitted other number may explain most elements of a
// coarse type; this makes no operator WRONG.
func TestTwoNumbers(t *testing.T) {
	t.Parallel()
	x := randomTensor(rand.New(rand.NewPCG(3, 3)), 3, 8, 128)
	v := make([]float64, x.elements())
	for i, x := range x.Source.(numbers).v {
		y := min(max(float64(float64(0.1655*x)+0.359), 0), 1)
		v[i] = float64(math.Float32frombits((math.Float32bits(float32(y)) + 0x8000) &^ 0xffff))
	}
	out := &Tensor{DType: tensor.BFloat16, Stored: tensor.Float32, Shape: x.Shape, Source: numbers{v, tensor.Float32}}
	got, err := Judge(context.Background(), &Operator{Formula: "HardSigmoid", Inputs: []*Tensor{x}, Outputs: []*Tensor{out}, Attributes: Attributes{}})
	if err != nil || got.Status == Wrong {
		t.Errorf("%s %s with %v, %v", got.Status, got.Reason, got.Attributes, err)
	}
}

// TestPassedAttributes: a kernel gets numbers as float32, which shows where a sum cancels.
func TestPassedAttributes(t *testing.T) {
	t.Parallel()
	var x, y []float64
	for i := range 64 {
		x = append(x, float64(float32(-0.1+float64(i-32)*0x1p-20)))
		y = append(y, float64(float32(x[i])+float32(0.1)))
	}
	for name, want := range map[string]Status{"Adds": OK, "Muls": Wrong} {
		op := &Operator{Formula: name, Inputs: []*Tensor{vectorOf(x)}, Outputs: []*Tensor{vectorOf(y)}, Attributes: Attributes{"value": {Number(0.1), FromGraph}}}
		got, err := Judge(context.Background(), op)
		if err != nil || got.Status != want || got.Attributes["value"].Value.String() != "0.1" {
			t.Errorf("%s is %s with %v, %v, want %s", name, got.Status, got.Attributes, err, want)
		}
	}
}

// TestPartlySaid: if a graph gives some attributes of a group, their values are kept with their source; if they do
// not fit the shapes, no other values are tried.
func TestPartlySaid(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 4))
	in := []*Tensor{randomTensor(r, 1, 1, 3, 12, 12), randomTensor(r, 1, 4, 3, 3, 3)}
	out := computedBy(t, "Conv2D", "strides=2,2 pads=1,1 dilations=1,1 activation=none", tensor.Shape{1, 4, 6, 6}, in...)
	for said, want := range map[string]struct {
		status Status
		source Source // of pads
	}{
		"strides=2,2":                          {OK, FromShape},
		"strides=2,2 dilations=1,1":            {OK, FromShape},
		"pads=1,1":                             {OK, FromHand},
		"strides=2,2 pads=1,1 dilations=1,1":   {OK, FromHand},
		"strides=7,7":                          {Undecided, ""},
		"strides=2,2 pads=40,40 dilations=9,9": {Undecided, ""},
	} {
		got, err := Judge(context.Background(), &Operator{Formula: "Conv2D", Inputs: in, Outputs: []*Tensor{out}, Attributes: attributesOf(said)})
		if err != nil || got.Status != want.status || want.source != "" && got.Attributes["pads"].Source != want.source {
			t.Errorf("%s: %s %s with %v, %v, want %s and pads by %s", said, got.Status, got.Reason, got.Attributes, err, want.status, want.source)
		}
	}
}

// vectorOf returns a tensor of one axis with float32 numbers.
func vectorOf(v []float64) *Tensor {
	return float32Tensor(v, int64(len(v)))
}

// TestProjection: a healthy large product is OK by projection, and one wrong element, row or column is found, also if the
// output has the columns in another order than the right factor.
func TestProjection(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 2))
	const m, k, n = 300, 280, 300 // too large to be computed in full
	a, b := randomTensor(r, 1, m, k), randomTensor(r, 1/math.Sqrt(k), k, n)
	left, right := a.Source.(numbers).v, b.Source.(numbers).v
	y := make([]float64, m*n)
	for i := range m {
		for j := range n {
			s := float32(0)
			for l := range k {
				s += float32(left[i*k+l]) * float32(right[l*n+j])
			}
			y[i*n+j] = float64(s)
		}
	}
	for name, change := range map[string]func(v []float64){
		"healthy":     func([]float64) {},
		"one element": func(v []float64) { v[123*n+45]++ },
		"a row":       func(v []float64) { scale(v[200*n:201*n], 1.3) },
		"a tile": func(v []float64) {
			for i := 32; i < 48; i++ {
				scale(v[i*n+16:i*n+32], .7)
			}
		},
	} {
		v := append([]float64{}, y...)
		change(v)
		const c, e = 12, 25 // the columns of the right factor have two axes, which the output exchanges
		exchanged := make([]float64, m*n)
		for i, value := range v {
			row, column := i/n, i%n
			exchanged[row*n+column%e*c+column/e] = value
		}
		for _, op := range []Operator{
			{Formula: "MatMul", Inputs: []*Tensor{a, b}, Outputs: []*Tensor{float32Tensor(v, m, n)}, Attributes: attributesOf("transpose_x1=0 transpose_x2=0 activation=none")},
			{Formula: "Einsum", Inputs: []*Tensor{a, float32Tensor(right, k, c, e)}, Outputs: []*Tensor{float32Tensor(exchanged, m, e, c)}, Attributes: attributesOf("equation=md,dce->mec")},
		} {
			op.Seed, op.Fused = 1, new(bool)
			got, err := Judge(context.Background(), &op)
			if err != nil {
				t.Fatal(err)
			}
			want := Wrong
			if name == "healthy" {
				want = OK
			}
			if got.Status != want || got.Outputs[0].How != "projected" {
				t.Errorf("%s, %s: %s %s, %+v", name, op.Formula, got.Status, got.Reason, got.Outputs[0])
			}
		}
	}
}

func float32Tensor(v []float64, shape ...int64) *Tensor {
	return &Tensor{DType: tensor.Float32, Stored: tensor.Float32, Shape: shape, Source: numbers{v, tensor.Float32}}
}

func scale(v []float64, by float64) {
	for i := range v {
		v[i] *= by
	}
}

// TestPlaces compares the geometry of windows with counting, for images, windows, strides and paddings of all small
// sizes.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for n := int64(1); n <= 20; n++ {
		for k := int64(1); k <= 7; k++ {
			for s := int64(1); s <= 4; s++ {
				for pad := int64(0); pad <= 3 && pad < k; pad++ {
					out := int64(0) // windows that begin and end in the padded input
					for at := -pad; at+k <= n+pad; at += s {
						out++
					}
					if out == 0 {
						continue
					}
					found := false
					for _, g := range listGeometries(n, k, out, []int64{1}) {
						found = found || g.before == pad && (g.stride == s || out == 1)
					}
					if !found {
						t.Errorf("input %d, kernel %d, stride %d, padding %d: output %d has it not among its geometries", n, k, s, pad, out)
					}
				}
			}
		}
	}
}

// TestOpenModules: a module may round the product before its bias, or return the bias unadded. If less than half of
// the elements is explained it is a MISFIT, because a module may compute more than the formula.
func TestOpenModules(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	const rows, k, n = 24, 64, 32
	rounded := func(v float64) float64 { // to bfloat16, ties to even
		b := math.Float32bits(float32(v))
		return float64(math.Float32frombits((b + 0x7fff + b>>16&1) &^ 0xffff))
	}
	bf16 := func(scale float64, s ...int64) *Tensor {
		x := randomTensor(r, scale, s...)
		for i, v := range x.Source.(numbers).v {
			x.Source.(numbers).v[i] = rounded(v)
		}
		x.DType = tensor.BFloat16
		return x
	}
	x, w, bias := bf16(1, rows, k), bf16(.125, n, k), bf16(1, n)
	y := map[string][]float64{}
	for i := range rows {
		for j := range n {
			s := 0.0
			for l := range k {
				s += x.Source.(numbers).v[i*k+l] * w.Source.(numbers).v[j*k+l]
			}
			b := bias.Source.(numbers).v[j]
			y["rounded before the bias"] = append(y["rounded before the bias"], rounded(rounded(s)+b))
			y["in one"] = append(y["in one"], rounded(s+b))
			y["without the bias"] = append(y["without the bias"], rounded(s))
			y["twice"] = append(y["twice"], rounded(2*s+b))
			if i == 3 {
				s += 9
			}
			y["a wrong row"] = append(y["a wrong row"], rounded(s+b))
		}
	}
	for name, v := range y {
		out := &Tensor{DType: tensor.BFloat16, Stored: tensor.Float32, Shape: tensor.Shape{rows, n}, Source: numbers{v, tensor.Float32}}
		op := &Operator{Formula: "MatMul", Inputs: []*Tensor{x, w, bias}, Outputs: []*Tensor{out}, Attributes: attributesOf("transpose_x1=0 transpose_x2=1"), Fused: new(bool), Called: true, Open: true}
		got, err := Judge(context.Background(), op)
		if err != nil {
			t.Fatal(err)
		}
		want, ok := map[string]Status{"twice": Misfit, "a wrong row": Wrong}[name]
		if !ok {
			want = OK
		}
		if got.Status != want {
			t.Errorf("%s is %s %s, want %s", name, got.Status, got.Reason, want)
		}
	}
}

// TestOtherUsualValue: if the known value leaves elements beyond the narrow bound and another usual value explains
// all within it, the operator computed with the other value.
func TestOtherUsualValue(t *testing.T) {
	t.Parallel()
	x := randomTensor(rand.New(rand.NewPCG(8, 8)), 1, 64, 100)
	for _, c := range []struct {
		formula, computed, known string
		want                     Status
	}{
		{"Gelu", "approximate=tanh", "approximate=none", Wrong},
		{"Gelu", "approximate=none", "approximate=tanh", Wrong},
		{"Gelu", "approximate=tanh", "approximate=tanh", OK},
		{"LayerNorm", "axes=1 epsilon=1e-4", "axes=1 epsilon=1e-5", Wrong},
		{"LayerNorm", "axes=1 epsilon=1e-5", "axes=1 epsilon=1e-5", OK},
		{"LayerNorm", "axes=1 epsilon=0.002", "axes=1 epsilon=1e-5", Wrong}, // a number of few digits
		{"LayerNorm", "axes=1 epsilon=0.0023456", "axes=1 epsilon=1e-5", Low},
		{"LayerNorm", "axes=1 epsilon=0.002 noise=1e-4", "axes=1 epsilon=1e-5", Low},
	} {
		computed, noise, _ := strings.Cut(c.computed, " noise=")
		y := computedBy(t, c.formula, computed, x.Shape, x)
		if noise != "" { // a relative error with alternating sign, beyond the narrow bound
			for i := range y.Source.(numbers).v {
				y.Source.(numbers).v[i] *= 1 + 1e-4*float64(i%3-1)
			}
		}
		op := &Operator{Formula: c.formula, Inputs: []*Tensor{x}, Outputs: []*Tensor{y}, Attributes: attributesOf(c.known), Called: true}
		v, err := Judge(context.Background(), op)
		if err != nil || v.Status != c.want || v.Status == Wrong && v.Outputs[0].Bad == 0 && v.Why.IsZero() {
			t.Errorf("%s computed with %s, called with %s: %+v, %v", c.formula, c.computed, c.known, v, err)
		}
	}
}

// TestBoundsOfFewLines: L2Normalize divides by the root of the sum of squares, or of epsilon if that is larger. The
// sum of the first plane is .0009 + .0001 + .0004 + .0016 + .0001 + .0009 = .004, the sums of the others are 25, 169 and
// 1. With an epsilon of .005 only the first plane is divided by the root of epsilon. Epsilon and axes are unknown: the
// operator is healthy. No epsilon makes a plane larger. Nobody chooses an epsilon of .0046.
func TestBoundsOfFewLines(t *testing.T) {
	t.Parallel()
	root := math.Sqrt(.005)
	in := []*Tensor{tensorOf(t, "4x2x3", .03, .01, .02, .04, .01, .03, 3, 0, 0, 0, 4, 0, 5, 0, 0, 0, 0, 12, .6, .8, 0, 0, 0, 0)}
	y := []float64{.03 / root, .01 / root, .02 / root, .04 / root, .01 / root, .03 / root, .6, 0, 0, 0, .8, 0, 5.0 / 13, 0, 0, 0, 0, 12.0 / 13, .6, .8, 0, 0, 0, 0}
	healthy := []*Tensor{tensorOf(t, "4x2x3", slices.Clone(y)...)}
	odd := slices.Clone(y)
	for i := range 6 {
		odd[i] = in[0].Source.(numbers).v[i] / math.Sqrt(.0046)
	}
	y[18], y[19] = .9, 1.2
	wrong := []*Tensor{tensorOf(t, "4x2x3", y...)}
	for _, c := range []struct {
		attrs string
		out   []*Tensor
		want  Status
	}{{"", healthy, OK}, {"axes=1,2 epsilon=0.005", healthy, OK}, {"", wrong, Misfit}, {"axes=1,2 epsilon=0.005", wrong, Wrong},
		{"", []*Tensor{tensorOf(t, "4x2x3", odd...)}, Misfit}, {"axes=1,2 epsilon=0.0046", []*Tensor{tensorOf(t, "4x2x3", odd...)}, OK}} {
		if v := judged(t, handCase{"L2Normalize", c.attrs, in, c.out}); v.Status != c.want {
			t.Errorf("%q: %s %s with %v, want %s", c.attrs, v.Status, v.Reason, v.Attributes, c.want)
		}
	}
}

// TestBoundInOneCell: an epsilon that changes one of many lines is fitted in the cell with this line.
func TestBoundInOneCell(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	const lines, n = 4000, 40 // several cells
	x := randomTensor(r, 1, lines, n)
	v := x.Source.(numbers).v
	scale(v[2345*n:2346*n], 1e-2) // a sum of squares of about .004
	out := computedBy(t, "L2Normalize", "axes=1 epsilon=0.07", x.Shape, x)
	got, err := Judge(context.Background(), &Operator{Formula: "L2Normalize", Inputs: []*Tensor{x}, Outputs: []*Tensor{out}, Attributes: Attributes{}})
	if err != nil || got.Status != OK {
		t.Fatalf("%s %s with %v, %v", got.Status, got.Reason, got.Attributes, err)
	}
	if x, _ := got.Attributes["epsilon"].Value.Number(); math.Abs(x-.07) > 1e-6 {
		t.Errorf("epsilon %v, want .07", x)
	}
}

// TestTransforms: the error of Winograd transforms, 0.2 % of a convolution's sums, is low precision if transforms may
// have been used: with kernels of 3x3, or of any size if the operator says so. A wrong element is found there too.
func TestTransforms(t *testing.T) {
	t.Parallel()
	for size, attrs := range map[int64]string{1: "strides=1,1 pads=0,0 dilations=1,1", 3: "strides=1,1 pads=1,1 dilations=1,1"} {
		r := rand.New(rand.NewPCG(5, uint64(size)))
		in := []*Tensor{randomTensor(r, 1, 1, 16, 12, 12), randomTensor(r, 1, 8, 16, size, size)}
		out := computedBy(t, "Conv2D", attrs, tensor.Shape{1, 8, 12, 12}, in...)
		v := out.Source.(numbers).v
		for i := range v {
			v[i] = float64(float32(v[i] + r.NormFloat64()*2e-3*float64(4*size)))
		}
		judge := func(transforms bool) Status {
			got, err := Judge(context.Background(), &Operator{Formula: "Conv2D", Inputs: in, Outputs: []*Tensor{out}, Attributes: attributesOf(attrs), Transforms: transforms})
			if err != nil {
				t.Fatal(err)
			}
			return got.Status
		}
		if got := judge(true); got != Low {
			t.Errorf("%dx%d: %s, want %s", size, size, got, Low)
		}
		if got := judge(false); (got == Low) != (size == 3) {
			t.Errorf("%dx%d without transforms: %s", size, size, got)
		}
		v[100] += float64(2 * size)
		if got := judge(true); got != Wrong {
			t.Errorf("%dx%d, an element off: %s, want %s", size, size, got, Wrong)
		}
	}
}

// TestAboveFloat32: if products exceed float32, inf-inf and 0*inf give NaN; otherwise NaN is a fault.
func TestAboveFloat32(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, size := range []float64{1e30, 2} {
		want := Wrong
		if size > 1e20 { // its square exceeds float32
			want = OK
		}
		for _, c := range []struct {
			opType, attrs string
			in, out       []*Tensor
		}{
			{"MatMul", "transpose_x1=0 transpose_x2=0 activation=none", []*Tensor{tensorOf(t, "1x2", size, size), tensorOf(t, "2x1", size, -size)}, []*Tensor{tensorOf(t, "1x1", nan)}},
			{"Mul", "", []*Tensor{tensorOf(t, "2", size, 1), tensorOf(t, "2", size, 1)}, []*Tensor{tensorOf(t, "2", nan, 1)}},
			{"LayerNorm", "axes=1 epsilon=0.00001", []*Tensor{tensorOf(t, "1x2", size, -size), tensorOf(t, "2", 1, 1), tensorOf(t, "2", 0, 0)}, []*Tensor{tensorOf(t, "1x2", nan, nan)}},
		} {
			if v := judgeWith(t, c.opType, c.in, c.out, attributesOf(c.attrs)); v.Status != want {
				t.Errorf("%s of %g: %s %s %s, want %s", c.opType, size, v.Status, v.Reason, v.Why, want)
			}
		}
	}
}

// TestDropout: masked probabilities are 0 before dropout and say nothing about how often it dropped; a wrong factor
// and a share of dropped elements that the probability does not explain are WRONG.
func TestDropout(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 5)) //nolint:gosec // test data
	const n = 64
	x := make([]float64, n*n)
	for i := range x {
		if i%n <= i/n { // causal
			x[i] = 1 / float64(i/n+1)
		}
	}
	for _, c := range []struct {
		drop, factor float64
		want         Status
	}{{.1, 1 / .9, OK}, {.1, 1, Wrong}, {.3, 1 / .9, Wrong}} {
		y := make([]float64, n*n)
		for i, v := range x {
			if r.Float64() >= c.drop {
				y[i] = float64(v * c.factor)
			}
		}
		out := vectorOf(y)
		v := judgeWith(t, "Dropout", []*Tensor{vectorOf(x)}, []*Tensor{out}, attributesOf("p=0.1 training=1"))
		if v.Status != c.want {
			t.Errorf("dropped %v, times %v: %s %s, want %s", c.drop, c.factor, v.Status, v.Reason, c.want)
		}
	}
}

// TestCoarseOutputs: errors of a function table need all bits of float32. A result that was rounded towards zero to the
// 11 bits of HF32 is WRONG, unless its inputs have as few bits.
func TestCoarseOutputs(t *testing.T) {
	t.Parallel()
	truncate := func(x float64) float64 {
		return float64(math.Float32frombits(math.Float32bits(float32(x)) &^ (1<<12 - 1)))
	}
	for _, c := range []struct {
		name          string
		input, result func(x float64) float64
		want          Status
	}{
		{"table", func(x float64) float64 { return x }, func(y float64) float64 { return y * (1 + 1e-4*math.Sin(1000*y)) }, Low},
		{"truncated", func(x float64) float64 { return x }, truncate, Wrong},
		{"truncated inputs", truncate, truncate, Low},
	} {
		var x, y []float64
		for i := range 40 {
			v := float64(float32(c.input(math.Sqrt(float64(i) + .3))))
			x, y = append(x, v), append(y, float64(float32(c.result(math.Cos(v)))))
		}
		v := judged(t, handCase{"Cos", "", []*Tensor{tensorOf(t, "40", x...)}, []*Tensor{tensorOf(t, "40", y...)}})
		if v.Status != c.want || c.want == Wrong && v.Reason != ByPrecision {
			t.Errorf("%s: %s %s, want %s", c.name, v.Status, v.Reason, c.want)
		}
	}
}

// TestNumberOfOneElement: 1e-8 that is added to elements above 0.2 changes only an element of 7e-7. A flipped bit of
// another element is WRONG.
func TestNumberOfOneElement(t *testing.T) {
	t.Parallel()
	const n, small, other = 128, 14906, 700
	for _, flipped := range []bool{false, true} {
		var x, y []float64
		for i := range n * n {
			v := float64(float32(.2 + .8*float64(i%97)/97))
			if i == small {
				v = float64(float32(7e-7))
			}
			x, y = append(x, v), append(y, float64(float32(v+1e-8)))
		}
		want := OK
		if flipped {
			y[other], want = 1.5*y[other], Wrong
		}
		shape := "128x128"
		v := judged(t, handCase{"Adds", "", []*Tensor{tensorOf(t, shape, x...)}, []*Tensor{tensorOf(t, shape, y...)}})
		if value := v.Attributes["value"].Value.String(); v.Status != want || want == OK && value != "1e-08" {
			t.Errorf("flipped %t: %s %s with %s, want %s", flipped, v.Status, v.Reason, value, want)
		}
	}
}

// TestNumberAmongInfinities: a step of Adam divides by 0. The number of the step follows from the finite
// elements; without any it is unknown.
func TestNumberAmongInfinities(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		finite int
		want   Status
	}{{12, OK}, {0, Undecided}} {
		var x, x1, x2, y []float64
		for i := range 48 {
			step, divisor := float64(1+i%7)/8, 0.
			if i < c.finite {
				divisor = .25
			}
			x, x1, x2, y = append(x, 0), append(x1, step), append(x2, divisor), append(y, float64(-.5*step)/divisor)
		}
		v := judged(t, handCase{"Addcdiv", "", []*Tensor{tensorOf(t, "48", x...), tensorOf(t, "48", x1...), tensorOf(t, "48", x2...)}, []*Tensor{tensorOf(t, "48", y...)}})
		if value := v.Attributes["value"].Value.String(); v.Status != c.want || c.want == OK && value != "-0.5" {
			t.Errorf("%d finite elements: %s %s with %s, want %s", c.finite, v.Status, v.Reason, value, c.want)
		}
	}
}

// TestFactorOfNorm: a norm in float32 that is .28 % too small everywhere has another epsilon; an inverse root with the
// bits of float16 leaves .03 % in either direction.
func TestFactorOfNorm(t *testing.T) {
	t.Parallel()
	const channels, pixels = 4, 64
	for _, c := range []struct {
		factors [channels]float64
		want    Status
	}{{[channels]float64{1, 1, 1, 1}, OK}, {[channels]float64{.9997, 1.0003, .9998, 1.0002}, Low}, {[channels]float64{.9972, .9972, .9972, .9972}, Wrong}} {
		var x, y []float64
		for i := range channels * pixels {
			v := float64(float32(math.Sin(float64(7*i)) + .1))
			x, y = append(x, v), append(y, float64(float32(v/math.Sqrt(1+1e-5)*c.factors[i/pixels])))
		}
		ones, zeros := []float64{1, 1, 1, 1}, []float64{0, 0, 0, 0}
		in := []*Tensor{tensorOf(t, "1x4x8x8", x...), tensorOf(t, "4", ones...), tensorOf(t, "4", zeros...), tensorOf(t, "4", zeros...), tensorOf(t, "4", ones...)}
		v := judged(t, handCase{"BNInfer", "epsilon=1e-5 is_training=0 activation=none", in, []*Tensor{tensorOf(t, "1x4x8x8", y...)}})
		if v.Status != c.want || c.want == Wrong && v.Reason != ByScale {
			t.Errorf("factors %g: %s %s, want %s", c.factors, v.Status, v.Reason, c.want)
		}
	}
}

// TestCoarseNorm: a float16 norm whose result was stored in bfloat16 stays within the bounds, but needs 7 of 10 bits.
// Subnormal numbers have as few bits.
func TestCoarseNorm(t *testing.T) {
	t.Parallel()
	const n = 64
	round := func(x float64, bits int) float64 {
		f, e := math.Frexp(x)
		return math.Ldexp(math.RoundToEven(math.Ldexp(f, bits)), e-bits)
	}
	for _, c := range []struct {
		bits  int
		gamma float64
		want  Status
	}{{11, 1, OK}, {8, 1, Wrong}, {11, 0x1p-19, OK}} {
		var x, y []float64
		for i := range n {
			x = append(x, round(math.Sin(float64(5*i))+.3, 11))
		}
		var mean, variance float64
		for _, v := range x {
			mean += v / n
		}
		for _, v := range x {
			variance += (v - mean) * (v - mean) / n
		}
		for _, v := range x {
			y = append(y, round((v-mean)/math.Sqrt(variance+1e-5)*c.gamma, c.bits))
		}
		in, out := tensorOf(t, "1x64", x...), tensorOf(t, "1x64", y...)
		in.DType, out.DType = tensor.Float16, tensor.Float16
		if c.gamma < 1 {
			for i, v := range y {
				y[i] = math.RoundToEven(v*0x1p24) / 0x1p24 // subnormal numbers are multiples of 2^-24
			}
		}
		ones := tensorOf(t, "64", slices.Repeat([]float64{c.gamma}, n)...)
		zeros := tensorOf(t, "64", make([]float64, n)...)
		ones.DType, zeros.DType = tensor.Float16, tensor.Float16
		v := judged(t, handCase{"LayerNorm", "axes=1 epsilon=1e-5", []*Tensor{in, ones, zeros}, []*Tensor{out}})
		if v.Status != c.want || c.want == Wrong && v.Reason != ByPrecision {
			t.Errorf("%d bits, gamma %g: %s %s, want %s", c.bits, c.gamma, v.Status, v.Reason, c.want)
		}
	}
}

// TestBoundsBeyondType: a norm of equal large numbers divides their rounding errors by the root of epsilon, so that
// the bounds exceed the type and nothing is known about the output. PyTorch 1.13 gives 127/128 here.
func TestBoundsBeyondType(t *testing.T) {
	t.Parallel()
	half := func(number float64) *Tensor {
		return &Tensor{DType: tensor.Float16, Stored: tensor.Float32, Shape: tensor.Shape{32, 8}, Source: numbers{slices.Repeat([]float64{number}, 256), tensor.Float32}}
	}
	if v := judgeWith(t, "LayerNorm", []*Tensor{half(60000)}, []*Tensor{half(127.0 / 128)}, attributesOf("axes=1 epsilon=1e-5")); v.Status != Undecided || v.Reason != IllConditioned {
		t.Errorf("%s %s", v.Status, v.Reason)
	}
}
