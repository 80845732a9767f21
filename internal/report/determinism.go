package report

import (
	"fmt"
	"io"
	"strconv"

	"dumptool/internal/compare/determinism"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
)

// runDrift is a tensor in one run.
type runDrift struct {
	row *determinism.Row
	*determinism.Drift
}

// driftColumns are the columns of a tensor in one run.
var driftColumns = []Column[runDrift]{
	words("tensor", func(d runDrift) string { return english.driftName(d.row) }),
	words("status", func(d runDrift) record.Status { return d.row.Status }),
	words("distinct", func(d runDrift) int { return d.row.Distinct }),
	words("places", func(d runDrift) determinism.Places { return d.row.Places }),
	words("run", func(d runDrift) string { return d.Run }),
	words("crc32c", func(d runDrift) string {
		if d.CRC == nil {
			return undefined
		}
		return fmt.Sprintf("%08x", *d.CRC)
	}),
	words("differ", func(d runDrift) int64 { return d.Differ }),
	words("first", func(d runDrift) any {
		if d.First == nil {
			return undefined
		}
		return *d.First
	}),
	words("max_abs", func(d runDrift) metrics.Metric { return d.MaxAbs }),
	words("max_ulp", func(d runDrift) metrics.Metric { return d.MaxULP }),
	words("why", func(d runDrift) string { return d.Why.String() }),
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
		label += t.say(" execution %d", " 第 %d 次执行", r.Execution)
	}
	return label
}

// shownDrifts limits the tensors listed in the text, shownLeftOut the listed tensors that were not
// compared.
const (
	shownDrifts  = 20
	shownLeftOut = 10
)

// WriteDeterminism prints whether the runs agree, and the first tensors that differ, in execution
// order.
func (t Text) WriteDeterminism(w io.Writer, d *determinism.Report) error {
	p := t.to(w)
	first := d.FirstRow()
	if first < 0 {
		p.text(p.sameText(d))
		p.leftOut(d)
		return p.err
	}
	r := &d.Rows[first]
	p.text(p.say("DIFFERENT: %d of %s differ between %d runs%s", "DIFFERENT：%[1]d/%[2]s在 %[3]d 次运行之间不同%[4]s", d.Differing, tensors(d.Tensors), len(d.Runs), restText(d)))
	p.blank()
	var facts factList
	facts.add(p.say("First", "首个不同"), p.driftName(r), p.say("%d contents in %d runs%s", "%[2]d 次运行有 %[1]d 种内容%[3]s", r.Distinct, len(d.Runs), placesText(r.Places)))
	facts.add(p.say("Order", "执行顺序"), p.of(d.OrderSource))
	if i := d.StartRow(); i >= 0 {
		facts.add(p.say("Start", "起点"), p.say("the runs did not start alike: %s differs, no output before it does", "各次运行起点不同：%s 不同，其之前的输出均相同", p.driftName(&d.Rows[i])))
	}
	if i := d.OriginRow(); i >= 0 {
		facts.add(p.say("Origin", "根源"), p.say("%s: the inputs of its operator agree", "%s：该算子的输入均相同", p.driftName(&d.Rows[i])))
	}
	p.facts(facts)
	p.blank()
	var shown []driftedRow
	var why []string
	for _, r := range pointers(d.Rows) {
		if r.Differs() && len(shown) < shownDrifts {
			shown, why = append(shown, worstDrift(r)), append(why, p.driftWhy(r)...)
		}
	}
	p.table("", p.differingTable(shown).Grid(p.Lang).Fit(p.Width))
	if d.Differing > shownDrifts {
		p.text(p.say("and %d more", "另有 %d 个", d.Differing-shownDrifts))
	}
	if len(why) > 0 {
		p.blank()
		p.facts([]fact{{label: p.say("Why", "原因"), lines: why}})
	}
	p.leftOut(d)
	return p.err
}

// leftOut lists existing data that was not compared.
func (p *printer) leftOut(d *determinism.Report) {
	if len(d.LeftOut) > 0 {
		p.blank()
		p.facts([]fact{{label: p.say("Left out", "未比对"), lines: firstOf(p.Text, d.LeftOut, shownLeftOut, p.of)}})
	}
}

