package tensorfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/tensor"
)

func dims(d ...int64) tensor.Shape { return append(tensor.Shape{}, d...) }

func format(f tensor.Format) *tensor.Format { return &f }

func TestParseRawName(t *testing.T) {
	const base = "Conv2D.conv1.3.1.1700000000000000"
	tests := []struct {
		name string
		want RawInfo
		err  string
	}{
		// The example of the MindSpore documentation.
		{"Default--network-TrainOneStepCell--network-WithLossCell--_backbone-ResNet--conv1-Conv2d--Conv2D-op516_input_1_shape_64_3_3_3_Float32_DefaultFormat.bin",
			RawInfo{Node: "Default/network-TrainOneStepCell/network-WithLossCell/_backbone-ResNet/conv1-Conv2d/Conv2D-op516", Kind: Input, Index: 1,
				DType: tensor.Float32, Shape: dims(64, 3, 3, 3), Format: format(tensor.ND)}, ""},
		{"x_output_0_shape_1_4_7_7_16_Float16_NC1HWC0.bin",
			RawInfo{Node: "x", Kind: Output, DType: tensor.Float16, Shape: dims(1, 4, 7, 7, 16), Format: format(tensor.NC1HWC0)}, ""},
		{"x_output_0_shape_4_1_16_16_Float16_FRACTAL_Z_C04.BIN",
			RawInfo{Node: "x", Kind: Output, DType: tensor.Float16, Shape: dims(4, 1, 16, 16), Format: format(tensor.FractalZC04)}, ""},
		{"a_input_0_shape_1_b_output_12_shape_2_UInt8_NHWC.bin",
			RawInfo{Node: "a_input_0_shape_1_b", Kind: Output, Index: 12, DType: tensor.Uint8, Shape: dims(2), Format: format(tensor.NHWC)}, ""},
		{"scalar_output_0_shape_Int32_DefaultFormat.bin",
			RawInfo{Node: "scalar", Kind: Output, DType: tensor.Int32, Shape: dims(), Format: format(tensor.ND)}, ""},
		{"scalar_output_0_shape__Bool_DefaultFormat.bin",
			RawInfo{Node: "scalar", Kind: Output, DType: tensor.Bool, Shape: dims(), Format: format(tensor.ND)}, ""},
		{"x_output_0_shape_2_Float99_NCHW.bin",
			RawInfo{Node: "x", Kind: Output, Shape: dims(2), Format: format(tensor.NCHW)}, `the file name has the unknown element type "Float99"`},
		{"x_output_0_shape_2_Float32_ABCD_E.bin",
			RawInfo{Node: "x", Kind: Output, DType: tensor.Float32, Shape: dims(2)}, `the file name has the unknown format "ABCD_E"`},

		{base + ".output.0.1_5_2_2.float16.NCHW.bin",
			RawInfo{Node: base, Kind: Output, DType: tensor.Float16, Shape: dims(1, 5, 2, 2), Format: format(tensor.NCHW)}, ""},
		{base + ".input.3.2304.bfloat16.FRACTAL_Z.bin",
			RawInfo{Node: base, Kind: Input, Index: 3, DType: tensor.BFloat16, Shape: dims(2304), Format: format(tensor.FractalZ)}, ""},
		{base + ".output.0..float32.ND.bin",
			RawInfo{Node: base, Kind: Output, DType: tensor.Float32, Shape: dims(), Format: format(tensor.ND)}, ""},
		{base + ".output.0.2.float32.format(57).bin",
			RawInfo{Node: base, Kind: Output, DType: tensor.Float32, Shape: dims(2)}, `the file name has the unknown format "format(57)"`},
		{base + ".output.1.txt", RawInfo{Node: base, Kind: Output, Index: 1}, ""},
		{base + ".input.1.128x64x32x32.txt", RawInfo{Node: base, Kind: Input, Index: 1, Shape: dims(128, 64, 32, 32)}, ""},

		{"resnet_conv1_Relu.bin", RawInfo{Node: "resnet_conv1_Relu", Kind: Output}, ""},
		{"conv_1x8x8.bin", RawInfo{Node: "conv", Kind: Output, Shape: dims(1, 8, 8)}, ""},
		{"conv(1, 8, 8).bin", RawInfo{Node: "conv", Kind: Output, Shape: dims(1, 8, 8)}, ""},
		{"conv_(8,).bin", RawInfo{Node: "conv", Kind: Output, Shape: dims(8)}, ""},
		{"conv_[1,8].txt", RawInfo{Node: "conv", Kind: Output, Shape: dims(1, 8)}, ""},
		{"conv_3_1_8_8.bin", RawInfo{Node: "conv_3_1_8_8", Kind: Output, Numbers: dims(3, 1, 8, 8)}, ""},
		// A number that is no dimension, an index that is no int, no node.
		{"conv_1x99999999999999999999.bin", RawInfo{Node: "conv_1x99999999999999999999", Kind: Output}, ""},
		{"conv(1,,2).bin", RawInfo{Node: "conv(1,,2)", Kind: Output}, ""},
		{"x_output_99999999999_shape_2_Float32_NCHW.bin", RawInfo{Node: "x_output_99999999999_shape_2_Float32_NCHW", Kind: Output}, ""},
		{"x_output_0_shape_99999999999999999999_Float32_NCHW.bin",
			RawInfo{Node: "x_output_0_shape_99999999999999999999_Float32_NCHW", Kind: Output}, ""},
		{"b.output.99999999999.txt", RawInfo{Node: "b.output.99999999999", Kind: Output}, ""},
		{"b.output.0.1_-2.float32.ND.bin", RawInfo{Node: "b.output.0.1_-2.float32.ND", Kind: Output}, ""},
		{"output.0.2.float32.ND.bin", RawInfo{Node: "output.0.2.float32.ND", Kind: Output}, ""},
		{".output.0.bin", RawInfo{Node: ".output.0", Kind: Output}, ""},
		{"1_2.bin", RawInfo{Node: "1_2", Kind: Output, Numbers: dims(2)}, ""},
		{"(1,2).bin", RawInfo{Node: "(1,2)", Kind: Output}, ""},
	}
	for _, tt := range tests {
		got, ok := ParseRawName(tt.name)
		text := ""
		if got.Err != nil {
			text = got.Err.Error()
		}
		if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(RawInfo{}, "Err")); diff != "" || !ok || text != tt.err {
			t.Errorf("%s: ok %v, error %q, want %q\n%s", tt.name, ok, text, tt.err, diff)
		}
	}
	for _, name := range []string{"", ".bin", ".txt", "bin", "a.npy", base, "a/b.bin", "a\x00.bin", "a.bin.gz"} {
		if got, ok := ParseRawName(name); ok || got.Node != name || got.Kind != Output {
			t.Errorf("%q is taken for the name of a raw file: %+v", name, got)
		}
	}
}

