package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"dumptool/internal/compare/determinism"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
)

// driftRows are the columns of a tensor in all runs.
func driftRows(runs []string) []Column[*determinism.Row] {
	type row = *determinism.Row
	return []Column[row]{
		words("op", func(r row) string { return r.Op }),
		words("kind", func(r row) string { return r.Kind }),
		words("output", func(r row) int { return r.Output }),
		words("round", func(r row) string { return r.Round }),
		words("execution", func(r row) int { return r.Execution }).given(), // of operators with several in one folder
		words("order", func(r row) int { return r.Order }),
		words("status", func(r row) record.Status { return r.Status }),
		words("distinct", func(r row) int { return r.Distinct }),
		words("places", func(r row) determinism.Places { return r.Places }),
		words("error", func(r row) any { return r.Err }),
		words("runs", func(r row) any { return Table[runDrift]{driftColumns, driftsOf(r, runs)} }),
	}
}

// runDrift is a tensor in one run.
type runDrift struct {
	row *determinism.Row
	*determinism.Drift
	run string
}

// driftsOf lists a tensor in all runs.
func driftsOf(r *determinism.Row, runs []string) []runDrift {
	all := make([]runDrift, len(r.Drifts))
	for i := range r.Drifts {
		all[i] = runDrift{r, &r.Drifts[i], runs[i]}
	}
	return all
}

// driftColumns are the columns of a tensor in one run.
var driftColumns = []Column[runDrift]{
	words("tensor", func(d runDrift) string { return driftLabel(d.row) }).in(InCSV),
	words("status", func(d runDrift) record.Status { return d.row.Status }).in(InCSV),
	words("distinct", func(d runDrift) int { return d.row.Distinct }).in(InCSV),
	words("places", func(d runDrift) determinism.Places { return d.row.Places }).in(InCSV),
	words("run", func(d runDrift) string { return d.run }),
	words("file", func(d runDrift) *string { return pointer(d.File, d.File != "") }).in(InJSON),
	words("crc32c", func(d runDrift) string {
		if d.row.Err != nil || d.Table {
			return undefined
		}
		return fmt.Sprintf("%08x", d.CRC)
	}).in(InCSV),
	words("crc32c", func(d runDrift) *string {
		return pointer(fmt.Sprintf("%08x", d.CRC), d.File != "" && d.row.Err == nil && !d.Table)
	}).in(InJSON),
	words("differ", func(d runDrift) int64 { return d.Differ }),
	words("differ_bits", func(d runDrift) int64 { return d.Bits }).in(InJSON),
	words("first", func(d runDrift) (first metrics.Metric) {
		if d.First != nil {
			first = defined(float64(d.First.Offset))
		}
		return first
	}),
	words("max_abs", func(d runDrift) metrics.Metric { return d.MaxAbs }),
	words("max_ulp", func(d runDrift) metrics.Metric { return d.MaxULP }),
	words("why", func(d runDrift) string { return d.Why.String() }).given(),
}

// WriteDeterminismJSON writes the result as one JSON object.
func WriteDeterminismJSON(w io.Writer, d *determinism.Report) error {
	differing, unread := d.Differing()
	name := func(i int) *string {
		if i < 0 {
			return nil
		}
		return pointer(d.Rows[i].Name(), true)
	}
	return writeJSON(w, struct {
		Schema      string                  `json:"schema"`
		Runs        []string                `json:"runs"`
		OrderSource lang.Sentence           `json:"order_source"`
		Tensors     int                     `json:"tensors"`
		Differing   int                     `json:"differing"`
		Unread      int                     `json:"unread"`
		First       *string                 `json:"first"`
		Start       *string                 `json:"start"`
		Origin      *string                 `json:"origin"`
		Missing     []string                `json:"missing"`
		LeftOut     []lang.Sentence         `json:"left_out"`
		Warnings    []lang.Sentence         `json:"warnings"`
		Rows        Table[*determinism.Row] `json:"rows"`
	}{determinismSchema, d.Runs, d.OrderSource, len(d.Rows), differing, unread, name(d.First()), name(d.Start()), name(d.Origin()),
		slices.Concat([]string{}, d.MissingRounds, d.Missing), list(d.LeftOut), list(d.Warnings), Table[*determinism.Row]{driftRows(d.Runs), pointers(d.Rows)}})
}

// WriteDeterminismCSV writes a line for each tensor and run.
func WriteDeterminismCSV(w io.Writer, d *determinism.Report) error {
	t := Table[runDrift]{Columns: driftColumns}
	for i := range d.Rows {
		t.Rows = append(t.Rows, slices.DeleteFunc(driftsOf(&d.Rows[i], d.Runs), func(r runDrift) bool { return r.File == "" })...)
	}
	return t.CSV(w)
}

// driftLabel names a tensor as the tables of a comparison do, with its round and
// its execution.
func driftLabel(r *determinism.Row) string { return english.driftName(r) }

