package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"dumptool/internal/compare/determinism"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
)

// runDrift is a tensor in one run.
type runDrift struct {
	row *determinism.Row
	*determinism.Drift
}

// driftColumns are the columns of a tensor in one run.
var driftColumns = []Column[runDrift]{
	textColumn("tensor", func(d runDrift) string { return english.driftName(d.row) }),
	textColumn("status", func(d runDrift) record.Status { return d.row.Status }),
	textColumn("distinct", func(d runDrift) int { return d.row.Distinct }),
	textColumn("places", func(d runDrift) determinism.Places { return d.row.Places }),
	textColumn("cause", func(d runDrift) determinism.Cause { return d.row.Cause }),
	textColumn("run", func(d runDrift) string { return d.Run }),
	textColumn("crc32c", func(d runDrift) string {
		if d.CRC == nil {
			return undefined
		}
		return fmt.Sprintf("%08x", *d.CRC)
	}),
	textColumn("differ", func(d runDrift) int64 { return d.Differ }),
	textColumn("first", func(d runDrift) any {
		if d.First == nil {
			return undefined
		}
		return *d.First
	}),
	textColumn("max_abs", func(d runDrift) metrics.Metric { return d.MaxAbs }),
	textColumn("max_ulp", func(d runDrift) metrics.Metric { return d.MaxULP }),
	textColumn("why", func(d runDrift) string { return d.Why.String() }),
}

// WriteDeterminismCSV writes a line for each tensor and run.
func WriteDeterminismCSV(w io.Writer, d *determinism.Report) error {
	t := Table[runDrift]{Columns: driftColumns}
	for _, r := range pointers(d.Rows) {
		for _, drift := range pointers(r.Drifts) {
			if drift.File != nil {
				t.Rows = append(t.Rows, runDrift{r, drift})
			}
		}
	}
	return t.CSV(w)
}

// driftName returns the label of a tensor as in comparison tables, with its round and execution.
func (t Text) driftName(r *determinism.Row) string {
	label := rowInRound(&record.Row{Op: r.Op, Kind: r.Kind, Output: r.Output, Round: r.Round})
	if r.Execution > 0 {
		label += t.format(" execution %d", r.Execution)
	}
	return label
}

// maxDrifts limits the tensors listed in the text, maxLeftOut the listed tensors that were not
// compared.
const (
	maxDrifts  = 20
	maxLeftOut = 10
)

// WriteDeterminism prints whether the runs agree, and the first tensors that differ, in execution
// order.
func (t Text) WriteDeterminism(w io.Writer, d *determinism.Report) error {
	p := t.printerTo(w)
	first := d.FirstRow()
	if first < 0 {
		p.text(p.sameText(d))
		p.printLeftOut(d)
		return p.err
	}
	r := &d.Rows[first]
	p.text(p.format("DIFFERENT: %d of %s differ between %d runs%s%s", d.Differing, tensors(d.Tensors), len(d.Runs), restText(d), p.explainedText(d)))
	p.writeBlankLine()
	var facts factList
	facts.add(p.format("report¦First"), p.driftName(r), p.format("%d contents in %d runs%s", r.Distinct, len(d.Runs), placesText(r)))
	facts.add(p.format("Order"), p.sentence(d.OrderSource))
	if i := d.StartRow(); i >= 0 {
		facts.add(p.format("Start"), p.format("the runs started from different data: %s differs, and no earlier output does", p.driftName(&d.Rows[i])))
	}
	if i := d.OriginRow(); i >= 0 {
		facts.add(p.format("Origin"), p.format("%s: the inputs of its operator agree", p.driftName(&d.Rows[i])))
	}
	if len(d.Groups) < len(d.Runs) {
		facts.add(p.format("Groups"), p.groupLines(d.Groups)...)
	}
	p.facts(facts)
	p.writeBlankLine()
	var shown []driftedRow
	var why []string
	for _, r := range pointers(d.Rows) {
		if r.Differs() && len(shown) < maxDrifts {
			shown, why = append(shown, worstDrift(r)), append(why, p.driftWhy(r)...)
		}
	}
	p.table("", p.differingTable(shown).Grid(p.Lang).Fit(p.Width))
	if d.Differing > maxDrifts {
		p.text(p.format("and %d more", d.Differing-maxDrifts))
	}
	if len(why) > 0 {
		p.writeBlankLine()
		p.facts([]summaryItem{{label: p.format("Why"), lines: why}})
	}
	p.printLeftOut(d)
	return p.err
}

// printLeftOut lists existing data that was not compared.
func (p *printer) printLeftOut(d *determinism.Report) {
	if len(d.LeftOut) > 0 {
		p.writeBlankLine()
		p.facts([]summaryItem{{label: p.format("determinism¦Left out"), lines: firstLines(p.Text, d.LeftOut, maxLeftOut, p.sentence)}})
	}
}

// sameText says that runs agree.
func (t Text) sameText(d *determinism.Report) string {
	runs, unread := len(d.Runs), d.Unread
	read := d.Tensors - unread
	switch {
	case read == 0:
		return t.format("NOTHING COMPARED: %s could not be read", tensors(unread))
	case unread == 0 && d.IsEmpty():
		return t.format("NOTHING COMPARED: %s without elements", tensors(read))
	case unread > 0:
		if read == 1 {
			return t.format("SAME: 1 tensor that could be read is equal, bit for bit, in %d runs; %s could not be read%s", runs, tensors(unread), restText(d))
		}
		return t.format("SAME: %s that could be read are equal, bit for bit, in %d runs; %s could not be read%s", tensors(read), runs, tensors(unread), restText(d))
	case !d.IsComplete() && read == 1:
		return t.format("SAME: the only tensor that was compared is equal, bit for bit, in %d runs%s", runs, restText(d))
	case !d.IsComplete():
		return t.format("SAME: the %s that were compared are equal, bit for bit, in %d runs%s", tensors(read), runs, restText(d))
	case read == 1:
		return t.format("SAME: the only tensor is equal, bit for bit, in %d runs", runs)
	}
	return t.format("SAME: all %s are equal, bit for bit, in %d runs", tensors(read), runs)
}

