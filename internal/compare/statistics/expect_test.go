package statistics

import (
	"math"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/tensor"
)

// sized is a tensor of float32 with a root mean square, elements from -most to most and a
// mean of 0; n is a square number.
func sized(n int64, rms, most float64) *sideStatistics {
	is := func(v float64) metrics.Metric { return metrics.NumberOf(v) }
	s := record.SideStatistics{Max: is(most), Min: is(-most), Mean: is(0), Norm: is(rms * math.Sqrt(float64(n)))}
	return newSideStatistics(s, tensor.Float32, tensor.Shape{n / 4, 4})
}

// with changes a tensor.
func (x *sideStatistics) with(change func(*sideStatistics)) *sideStatistics {
	change(x)
	return x
}

func ofType(d tensor.DType) func(*sideStatistics) { return func(x *sideStatistics) { x.dtype = d } }
func withMean(m float64) func(*sideStatistics) {
	return func(x *sideStatistics) { x.Mean = metrics.NumberOf(m) }
}
func withMin(m float64) func(*sideStatistics) {
	return func(x *sideStatistics) { x.Min = metrics.NumberOf(m) }
}
func flat(x *sideStatistics) { x.shape = tensor.Shape{int64(x.n)} }

// noisyInput is an input of a call with the given relative noise.
func noisyInput(index int, x *sideStatistics, noise float64) entry {
	row := &record.Row{Kind: string(tensor.Input), Output: index}
	return entry{value: &value{row: row, place: &record.Statistics{}, ref: x, npu: x, noise: noise}, noise: noise}
}

// shifted sets the difference of the means; gradient makes the entry an incoming gradient of a backward call.
func (e entry) shifted(d float64) entry { e.shift = d; return e }

func gradient(x *sideStatistics, noise, shift float64) entry {
	e := noisyInput(0, x, noise).shifted(shift)
	e.gradient = true
	return e
}

// expected is a case: the call, its entries, and the noise wanted for an output or for the gradient of an input.
type expected struct {
	name    string
	index   int
	ref     *sideStatistics
	npu     *sideStatistics // the reference where nil
	in      []entry
	outputs *sideStatistics // of the forward call, nil for none
	power   float64
	want    float64
}

func (x *expected) check(t *testing.T) {
	t.Helper()
	o := newOp(&record.Row{Op: x.name})
	v := &value{row: &record.Row{Op: x.name, Kind: string(tensor.Output), Output: x.index}, place: &record.Statistics{Exponent: x.power}, op: o, ref: x.ref, npu: x.npu}
	if v.npu == nil {
		v.npu = v.ref
	}
	c := &call{op: o, entries: x.in}
	if x.outputs != nil {
		c.outputs = []*value{{ref: x.outputs}}
	}
	if got := c.expectedNoise(v); math.Abs(got-x.want) > 1e-12*x.want {
		t.Errorf("%s, gradient %d: %.15g is expected, want %.15g", x.name, x.index, got, x.want)
	}
}

// The rounding error of an operator: the least that statistics of float32 show, and of matrix products.
const (
	ownFloat32  = 1e-6
	ownBFloat16 = 1.0 / 256
	ownProduct  = 1.0 / 4096
)

