package overflow

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/opdebug"
)

// TestGroups: records of an operator form a group, records without an operator by unit, stream and task. The first
// member has the earliest step, then the lowest rank, compared as numbers.
func TestGroups(t *testing.T) {
	r := &Report{}
	add := func(rank, step, op string, task uint64) {
		record := Record{Occurrence: Occurrence{Rank: rank, Step: step}, Unit: opdebug.AICore, TaskID: task}
		if op != "" {
			record.Op = &Operator{Type: "T", Name: op}
		}
		r.Records = append(r.Records, record)
	}
	add("0", "10", "a", 1)
	add("0", "10", "b", 2)
	add("2", "9", "b", 2)
	add("10", "9", "b", 3)
	add("3", "", "", 7)
	add("4", "", "", 7)
	add("4", "", "", 8)
	var got []string
	for _, g := range r.Groups() {
		got = append(got, fmt.Sprint(g.FirstMember(), g.Members, g.Ranks, g.Steps))
	}
	want := []string{
		"4 [4 5] [3 4] []", "6 [6] [4] []", // no step comes first
		"2 [2 3 1] [0 2 10] [9 10]", "0 [0] [0] [10]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	rows := &ScanReport{Rows: []ScanRow{{OpType: "T", OpName: "a"}, {OpType: "U", OpName: "a"}, {OpType: "T", OpName: "a"}}}
	if groups := rows.Groups(); len(groups) != 2 || len(groups[0].Members) != 2 {
		t.Errorf("%+v", groups)
	}
}