// TestRawNamesRoundTrip builds names of both forms from their parts.
func TestRawNamesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := RawInfo{
			Node:   rapid.StringMatching(`[A-Za-z0-9_.\-()é ]*[A-Za-z]`).Draw(t, "node"),
			Kind:   rapid.SampledFrom([]Kind{Input, Output}).Draw(t, "kind"),
			Index:  rapid.IntRange(0, 1000).Draw(t, "index"),
			DType:  rapid.SampledFrom([]tensor.DType{tensor.Float16, tensor.Int8, tensor.BFloat16, tensor.Complex128}).Draw(t, "type"),
			Shape:  append(tensor.Shape{}, rapid.SliceOf(rapid.Int64Min(0)).Draw(t, "shape")...),
			Format: format(rapid.SampledFrom([]tensor.Format{tensor.NCHW, tensor.ND, tensor.FractalZ3DTranspose, tensor.FractalNZC016}).Draw(t, "format")),
		}
		d, n := want.Shape.Join("_"), strconv.Itoa(want.Index)
		converted := strings.Join([]string{want.Node, string(want.Kind), n, d, want.DType.String(), want.Format.String(), "bin"}, ".")
		got, ok := ParseRawName(converted)
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s: ok %v\n%s", converted, ok, diff)
		}
		mindSpore := strings.Join([]string{want.Node, string(want.Kind), n, "shape", d, strings.ToUpper(want.DType.String()), want.Format.String()}, "_") + ".bin"
		want.Node = strings.ReplaceAll(want.Node, "--", "/")
		got, ok = ParseRawName(mindSpore)
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s: ok %v\n%s", mindSpore, ok, diff)
		}
	})
}

