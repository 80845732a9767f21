package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"dumptool/internal/compare"
	"dumptool/internal/compare/engine"
	"dumptool/internal/ui"
)

// driftJSON is the JSON form of a tensor in one run.
type driftJSON struct {
	Run    string         `json:"run"`
	File   *string        `json:"file"`
	CRC    *string        `json:"crc32c"`
	Differ int64          `json:"differ"`
	First  *int64         `json:"first"`
	MaxAbs compare.Number `json:"max_abs"`
	MaxULP compare.Number `json:"max_ulp"`
	Why    string         `json:"why,omitempty"`
}

// driftRowJSON is the JSON form of a tensor in all runs.
type driftRowJSON struct {
	Op       string         `json:"op"`
	Kind     string         `json:"kind"`
	Output   int            `json:"output"`
	Round    string         `json:"round"`
	Order    int            `json:"order"`
	Status   compare.Status `json:"status"`
	Distinct int            `json:"distinct"`
	Places   compare.Places `json:"places"`
	Error    string         `json:"error,omitempty"`
	Runs     []driftJSON    `json:"runs"`
}

// WriteDeterminismJSON writes the result as one JSON object.
func WriteDeterminismJSON(w io.Writer, d *compare.Determinism) error {
	differing, unread := d.Differing()
	doc := struct {
		Schema      string         `json:"schema"`
		Runs        []string       `json:"runs"`
		OrderSource string         `json:"order_source"`
		Tensors     int            `json:"tensors"`
		Differing   int            `json:"differing"`
		Unread      int            `json:"unread"`
		First       *string        `json:"first"`
		Missing     []string       `json:"missing"`
		Warnings    []string       `json:"warnings"`
		Rows        []driftRowJSON `json:"rows"`
	}{"dumptool/determinism/1", d.Runs, d.OrderSource, len(d.Rows), differing, unread, nil,
		append([]string{}, d.Missing...), append([]string{}, d.Warnings...), []driftRowJSON{}}
	if i := d.First(); i >= 0 {
		name := d.Rows[i].Name()
		doc.First = &name
	}
	for i := range d.Rows {
		r := &d.Rows[i]
		row := driftRowJSON{Op: r.Op, Kind: r.Kind, Output: r.Output, Round: r.Round, Order: r.Order,
			Status: r.Status, Distinct: r.Distinct, Places: r.Places}
		if r.Err != nil {
			row.Error = r.Err.Error()
		}
		for k := range r.Drifts {
			row.Runs = append(row.Runs, driftOf(d.Runs[k], &r.Drifts[k], r.Err == nil))
		}
		doc.Rows = append(doc.Rows, row)
	}
	_, err := w.Write(append(marshal(doc, "  "), '\n'))
	return err
}

func driftOf(run string, d *compare.Drift, read bool) driftJSON {
	j := driftJSON{Run: run, Differ: d.Differ, MaxAbs: compare.Number(d.MaxAbs), MaxULP: compare.Number(d.MaxULP), Why: d.Why}
	if d.File != "" {
		crc := fmt.Sprintf("%08x", d.CRC)
		j.File = &d.File
		if read {
			j.CRC = &crc
		}
	}
	if d.First != nil {
		j.First = &d.First.Offset
	}
	return j
}

// WriteDeterminismCSV writes a line for each tensor and run.
func WriteDeterminismCSV(w io.Writer, d *compare.Determinism) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"tensor", "status", "distinct", "places", "run", "crc32c", "differ", "first", "max_abs", "max_ulp"}}
	for i := range d.Rows {
		r := &d.Rows[i]
		for k := range r.Drifts {
			drift := &r.Drifts[k]
			if drift.File == "" {
				continue
			}
			first := undefined
			if drift.First != nil {
				first = strconv.FormatInt(drift.First.Offset, 10)
			}
			crc := undefined
			if r.Err == nil {
				crc = fmt.Sprintf("%08x", drift.CRC)
			}
			lines = append(lines, []string{guard(driftLabel(r)), string(r.Status), strconv.Itoa(r.Distinct), string(r.Places), guard(d.Runs[k]),
				crc, strconv.FormatInt(drift.Differ, 10), first, metricText(drift.MaxAbs), metricText(drift.MaxULP)})
		}
	}
	return out.WriteAll(lines)
}

