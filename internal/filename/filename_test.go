package filename

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"dumptool/internal/tensor"
)

const (
	stamp = 1624605159829577
	conv  = "Conv2D.conv1.3.16.1624605159829577"
)

func dims(d ...int64) tensor.Shape { return append(tensor.Shape{}, d...) }

func format(f tensor.Format) *tensor.Format { return &f }

// names has, for every grammar, names that no other grammar but Plain parses.
var names = []struct {
	base string
	want Info
}{
	// Dumps.
	{conv, dump(conv)},
	{"Conv2D.conv1.3.1624605159829577", dump("Conv2D.conv1.3.1624605159829577")},
	{conv + ".4.12.3", dump(conv + ".4.12.3")},
	{"Add.x.1.4294967295.1673383728094391", dump("Add.x.1.4294967295.1673383728094391")}, // no stream
	{"exception_info.16.52.20240131120000123", dump("exception_info.16.52.20240131120000123")},
	{"Opdebug.Node_OpDebug.0.3.1673383728094391.4.1.0.0", dump("Opdebug.Node_OpDebug.0.3.1673383728094391.4.1.0.0")},
	{"Opdebug.Node_OpDebug.59.1597922031", dump("Opdebug.Node_OpDebug.59.1597922031")},
	// Overflow records with names that are not dump names.
	{"OPDEBUG.node_opdebug.59.3", Info{Grammar: Record, OpType: "OPDEBUG", OpName: "node_opdebug"}},
	{"Opdebug.Node_OpDebug.59.4294967295.3", Info{Grammar: Record, OpType: "Opdebug", OpName: "Node_OpDebug"}},
	{"Opdebug.Node_OpDebug.1.2.3.4.5.6.7", Info{Grammar: Record, OpType: "Opdebug", OpName: "Node_OpDebug"}},
	{"Opdebug.Node_OpDebug.059.01597922031178434", Info{Grammar: Record, OpType: "Opdebug", OpName: "Node_OpDebug"}},
	// Converted dumps: plain, with a shape, raw, and MindSpore's.
	{conv + ".output.0.npy", converted(tensor.Output, 0)},
	{conv + ".output.0.NPY", converted(tensor.Output, 0)},
	{conv + ".input.2.txt", converted(tensor.Input, 2)},
	{conv + ".output.0.1x3x224x224.npy", converted(tensor.Output, 0, 1, 3, 224, 224)},
	{conv + ".output.1.1000.npy", converted(tensor.Output, 1, 1000)},
	{conv + ".output.1..npy", converted(tensor.Output, 1).with(dims(), 0, nil)},
	{conv + ".output.0.NCHW.npy", converted(tensor.Output, 0).with(nil, 0, format(tensor.NCHW))},
	{conv + ".output.0.NC1HWC0.float16.npy", converted(tensor.Output, 0).with(nil, tensor.Float16, format(tensor.NC1HWC0))},
	{conv + ".output.0.2304.float16.NC1HWC0.bin", converted(tensor.Output, 0).with(dims(2304), tensor.Float16, format(tensor.NC1HWC0))},
	{conv + ".output.0.1_3_4.float32.NCHW.bin", converted(tensor.Output, 0).with(dims(1, 3, 4), tensor.Float32, format(tensor.NCHW))},
	{conv + ".output.0..float32.ND.pt", converted(tensor.Output, 0).with(dims(), tensor.Float32, format(tensor.ND))},
	{conv + ".input.3.2304.bfloat16.FRACTAL_Z.bin", converted(tensor.Input, 3).with(dims(2304), tensor.BFloat16, format(tensor.FractalZ))},
	{conv + ".input.0.DefaultFormat.npy", converted(tensor.Input, 0).with(nil, 0, format(tensor.ND))},
	{conv + ".input.0.DefaultFormat.bfloat16.npy", converted(tensor.Input, 0).with(nil, tensor.BFloat16, format(tensor.ND))},
	{conv + ".input.1.0.DefaultFormat.npy", converted(tensor.Input, 1).with(nil, 0, format(tensor.ND))},
	{conv + ".input.1.0.FRACTAL_NZ.float16.npy", converted(tensor.Input, 1).with(nil, tensor.Float16, format(tensor.FractalNZ))},
	{conv + ".output.0.my_copy.npy", converted(tensor.Output, 0)},
	{conv + ".output.0.my-copy (2).npy", converted(tensor.Output, 0)},
	{conv + ".output.0.a.b.c.npy", converted(tensor.Output, 0)},
	{conv + ".output.0.json", converted(tensor.Output, 0)},
	{"foo.output.1", Info{Grammar: Converted, Stem: "foo", OpName: "foo", Kind: tensor.Output, Index: 1}},
	{"Opdebug.Node_OpDebug.1.2.output.0.json", Info{Grammar: Converted, Source: "Opdebug.Node_OpDebug.1.2", Stem: "Opdebug.Node_OpDebug.1.2", OpType: "Opdebug", OpName: "Node_OpDebug", Kind: tensor.Output}},
	{"net.conv1.output.1.npy", Info{Grammar: Converted, Source: "net.conv1", Stem: "net.conv1", OpName: "net.conv1", Kind: tensor.Output, Index: 1}},
	{"a.b.c.input.0.2x3.npy", Info{Grammar: Converted, Source: "a.b.c", Stem: "a.b.c", OpName: "a.b.c", Kind: tensor.Input, Shape: dims(2, 3)}},
	{"b.output.0.3.int8.XY.bin", Info{Grammar: Converted, Source: "b", Stem: "b", OpName: "b", Kind: tensor.Output, Shape: dims(3), DType: tensor.Int8}.failing(`format "XY"`)},
	{"b.output.0.2.float32.format(57).bin", Info{Grammar: Converted, Source: "b", Stem: "b", OpName: "b", Kind: tensor.Output, Shape: dims(2), DType: tensor.Float32}.failing(`format "format(57)"`)},
	{"b.output.0.2.float99.ND.bin", Info{Grammar: Converted, Source: "b", Stem: "b", OpName: "b", Kind: tensor.Output, Shape: dims(2), Format: format(tensor.ND)}.failing(`element type "float99"`)},
	// References.
	{"conv1.0.1624605159829577.npy", Info{Grammar: Reference, OpName: "conv1", Kind: tensor.Output, Timestamp: stamp}},
	{"conv1.12.1624.quant", Info{Grammar: Reference, OpName: "conv1", Kind: tensor.Output, Index: 12, Timestamp: 1624}},
	{"a.b.c.1.7.pb", Info{Grammar: Reference, OpName: "a.b.c", Kind: tensor.Output, Index: 1, Timestamp: 7}},
	{"卷积.0.5.npy", Info{Grammar: Reference, OpName: "卷积", Kind: tensor.Output, Timestamp: 5}},
	{"model.output.0.1624605159829577.npy", Info{Grammar: Reference, Source: "model", OpName: "model.output", Kind: tensor.Output, Timestamp: stamp}},
	// MindSpore: the first is the example of its documentation.
	{"Default--network-TrainOneStepCell--network-WithLossCell--_backbone-ResNet--conv1-Conv2d--Conv2D-op516_input_1_shape_64_3_3_3_Float32_DefaultFormat.bin",
		Info{Grammar: Sync, OpName: "Default/network-TrainOneStepCell/network-WithLossCell/_backbone-ResNet/conv1-Conv2d/Conv2D-op516", OpType: "Conv2D", Kind: tensor.Input, Index: 1,
			DType: tensor.Float32, Shape: dims(64, 3, 3, 3), Format: format(tensor.ND)}},
	{"x_output_0_shape_4_1_16_16_Float16_FRACTAL_Z_C04.BIN",
		Info{Grammar: Sync, OpName: "x", Kind: tensor.Output, DType: tensor.Float16, Shape: dims(4, 1, 16, 16), Format: format(tensor.FractalZC04)}},
	{"a_input_0_shape_1_b_output_12_shape_2_UInt8_NHWC.npy",
		Info{Grammar: Sync, Source: "a_input_0_shape_1_b_output_12_shape_2_UInt8_NHWC.bin", OpName: "a_input_0_shape_1_b", Kind: tensor.Output, Index: 12, DType: tensor.Uint8, Shape: dims(2), Format: format(tensor.NHWC)}},
	// SGLang: the order of its keys, older names, and names that are not its own.
	{"name=attn_out___step=3___rank=0___layer_id=7___dump_index=12.pt", Info{Grammar: SGLang, OpName: "attn_out.layer_id=7", Kind: tensor.Output, Step: "3", Rank: "0", Sequence: 13}},
	{"forward_pass_id=3___rank=1___name=x___dump_index=0.pt", Info{Grammar: SGLang, OpName: "x", Kind: tensor.Output, Step: "3", Rank: "1", Sequence: 1}},
	{"scalar_output_0_shape_Int32_DefaultFormat.bin", Info{Grammar: Sync, OpName: "scalar", Kind: tensor.Output, DType: tensor.Int32, Shape: dims(), Format: format(tensor.ND)}},
	{"scalar_output_0_shape__Bool_DefaultFormat.bin", Info{Grammar: Sync, OpName: "scalar", Kind: tensor.Output, DType: tensor.Bool, Shape: dims(), Format: format(tensor.ND)}},
	{"x_output_0_shape_2_Float99_NCHW.bin", Info{Grammar: Sync, OpName: "x", Kind: tensor.Output, Shape: dims(2), Format: format(tensor.NCHW)}.failing(`element type "Float99"`)},
	{"x_output_0_shape_2_Float32_ABCD_E.bin", Info{Grammar: Sync, OpName: "x", Kind: tensor.Output, DType: tensor.Float32, Shape: dims(2), UnknownFormat: "ABCD_E"}},
	{"x_output_0_shape_2_uint_NCHW.bin", Info{Grammar: Sync, OpName: "x", Kind: tensor.Output, Shape: dims(2), Format: format(tensor.NCHW)}.failingAs(`generic element type "uint"`)},
	{"S--Add-op526_2_output_0_shape_9_1_16_16_kNumberTypeFloat16_FracZ.bin",
		Info{Grammar: Sync, OpName: "S/Add-op526_2", OpType: "Add", Kind: tensor.Output, DType: tensor.Float16, Shape: dims(9, 1, 16, 16), Format: format(tensor.FractalZ)}},
	{"x_output_0_shape_1_1_2_2_16_Float16_NC1HWC0.1x16x2x2.npy",
		Info{Grammar: Sync, Source: "x_output_0_shape_1_1_2_2_16_Float16_NC1HWC0.bin", OpName: "x", Kind: tensor.Output, DType: tensor.Float16, Shape: dims(1, 16, 2, 2)}},
	// ATB.
	{"intensor3.bin", Info{Grammar: ATB, OpName: "intensor3", Kind: tensor.Input, Index: 3}},
	{"outtensor0_residual_1.npy", Info{Grammar: ATB, OpName: "outtensor0_residual_1", Kind: tensor.Output}},
	// Layouts.
	{"conv1.NC1HWC0.npy", Info{Grammar: InLayout, OpName: "conv1", Kind: tensor.Output, Format: format(tensor.NC1HWC0)}},
	{"a.b.FRACTAL_Z.float16.bin", Info{Grammar: InLayout, OpName: "a.b", Kind: tensor.Output, Format: format(tensor.FractalZ), DType: tensor.Float16}},
	// Operators.
	{"conv1.npy", Info{Grammar: Plain}},
	{"conv1", Info{Grammar: Plain}},
	{".npy", Info{Grammar: Plain}},
	{"conv1.csv", Info{Grammar: Plain}},
	{"layer1.0.npy", Info{Grammar: Plain}},
	{"op_1_3_224_224.npy", Info{Grammar: Plain, Numbers: dims(1, 3, 224, 224)}},
	{"1_2.bin", Info{Grammar: Plain, Numbers: dims(2)}},
	{"conv_1x8x8.bin", Info{Grammar: Plain, Shape: dims(1, 8, 8)}},
	{"conv(1, 8, 8).bin", Info{Grammar: Plain, Shape: dims(1, 8, 8)}},
	{"conv_(8,).bin", Info{Grammar: Plain, Shape: dims(8)}},
	{"conv_[1,8].txt", Info{Grammar: Plain, Shape: dims(1, 8)}},
	{"(1,2).bin", Info{Grammar: Plain}},
}