// TestExpectForward has an operator for each class of forward calls. x has noise 0.01 and size 2, so 0.02 in its own
// units; y has noise 0.02 and size 0.5, so 0.01.
func TestExpectForward(t *testing.T) {
	x, y := noisyInput(0, sized(64, 2, 6), 0.01), noisyInput(1, sized(64, 0.5, 1), 0.02)
	both := []entry{x, y}
	noise := math.Hypot(0.01, 0.02)    // of both inputs, each relative to its size
	absolute := math.Hypot(0.02, 0.01) // the same in the units of the output
	// A denominator of at least 0.25; and an input whose mean is most of its size: the standard deviation is sqrt(2^2
	// - 1.6^2) = 1.2.
	positive := noisyInput(1, sized(64, 0.5, 1).with(withMin(0.25)), 0.02)
	apart := noisyInput(0, sized(64, 2, 6).with(withMean(1.6)), 0.01)
	mask := noisyInput(1, sized(64, 5000, 10000).with(func(x *sideStatistics) { x.Max = metrics.NumberOf(0) }), 0.03)
	bias := noisyInput(2, sized(8, 1, 2).with(flat), 0.03)
	half := noisyInput(0, sized(64, 2, 6).with(ofType(tensor.BFloat16)), 0.01)
	for _, test := range []expected{
		// move: max(noise, absolute/ro) + 1e-6, the rounding where it casts or the sides' types differ.
		{name: "Tensor.view.0.forward", ref: sized(64, 2, 6), in: []entry{x}, want: 0.01 + 1e-6},
		{name: "Torch.cat.0.forward", ref: sized(64, 2, 6), in: both, want: 0.02 + 1e-6},
		{name: "Torch.index_select.0.forward", ref: sized(16, 0.5, 1), in: []entry{x}, want: 0.02/0.5 + 1e-6},
		{name: "Tensor.to.0.forward", ref: sized(64, 2, 6), in: []entry{half}, want: 0.01 + ownFloat32},
		{name: "Tensor.to.0.forward", ref: sized(64, 2, 6).with(ofType(tensor.BFloat16)), in: []entry{x}, want: 0.01 + ownBFloat16},
		{name: "Tensor.view.0.forward", ref: sized(64, 2, 6), npu: sized(64, 2, 6).with(ofType(tensor.BFloat16)), in: []entry{x}, want: 0.01 + ownBFloat16},
		// lip: absolute noise adds up.
		{name: "Torch.add.0.forward", ref: sized(64, 4, 8), in: both, want: absolute/4 + ownFloat32},
		{name: "Torch.add.0.forward", ref: sized(64, 0.001, 0.01), in: both, want: absolute/0.001 + ownFloat32},
		{name: "Functional.relu.0.forward", ref: sized(64, 1, 6), in: []entry{x}, want: 0.02/1 + 1e-6},
		{name: "Torch.add.0.forward", ref: sized(64, 4, 8).with(ofType(tensor.Float16)), in: both, want: absolute/4 + 0x1p-11 + 0x1p-25/4},
		// The size of a mask is the size of its unmasked elements, at least 1: here 6, of the sum.
		{name: "Torch.add.0.forward", ref: sized(64, 5000, 10000).with(func(x *sideStatistics) { x.Max = metrics.NumberOf(6) }), in: []entry{x, mask}, want: math.Hypot(0.02, 0.03)/6 + ownFloat32},
		// lipt
		{name: "Functional.gelu.0.forward", ref: sized(64, 1, 6), in: []entry{x}, want: 1.2*0.02/1 + 2*ownFloat32},
		// mul: 2 x 0.5 beside the output, at least 1, at most 30; powers; three inputs.
		{name: "Torch.mul.0.forward", ref: sized(64, 4, 6), in: both, want: noise + ownFloat32},
		{name: "Torch.mul.0.forward", ref: sized(64, 0.25, 6), in: both, want: noise*4 + ownFloat32},
		{name: "Torch.mul.0.forward", ref: sized(64, 0.01, 6), in: both, want: noise*30 + ownFloat32},
		{name: "Torch.npu_rotary_mul.0.forward", ref: sized(64, 0.25, 6), in: []entry{x, noisyInput(1, sized(16, 0.5, 1), 0.02), noisyInput(2, sized(16, 8, 9), 0)}, want: noise*4 + ownFloat32},
		{name: "Torch.square.0.forward", ref: sized(64, 4, 36), in: []entry{x}, want: 2*0.01 + ownFloat32},
		{name: "Torch.pow.0.forward", ref: sized(64, 4, 36), in: []entry{x}, power: 3, want: 3*0.01 + ownFloat32},
		{name: "Torch.pow.0.forward", ref: sized(64, 4, 36), in: []entry{x}, power: 0.5, want: 0.01 + ownFloat32},
		{name: "Torch.pow.0.forward", ref: sized(64, 4, 36), in: []entry{x}, power: -12, want: 8*0.01 + ownFloat32},
		// div: by a number; by y, whose least magnitude is 0.25: 0.01/0.25, and 2/0.25/4 = 2 times
		// the noise of x; by y with both signs; by an exact y with both signs.
		{name: "Torch.div.0.forward", ref: sized(64, 1, 6), in: []entry{x}, want: 0.01 + ownFloat32},
		{name: "Torch.div.0.forward", ref: sized(64, 4, 6), in: []entry{x, positive}, want: 0.04 + 0.02 + 2*ownFloat32},
		{name: "Torch.div.0.forward", ref: sized(64, 4, 6), in: both, want: 1 + 2*ownFloat32},
		{name: "Torch.div.0.forward", ref: sized(64, 4, 6), in: []entry{x, noisyInput(1, sized(64, 0.5, 1), 0)}, want: 30*0.01 + 2*ownFloat32},
		{name: "Torch.rsqrt.0.forward", ref: sized(64, 4, 6), in: []entry{positive}, want: 0.04 + 2*ownFloat32},
		{name: "Torch.log.0.forward", ref: sized(64, 2, 6), in: []entry{positive}, want: 0.04 + 2*ownFloat32},
		{name: "Torch.log.0.forward", ref: sized(64, 0.5, 6), in: []entry{positive}, want: 0.04/0.5 + 2*ownFloat32},
		// exp
		{name: "Functional.softmax.0.forward", ref: sized(64, 0.25, 1), in: []entry{x}, want: math.Exp(0.06) - 1 + 2*ownFloat32},
		{name: "Functional.softmax.0.forward", ref: sized(64, 0.25, 1), in: []entry{noisyInput(0, sized(64, 2, 6), 1)}, want: 1 + 2*ownFloat32},
		// norm: 2/1.2 where the mean is subtracted.
		{name: "Functional.layer_norm.0.forward", ref: sized(64, 1, 3), in: []entry{apart, y}, want: math.Hypot(0.01*2/1.2, 0.02) + (1+2/1.2)*ownFloat32},
		{name: "Functional.rms_norm.0.forward", ref: sized(64, 1, 3), in: []entry{apart, y}, want: noise + 2*ownFloat32},
		// lin: sums of sqrt(64*64/64) = 8 products: norms 16 and 4, so w = 16*4/(sqrt(8)*8*ro).
		{name: "Functional.linear.0.forward", ref: sized(64, 0.5, 6), in: both, want: noise*16/math.Sqrt(8) + ownProduct*16/math.Sqrt(8)},
		{name: "Functional.linear.0.forward", ref: sized(64, 8, 20), in: both, want: 0.7*noise + ownProduct},
		{name: "Functional.linear.0.forward", ref: sized(64, 0.01, 1), in: both, want: noise*800/math.Sqrt(8) + 30*ownProduct},
		{name: "Functional.linear.0.forward", ref: sized(64, 8, 20), in: []entry{x, y, bias}, want: 0.7*noise + 0.03/8 + ownProduct},
		{name: "Torch.addmm.0.forward", ref: sized(64, 8, 20), in: []entry{bias, x, y}, want: 0.7*noise + 0.03/8 + ownProduct},
		{name: "Functional.linear.0.forward", ref: sized(64, 8, 20), in: []entry{x}, want: 2*0.01 + ownProduct},
		// red: 64 to 4 elements are sums of 16. The mean has 0.3 of the noise of x and all of its shift, and at least
		// half of the noise of x if the mean is not small; the sum has 16 times as much.
		{name: "Torch.mean.0.forward", ref: sized(4, 0.5, 1), in: []entry{x.shifted(-0.002)}, want: (0.02*0.3+0.002)/0.5 + 4*ownFloat32},
		{name: "Torch.mean.0.forward", ref: sized(4, 8, 9), in: []entry{x}, want: 0.01/2*0.25 + ownFloat32},
		{name: "Torch.sum.0.forward", ref: sized(4, 8, 9), in: []entry{x.shifted(0.002)}, want: 16*0.008/8 + 4*ownFloat32},
		{name: "Torch.std.0.forward", ref: sized(4, 1, 2), in: []entry{apart}, want: 2*0.01*2/1.2 + 2*ownFloat32},
		// loss, of one number
		{name: "Functional.cross_entropy.0.forward", ref: sized(4, 2, 2), in: []entry{x}, want: (1.5*0.02+6*ownFloat32)/2 + 0.01/2 + ownFloat32},
		// comm: collectives that add also have the absolute noise.
		{name: "Distributed.all_reduce.0.forward", ref: sized(64, 4, 12), in: []entry{x}, want: 0.01 + 0.02/4 + 4*ownFloat32},
		{name: "Distributed.all_gather.0.forward", ref: sized(64, 4, 12), in: []entry{x}, want: 0.01 + 4*ownFloat32},
		// att, unknown operators, modules
		{name: "NPU.npu_fusion_attention.0.forward", ref: sized(64, 1, 3), in: both, want: 4*noise + 4*ownProduct},
		{name: "Torch.no_such_function.0.forward", ref: sized(64, 1, 3), in: both, want: 3*noise + 4*ownFloat32},
		{name: "Module.layers.0.NoSuchBlock.forward.0", ref: sized(64, 1, 3), in: both, want: 4*noise + 8*ownProduct},
		// A reference of zeros has nothing but rounding.
		{name: "Torch.add.0.forward", ref: sized(64, 0, 0), in: both, want: ownFloat32},
	} {
		test.check(t)
	}
}