func FuzzParseRawName(f *testing.F) {
	for _, name := range []string{"a_output_0_shape_2_3_Float32_NCHW.bin", "b.output.0.2_3.float16.NC1HWC0.bin", "b.input.1.2x3.txt",
		"c_1x8x8.bin", "c(1, 8).bin", "c_[3,].txt", "c_1_2.bin", ".bin", ".output.0.bin", "_output_0_shape_.bin"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		info, ok := ParseRawName(name)
		if ok != (len(name) > 4 && !strings.ContainsAny(name, "/\x00") &&
			(strings.EqualFold(name[len(name)-4:], ".bin") || strings.EqualFold(name[len(name)-4:], ".txt"))) {
			t.Errorf("ok %v", ok)
		}
		if name != "" && info.Node == "" || info.Kind != Input && info.Kind != Output || info.Index < 0 {
			t.Errorf("%+v", info)
		}
		for _, n := range append(info.Shape, info.Numbers...) {
			if n < 0 {
				t.Errorf("%+v", info)
			}
		}
	})
}

func writeFile(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
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
			hint: RawHint{DType: tensor.Float32, Shape: dims(6), Format: format(tensor.NCHW)},
			want: tensor.Tensor{DType: tensor.Float16, Format: tensor.NHWC, Shape: dims(2, 3), Size: 12}},
		{what: "a count in the name", name: "b.output.0.12.float16.NCHW.bin", size: 24, hint: RawHint{Shape: dims(1, 3, 2, 2)},
			want: tensor.Tensor{DType: tensor.Float16, Format: tensor.NCHW, Shape: dims(1, 3, 2, 2), Size: 24}},
		{what: "another count", name: "b.output.0.12.float16.NCHW.bin", size: 24, hint: RawHint{Shape: dims(13)},
			want: tensor.Tensor{DType: tensor.Float16, Format: tensor.NCHW, Shape: dims(12), Size: 24}},
		{what: "a device layout", name: "x_output_0_shape_1_1_2_2_16_Float16_NC1HWC0.bin", size: 128,
			hint: RawHint{Shape: dims(1, 3, 2, 2), Format: format(tensor.NCHW)},
			want: tensor.Tensor{DType: tensor.Float16, Format: tensor.NC1HWC0, Shape: dims(1, 1, 2, 2, 16), Size: 128,
				OriginalShape: dims(1, 3, 2, 2), OriginalFormat: format(tensor.NCHW)}},
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
		{what: "no ending", name: "conv", size: 24, hint: RawHint{DType: tensor.Float32, Shape: dims(6)},
			want: tensor.Tensor{DType: tensor.Float32, Format: tensor.ND, Shape: dims(6), Size: 24}},
		{what: "scalar", name: "x_output_0_shape_Float32_DefaultFormat.bin", size: 4, hint: RawHint{Shape: dims(1)},
			want: tensor.Tensor{DType: tensor.Float32, Format: tensor.ND, Shape: dims(), Size: 4}},
		{what: "empty", name: "x.bin", hint: RawHint{DType: tensor.Float32, Shape: dims(0, 3)},
			want: tensor.Tensor{DType: tensor.Float32, Format: tensor.ND, Shape: dims(0, 3)}},
		{what: "packed", name: "b.output.0.3.int4.ND.bin", size: 2,
			want: tensor.Tensor{DType: tensor.Int4, Format: tensor.ND, Shape: dims(3), Size: 2}},

		{what: "short", name: "x_output_0_shape_2_3_Float16_NHWC.bin", size: 11, err: "(2, 3) elements of float16 need 12 bytes, found 11"},
		{what: "long", name: "x_output_0_shape_2_3_Float16_NHWC.bin", size: 14, err: "(2, 3) elements of float16 need 12 bytes, found 14"},
		{what: "no whole elements", name: "x.bin", size: 14, hint: RawHint{DType: tensor.Float32}, err: "(3,) elements of float32 need 12 bytes, found 14"},
		{what: "absurd", name: "x_output_0_shape_4611686018427387904_4_Float16_ND.bin", size: 4, err: "shape (4611686018427387904, 4) has too many elements"},
		{what: "absurd size", name: "x_output_0_shape_4611686018427387904_Float64_ND.bin", size: 4, err: "shape (4611686018427387904,) has too many elements"},
		{what: "no type", name: "conv.bin", size: 4, hint: RawHint{Shape: dims(1)}, err: "the element type of the raw file is not known: its name does not tell it"},
		{what: "no elements", name: "b.output.0.3.string.ND.bin", size: 3, err: "tensor: unsupported element type string"},
		{what: "unknown format", name: "b.output.0.3.int8.XY.bin", size: 3, err: `the file name has the unknown format "XY"`},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			data := make([]byte, tt.size)
			for i := range data {
				data[i] = byte(i + 1)
			}
			f, err := OpenRaw(writeFile(t, data), tt.name, tt.hint)
			if err != nil {
				if err.Error() != tt.err || f != nil {
					t.Errorf("file %v, error %q, want %q", f, err, tt.err)
				}
				return
			}
			defer f.Close()
			got := f.Tensors[0]
			if diff := cmp.Diff(tt.want, got.Tensor, cmpopts.IgnoreFields(tensor.Tensor{}, "Data")); diff != "" || tt.err != "" || len(f.Tensors) != 1 {
				t.Errorf("error %q is wanted\n%s", tt.err, diff)
			}
			if shape, err := got.Stored(); err != nil || !shape.Equal(got.Shape) {
				t.Errorf("stored shape %v, error %v", shape, err)
			}
			read, err := io.ReadAll(got.Data)
			if err != nil || !bytes.Equal(read, data) {
				t.Errorf("read %v, error %v", read, err)
			}
		})
	}
	if f, err := OpenRaw(t.TempDir(), "x.bin", RawHint{DType: tensor.Int8}); f != nil || !errors.Is(err, errIrregular) {
		t.Errorf("opened a folder: %v, error %v", f, err)
	}
	if f, err := OpenRaw(filepath.Join(t.TempDir(), "x"), "x.bin", RawHint{DType: tensor.Int8}); f != nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opened nothing: %v, error %v", f, err)
	}
}

