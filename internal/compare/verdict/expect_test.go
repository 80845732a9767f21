package verdict

import (
	"math"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/optype"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// The tensors of the formulas: two inputs and an output of two rows and four channels, all with different numbers.
func formulaTensors() (a, b, y *noise.Noise) {
	half, _ := noise.TypeOf(tensor.Float16)
	shape := tensor.Shape{2, 4}
	a = &noise.Noise{
		Type: half, Shape: shape, Elements: 8, Count: 8, RefRMS: 2, RefStd: 1.5, RefMax: 8, RMS: 0.01, Mean: -0.002, Max: 0.05, Rounding: 0.0005,
		View: 0.02, MaxRelative: 0.03, MaxAbsolute: 0.04, Bits: 10,
		Rows: noise.Groups{Count: 2, Size: 4, Fold: 1, RefRMS: []float32{1, 3}, RefStd: []float32{0.5, 2}, RefMax: []float32{4, 8}, RMS: []float32{0.0078125, 0.015625},
			Max: []float32{0.03125, 0.046875}, Rounding: []float32{0.00048828125, 0.0009765625}, Relative: []float32{0.25, 0.5}, Inverse: []float32{7, 9}},
		Channels: noise.Groups{Count: 4, Size: 2, Fold: 1, RefRMS: []float32{1, 2, 3, 4}, RefStd: []float32{0.5, 1, 0.25, 2}, RefMax: []float32{2, 4, 6, 8},
			RMS: []float32{0.0078125, 0.015625, 0.03125, 0.0625}, Relative: []float32{1, 1, 1, 1}, Inverse: []float32{3, 3, 3, 3}},
	}
	b = &noise.Noise{
		Type: half, Shape: shape, Elements: 8, Count: 8, RefRMS: 5, RefStd: 4, RefMax: 12, RMS: 0.03, Mean: 0.004, Max: 0.09, Rounding: 0.002,
		View: 0.07, MaxRelative: 0.05, MaxAbsolute: 0.02, Bits: 10,
		Rows: noise.Groups{Count: 2, Size: 4, Fold: 1, RefRMS: []float32{4, 6}, RefStd: []float32{3, 5}, RefMax: []float32{10, 12}, RMS: []float32{0.03125, 0.0234375},
			Max: []float32{0.0625, 0.09375}, Rounding: []float32{0.001953125, 0.00390625}, Relative: []float32{1, 1}, Inverse: []float32{1, 1}},
		Channels: noise.Groups{Count: 4, Size: 2, Fold: 1, RefRMS: []float32{5, 5, 6, 4}, RefStd: []float32{1, 2, 4, 8}, RefMax: []float32{12, 11, 10, 9},
			RMS: []float32{0.015625, 0.03125, 0.015625, 0.0078125}, Relative: []float32{1, 1, 1, 1}, Inverse: []float32{1, 1, 1, 1}},
	}
	y = &noise.Noise{
		Type: half, Shape: shape, Elements: 8, Count: 8, RefRMS: 3, RefStd: 2.5, RefMax: 7, RMS: 0.02, Max: 0.06, Rounding: 0.001, Bits: 10,
		Rows: noise.Groups{Count: 2, Size: 4, Fold: 1, RefRMS: []float32{2, 4}, RefStd: []float32{1, 3}, RefMax: []float32{5, 7}, RMS: []float32{0.01, 0.03},
			Max: []float32{0.04, 0.06}, Rounding: []float32{0.001953125, 0.0009765625}},
		Channels: noise.Groups{Count: 4, Size: 2, Fold: 1, RefRMS: []float32{1, 3, 4, 5}, RefStd: []float32{1, 2, 3, 4}, RefMax: []float32{2, 5, 6, 7},
			RMS: []float32{0.01, 0.02, 0.03, 0.02}, Rounding: []float32{0.001953125, 0.0009765625, 0.001953125, 0.00390625}},
	}
	return a, b, y
}

// near reports whether two numbers are equal apart from rounding.
func near(got, want float64) bool { return math.Abs(got-want) <= 1e-12*math.Abs(want) }

// TestBounds compares the bounds of the classes with their formulas.
func TestBounds(t *testing.T) {
	const eps = 0x1p-10
	first, second, out := formulaTensors()
	sqrt, hypot, log1 := math.Sqrt, math.Hypot, math.Expm1
	narrow := func(n noise.Noise) *noise.Noise { // one element for each row
		n.Shape, n.Elements = tensor.Shape{2, 1}, 2
		return &n
	}
	long := *first
	long.Shape, long.Elements, long.Rows.Size = tensor.Shape{2, 64}, 128, 64
	integers := func(n noise.Noise, d tensor.DType) *noise.Noise {
		n.Type, _ = noise.TypeOf(d)
		n.Rounding = 0
		return &n
	}
	soft := *out
	soft.Softmax = true
	folded := *first
	folded.Rows.Fold = 2
	a, b := []*noise.Noise{first}, []*noise.Noise{first, second}
	// gains of the rows of the first input for LayerNorm and RmsNorm.
	layer, root := []float64{2 / 0.5, 4.0 / 2}, []float64{2, 4.0 / 3}
	norm := func(x, y float64) float64 { return sqrt((x*x + y*y) / 2) }
	four := func(x ...float64) float64 {
		sum := 0.0
		for _, v := range x {
			sum += v * v
		}
		return sqrt(sum / 4)
	}
	for _, tt := range []struct {
		name   string
		op     string
		inputs []*noise.Noise
		out    *noise.Noise
		p, o   float64
	}{
		{"move", "Reshape", a, out, 0.01, 0.001},
		{"move of a part", "Slice", []*noise.Noise{&long}, out, 4 * 0.01, 0.001}, // all of the error in 8 of 128 elements
		{"move of a small part", "Slice", a, narrow(*out), 0.01 * 2, 0.001},      // 2 of 8 elements
		{"move of two", "ConcatV2", b, out, 0.03, 0.001},                         // as many elements as an input has
		{"relu", "Relu", a, out, 0.01, 0.001},
		{"add", "Add", b, out, 0.01 + 0.03, hypot(0.003, 0.002)},
		{"relu of a part", "Relu", a, narrow(*out), 0.01 * 2, 0.001}, // all of the error in 2 of 8 elements
		{"add of parts", "Add", b, narrow(*out), 0.02 + 0.06, hypot(0.003, 0.002)},
		{"tanh", "Tanh", a, out, 0.01, hypot(0.003, 0.0005) + 0.3*eps*7},
		{"gelu", "Gelu", a, out, 0.0113, hypot(0.003, 0.0005) + 0.3*eps*7},
		{"swish", "Swish", a, out, 0.011, hypot(0.003, 0.0005) + 0.3*eps*7},
		{"logarithm of softmax", "LogSoftmax", a, out, 0.02, hypot(0.003, 0.0005) + 0.3*eps*7},
		{"dequant", "AscendDequant", []*noise.Noise{integers(*first, tensor.Int32)}, out, 3.0 / 2 * 0.01, 0.001},
		{"times a constant", "Mul", a, out, 3.0 / 2 * 0.01, 0.002},
		{"mul", "Mul", b, out, hypot(2*0.03, 5*0.01) + 3*hypot(0.005, 0.006), 0.002},
		{"square", "Square", a, out, 3 * 3 * 0.005, 0.002},
		{"power", "Pow", b, out, 3 * 3 * 0.005, 0.002},
		{"div", "RealDiv", b, out, 3 * (0.03 + 0.05), 0.002},
		{"log", "Log", a, out, 0.03, 0.002},
		{"exp", "Exp", a, out, 3 * log1(2*0.04), 0.002 + 3*eps},
		{"softmax", "SoftmaxV2", b, out, 3 * log1(2*0.04), 0.002 + 3*eps},
		{"layer norm", "LayerNorm", a, out, norm(0.0078125*layer[0], 0.015625*layer[1]), 0.002 + 0.5*norm(1*layer[0]*eps, 3*layer[1]*eps)},
		{"rms norm", "RmsNorm", a, out, norm(0.0078125*root[0], 0.015625*root[1]), 0.002 + 0.5*norm(1*root[0]*eps, 3*root[1]*eps)},
		// The worst rows of the bins count, each with at most 4 x the result.
		{"layer norm of bins", "LayerNorm", []*noise.Noise{&folded}, out, norm(0.25*2, 0.5*4), 0.002 + 0.5*norm(7*2*eps, 9*4*eps)},
		{"norm of channels", "BatchNorm", a, out, four(0.0078125/0.5, 0.015625*2, 0.03125/0.25*3, 0.0625/2*4), 0.002 + 0.5*eps*four(1/0.5, 2.0*2, 3/0.25*3, 4.0/2*4)},
		{"linear", "MatMul", a, out, 3 * 0.02, 0.001*(1+sqrt(4.0/16)) + 0.5*3*eps},
		{"linear of two", "BatchMatMul", b, out, 3 * 0.09, 0.001*(1+sqrt(4.0/16)) + 0.5*3*eps},
		{"convolution", "Conv2D", a, out, 3 * 0.02, 0.001*(1+sqrt(4.0*9/16)) + 0.5*3*eps},
		{"long sums", "MatMul", []*noise.Noise{&long}, out, 3 * 0.02, 0.001*(1+sqrt(64.0/16)) + 0.5*3*eps},
		{"linear of integers", "MatMul", []*noise.Noise{integers(*first, tensor.Int8)}, integers(*out, tensor.Int32), 3 * 0.02, 0.5 * 3 * eps},
		{"mean", "ReduceMean", []*noise.Noise{&long}, out, 3*0.005 + 0.002 + 0.01/4, 0.002 + 3*eps*1},
		{"sum", "ReduceSum", []*noise.Noise{&long}, out, 3*0.005 + 16*(0.002+0.01/4), 0.002 + 3*eps*1},
		{"sums so far", "Cumsum", a, out, 2*0.01 + 4*0.002, 0.002 + 0.001*2},
		{"quantise", "AscendQuant", a, integers(*out, tensor.Int8), sqrt(0.015) + 0.015, 0.1},
		{"integers come out", "Relu", a, integers(*out, tensor.Int8), sqrt(0.015) + 0.015, 0.1},
		{"integers stay", "Relu", []*noise.Noise{integers(*first, tensor.Int8)}, integers(*out, tensor.Int8), 0.01, 0},
		{"no integers stay", "Cast", a, integers(*out, tensor.Int64), sqrt(0.015) + 0.015, 0.1},
		{"unknown", "Foo", a, out, 2 * four(0.0078125/0.5, 0.015625*2, 0.03125/0.25*3, 0.0625/2*4), 0.001*(1+sqrt(4.0/16)) + 3*eps},
		{"unknown of other channels", "Foo", []*noise.Noise{other(first), other(second)}, out, 1.5 * 3 * (0.02 + 0.07), 0.001*(1+sqrt(64.0/16)) + 3*eps},
		{"unknown softmax", "Foo", []*noise.Noise{other(first)}, &soft, 3 * log1(2*0.04), 0.001*(1+sqrt(64.0/16)) + 3*eps},
		{"unknown of integers", "Foo", []*noise.Noise{other(integers(*second, tensor.Int32))}, small(out), 1.5 * 0.01 * 0.07, 0.001*(1+sqrt(64.0/16)) + 0.01*eps},
		{"unknown, small", "Foo", []*noise.Noise{other(first), other(second)}, small(out), 1.5 * 0.01 * 0.09, 0.001*(1+sqrt(64.0/16)) + 0.01*eps},
		{"first", "MatMul", nil, out, 1.5 * 3 * eps, 0.001},
		{"first of integers", "AscendQuant", nil, integers(*out, tensor.Int8), 0, 0.1},
	} {
		o := Operator{Out: tt.out, Inputs: tt.inputs, Type: recompute.TypeOf(tt.op), Parts: strings.Contains(tt.name, " part")}
		if e := o.expectedError(); !near(e.Propagated, tt.p) || !near(e.Own, tt.o) || !near(e.Sum, max(hypot(tt.p, tt.o), tiny)) {
			t.Errorf("%s: %v of the inputs, %v of its own, want %v, %v", tt.name, e.Propagated, e.Own, tt.p, tt.o)
		}
	}
	// Guessed inputs: one of the preceding tensors may be the input.
	guessed := Operator{Out: out, Inputs: []*noise.Noise{other(first), other(second)}, Guessed: true}
	if e := guessed.expectedError(); !near(e.Propagated, 2*3*0.07) {
		t.Errorf("guessed inputs: %v, want %v", e.Propagated, 2*3*0.07)
	}
}

// other gives a tensor another number of channels and rows.
func other(n *noise.Noise) *noise.Noise {
	c := *n
	c.Shape, c.Elements = tensor.Shape{1, 64}, 64
	c.Channels.Count = 64
	return &c
}

// shared makes a tensor a single row that each row of the output reads.
func shared(n *noise.Noise) *noise.Noise {
	c := *n
	c.Shape, c.Elements = tensor.Shape{1, 4}, 4
	return &c
}

// small makes the reference small.
func small(n *noise.Noise) *noise.Noise {
	c := *n
	c.RefRMS = 0.01
	return &c
}

// TestGroupBounds compares the bounds of rows, channels and elements with their formulas.
func TestGroupBounds(t *testing.T) {
	const eps = 0x1p-10
	first, second, out := formulaTensors()
	hypot := func(x ...float64) float64 {
		sum := 0.0
		for _, v := range x {
			sum += v * v
		}
		return math.Sqrt(sum)
	}
	a, b := []*noise.Noise{first}, []*noise.Noise{first, second}
	wide := *second // 16 times as many elements in each row
	wide.Shape, wide.Elements = tensor.Shape{2, 64}, 128
	f := []float64{0.001953125, 0.0009765625} // rounding errors of the rows of the output
	const small = 0x1p-24                     // distance between the smallest numbers
	own := math.Hypot(0.003, 0.002) / 0.001
	for _, tt := range []struct {
		name     string
		op       string
		inputs   []*noise.Noise
		rows     []float64
		channels []float64
		peaks    []float64
	}{
		{"add", "Add", b, []float64{hypot(0.0390625, own*f[0]), hypot(0.0390625, own*f[1])},
			[]float64{hypot(0.0234375, own*f[0]), hypot(0.046875, own*f[1]), hypot(0.046875, own*f[0]), hypot(0.0703125, own*0.00390625)},
			[]float64{0.09375 + 2*eps*5 + small, 0.140625 + 2*eps*7 + small}},
		{"add of rows of a part", "Add", []*noise.Noise{first, &wide}, []float64{hypot(0.0078125+4*0.03125, own*f[0]), hypot(0.015625+4*0.0234375, own*f[1])},
			nil, []float64{0.09375 + 2*eps*5 + small, 0.140625 + 2*eps*7 + small}},
		{"add of other rows", "Add", []*noise.Noise{first, shared(second)}, []float64{hypot(0.0078125+0.03125, own*f[0]), hypot(0.015625+0.03125, own*f[1])},
			[]float64{hypot(0.0390625, own*f[0]), hypot(0.046875, own*f[1]), hypot(0.0625, own*f[0]), hypot(0.09375, own*0.00390625)},
			[]float64{0.03125 + 0.09 + 2*eps*5 + small, 0.046875 + 0.09 + 2*eps*7 + small}},
		{"tanh", "Tanh", a, nil, nil, []float64{0.03125 + 2*eps*5 + 2*eps*7 + small, 0.046875 + 2*eps*7 + 2*eps*7 + small}},
		{"mul", "Mul", b,
			[]float64{hypot(4*0.03125+10*0.0078125, 2*f[0]), hypot(8*0.0234375+12*0.015625, 2*f[1])},
			nil,
			[]float64{4*0.0625 + 10*0.03125 + 0.0625*0.03125 + 2*eps*5 + small, 8*0.09375 + 12*0.046875 + 0.09375*0.046875 + 2*eps*7 + small}},
		{"layer norm", "LayerNorm", a, []float64{hypot(0.0078125*4, 2*f[0], 0.5*eps*4), hypot(0.015625*2, 2*f[1], 0.5*eps*3*2)}, nil, nil},
		{"linear", "MatMul", a, []float64{hypot(2*0.015625, 0.0015+1.5*eps), hypot(4*0.01, 0.0015+1.5*eps)}, nil, nil},
		{"linear of a rough row", "MatMul", []*noise.Noise{constantRows(first)}, []float64{hypot(2*0.01, 0.0015+1.5*eps), hypot(4*0.01, 0.0015+1.5*eps)}, nil, nil},
		{"first", "Relu", nil, []float64{hypot(1.5*eps*2, 3*f[0]), hypot(1.5*eps*4, 3*f[1])}, nil, nil},
		{"first product", "MatMul", nil, []float64{2.0 / 3 * hypot(4.5*eps, 0.001), 4.0 / 3 * hypot(4.5*eps, 0.001)},
			[]float64{0.5 * hypot(4.5*eps, 0.001), hypot(4.5*eps, 0.001), 4.0 / 3 * hypot(4.5*eps, 0.001), 5.0 / 3 * hypot(4.5*eps, 0.001)}, nil},
	} {
		o := Operator{Out: out, Inputs: tt.inputs, Type: recompute.TypeOf(tt.op), Parts: strings.Contains(tt.name, " part")}
		e := o.expectedError()
		for what, x := range map[string][2][]float64{"row": {e.rows, tt.rows}, "channel": {e.channels, tt.channels}, "peak": {e.peaks, tt.peaks}} {
			for g, want := range x[1] {
				if len(x[0]) != len(x[1]) || !near(x[0][g], want) {
					t.Errorf("%s: %s %d of %v, want %v", tt.name, what, g, x[0], want)
				}
			}
		}
	}
	// Groups of these operators have no bounds.
	for name, o := range map[string]Operator{
		"product of two tensors": {Out: out, Inputs: b, Type: recompute.TypeOf("BatchMatMul")},
		"product of other rows":  {Out: out, Inputs: []*noise.Noise{other(first)}, Type: recompute.TypeOf("MatMul")},
		"mul of another shape":   {Out: out, Inputs: []*noise.Noise{first, other(second)}, Type: recompute.TypeOf("Mul")},
		"power of two tensors":   {Out: out, Inputs: b, Type: recompute.TypeOf("Pow")},
	} {
		if e := o.expectedError(); e.rows != nil || e.channels != nil || e.peaks != nil {
			t.Errorf("%s: rows %v, channels %v, elements %v; want no bounds", name, e.rows, e.channels, e.peaks)
		}
	}
}

// constantRows makes the spread of rows less than a thousandth of their size, so that the size counts.
func constantRows(n *noise.Noise) *noise.Noise {
	c := *n
	c.Rows.RefStd = []float32{0.0009, 0.002}
	return &c
}

// TestRounded: the expected error from inputs with rounding errors only does not depend on how damaged the inputs
// are.
func TestRounded(t *testing.T) {
	a, b, y := formulaTensors()
	o := Operator{Out: y, Inputs: []*noise.Noise{a, b}, Type: recompute.TypeOf("Add")}
	var memory Rounder
	if got, want := o.roundingOnlyError(&memory), math.Hypot(0.0005+0.002, math.Hypot(0.003, 0.002)); !near(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	before := *a
	o.roundingOnlyError(&memory)
	if a.RMS != before.RMS || a.Rows.RMS[0] != before.Rows.RMS[0] {
		t.Error("the input was changed")
	}
}

// TestSelector: the selector of a gated operator is found although most gradients are 0, as behind a pooling.
func TestSelector(t *testing.T) {
	t.Parallel()
	for _, gradients := range []int{0, 1} {
		tensors := [3]*noise.Noise{} // gradient, selector, output
		for k := range tensors {
			tensors[k] = &noise.Noise{Shape: tensor.Shape{16, 16}, Elements: 256, Count: 256}
		}
		for i := range 256 {
			dy, x := float32(0), float32(i%7)-3
			if i%16 == 0 { // most elements are 0, and most others positive
				dy = float32(i%5) - .5
			}
			y := dy
			if x <= 0 {
				y = 0
			}
			for k, v := range []float32{dy, x, y} {
				tensors[k].Probe.Values = append(tensors[k].Probe.Values, v)
			}
		}
		o := &Operator{Type: optype.Type{Class: optype.Gated}, Inputs: tensors[:2], Out: tensors[2], Gradients: gradients}
		if o.selector() != tensors[1] {
			t.Errorf("%d gradients: the selector is another tensor", gradients)
		}
	}
}