// malformed are names that nearly fit a grammar, and are Plain.
var malformed = map[Grammar][]string{
	DumpFile: {"Add.x.1624605159829059", "Add.x.5.16.1624605159829059.", "Add.x.5.16.1624605159829059.4.1.2.3.x",
		"Add.x.+5.+1624605159829059", "Add.x.5.16.99999999999999999999999", "Add.x.5.16.1624605159829059.csv"},
	Record: {"Opdebug.Node_OpDebug.59", "Opdebug.Node_OpDebug.59.", "Opdebug.Node_OpDebug.59.x", "Opdebug.Node_OpDebug.-1.1597922031178434",
		"Opdebug.Node_OpDebug.59..1597922031178434"},
	Converted: {"net.conv1.output.x.npy", "net.output.0.a.b.c.npy", "output.0.npy", ".output.0.bin", "b.output.99999999999.txt", "b.output.0.1_-2.float32.ND.bin",
		"output.0.2.float32.ND.bin", "a.output.0.1x.npy", "b.other.0.2x3.npy", conv + ".output.0.a.b.c.d.e.npy"},
	Reference: {"conv1.0." + strings.Repeat("9", 21) + ".npy", "conv1.-1.1624605159829577.npy", "conv1.99999999999.7.npy", ".0.5.npy"},
	Sync: {"a_other_1_shape_2_Float32_ND.bin", "get_output_1_shape_2.npy", "x_output_99999999999_shape_2_Float32_NCHW.bin", "_output_0_shape_2_Float32_ND.bin",
		"x_output_0_shape_99999999999999999999_Float32_NCHW.bin", "x_output_0_shape_-2_Float32_ND.bin", "x_output_0_shape_2_Float32_.bin", "_output_0_shape_.bin"},
	ATB:      {"intensor.bin", "intensorx.bin", "xintensor0.bin", "outtensor99999999999.bin", "outtensor0x.bin"},
	InLayout: {"conv1.NC1HWC0", ".NC1HWC0.npy", "conv1.nc1hwc0.npy", "conv1.NCHW.npy", "conv1.FRACTAL_ZED.npy", "conv1.NC1HWC0.float99.npy", ".NC1HWC0.float16.npy"},
	SGLang:   {"name=x.pt", "step=3___rank=0.pt", "name=x___step=3.npy", "name=x___step=a.pt", "name=x___rank=-1.pt", "name=x___dump_index=99999999999.pt", "name=___step=3.pt", "name=x___step=3___layer.pt"},
	Plain:    {"conv_1x99999999999999999999.bin", "conv(1,,2).bin", "a.bin.gz"},
}

