package record_test

import (
	"testing"

	"dumptool/internal/compare/record"

	"github.com/google/go-cmp/cmp"
)

// TestHeadline: among the rounds with a first bad row the earliest step counts, then the lowest rank; numbers are
// compared as numbers.
func TestHeadline(t *testing.T) {
	bad := func(rank, step string, row int) record.Round {
		f := record.NoFindings()
		f.FirstBad = row
		return record.Round{RoundCoordinates: record.RoundCoordinates{Rank: rank, Step: step}, Counts: map[record.Status]int{record.Fail: 1}, Findings: f}
	}
	r := &record.Report{
		Rows:   []record.Row{{Op: "a"}, {Op: "b"}, {Op: "a"}},
		Rounds: []record.Round{bad("0", "10", 0), bad("10", "9", 1), bad("2", "9", 2), bad("0", "1", -1)},
	}
	if at := r.HeadlineRound(); at != 2 || r.FirstBadRound() != 2 {
		t.Errorf("headline %d, first bad in %d, want 2", at, r.FirstBadRound())
	}
	if diff := cmp.Diff([]int{0, 2}, r.RoundsWithSameOperator(2)); diff != "" {
		t.Errorf("the same operator (-want +got):\n%s", diff)
	}
	r.Rounds = r.Rounds[3:]
	if r.HeadlineRound() != 0 || r.FirstBadRound() != -1 || r.RoundsWithSameOperator(0) != nil {
		t.Errorf("headline %d, first bad in %d", r.HeadlineRound(), r.FirstBadRound())
	}
}
