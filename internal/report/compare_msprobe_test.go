package report

import (
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/record"
	"dumptool/internal/tensor"
)

// TestMSProbeModes: a row without a partner does not decide whether a run has numbers or digests.
func TestMSProbeModes(t *testing.T) {
	row := func(op string, paired bool, s record.SideStatistics) record.Row {
		r := record.Row{Op: op, Kind: "output", NPUFile: "npu", NPUDType: tensor.Float32, Statistics: &record.Statistics{NPU: s}}
		if paired {
			r.RefFile, r.RefDType, r.Statistics.Ref = "cpu", tensor.Float32, s
		}
		return r
	}
	digest, norm := record.SideStatistics{Digest: "ab"}, record.SideStatistics{Norm: known(1)}
	for _, test := range []struct {
		rows []record.Row
		want string // a column
	}{
		{[]record.Row{row("a", false, digest), row("b", true, digest)}, "NPU MD5"},
		{[]record.Row{row("a", false, norm), row("b", true, norm)}, "L2norm diff"},
	} {
		var out strings.Builder
		if err := WriteCompareMSProbe(&out, &record.Report{Verdict: statisticsMethod, Rows: test.rows}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if head := strings.Split(lines[0], ","); !slices.Contains(head, test.want) {
			t.Errorf("columns %q, want %s among them", head, test.want)
		}
		if len(lines) != 3 || !strings.Contains(lines[1], "unmatched") || strings.Contains(lines[2], "unmatched") {
			t.Errorf("%q: want a, which is unmatched, and b", lines)
		}
	}
}