func dump(base string) Info {
	d, _ := parseDump(base) // see TestDumps
	n := Info{Grammar: DumpFile, OpType: d.OpType, OpName: d.OpName, Dump: d, HasDump: true, Timestamp: d.Timestamp}
	if d.HasThread {
		n.Slice = strconv.FormatUint(d.ThreadID, 10)
	}
	return n
}

// converted is the name of a tensor of conv.
func converted(k tensor.Kind, index int, shape ...int64) Info {
	return Info{Grammar: Converted, Source: conv, Stem: conv, OpType: "Conv2D", OpName: "conv1", Timestamp: stamp, Kind: k, Index: index, Shape: shape, HasDump: true,
		Dump: Dump{OpType: "Conv2D", OpName: "conv1", TaskID: 3, StreamID: 16, HasStream: true, Timestamp: stamp}}
}

func (n Info) with(shape tensor.Shape, d tensor.DType, f *tensor.Format) Info {
	n.Shape, n.DType, n.Format = shape, d, f
	return n
}

func (n Info) failing(what string) Info { return n.failingAs("unknown " + what) }

func (n Info) failingAs(what string) Info {
	n.Err = wantError("the file name has the " + what)
	return n
}

type wantError string

func (e wantError) Error() string { return string(e) }

func TestParse(t *testing.T) {
	sameText := cmp.Comparer(func(a, b error) bool { return a == nil && b == nil || a != nil && b != nil && a.Error() == b.Error() })
	for _, test := range names {
		want := test.want
		stem := test.base
		for ext := range endings {
			if cut := len(stem) - len(ext); cut > 0 && strings.EqualFold(stem[cut:], ext) {
				stem, want.Ext = stem[:cut], ext
			}
		}
		if want.Stem == "" {
			want.Stem = stem
		}
		if want.Grammar == Plain {
			want.OpName, want.Kind = stem, tensor.Output
		}
		if diff := cmp.Diff(want, Parse(test.base), sameText, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s:\n%s", test.base, diff)
		}
		if got := Parse(test.base); (got.Shape == nil) != (want.Shape == nil) {
			t.Errorf("%s: shape %#v, want %#v", test.base, got.Shape, want.Shape)
		}
	}
	for _, base := range []string{"", "a/b.npy", "a\x00.npy"} {
		if diff := cmp.Diff(Info{}, Parse(base)); diff != "" {
			t.Errorf("%q:\n%s", base, diff)
		}
	}
}

