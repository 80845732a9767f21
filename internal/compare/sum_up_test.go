package compare

import (
	"strings"
	"testing"

	"dumptool/internal/batch"
	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/record"
)

// TestAmbiguousOutcome: if all tensors are ambiguous the last line says so.
func TestAmbiguousOutcome(t *testing.T) {
	rep := &record.Report{Rows: []record.Row{{Op: "a", Verdict: record.Verdict{Status: record.Ambiguous}}, {Op: "b", Verdict: record.Verdict{Status: record.Ambiguous}}}}
	rep.Count()
	o := (&conclude.Options{}).Outcome(rep)
	if o.Kind != batch.Nothing || !strings.Contains(o.Text.String(), "all 2 tensors are AMBIGUOUS") {
		t.Errorf("outcome %+v", o)
	}
	some := &record.Report{Rows: append([]record.Row{{Op: "c", Verdict: record.Verdict{Status: record.UnmatchedNPU}}}, rep.Rows...)}
	some.Count()
	if o := (&conclude.Options{}).Outcome(some); o.Kind != batch.Nothing || !strings.HasSuffix(o.Text.String(), ", 2 AMBIGUOUS") {
		t.Errorf("outcome %+v", o)
	}
	if o := failing(record.Ambiguous).Outcome(rep); o.Kind != batch.Nothing {
		t.Errorf("outcome %+v, want that nothing was compared", o)
	}
	paired := &record.Report{Rows: append([]record.Row{{Op: "c", Verdict: record.Verdict{Status: record.ShapeMismatch}, RefFile: "r", NPUFile: "n"}}, rep.Rows...)}
	paired.Count()
	if o := failing(record.Ambiguous).Outcome(paired); o.Kind != batch.Found {
		t.Errorf("outcome %+v, want a failure", o)
	}
}

func TestParseRequired(t *testing.T) {
	for text, want := range map[string]conclude.RequiredCoverage{
		"": {}, "all": {Share: 1}, "ALL": {Share: 1}, "90%": {Share: 0.9}, "0.5": {Share: 0.5}, "1": {Share: 1}, "100%": {Share: 1}, "0": {}, "12": {Tensors: 12},
	} {
		want.Text = text
		if got, ok := conclude.ParseRequired(text); !ok || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"half", "-1", "1.5", "101%", "-5%", "%", "NaN", "Inf", "1e12"} {
		if _, ok := conclude.ParseRequired(text); ok {
			t.Errorf("%q is accepted", text)
		}
	}
}

// failing returns options by which some statuses are failures.
func failing(on ...record.Status) *conclude.Options {
	o := new(conclude.Options)
	o.FailOn = on
	return o
}
