package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/overflow"
	"dumptool/internal/store"
	"dumptool/internal/ui"
)

// A report of more than maxShown records or rows is grouped by operator: a line for each of the
// first maxGroups, and the first record or row in full.
const (
	maxShown  = 20
	maxGroups = 20
)

// WriteAnalysis prints the records by rank; the first of each rank leads and is marked. Without a
// record it prints the usual reasons.
func (t Text) WriteAnalysis(w io.Writer, r *overflow.Report) error {
	return t.printerTo(w).printAnalysis(r)
}

// WriteAnalysisMarkdown writes the text of WriteAnalysis as Markdown.
func (t Text) WriteAnalysisMarkdown(w io.Writer, r *overflow.Report) error {
	return t.markdownTo(w, t.format("Overflow records")).printAnalysis(r)
}

func (p *printer) printAnalysis(r *overflow.Report) error {
	if shown := p.printAnalysisGroups(r); shown >= 0 {
		p.writeBlankLine()
		p.printRecord(&r.Records[shown], shown, isFirst(r, shown))
		p.printOmitted(len(r.Records)-1, lang.Text{EN: "%d more are not shown in full (--all shows all)"})
	} else {
		p.printRecords(r)
	}
	p.printOmitted(r.Total-len(r.Records), lang.Text{EN: "%d more not shown (-n all shows all)"})
	p.printProblems(r.Problems, r.All)
	return p.err
}

func (p *printer) printRecords(r *overflow.Report) {
	p.printSummary(r)
	for i := range r.Records {
		if len(r.Records) > 1 {
			p.writeBlankLine()
		}
		p.printRecord(&r.Records[i], i, isFirst(r, i))
	}
}

// printOmitted prints the number of omitted items, if any.
func (p *printer) printOmitted(n int, text lang.Text) {
	if n > 0 {
		p.writeBlankLine()
		p.line("", fmt.Sprintf(p.Lang.Text(text), n))
	}
}

// WriteScan prints the rows by rank, step and execution order; the first bad row of each rank is
// marked.
func (t Text) WriteScan(w io.Writer, r *overflow.ScanReport) error {
	return t.printerTo(w).printScan(r)
}

// WriteScanMarkdown writes the number of files and the text of WriteScan as Markdown.
func (t Text) WriteScanMarkdown(w io.Writer, r *overflow.ScanReport) error {
	p := t.markdownTo(w, t.format("Overflow scan"))
	p.line("", p.format("bad tensors in %d of %s, %s read", r.BadFiles, lang.CountText(r.Files, "file"), lang.CountText(r.Tensors, "tensor")))
	return p.printScan(r)
}

func (p *printer) printScan(r *overflow.ScanReport) error {
	for i := range r.Memory {
		if u := &r.Memory[i]; u.Reaches != "" {
			p.line("", p.format("UNWRITTEN: %v", u.Text))
			p.line("", p.format(proofOfUnwritten))
		}
	}
	if len(r.Rows) > 0 {
		p.printOrders(r.Orders)
	}
	graphs := hasSeveralGraphs(r.Rows)
	if shown := p.printScanGroups(r); shown >= 0 {
		p.writeBlankLine()
		p.printRow(&r.Rows[shown], graphs, 0)
		p.printOmitted(len(r.Rows)-1, lang.Text{EN: "%d more are not shown in full (--all shows all, good ones too)"})
	} else {
		for _, line := range scanFolds.joinRows(pointers(r.Rows)) {
			p.writeBlankLine()
			p.printRow(line.row, graphs, line.count-1)
		}
	}
	p.printProblems(r.Problems, r.All)
	return p.err
}