// TestExpectBackward has an operator for each class of backward calls. The incoming gradient has noise 0.01, size 2
// and a mean that is off by 0.001. The forward call read x with noise 0.02 and size 2, and w with noise 0.03 and size
// 0.5.
func TestExpectBackward(t *testing.T) {
	g := gradient(sized(64, 2, 6), 0.01, -0.001)
	x, w := noisyInput(0, sized(64, 2, 6), 0.02), noisyInput(1, sized(64, 0.5, 1), 0.03)
	apart := noisyInput(0, sized(64, 2, 6).with(withMean(1.6)), 0.02)
	withX, withW := math.Hypot(0.01, 0.02), math.Hypot(0.01, 0.03)
	const added, few = 0.01*2 + 0.001, 0.01*2*4 + 16*0.001 // from one gradient, and from 16
	for _, test := range []expected{
		// lin: the gradient of input 0 is multiplied by the other factor, in sums of 8 products as in the forward
		// call; the gradient of the bias is a sum of 16.
		{name: "Functional.linear.0.backward", ref: sized(64, 0.5, 1), in: []entry{g, x, w}, want: (withW + ownProduct) * 16 / math.Sqrt(8)},
		{name: "Functional.linear.0.backward", ref: sized(64, 8, 9), in: []entry{g, x, w}, want: withW + ownProduct},
		{name: "Functional.linear.0.backward", index: 1, ref: sized(64, 8, 9), in: []entry{g, x, w}, want: (withX + ownProduct) * math.Max(1, 16*16/math.Sqrt(8)/8/8)},
		{name: "Functional.linear.0.backward", index: 2, ref: sized(4, 8, 9), in: []entry{g, x, w}, want: few/8.0 + 0.01 + ownProduct},
		// lip, lipt, move
		{name: "Torch.add.0.backward", ref: sized(64, 2, 6), in: []entry{g, x, w}, want: added/2.0 + ownFloat32},
		{name: "Torch.add.0.backward", index: 1, ref: sized(4, 5, 6), in: []entry{g, x, w}, want: few/5.0 + ownFloat32},
		{name: "Torch.add.0.backward", ref: sized(64, 200, 600), in: []entry{g, x, w}, want: 0.01 + ownFloat32},
		{name: "Tensor.view.0.backward", ref: sized(64, 2, 6), in: []entry{g, x}, want: added/2.0 + ownFloat32},
		{name: "Functional.relu.0.backward", ref: sized(64, 1, 6), in: []entry{g, x}, want: math.Hypot(added, math.Sqrt(0.6*0.02)*2) + ownFloat32},
		{name: "Functional.max_pool2d.0.backward", ref: sized(64, 1, 6), in: []entry{g, x}, want: math.Hypot(added, math.Sqrt(0.02)*2) + ownFloat32},
		{name: "Functional.gelu.0.backward", ref: sized(64, 1, 6), in: []entry{g, x}, want: math.Hypot(added, 2*0.02*2) + ownFloat32},
		// mul: by the other factor, 2 x 0.5 beside the output; by a number.
		{name: "Torch.mul.0.backward", ref: sized(64, 0.25, 6), in: []entry{g, x, w}, want: withW*4 + ownFloat32},
		{name: "Torch.mul.0.backward", ref: sized(64, 8, 9), in: []entry{g, x, w}, want: withW + ownFloat32},
		{name: "Torch.mul.0.backward", ref: sized(64, 0.001, 0.01), in: []entry{g, x, w}, want: withW*30 + ownFloat32},
		{name: "Torch.mul.0.backward", ref: sized(64, 8, 9), in: []entry{g, x}, want: 0.01 + ownFloat32},
		// softmax: 2 2 0.25/0.5 = 2 times.
		{name: "Functional.softmax.0.backward", ref: sized(64, 0.5, 1), in: []entry{g, x}, outputs: sized(64, 0.25, 1), want: math.Hypot(0.01, math.Exp(2*0.04)-1)*2 + 2*ownFloat32},
		// norm: to x with 2 0.5/1.2/0.25 times, to the weights the sum of 16.
		{name: "Functional.layer_norm.0.backward", ref: sized(64, 0.25, 1), in: []entry{g, apart, w}, want: math.Hypot(0.01, 0.02*2/1.2)*(2*0.5/1.2/0.25) + 2*ownFloat32 + ownFloat32*2/1.2},
		{name: "Functional.layer_norm.0.backward", index: 1, ref: sized(4, 8, 9), in: []entry{g, apart, w}, want: (math.Hypot(0.01, 0.02*2/1.2)*2*4+16*0.001)/8 + math.Hypot(0.01, 0.02*2/1.2) + ownFloat32},
		// loss
		{name: "Functional.cross_entropy.0.backward", ref: sized(64, 1, 2), in: []entry{g, x}, want: 1.5*math.Hypot(0.01, math.Exp(2*0.04)-1) + 2*ownFloat32},
		// red
		{name: "Torch.mean.0.backward", ref: sized(64, 0.5, 2), in: []entry{gradient(sized(4, 2, 6), 0.01, 0.001), x}, want: 0.01 + 0.001/0.5 + ownFloat32},
		// other operators: 3 times all noise, or the noise of the accumulated gradients, at most 20 times as much
		{name: "Torch.no_such_function.0.backward", ref: sized(64, 2, 6), in: []entry{g, x}, want: 3*withX + 3*ownFloat32},
		{name: "Torch.no_such_function.0.backward", ref: sized(4, 0.5, 6), in: []entry{g, x}, want: few/0.5 + 3*ownFloat32},
		{name: "Torch.no_such_function.0.backward", ref: sized(4, 0.01, 6), in: []entry{g, x}, want: 20*3*withX + 3*ownFloat32},
		{name: "Module.a.NoSuchBlock.parameters_grad.0", ref: sized(64, 2, 6), in: []entry{g, x}, want: 3*withX + 3*ownProduct},
	} {
		test.check(t)
	}
}