// TestGrammars: every grammar has names that only it parses, and names that nearly fit, which are
// Plain.
func TestGrammars(t *testing.T) {
	for _, row := range grammars {
		if row.form == "" {
			t.Errorf("grammar %d has no form", row.grammar)
		}
		unique := false
		for _, test := range names {
			stem, ext := splitExt(test.base)
			only := test.want.Grammar == row.grammar
			for _, other := range grammars {
				_, ok := other.parse(stem, ext)
				only = only && ok == (other.grammar == row.grammar || other.grammar == Plain)
			}
			unique = unique || only
		}
		if !unique {
			t.Errorf("no name is of the grammar %s only", row.form)
		}
		if len(malformed[row.grammar]) == 0 {
			t.Errorf("grammar %s has no malformed names", row.form)
		}
		for _, base := range malformed[row.grammar] {
			if got := Parse(base); got.Grammar != Plain || got.OpName != got.Stem || got.Err != nil {
				t.Errorf("%s: %+v", base, got)
			}
		}
	}
}

func TestIsOpDebug(t *testing.T) {
	for base, want := range map[string]bool{
		"Opdebug.Node_OpDebug.0.3.1673383728094391":               true,
		"Opdebug.Node_OpDebug.0.1673383728094391.4.1.0.0":         true,
		"OpDebug.Node_Opdebug.65535.65535.1597922031178434":       true,
		"opdebug.node_opdebug.59.3":                               true,
		"Opdebug.Node_OpDebug.0.3.1673383728094391.output.0.npy":  true,
		"Opdebug.Node_OpDebug.1.2.output.0.json":                  true,
		"":                                                        false,
		"Opdebug":                                                 false,
		"Opdebug.Node_OpDebug":                                    false,
		"Opdebug.Node_OpDebug.59":                                 false,
		"Opdebug.Node_OpDebug.1.2.3.4.5.6.7.8":                    false,
		"Opdebug.Node_OpDebugX.59.1597922031178434":               false,
		"XOpdebug.Node_OpDebug.59.1597922031178434":               false,
		"Add.Node_OpDebug.59.1597922031178434":                    false,
		"Opdebug.Add.59.1597922031178434":                         false,
		"Opdebug.Default_Node_OpDebug-op1.59.16.1624605159829059": false,
		"dir/Opdebug.Node_OpDebug.59.1597922031178434":            false,
	} {
		if name := Parse(base); name.IsOpDebug() != want {
			t.Errorf("%s: %v", base, !want)
		}
	}
}