// scanFolds joins an operator of several ranks and steps whose tensors hold the same kinds of bad elements: the
// numbers are of the first file.
var scanFolds = rankStepFolds[overflow.ScanRow]{
	at:   (*overflow.ScanRow).Coordinates,
	move: func(s *overflow.ScanRow, at dumpdir.Coordinates) { s.Rank, s.Step = at.Rank, at.Step },
	key: func(s *overflow.ScanRow) string {
		key := fmt.Sprintf("%q %q %v %s %q", cmp.Or(s.OpName, s.File), s.OpType, s.First, s.Verdict, s.Reason)
		for i := range s.Tensors {
			t := &s.Tensors[i]
			key += fmt.Sprintf(" %s %s %s %v %v %v %q", tensorName(t), t.DType, t.Shape, t.IsIntended, t.Unwritten, t.Bad, t.Error)
			if s := t.Stats; s != nil {
				for _, count := range []*int64{s.NaN, s.PosInf, s.NegInf, s.Saturated} {
					key += fmt.Sprintf(" %v", count != nil && *count > 0)
				}
			}
		}
		return key
	},
}

// printOrders prints the sources of the execution order, if there is something to order.
func (p *printer) printOrders(orders []overflow.OrderSource) {
	all := 0
	for _, o := range orders {
		all += o.Total
	}
	if all < 2 {
		return
	}
	for _, o := range mergeKinds(orders) {
		text := p.Lang.Text(dumpdir.SourceName(o.Source)) + fmt.Sprintf(p.format(", %d of %d operators known"), o.NumKnown, o.Total)
		if o.By == dumpdir.ByName {
			text = p.format("unknown, by name")
		}
		if o.Rounds > 1 {
			text += fmt.Sprintf(p.format(", in %d rounds"), o.Rounds)
		}
		p.line("", p.format("Execution order: ")+text)
	}
}

// mergeKinds merges sources of one kind, such as a file per rank, under the name of the first.
func mergeKinds(orders []overflow.OrderSource) []overflow.OrderSource {
	var kinds []overflow.OrderSource
	files := make(map[dumpdir.OrderSource]int)
	for _, o := range orders {
		files[o.By]++
		i := slices.IndexFunc(kinds, func(k overflow.OrderSource) bool { return k.By == o.By })
		if i < 0 {
			kinds = append(kinds, o)
			continue
		}
		k := &kinds[i]
		k.NumKnown, k.Total, k.Rounds = k.NumKnown+o.NumKnown, k.Total+o.Total, k.Rounds+o.Rounds
	}
	for i := range kinds {
		if n := files[kinds[i].By]; n > 1 {
			kinds[i].Source += fmt.Sprintf(", ... (%d)", n)
		}
	}
	return kinds
}

// hasSeveralGraphs reports whether rows belong to several graphs or models, which must then be named.
func hasSeveralGraphs(rows []overflow.ScanRow) bool {
	for i := range rows {
		a, b := &rows[0], &rows[i]
		if a.Graph != b.Graph || a.Model != b.Model || a.Folder != b.Folder {
			return true
		}
	}
	return false
}

func (p *printer) verdictText(v overflow.Verdict) string { return p.translate(string(v)) }

// printSummary prints the first record of each device, or that there is none.
func (p *printer) printSummary(r *overflow.Report) {
	switch {
	case r.Total == 0 && r.Dumps == 0 && r.Unread() > 0:
		// Nothing could be read: the problems say why.
	case r.Total == 0:
		p.line("", p.format("No overflow recorded; operator dumps found: %d. Usual reasons:", r.Dumps))
		for _, t := range overflow.NothingFound {
			p.line(textIndent, "- "+p.Lang.Text(t))
		}
	case len(r.Records) > 1:
		p.line("", p.format("%d overflow records; the first of each rank:", r.Total))
		for i := range r.Records {
			if record := &r.Records[i]; isFirst(r, i) {
				p.line(textIndent, p.formatHead(i, p.rankAndStep(record.Coordinates(), false), p.operatorText(record))+p.format(" - ")+p.verdictText(record.Verdict))
			}
		}
	}
}

// formatHead formats a number with a place and a text.
func (p *printer) formatHead(i int, where, what string) string {
	text := fmt.Sprintf("#%d ", i+1)
	if where != "" {
		text += where + p.format(": ")
	}
	return text + what
}

