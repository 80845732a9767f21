package record

import (
	"encoding/json"
	"math"
	"testing"

	"dumptool/internal/compare/metrics"
)

// TestStatisticsJSON: statistics are read as they were written, what is not finite too.
func TestStatisticsJSON(t *testing.T) {
	number := func(x float64) metrics.Metric { return metrics.Metric{Value: x, Defined: true} }
	want := &Statistics{Ref: SideStatistics{Max: number(math.Inf(1)), Mean: number(-0.5), Norm: number(2), Digest: "0xab"}, NPU: SideStatistics{Min: number(3), Norm: number(2.5)}}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var read Statistics
	if err := json.Unmarshal(text, &read); err != nil || read != *want {
		t.Errorf("%s: %+v, error %v", text, read, err)
	}
	if n := want.RelativeNorm(); !n.Defined || n.Value != 0.25 {
		t.Errorf("relative difference of the norms %v, want 0.25", n)
	}
	for _, s := range []Statistics{{}, {Ref: SideStatistics{Norm: number(0)}, NPU: SideStatistics{Norm: number(1)}}, {Ref: SideStatistics{Norm: number(math.NaN())}, NPU: SideStatistics{Norm: number(1)}}} {
		if n := s.RelativeNorm(); n.Defined {
			t.Errorf("%+v: %v, want none", s, n)
		}
	}
	if !(&Row{Statistics: want, RefFile: "a", NPUFile: "b"}).Judged() || (&Row{}).Judged() || (&Row{Statistics: want, RefFile: "a"}).Judged() {
		t.Error("a row is judged by statistics of both sides")
	}
}
