package tensorfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/format"
	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
)

func open(t *testing.T, data []byte) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestStored tests how many elements the bytes of a tensor hold.
func TestStored(t *testing.T) {
	s := func(d ...int64) tensor.Shape { return d }
	broken := errors.New("broken")
	tests := []struct {
		name  string
		t     format.Tensor
		want  tensor.Shape
		error string
	}{
		{"exact", format.Tensor{Tensor: tensor.Tensor{DType: tensor.Float16, Shape: s(2, 3), Size: 12}}, s(2, 3), ""},
		{"more bytes", format.Tensor{Tensor: tensor.Tensor{DType: tensor.Float16, Shape: s(2, 3), Size: 64}}, s(2, 3), ""},
		{"fewer bytes", format.Tensor{Tensor: tensor.Tensor{DType: tensor.Float16, Shape: s(2, 3), Size: 11}}, nil,
			"(2, 3) elements of float16 need 12 bytes, found 11"},
		{"no shape", format.Tensor{Tensor: tensor.Tensor{DType: tensor.Float16, Size: 7}}, s(3), ""},
		{"no shape, packed", format.Tensor{Tensor: tensor.Tensor{DType: tensor.Uint1, Size: 2}}, s(16), ""},
		{"no shape, one element", format.Tensor{Tensor: tensor.Tensor{DType: tensor.Float32, Size: 4}}, s(1), ""},
		{"scalar of an array", format.Tensor{Tensor: tensor.Tensor{DType: tensor.Float32, Shape: tensor.Shape{}, Size: 4}}, tensor.Shape{}, ""},
		{"undefined", format.Tensor{Tensor: tensor.Tensor{DType: tensor.Undefined, Shape: s(2, 3), Size: 24}}, s(24), ""},
		{"empty", format.Tensor{Tensor: tensor.Tensor{DType: tensor.Float16, Shape: s(0, 3)}}, s(0, 3), ""},
		{"packed", format.Tensor{Tensor: tensor.Tensor{DType: tensor.Int4, Shape: s(3), Size: 2}}, s(3), ""},
		{"packed, too few", format.Tensor{Tensor: tensor.Tensor{DType: tensor.Int4, Shape: s(5), Size: 2}}, nil, "(5,) elements of int4 need 3 bytes, found 2"},
		{"no elements", format.Tensor{Tensor: tensor.Tensor{DType: tensor.String, Size: 2}}, nil, "tensor: unsupported element type string"},
		{"absurd", format.Tensor{Tensor: tensor.Tensor{DType: tensor.Int8, Shape: s(1<<62, 4), Size: 2}}, nil,
			"shape (4611686018427387904, 4) has too many elements"},
		{"unusable", format.Tensor{Err: broken}, nil, "broken"},
	}
	for _, tt := range tests {
		got, err := (&Tensor{Tensor: tt.t}).StoredShape()
		text := ""
		if err != nil {
			text = err.Error()
		}
		if !got.Equal(tt.want) || text != tt.error {
			t.Errorf("%s: %v, error %q; want %v, error %q", tt.name, got, text, tt.want, tt.error)
		}
	}
}

// TestElements reads elements from any position, packed or not.
func TestElements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom([]tensor.DType{tensor.Uint1, tensor.Int2, tensor.Int4, tensor.Int8, tensor.BFloat16, tensor.Complex128}).Draw(t, "type")
		n := rapid.IntRange(1, 100).Draw(t, "elements")
		size, _ := d.Bytes(int64(n))
		data := rapid.SliceOfN(rapid.Byte(), int(size), int(size)).Draw(t, "data")
		var b bytes.Buffer
		if err := dumptest.Write(&b, &dumptest.Content{Container: dumpfmt.BinaryV2, Outputs: []dumptest.TensorContent{{
			Payload: dumptest.Bytes(data), StoredDType: int32(d), StoredFormat: 2, Shape: []uint64{uint64(n)}}}}); err != nil {
			t.Fatal(err)
		}
		dump, err := dumpfmt.Read(bytes.NewReader(b.Bytes()), int64(b.Len()), dumpfmt.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e := (&Tensor{Tensor: format.Tensor{Tensor: dump.Outputs[0]}}).Elements()
		unit := d.UnitSize()
		all := make([]byte, n*unit)
		if err := e.ReadElements(all, 0); err != nil {
			t.Fatal(err)
		}
		want := data
		if d.IsPacked() {
			want = make([]byte, n)
			tensor.Unpack(want, data, d, 0)
		}
		if !bytes.Equal(all, want) {
			t.Fatal("the elements differ")
		}
		first := rapid.IntRange(0, n-1).Draw(t, "first")
		count := rapid.IntRange(0, n-first).Draw(t, "count")
		part := make([]byte, count*unit)
		if err := e.ReadElements(part, int64(first)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(part, all[first*unit:(first+count)*unit]) {
			t.Fatalf("elements %d to %d differ", first, first+count)
		}
		if err := e.ReadElements(make([]byte, (n+8)*unit), 0); err == nil {
			t.Fatal("read beyond the end")
		}
	})
}

func TestArray(t *testing.T) {
	header, err := npy.AppendHeader(nil, tensor.HostUint16, tensor.Shape{2, 1})
	if err != nil {
		t.Fatal(err)
	}
	f := open(t, append(header, 1, 0, 2, 0, 9))
	if f.Op != nil || f.Container != "npy" || len(f.Tensors) != 1 || len(f.Warnings) != 1 {
		t.Fatalf("%+v", f)
	}
	a := f.Tensors[0]
	if a.String() != "output 0" || a.DType != tensor.Uint16 || a.Format != tensor.ND || !a.Shape.Equal(tensor.Shape{2, 1}) || a.Size != 4 {
		t.Errorf("%+v", a)
	}
	var got [4]byte
	if err := a.Elements().ReadElements(got[:], 0); err != nil || got != [4]byte{1, 0, 2, 0} {
		t.Errorf("%v, error %v", got, err)
	}
	if data := open(t, mustHeader(t)); data.Tensors[0].Shape == nil {
		t.Error("the shape of a scalar is not recorded")
	}
}

// mustHeader returns a numpy array without dimensions.
func mustHeader(t *testing.T) []byte {
	t.Helper()
	header, err := npy.AppendHeader(nil, tensor.HostInt8, nil)
	if err != nil {
		t.Fatal(err)
	}
	return append(header, 7)
}

// TestSurplus: a tensor of a dump with more bytes than its shape needs gives a warning, unless the
// runtime's padding explains it.
func TestSurplus(t *testing.T) {
	for _, test := range []struct {
		size int64
		want bool
	}{{24, false}, {32, false}, {64, false}, {48, true}, {25, true}, {96, true}, {128, true}} {
		one := tensor.Tensor{DType: tensor.Float32, Shape: tensor.Shape{2, 3}, Size: test.size}
		if need, ok := hasSurplusBytes(&one); ok != test.want || need != 24 {
			t.Errorf("%d bytes: %v, needs %d, want %v, 24", test.size, ok, need, test.want)
		}
	}
	for _, one := range []tensor.Tensor{
		{DType: tensor.Float32, Size: 100}, {DType: tensor.Undefined, Shape: tensor.Shape{1}, Size: 100}, {DType: tensor.Float32, Shape: tensor.Shape{0}, Size: 100},
	} {
		if _, ok := hasSurplusBytes(&one); ok {
			t.Errorf("%+v has a surplus", one)
		}
	}
}
