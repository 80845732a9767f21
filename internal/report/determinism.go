package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
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
	Bits   int64          `json:"differ_bits"`
	First  *int64         `json:"first"`
	MaxAbs compare.Number `json:"max_abs"`
	MaxULP compare.Number `json:"max_ulp"`
	Why    string         `json:"why,omitempty"`
}

// driftRowJSON is the JSON form of a tensor in all runs.
type driftRowJSON struct {
	Op     string `json:"op"`
	Kind   string `json:"kind"`
	Output int    `json:"output"`
	Round  string `json:"round"`
	// Execution is there for operators with several in one folder.
	Execution int            `json:"execution,omitempty"`
	Order     int            `json:"order"`
	Status    compare.Status `json:"status"`
	Distinct  int            `json:"distinct"`
	Places    compare.Places `json:"places"`
	Error     string         `json:"error,omitempty"`
	Runs      []driftJSON    `json:"runs"`
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
		LeftOut     []string       `json:"left_out"`
		Warnings    []string       `json:"warnings"`
		Rows        []driftRowJSON `json:"rows"`
	}{"dumptool/determinism/1", d.Runs, d.OrderSource, len(d.Rows), differing, unread, nil,
		append([]string{}, d.Missing...), append([]string{}, d.LeftOut...), append([]string{}, d.Warnings...), []driftRowJSON{}}
	if i := d.First(); i >= 0 {
		name := d.Rows[i].Name()
		doc.First = &name
	}
	for i := range d.Rows {
		r := &d.Rows[i]
		row := driftRowJSON{Op: r.Op, Kind: r.Kind, Output: r.Output, Round: r.Round, Execution: r.Execution, Order: r.Order,
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
	j := driftJSON{Run: run, Differ: d.Differ, Bits: d.Bits, MaxAbs: compare.Number(d.MaxAbs), MaxULP: compare.Number(d.MaxULP), Why: d.Why}
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
	lines := [][]string{{"tensor", "status", "distinct", "places", "run", "crc32c", "differ", "first", "max_abs", "max_ulp", "why"}}
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
				crc, strconv.FormatInt(drift.Differ, 10), first, metricText(drift.MaxAbs), metricText(drift.MaxULP), guard(drift.Why)})
		}
	}
	return out.WriteAll(lines)
}

// driftLabel names a tensor as the tables of a comparison do, with its round and
// its execution.
func driftLabel(r *compare.DriftRow) string {
	label := rowLabel(&r.Row)
	if r.Round != "" {
		label += "@" + r.Round
	}
	if r.Execution > 0 {
		label += " execution " + strconv.Itoa(r.Execution)
	}
	return label
}

// shownDrifts is the most tensors that the text lists, shownLeftOut the most that
// it lists of what was not compared.
const (
	shownDrifts  = 20
	shownLeftOut = 10
)

// WriteDeterminism prints whether the runs agree, and the first tensors that do
// not, in execution order.
func (t Text) WriteDeterminism(w io.Writer, d *compare.Determinism) error {
	p := newComparePrinter(t, w)
	differing, unread := d.Differing()
	first := d.First()
	if first < 0 {
		p.text(sameText(len(d.Rows)-unread, unread, d))
		p.leftOut(d)
		return p.err
	}
	r := &d.Rows[first]
	p.text(fmt.Sprintf("DIFFERENT: %d of %s differ between %d runs%s", differing, tensors(len(d.Rows)), len(d.Runs), restText(d)))
	p.blank()
	p.facts([]fact{
		{"First", []string{driftLabel(r), fmt.Sprintf("%d contents in %d runs%s", r.Distinct, len(d.Runs), placesText(r.Places))}},
		{"Order", []string{d.OrderSource}},
	})
	p.blank()
	g := grid{columns: []ui.Column{{Title: "TENSOR"}, {Title: "CONTENTS", Align: ui.Right}, {Title: "DIFFER", Align: ui.Right},
		{Title: "FIRST", Align: ui.Right}, {Title: "MAX_ABS", Align: ui.Right}, {Title: "NOTE"}}, keep: []int{2, 1, 4, 3, 5}}
	var why []string
	for i := range d.Rows {
		if r := &d.Rows[i]; r.Differs() && len(g.rows) < shownDrifts {
			differ, at, maxAbs := worstDrift(r)
			g.rows = append(g.rows, []string{driftLabel(r), strconv.Itoa(r.Distinct), differ, at, maxAbs, string(r.Places)})
			why = append(why, driftWhy(d, r)...)
		}
	}
	p.table(g)
	if differing > shownDrifts {
		p.text(fmt.Sprintf("and %d more", differing-shownDrifts))
	}
	if len(why) > 0 {
		p.blank()
		p.facts([]fact{{"Why", why}})
	}
	p.leftOut(d)
	return p.err
}

