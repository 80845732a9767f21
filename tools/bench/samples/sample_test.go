package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"dumptool/internal/convert"
	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
	"dumptool/tools/bench/synth"
)

func TestGradientOverflowsInPlaces(t *testing.T) {
	grad := newGradient()
	infinite := 0
	for _, h := range grad.Output.Elements {
		if h&0x7fff == 0x7c00 {
			infinite++
		}
	}
	if infinite == 0 || infinite > len(grad.Output.Elements)/10 {
		t.Errorf("%d of %d elements are infinite, want a few", infinite, len(grad.Output.Elements))
	}
	for _, in := range grad.Inputs {
		for i, h := range in.Elements {
			if h&0x7c00 == 0x7c00 {
				t.Errorf("input element %d is %v", i, tensor.Float16To64(h))
			}
		}
	}
}

// TestConvert: the shipped files, converted, are the arrays that they were made
// from.
func TestConvert(t *testing.T) {
	out := t.TempDir()
	target := tensor.NCHW
	opt := convert.Options{Out: out, Target: &target, Type: convert.Npy}
	dir := filepath.Join(shipped, "sample")
	in, _, err := opt.Open(t.Context(), []string{dir}, false)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := convert.Run(context.Background(), opt, in, nil, func(r *convert.Result) error {
		if r.HasFailed() || len(r.Warnings) > 0 {
			t.Errorf("%s: %+v", r.Job.Name, r)
		}
		for _, row := range r.Rows {
			if len(row.Warnings) > 0 {
				t.Errorf("%s: %+v", r.Job.Name, row)
			}
		}
		return nil
	})
	if err != nil || sum.Files != 3 || sum.Written != 7 {
		t.Fatalf("summary %+v, error %v", sum, err)
	}
	conv, grad := newConvolution(), newGradient()
	for pattern, want := range map[string]synth.Tensor{
		"Conv2D.*.input.0.2x3x16x16.npy":   conv.Inputs[0],
		"Conv2D.*.input.1.64x3x3x3.npy":    conv.Inputs[1],
		"Conv2D.*.output.0.2x64x16x16.npy": conv.Output,
		"MatMul.*.input.0.16x10.npy":       grad.Inputs[0],
		"MatMul.*.input.1.10x100.npy":      grad.Inputs[1],
		"MatMul.*.output.0.16x100.npy":     grad.Output,
	} {
		paths, err := filepath.Glob(filepath.Join(out, pattern))
		if err != nil || len(paths) != 1 {
			t.Fatalf("%s: found %q", pattern, paths)
		}
		data := read(t, paths[0])
		f, err := npy.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		var elements []byte
		for _, e := range want.Elements {
			elements = binary.LittleEndian.AppendUint16(elements, e)
		}
		if !bytes.Equal(data[f.Offset:], elements) {
			t.Errorf("%s: not the elements that the dump was made from", pattern)
		}
	}
}

// TestFault checks that the NPU follows the host to the rounding of float16, but
// for the rows of conv2 that the fault is in.
func TestFault(t *testing.T) {
	all := layers()
	for _, l := range all[:3] {
		bad := 0
		for i, want := range l.host {
			row := i / side % side
			switch far := math.Abs(l.device[i]-want) > 0.005+0.01*math.Abs(want); {
			case far && (l.name != "conv2" || row < side-tileRows):
				t.Errorf("%s: element %d is %v, want %v", l.name, i, l.device[i], want)
			case far:
				bad++
			}
		}
		if l.name == "conv2" && bad < filters*tileRows*side*3/4 {
			t.Errorf("conv2: only %d elements are bad", bad)
		}
	}
}

func TestLayers(t *testing.T) {
	values := make([]float64, filters*side*side)
	for i := range values {
		values[i] = float64(i)
	}
	if got := mean(values); len(got) != filters || got[0] != 31.5 || got[2] != 31.5+2*64 {
		t.Errorf("means %v", got)
	}
	if got := relu([]float64{-1, 0, 2}); !slices.Equal(got, []float64{0, 0, 2}) {
		t.Errorf("relu %v", got)
	}
}