func TestParseFolder(t *testing.T) {
	for _, want := range []Folder{
		{TimeFolder, "20200808163566", "20200808163566"},
		{RankFolder, "rank_5", "5"},
		{RankFolder, "rank12", "12"},
		{StepFolder, "step_4", "4"},
		{DeviceFolder, "device_0", "0"},
		{IterationFolder, "iteration_12", "12"},
		{ProcessFolder, "proc4711", "4711"},
		{GraphFolder, "resnet_graph_0", "resnet"},
		{GraphFolder, "a_graph_1_graph_2", "a_graph_1"},
		{NumberFolder, "7", "7"},
		{NumberFolder, "2020080816356", "2020080816356"},
		{OtherFolder, "", ""},
		{OtherFolder, "net", "net"},
		{OtherFolder, "rank_", "rank_"},
		{OtherFolder, "rank__1", "rank__1"},
		{OtherFolder, "rank_x", "rank_x"},
		{OtherFolder, "_graph_0", "_graph_0"},
		{OtherFolder, "-7", "-7"},
		{OtherFolder, "9999999999999999999", "9999999999999999999"},
	} {
		if got := ParseFolder(want.Name); got != want {
			t.Errorf("%q: %+v, want %+v", want.Name, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, test := range names {
		f.Add(test.base)
	}
	for _, test := range dumpNames {
		f.Add(test.base)
	}
	for _, bases := range malformed {
		for _, base := range bases {
			f.Add(base)
		}
	}
	f.Fuzz(func(t *testing.T, base string) {
		n := Parse(base)
		if n.Grammar == None {
			if base != "" && !strings.ContainsAny(base, "/\x00") {
				t.Errorf("%q is no name", base)
			}
			return
		}
		if n.Index < 0 || n.Stem == "" || !strings.Contains(base, n.Stem) || n.Stem != base && n.Ext == "" && n.Grammar != Converted {
			t.Errorf("%q gives %+v", base, n)
		}
		if isDump := n.IsDump(); isDump != (n.Kind == "" && n.Grammar != Record) || isDump && n.Dump.String() != base {
			t.Errorf("%q gives %+v", base, n)
		}
		if n.HasDump && (n.OpType == "" || strings.Contains(n.OpType, ".")) {
			t.Errorf("%q gives %+v", base, n)
		}
		if n.Source != "" && !strings.HasPrefix(base, strings.TrimSuffix(n.Source, ".bin")+".") {
			t.Errorf("%q has the source %q", base, n.Source)
		}
		if n.OpName == "" && !n.HasDump || n.Grammar != SGLang && !strings.Contains(strings.ReplaceAll(base, "--", "/"), n.OpName) && !strings.Contains(base, n.OpName) {
			t.Errorf("%q names the operator %q", base, n.OpName)
		}
		for _, d := range append(n.Shape, n.Numbers...) {
			if d < 0 {
				t.Errorf("%q has the shape %v, numbers %v", base, n.Shape, n.Numbers)
			}
		}
	})
}

// TestRawRoundTrip builds names of raw files of both forms from their fields.
func TestRawRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		op := rapid.StringMatching(`[A-Za-z0-9_.\-()é ]*[A-Za-z]`).Draw(t, "op")
		d := rapid.SampledFrom([]tensor.DType{tensor.Float16, tensor.Int8, tensor.BFloat16, tensor.Complex128}).Draw(t, "type")
		f := rapid.SampledFrom([]tensor.Format{tensor.NCHW, tensor.ND, tensor.FractalZ3DTranspose, tensor.FractalNZC016}).Draw(t, "format")
		want := Info{
			Grammar: Converted, Ext: ".bin", Source: op, Stem: op, OpName: op,
			Kind:  rapid.SampledFrom([]tensor.Kind{tensor.Input, tensor.Output}).Draw(t, "kind"),
			Index: rapid.IntRange(0, 1000).Draw(t, "index"),
			DType: d, Format: &f,
			Shape: append(tensor.Shape{}, rapid.SliceOf(rapid.Int64Min(0)).Draw(t, "shape")...),
		}
		shape, index := want.Shape.Join("_"), strconv.Itoa(want.Index)
		converted := strings.Join([]string{op, string(want.Kind), index, shape, d.String(), f.String(), "bin"}, ".")
		if diff := cmp.Diff(want, Parse(converted)); diff != "" {
			t.Errorf("%s:\n%s", converted, diff)
		}
		sync := strings.Join([]string{op, string(want.Kind), index, "shape", shape, strings.ToUpper(d.String()), f.String()}, "_")
		want.Grammar, want.Source, want.Stem, want.OpName = Sync, "", sync, strings.ReplaceAll(op, "--", "/")
		if m := regexp.MustCompile(`(?:^|/)([^/]+)-op[0-9]+(?:_[0-9]+)?$`).FindStringSubmatch(want.OpName); m != nil {
			want.OpType = m[1]
		}
		if diff := cmp.Diff(want, Parse(sync+".bin")); diff != "" {
			t.Errorf("%s:\n%s", sync, diff)
		}
	})
}

