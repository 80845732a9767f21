package compare

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"dumptool/internal/compare/record"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/jsonpos"
	"dumptool/internal/tensor"
)

// drawnLeaf draws a value of a call.
func drawnLeaf(t *rapid.T) *msprobe.Leaf {
	text := func(name string) string { return rapid.String().Draw(t, name) }
	l := &msprobe.Leaf{Name: text("name"), Kind: rapid.SampledFrom([]tensor.Kind{tensor.Input, tensor.Output}).Draw(t, "kind"),
		Index: rapid.IntRange(0, 3).Draw(t, "index"), Path: text("path")}
	kind := rapid.Custom(func(t *rapid.T) jsonpos.Kind {
		return jsonpos.Kind(rapid.IntRange(int(jsonpos.Invalid), int(jsonpos.Object)).Draw(t, "json"))
	})
	switch rapid.IntRange(0, 2).Draw(t, "what") {
	case 0:
		d := &msprobe.Tensor{Type: text("type"), DType: text("dtype"), Digest: text("digest"), DataName: text("data"),
			Shape: rapid.SampledFrom([]tensor.Shape{nil, {}, {2, 3}}).Draw(t, "shape")}
		for _, n := range []*msprobe.Number{&d.Max, &d.Min, &d.Mean, &d.Norm} {
			value := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1)})).Draw(t, "value")
			*n = msprobe.Number{Kind: kind.Draw(t, "of"), Value: value, Int: rapid.Bool().Draw(t, "int"), Text: text("text")}
		}
		if rapid.Bool().Draw(t, "says") {
			grad := rapid.Bool().Draw(t, "grad")
			d.RequiresGrad = &grad
		}
		l.Tensor = d
	case 1:
		l.Value = &msprobe.Value{Type: text("type"), Kind: kind.Draw(t, "of"), Text: text("text")}
	}
	return l
}

// TestPlanCalls: a plan file has the values of calls as they are, and refuses one of a row
// that there is not.
func TestPlanCalls(t *testing.T) {
	opt := tiny(t)
	plan := func(t *testing.T, calls []record.CallPair) []byte {
		t.Helper()
		p := frozen(t, opt)
		p.called, p.calls = len(calls) > 0, calls
		if err := p.Freeze(PlanSource{}); err != nil {
			t.Fatal(err)
		}
		return written(t, p)
	}
	rapid.Check(t, func(rt *rapid.T) {
		var calls []record.CallPair
		for range rapid.IntRange(0, 3).Draw(rt, "calls") {
			c := record.CallPair{At: record.At{Rank: rapid.String().Draw(rt, "rank")}, API: rapid.String().Draw(rt, "api"),
				Stack: rapid.SampledFrom([][]string{nil, {"File a.py, line 3", ""}}).Draw(rt, "stack"), Values: []record.ValuePair{}}
			for range rapid.IntRange(0, 3).Draw(rt, "values") {
				v := record.ValuePair{NPU: drawnLeaf(rt), Row: rapid.IntRange(-1, 1).Draw(rt, "row")}
				if rapid.Bool().Draw(rt, "paired") {
					v.Ref = drawnLeaf(rt)
				}
				c.Values = append(c.Values, v)
			}
			calls = append(calls, c)
		}
		got, err := read(plan(t, calls), opt)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(calls, got.calls, cmpopts.EquateNaNs()); diff != "" {
			rt.Errorf("-want +got:\n%s", diff)
		}
	})
	leaf := &msprobe.Leaf{Name: "relu.0.output.0"}
	for _, row := range []int{-2, 2} {
		data := plan(t, []record.CallPair{{API: "relu", Values: []record.ValuePair{{NPU: leaf, Row: row}}}})
		want := fmt.Sprintf(`plan.jsonl: line 1: call "relu" has row %d of 2`, row)
		if _, err := read(data, opt); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	p := frozen(t, opt)
	for calls, want := range map[string]bool{`"called":true`: true, `"called":true,"calls":[{"api":"relu","values":[]}]`: false, `"called":false`: false} {
		data := strings.Replace(string(written(t, p)), `"schema"`, calls+`,"schema"`, 1)
		f, err := newPlanFile("plan.jsonl", planData{bytes.NewReader([]byte(data))})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.LacksCalls(); got != want {
			t.Errorf("%s: lacks calls: %v, want %v", calls, got, want)
		}
	}
}
