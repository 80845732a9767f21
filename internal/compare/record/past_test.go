package record

import (
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/tensor"
)

// statisticsRow returns a row of 16 elements with the statistics max, min, mean and norm of each side.
func statisticsRow(ref, npu [4]float64) *Row {
	side := func(n [4]float64) SideStatistics {
		return SideStatistics{Max: metrics.NumberOf(n[0]), Min: metrics.NumberOf(n[1]), Mean: metrics.NumberOf(n[2]), Norm: metrics.NumberOf(n[3])}
	}
	return &Row{RefShape: tensor.Shape{4, 4}, Statistics: &Statistics{Ref: side(ref), NPU: side(npu)}}
}

func TestSetTrained(t *testing.T) {
	start := [4]float64{1, -1, 0.25, 2}
	// The norm of 16 elements changes by 1.6: 0.4 in root mean square, more than max, min and mean change.
	trained, other := [4]float64{1.125, -0.75, 0.25, 3.6}, [4]float64{1.125, -0.75, 0.25, 3.5}
	for name, tt := range map[string]struct {
		first, last, now *Row
		change           float64
		unchanged        bool
	}{
		"updated on both sides":     {statisticsRow(start, start), statisticsRow(start, start), statisticsRow(trained, other), 0.4, false},
		"updated by the reference":  {statisticsRow(start, start), statisticsRow(start, start), statisticsRow(trained, start), 0.4, true},
		"frozen on both sides":      {statisticsRow(start, start), statisticsRow(start, start), statisticsRow(start, start), 0, false},
		"unchanged since the first": {statisticsRow(start, start), statisticsRow(start, other), statisticsRow(trained, start), 0.4, false},
	} {
		p := Past{Known: true, Trained: make([]float64, 1), Unchanged: make([]bool, 1)}
		p.SetTrained(0, tt.first, tt.last, tt.now)
		if got := p.Change(0); got < tt.change-1e-12 || got > tt.change+1e-12 || p.Unchanged[0] != tt.unchanged {
			t.Errorf("%s: change %v, unchanged %v; want %v, %v", name, got, p.Unchanged[0], tt.change, tt.unchanged)
		}
	}
}

// An optimiser moves a parameter whose gradient is noise by as much as the others.
func TestChangeIsTypical(t *testing.T) {
	p := Past{Known: true, Trained: []float64{0.001, 0.02, 0}, Typical: 0.01}
	for i, want := range []float64{0.01, 0.02, 0} {
		if got := p.Change(i); got != want {
			t.Errorf("parameter %d: %v, want %v", i, got, want)
		}
	}
}
