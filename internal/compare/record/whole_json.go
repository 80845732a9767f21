package record

import (
	"bytes"
	"encoding/json"
	"fmt"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/lang"
)

// Whole is a row whose JSON has all that is known of it: the row of compare.json, and
// beside it what that leaves out. What is read back makes the same reports, in every
// language and format. The paths of a row that are not in compare.json are not in it
// either.
type Whole struct{ *Row }

// wholeJSON is a Whole: the row of compare.json with one more key.
type wholeJSON struct {
	rowJSON
	More moreJSON `json:"more"`
}

// moreJSON is what compare.json leaves out of a row. Of numbers that it has none is
// here.
type moreJSON struct {
	// NotesZH are the notes in Chinese, where one of them is another text there.
	NotesZH []string `json:"notes_zh,omitempty"`
	// NoShape is set where elements were compared that are in no shape.
	NoShape bool `json:"no_shape,omitempty"`
	// Classes are all cells of metrics.Classes, the NPU's class first.
	Classes []int64 `json:"classes,omitempty"`
	// Elements of the result: First and Last of what is beyond the limits, of two
	// classes, and an error after HPAA's replacement.
	Start         *wholeElement `json:"start,omitempty"`
	BeyondFirst   *wholeElement `json:"beyond_first,omitempty"`
	BeyondLast    *wholeElement `json:"beyond_last,omitempty"`
	MismatchFirst *wholeElement `json:"mismatch_first,omitempty"`
	MismatchLast  *wholeElement `json:"mismatch_last,omitempty"`
	HPAAFirst     *wholeElement `json:"hpaa_first,omitempty"`
	HPAALast      *wholeElement `json:"hpaa_last,omitempty"`

	Offsets  []int64        `json:"offsets,omitempty"`
	Listed   []wholeElement `json:"listed,omitempty"`
	WorstRel []wholeElement `json:"worst_rel,omitempty"`
	Points   [][3]Number    `json:"points,omitempty"`
	// Zeros are those of the histograms of |d| and |d|/|r|.
	Zeros [2]int64 `json:"zeros"`
	KLD   Number   `json:"kld"`
}

// wholeElement is a pair of elements with all of its bits. In JSON it is a list: the
// offset, the elements of the reference and of the NPU, |d| and |d|/|r|.
type wholeElement struct {
	offset   int64
	ref, npu ElementValue
	abs, rel Number
}

func wholeElementOf(e *metrics.Element) *wholeElement {
	if e == nil {
		return nil
	}
	return &wholeElement{e.Offset, ElementValueOf(e.Ref), ElementValueOf(e.NPU), NumberOf(e.Abs), NumberOf(e.Rel)}
}

func wholeElementsOf(all []metrics.Element) (list []wholeElement) {
	for i := range all {
		list = append(list, *wholeElementOf(&all[i]))
	}
	return list
}

