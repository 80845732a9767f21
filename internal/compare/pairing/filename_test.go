package pairing

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/tensor"
)

const stamp = 1624605159829577

var fileNames = []struct {
	base string
	want FileName
}{
	// References.
	{"conv1.0.1624605159829577.npy", FileName{OpName: "conv1", Kind: Output, Timestamp: stamp, Stem: "conv1.0.1624605159829577"}},
	{"conv1.12.1624.npy", FileName{OpName: "conv1", Kind: Output, Index: 12, Timestamp: 1624, Stem: "conv1.12.1624"}},
	{"a.b.c.1.7.pb", FileName{OpName: "a.b.c", Kind: Output, Index: 1, Timestamp: 7, Stem: "a.b.c.1.7"}},
	{"conv1.0.1624.quant", FileName{OpName: "conv1", Kind: Output, Timestamp: 1624, Stem: "conv1.0.1624"}},
	{"conv1.npy", FileName{OpName: "conv1", Kind: Output, Stem: "conv1"}},
	{"conv1.bin", FileName{OpName: "conv1", Kind: Output, Stem: "conv1"}},
	{"conv1.txt", FileName{OpName: "conv1", Kind: Output, Stem: "conv1"}},
	{"conv1", FileName{OpName: "conv1", Kind: Output, Stem: "conv1"}},
	{".npy", FileName{OpName: ".npy", Kind: Output, Stem: ".npy"}},
	{"layer1.0.npy", FileName{OpName: "layer1.0", Kind: Output, Stem: "layer1.0"}},
	{"op_1_3_224_224.npy", FileName{OpName: "op_1_3_224_224", Kind: Output, Stem: "op_1_3_224_224"}},
	{"conv1.0." + strings.Repeat("9", 21) + ".npy", FileName{OpName: "conv1.0." + strings.Repeat("9", 21), Kind: Output, Stem: "conv1.0." + strings.Repeat("9", 21)}},
	{"卷积.0.5.npy", FileName{OpName: "卷积", Kind: Output, Timestamp: 5, Stem: "卷积.0.5"}},
	{"model.output.0.1624605159829577.npy", FileName{OpName: "model.output", Kind: Output, Timestamp: stamp, Stem: "model.output.0.1624605159829577"}},
	// Dumps.
	{"Conv2D.conv1.3.16.1624605159829577", FileName{OpType: "Conv2D", OpName: "conv1", TaskID: 3, HasTask: true, StreamID: 16, HasStream: true, Timestamp: stamp, Stem: "Conv2D.conv1.3.16.1624605159829577"}},
	{"Conv2D.conv1.3.1624605159829577", FileName{OpType: "Conv2D", OpName: "conv1", TaskID: 3, HasTask: true, Timestamp: stamp, Stem: "Conv2D.conv1.3.1624605159829577"}},
	{"Conv2D.conv1.3.16.1624605159829577.4.12.3", FileName{OpType: "Conv2D", OpName: "conv1", TaskID: 3, HasTask: true, StreamID: 16, HasStream: true, Timestamp: stamp, Slice: "3", Stem: "Conv2D.conv1.3.16.1624605159829577.4.12.3"}},
	// Converted dumps: plain, with shape, .bin, MindSpore's.
	{"Conv2D.conv1.3.16.1624605159829577.output.0.npy", converted(Output, 0)},
	{"Conv2D.conv1.3.16.1624605159829577.input.2.txt", converted(Input, 2)},
	{"Conv2D.conv1.3.16.1624605159829577.output.0.1x3x224x224.npy", converted(Output, 0, tensor.Shape{1, 3, 224, 224})},
	{"Conv2D.conv1.3.16.1624605159829577.output.1.1000.npy", converted(Output, 1, tensor.Shape{1000})},
	{"Conv2D.conv1.3.16.1624605159829577.output.1..npy", converted(Output, 1, tensor.Shape{})},
	{"Conv2D.conv1.3.16.1624605159829577.output.0.NCHW.npy", converted(Output, 0, "NCHW", "")},
	{"Conv2D.conv1.3.16.1624605159829577.output.0.2304.float16.NC1HWC0.bin", converted(Output, 0, tensor.Shape{2304}, "NC1HWC0", "float16")},
	{"Conv2D.conv1.3.16.1624605159829577.output.0.1_3_4.float32.NCHW.bin", converted(Output, 0, tensor.Shape{1, 3, 4}, "NCHW", "float32")},
	{"Conv2D.conv1.3.16.1624605159829577.output.0..float32.ND.pt", converted(Output, 0, tensor.Shape{}, "ND", "float32")},
	{"Conv2D.conv1.3.16.1624605159829577.input.0.DefaultFormat.npy", converted(Input, 0, "DefaultFormat", "")},
	{"Conv2D.conv1.3.16.1624605159829577.input.0.DefaultFormat.bfloat16.npy", converted(Input, 0, "DefaultFormat", "bfloat16")},
	{"Conv2D.conv1.3.16.1624605159829577.input.1.0.DefaultFormat.npy", converted(Input, 1, "DefaultFormat", "")},
	{"Conv2D.conv1.3.16.1624605159829577.input.1.0.FRACTAL_NZ.float16.npy", converted(Input, 1, "FRACTAL_NZ", "float16")},
	{"Parameter.data-1.0.0.1624605159829577.output.0.DefaultFormat.npy", FileName{OpType: "Parameter", OpName: "data-1", HasTask: true, HasStream: true, Timestamp: stamp,
		Kind: Output, Format: "DefaultFormat", Stem: "Parameter.data-1.0.0.1624605159829577"}},
	{"net.conv1.output.1.npy", FileName{OpName: "net.conv1", Kind: Output, Index: 1, Stem: "net.conv1"}},
	{"net.conv1.output.x.npy", FileName{OpName: "net.conv1.output.x", Kind: Output, Stem: "net.conv1.output.x"}},
	{"net.output.0.a.b.c.npy", FileName{OpName: "net.output.0.a.b.c", Kind: Output, Stem: "net.output.0.a.b.c"}},
	{"output.0.npy", FileName{OpName: "output.0", Kind: Output, Stem: "output.0"}},
	// MindSpore before 1.3.
	{"Default--net--Conv2D-op1_input_0_shape_1_16_5_5_Float16_NC1HWC0.bin", FileName{OpName: "Default/net/Conv2D-op1", Kind: Input, Shape: tensor.Shape{1, 16, 5, 5}, HasShape: true,
		DType: "Float16", Format: "NC1HWC0", Stem: "Default--net--Conv2D-op1_input_0_shape_1_16_5_5_Float16_NC1HWC0"}},
	{"a_output_1_shape_Float32_FRACTAL_NZ.bin", FileName{OpName: "a", Kind: Output, Index: 1, Shape: tensor.Shape{}, HasShape: true,
		DType: "Float32", Format: "FRACTAL_NZ", Stem: "a_output_1_shape_Float32_FRACTAL_NZ"}},
	{"a_other_1_shape_2_Float32_ND.bin", FileName{OpName: "a_other_1_shape_2_Float32_ND", Kind: Output, Stem: "a_other_1_shape_2_Float32_ND"}},
	{"get_output_1_shape_2.npy", FileName{OpName: "get_output_1_shape_2", Kind: Output, Stem: "get_output_1_shape_2"}},
}

