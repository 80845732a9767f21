package tensorfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dumptool/internal/tensor"
)

func dims(d ...int64) tensor.Shape { return append(tensor.Shape{}, d...) }

func formatOf(f tensor.Format) *tensor.Format { return &f }

func writeFile(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func openRaw(path, name string, hint RawHint) (*File, error) {
	return Open(path, Options{Name: name, Raw: &hint})
}

func TestOpenRaw(t *testing.T) {
	tests := []struct {
		what, name string
		size       int
		hint       RawHint
		want       tensor.Tensor
		err        string
	}{
		{what: "all in the name", name: "x_output_0_shape_2_3_Float16_DefaultFormat.bin", size: 12,
			want: tensor.Tensor{DType: tensor.Float16, Format: tensor.ND, Shape: dims(2, 3), Size: 12}},
		{what: "the name wins", name: "x_output_0_shape_2_3_Float16_NHWC.bin", size: 12,
			hint: RawHint{DType: tensor.Float32, Shape: dims(6), Format: formatOf(tensor.NCHW)},
			want: tensor.Tensor{DType: tensor.Float16, Format: tensor.NHWC, Shape: dims(2, 3), Size: 12}},
		{what: "a count in the name", name: "b.output.0.12.float16.NCHW.bin", size: 24, hint: RawHint{Shape: dims(1, 3, 2, 2)},
			want: tensor.Tensor{DType: tensor.Float16, Format: tensor.NCHW, Shape: dims(1, 3, 2, 2), Size: 24}},
		{what: "another count", name: "b.output.0.12.float16.NCHW.bin", size: 24, hint: RawHint{Shape: dims(13)},
			want: tensor.Tensor{DType: tensor.Float16, Format: tensor.NCHW, Shape: dims(12), Size: 24}},
		{what: "a device layout", name: "x_output_0_shape_1_1_2_2_16_Float16_NC1HWC0.bin", size: 128,
			hint: RawHint{Shape: dims(1, 3, 2, 2), Format: formatOf(tensor.NCHW)},
			want: tensor.Tensor{DType: tensor.Float16, Format: tensor.NC1HWC0, Shape: dims(1, 1, 2, 2, 16), Size: 128,
				OriginalShape: dims(1, 3, 2, 2), OriginalFormat: formatOf(tensor.NCHW)}},
		{what: "the count of a device layout", name: "b.output.0.64.float16.NC1HWC0.bin", size: 128, hint: RawHint{Shape: dims(1, 16, 2, 2)},
			want: tensor.Tensor{DType: tensor.Float16, Format: tensor.NC1HWC0, Shape: dims(64), Size: 128, OriginalShape: dims(1, 16, 2, 2)}},
		{what: "all from the hint", name: "conv_2_3.bin", size: 24, hint: RawHint{DType: tensor.Float32, Shape: dims(3, 2)},
			want: tensor.Tensor{DType: tensor.Float32, Format: tensor.ND, Shape: dims(3, 2), Size: 24}},
		{what: "no shape", name: "conv.bin", size: 24, hint: RawHint{DType: tensor.Float32},
			want: tensor.Tensor{DType: tensor.Float32, Format: tensor.ND, Shape: dims(6), Size: 24}},
		{what: "numbers that fit", name: "conv_7_2_3.bin", size: 24, hint: RawHint{DType: tensor.Float32},
			want: tensor.Tensor{DType: tensor.Float32, Format: tensor.ND, Shape: dims(2, 3), Size: 24}},
		{what: "numbers that do not", name: "conv_7_2.bin", size: 24, hint: RawHint{DType: tensor.Float32},
			want: tensor.Tensor{DType: tensor.Float32, Format: tensor.ND, Shape: dims(6), Size: 24}},
		{what: "scalar", name: "x_output_0_shape_Float32_DefaultFormat.bin", size: 4, hint: RawHint{Shape: dims(1)},
			want: tensor.Tensor{DType: tensor.Float32, Format: tensor.ND, Shape: dims(), Size: 4}},
		{what: "empty", name: "x.bin", hint: RawHint{DType: tensor.Float32, Shape: dims(0, 3)},
			want: tensor.Tensor{DType: tensor.Float32, Format: tensor.ND, Shape: dims(0, 3)}},
		{what: "packed", name: "b.output.0.3.int4.ND.bin", size: 2,
			want: tensor.Tensor{DType: tensor.Int4, Format: tensor.ND, Shape: dims(3), Size: 2}},

		{what: "short", name: "x_output_0_shape_2_3_Float16_NHWC.bin", size: 11, err: "(2, 3) elements of float16 need 12 bytes, found 11"},
		{what: "short scalar", name: "x_output_0_shape_0_Float16_NHWC.bin", size: 1, err: "(0,) elements of float16 need 0 bytes, found 1"},
		{what: "long scalar", name: "x_output_0_shape_0_Float16_NHWC.bin", size: 4, err: "(0,) elements of float16 need 0 bytes, found 4"},
		{what: "long", name: "b.output.0.2_3.float16.NHWC.bin", size: 14, err: "(2, 3) elements of float16 need 12 bytes, found 14"},
		{what: "no whole elements", name: "x.bin", size: 14, hint: RawHint{DType: tensor.Float32}, err: "(3,) elements of float32 need 12 bytes, found 14"},
		{what: "absurd", name: "x_output_0_shape_4611686018427387904_4_Float16_ND.bin", size: 4, err: "shape (4611686018427387904, 4) has too many elements"},
		{what: "absurd size", name: "x_output_0_shape_4611686018427387904_Float64_ND.bin", size: 4, err: "shape (4611686018427387904,) has too many elements"},
		{what: "no type", name: "conv.bin", size: 4, hint: RawHint{Shape: dims(1)}, err: "the element type of the raw file is unknown: its name does not contain it"},
		{what: "no elements", name: "b.output.0.3.string.ND.bin", size: 3, err: "tensor: unsupported element type string"},
		{what: "unknown format", name: "b.output.0.3.int8.XY.bin", size: 3, err: `the file name has the unknown format "XY"`},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			data := make([]byte, tt.size)
			for i := range data {
				data[i] = byte(i + 1)
			}
			f, err := openRaw(writeFile(t, data), tt.name, tt.hint)
			if err != nil {
				if err.Error() != tt.err || f != nil {
					t.Errorf("file %v, error %q, want %q", f, err, tt.err)
				}
				return
			}
			defer f.Close()
			got := f.Tensors[0]
			if diff := cmp.Diff(tt.want, got.Tensor.Tensor, cmpopts.IgnoreFields(tensor.Tensor{}, "Data")); diff != "" || tt.err != "" || len(f.Tensors) != 1 {
				t.Errorf("error %q is wanted\n%s", tt.err, diff)
			}
			if shape, err := got.StoredShape(); err != nil || !shape.Equal(got.Shape) {
				t.Errorf("stored shape %v, error %v", shape, err)
			}
			read, err := io.ReadAll(got.Data)
			if err != nil || !bytes.Equal(read, data) {
				t.Errorf("read %v, error %v", read, err)
			}
		})
	}
	if f, err := openRaw(t.TempDir(), "x.bin", RawHint{DType: tensor.Int8}); f != nil || !strings.Contains(fmt.Sprint(err), "but a folder") {
		t.Errorf("opened a folder: %v, error %v", f, err)
	}
	if f, err := openRaw(filepath.Join(t.TempDir(), "x"), "x.bin", RawHint{DType: tensor.Int8}); f != nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opened nothing: %v, error %v", f, err)
	}
}

