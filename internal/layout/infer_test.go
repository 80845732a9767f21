package layout

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"dumptool/internal/tensor"
)

// TestOriginalOrderIsFound converts device buffers of host arrays whose order the file does not
// record. The common conversion tool converts the first rows to wrong data without an error.
func TestOriginalOrderIsFound(t *testing.T) {
	tests := []struct {
		name     string
		source   tensor.Format // layout in the file
		c0       int64
		original tensor.Format // order of the host array
		host     tensor.Shape
		target   tensor.Format
		want     tensor.Shape
		warning  string
	}{
		{"NHWC behind NC1HWC0", tensor.NC1HWC0, 16, tensor.NHWC, s(1, 2, 3, 20), tensor.NCHW, s(1, 20, 2, 3), ""},
		{"NCHW to NHWC", tensor.NC1HWC0, 16, tensor.NCHW, s(1, 20, 2, 3), tensor.NHWC, s(1, 2, 3, 20), ""},
		{"HWCN behind FRACTAL_Z", tensor.FractalZ, 16, tensor.HWCN, s(3, 5, 20, 18), tensor.NCHW, s(18, 20, 3, 5), ""},
		{"NHWC behind FRACTAL_Z", tensor.FractalZ, 16, tensor.NHWC, s(18, 2, 3, 20), tensor.HWCN, s(2, 3, 20, 18), ""},
		{"CHWN behind FRACTAL_Z", tensor.FractalZ, 16, tensor.CHWN, s(20, 2, 3, 40), tensor.NCHW, s(40, 20, 2, 3), ""},
		{"NDHWC behind NDC1HWC0", tensor.NDC1HWC0, 16, tensor.NDHWC, s(2, 3, 4, 5, 20), tensor.NCDHW, s(2, 20, 3, 4, 5), ""},
		{"NDC1HWC0 to ND keeps the order", tensor.NDC1HWC0, 16, tensor.NCDHW, s(2, 20, 3, 4, 5), tensor.ND, s(2, 20, 3, 4, 5), ""},
		{"DHWCN behind FRACTAL_Z_3D", tensor.FractalZ3D, 16, tensor.DHWCN, s(2, 3, 5, 20, 40), tensor.NCDHW, s(40, 20, 2, 3, 5), ""},
		{"int8 blocks", tensor.NC1HWC0, 32, tensor.NHWC, s(2, 3, 4, 40), tensor.NHWC, s(2, 3, 4, 40), ""},
		{"all sizes equal", tensor.NC1HWC0, 16, tensor.NHWC, s(4, 4, 4, 4), tensor.NCHW, s(4, 4, 4, 4), ""},
		{"several fit, the target's own wins", tensor.FractalZ, 16, tensor.NHWC, s(4, 4, 4, 5), tensor.NHWC, s(4, 4, 4, 5), "read as NHWC (N=4 H=4 W=4 C=5) and as HWCN (H=4 W=4 C=4 N=5)"},
		{"several fit, the first one wins", tensor.FractalZ, 16, tensor.HWCN, s(4, 4, 4, 5), tensor.NCHW, s(5, 4, 4, 4), "read as HWCN (H=4 W=4 C=4 N=5) and as NHWC (N=4 H=4 W=4 C=5)"},
		{"lower rank", tensor.NC1HWC0, 16, tensor.NCHW, s(20, 2, 3), tensor.NCHW, s(20, 2, 3), ""},
		{"a vector of channels", tensor.NC1HWC0, 16, tensor.NCHW, s(20), tensor.NCHW, s(20), ""},
		{"lower rank to another order", tensor.NC1HWC0, 16, tensor.NCHW, s(20, 2, 3), tensor.NHWC, s(1, 2, 3, 20), "keeps all axes"},
		{"four axes behind NDC1HWC0", tensor.NDC1HWC0, 16, tensor.NCHW, s(2, 20, 3, 5), tensor.NCDHW, s(2, 20, 3, 5), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rule := ruleOf(tt.source)
			order := tt.original.String()
			full := tt.host
			if len(full) < len(order) {
				full = nameAxes(expansion[tt.original][len(full)], full).shape(order)
			}
			host := numbers(full.Elements(), 4)
			p := params{c0: tt.c0, n0: 16, cout: 16, groups: 1}
			want, err := rule.relations(nameAxes(order, full), p)
			if err != nil {
				t.Fatal(err)
			}
			dev := shapeOf(want)
			device := collect(t, newStepReader(rule.mapTo(nameAxes(order, full), dev, p, order), true, host, 4, &Buffers{}), 4)
			pl := plan(t, Request{DType: tensor.Float32, Source: tt.source, Shape: dev, Original: tt.host, Target: tt.target})
			if !pl.Shape.Equal(tt.want) {
				t.Errorf("shape %v, want %v", pl.Shape, tt.want)
			}
			got := execute(t, pl, device, &Buffers{})
			to := order
			if letters, ok := Order(tt.target); ok {
				to = letters
			}
			if len(order) == len(to) && !bytes.Equal(got.data, slowPermute(host, full, order, to).data) {
				t.Error("the data differs")
			}
			if text := fmt.Sprint(pl.Warnings); !strings.Contains(text, tt.warning) {
				t.Errorf("warnings %q, want %q", text, tt.warning)
			}
		})
	}
}