// The grammars as patterns.
var (
	timesSuffix   = regexp.MustCompile(`(?s)^.+[_.]([0-9]+(?:x[0-9]+)+)$`)
	bracketSuffix = regexp.MustCompile(`(?s)[^_.][_.]?(?:\(([0-9, ]*)\)|\[([0-9, ]*)\])$`)
	numbersSuffix = regexp.MustCompile(`(?s)[^_]((?:_[0-9]+)+)$`)
	atbTensor     = regexp.MustCompile(`(?s)^(in|out)tensor([0-9]+)(?:_.+)?$`)
	opNumber      = regexp.MustCompile(`-op[0-9]+(?:_[0-9]+)?$`)
)

// TestPatterns compares the parsers written by hand with the patterns.
func TestPatterns(t *testing.T) {
	part := rapid.OneOf(rapid.StringMatching(`[0-9]{1,2}|[0-9]{19}`), rapid.StringMatching(`(?s)[a_.x(),\[\] é-]`),
		rapid.SampledFrom([]string{"_", "_", "x", "-op", "intensor", "outtensor", "\xff", "\n"}))
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(part, 1, 9).Draw(t, "name"), "")
		var shape, numbers tensor.Shape
		if m := bracketSuffix.FindStringSubmatch(name); m != nil {
			shape, _ = parseDims(strings.TrimSuffix(strings.ReplaceAll(m[1]+m[2], " ", ""), ","), ",")
		} else if m := timesSuffix.FindStringSubmatch(name); m != nil {
			shape, _ = parseDims(m[1], "x")
		} else if m := numbersSuffix.FindStringSubmatch(name); m != nil {
			numbers, _ = parseDims(m[1][1:], "_")
		}
		want := Info{OpName: name, Kind: tensor.Output, Shape: shape, Numbers: numbers}
		if got, _ := parsePlain(name, ""); !cmp.Equal(got, want) {
			t.Errorf("%q: %s", name, cmp.Diff(want, got))
		}
		m := atbTensor.FindStringSubmatch(name)
		got, ok := parseATB(name, "")
		if ok && (m == nil || strconv.Itoa(got.Index) != strings.TrimLeft(m[2][:len(m[2])-1], "0")+m[2][len(m[2])-1:] || string(got.Kind) != m[1]+"put") || !ok && m != nil && len(m[2]) < 19 {
			t.Errorf("%q: %+v, %v, want %q", name, got, ok, m)
		}
		head := name
		if at := opNumber.FindStringIndex(name); at != nil && at[0] > 0 {
			head = name[:at[0]]
		}
		if got, ok := CutOpNumber(name); got != head || ok != (head != name) {
			t.Errorf("%q: %q, %v, want %q", name, got, ok, head)
		}
	})
}