// driftName is driftLabel in a language.
func (t Text) driftName(r *determinism.Row) string {
	label := rowInRound(&r.Row)
	if r.Execution > 0 {
		label += t.say(" execution %d", " 第 %d 次执行", r.Execution)
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
func (t Text) WriteDeterminism(w io.Writer, d *determinism.Report) error {
	p := t.to(w)
	differing, unread := d.Differing()
	first := d.First()
	if first < 0 {
		p.text(p.sameText(len(d.Rows)-unread, unread, d))
		p.leftOut(d)
		return p.err
	}
	r := &d.Rows[first]
	p.text(p.say("DIFFERENT: %d of %s differ between %d runs%s", "DIFFERENT：%[1]d/%[2]s在 %[3]d 次运行之间不同%[4]s", differing, tensors(len(d.Rows)), len(d.Runs), restText(d)))
	p.blank()
	var begin []fact
	if i := d.Start(); i >= 0 {
		begin = append(begin, fact{label: p.say("Start", "起点"), lines: []string{p.say("the runs did not start alike: %s differs, no output before it does", "各次运行起点不同：%s 不同，其之前的输出均相同", p.driftName(&d.Rows[i]))}})
	}
	if i := d.Origin(); i >= 0 {
		begin = append(begin, fact{label: p.say("Origin", "根源"), lines: []string{p.say("%s: the inputs of its operator agree", "%s：该算子的输入均相同", p.driftName(&d.Rows[i]))}})
	}
	p.facts(append([]fact{
		{label: p.say("First", "首个不同"), lines: []string{p.driftName(r),
			p.say("%d contents in %d runs%s", "%[2]d 次运行有 %[1]d 种内容%[3]s", r.Distinct, len(d.Runs), placesText(r.Places))}},
		{label: p.say("Order", "执行顺序"), lines: []string{p.of(d.OrderSource)}},
	}, begin...))
	p.blank()
	var shown []driftedRow
	var why []string
	for i := range d.Rows {
		if r := &d.Rows[i]; r.Differs() && len(shown) < shownDrifts {
			most, at, maxAbs := worstDrift(r)
			shown = append(shown, driftedRow{r, most, at, maxAbs})
			why = append(why, p.driftWhy(d, r)...)
		}
	}
	p.table("", p.differingTable(shown).Grid(p.Lang).Fit(p.Width))
	if differing > shownDrifts {
		p.text(p.say("and %d more", "另有 %d 个", differing-shownDrifts))
	}
	if len(why) > 0 {
		p.blank()
		p.facts([]fact{{label: p.say("Why", "原因"), lines: why}})
	}
	p.leftOut(d)
	return p.err
}

// leftOut lists what was not compared although it is there.
func (p *printer) leftOut(d *determinism.Report) {
	if len(d.LeftOut) > 0 {
		p.blank()
		p.facts([]fact{{label: p.say("Left out", "未比对"), lines: firstOf(p.Text, d.LeftOut, shownLeftOut, p.of)}})
	}
}

// sameText says that runs agree.
func (t Text) sameText(read, unread int, d *determinism.Report) string {
	runs := len(d.Runs)
	switch {
	case read == 0:
		return t.say("NOTHING COMPARED: %s could not be read", "NOTHING COMPARED：%s无法读取", tensors(unread))
	case unread > 0:
		verb := lang.Text{EN: "are"}
		if read == 1 {
			verb.EN = "is"
		}
		return t.say("SAME: %s that could be read %s equal, bit for bit, in %d runs; %s could not be read%s",
			"SAME：可读取的 %[1]s%[2]s在 %[3]d 次运行中逐位相同；%[4]s无法读取%[5]s", tensors(read), verb, runs, tensors(unread), restText(d))
	case !d.Whole() && read == 1:
		return t.say("SAME: the only tensor that was compared is equal, bit for bit, in %d runs%s", "SAME：唯一比对的张量在 %d 次运行中逐位相同%s", runs, restText(d))
	case !d.Whole():
		return t.say("SAME: the %s that were compared are equal, bit for bit, in %d runs%s", "SAME：已比对的 %s在 %d 次运行中逐位相同%s", tensors(read), runs, restText(d))
	case read == 1:
		return t.say("SAME: the only tensor is equal, bit for bit, in %d runs", "SAME：唯一的张量在 %d 次运行中逐位相同", runs)
	}
	return t.say("SAME: all %s are equal, bit for bit, in %d runs", "SAME：全部 %s在 %d 次运行中逐位相同", tensors(read), runs)
}

// restText counts what was not compared.
func restText(d *determinism.Report) lang.Sentence {
	var missing, leftOut lang.Sentence
	if n := len(d.MissingRounds) + len(d.Missing); n > 0 {
		missing = lang.Sayf("; %d not in all runs", "；%d 个并非各次运行都有", n)
	}
	if n := len(d.LeftOut); n > 0 {
		leftOut = lang.Sayf("; %d left out", "；%d 个未比对", n)
	}
	return lang.Sayf("%s%s", "%s%s", missing, leftOut)
}

// driftedRow is a tensor that differs, with what worstDrift says of it.
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

// worstDrift describes the runs that differ from the first: the most elements,
// the first of them, and the largest distance; of no values, if there is none
// with the first run's shape and type.
func worstDrift(r *determinism.Row) (differ, first, maxAbs string) {
	var most int64
	compared := false
	var at *int64
	var distance metrics.Metric
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
		return noValue, noValue, noValue
	}
	first = noValue
	if at != nil {
		first = strconv.FormatInt(*at, 10)
	}
	return strconv.FormatInt(most, 10), first, shortMetric(distance)
}

// driftWhy says of runs that differ from the first, but in no value, what
// differs.
func (t Text) driftWhy(d *determinism.Report, r *determinism.Row) []string {
	var lines []string
	for k := range r.Drifts {
		if why := r.Drifts[k].Why; !why.IsZero() {
			lines = append(lines, t.say("%s in %s: %s", "%s(%s)：%s", t.driftName(r), d.Runs[k], why))
		}
	}
	return lines
}

// placesWord is a word for where runs differ.
var placesWord = map[determinism.Places]lang.Text{
	determinism.SamePlaces: {EN: string(determinism.SamePlaces), ZH: "位置相同"},
	determinism.Scattered:  {EN: string(determinism.Scattered), ZH: "位置分散"},
}

// placesText says what it means where runs differ.
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