// TestRecordedOrderWins: where the file records the order of the original
// shape, or the user gives it, nothing is guessed.
func TestRecordedOrderWins(t *testing.T) {
	chwn := tensor.CHWN
	r := Request{DType: tensor.Float32, Source: tensor.FractalZ, Shape: s(16, 1, 16, 16), Original: s(4, 4, 4, 5), Target: tensor.NHWC}
	if p := plan(t, r); !p.Shape.Equal(s(4, 4, 4, 5)) || len(p.Warnings) != 1 {
		t.Errorf("guessed: shape %v, warnings %q", p.Shape, p.Warnings)
	}
	recorded, given := r, r
	recorded.OriginalFormat, given.Order = &chwn, &chwn
	for name, r := range map[string]Request{"recorded": recorded, "given": given} {
		if p := plan(t, r); !p.Shape.Equal(s(5, 4, 4, 4)) || len(p.Warnings) > 0 {
			t.Errorf("%s: shape %v, warnings %q", name, p.Shape, p.Warnings)
		}
	}
}

// TestVectorInFractalNZ reads a one-dimensional host shape as a row or as a
// column, as the device shape or else the data shows.
func TestVectorInFractalNZ(t *testing.T) {
	tests := []struct {
		name   string
		host   int64
		dev    tensor.Shape
		at     func(i int64) int64 // device offset of element i
		copies bool
	}{
		{"long row", 40, s(3, 1, 16, 16), func(i int64) int64 { return i/16*256 + i%16 }, false},
		{"long column", 40, s(1, 3, 16, 16), func(i int64) int64 { return i * 16 }, false},
		{"short row", 7, s(1, 1, 16, 16), func(i int64) int64 { return i }, false},
		{"short column", 7, s(1, 1, 16, 16), func(i int64) int64 { return i * 16 }, false},
		{"one element", 1, s(1, 1, 16, 16), func(i int64) int64 { return 0 }, false},
		{"not blocked", 32, s(32), func(i int64) int64 { return i }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := plan(t, Request{DType: tensor.Float16, Source: tensor.FractalNZ, Shape: tt.dev, Original: s(tt.host), Target: tensor.ND})
			dev := newMemory(tt.dev.Elements(), 2)
			for i := range tt.host {
				put(dev.data[tt.at(i)*2:], 2, uint64(i+1))
			}
			if !p.Shape.Equal(s(tt.host)) || p.Copies() != tt.copies {
				t.Fatalf("shape %v, copies %v", p.Shape, p.Copies())
			}
			got := execute(t, p, dev, &Buffers{})
			for i := range tt.host {
				if x := get(got.data[i*2:], 2); x != uint64(i+1) {
					t.Fatalf("element %d is %d", i, x)
				}
			}
		})
	}
}

// TestWithoutOriginalShape unpacks with the padding, and says so.
func TestWithoutOriginalShape(t *testing.T) {
	tests := []struct {
		source tensor.Format
		dev    tensor.Shape
		target tensor.Format
		want   tensor.Shape
	}{
		{tensor.NC1HWC0, s(2, 3, 4, 5, 16), tensor.NHWC, s(2, 4, 5, 48)},
		{tensor.NC1HWC0C04, s(2, 1, 4, 5, 4), tensor.NCHW, s(2, 4, 4, 5)},
		{tensor.NDC1HWC0, s(2, 6, 3, 4, 5, 16), tensor.NCDHW, s(2, 48, 6, 4, 5)},
		{tensor.NDC1HWC0, s(2, 6, 3, 4, 5, 16), tensor.ND, s(2, 48, 6, 4, 5)},
		{tensor.C1HWNCoC0, s(2, 3, 4, 5, 16, 16), tensor.HWCN, s(3, 4, 32, 5)},
		{tensor.FractalNZ, s(7, 2, 3, 16, 32), tensor.ND, s(7, 48, 64)},
		{tensor.FractalZZ, s(2, 3, 16, 16), tensor.ND, s(32, 48)},
	}
	for _, tt := range tests {
		p := plan(t, Request{DType: tensor.Float16, Source: tt.source, Shape: tt.dev, Target: tt.target})
		if !p.Shape.Equal(tt.want) || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0].String(), "padding is kept") {
			t.Errorf("%s: shape %v, want %v; warnings %q", tt.source, p.Shape, tt.want, p.Warnings)
		}
	}
}

