package diagnose

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// transposed returns the data of numpy.transpose(x, axes), computed slowly.
func transposed(x []float64, shape tensor.Shape, axes []int) ([]float64, tensor.Shape) {
	to := make(tensor.Shape, len(axes))
	for j, a := range axes {
		to[j] = shape[a]
	}
	out := make([]float64, len(x))
	strides := shape.Strides()
	for i := range out {
		from := int64(0)
		for j, at := range to.Coordinates(int64(i)) {
			from += at * strides[axes[j]]
		}
		out[i] = x[from]
	}
	return out, to
}

// TestFindPermutation: the permutation is as documented, for tensors of different shapes and for
// tensors whose data alone are in another order.
func TestFindPermutation(t *testing.T) {
	tests := []struct {
		npu  tensor.Shape
		axes []int // that make the reference of the NPU tensor
		text string
	}{
		{tensor.Shape{2, 5, 6, 3}, []int{0, 3, 1, 2}, "NHWC"},
		{tensor.Shape{2, 3, 5, 6}, []int{0, 2, 3, 1}, "NCHW"},
		{tensor.Shape{3, 4, 5, 6}, []int{3, 2, 0, 1}, "HWCN"},
		{tensor.Shape{2, 4, 5, 6, 3}, []int{0, 4, 1, 2, 3}, "NDHWC"},
		{tensor.Shape{2, 3, 4, 5, 6}, []int{0, 2, 3, 4, 1}, "NCDHW"},
		{tensor.Shape{12, 13}, []int{1, 0}, "transpose (1,0)"},
		{tensor.Shape{5, 6, 7}, []int{2, 0, 1}, "transpose (2,0,1)"},
		{tensor.Shape{4, 4, 4, 4}, []int{1, 3, 0, 2}, "transpose (1,3,0,2)"},
		{tensor.Shape{2, 3, 4, 5, 2, 3}, []int{0, 1, 2, 3, 5, 4}, "transpose (0,1,2,3,5,4)"},
	}
	k := kind{tensor.Float16, tensor.Float32}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(4, 5))
			x := normal(rng, count(test.npu), 2, 0)
			values, shape := transposed(x, test.npu, test.axes)
			in := Tensors{
				Request: request(shape, k),
				Ref:     memory{store(k.ref, values), 4}, NPU: memory{store(k.npu, noisy(rng, x)), 2},
				NPUShape: test.npu,
			}
			checkPermutation(t, in, test.npu, test.axes, test.text)
			findings, _, err := Examine(t.Context(), in)
			if err != nil || len(findings) != 1 || findings[0].Code != finding.Layout {
				t.Errorf("patterns: %v, error %v", findings, err)
			}

			in.NPUShape = nil
			in.Result, _ = diagnosed(t, in.Request, in.Ref.(memory), in.NPU.(memory))
			checkPermutation(t, in, test.npu, test.axes, test.text)
		})
	}
}

func checkPermutation(t *testing.T, in Tensors, shape tensor.Shape, axes []int, text string) {
	t.Helper()
	o, evidence, err := findPermutation(t, in)
	if err != nil || o == nil {
		t.Fatalf("permutation %v, error %v", o, err)
	}
	if !slices.Equal(o.axes, axes) || !o.shape.Equal(shape) || !strings.Contains(evidence.String(), text) {
		t.Errorf("got %+v, %q, want axes %v of shape %s", o, evidence, axes, shape)
	}
}

func findPermutation(t *testing.T, in Tensors) (*order, lang.Sentence, error) {
	t.Helper()
	p, err := newPair(t.Context(), &in)
	if err != nil {
		return nil, lang.Sentence{}, err
	}
	o, evidence := p.findPermutation(p.listOrders())
	return o, evidence, p.err()
}

