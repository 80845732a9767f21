package synth

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// The vectors hold 1, 2, 3... in host order. Their fingerprint is the sum of
// all device elements, each times its position from 1; it was computed apart
// from this program.
func TestDevice(t *testing.T) {
	for _, test := range []struct {
		format      tensor.Format
		host        []int
		device      []int
		fingerprint int
	}{
		{tensor.NC1HWC0, []int{2, 20, 3, 2}, []int{2, 2, 3, 2, 16}, 6325300},
		{tensor.FractalZ, []int{20, 18, 2, 3}, []int{12, 2, 16, 16}, 24687166},
		{tensor.FractalNZ, []int{20, 28}, []int{2, 2, 16, 16}, 68875160},
		{tensor.FractalNZ, []int{1, 40}, []int{3, 1, 16, 16}, 256380},
	} {
		v := Tensor{Format: test.format, Shape: test.host}
		for i := range v.Count() {
			v.Elements = append(v.Elements, uint16(i+1))
		}
		shape, data := v.DeviceShape(), v.Device()
		if !slices.Equal(shape, test.device) {
			t.Errorf("%v of %v: shape %v, want %v", test.format, test.host, shape, test.device)
		}
		if len(data) != v.DeviceSize() {
			t.Errorf("%v of %v: %d bytes, want %d", test.format, test.host, len(data), v.DeviceSize())
		}
		sum := 0
		for i := range len(data) / 2 {
			sum = (sum + (i+1)*int(binary.LittleEndian.Uint16(data[2*i:]))) % (1<<31 - 1)
		}
		if sum != test.fingerprint {
			t.Errorf("%v of %v: fingerprint %d, want %d", test.format, test.host, sum, test.fingerprint)
		}
	}
}

func TestWriteFile(t *testing.T) {
	matrix := Tensor{Format: tensor.FractalNZ, Shape: []int{2, 3}, Elements: []uint16{1, 2, 3, 4, 5, 6}}
	path := filepath.Join(t.TempDir(), "MatMul.fc.1.2.1624605159829577")
	content := &dumptest.Content{
		Container: dumpfmt.BinaryV2, OpName: "net/fc",
		Inputs:  []dumptest.TensorContent{matrix.Input()},
		Outputs: []dumptest.TensorContent{matrix.Output("net/fc")},
	}
	if err := WriteFile(path, content); err != nil {
		t.Fatal(err)
	}
	f, err := tensorfile.Open(path, tensorfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(f.Warnings) > 0 || f.Op.Name != "net/fc" || len(f.Tensors) != 2 {
		t.Fatalf("read back as %+v", f)
	}
	out := f.Tensors[1]
	if out.Format != tensor.FractalNZ || !out.OriginalShape.Equal(tensor.Shape{2, 3}) || out.OriginalFormat == nil || *out.OriginalFormat != tensor.ND {
		t.Errorf("output read back as %+v", out)
	}
	if err := WriteFile(filepath.Join(path, "x"), content); err == nil {
		t.Error("a file below a file could be written")
	}
}

// TestConvolve compares sums with those of a padded picture, added up in another
// order.
func TestConvolve(t *testing.T) {
	c := Convolution{Channels: 3, Filters: 5, Side: 6, Kernel: 3}
	random := rand.New(rand.NewPCG(1, 1))
	picture := Uniform[float64](random, c.Channels*c.Side*c.Side, 2)
	weight := Uniform[float64](random, c.Filters*c.Channels*9, 1)
	side := c.Side + 2
	padded := make([]float64, c.Channels*side*side)
	for i, v := range picture {
		channel, y, x := i/36, i/6%6, i%6
		padded[(channel*side+y+1)*side+x+1] = v
	}
	for i, got := range Convolve(c, picture, weight, nil) {
		f, y, x := i/36, i/6%6, i%6
		var want float64
		for dx := 2; dx >= 0; dx-- {
			for dy := range 3 {
				for channel := range c.Channels {
					want += padded[(channel*side+y+dy)*side+x+dx] * weight[((f*c.Channels+channel)*3+dy)*3+dx]
				}
			}
		}
		if math.Abs(got-want) > 1e-13 {
			t.Errorf("element %d is %v, want %v", i, got, want)
		}
	}
}

// TestConvolveLost: a convolution of ones counts the products that it adds up.
func TestConvolveLost(t *testing.T) {
	c := Convolution{Channels: 32, Filters: 2, Side: 8, Kernel: 3}
	ones := make([]float64, 32*64)
	for i := range ones {
		ones[i] = 1
	}
	lost := func(channel, row int) bool { return row >= 4 && channel >= 16 }
	whole, faulty := Convolve(c, ones, ones, nil), Convolve(c, ones, ones, lost)
	for at, want := range map[int][2]float64{
		0: {4 * 32, 4 * 32}, 1: {6 * 32, 6 * 32}, 9: {9 * 32, 9 * 32}, 33: {9 * 32, 9 * 16}, 63: {4 * 32, 4 * 16},
	} {
		if whole[at] != want[0] || faulty[at] != want[1] {
			t.Errorf("element %d: %v and %v, want %v", at, whole[at], faulty[at], want)
		}
	}
}

func TestMultiply(t *testing.T) {
	got := Multiply([]float32{1, 2, 3, 4}, []float32{5, 6, 7, 8, 9, 10}, 2)
	if want := []float32{21, 24, 27, 47, 54, 61}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRounded(t *testing.T) {
	values := Uniform[float64](rand.New(rand.NewPCG(1, 2)), 1000, 3)
	halves, rounded := Halves(values), Rounded(values)
	for i, v := range values {
		if math.Abs(v) > 3 || math.Abs(rounded[i]-v) > 0x1p-10 || tensor.Float16To64(halves[i]) != rounded[i] {
			t.Errorf("%v is rounded to %v, %#04x", v, rounded[i], halves[i])
		}
	}
}