func TestShapeSuffixes(t *testing.T) {
	for op, want := range map[string][]ShapeSuffix{
		"conv1":        nil,
		"":             nil,
		"_8":           nil,
		"conv_1x3x224": {{"conv", dims(1, 3, 224), true}},
		"conv_x":       nil,
		"conv_1_8":     {{"conv_1", dims(8), false}, {"conv", dims(1, 8), false}},
		"conv_01_8":    {{"conv_01", dims(8), false}},
		"1_2":          {{"1", dims(2), false}},
		"a_-1":         nil,
		"n_1_2_3_4_5_6_7_8_9": {
			{"n_1_2_3_4_5_6_7_8", dims(9), false}, {"n_1_2_3_4_5_6_7", dims(8, 9), false}, {"n_1_2_3_4_5_6", dims(7, 8, 9), false},
			{"n_1_2_3_4_5", dims(6, 7, 8, 9), false}, {"n_1_2_3_4", dims(5, 6, 7, 8, 9), false}, {"n_1_2_3", dims(4, 5, 6, 7, 8, 9), false},
			{"n_1_2", dims(3, 4, 5, 6, 7, 8, 9), false}, {"n_1", dims(2, 3, 4, 5, 6, 7, 8, 9), false},
		},
	} {
		if diff := cmp.Diff(want, ShapeSuffixes(op)); diff != "" {
			t.Errorf("%s:\n%s", op, diff)
		}
	}
	for op, want := range map[string]string{"conv1_1624605159829577": "conv1", "conv1_123456789": "", "_1624605159829577": "", "1624605159829577": "", "a_x": ""} {
		if head, ok := CutTimestamp(op); ok != (want != "") || ok && head != want {
			t.Errorf("%s: %q, %v", op, head, ok)
		}
	}
}

func TestCutOpNumber(t *testing.T) {
	for name, want := range map[string]string{
		"Default/net/Conv2D-op515": "Default/net/Conv2D", "Default_net_Add-op515_2": "Default_net_Add",
		"Add-op": "Add-op", "Add-opx": "Add-opx", "-op1": "-op1", "Add-op1-op22": "Add-op1", "Add": "Add", "": "",
	} {
		if got, ok := CutOpNumber(name); got != want || ok != (want != name) {
			t.Errorf("%q: %q, %t, want %q", name, got, ok, want)
		}
	}
}