// MarshalJSON implements json.Marshaler.
func (e wholeElement) MarshalJSON() ([]byte, error) {
	return json.Marshal([...]any{e.offset, e.ref, e.npu, e.abs, e.rel})
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *wholeElement) UnmarshalJSON(data []byte) error {
	if err := unmarshalTuple(data, &e.offset, &e.ref, &e.npu, &e.abs, &e.rel); err != nil {
		return fmt.Errorf("element: %w", err)
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (w Whole) MarshalJSON() ([]byte, error) {
	j := wholeJSON{rowJSON: *w.form(true)}
	j.Limits = limitsJSON{NumberOf(w.Limits.Atol), NumberOf(w.Limits.Rtol), w.Limits.Source()}
	j.More.NotesZH = notesZH(w.Notes)
	if r := w.Result.Unpack(); r != nil {
		j.More.NoShape = w.Shape == nil
		j.More.take(r)
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	err := out.Encode(&j)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// notesZH are notes in Chinese, nil where they are as in English.
func notesZH(notes []lang.Sentence) (all []string) {
	differ := false
	for _, n := range notes {
		t := n.Text()
		all, differ = append(all, t.ZH), differ || t.ZH != t.EN
	}
	if !differ {
		return nil
	}
	return all
}

// take takes what a result has beside the numbers of compare.json.
func (j *moreJSON) take(r *metrics.Result) {
	for _, cells := range r.Classes {
		j.Classes = append(j.Classes, cells[:]...)
	}
	j.Start = wholeElementOf(r.Start)
	j.BeyondFirst, j.BeyondLast = wholeElementOf(r.Beyond.First), wholeElementOf(r.Beyond.Last)
	j.MismatchFirst, j.MismatchLast = wholeElementOf(r.Mismatch.First), wholeElementOf(r.Mismatch.Last)
	j.HPAAFirst, j.HPAALast = wholeElementOf(r.HPAA.First), wholeElementOf(r.HPAA.Last)
	j.Offsets, j.Listed, j.WorstRel = r.ErrorOffsets, wholeElementsOf(r.Listed), wholeElementsOf(r.WorstRel)
	for _, p := range r.Points {
		j.Points = append(j.Points, [3]Number{countOf(p.Offset), NumberOf(p.Ref), NumberOf(p.NPU)})
	}
	j.Zeros = [2]int64{r.AbsHistogram.Zeros, r.RelHistogram.Zeros}
	j.KLD = Number(r.KLD)
}

// UnmarshalJSON implements json.Unmarshaler. It refuses what no comparison can find.
func (w *Whole) UnmarshalJSON(data []byte) error {
	var j wholeJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	row, result, err := j.unpacked()
	if err != nil {
		return err
	}
	if len(row.Notes) == 0 {
		row.Notes = nil
	}
	row.Inputs = nil // those of a conclusion
	row.Limits = Limits{Atol: j.Limits.Atol.Value, Rtol: j.Limits.Rtol.Value}
	row.Limits.setSource(j.Limits.Source)
	if j.StatusLimits != nil {
		row.ByLimits = *j.StatusLimits
	}
	if zh := j.More.NotesZH; zh != nil {
		if len(zh) != len(row.Notes) {
			return fmt.Errorf("%d notes, and %d in Chinese", len(row.Notes), len(zh))
		}
		for i, n := range row.Notes {
			row.Notes[i] = lang.Sayf(n.String(), zh[i])
		}
	}
	if result != nil {
		if j.More.NoShape {
			row.Shape = nil
		}
		if err := j.More.set(&row, result); err != nil {
			return err
		}
		row.Result = result.Pack()
	}
	*w = Whole{&row}
	return nil
}

// set sets in a result what compare.json leaves out.
func (j *moreJSON) set(row *Row, r *metrics.Result) error {
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
		from *wholeElement
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
		from []wholeElement
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
		offset, err := p[0].count()
		if err != nil {
			return err
		}
		r.Points = append(r.Points, metrics.Point{Offset: offset, Ref: p[1].orNaN(), NPU: p[2].orNaN()})
	}
	if j.Zeros[0] < 0 || j.Zeros[1] < 0 || max(j.Zeros[0], j.Zeros[1]) > r.Total {
		return fmt.Errorf("%d and %d zeros, of %d elements", j.Zeros[0], j.Zeros[1], r.Total)
	}
	r.AbsHistogram.Zeros, r.RelHistogram.Zeros = j.Zeros[0], j.Zeros[1]
	r.KLD = metrics.Metric(j.KLD)
	return nil
}

// element is the pair that was written, one of a row of some elements.
func (e *wholeElement) element(row *Row, total int64) (m metrics.Element, err error) {
	if e.offset < 0 || e.offset >= total {
		return m, fmt.Errorf("element %d, of %d elements", e.offset, total)
	}
	m.Offset, m.Abs, m.Rel = e.offset, e.abs.orNaN(), e.rel.orNaN()
	if m.Ref, err = e.ref.value(row.RefDType); err == nil {
		m.NPU, err = e.npu.value(row.NPUDType)
	}
	return m, err
}

// Reasons are findings whose JSON has their evidence in both languages.
type Reasons []Finding

// MarshalJSON implements json.Marshaler.
func (r Reasons) MarshalJSON() ([]byte, error) { return json.Marshal(findingsJSON(r)) }

// UnmarshalJSON implements json.Unmarshaler.
func (r *Reasons) UnmarshalJSON(data []byte) error {
	var all []findingJSON
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	*r = findingsOf(all)
	return nil
}

// Said are sentences whose JSON has both languages: a text, or the texts in English and
// Chinese where they differ.
type Said []lang.Sentence

// MarshalJSON implements json.Marshaler.
func (s Said) MarshalJSON() ([]byte, error) {
	all := make([]any, len(s))
	for i, x := range s {
		if t := x.Text(); t.ZH != t.EN {
			all[i] = [2]string{t.EN, t.ZH}
		} else {
			all[i] = t.EN
		}
	}
	return json.Marshal(all)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Said) UnmarshalJSON(data []byte) error {
	var all []json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	*s = nil
	for _, text := range all {
		var one string
		var both [2]string
		switch {
		case json.Unmarshal(text, &one) == nil:
			*s = append(*s, lang.Plain(one))
		case json.Unmarshal(text, &both) == nil:
			*s = append(*s, lang.Sayf(both[0], both[1]))
		default:
			return fmt.Errorf("%s is no text, nor one in two languages", excerpt(text))
		}
	}
	return nil
}
