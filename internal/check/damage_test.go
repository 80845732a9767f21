package check

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumptest"
	"dumptool/internal/graph"
	"dumptool/internal/recompute"
)

// TestDamage: a fault in an operator's data is reported in a line with its file, the operator, the value found and
// the value wanted. Other operators are judged, and nothing is WRONG because of it.
func TestDamage(t *testing.T) {
	t.Parallel()
	type tensors = []dumptest.TensorContent
	x := func() dumptest.TensorContent { return floats(ramp(24, 1)...) }
	shaped := func(shape ...uint64) dumptest.TensorContent {
		c := x()
		c.Shape = shape
		return c
	}
	pooled := func() dumptest.TensorContent { // windows of 2x2, stride 2x2
		c := floats(7.5, 9.5, 11.5, 19.5, 21.5, 23.5)
		c.Shape = []uint64{1, 1, 2, 3}
		return c
	}
	unknown := x()
	unknown.StoredDType = 13 // string type
	image, matrix := func() tensors { return tensors{shaped(1, 1, 4, 6)} }, func() tensors { return tensors{shaped(4, 6)} }
	window := func(key, value string) string { // the other attributes of a window
		all := map[string]string{"ksize": "[1, 1, 2, 2]", "strides": "[1, 1, 2, 2]", "pads": "[0, 0, 0, 0]"}
		all[key] = value
		return fmt.Sprintf(`{"list": {"i": %s}}}, {"key": "strides", "value": {"list": {"i": %s}}}, {"key": "pads", "value": {"list": {"i": %s}}`, all["ksize"], all["strides"], all["pads"])
	}
	huge := "[" + strings.Repeat("1, ", 1<<17) + "1]"
	for _, c := range []struct {
		name, typ       string
		attr, value     string // as in --attr, or with a JSON value as in a graph
		inputs, outputs tensors
		cut             bool
		reason          recompute.Reason // empty for a judged operator
		says            []string         // all in one line
	}{
		{name: "a cut dump", typ: "Neg", inputs: tensors{x()}, outputs: tensors{floats(ramp(24, -1)...)}, cut: true, reason: recompute.NoInputs, says: []string{"broken", "96"}},
		{name: "a shape that overflows", typ: "Neg", inputs: tensors{shaped(1<<40, 1<<40)}, outputs: tensors{x()}, reason: recompute.NoInputs, says: []string{"broken", "1099511627776"}},
		{name: "inputs that do not broadcast", typ: "Add", inputs: tensors{shaped(4, 6), shaped(3, 8)}, outputs: matrix(), reason: recompute.NoAttributes, says: []string{"(3, 8)", "(4, 6)"}},
		{name: "NaN as axis", typ: "ReduceSumD", attr: "axes=NaN", inputs: matrix(), outputs: tensors{shaped(24)}, reason: recompute.NoAttributes, says: []string{"broken", "axes", "NaN", "want whole numbers"}},
		{name: "a huge axis", typ: "ReduceSumD", attr: "axes=1000000000000", inputs: matrix(), outputs: tensors{shaped(24)}, reason: recompute.NoAttributes, says: []string{"axis 1000000000000", "(4, 6)"}},
		{name: "an axis of another kind", typ: "SoftmaxV2", attr: "axes=last", inputs: matrix(), outputs: matrix(), reason: recompute.InPlace, says: []string{"broken", "axes", "last", "want whole numbers"}},
		{name: "stride 0", typ: "MaxPool", attr: "strides=0,0", inputs: image(), outputs: tensors{pooled()}, says: []string{"broken", "strides", "0,0", "want"}},
		{name: "stride -1", typ: "MaxPool", attr: "strides=-1,-1", inputs: image(), outputs: tensors{pooled()}, says: []string{"broken", "strides", "-1,-1", "want"}},
		{name: "stride 0 of a graph", typ: "MaxPool", attr: "strides", value: `{"list": {"i": [1, 1, 0, 0]}}`, inputs: image(), outputs: tensors{pooled()}, says: []string{"broken", "strides", "0,0", "want"}},
		{name: "a list without end", typ: "MaxPool", attr: "strides", value: `{"list": {"i": ` + huge + `}}`, inputs: image(), outputs: tensors{pooled()}, says: []string{"broken", "strides", "more than 4096", "want whole numbers"}},
		{name: "lists inside of lists", typ: "MaxPool", attr: "ksize", value: window("strides", "[9, [9, [9]]]"), inputs: image(), outputs: tensors{pooled()}, says: []string{"broken", "9,9,9", "(1, 1, 4, 6)"}},
		{name: "a window of 10^9", typ: "MaxPool", attr: "ksize", value: window("ksize", "[1, 1, 1000000000, 1000000000]"), inputs: image(), outputs: tensors{pooled()}, says: []string{"broken", "1e+09,1e+09", "(4, 6)", "(2, 3)"}},
		{name: "an output type without a decoder", typ: "Neg", inputs: tensors{x()}, outputs: tensors{unknown}, reason: recompute.NoDType, says: []string{"string"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := dump(t, dir, c.typ, "broken", 1, c.inputs, c.outputs)
			dump(t, dir, "Neg", "sound", 2, tensors{x()}, tensors{floats(ramp(24, -1)...)})
			if info, err := os.Stat(path); err != nil || c.cut && os.Truncate(path, info.Size()-10) != nil {
				t.Fatal(err)
			}
			opt, open := Options{Seed: 1, Graph: true}, dumpdir.Options{NoRaw: true, Graphs: true, Attributes: true}
			switch {
			case c.value != "":
				g, err := graph.ReadFusionAttributes(strings.NewReader(fmt.Sprintf(`{"graph": [{"op": [{"name": "broken", "type": %q, "attr": [{"key": %q, "value": %s}]}]}]}`, c.typ, c.attr, c.value)))
				if err != nil {
					t.Fatal(err)
				}
				open.Sources.Fusion = g
			case c.attr != "":
				g, err := ParseUserAttribute("broken." + c.attr)
				if err != nil {
					t.Fatal(err)
				}
				opt.Attributes = []UserAttribute{g}
			}
			run, err := dumpdir.Open(context.Background(), []string{dir}, open)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Run(context.Background(), run, opt)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, p := range r.Problems {
				lines = append(lines, fmt.Sprintf("%s: %v", p.File, p.Err))
			}
			for _, w := range r.Warnings {
				lines = append(lines, w.String())
			}
			found := map[string]*Operator{}
			for i := range r.Operators {
				o := &r.Operators[i]
				found[o.Op] = o
				lines = append(lines, o.File+": "+o.Op+": "+o.Evidence.String())
			}
			sound, broken := found["sound"], found["broken"]
			switch {
			case sound == nil || sound.Status != recompute.OK:
				t.Errorf("the other operator: %+v", sound)
			case broken == nil && len(r.Problems) == 0:
				t.Error("the operator has neither a row nor a problem")
			case broken != nil && (broken.Reason != c.reason || broken.File != path || broken.Status == recompute.Wrong || broken.Status == recompute.Misfit):
				t.Errorf("is %s %s of %s, want %q", broken.Status, broken.Reason, broken.File, c.reason)
			}
			if broken != nil && broken.Reason == recompute.NoAttributes && !broken.Evidence.IsZero() {
				if _, detail, _ := strings.Cut(broken.EvidenceZH, "："); !strings.ContainsFunc(detail, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
					t.Errorf("the detail in Chinese: %q", broken.EvidenceZH)
				}
			}
			if !slices.ContainsFunc(lines, func(line string) bool {
				return !slices.ContainsFunc(c.says, func(word string) bool { return !strings.Contains(line, word) })
			}) {
				t.Errorf("no line has all of %q:\n%s", c.says, strings.Join(lines, "\n"))
			}
		})
	}
}

// TestTwoOfOneName: two operators with the same name are judged separately.
func TestTwoOfOneName(t *testing.T) {
	t.Parallel()
	type tensors = []dumptest.TensorContent
	dir := t.TempDir()
	wrong := ramp(24, -1)
	wrong[7] = 99
	dump(t, dir, "Neg", "same", 1, tensors{floats(ramp(24, 1)...)}, tensors{floats(ramp(24, -1)...)})
	dump(t, dir, "Neg", "same", 2, tensors{floats(ramp(24, 1)...)}, tensors{floats(wrong...)})
	r := checked(t, Options{}, dir)
	var all []recompute.Status
	for _, o := range r.Operators {
		all = append(all, o.Status)
	}
	if !slices.Equal(all, []recompute.Status{recompute.OK, recompute.Wrong}) || len(r.Problems) > 0 {
		t.Errorf("%v, problems %v, want one OK and one WRONG", all, r.Problems)
	}
}