// rankAndStep formats a rank and a step, and whether this is the first of the rank.
func (p *printer) rankAndStep(at dumpdir.Coordinates, first bool) string {
	rank := withLabel("rank ", at.Rank)
	switch {
	case first && at.Rank == "":
		rank = p.format("FIRST")
	case first:
		rank = p.format("FIRST of rank %s", at.Rank)
	}
	return p.join(rank, withLabel("step ", at.Step))
}

// withLabel prefixes text with a label; empty for empty text.
func withLabel(label, text string) string {
	if text == "" {
		return ""
	}
	return label + text
}

// graphCoordinates formats the graph and the model of a round.
func (p *printer) graphCoordinates(at dumpdir.Coordinates) string {
	return p.join(withLabel(p.format("graph "), at.Graph), withLabel(p.format("model "), at.Model), withLabel(p.format("folder "), at.Folder))
}

// operatorText names the operator of a record.
func (p *printer) operatorText(r *overflow.Record) string {
	if r.Op == nil {
		return p.format("operator not found")
	}
	name := opText(r.Op.Type, r.Op.Name) + withLabel("  ", r.Op.Script)
	if r.Op.Guess {
		name += p.format(" (a guess)")
	}
	return name
}

// timeText formats microseconds since 1970.
func (p *printer) timeText(micros uint64) string {
	if text := dateTime(micros); text != "" {
		return text + " UTC"
	}
	return ""
}

// printRecord prints one record with its analysis.
func (p *printer) printRecord(r *overflow.Record, i int, first bool) {
	p.heading(p.formatHead(i, p.rankAndStep(r.Coordinates(), first), p.operatorText(r)))
	p.printLabeled("verdict", p.conclusionText(r))
	p.line(textIndent, p.idsText(r))
	p.printCauses(r)
	if at := p.originText(r); at != "" {
		p.line(textIndent, at)
	}
	p.path(textIndent, p.format("record: "), r.File)
	if r.Op != nil {
		p.path(textIndent, p.format("dump: "), r.Op.File)
		p.printLabeled("matched by", p.ruleText(r.Op.MatchedBy))
	}
	p.printTensors(r.Tensors)
	for i := range r.Producers {
		p.printLabeled("reads", p.producerText(&r.Producers[i]))
	}
	for _, t := range r.Advice {
		p.printLabeled("advice", p.Lang.Text(t))
	}
	for _, w := range r.Warnings {
		p.printLabeled("warning", p.sentence(w))
	}
}

// producerText describes the producer of an operator's input: its output, its script line, and the
// tensors found.
func (p *printer) producerText(from *overflow.Producer) string {
	text := "[" + from.Type + "] " + from.Op
	if from.Output != nil {
		text += p.format(" output %d", *from.Output)
	}
	if len(from.Through) > 0 {
		text += p.format(" through %s (no dump)", lang.FirstNames(lastNames(from.Through)))
	}
	text += withLabel("  ", from.Script)
	if len(from.Tensors) == 0 {
		return text + p.format(": no dump")
	}
	for i := range from.Tensors {
		t := &from.Tensors[i]
		switch bad := firstBadText(t); {
		case t.Stats == nil:
			return text + p.format(": %s", t.Text())
		case t.Bad:
			return text + p.format(": bad, %s", bad)
		}
	}
	return text + p.format(": clean")
}

func (p *printer) printCauses(r *overflow.Record) {
	var keys, meanings []string
	width, later := 0, false
	words := r.DecodeStatus()
	for i := range words {
		word := &words[i]
		entries := entriesOf(word)
		for j := range entries {
			key := shortMask(&entries[j])
			if entries[j].IsCode {
				key = p.bit(&entries[j])
			}
			if len(r.Status) > 1 {
				key = fmt.Sprintf(p.format("word %d  "), i) + key
			}
			keys, meanings = append(keys, key), append(meanings, p.meaning(word.Register, &entries[j]))
			width = max(width, ui.Columns.StringWidth(key))
			later = later || i > 0
		}
	}
	for i := range keys {
		p.line(textIndent+textIndent, pad(keys[i], width+columnGap)+meanings[i])
	}
	if later {
		p.line(textIndent+textIndent, p.format("(words 1 to 3 are not documented: their bits are read like those of word 0)"))
	}
}

