package check

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumptest"
	"dumptool/internal/recompute"
)

// TestDamage: what is wrong with one operator has a line that names its file, and the others
// are judged; nothing is WRONG because of it.
func TestDamage(t *testing.T) {
	t.Parallel()
	type tensors = []dumptest.TensorContent
	x := func() dumptest.TensorContent { return floats(ramp(24, 1)...) }
	shaped := func(shape ...uint64) dumptest.TensorContent {
		c := x()
		c.Shape = shape
		return c
	}
	pooled := func() dumptest.TensorContent { // by windows of 2, 2 in steps of 2, 2
		c := floats(7.5, 9.5, 11.5, 19.5, 21.5, 23.5)
		c.Shape = []uint64{1, 1, 2, 3}
		return c
	}
	unknown := x()
	unknown.StoredDType = 13 // a type of strings
	for _, c := range []struct {
		name, typ, attr string
		inputs, outputs tensors
		cut             bool
		problem         string // named by a line, empty for none
		reason          recompute.Reason
		healthy         bool // the outputs are right for other attributes
	}{
		{name: "a cut dump", typ: "Neg", inputs: tensors{x()}, outputs: tensors{floats(ramp(24, -1)...)}, cut: true, problem: "broken"},
		{name: "inputs that do not broadcast", typ: "Add", inputs: tensors{shaped(4, 6), shaped(3, 8)}, outputs: tensors{shaped(4, 6)}, reason: recompute.NoAttributes},
		{name: "NaN as axis", typ: "ReduceSumD", attr: "axes=NaN", inputs: tensors{shaped(4, 6)}, outputs: tensors{shaped(24)}, reason: recompute.NoAttributes},
		{name: "a huge axis", typ: "ReduceSumD", attr: "axes=1000000000000", inputs: tensors{shaped(4, 6)}, outputs: tensors{shaped(24)}, reason: recompute.NoAttributes},
		{name: "stride 0", typ: "MaxPool", attr: "strides=0,0", inputs: tensors{shaped(1, 1, 4, 6)}, outputs: tensors{pooled()}, healthy: true},
		{name: "stride -1", typ: "MaxPool", attr: "strides=-1,-1", inputs: tensors{shaped(1, 1, 4, 6)}, outputs: tensors{pooled()}, healthy: true},
		{name: "an output type without a decoder", typ: "Neg", inputs: tensors{x()}, outputs: tensors{unknown}},
		{name: "a shape that overflows", typ: "Neg", inputs: tensors{shaped(1<<40, 1<<40)}, outputs: tensors{x()}, problem: "broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := dump(t, dir, c.typ, "broken", 1, c.inputs, c.outputs)
			dump(t, dir, "Neg", "sound", 2, tensors{x()}, tensors{floats(ramp(24, -1)...)})
			if info, err := os.Stat(path); err != nil || c.cut && os.Truncate(path, info.Size()-10) != nil {
				t.Fatal(err)
			}
			run, err := dumpdir.Open(context.Background(), []string{dir}, dumpdir.Options{NoRaw: true})
			if err != nil {
				t.Fatal(err)
			}
			opt := Options{Seed: 1}
			if c.attr != "" {
				g, err := ParseGiven("broken." + c.attr)
				if err != nil {
					t.Fatal(err)
				}
				opt.Attributes = []Given{g}
			}
			r, err := Run(context.Background(), run, opt)
			if err != nil {
				t.Fatal(err)
			}
			named := slices.ContainsFunc(r.Problems, func(p Problem) bool { return strings.Contains(p.File, c.problem) })
			if named != (c.problem != "") {
				t.Errorf("problems: %v", r.Problems)
			}
			for i := range r.Operators {
				o := &r.Operators[i]
				if o.Op == "sound" && o.Status != recompute.OK {
					t.Errorf("the other operator is %s %s", o.Status, o.Reason)
				}
				if o.Op == "broken" && (o.Status == recompute.Wrong || o.Status == recompute.OK && !c.healthy || c.reason != "" && o.Reason != string(c.reason)) {
					t.Errorf("is %s %s, want %s", o.Status, o.Reason, c.reason)
				}
			}
			if !slices.ContainsFunc(r.Operators, func(o Operator) bool { return o.Op == "sound" }) {
				t.Error("the other operator was not judged")
			}
		})
	}
}

// TestTwoOfOneName: two operators of one name are judged by themselves.
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