// TestBlocked finds device data taken for host data, and the reverse, by the offsets of the
// layouts. from maps coordinates of the NPU tensor to the good element.
func TestBlocked(t *testing.T) {
	tests := []struct {
		text  string
		shape tensor.Shape
		from  func(at []int64) int64
	}{
		{"the NPU data are ND and were converted from FRACTAL_NZ", tensor.Shape{64, 128}, func(at []int64) int64 {
			return ((at[1]/16*4+at[0]/16)*16+at[0]%16)*16 + at[1]%16
		}},
		{"the NPU data are FRACTAL_NZ and were read as ND", tensor.Shape{64, 128}, func(at []int64) int64 {
			o := at[0]*128 + at[1] // of 8 x 4 fractals of 16 x 16
			return (o/256%4*16+o/16%16)*128 + o/1024*16 + o%16
		}},
		{"the NPU data are FRACTAL_NZ and were read as ND", tensor.Shape{3, 32, 64}, func(at []int64) int64 {
			o := at[1]*64 + at[2] // of 2 x 2 fractals of 16 x 32
			return at[0]*2048 + (o/512%2*16+o/32%16)*64 + o/1024*32 + o%32
		}},
		{"the NPU data are NCHW and were converted from NC1HWC0", tensor.Shape{2, 32, 6, 5}, func(at []int64) int64 {
			return (((at[0]*2+at[1]/16)*6+at[2])*5+at[3])*16 + at[1]%16
		}},
		{"the NPU data are NC1HWC0 and were read as NCHW", tensor.Shape{2, 32, 6, 5}, func(at []int64) int64 {
			o := ((at[0]*32+at[1])*6+at[2])*5 + at[3] // of 2 x 2 x 6 x 5 x 16
			return ((o/960*32+o/480%2*16+o%16)*6+o/80%6)*5 + o/16%5
		}},
		{"the NPU data are FRACTAL_Z and were read as NCHW", tensor.Shape{32, 32, 2, 3}, func(at []int64) int64 {
			o := ((at[0]*32+at[1])*2+at[2])*3 + at[3] // of 2 x 6 x 2 x 16 x 16
			return ((o/256%2*16+o/16%16)*32+o/3072*16+o%16)*6 + o/512%6
		}},
		{"the NPU data are NCDHW and were converted from NDC1HWC0", tensor.Shape{2, 32, 3, 4, 5}, func(at []int64) int64 {
			return ((((at[0]*3+at[2])*2+at[1]/16)*4+at[3])*5+at[4])*16 + at[1]%16
		}},
		{"the NPU data were read as NHWC but are NCHW", tensor.Shape{2, 3, 4, 5}, func(at []int64) int64 {
			return ((at[0]*4+at[2])*5+at[3])*3 + at[1]
		}},
	}
	k := kind{tensor.Float16, tensor.Float32}
	for _, test := range tests {
		rng := rand.New(rand.NewPCG(4, 5))
		values := normal(rng, count(test.shape), 2, 0)
		good := noisy(rng, values)
		npu := make([]float64, len(good))
		for i := range npu {
			npu[i] = good[test.from(test.shape.Coordinates(int64(i)))]
		}
		_, findings := diagnosed(t, request(test.shape, k), memory{store(k.ref, values), 4}, memory{store(k.npu, npu), 2})
		if len(findings) == 0 || findings[0].Code != finding.Layout || !strings.HasPrefix(findings[0].Evidence.String(), test.text) {
			t.Errorf("%v, want %q", findings, test.text)
		}
	}
}

// TestOnlyLabel: the data are good, their shape is not.
func TestOnlyLabel(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	values := normal(rng, 2*3*5*6, 2, 0)
	k := kind{tensor.Float32, tensor.Float32}
	m := memory{store(k.ref, values), 4}
	findings, _, err := Examine(t.Context(), Tensors{
		Request: request(tensor.Shape{2, 3, 5, 6}, k), Ref: m, NPU: m, NPUShape: tensor.Shape{2, 5, 6, 3},
	})
	if err != nil || len(findings) != 1 || !strings.Contains(findings[0].Evidence.String(), "only their shape (2, 5, 6, 3) is wrong") {
		t.Errorf("got %v, error %v", findings, err)
	}
}

// TestNoPermutation: none is found for unrelated tensors and for shapes that are no
// permutation of each other.
func TestNoPermutation(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	k := kind{tensor.Float32, tensor.Float32}
	shape := tensor.Shape{3, 4, 5, 6}
	in := Tensors{
		Request: request(shape, k),
		Ref:     memory{store(k.ref, normal(rng, count(shape), 2, 0)), 4},
		NPU:     memory{store(k.npu, normal(rng, count(shape), 2, 0)), 4},
	}
	for _, npu := range []tensor.Shape{{3, 5, 6, 4}, {12, 30}, {360}} {
		in.NPUShape = npu
		if p, _, err := findPermutation(t, in); p != nil || err != nil {
			t.Errorf("%s: %+v, error %v", npu, p, err)
		}
	}
	in.NPUShape = tensor.Shape{3, 4, 5}
	if _, _, err := findPermutation(t, in); err == nil || !strings.Contains(err.Error(), "(3, 4, 5)") {
		t.Errorf("error %v for another number of elements", err)
	}
}

// TestAxisOrders: all permutations up to four axes, each once, without the
// identity.
func TestAxisOrders(t *testing.T) {
	want := map[int]int{0: 0, 1: 0, 2: 1, 3: 5, 4: 23}
	for rank := range 9 {
		all := axisOrders(rank)
		if n, ok := want[rank]; ok && len(all) != n || rank > 4 && len(all) < 4 {
			t.Errorf("rank %d: %d orders", rank, len(all))
		}
		seen := map[string]bool{}
		for _, known := range all {
			axes := known.axes
			if sorted := slices.Sorted(slices.Values(axes)); !slices.Equal(sorted, firstIntegers(rank)) {
				t.Errorf("%v is no permutation", axes)
			}
			if seen[axesText(axes)] || slices.Equal(axes, firstIntegers(rank)) {
				t.Errorf("%v is there twice or does nothing", axes)
			}
			seen[axesText(axes)] = true
		}
	}
}