// TestRawKind: the tensor is the one that the name tells.
func TestRawKind(t *testing.T) {
	f, err := OpenRaw(writeFile(t, []byte{1}), "b.input.2.1.int8.ND.bin", RawHint{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := f.Tensors[0].String(); got != "input 2" || f.Dump != nil {
		t.Errorf("%s, dump %v", got, f.Dump)
	}
}

// TestRawOfConversion opens the .bin files that were made from a dump: they hold
// what the dump does, and their names tell its types and shapes.
func TestRawOfConversion(t *testing.T) {
	const dump = "Foo.many.53.16.1624605159829060"
	golden := filepath.Join("..", "..", "testdata", "golden", "convert", "expect", "many-bin")
	for name, want := range map[string]tensor.Tensor{
		dump + ".output.0.64.float16.NC1HWC0.bin": {DType: tensor.Float16, Format: tensor.NC1HWC0, Shape: dims(64), Size: 128},
		dump + ".input.0.6.float32.ND.bin":        {DType: tensor.Float32, Format: tensor.ND, Shape: dims(6), Size: 24},
		dump + ".input.1.4.int32.ND.bin":          {DType: tensor.Int32, Format: tensor.ND, Shape: dims(4), Size: 16},
	} {
		f, err := OpenRaw(filepath.Join(golden, name), name, RawHint{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, f.Tensors[0].Tensor, cmpopts.IgnoreFields(tensor.Tensor{}, "Data")); diff != "" {
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
		if f, err := Open(writeFile(t, data), dumpfmt.Options{}); err == nil || f != nil {
			t.Errorf("%s: opened as %+v", name, f.Dump)
		}
	}
}
