package record

import (
	"encoding/json"
	"math"
	"testing"

	"dumptool/internal/compare/metrics"
)

// TestStatisticsJSON: statistics are read as they were written, also non-finite numbers.
func TestStatisticsJSON(t *testing.T) {
	number := func(x float64) metrics.Metric { return metrics.NumberOf(x) }
	want := &Statistics{Ref: SideStatistics{Max: number(math.Inf(1)), Mean: number(-0.5), Norm: number(2), Digest: "0xab"}, NPU: SideStatistics{Min: number(3), Norm: number(2.5)}}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var read Statistics
	if err := json.Unmarshal(text, &read); err != nil || read != *want {
		t.Errorf("%s: %+v, error %v", text, read, err)
	}
	none, inf, nan := metrics.Metric{}, math.Inf(1), math.NaN()
	for _, test := range []struct{ ref, npu, want metrics.Metric }{
		{number(2), number(2.5), number(1.25)}, {number(0), number(0), number(1)}, {number(0), number(1), number(inf)}, {number(1), number(0), number(0)}, {number(1), number(inf), number(inf)},
		{none, number(1), none}, {number(1), none, none}, {number(nan), number(1), none}, {number(inf), number(1), none}, {number(-1), number(1), none}, {number(1), number(-1), none},
	} {
		s := Statistics{Ref: SideStatistics{Norm: test.ref}, NPU: SideStatistics{Norm: test.npu}}
		if got := s.NormRatio(); got != test.want {
			t.Errorf("norm %v, reference %v: ratio %v, want %v", test.npu, test.ref, got, test.want)
		}
	}
	if got := (&Statistics{Ref: SideStatistics{Norm: number(1)}, NPU: SideStatistics{Norm: number(nan)}}).NormRatio(); !got.IsDefined() || got.Value() == got.Value() {
		t.Errorf("of a norm of NaN the ratio is %v", got)
	}
	if !(&Row{Statistics: want, RefFile: "a", NPUFile: "b"}).IsJudged() || (&Row{}).IsJudged() || (&Row{Statistics: want, RefFile: "a"}).IsJudged() {
		t.Error("a row is judged by statistics of both sides")
	}
}
