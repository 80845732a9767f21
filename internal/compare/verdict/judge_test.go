package verdict

import (
	"math"
	"math/rand/v2"
	"testing"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/optype"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// even returns the noise of a pair whose groups are all alike: the reference has mean 0 and root mean square ref, the
// differences have root mean square rms.
func even(d tensor.DType, shape tensor.Shape, ref, rms float64) *noise.Noise {
	typ, _ := noise.TypeOf(d)
	rounding := ref * typ.Epsilon() / 4
	if typ.Integer {
		rounding = 0
	}
	n := &noise.Noise{
		Type: typ, Shape: shape, Elements: shape.Elements(), Count: shape.Elements(),
		RefRMS: ref, RefStd: ref, RefMax: 3 * ref, RMS: rms, Max: 3 * rms, RefAtMax: ref, Rounding: rounding,
		P90: 1.6 * rms, Residual: rms, MaxRelative: rms / ref, MaxAbsolute: rms, View: rms / ref, Bits: typ.Mantissa,
	}
	length := shape[len(shape)-1]
	n.Rows, n.Channels = alike(n, n.Elements/length), alike(n, length)
	if len(shape) >= 4 {
		n.Channels = alike(n, shape[1])
	}
	return n
}

func alike(n *noise.Noise, count int64) noise.Groups {
	column := func(x float64) []float32 {
		all := make([]float32, count)
		for i := range all {
			all[i] = float32(x)
		}
		return all
	}
	return noise.Groups{
		Count: count, Size: n.Elements / count, Fold: 1,
		RefRMS: column(n.RefRMS), RefStd: column(n.RefStd), RefMax: column(n.RefMax), RMS: column(n.RMS), Mean: column(0),
		Max: column(n.Max), Rounding: column(n.Rounding), Relative: column(n.RMS / n.RefStd), Inverse: column(n.RefRMS / n.RefStd),
	}
}

// operator returns an operator with a float16 output whose inputs are off by a thousandth.
func operator(name string, inputs int) *Operator {
	shape := tensor.Shape{8, 16}
	o := &Operator{Out: even(tensor.Float16, shape, 1, 0), Type: recompute.TypeOf(name)}
	for range inputs {
		o.Inputs = append(o.Inputs, even(tensor.Float16, shape, 1, 1e-3))
	}
	return o
}

// scores are errors divided by expected errors.
type scores struct{ all, row, channel, peak float64 }

// set gives the output of an operator the error of these scores; one row, one channel and one element are the worst.
func (s scores) set(o *Operator) {
	e, out := o.expectedError(), o.Out
	out.RMS = s.all * e.Sum
	out.Residual, out.P90, out.Max = out.RMS, out.RMS, 3*out.RMS
	for _, g := range []struct {
		groups   *noise.Groups
		expected []float64
		score    float64
	}{{&out.Rows, e.rows, s.row}, {&out.Channels, e.channels, s.channel}} {
		for i := range g.groups.RMS {
			g.groups.RMS[i], g.groups.Max[i] = 0, 0
		}
		if g.expected != nil {
			g.groups.RMS[0] = float32(g.score * g.expected[0])
		}
	}
	switch {
	case s.peak == 0:
	case e.peaks != nil:
		out.Rows.Max[0] = float32(s.peak * e.peaks[0])
	case e.Class == optype.Move && len(o.Inputs) > 0:
		out.Max = s.peak * (o.Inputs[0].Max + epsilon(out.Type)*out.RefMax)
	default:
		out.Max = 6 * s.peak * e.rows[0]
		out.Rows.Max[0] = float32(out.Max)
	}
}

// TestJudge has a case on either side of every limit.
func TestJudge(t *testing.T) {
	const above, below = 1.001, 0.999
	set := func(s scores) func(*Operator) { return s.set }
	b := func(all float64) func(*Operator) { return scores{all: all}.set }
	// then applies changes after the scores are set.
	then := func(s scores, change func(o *Operator)) func(*Operator) {
		return func(o *Operator) { s.set(o); change(o) }
	}
	tainted := func(s scores) func(*Operator) {
		return func(o *Operator) { o.Tainted = true; s.set(o) }
	}
	// rough sets the error of the input to a share of its spread.
	rough := func(share float64, s scores) func(*Operator) {
		return func(o *Operator) {
			o.Inputs[0] = even(tensor.Float16, o.Out.Shape, 1, share)
			s.set(o)
		}
	}
	// scaled turns a share of the error into a common factor, in many elements.
	scaled := func(all, share float64) func(*Operator) {
		return func(o *Operator) {
			for i := range o.Inputs {
				o.Inputs[i] = even(tensor.Float16, o.Out.Shape, 1, 0.01)
			}
			scores{all: all}.set(o)
			o.Out.Scale, o.Out.Count = share*o.Out.RMS/o.Out.RefRMS, 1<<20
			o.Out.Residual = o.Out.RMS * math.Sqrt(1-share*share)
		}
	}
	// byRounding sets a factor of about the rounding step of the type.
	byRounding := func(factor float64) func(*Operator) {
		return func(o *Operator) {
			scaled(1.3, 0.9)(o)
			o.Inputs[0] = even(tensor.Float16, o.Out.Shape, 1, 1.2e-3)
			scores{all: 1.5}.set(o)
			o.Out.Scale = factor
		}
	}
	tests := []struct {
		name   string
		op     string
		inputs int
		change func(*Operator)
		level  Level
		kind   Kind
	}{
		// 1: NaN, infinities and overflows.
		{"NaN of an input", "Relu", 1, func(o *Operator) { o.Inputs[0].NonFinite, o.Out.NonFinite = 1, 1 }, Clean, InputNaN},
		{"NaN", "Relu", 1, func(o *Operator) { o.Out.NonFinite = 1 }, Origin, NonFinite},
		{"a divisor that is 0 where NaN are", "RealDiv", 1, func(o *Operator) { o.Inputs[0].OneSided, o.Out.NonFinite = 5, 5 }, Suspect, AtPole},
		{"a divisor of an unknown operator", "Addcdiv", 1, func(o *Operator) { o.Inputs[0].OneSided, o.Out.NonFinite = 5, 5 }, Suspect, AtPole},
		{"a smaller divisor", "RealDiv", 1, func(o *Operator) {
			o.Inputs[0].OneSided, o.Out.NonFinite, o.Inputs[0].Elements = 5, 40, o.Out.Elements/8
		}, Suspect, AtPole},
		{"more NaN than zeros of a divisor", "RealDiv", 1, func(o *Operator) { o.Inputs[0].OneSided, o.Out.NonFinite = 5, 6 }, Origin, NonFinite},
		{"zeros of what divides nothing", "Relu", 1, func(o *Operator) { o.Inputs[0].OneSided, o.Out.NonFinite = 5, 5 }, Origin, NonFinite},
		{"NaN that does not count", "Relu", 1, func(o *Operator) { o.Out.NonFinite, o.AnyClass = 1, true }, Clean, None},
		{"NaN of a damaged input, Div", "Div", 1, func(o *Operator) { o.Out.NonFinite, o.Tainted = 1, true }, Clean, InputBad},
		{"NaN of a damaged input, Exp", "Exp", 1, func(o *Operator) { o.Out.NonFinite, o.Tainted = 1, true }, Clean, InputBad},
		{"NaN of a damaged input, unknown", "Foo", 1, func(o *Operator) { o.Out.NonFinite, o.Tainted = 1, true }, Clean, InputBad},
		{"NaN after a damaged input, MatMul", "MatMul", 1, func(o *Operator) { o.Out.NonFinite, o.Tainted = 1, true }, Origin, NonFinite},
		{"overflow", "MatMul", 1, func(o *Operator) { o.Out.Overflows = 1 }, Origin, Overflow},
		{"overflow of an input", "Relu", 1, func(o *Operator) { o.Out.Overflows, o.Inputs[0].Overflows = 1, 1 }, Clean, None},
		// 2: no error beyond the rounding of the type.
		{"no error", "Relu", 1, func(*Operator) {}, Clean, None},
		{"rounding of the type", "Relu", 1, exactInput(1.5, 2), Clean, None},
		{"an element beyond it", "Relu", 1, exactInput(1.5, 4), Origin, Sparse},
		{"more than it", "Relu", 1, exactInput(1.7, 2), Origin, Value},
		// 3: neighbouring steps.
		{"ties of steps", "AscendQuant", 1, quantised(4*below, 1), Clean, None},
		{"too many steps", "AscendQuant", 1, quantised(4*above, 1), Origin, Step},
		{"larger steps", "AscendQuant", 1, quantised(2.5*below, 2), Clean, None},
		{"too many larger steps", "AscendQuant", 1, quantised(2.5*above, 2), Origin, Value},
		// 4: rough and damaged inputs.
		{"norm", "LayerNorm", 1, b(2 * below), Clean, None},
		{"norm beyond", "LayerNorm", 1, b(2 * above), Origin, Value},
		{"norm of a rough input", "LayerNorm", 1, rough(0.2*above, scores{all: 8 * below}), Clean, None},
		{"norm of a rough input, beyond", "LayerNorm", 1, rough(0.2*above, scores{all: 8 * above}), Origin, Value},
		{"norm of an input that is not rough", "LayerNorm", 1, rough(0.2*below, scores{all: 2 * above}), Origin, Value},
		{"no rows of a rough input", "LayerNorm", 1, rough(0.2*above, scores{all: 1, row: 100}), Clean, None},
		{"norm of a damaged input", "LayerNorm", 1, tainted(scores{all: 3 * below}), Clean, None},
		{"norm of a damaged input, beyond", "LayerNorm", 1, tainted(scores{all: 3 * above}), Origin, Value},
		// 5: exact classes.
		{"Add", "Add", 2, set(scores{1.6 * below, 1.6 * below, 9, 1.6 * below}), Clean, None},
		{"Add, all", "Add", 2, b(1.6 * above), Origin, Value},
		{"Add, a row", "Add", 2, set(scores{1, 1.6 * above, 0, 0}), Origin, Value},
		{"Add, an element", "Add", 2, set(scores{1, 0, 0, 1.6 * above}), Origin, Sparse},
		{"Add, an element and all", "Add", 2, set(scores{2, 0, 0, 1.6 * above}), Origin, Value},
		{"Reshape", "Reshape", 1, set(scores{1.6 * below, 9, 9, 1.6 * below}), Clean, None},
		{"Reshape, all", "Reshape", 1, b(1.6 * above), Origin, Value},
		{"Reshape, an element", "Reshape", 1, set(scores{1, 0, 0, 1.6 * above}), Origin, Sparse},
		{"LogSoftmax has bounds of elements only", "LogSoftmax", 1, set(scores{3, 3, 0, 0}), Clean, None},
		{"LogSoftmax, an element", "LogSoftmax", 1, set(scores{1, 0, 0, 1.6 * above}), Origin, Sparse},
		{"Add, a tainted one has no excuse", "Add", 2, tainted(scores{all: 1.6 * above}), Origin, Value},
		{"Add, times a factor", "Add", 2, scaled(0.6*above, 0.9), Origin, Scaled},
		{"Add, times a factor, little", "Add", 2, scaled(0.6*below, 0.9), Clean, None},
		// 6: other classes.
		{"Mul", "Mul", 1, b(2 * below), Clean, None}, {"Mul beyond", "Mul", 1, b(2 * above), Origin, Value},
		{"Div", "Div", 1, b(2 * below), Clean, None}, {"Div beyond", "Div", 1, b(2 * above), Origin, Value},
		{"Exp", "Exp", 1, b(2 * below), Clean, None}, {"Exp beyond", "Exp", 1, b(2 * above), Origin, Value},
		{"BatchNorm", "BatchNorm", 1, b(2 * below), Clean, None}, {"BatchNorm beyond", "BatchNorm", 1, b(2 * above), Origin, Value},
		{"ReduceMean", "ReduceMean", 1, b(2 * below), Clean, None}, {"ReduceMean beyond", "ReduceMean", 1, b(2 * above), Origin, Value},
		{"dequant", "AscendDequant", 1, b(1.6 * below), Clean, None}, {"dequant beyond", "AscendDequant", 1, b(1.6 * above), Origin, Value},
		// a
		{"times a factor", "LayerNorm", 1, scaled(0.6*above, 0.9), Origin, Scaled},
		{"times a factor, little", "LayerNorm", 1, scaled(0.6*below, 0.9), Clean, None},
		{"a factor that is half of it", "LayerNorm", 1, scaled(1.5, 0.5*below), Clean, None},
		{"a factor that is more than half of it", "LayerNorm", 1, scaled(1.5, 0.5*above), Origin, Scaled},
		{"a factor of rounding", "LayerNorm", 1, byRounding(0x1p-9 * below), Clean, None},
		{"a factor beyond rounding", "LayerNorm", 1, byRounding(0x1p-9 * above), Origin, Scaled},
		{"unknown, times a factor", "Foo", 1, scaled(0.6*above, 0.9), Origin, Scaled},
		{"unknown, times a factor at a few elements", "Foo", 1, func(o *Operator) {
			scaled(0.6*above, 0.9)(o)
			o.Out.P90 = 0.49 * o.expectedError().Sum
		}, Clean, None},
		// b
		{"one value", "ReduceMean", 1, then(scores{all: 1.5 * above}, func(o *Operator) { o.Out.Constant = true }), Origin, Constant},
		{"one value, little error", "ReduceMean", 1, then(scores{all: 1.5 * below}, func(o *Operator) { o.Out.Constant = true }), Clean, None},
		{"one value of few", "ReduceMean", 1, then(scores{all: 1.6}, func(o *Operator) { o.Out.Constant, o.Out.Count = true, 15 }), Clean, None},
		{"one value as in the reference", "ReduceMean", 1, then(scores{all: 1.6}, func(o *Operator) { o.Out.Constant, o.Out.RefStd = true, 0 }), Clean, None},
		{"one value as in the input", "ReduceMean", 1, then(scores{all: 1.6}, func(o *Operator) { o.Out.Constant, o.Inputs[0].Constant = true, true }), Clean, None},
		// b2
		{"coarse", "MatMul", 1, then(scores{all: 0.8 * above}, func(o *Operator) { o.Out.Bits = 8 }), Origin, Coarse},
		{"coarse norm", "LayerNorm", 1, then(scores{all: 0.8 * above}, func(o *Operator) { o.Out.Bits = 8 }), Origin, Coarse},
		{"coarse, little error", "MatMul", 1, then(scores{all: 0.8 * below}, func(o *Operator) { o.Out.Bits = 8 }), Clean, None},
		{"one bit less", "MatMul", 1, then(scores{all: 1}, func(o *Operator) { o.Out.Bits = 9 }), Clean, None},
		{"coarse as the input", "MatMul", 1, then(scores{all: 1}, func(o *Operator) { o.Out.Bits, o.Inputs[0].Bits = 8, 8 }), Clean, None},
		{"coarse and small", "MatMul", 1, then(scores{all: 1}, func(o *Operator) { o.Out.Bits, o.Out.Elements = 8, 63 }), Clean, None},
		{"coarse product", "Mul", 1, then(scores{all: 1}, func(o *Operator) { o.Out.Bits = 8 }), Clean, None},
		// c
		{"a row", "MatMul", 1, set(scores{1, 5 * above, 0, 0}), Origin, Rows},
		{"a row, less", "MatMul", 1, set(scores{1, 5 * below, 0, 0}), Clean, None},
		{"a row beside little error", "MatMul", 1, rough(0.01, scores{0.1, 5 * above, 0, 0}), Origin, Rows}, // 2 k, not 6 x 0.7
		{"a row beside little error, less", "MatMul", 1, rough(0.01, scores{0.1, 5 * below, 0, 0}), Clean, None},
		{"a row after damage", "MatMul", 1, tainted(scores{1, 12 * above, 0, 0}), Origin, Rows},
		{"a row after damage, less", "MatMul", 1, tainted(scores{1, 12 * below, 0, 0}), Clean, None},
		{"rows of a sum", "ReduceMean", 1, set(scores{1, 100, 0, 0}), Clean, None},
		{"rows of a norm of channels", "BatchNorm", 1, set(scores{1, 100, 0, 0}), Clean, None},
		{"rows of a convolution", "Conv2D", 1, set(scores{1, 6 * above, 0, 0}), Origin, Rows},
		{"rows of a convolution after damage", "Conv2D", 1, tainted(scores{1, 100, 0, 0}), Clean, None},
		{"a channel", "MatMul", 1, set(scores{1, 0, 5 * above, 0}), Origin, Channels},
		{"a channel, less", "MatMul", 1, set(scores{1, 0, 5 * below, 0}), Clean, None},
		{"channels of Softmax", "Softmax", 1, set(scores{1, 0, 100, 0}), Clean, None},
		{"an element", "MatMul", 1, set(scores{0.5, 0, 0, 2 * above}), Origin, Sparse},
		{"an element, less", "MatMul", 1, set(scores{0.5, 0, 0, 1.4 * below}), Clean, None},
		{"an element that stands out", "MatMul", 1, set(scores{0.4, 0, 0, 1.4 * above}), Origin, Sparse},
		{"an element that stands out of a norm", "LayerNorm", 1, set(scores{0.5, 0, 0, 2 * below}), Clean, None},
		{"an element of a large error", "MatMul", 1, set(scores{1.5, 0, 0, 3 * above}), Origin, Sparse},
		{"an element of a large error, less", "MatMul", 1, set(scores{1.5, 0, 0, 3 * below}), Clean, None},
		{"an element as in the input", "MatMul", 1, then(scores{0.5, 0, 0, 4}, func(o *Operator) {
			o.Inputs[0].Max = o.Inputs[0].RMS * peakToRMS(o.Out) / 1.5 * above
		}), Clean, None},
		{"an element that is less in the input", "MatMul", 1, then(scores{0.5, 0, 0, 4}, func(o *Operator) {
			o.Inputs[0].Max = o.Inputs[0].RMS * peakToRMS(o.Out) / 1.5 * below
		}), Origin, Sparse},
		{"an element of a norm as in the input", "LayerNorm", 1, then(scores{0.5, 0, 0, 4}, func(o *Operator) {
			o.Inputs[0].Max = o.Inputs[0].RMS * peakToRMS(o.Out) / 2.5 * above
		}), Clean, None},
		{"unknown, an element", "Foo", 1, then(scores{0.5, 0, 0, 3}, func(o *Operator) {
			o.Out.RefAtMax = o.Out.Max / 8 / o.expectedError().Sum * below
		}), Origin, Sparse},
		{"unknown, a large element", "Foo", 1, then(scores{0.5, 0, 0, 3}, func(o *Operator) {
			o.Out.RefAtMax = o.Out.Max / 8 / o.expectedError().Sum * above
		}), Clean, None},
		// d
		{"unknown", "Foo", 1, b(4 * below), Clean, None},
		{"unknown beyond", "Foo", 1, b(4 * above), Suspect, Amplified},
		{"unknown, a few elements", "Foo", 1, then(scores{all: 33}, func(o *Operator) { o.Out.P90 = 0.49 * o.expectedError().Sum }), Suspect, Amplified},
		{"unknown that mixes, a few elements", "Foo", 1, then(scores{all: 33}, func(o *Operator) {
			o.Out.P90 = 0.49 * o.expectedError().Sum
			for i := range 64 {
				o.Out.Probe.Values, o.Inputs[0].Probe.Values = append(o.Out.Probe.Values, float32(i*i%67)), append(o.Inputs[0].Probe.Values, float32(i))
			}
		}), Origin, Value},
		{"unknown, an element of many", "Foo", 1, ofMany(1.4*above, 1), Origin, Sparse},
		{"unknown, a large element of many", "Foo", 1, ofMany(1.4*above, 1.1), Clean, None},
		{"unknown, a large element of many that is far off", "Foo", 1, ofMany(2*above, 3), Origin, Sparse},
		{"unknown, most elements", "Foo", 1, then(scores{all: 33}, func(o *Operator) { o.Out.P90 = 0.51 * o.expectedError().Sum }), Origin, Value},
		{"unknown of subnormal numbers", "Foo", 1, then(scores{all: 33, row: 300}, func(o *Operator) { o.Inputs[0].Subnormal = 0.021 }), Suspect, Amplified},
		{"unknown of few subnormal numbers", "Foo", 1, then(scores{all: 33, row: 300}, func(o *Operator) { o.Inputs[0].Subnormal = 0.019 }), Origin, Rows},
		// e
		{"MatMul", "MatMul", 1, b(1.8 * below), Clean, None},
		{"MatMul amplifies", "MatMul", 1, b(1.8 * above), Suspect, Amplified},
		{"MatMul amplifies much", "MatMul", 1, b(32 * below), Suspect, Amplified},
		{"MatMul amplifies too much", "MatMul", 1, b(32 * above), Origin, Value},
		{"a first operator", "MatMul", 0, b(2.5 * below), Clean, None},
		{"a first operator beyond", "MatMul", 0, b(2.5 * above), Suspect, Amplified},
		{"a first operator with a form", "Foo", 0, then(scores{all: 5}, func(o *Operator) { o.Out.GroupScale = 0.6 }), Origin, Value},
		{"a first operator with a form, behind others", "Foo", 0, then(scores{all: 5}, func(o *Operator) { o.Out.GroupScale, o.Hidden = 0.6, true }), Suspect, Amplified},
		{"a first norm is one, too", "LayerNorm", 0, b(2.5 * above), Suspect, Amplified},
	}
	for _, tt := range tests {
		o := operator(tt.op, tt.inputs)
		tt.change(o)
		v := o.Judge()
		if v.Level != tt.level || v.Kind != tt.kind {
			t.Errorf("%s: level %d %s of scores %v, %v, %v, %v, limit %v; want %d %s",
				tt.name, v.Level, v.Kind, v.Score, v.RowScore, v.ChannelScore, v.PeakScore, v.Limit, tt.level, tt.kind)
		}
	}
}

// ofMany makes elements that combine several elements of the input; one element is off by the score, and as large as
// the factor large.
func ofMany(score, large float64) func(*Operator) {
	return func(o *Operator) {
		o.Inputs[0] = even(tensor.Float16, tensor.Shape{8, 32}, 1, 1e-3)
		scores{0.4, 0, 0, score}.set(o)
		o.Out.RefAtMax = large
	}
}

// exactInput removes the error of the input and sets the error of the output to a multiple of its rounding; the
// largest error is a number of steps.
func exactInput(rounding, steps float64) func(*Operator) {
	return func(o *Operator) {
		o.Inputs[0] = even(tensor.Float16, o.Out.Shape, 1, 0)
		out := o.Out
		out.RMS, out.Max = rounding*out.Rounding, steps*0x1p-10*out.RefMax
		out.Rows.Max[0] = float32(out.Max)
	}
}

// quantised makes the output int8 numbers that are off by steps.
func quantised(all, steps float64) func(*Operator) {
	return func(o *Operator) {
		o.Out = even(tensor.Int8, o.Out.Shape, 40, 0)
		scores{all: all}.set(o)
		o.Out.Max = steps
	}
}

// TestStructured has errors beyond the limit in forms that rounding does not have, on either side of every limit,
// also with an input of the same form.
func TestStructured(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(o *Operator, x float64)
		limit  float64
		input  func(in *noise.Noise) // gives the input the same form, so that it means nothing
	}{
		"a scale of groups": {func(o *Operator, x float64) { o.Out.GroupScale = x }, 0.5, func(in *noise.Noise) { in.GroupScale = 0.26 }},
		"a mean of groups":  {func(o *Operator, x float64) { o.Out.GroupMean = x }, 0.5, func(in *noise.Noise) { in.GroupMean = 0.26 }},
		"a scale by sign":   {func(o *Operator, x float64) { o.Out.ScaleBySign = x }, 0.3, func(in *noise.Noise) { in.ScaleBySign = 0.11 }},
		"toward zero":       {func(o *Operator, x float64) { o.Out.TowardZero = x }, 0.35, func(in *noise.Noise) { in.TowardZero = 0.16 }},
		"a mean":            {func(o *Operator, x float64) { o.Out.Mean = -x * o.Out.RMS }, 0.5, func(in *noise.Noise) { in.Mean = 1 }},
	} {
		for factor, want := range map[float64]Level{1.01: Origin, 0.99: Suspect} {
			o := operator("MatMul", 1)
			scores{all: 3}.set(o)
			tt.change(o, factor*tt.limit)
			if v := o.Judge(); v.Level != want {
				t.Errorf("%s of %v limits: level %d, want %d", name, factor, v.Level, want)
			}
			scores{all: 1.6 * 0.99}.set(o) // not beyond the limit
			tt.change(o, factor*tt.limit)
			if v := o.Judge(); v.Level != Clean {
				t.Errorf("%s, inside the limit: level %d, want %d", name, v.Level, Clean)
			}
			scores{all: 1.6 * 1.01}.set(o)
			tt.change(o, factor*tt.limit)
			if v := o.Judge(); (v.Level == Origin) != (want == Origin) {
				t.Errorf("%s, a little beyond the limit: level %d", name, v.Level)
			}
			scores{all: 3}.set(o)
			tt.change(o, factor*tt.limit)
			tt.input(o.Inputs[0])
			if v := o.Judge(); v.Level != Suspect {
				t.Errorf("%s as in the input: level %d, want %d", name, v.Level, Suspect)
			}
		}
	}
	// An error of a quarter of the reference, twice beyond the limit.
	for all, want := range map[float64]Level{5 * 1.01: Origin, 5 * 0.99: Suspect} {
		o := operator("MatMul", 1)
		o.Inputs[0] = even(tensor.Float16, o.Out.Shape, 1, 0.1)
		scores{all: all}.set(o)
		if o.Out.RMS < 0.25 {
			t.Fatalf("the error is %v", o.Out.RMS)
		}
		if v := o.Judge(); v.Level != want {
			t.Errorf("an error of %v, %v x the expected: level %d, want %d", o.Out.RMS, all, v.Level, want)
		}
	}
}