// conclusionText returns the verdict with its reason.
func (p *printer) conclusionText(r *overflow.Record) string {
	if r.Reason == "" {
		return p.verdictText(r.Verdict)
	}
	return p.verdictText(r.Verdict) + p.format(" - ") + p.Lang.Text(lang.Text{EN: r.Reason, ZH: cmp.Or(r.ReasonZH, r.Reason)})
}

// idsText formats the ids of a record's task, and its status.
func (p *printer) idsText(r *overflow.Record) string {
	thread := ""
	if r.ContextID != nil && r.ThreadID != nil {
		thread = p.join(fmt.Sprintf("%s %d", p.format("context"), *r.ContextID), fmt.Sprintf("%s %d", p.format("thread"), *r.ThreadID))
	}
	status := r.StatusText()
	if status == "" {
		status = p.format("lost")
	}
	return r.Unit.String() + p.format(": ") + p.join(
		fmt.Sprintf("%s %d", p.format("task"), r.TaskID),
		fmt.Sprintf("%s %d", p.format("stream"), r.StreamID),
		thread, p.format("status ")+status)
}

// originText formats when and where the overflow happened: the known ones of model, core, block and
// program counter.
func (p *printer) originText(r *overflow.Record) string {
	parts := []string{p.timeText(r.Timestamp), withLabel(p.format("model "), r.Model)}
	for _, c := range placeColumns {
		parts = append(parts, withLabel(p.Lang.Text(c.Title)+" ", exactCell(c.Cell(r))))
	}
	return p.join(parts...)
}

// ruleText describes the rule that found an operator.
func (p *printer) ruleText(r overflow.Rule) string {
	base, elsewhere := strings.CutSuffix(string(r), overflow.OtherFolder)
	where := p.translate(base)
	if elsewhere {
		return p.format("%s"+overflow.OtherFolder, where)
	}
	return where
}

// printRow prints one row of a scan, with its graph if there are several; it stands for more alike rows.
func (p *printer) printRow(r *overflow.ScanRow, graphs bool, more int) {
	where := p.rankAndStep(r.Coordinates(), r.First)
	if graphs {
		where = p.join(where, p.graphCoordinates(r.Coordinates()))
	}
	where = p.join(where, p.timeText(r.Timestamp))
	what := opText(r.OpType, r.OpName) + withLabel("  ", r.Script)
	if where != "" && what != "" {
		where += p.format(": ")
	}
	if head := where + what; head != "" || p.markdown {
		p.heading(cmp.Or(head, store.Base(r.File)))
	}
	files := r.Files
	if len(files) == 0 {
		files = []string{r.File}
	}
	for _, name := range files {
		p.path(textIndent, p.format("file: "), name)
	}
	if more > 0 {
		p.line(textIndent, p.format("the same in %s (--format csv has the numbers)", lang.CountText(more, "more round")))
	}
	if r.Verdict != "" {
		verdict := p.verdictText(r.Verdict)
		if r.IsFromStatistics() {
			verdict += p.format(", from statistics")
		}
		if r.Reason != "" {
			verdict += p.format(" - ") + p.Lang.Text(lang.Text{EN: r.Reason, ZH: cmp.Or(r.ReasonZH, r.Reason)})
		}
		p.printLabeled("verdict", verdict)
	}
	p.printTensors(r.Tensors)
}

// printProblems lists the records without an overflow, then the unreadable files, then oddities of the
// folders.
func (p *printer) printProblems(problems []overflow.Problem, all bool) {
	p.printProblemList(p.format("Records without an overflow:"), problems, all, func(q *overflow.Problem) bool { return q.Empty })
	p.printProblemList(p.format("Could not be read:"), problems, all, (*overflow.Problem).IsUnread)
	p.printProblemList(p.format("In the folders:"), problems, all, func(q *overflow.Problem) bool { return !q.Empty && !q.IsUnread() })
}