// restText counts the tensors that were not compared.
func restText(d *determinism.Report) lang.Sentence {
	var missing, leftOut lang.Sentence
	if n := len(d.Missing); n > 0 {
		missing = lang.Say("; %d not in all runs", n)
	}
	if n := len(d.LeftOut); n > 0 {
		leftOut = lang.Say("; %d left out", n)
	}
	return lang.Say("%s%s", missing, leftOut)
}

// driftedRow is a tensor that differs, with the texts of worstDrift.
type driftedRow struct {
	*determinism.Row
	differ, first, maxAbs string
}

// differingTable lists tensors that differ.
func (t Text) differingTable(rows []driftedRow) Table[driftedRow] {
	return Table[driftedRow]{Rows: rows, Columns: []Column[driftedRow]{
		textColumn("tensor", func(d driftedRow) string { return t.driftName(d.Row) }).withTitle("TENSOR"),
		numberColumn("contents", func(d driftedRow) int { return d.Distinct }).withTitle("CONTENTS").withRank(2),
		numberColumn("differ", func(d driftedRow) string { return d.differ }).withTitle("DIFFER").withRank(1),
		numberColumn("first", func(d driftedRow) string { return d.first }).withTitle("determinism¦FIRST").withRank(4),
		numberColumn("max_abs", func(d driftedRow) string { return d.maxAbs }).withRank(3),
		textColumn("cause", func(d driftedRow) determinism.Cause { return d.Cause }).withTitle("CAUSE"),
		textColumn("note", func(d driftedRow) string { return t.noteText(d.Row) }).withTitle("NOTE").withRank(5),
	}}
}

// worstDrift summarises the runs that differ from the first: the largest number of differing
// elements, the first offset, and the largest distance; without values if no run has the first
// run's shape and type.
func worstDrift(r *determinism.Row) driftedRow {
	worst := driftedRow{r, noValue, noValue, noValue}
	var most int64
	compared := false
	var at *int64
	var distance metrics.Metric
	for _, d := range pointers(r.Drifts) {
		compared, most = compared || d.Compared, max(most, d.Differ)
		if d.First != nil && (at == nil || *d.First < *at) {
			at = d.First
		}
		if d.MaxAbs.IsDefined() && (!distance.IsDefined() || d.MaxAbs.Value() > distance.Value()) {
			distance = d.MaxAbs
		}
	}
	if !compared {
		return worst
	}
	if at != nil {
		worst.first = strconv.FormatInt(*at, 10)
	}
	worst.differ, worst.maxAbs = strconv.FormatInt(most, 10), shortMetric(distance)
	return worst
}

// driftWhy explains, for runs that differ from the first run but in no value, what differs.
func (t Text) driftWhy(r *determinism.Row) []string {
	var lines []string
	for _, d := range pointers(r.Drifts) {
		if !d.Why.IsZero() {
			lines = append(lines, t.format("%s in %s: %s", t.driftName(r), d.Run, d.Why))
		}
	}
	return lines
}

// noteText returns the reason of the cause, and whether the same elements differ in all runs.
func (t Text) noteText(r *determinism.Row) string {
	if r.Places == determinism.UnknownPlaces {
		return t.sentence(r.Why)
	}
	return t.format("%s; places: %s", r.Why, placesWord[r.Places])
}

// explainedText counts the causes of the outputs that differ.
func (t Text) explainedText(d *determinism.Report) lang.Sentence {
	var worst float64
	sums, others := 0, 0
	for _, r := range pointers(d.Rows) {
		switch r.Cause {
		case determinism.Fault:
			return lang.Say("; %s is a FAULT", t.driftName(r))
		case determinism.SumOrder, determinism.RoundingStep:
			sums, worst = sums+1, max(worst, r.ULP())
		case determinism.Random, determinism.Input:
			others++
		}
	}
	switch {
	case d.Unexplained > 0 && d.Recomputed:
		return lang.Say("; %d unexplained", d.Unexplained)
	case d.Recomputed && others > 0:
		return lang.Say("; no FAULT")
	case sums > 0:
		return lang.Say("; all explained by the order of sums (worst %g ulp)", worst)
	}
	return lang.Sentence{}
}

// groupLines lists runs that agree in all tensors, a group a line.
func (t Text) groupLines(groups [][]string) []string {
	return lists.Map(groups, func(g []string) string { return strings.Join(g, ", ") })
}

// placesWord maps Places to words.
var placesWord = map[determinism.Places]lang.Text{
	determinism.SamePlaces: {EN: string(determinism.SamePlaces)},
	determinism.Scattered:  {EN: string(determinism.Scattered)},
}

// placesText suggests a cause from the places of the differing elements; empty if the cause is known.
func placesText(r *determinism.Row) lang.Text {
	switch {
	case r.Places == determinism.SamePlaces && (r.Cause == determinism.Unknown || r.Cause == determinism.Fault) && !r.DiffersEverywhere():
		return lang.Text{EN: ", always at the same elements: suspect a race on a part of the tensor"}
	case r.Places == determinism.Scattered && r.Cause == determinism.Unknown:
		return lang.Text{EN: ", at changing elements: suspect a changing order of additions"}
	}
	return lang.Text{}
}
