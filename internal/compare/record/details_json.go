package record

import (
	"fmt"

	"dumptool/internal/compare/metrics"
)

// details is what a merge needs of a row whose tensors were compared by a shard, and
// what reports of a run take from its memory. Of numbers that the row has none is here.
type details struct {
	// NoShape is set where elements were compared that are in no shape.
	NoShape bool `json:"no_shape,omitempty"`
	// Classes are all cells of metrics.Classes, the NPU's class first.
	Classes []int64 `json:"classes,omitempty"`
	// Elements of the result: First and Last of what is beyond the limits, of two
	// classes, and an error after HPAA's replacement.
	Start         *metrics.Element `json:"start,omitempty"`
	BeyondFirst   *metrics.Element `json:"beyond_first,omitempty"`
	BeyondLast    *metrics.Element `json:"beyond_last,omitempty"`
	MismatchFirst *metrics.Element `json:"mismatch_first,omitempty"`
	MismatchLast  *metrics.Element `json:"mismatch_last,omitempty"`
	HPAAFirst     *metrics.Element `json:"hpaa_first,omitempty"`
	HPAALast      *metrics.Element `json:"hpaa_last,omitempty"`

	Offsets  []int64           `json:"offsets,omitempty"`
	Listed   []metrics.Element `json:"listed,omitempty"`
	WorstRel []metrics.Element `json:"worst_rel,omitempty"`
	Points   []metrics.Point   `json:"points,omitempty"`
	// Zeros are those of the histograms of |d| and |d|/|r|.
	Zeros [2]int64       `json:"zeros"`
	KLD   metrics.Metric `json:"kld"`
}

// take takes what a result has beside the numbers of compare.json.
func (j *details) take(r *metrics.Result) {
	for _, cells := range r.Classes {
		j.Classes = append(j.Classes, cells[:]...)
	}
	j.Start, j.BeyondFirst, j.BeyondLast = r.Start, r.Beyond.First, r.Beyond.Last
	j.MismatchFirst, j.MismatchLast, j.HPAAFirst, j.HPAALast = r.Mismatch.First, r.Mismatch.Last, r.HPAA.First, r.HPAA.Last
	j.Offsets, j.Listed, j.WorstRel, j.Points = r.ErrorOffsets, r.Listed, r.WorstRel, r.Points
	j.Zeros = [2]int64{r.AbsHistogram.Zeros, r.RelHistogram.Zeros}
	j.KLD = r.KLD
}

// set sets in a result what compare.json leaves out.
func (j *details) set(r *metrics.Result) error {
	if len(j.Classes) != len(r.Classes)*len(r.Classes) {
		return fmt.Errorf("%d classes of pairs, want %d", len(j.Classes), len(r.Classes)*len(r.Classes))
	}
	left := r.Total
	for i, n := range j.Classes {
		if n < 0 || n > left {
			return fmt.Errorf("%d pairs of a class, of %d elements", n, r.Total)
		}
		left -= n
		r.Classes[i/len(r.Classes)][i%len(r.Classes)] = n
	}
	r.Start, r.Beyond.First, r.Beyond.Last = j.Start, j.BeyondFirst, j.BeyondLast
	r.Mismatch.First, r.Mismatch.Last, r.HPAA.First, r.HPAA.Last = j.MismatchFirst, j.MismatchLast, j.HPAAFirst, j.HPAALast
	r.ErrorOffsets, r.Listed, r.WorstRel, r.Points = j.Offsets, j.Listed, j.WorstRel, j.Points
	for _, offset := range j.Offsets {
		if offset < 0 || offset >= r.Total {
			return fmt.Errorf("element %d, of %d elements", offset, r.Total)
		}
	}
	if j.Zeros[0] < 0 || j.Zeros[1] < 0 || max(j.Zeros[0], j.Zeros[1]) > r.Total {
		return fmt.Errorf("%d and %d zeros, of %d elements", j.Zeros[0], j.Zeros[1], r.Total)
	}
	r.AbsHistogram.Zeros, r.RelHistogram.Zeros = j.Zeros[0], j.Zeros[1]
	r.KLD = j.KLD
	return nil
}
