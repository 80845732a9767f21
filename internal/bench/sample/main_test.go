package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dumptool/internal/bench/synth"
	"dumptool/internal/convert"
	"dumptool/internal/npy"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

const shipped = "../../../testdata/sample"

func TestShipped(t *testing.T) {
	dir := t.TempDir()
	if err := run([]string{dir}); err != nil {
		t.Fatal(err)
	}
	made, there := names(t, dir), names(t, shipped)
	if strings.Join(made, "\n") != strings.Join(there, "\n") {
		t.Fatalf("made %q, shipped are %q", made, there)
	}
	for _, name := range made {
		got, want := read(t, filepath.Join(dir, name)), read(t, filepath.Join(shipped, name))
		if !bytes.Equal(got, want) {
			t.Errorf("%s: not what the generator writes, run go generate", name)
		}
	}
}

func TestRunErrors(t *testing.T) {
	if err := run(nil); err == nil {
		t.Error("no error without an argument")
	}
	if err := run([]string{filepath.Join("main.go", "x")}); err == nil {
		t.Error("no error for a folder below a file")
	}
}

func TestConvolution(t *testing.T) {
	conv := newConvolution()
	for i, got := range conv.output.Elements {
		at := tensor.Shape{batch, filters, side, side}.Coordinates(int64(i))
		want := slowConvolve(conv, at)
		if diff := math.Abs(tensor.Float16To64(got) - want); diff > math.Abs(want)/2048+1e-6 {
			t.Fatalf("element %v is %v, want %v", at, tensor.Float16To64(got), want)
		}
	}
}

// slowConvolve computes an output element in float64 from a padded picture.
func slowConvolve(conv convolution, at []int64) float64 {
	pixel := func(c, y, x int64) float64 {
		if min(y, x) < 1 || max(y, x) > side {
			return 0
		}
		return tensor.Float16To64(conv.input.Elements[((at[0]*channels+c)*side+y-1)*side+x-1])
	}
	var sum float64
	for i := range int64(channels * kernel * kernel) {
		c, y, x := i/9, i/3%3, i%3
		sum += pixel(c, at[2]+y, at[3]+x) * tensor.Float16To64(conv.weight.Elements[at[1]*channels*kernel*kernel+i])
	}
	return sum
}

func TestGradientOverflowsInPlaces(t *testing.T) {
	grad := newGradient()
	infinite := 0
	for _, h := range grad.product.Elements {
		if h&0x7fff == 0x7c00 {
			infinite++
		}
	}
	if infinite == 0 || infinite > len(grad.product.Elements)/10 {
		t.Errorf("%d of %d elements are infinite, want a few", infinite, len(grad.product.Elements))
	}
	for _, in := range []synth.Tensor{grad.left, grad.right} {
		for i, h := range in.Elements {
			if h&0x7c00 == 0x7c00 {
				t.Errorf("input element %d is %v", i, tensor.Float16To64(h))
			}
		}
	}
}

// The shipped files, converted, are the arrays that they were made from.
func TestConvert(t *testing.T) {
	out := t.TempDir()
	target := tensor.NCHW
	opt := convert.Options{Out: out, Target: &target, Type: convert.Npy}
	sum, err := convert.Run(context.Background(), opt, tensorfile.Find([]string{shipped}, tensorfile.FindOptions{}), nil, func(r convert.Result) {
		if r.Failed() || len(r.Warnings) > 0 {
			t.Errorf("%s: %+v", r.Job.Name, r)
		}
		for _, row := range r.Rows {
			if len(row.Warnings) > 0 {
				t.Errorf("%s: %+v", r.Job.Name, row)
			}
		}
	})
	if err != nil || sum.Files != 3 || sum.Written != 7 {
		t.Fatalf("summary %+v, error %v", sum, err)
	}
	conv, grad := newConvolution(), newGradient()
	for pattern, want := range map[string]synth.Tensor{
		"Conv2D.*.input.0.2x3x16x16.npy":   conv.input,
		"Conv2D.*.input.1.64x3x3x3.npy":    conv.weight,
		"Conv2D.*.output.0.2x64x16x16.npy": conv.output,
		"MatMul.*.input.0.16x10.npy":       grad.left,
		"MatMul.*.input.1.10x100.npy":      grad.right,
		"MatMul.*.output.0.16x100.npy":     grad.product,
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

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