// converted is the name of a tensor of conv1's dump; of two texts the first is
// the format and the second the element type.
func converted(k Kind, index int, tail ...any) FileName {
	n := FileName{OpType: "Conv2D", OpName: "conv1", TaskID: 3, HasTask: true, StreamID: 16, HasStream: true, Timestamp: stamp,
		Kind: k, Index: index, Stem: "Conv2D.conv1.3.16.1624605159829577"}
	if len(tail)%2 == 1 {
		n.Shape, n.HasShape = tail[0].(tensor.Shape), true
		tail = tail[1:]
	}
	if len(tail) == 2 {
		n.Format, n.DType = tail[0].(string), tail[1].(string)
	}
	return n
}

func TestParseName(t *testing.T) {
	for _, test := range fileNames {
		got, ok := ParseName(test.base)
		if diff := cmp.Diff(test.want, got); diff != "" || !ok {
			t.Errorf("%s: ok %v\n%s", test.base, ok, diff)
		}
	}
	for _, base := range []string{"", "a/b.npy", "a\x00.npy"} {
		if got, ok := ParseName(base); ok {
			t.Errorf("%q: %+v", base, got)
		}
	}
}

func TestFileNameTensor(t *testing.T) {
	n, _ := ParseName("Conv2D.conv1.3.16.1624605159829577.4.12.3.output.2.2x3.npy")
	want := Tensor{FileOp: "conv1", OpType: "Conv2D", Kind: Output, Index: 2, Timestamp: stamp, Slice: "3",
		Stem: "Conv2D.conv1.3.16.1624605159829577.4.12.3", Shape: tensor.Shape{2, 3}, HasShape: true}
	if diff := cmp.Diff(want, n.Tensor()); diff != "" {
		t.Error(diff)
	}
}

func FuzzParseName(f *testing.F) {
	for _, test := range fileNames {
		f.Add(test.base)
	}
	f.Add("_output_0_shape_")
	f.Add("a.output.0.1x.npy")
	f.Fuzz(func(t *testing.T, base string) {
		n, ok := ParseName(base)
		switch {
		case !ok && n.OpName != "":
			t.Errorf("%q gives %+v although it is no name", base, n)
		case ok && (n.Index < 0 || n.Stem == "" || !strings.Contains(base, n.Stem)):
			t.Errorf("%q gives %+v", base, n)
		case ok && n.OpName == "" && !n.HasTask:
			t.Errorf("%q names no operator", base)
		case ok && !strings.Contains(strings.ReplaceAll(base, "--", "/"), n.OpName) && !strings.Contains(base, n.OpName):
			t.Errorf("%q names %q", base, n.OpName)
		}
		for _, d := range n.Shape {
			if d < 0 {
				t.Errorf("%q has shape %v", base, n.Shape)
			}
		}
	})
}