// driftLabel names a tensor as the tables of a comparison do, with its round.
func driftLabel(r *compare.DriftRow) string {
	if r.Round != "" {
		return rowLabel(&r.Row) + "@" + r.Round
	}
	return rowLabel(&r.Row)
}

// shownDrifts is the most tensors that the text lists.
const shownDrifts = 20

// WriteDeterminism prints whether the runs agree, and the first tensors that do
// not, in execution order.
func (t Text) WriteDeterminism(w io.Writer, d *compare.Determinism) error {
	p := newComparePrinter(t, w)
	differing, unread := d.Differing()
	first := d.First()
	if first < 0 {
		p.text(sameText(len(d.Rows)-unread, unread, len(d.Runs)))
		return p.err
	}
	r := &d.Rows[first]
	p.text(fmt.Sprintf("DIFFERENT: %d of %d tensors differ between %d runs", differing, len(d.Rows), len(d.Runs)))
	p.blank()
	p.facts([]fact{
		{"First", []string{driftLabel(r), fmt.Sprintf("%d contents in %d runs%s", r.Distinct, len(d.Runs), placesText(r.Places))}},
		{"Order", []string{d.OrderSource}},
	})
	p.blank()
	g := grid{columns: []ui.Column{{Title: "TENSOR"}, {Title: "CONTENTS", Align: ui.Right}, {Title: "DIFFER", Align: ui.Right},
		{Title: "FIRST", Align: ui.Right}, {Title: "MAX_ABS", Align: ui.Right}, {Title: "NOTE"}}, keep: []int{2, 1, 4, 3, 5}}
	for i := range d.Rows {
		if r := &d.Rows[i]; r.Differs() && len(g.rows) < shownDrifts {
			differ, at, maxAbs := worstDrift(r)
			g.rows = append(g.rows, []string{driftLabel(r), strconv.Itoa(r.Distinct), differ, at, maxAbs, driftNote(r)})
		}
	}
	p.table(g)
	if differing > shownDrifts {
		p.text(fmt.Sprintf("and %d more", differing-shownDrifts))
	}
	return p.err
}

// sameText says that runs agree.
func sameText(read, unread, runs int) string {
	switch {
	case read == 0:
		return fmt.Sprintf("NOTHING COMPARED: %s could not be read", tensors(unread))
	case unread > 0:
		verb := "are"
		if read == 1 {
			verb = "is"
		}
		return fmt.Sprintf("SAME: %s that could be read %s equal, bit for bit, in %d runs; %s could not be read",
			tensors(read), verb, runs, tensors(unread))
	case read == 1:
		return fmt.Sprintf("SAME: the only tensor is equal, bit for bit, in %d runs", runs)
	}
	return fmt.Sprintf("SAME: all %s are equal, bit for bit, in %d runs", tensors(read), runs)
}

// worstDrift describes the runs that differ from the first: the most elements,
// the first of them, and the largest distance.
func worstDrift(r *compare.DriftRow) (differ, first, maxAbs string) {
	var most int64
	var at *int64
	var distance engine.Metric
	for k := range r.Drifts {
		d := &r.Drifts[k]
		if d.Why != "" {
			return "-", "-", "-"
		}
		most = max(most, d.Differ)
		if d.First != nil && (at == nil || d.First.Offset < *at) {
			at = &d.First.Offset
		}
		if d.MaxAbs.Defined && (!distance.Defined || d.MaxAbs.Value > distance.Value) {
			distance = d.MaxAbs
		}
	}
	first, maxAbs = "-", "-"
	if at != nil {
		first = strconv.FormatInt(*at, 10)
	}
	if distance.Defined {
		maxAbs = floatShort(distance.Value)
	}
	return strconv.FormatInt(most, 10), first, maxAbs
}

// driftNote tells why elements could not be compared, or where they differ.
func driftNote(r *compare.DriftRow) string {
	for k := range r.Drifts {
		if why := r.Drifts[k].Why; why != "" {
			return why
		}
	}
	return string(r.Places)
}

func placesText(p compare.Places) string {
	switch p {
	case compare.SamePlaces:
		return ", always at the same elements: look for a race on a part of the tensor"
	case compare.Scattered:
		return ", at changing elements: look for an order of additions that changes"
	}
	return ""
}