// TestCorrected: an output that passed has the noise that its own numbers show, but not less than a part of the
// expected noise.
func TestCorrected(t *testing.T) {
	const e = 0.08
	ref := func(n int64) *sideStatistics { return sized(n, 2, 6) }
	for _, test := range []struct {
		name string
		ref  *sideStatistics
		d    difference
		want float64
	}{
		{"nothing is seen, few elements: e/2", ref(64), difference{}, e / 2},
		{"a bound is seen: e/4, q = 0.001/2", ref(64), difference{max: 0.001, bounds: 0.001 / 6, norm: 1e-5}, e / 4},
		{"many elements: e/4", ref(1024), difference{norm: 1e-5}, e / 4},
		{"many elements and a bound: e/8", ref(1024), difference{min: 0.001, bounds: 0.001 / 6}, e / 8},
		{"3 al: the norm x sqrt(64) x 3", ref(64), difference{norm: 0.002}, 3 * 0.002 * 8},
		{"no more than e", ref(64), difference{norm: 0.01}, e},
		{"obs is more than e: min(0.3/2, 4 x 0.05)", ref(64), difference{max: 0.3, bounds: 0.3 / 6}, 0.15},
		{"below 32 elements: e", ref(16), difference{norm: 0.001}, e},
		{"below 32 elements: what is seen", ref(16), difference{norm: 0.1}, 0.1},
		{"a mask: e", ref(64).with(func(x *sideStatistics) { x.Min, x.Max = metrics.NumberOf(-10000), metrics.NumberOf(0) }), difference{min: 0.001, bounds: 1e-7}, e},
	} {
		o := newOp(&record.Row{Op: "Torch.add.0.forward"})
		v := &value{row: &record.Row{}, op: o, ref: test.ref, npu: test.ref, difference: test.d}
		if got := v.noiseOfPassed(e, 0); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s: %g, want %g", test.name, got, test.want)
		}
	}
}
