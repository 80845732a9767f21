package graph

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// A graph whose operator has all forms of attributes, in JSON and in protobuf text.
const (
	attributesJSON = `{"graph": [{"op": [{"name": "conv", "type": "Conv2D", "attr": [
		{"key": "_datadump_original_op_names", "value": {"list": {"s": ["conv", "relu"]}}},
		{"key": "_stream", "value": {"i": 3}},
		{"key": "strides", "value": {"list": {"i": [1, 1, 2, 2], "val_type": 2}}},
		{"key": "paddings", "value": {"list_list_int": {"list_list_i": [{"list_i": [0, 1]}, {"list_i": [2, 3]}]}}},
		{"value": {"f": "0.5"}, "key": "alpha"},
		{"key": "keep_dims", "value": {"b": true}},
		{"key": "data_format", "value": {"s": "NCHW"}},
		{"key": "one", "value": {"list": {"i": [7]}}},
		{"key": "none"}, {"value": {"i": 1}}, {"key": "tensor", "value": {"t": {"data": "AAAA"}}}
	]}]}]}`
	attributesText = `graph { op { name: "conv" type: "Conv2D"
		attr { key: "_datadump_original_op_names" value { list { s: "conv" s: "relu" } } }
		attr { key: "_stream" value { i: 3 } }
		attr { key: "strides" value { list { i: 1 i: 1 i: 2 i: 2 val_type: VT_LIST_INT } } }
		attr { key: "paddings" value { list_list_int { list_list_i { list_i: [0, 1] } list_list_i { list_i: 2 list_i: 3 } } } }
		attr { value { f: 0.5 } key: "alpha" }
		attr { key: "keep_dims" value { b: true } }
		attr { key: "data_format" value { s: "NCHW" } }
		attr { key: "one" value { list { i: 7 } } }
		attr { key: "tensor" value { t { data: "AAAA" } } }
	} }`
)

func TestAttributes(t *testing.T) {
	t.Parallel()
	want := map[string]Attribute{
		OriginalNames: {[]string{"conv", "relu"}, true}, "strides": {[]string{"1", "1", "2", "2"}, true}, "paddings": {[]string{"0", "1", "2", "3"}, true},
		"alpha": {[]string{"0.5"}, false}, "keep_dims": {[]string{"true"}, false}, "data_format": {[]string{"NCHW"}, false}, "one": {[]string{"7"}, true},
	}
	for name, text := range map[string]string{"JSON": attributesJSON, "text": attributesText} {
		g, err := ReadFusionAttributes(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		op := g.Find("conv")
		for _, without := range []string{"tensor", "none"} {
			if a := op.Attributes[without]; len(a.Values) > 0 {
				t.Errorf("%s: %s is %v", name, without, a)
			}
			delete(op.Attributes, without)
		}
		if !reflect.DeepEqual(op.Attributes, want) {
			t.Errorf("%s: attributes %v, want %v", name, op.Attributes, want)
		}
		if fused := op.Fused(); fused == nil || !*fused {
			t.Errorf("%s: fused %v", name, fused)
		}
		if g, err = ReadFusion(strings.NewReader(text)); err != nil || g.Find("conv").Attributes != nil {
			t.Errorf("%s: attributes that nobody asked for: %v, %v", name, g, err)
		}
	}
}

// TestAttributesBounds: hostile attributes are reduced to a word, other attributes are kept.
func TestAttributesBounds(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("1,", 100_000) + "1"
	deep := strings.Repeat(`{"list":`, 500) + "1" + strings.Repeat("}", 500)
	json := fmt.Sprintf(`{"graph": [{"op": [{"name": "a", "attr": [{"key": "many", "value": {"list": {"i": [%s]}}}, {"key": "deep", "value": %s}, {"key": "axis", "value": {"i": -1}}]}]}]}`, many, deep)
	text := fmt.Sprintf(`graph { op { name: "a" attr { key: "many" value { list { i: [%s] } } } attr { key: "deep" value { %s i: 1 %s } } attr { key: "axis" value { i: -1 } } } }`,
		many, strings.Repeat("list {", 500), strings.Repeat("}", 500))
	for name, graph := range map[string]string{"JSON": json, "text": text} {
		g, err := ReadFusionAttributes(strings.NewReader(graph))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all := g.Find("a").Attributes
		if many := all["many"]; many.List || len(many.Values) != 1 || !strings.Contains(many.Values[0], "more than 4096") || len(all["deep"].Values) > 0 || !reflect.DeepEqual(all["axis"], Attribute{[]string{"-1"}, false}) {
			t.Errorf("%s: attributes %.200v", name, all)
		}
	}
}

func TestIRAttributes(t *testing.T) {
	t.Parallel()
	text := "subgraph @1 () {\n" +
		`  %0(x) = Conv2D(%para1_x, %para2_w) {instance name: conv} primitive_attrs: {kernel_size: (I64(3), I64(3)), pad_mode: I64(0), group: I64(1), format: "NCHW", stride: [const vector][2, 2], transpose: Bool(1)}` + "\n" +
		"      : (<Tensor[Float32], (1, 3, 8, 8)>, <Tensor[Float32], (4, 3, 3, 3)>) -> (<Tensor[Float32], (1, 4, 3, 3)>)\n" +
		"      # Fullname with scope: (Default/conv-op1)\n}\n"
	g, err := ReadIR(strings.NewReader(text))
	if err != nil || len(g.Nodes) != 1 {
		t.Fatal(g, err)
	}
	want := map[string]Attribute{"kernel_size": {[]string{"3", "3"}, true}, "pad_mode": {[]string{"0"}, false}, "group": {[]string{"1"}, false},
		"format": {[]string{"NCHW"}, false}, "stride": {[]string{"2", "2"}, true}, "transpose": {[]string{"1"}, false}}
	if got := g.Attributes(strings.NewReader(text), &g.Nodes[0]); !reflect.DeepEqual(got, want) {
		t.Errorf("attributes %v, want %v", got, want)
	}
	for _, cut := range []string{text[:100], "", strings.Replace(text, "}", "", 1)} {
		if got := g.Attributes(strings.NewReader(cut), &g.Nodes[0]); len(got) > 0 && cut == "" {
			t.Errorf("of %q attributes %v", cut, got)
		}
	}
}

func FuzzFusionAttributes(f *testing.F) {
	f.Add(attributesJSON)
	f.Add(attributesText)
	f.Add(`{"graph": [{"op": [{"name": "a", "attr": {"axis": {"i": 1}, "b": [[1, [2]], "x"]}}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		g, err := ReadFusionAttributes(strings.NewReader(text))
		if err != nil {
			return
		}
		plain, err := ReadFusion(strings.NewReader(text))
		if err != nil || len(plain.Ops) != len(g.Ops) {
			t.Fatalf("without attributes %v, %v", plain, err)
		}
		for _, op := range g.Ops {
			for name, a := range op.Attributes {
				if len(a.Values) > maxValues || strings.HasPrefix(name, "_") && name != OriginalNames {
					t.Errorf("attribute %q of %d values", name, len(a.Values))
				}
			}
		}
	})
}