// TestAlwaysClean: a tensor whose only error is its rounding is clean whatever its inputs are. A tensor is damaged if
// its error is three times the expected rounding error.
func TestAlwaysClean(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 5))
	names := []string{"", "Add", "Tanh", "Relu", "Mul", "Square", "Div", "Log", "Exp", "LayerNorm", "BatchNorm", "MatMul", "Conv2D", "ReduceMean", "ReduceSum", "Cast", "Quantize", "TopK", "MaxPool", "Reshape", "Dequantize"}
	types := []tensor.DType{tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Int8, tensor.Int32}
	shapes := []tensor.Shape{{8, 16}, {4, 8, 4}, {2, 4, 4, 4}}
	settled, damaged := 0, 0
	for range 20000 {
		draw := func() *noise.Noise {
			d, shape, size := types[random.IntN(len(types))], shapes[random.IntN(len(shapes))], math.Ldexp(1, random.IntN(24)-12)
			n := even(d, shape, size, 0)
			n = even(d, shape, size, float64(random.IntN(9))*max(n.Rounding/3, 0.05*size*float64(random.IntN(2))))
			for _, count := range []*int64{&n.NonFinite, &n.Overflows} {
				if random.IntN(12) == 0 {
					*count = 1
				}
			}
			return n
		}
		o := &Operator{Out: draw(), Type: recompute.TypeOf(names[random.IntN(len(names))]), AnyClass: random.IntN(4) == 0, Guessed: random.IntN(2) == 0, Known: random.IntN(2) == 0, Tainted: random.IntN(2) == 0}
		for range random.IntN(4) {
			o.Inputs = append(o.Inputs, draw())
		}
		if o.IsAlwaysClean() {
			settled++
			if v := o.Judge(); v.Level != Clean {
				t.Fatalf("%+v is settled, and judged %d %s", o, v.Level, v.Kind)
			}
		}
		var memory Rounder
		got, want := o.IsDamaged(&memory), o.Out.RMS > 3*o.roundingOnlyError(&memory)
		if got != want {
			t.Fatalf("%+v: damaged %v, want %v", o, got, want)
		}
		if got {
			damaged++
		}
	}
	if settled < 2000 || damaged < 2000 {
		t.Errorf("%d are settled, %d damaged", settled, damaged)
	}
}