// TestRawKind: the kind and index come from the name.
func TestRawKind(t *testing.T) {
	f, err := openRaw(writeFile(t, []byte{1}), "b.input.2.1.int8.ND.bin", RawHint{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := f.Tensors[0].String(); got != "input 2" || f.Op != nil || f.Container != "raw" {
		t.Errorf("%s, %s, operator %v", got, f.Container, f.Op)
	}
}

// TestRawOfConversion opens .bin files converted from a dump: they hold the elements of the dump,
// and their names have its types and shapes.
func TestRawOfConversion(t *testing.T) {
	const dump = "Foo.many.53.16.1624605159829060"
	golden := filepath.Join("..", "..", "testdata", "golden", "convert", "expect", "many-bin")
	for name, want := range map[string]tensor.Tensor{
		dump + ".output.0.64.float16.NC1HWC0.bin": {DType: tensor.Float16, Format: tensor.NC1HWC0, Shape: dims(64), Size: 128},
		dump + ".input.0.6.float32.ND.bin":        {DType: tensor.Float32, Format: tensor.ND, Shape: dims(6), Size: 24},
		dump + ".input.1.4.int32.ND.bin":          {DType: tensor.Int32, Format: tensor.ND, Shape: dims(4), Size: 16},
	} {
		f, err := openRaw(filepath.Join(golden, name), name, RawHint{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, f.Tensors[0].Tensor.Tensor, cmpopts.IgnoreFields(tensor.Tensor{}, "Data")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRawIsNoDump: Open refuses elements without a header.
func TestRawIsNoDump(t *testing.T) {
	values := func(n int, value func(i int) float32) []byte {
		var b []byte
		for i := range n {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(value(i)))
		}
		return b
	}
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 4096)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for name, data := range map[string][]byte{
		"zeros":          make([]byte, 4096),
		"a few zeros":    make([]byte, 8),
		"ones":           values(1000, func(int) float32 { return 1 }),
		"random bytes":   noise,
		"random numbers": values(1000, func(int) float32 { return float32(random.NormFloat64()) }),
		"small integers": values(1000, func(i int) float32 { return math.Float32frombits(uint32(i)) }),
	} {
		if f, err := Open(writeFile(t, data), Options{Name: "x.bin"}); err == nil || f != nil {
			t.Errorf("%s: opened as %+v", name, f)
		}
	}
}