// leftOut lists what was not compared although it is there.
func (p *comparePrinter) leftOut(d *compare.Determinism) {
	lines := d.LeftOut
	if len(lines) == 0 {
		return
	}
	if more := len(lines) - shownLeftOut; more > 0 {
		lines = append(slices.Clone(lines[:shownLeftOut]), fmt.Sprintf("and %d more", more))
	}
	p.blank()
	p.facts([]fact{{"Left out", lines}})
}

// sameText says that runs agree.
func sameText(read, unread int, d *compare.Determinism) string {
	runs := len(d.Runs)
	switch {
	case read == 0:
		return fmt.Sprintf("NOTHING COMPARED: %s could not be read", tensors(unread))
	case unread > 0:
		verb := "are"
		if read == 1 {
			verb = "is"
		}
		return fmt.Sprintf("SAME: %s that could be read %s equal, bit for bit, in %d runs; %s could not be read%s",
			tensors(read), verb, runs, tensors(unread), restText(d))
	case !d.Whole() && read == 1:
		return fmt.Sprintf("SAME: the only tensor that was compared is equal, bit for bit, in %d runs%s", runs, restText(d))
	case !d.Whole():
		return fmt.Sprintf("SAME: the %s that were compared are equal, bit for bit, in %d runs%s", tensors(read), runs, restText(d))
	case read == 1:
		return fmt.Sprintf("SAME: the only tensor is equal, bit for bit, in %d runs", runs)
	}
	return fmt.Sprintf("SAME: all %s are equal, bit for bit, in %d runs", tensors(read), runs)
}

// restText counts what was not compared.
func restText(d *compare.Determinism) string {
	text := ""
	if n := len(d.Missing); n > 0 {
		text += fmt.Sprintf("; %d not in all runs", n)
	}
	if n := len(d.LeftOut); n > 0 {
		text += fmt.Sprintf("; %d left out", n)
	}
	return text
}

// worstDrift describes the runs that differ from the first: the most elements,
// the first of them, and the largest distance; of no values, if there is none
// with the first run's shape and type.
func worstDrift(r *compare.DriftRow) (differ, first, maxAbs string) {
	var most int64
	compared := false
	var at *int64
	var distance engine.Metric
	for k := range r.Drifts {
		d := &r.Drifts[k]
		compared = compared || d.Compared
		most = max(most, d.Differ)
		if d.First != nil && (at == nil || d.First.Offset < *at) {
			at = &d.First.Offset
		}
		if d.MaxAbs.Defined && (!distance.Defined || d.MaxAbs.Value > distance.Value) {
			distance = d.MaxAbs
		}
	}
	if !compared {
		return "-", "-", "-"
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

// driftWhy tells of runs that differ from the first, but in no value, what
// differs.
func driftWhy(d *compare.Determinism, r *compare.DriftRow) []string {
	var lines []string
	for k := range r.Drifts {
		if why := r.Drifts[k].Why; why != "" {
			lines = append(lines, fmt.Sprintf("%s in %s: %s", driftLabel(r), d.Runs[k], why))
		}
	}
	return lines
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