// sameText says that runs agree.
func (t Text) sameText(d *determinism.Report) string {
	runs, unread := len(d.Runs), d.Unread
	read := d.Tensors - unread
	switch {
	case read == 0:
		return t.say("NOTHING COMPARED: %s could not be read", "NOTHING COMPARED：%s无法读取", tensors(unread))
	case unread == 0 && d.Empty():
		return t.say("NOTHING COMPARED: %s without elements", "NOTHING COMPARED：%s均无元素", tensors(read))
	case unread > 0:
		if read == 1 {
			return t.say("SAME: 1 tensor that could be read is equal, bit for bit, in %d runs; %s could not be read%s", "SAME：可读取的 1 个张量在 %d 次运行中逐位相同；%s无法读取%s", runs, tensors(unread), restText(d))
		}
		return t.say("SAME: %s that could be read are equal, bit for bit, in %d runs; %s could not be read%s",
			"SAME：可读取的 %s在 %d 次运行中逐位相同；%s无法读取%s", tensors(read), runs, tensors(unread), restText(d))
	case !d.Whole() && read == 1:
		return t.say("SAME: the only tensor that was compared is equal, bit for bit, in %d runs%s", "SAME：唯一比对的张量在 %d 次运行中逐位相同%s", runs, restText(d))
	case !d.Whole():
		return t.say("SAME: the %s that were compared are equal, bit for bit, in %d runs%s", "SAME：已比对的 %s在 %d 次运行中逐位相同%s", tensors(read), runs, restText(d))
	case read == 1:
		return t.say("SAME: the only tensor is equal, bit for bit, in %d runs", "SAME：唯一的张量在 %d 次运行中逐位相同", runs)
	}
	return t.say("SAME: all %s are equal, bit for bit, in %d runs", "SAME：全部 %s在 %d 次运行中逐位相同", tensors(read), runs)
}

// restText counts the tensors that were not compared.
func restText(d *determinism.Report) lang.Sentence {
	var missing, leftOut lang.Sentence
	if n := len(d.Missing); n > 0 {
		missing = lang.Sayf("; %d not in all runs", "；%d 个并非各次运行都有", n)
	}
	if n := len(d.LeftOut); n > 0 {
		leftOut = lang.Sayf("; %d left out", "；%d 个未比对", n)
	}
	return lang.Sayf("%s%s", "%s%s", missing, leftOut)
}

// driftedRow is a tensor that differs, with the texts of worstDrift.
type driftedRow struct {
	*determinism.Row
	differ, first, maxAbs string
}

// differingTable lists tensors that differ.
func (t Text) differingTable(rows []driftedRow) Table[driftedRow] {
	return Table[driftedRow]{Rows: rows, Columns: []Column[driftedRow]{
		words("tensor", func(d driftedRow) string { return t.driftName(d.Row) }).titled("TENSOR", "张量"),
		numbers("contents", func(d driftedRow) int { return d.Distinct }).titled("CONTENTS", "内容数").ranked(2),
		numbers("differ", func(d driftedRow) string { return d.differ }).titled("DIFFER", "不同元素").ranked(1),
		numbers("first", func(d driftedRow) string { return d.first }).titled("FIRST", "首个偏移").ranked(4),
		numbers("max_abs", func(d driftedRow) string { return d.maxAbs }).ranked(3),
		words("note", func(d driftedRow) lang.Text { return placesWord[d.Places] }).titled("NOTE", "说明").ranked(5),
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
		if d.MaxAbs.Defined() && (!distance.Defined() || d.MaxAbs.Value() > distance.Value()) {
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
			lines = append(lines, t.say("%s in %s: %s", "%s(%s)：%s", t.driftName(r), d.Run, d.Why))
		}
	}
	return lines
}

// placesWord maps Places to words.
var placesWord = map[determinism.Places]lang.Text{
	determinism.SamePlaces: {EN: string(determinism.SamePlaces), ZH: "位置相同"},
	determinism.Scattered:  {EN: string(determinism.Scattered), ZH: "位置分散"},
}

// placesText explains the meaning of where runs differ.
func placesText(p determinism.Places) lang.Text {
	switch p {
	case determinism.SamePlaces:
		return lang.Text{EN: ", always at the same elements: look for a race on a part of the tensor",
			ZH: "，不同处总在相同元素：请排查张量局部的竞争(如踩踏)"}
	case determinism.Scattered:
		return lang.Text{EN: ", at changing elements: look for an order of additions that changes",
			ZH: "，不同处的元素变化：请排查变化的累加顺序"}
	}
	return lang.Text{}
}
