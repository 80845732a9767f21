package pair

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// npuDump is the line of a CANN dump of an operator.
func npuDump(op string) string {
	return "Conv2D." + strings.NewReplacer("/", "_", ".", "_").Replace(op) + ".3.16.1624605159829577 op=" + op
}

// TestLooseRules: names as onnxruntime, TensorFlow and ATC write them, and traps. Without the rules
// nothing of it is paired.
func TestLooseRules(t *testing.T) {
	const s = " shape=2x8"
	for name, test := range map[string]struct{ ref, npu, want []string }{
		"exporter: ONNX":                  {lines("1.npy op=/l/l.0/MatMul_output_0" + s), lines(npuDump("/l/l.0/MatMul") + s), lines("0-0 exporter")},
		"exporter: as file names":         {lines("l_l.0_MatMul_output_0.0.1624.npy" + s), lines(npuDump("/l/l.0/MatMul") + s), lines("0-0 exporter")},
		"exporter: the output":            {lines("1.npy op=/Split_output_0"+s, "2.npy op=/Split_output_1"+s), lines(npuDump("/Split")+" k=1"+s, npuDump("/Split")+s), lines("0-1 exporter", "1-0 exporter")},
		"exporter: TensorFlow":            {lines("1.npy op=conv1/Relu:0" + s), lines(npuDump("conv1/Relu") + s), lines("0-0 exporter")},
		"exporter: :0 in a file name":     {lines("conv1_Relu_0.npy" + s), lines(npuDump("conv1/Relu") + s), lines("0-0 exporter")},
		"exporter: on the NPU":            {lines("conv1.Relu.npy" + s), lines("conv1_Relu_output_0.npy" + s), lines("0-0 exporter")},
		"exporter: names come first":      {lines("a.npy"+s, "a_output_0.npy"+s), lines("a.bin" + s), lines("0-0 stem", "ref 1")},
		"exporter: two candidates":        {lines("1.npy op=a/b_output_0"+s, "2.npy op=a.b_output_0"+s), lines("3.bin op=a_b" + s), lines("ref 0", "ref 1", "npu 0 by rule exporter it may belong to a/b_output_0 or to a.b_output_0: use --map-node-dict to choose")},
		"exporter: two of the NPU":        {lines("a_b_output_0.npy" + s), lines("1.bin op=a/b"+s, "2.bin op=a-b"+s), lines("ref 0", "npu 0 by rule exporter 2 tensors may belong to a_b_output_0: use --map-node-dict to choose", "npu 1 by rule exporter 2 tensors may belong to a_b_output_0: use --map-node-dict to choose")},
		"exporter: another shape":         {lines("a_output_0.npy" + s), lines(npuDump("a") + " shape=2x9"), lines("ref 0", "npu 0 by rule exporter it would belong to a_output_0, but their shapes differ or are unknown")},
		"exporter: unknown shapes":        {lines("a_output_0.npy"), lines(npuDump("a")), lines("ref 0", "npu 0 by rule exporter it would belong to a_output_0, but their shapes differ or are unknown")},
		"exporter: other axes":            {lines("a_output_0.npy shape=1x3x4x5"), lines(npuDump("a") + " shape=1x4x5x3"), lines("0-0 exporter")},
		"exporter: suffixes of branches":  {lines("1.npy op=left/fc_output_0"+s, "2.npy op=right/fc_output_0"+s), lines(npuDump("fc") + s), lines("ref 0", "ref 1", "npu 0")},
		"exporter: numbers are names":     {lines("Relu_1.npy" + s), lines(npuDump("Relu") + s), lines("ref 0", "npu 0")},
		"exporter: inputs are no outputs": {lines("a_output_0.npy" + s), lines("T.a.3.16.1624605159829577.input.0.npy" + s), lines("ref 0", "npu 0")},

		"atc: Caffe":               {lines("res2a.npy"+s, "res2a_relu.npy"+s), lines(npuDump("res2ares2a_relu") + s), lines("1-0 atc", "ref 0")},
		"atc: four of ONNX":        {lines("Div_331.npy"+s, "Mul_333.npy"+s, "Add_335.npy"+s, "Mul_337.npy"+s), lines(npuDump("Div_331Mul_333Add_335Mul_337") + s), lines("3-0 atc", "ref 0", "ref 1", "ref 2")},
		"atc: of values":           {lines("1.npy op=/c/Conv_output_0"+s, "2.npy op=/r/Relu_output_0"+s), lines(npuDump("/c/Conv/r/Relu") + s), lines("1-0 atc", "ref 0")},
		"atc: in a function":       {lines("Conv_112.npy"+s, "LeakyRelu_54.npy"+s, "Conv2D_40.npy"+s), lines(npuDump("PartitionedCall_Conv_112_Conv2D_32LeakyRelu_54")+s, npuDump("PartitionedCall_Conv2D_40_78")+s), lines("1-0 atc", "2-1 atc", "ref 0")},
		"atc: another shape":       {lines("conv1.npy"+s, "relu1.npy"+s), lines(npuDump("conv1relu1") + " shape=9"), lines("ref 0", "ref 1", "npu 0 by rule atc it would belong to relu1, but their shapes differ or are unknown")},
		"atc: a part has partners": {lines("conv1.npy"+s, "relu1.npy"+s), lines(npuDump("conv1")+s, npuDump("conv1relu1")+s), lines("0-0 name", "ref 1", "npu 1")},
		"atc: two ends":            {lines("abc.npy"+s, "abcd.npy"+s, "dabc.npy"+s), lines(npuDump("abcdabc") + s), lines("ref 0", "ref 1", "ref 2", "npu 0")},
		"atc: two readings":        {lines("abc.npy"+s, "abcdef.npy"+s, "def.npy"+s, "relu.npy"+s), lines(npuDump("abcdefrelu") + s), lines("3-0 atc", "ref 0", "ref 1", "ref 2")},
		"atc: two of the NPU": {lines("conv1.npy"+s, "relu1.npy"+s, "add1.npy"+s), lines(npuDump("conv1relu1")+s, npuDump("add1relu1")+s), lines("ref 0", "ref 1", "ref 2",
			"npu 0 by rule atc 2 tensors may belong to relu1: use --map-node-dict to choose", "npu 1 by rule atc 2 tensors may belong to relu1: use --map-node-dict to choose")},
		"atc: twice the same":       {lines("relu.npy" + s), lines(npuDump("relurelu") + s), lines("ref 0", "npu 0")},
		"atc: by accident":          {lines("q.npy"+s, "k.npy"+s), lines(npuDump("qk") + s), lines("ref 0", "ref 1", "npu 0")},
		"atc: numbers are no names": {lines("conv.npy"+s, "x.npy op=123"+s), lines(npuDump("conv123") + s), lines("ref 0", "ref 1", "npu 0")},
		"atc: a part is unknown":    {lines("conv1.npy"+s, "relu1.npy"+s), lines(npuDump("conv1bn1relu1") + s), lines("ref 0", "ref 1", "npu 0")},
		"atc: other outputs":        {lines("conv1.npy"+s, "relu1.npy"+s), lines(npuDump("conv1relu1") + " k=1" + s), lines("ref 0", "ref 1", "npu 0")},
	} {
		ref, npu := side(t, test.ref...), side(t, test.npu...)
		if diff := gocmp.Diff(strings.Join(test.want, "\n"), text(Match(ref, npu, Options{}))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for _, p := range Match(ref, npu, Options{NamesOnly: true}).Pairs {
			if IsLoose(string(p.Rule)) {
				t.Errorf("%s: paired by rule %s although names alone count", name, p.Rule)
			}
		}
	}
}

// TestLongNames: names with many readings are given up, not read for ever.
func TestLongNames(t *testing.T) {
	var ref []string
	for n := 3; n < 40; n++ {
		ref = append(ref, strings.Repeat("a", n)+".npy shape=2")
	}
	npu := side(t, "x.bin shape=2")
	npu[0].Op, npu[0].FileOp = "", strings.Repeat("a", 4000)
	if r := Match(side(t, ref...), npu, Options{}); len(r.Pairs) > 0 {
		t.Errorf("paired: %+v", r.Pairs)
	}
	npu[0].FileOp += "b"
	if r := Match(side(t, ref...), npu, Options{}); len(r.Pairs) > 0 {
		t.Errorf("paired: %+v", r.Pairs)
	}
}
