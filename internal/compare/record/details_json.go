package record

import (
	"encoding/json"
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
	Start         *detailElement `json:"start,omitempty"`
	BeyondFirst   *detailElement `json:"beyond_first,omitempty"`
	BeyondLast    *detailElement `json:"beyond_last,omitempty"`
	MismatchFirst *detailElement `json:"mismatch_first,omitempty"`
	MismatchLast  *detailElement `json:"mismatch_last,omitempty"`
	HPAAFirst     *detailElement `json:"hpaa_first,omitempty"`
	HPAALast      *detailElement `json:"hpaa_last,omitempty"`

	Offsets  []int64             `json:"offsets,omitempty"`
	Listed   []detailElement     `json:"listed,omitempty"`
	WorstRel []detailElement     `json:"worst_rel,omitempty"`
	Points   [][3]metrics.Metric `json:"points,omitempty"`
	// Zeros are those of the histograms of |d| and |d|/|r|.
	Zeros [2]int64       `json:"zeros"`
	KLD   metrics.Metric `json:"kld"`
}

// detailElement is a pair of elements with all of its bits. In JSON it is a list: the
// offset, the elements of the reference and of the NPU, |d| and |d|/|r|.
type detailElement struct {
	offset   int64
	ref, npu ElementValue
	abs, rel metrics.Metric
}

func detailElementOf(e *metrics.Element) *detailElement {
	if e == nil {
		return nil
	}
	return &detailElement{e.Offset, ElementValueOf(e.Ref), ElementValueOf(e.NPU), NumberOf(e.Abs), NumberOf(e.Rel)}
}

func detailElementsOf(all []metrics.Element) (list []detailElement) {
	for i := range all {
		list = append(list, *detailElementOf(&all[i]))
	}
	return list
}

// MarshalJSON implements json.Marshaler.
func (e detailElement) MarshalJSON() ([]byte, error) {
	return json.Marshal([...]any{e.offset, e.ref, e.npu, e.abs, e.rel})
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *detailElement) UnmarshalJSON(data []byte) error {
	return metrics.UnmarshalList(data, "element", &e.offset, &e.ref, &e.npu, &e.abs, &e.rel)
}

// take takes what a result has beside the numbers of compare.json.
func (j *details) take(r *metrics.Result) {
	for _, cells := range r.Classes {
		j.Classes = append(j.Classes, cells[:]...)
	}
	j.Start = detailElementOf(r.Start)
	j.BeyondFirst, j.BeyondLast = detailElementOf(r.Beyond.First), detailElementOf(r.Beyond.Last)
	j.MismatchFirst, j.MismatchLast = detailElementOf(r.Mismatch.First), detailElementOf(r.Mismatch.Last)
	j.HPAAFirst, j.HPAALast = detailElementOf(r.HPAA.First), detailElementOf(r.HPAA.Last)
	j.Offsets, j.Listed, j.WorstRel = r.ErrorOffsets, detailElementsOf(r.Listed), detailElementsOf(r.WorstRel)
	for _, p := range r.Points {
		j.Points = append(j.Points, [3]metrics.Metric{countOf(p.Offset), NumberOf(p.Ref), NumberOf(p.NPU)})
	}
	j.Zeros = [2]int64{r.AbsHistogram.Zeros, r.RelHistogram.Zeros}
	j.KLD = r.KLD
}

// set sets in a result what compare.json leaves out.
func (j *details) set(row *Row, r *metrics.Result) error {
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
	for _, x := range []struct {
		to   **metrics.Element
		from *detailElement
	}{
		{&r.Start, j.Start}, {&r.Beyond.First, j.BeyondFirst}, {&r.Beyond.Last, j.BeyondLast},
		{&r.Mismatch.First, j.MismatchFirst}, {&r.Mismatch.Last, j.MismatchLast},
		{&r.HPAA.First, j.HPAAFirst}, {&r.HPAA.Last, j.HPAALast},
	} {
		*x.to = nil
		if x.from == nil {
			continue
		}
		e, err := x.from.element(row, r.Total)
		if err != nil {
			return err
		}
		*x.to = &e
	}
	for _, x := range []struct {
		to   *[]metrics.Element
		from []detailElement
	}{{&r.Listed, j.Listed}, {&r.WorstRel, j.WorstRel}} {
		for i := range x.from {
			e, err := x.from[i].element(row, r.Total)
			if err != nil {
				return err
			}
			*x.to = append(*x.to, e)
		}
	}
	for _, offset := range j.Offsets {
		if offset < 0 || offset >= r.Total {
			return fmt.Errorf("element %d, of %d elements", offset, r.Total)
		}
	}
	r.ErrorOffsets = j.Offsets
	for _, p := range j.Points {
		offset, err := asCount(p[0])
		if err != nil {
			return err
		}
		r.Points = append(r.Points, metrics.Point{Offset: offset, Ref: p[1].OrNaN(), NPU: p[2].OrNaN()})
	}
	if j.Zeros[0] < 0 || j.Zeros[1] < 0 || max(j.Zeros[0], j.Zeros[1]) > r.Total {
		return fmt.Errorf("%d and %d zeros, of %d elements", j.Zeros[0], j.Zeros[1], r.Total)
	}
	r.AbsHistogram.Zeros, r.RelHistogram.Zeros = j.Zeros[0], j.Zeros[1]
	r.KLD = j.KLD
	return nil
}

// element is the pair that was written, one of a row of some elements.
func (e *detailElement) element(row *Row, total int64) (m metrics.Element, err error) {
	if e.offset < 0 || e.offset >= total {
		return m, fmt.Errorf("element %d, of %d elements", e.offset, total)
	}
	m.Offset, m.Abs, m.Rel = e.offset, e.abs.OrNaN(), e.rel.OrNaN()
	if m.Ref, err = e.ref.value(row.RefDType); err == nil {
		m.NPU, err = e.npu.value(row.NPUDType)
	}
	return m, err
}
