package synth

import (
	"encoding/binary"
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
