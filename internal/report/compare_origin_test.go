package report

import (
	"testing"

	"dumptool/internal/compare/record"
)

// TestOtherInputOrWrong: what came in differs; where an operator is all that shows it, that
// may be wrong as well.
func TestOtherInputOrWrong(t *testing.T) {
	for start, want := range map[bool]string{
		true:  "the runs did not read the same input (or weights): conv differs",
		false: "the runs did not read the same input, or conv is wrong: its inputs were not dumped",
	} {
		row := &record.Row{Op: "conv", Verdict: record.Verdict{Reasons: []record.Finding{{Code: record.StartedApart}}, Evidence: &record.Evidence{Start: start}}}
		if got := oneOrigin(row).String(); got != want {
			t.Errorf("start %v: %q, want %q", start, got, want)
		}
	}
}