// printProblemList lists the problems that satisfy is, the first maxShown unless all is set.
func (p *printer) printProblemList(title string, problems []overflow.Problem, all bool, is func(*overflow.Problem) bool) {
	n := 0
	for i := range problems {
		if !is(&problems[i]) {
			continue
		}
		if n == 0 {
			p.writeBlankLine()
			p.heading(title)
		}
		if n++; all || n <= maxShown {
			p.line(textIndent, p.sentence(problemText(&problems[i])))
		}
	}
	if n > maxShown && !all {
		p.line(textIndent, fmt.Sprintf(p.format("%d more (--all shows all)"), n-maxShown))
	}
}

// problemText returns a problem with its file, if it has one.
func problemText(q *overflow.Problem) lang.Sentence {
	if q.File == "" {
		return lang.Say("%s", q.Text())
	}
	return lang.Say("%s: %s", q.File, q.Text())
}

// printTensors prints a table of tensors, then the errors. A narrow terminal gets two tables, for
// descriptions and contents, or a few lines per tensor.
func (p *printer) printTensors(tensors []overflow.Tensor) {
	t := Table[*overflow.Tensor]{tensorColumns, pointers(tensors)}
	t.Rows = slices.DeleteFunc(t.Rows, func(t *overflow.Tensor) bool { return t.Stats == nil })
	all := len(t.Rows)
	if p.Width > 0 && all > maxTensors {
		t.Rows = selectTensors(t.Rows)
	}
	if len(t.Rows) > 0 {
		p.printTensorGrid(t.Grid(p.Lang))
	}
	if left := all - len(t.Rows); left > 0 {
		p.line(textIndent, p.format("and %s more", count(left, "tensor")))
	}
	for i := range tensors {
		if t := &tensors[i]; t.Stats == nil {
			p.line(textIndent, fmt.Sprintf("%s: %s", tensorName(t), t.Error))
		}
	}
}

// maxTensors limits the tensors of an operator on a terminal: calls such as _foreach_norm have
// hundreds of inputs.
const maxTensors = 16

// selectTensors returns the bad tensors, or the first ones if none is bad, at most maxTensors.
func selectTensors(rows []*overflow.Tensor) []*overflow.Tensor {
	bad := slices.DeleteFunc(slices.Clone(rows), func(t *overflow.Tensor) bool { return !t.Bad })
	if len(bad) > 0 {
		rows = bad
	}
	return rows[:min(len(rows), maxTensors)]
}

// printTensorGrid prints readable tensors: four columns of description, then the contents, and the first
// bad element.
func (p *printer) printTensorGrid(g Grid) {
	what, counts, bad := g[:4], g[4:len(g)-1], g[len(g)-1:]
	for i := range counts { // an unknown count is not 0
		for row, cell := range counts[i].cells {
			counts[i].cells[row] = cmp.Or(cell, noValue)
		}
	}
	upper, lower := slices.Concat(what, bad), slices.Concat(what[:1], counts)
	switch {
	case p.fitsTerminal(g):
		p.grid(textIndent, g, 0)
		return
	case p.fitsTerminal(upper) && p.fitsTerminal(lower):
		p.grid(textIndent, upper, 0)
		p.grid(textIndent, lower, 0)
		return
	}
	for row := 1; row < len(g[0].cells); row++ {
		var is, holds []string
		for _, c := range what {
			is = append(is, c.cells[row])
		}
		for _, c := range slices.Concat(counts, bad) {
			if cell := c.cells[row]; cell != "" && cell != noValue {
				holds = append(holds, c.cells[0]+" "+cell)
			}
		}
		p.line(textIndent, strings.Join(is, " "))
		p.line(textIndent+textIndent, p.join(holds...))
	}
}