// TestFourBitFloats checks that FRACTAL_NZ blocks four-bit floats by bytes: two
// elements each, half as many blocks of twice the width.
func TestFourBitFloats(t *testing.T) {
	p := plan(t, Request{DType: tensor.Float4E2M1, Source: tensor.FractalNZ, Shape: s(2, 1, 16, 32), Original: s(3, 50), Target: tensor.ND})
	dev := newMemory(2*16*32, 1)
	for m := range int64(3) {
		for n := range int64(50) {
			dev.data[m*64+n] = byte(m*50 + n)
		}
	}
	got := execute(t, p, dev, &Buffers{})
	for i := range 150 {
		if got.data[i] != byte(i) {
			t.Fatalf("element %d is %d", i, got.data[i])
		}
	}
}

func TestUserShape(t *testing.T) {
	// In the target's order, also where the file records another one.
	p := plan(t, Request{Source: tensor.NC1HWC0, Shape: s(2, 2, 3, 4, 16), Original: s(2, 20, 3, 4),
		Target: tensor.NHWC, TargetShape: s(2, 3, 4, 18)})
	if !p.Shape.Equal(s(2, 3, 4, 18)) {
		t.Errorf("shape %v", p.Shape)
	}
	// A host array is cropped by axis, not by position.
	p = plan(t, Request{Source: tensor.NCHW, Shape: s(1, 16, 4, 5), Target: tensor.NHWC, TargetShape: s(1, 4, 5, 3)})
	src := numbers(16*4*5, 2)
	got := execute(t, p, src, &Buffers{})
	for i := range int64(4 * 5 * 3) {
		if want := uint64(i%3*20 + i/3 + 1); get(got.data[i*2:], 2) != want {
			t.Fatalf("element %d is %d, want %d", i, get(got.data[i*2:], 2), want)
		}
	}
	p = plan(t, Request{Source: tensor.NCHW, Shape: s(1, 16, 4, 5), Target: tensor.NCHW, TargetShape: s(1, 3, 4, 5)})
	if got := execute(t, p, src, &Buffers{}); !bytes.Equal(got.data, src.data[:2*3*4*5]) {
		t.Error("a crop in the same order differs")
	}
	// Elements that stay in their order are only grouped otherwise.
	p = plan(t, Request{Source: tensor.ND, Shape: s(4, 6), Target: tensor.ND, TargetShape: s(24)})
	if !p.Shape.Equal(s(24)) || !p.Copies() {
		t.Errorf("shape %v", p.Shape)
	}
}

