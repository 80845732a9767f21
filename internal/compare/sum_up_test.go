package compare

import (
	"strings"
	"testing"

	"dumptool/internal/batch"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
)

// TestAmbiguousOutcome: where all tensors are ambiguous the last line says so.
func TestAmbiguousOutcome(t *testing.T) {
	rep := &record.Report{Rows: []record.Row{{Op: "a", Verdict: record.Verdict{Status: record.Ambiguous}}, {Op: "b", Verdict: record.Verdict{Status: record.Ambiguous}}}}
	rep.Count()
	o := (&Options{}).Outcome(rep)
	if o.Kind != batch.Nothing || !strings.Contains(o.Text.String(), "all 2 tensors are AMBIGUOUS") {
		t.Errorf("outcome %+v", o)
	}
	some := &record.Report{Rows: append([]record.Row{{Op: "c", Verdict: record.Verdict{Status: record.UnmatchedNPU}}}, rep.Rows...)}
	some.Count()
	if o := (&Options{}).Outcome(some); o.Kind != batch.Nothing || !strings.HasSuffix(o.Text.String(), ", 2 AMBIGUOUS") {
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
	for text, want := range map[string]Required{
		"": {}, "all": {Share: 1}, "ALL": {Share: 1}, "90%": {Share: 0.9}, "0.5": {Share: 0.5}, "1": {Share: 1}, "100%": {Share: 1}, "0": {}, "12": {Tensors: 12},
	} {
		want.Text = text
		if got, ok := ParseRequired(text); !ok || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"half", "-1", "1.5", "101%", "-5%", "%", "NaN", "Inf", "1e12"} {
		if _, ok := ParseRequired(text); ok {
			t.Errorf("%q is accepted", text)
		}
	}
}

// TestUnprovenOutcome: a comparison in which no fault would have been seen ends with
// NotCovered, unless any coverage is allowed.
func TestUnprovenOutcome(t *testing.T) {
	row := record.Row{Op: "a", Result: &metrics.Result{Total: 1}}
	row.Status = record.Pass
	rep := &record.Report{Rows: []record.Row{row}, Coverage: record.Coverage{Reference: 1, Compared: 1}, Meaning: record.Meaning{Proof: new(false)}}
	rep.Count()
	if o := (&Options{}).Outcome(rep); o.Kind != batch.NotCovered {
		t.Errorf("unproven: %v %s", o.Kind, o.Text)
	}
	if o := (&Options{SumOptions: SumOptions{Coverage: Required{Text: "0"}}}).Outcome(rep); o.Kind != batch.Done {
		t.Errorf("with coverage 0: %v %s", o.Kind, o.Text)
	}
	j := &Judgement{Counts: map[record.Status]int{record.Pass: 1}, Compared: 1, unproven: true}
	if o := j.Outcome("compare.json", false); o.Kind != batch.NotCovered {
		t.Errorf("judge: %v %s", o.Kind, o.Text)
	}
}

// failing are options by which some statuses are failures.
func failing(on ...record.Status) *Options {
	o := new(Options)
	o.FailOn = on
	return o
}
