package conclude

import (
	"testing"

	"dumptool/internal/batch"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
)

// TestUnprovenOutcome: a comparison that would not have detected any fault ends with NotCovered,
// unless any coverage is allowed.
func TestUnprovenOutcome(t *testing.T) {
	row := record.Row{Op: "a", Result: &metrics.Result{Total: 1}}
	row.Status = record.Pass
	rep := &record.Report{Rows: []record.Row{row}, Coverage: record.Coverage{Reference: 1, Compared: 1}, Meaning: record.Meaning{Proof: new(false)}}
	rep.Count()
	if o := (&Options{}).Outcome(rep); o.Kind != batch.NotCovered {
		t.Errorf("unproven: %v %s", o.Kind, o.Text)
	}
	if o := (&Options{OutcomeOptions: OutcomeOptions{Coverage: RequiredCoverage{Text: "0"}}}).Outcome(rep); o.Kind != batch.Done {
		t.Errorf("with coverage 0: %v %s", o.Kind, o.Text)
	}
	j := &Judgement{Counts: map[record.Status]int{record.Pass: 1}, Compared: 1, isUnproven: true}
	if o := j.Outcome("compare.json", false); o.Kind != batch.NotCovered {
		t.Errorf("judge: %v %s", o.Kind, o.Text)
	}
}