func TestCrop(t *testing.T) {
	p, err := Crop(s(2, 3), s(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	got := execute(t, p, numbers(6, 1), &Buffers{})
	if want := []byte{1, 2}; !bytes.Equal(got.data, want) {
		t.Errorf("%v, want %v", got.data, want)
	}
	for _, want := range []tensor.Shape{s(3, 3), s(6)} {
		if p, err := Crop(s(2, 3), want); err == nil || p != nil {
			t.Errorf("cropped (2, 3) to %v", want)
		}
	}
}

// TestMatrixWeights: FRACTAL_Z of a two-dimensional host shape is the weight of
// a MatMul, K by N, unless the axes are known, or there are groups.
func TestMatrixWeights(t *testing.T) {
	hwcn, nchw := tensor.HWCN, tensor.NCHW
	tests := []struct {
		name   string
		change func(*Request)
		shape  tensor.Shape
		format tensor.Format
		off    func(c, n int64) int64 // in the result
	}{
		{"ND", func(r *Request) { r.Target = tensor.ND }, s(20, 28), tensor.ND, func(c, n int64) int64 { return c*28 + n }},
		{"no axes known", func(r *Request) { r.Target = tensor.NCHW }, s(20, 28), tensor.ND, func(c, n int64) int64 { return c*28 + n }},
		{"HWCN by the user", func(r *Request) { r.Target, r.Order = tensor.NCHW, &hwcn }, s(28, 20, 1, 1), tensor.NCHW,
			func(c, n int64) int64 { return n*20 + c }},
		{"HWCN by the file", func(r *Request) { r.Target, r.OriginalFormat = tensor.NHWC, &hwcn }, s(28, 1, 1, 20), tensor.NHWC,
			func(c, n int64) int64 { return n*20 + c }},
		{"an order that does not fit", func(r *Request) { r.Target, r.OriginalFormat = tensor.ND, &nchw }, s(20, 28), tensor.ND,
			func(c, n int64) int64 { return c*28 + n }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Request{DType: tensor.Float16, Source: tensor.FractalZ, Shape: s(2, 2, 16, 16), Original: s(20, 28)}
			tt.change(&r)
			p := plan(t, r)
			if !p.Shape.Equal(tt.shape) || p.Format != tt.format {
				t.Fatalf("%s %v, want %s %v", p.Format, p.Shape, tt.format, tt.shape)
			}
			dev := newMemory(2*2*16*16, 2)
			for c := range int64(20) {
				for n := range int64(28) {
					put(dev.data[((c/16*32+n)*16+c%16)*2:], 2, uint64(c*28+n+1))
				}
			}
			got := execute(t, p, dev, &Buffers{})
			for c := range int64(20) {
				for n := range int64(28) {
					if x := get(got.data[tt.off(c, n)*2:], 2); x != uint64(c*28+n+1) {
						t.Fatalf("C %d, N %d is %d", c, n, x)
					}
				}
			}
		})
	}
	// With groups the second one starts at its own rows: HWCN (1, 1, 4, 8).
	p := plan(t, Request{DType: tensor.Float16, Source: tensor.FractalZ, Shape: s(1, 1, 16, 16), Original: s(4, 8), Groups: 2, Target: tensor.HWCN})
	dev := newMemory(256, 2)
	for i := range int64(256) {
		put(dev.data[i*2:], 2, uint64(i))
	}
	got := execute(t, p, dev, &Buffers{})
	for c := range int64(4) {
		for n := range int64(8) {
			want := uint64(n*16 + n/4*4 + c)
			if x := get(got.data[(c*8+n)*2:], 2); x != want {
				t.Fatalf("C %d, N %d is %d, want %d", c, n, x, want)
			}
		}
	}
}

// TestFullyConnectedOutput reads two dimensions as N and C when no rule of
// expansion fits.
func TestFullyConnectedOutput(t *testing.T) {
	for _, target := range []tensor.Format{tensor.NCHW, tensor.NHWC, tensor.ND} {
		p := plan(t, Request{DType: tensor.Float16, Source: tensor.NC1HWC0, Shape: s(8, 2, 1, 1, 16), Original: s(8, 20), Target: target})
		if !p.Shape.Equal(s(8, 20)) {
			t.Errorf("%s: shape %v", target, p.Shape)
		}
	}
}

// TestManyGroups makes the blocks of a depthwise filter when they are needed.
func TestManyGroups(t *testing.T) {
	const groups = 6000
	host := s(groups, 1, 3, 3)
	there := plan(t, Request{DType: tensor.Int8, Source: tensor.NCHW, Shape: host, Groups: groups, Target: tensor.FractalZ, TargetC0: 32})
	src := numbers(host.Elements(), 1)
	dev := execute(t, there, src, &Buffers{})
	home := plan(t, Request{DType: tensor.Int8, Source: tensor.FractalZ, Shape: there.Shape, Original: host, Groups: groups, Target: tensor.NCHW})
	if got := execute(t, home, dev, &Buffers{}); !bytes.Equal(got.data, src.data) {
		t.Error("does not come back")
	}
}

// TestBiasBlocks: the C0 of ND_RNN_BIAS comes from the device shape: blocks of
// 20 in 2 parts are padded to any multiple of a C0.
func TestBiasBlocks(t *testing.T) {
	for width, c0 := range map[int64]int64{20: 4, 24: 8, 32: 16, 64: 64} {
		p := plan(t, Request{DType: tensor.Float16, Source: tensor.NDRNNBias, Shape: s(3, 2*width), Original: s(3, 40), Target: tensor.ND, HiddenSize: 20})
		if !p.Shape.Equal(s(3, 40)) {
			t.Errorf("C0 %d: shape %v", c0, p.Shape)
		}
		got := execute(t, p, numbers(3*2*width, 2), &Buffers{})
		for i := range int64(120) {
			if want := i/20*width + i%20 + 1; get(got.data[i*2:], 2) != uint64(want) {
				t.Fatalf("C0 %d: element %d is %d, want %d", c0, i, get(got.data[i*2:], 2), want)
			}
		}
	}
	_, err := NewPlan(Request{DType: tensor.Float16, Source: tensor.NDRNNBias, Shape: s(80), Original: s(40), Target: tensor.ND, HiddenSize: 19})
	var shape *ShapeError
	if !errors.As(err, &shape) {
		t.Errorf("error %v", err)
	}
	_, err = NewPlan(Request{DType: tensor.Float16, Source: tensor.NDRNNBias, Shape: s(50), Original: s(40), Target: tensor.ND, HiddenSize: 20})
	if !errors.As(err, &shape) {
		t.Errorf("error %v", err)
	}
}
