package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/finding"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/perf"
)

// wordList is a cell with a list of words.
type wordList []string

// String implements fmt.Stringer.
func (l wordList) String() string { return strings.Join(l, "; ") }

// perfColumns are the columns of an operator in CSV and JSON: the counters, derived numbers, and
// the baseline.
func perfColumns(r *perf.Report) []Column[*perf.Operator] {
	type op = *perf.Operator
	derived := derivedColumns(r)
	columns := []Column[op]{textColumn("name", func(o op) string { return o.Name }).withDescription("The name, that of the reference if a map has one.")}
	for _, c := range perf.Columns() {
		columns = append(columns, numberColumn(c.String(), func(o op) perf.Count { return o.Get(c) }).withDescription("A counter, as HPAA's manual names it: null where the tables do not have it."))
	}
	columns = append(columns,
		textColumn("rank", func(o op) int { return o.Rank }).withDescription("The place in the order of the report, from 1."),
		textColumn("occurrence", func(o op) int { return o.Occurrence }).withDescription("The number among the operators of the name, from 1."),
		textColumn("at", func(o op) int { return o.At }).withDescription("The place in the tables, from 0."),
		textColumn("file", func(o op) string { return o.File }).withDescription("The table."),
		textColumn("line", func(o op) int { return o.Line }).withDescription("The line of the table."),
		numberColumn("share_of_total", func(o op) *float64 { return o.Share }).withDescription("The share of the cycles of all operators."),
		numberColumn("cumulative", func(o op) *float64 { return o.Cumulative }).withDescription("The share of the operators up to this one."),
		textColumn("class", func(o op) perf.Class { return o.Class }).withDescription("What the cycles are bound by."),
		textColumn("confidence", func(o op) perf.Confidence { return o.Confidence }).withDescription("How certain the class is: high, medium, low or none."),
		textColumn("evidence", func(o op) wordList { return nonNilList(o.Evidence) }).withDescription("The columns that decided about the class, or what contradicts itself."),
		textColumn("unit", func(o op) string { return o.Unit }).emptyIfZero().withDescription("The busier unit of class compute: mme or vme."),
		textColumn("derived", func(o op) any { return json.RawMessage(appendObject(nil, derived, o)) }).inForms(InJSON).withDescription("Numbers that follow from the counters."),
	)
	for _, c := range derived {
		columns = append(columns, c.inForms(InCSV))
	}
	if r.BaselineSummary != nil {
		columns = append(columns, baselineColumns()...)
	}
	if len(r.Cores) > 0 {
		columns = append(columns, columnsOfPart(func(o op) (*perf.Cores, bool) { return o.Cores, o.Cores != nil }, coreColumns...)...)
	}
	return append(columns,
		textColumn("advice", func(o op) wordList { return nonNilList(o.Codes()) }).withDescription("The codes of the findings."),
		textColumn("explanation", func(o op) string { return o.Text.String() }).inForms(InCSV),
		textColumn("explanation", func(o op) lang.Text { return o.Text.Text() }).inForms(InJSON).withDescription("Why it is of its class, and what helps."),
		textColumn("advice_text", func(o op) []lang.Text {
			texts := []lang.Text{}
			for _, a := range o.Advice {
				texts = append(texts, a.Text.Text())
			}
			return texts
		}).inForms(InJSON).withDescription("The findings in words."),
		textColumn("extra", func(o op) any {
			if all := o.UnknownColumns(); all != nil {
				return all
			}
			return nil
		}).inForms(InJSON).withDescription("The cells of columns that are not known."),
	)
}

// derivedColumns are the columns of numbers derived from counters.
func derivedColumns(r *perf.Report) []Column[*perf.Operator] {
	type op = *perf.Operator
	columns := []Column[op]{
		numberColumn("compute", func(o op) perf.Count { return o.Compute }).withDescription("Cycles in which VME or MME ran."),
		numberColumn("union", func(o op) perf.Count { return o.Union }).withDescription("Cycles in which VME, MME or MTE ran."),
		textColumn("inconsistent", func(o op) *bool { return o.Inconsistent }).withDescription("Whether units overlap longer than one of them ran."),
		numberColumn("exposed_data", func(o op) perf.Count { return o.ExposedData }).withDescription("Cycles of moves without maths."),
		numberColumn("exposed_compute", func(o op) perf.Count { return o.ExposedCompute }).withDescription("Cycles of maths without moves."),
		numberColumn("hidden_data", func(o op) perf.Count { return o.HiddenData }).withDescription("Cycles of moves beside maths."),
	}
	for _, q := range perf.Quotients() {
		columns = append(columns, numberColumn(q.Name, q.ValueFor).withDescription(q.Doc))
	}
	columns = append(columns, numberColumn("ddr_bytes", func(o op) perf.Count { return o.DDRBytes }).withDescription("Bytes of all DMA channels."))
	if r.PeakBPC > 0 {
		columns = append(columns, numberColumn("ddr_use", r.DDRUse).withDescription("The share of what the DDR can move, where --peak-bpc is given."))
	}
	if r.MHz > 0 {
		columns = append(columns, numberColumn("mcu_us", r.Microseconds).withDescription("Microseconds, where --mhz is given."))
	}
	return columns
}

// baselineColumns are the columns that compare an operator with a baseline.
func baselineColumns() []Column[*perf.Operator] {
	type op = *perf.Operator
	base := func(c perf.Column) Column[op] {
		return numberColumn("base_"+c.String(), func(o op) perf.Count { return o.BaselineCount(c) }).withDescription("The counter of the baseline.")
	}
	mcu := base(perf.MCU)
	mcu.Key = "baseline_mcu_cycle"
	return []Column[op]{
		textColumn("status", func(o op) perf.Status { return o.Status }).withDescription("How mcu_cycle is beside the baseline: SLOWER, FASTER, SAME, NEW or UNKNOWN."),
		mcu, base(perf.PLDByte), base(perf.L1Conflict), base(perf.IMConflict),
		numberColumn("growth", func(o op) perf.Count { return o.Growth() }).withDescription("By how many cycles mcu_cycle grew."),
	}
}

// coreColumns are the columns of an operator on several cores.
var coreColumns = []Column[*perf.Cores]{
	numberColumn("slowest_core", func(c *perf.Cores) int { return c.Slowest }).withDescription("The core with the largest mcu_cycle."),
	numberColumn("mean", (*perf.Cores).Mean).withDescription("The mean of mcu_cycle over the cores."),
	numberColumn("imbalance", (*perf.Cores).Imbalance).withDescription("How many times the mean the slowest core takes."),
}

// WritePerfCSV writes a line for every operator.
func WritePerfCSV(w io.Writer, r *perf.Report) error {
	return Table[*perf.Operator]{perfColumns(r), r.ListedOperators()}.CSV(w)
}

// WritePerfJSON writes a performance report as one JSON object: an indented head, then a line for
// each operator.
func WritePerfJSON(w io.Writer, r *perf.Report) error {
	const end = "]\n}"
	out := bufio.NewWriter(w)
	out.Write(bytes.TrimSuffix(marshal(struct {
		*perf.Report
		Operators [0]struct{} `json:"operators"`
	}{Report: r}, "  "), []byte(end)))
	columns, operators, before := Table[*perf.Operator]{Columns: perfColumns(r)}.columns(InJSON), r.ListedOperators(), "\n    "
	var line []byte
	for _, o := range operators {
		line = appendObject(append(line[:0], before...), columns, o)
		out.Write(jsonpos.Visible(line))
		before = ",\n    "
	}
	if len(operators) > 0 {
		out.WriteString("\n  ")
	}
	out.WriteString(end + "\n")
	return out.Flush()
}

// shareText formats a share as a percentage, - for nil.
func shareText(x *float64) string {
	if x == nil {
		return noValue
	}
	return strconv.FormatFloat(100**x, 'f', 1, 64) + " %"
}

// countText formats a count, - for an unknown one.
func countText(c perf.Count) string { return cmp.Or(c.String(), noValue) }

// WritePerf prints where the cycles of a network go: the top operators with their bounds and
// advice, and the changes since the baseline.
func (t Text) WritePerf(w io.Writer, r *perf.Report) error { return t.printerTo(w).printPerf(r) }

// WritePerfMarkdown writes the text of WritePerf as Markdown.
func (t Text) WritePerfMarkdown(w io.Writer, r *perf.Report) error {
	return t.markdownTo(w, t.format("Operator performance")).printPerf(r)
}

func (p *printer) printPerf(r *perf.Report) error {
	t := p.Text
	p.text(t.perfSummary(r))
	if r.BaselineSummary != nil {
		p.text(t.perfBefore(r))
	}
	if len(r.ShownOperators()) > 0 {
		p.writeBlankLine()
		const least = 20 // names of fused operators differ at their ends
		printTable(p, t.perfTop(r), least)
	}
	changed, more := perfChanged(r)
	if len(changed) > 0 {
		p.writeBlankLine()
		p.text(p.format("Changed since the baseline:"))
		printTable(p, t.perfChanges(changed), minName)
		if more > 0 {
			p.text(p.format("%d more (csv and json have all)", more))
		}
	}
	for i, o := range perfAdvised(r, changed) {
		if i == 0 {
			p.writeBlankLine()
		}
		p.line("", t.perfHeading(o))
		for _, text := range t.perfTexts(o) {
			p.line(textIndent, text)
		}
	}
	if facts := t.perfFacts(r); len(facts) > 0 {
		p.writeBlankLine()
		p.facts(facts)
	}
	return p.err
}

// perfSummary returns the total cycles and their shares by class.
func (t Text) perfSummary(r *perf.Report) string {
	cycles := t.format("%d cycles", r.Total)
	if r.MHz > 0 {
		cycles += t.format(" (%s ms at %s MHz)", significantDigits(6)(float64(r.Total)/r.MHz/1000), significantDigits(-1)(r.MHz))
	}
	head := t.join(t.Lang.Text(count(len(r.Operators), "operator")), cycles)
	if shares := t.classShares(r); shares != "" {
		head += t.format(": ") + shares
	}
	return head
}

// classShares returns the shares of all cycles by class, largest first.
func (t Text) classShares(r *perf.Report) string {
	cycles, classes := map[perf.Class]int64{}, []perf.Class(nil)
	for _, o := range r.Operators {
		if _, known := cycles[o.Class]; !known {
			classes = append(classes, o.Class)
		}
		cycles[o.Class] += o.Get(perf.MCU).N
	}
	slices.SortStableFunc(classes, func(a, b perf.Class) int {
		return cmp.Or(cmp.Compare(cycles[b], cycles[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, c := range classes {
		if all := r.Total; all > 0 {
			share := float64(cycles[c]) / float64(all)
			parts = append(parts, string(c)+" "+shareText(&share))
		}
	}
	return t.join(parts...)
}

// perfBefore summarises the changes since the baseline.
func (t Text) perfBefore(r *perf.Report) string {
	counts := map[string]int{}
	for _, o := range r.Operators {
		counts[string(o.Status)]++
		for _, code := range o.Regressions() {
			counts[string(code)]++
		}
	}
	var parts []string
	for _, name := range changeNames {
		if counts[name] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
		}
	}
	if n := len(r.BaselineSummary.Missing); n > 0 {
		parts = append(parts, t.format("%d gone (%s)", n, lang.FirstNames(r.BaselineSummary.Missing)))
	}
	text := t.format("Baseline: %d cycles", r.BaselineSummary.Total)
	if r.BaselineSummary.Total > 0 {
		text += t.format(" (now %s)", growthText(r.Total-r.BaselineSummary.Total, r.BaselineSummary.Total))
	}
	return t.join(append([]string{text}, parts...)...)
}

// changeNames lists the statuses and findings relative to a baseline.
var changeNames = []string{
	string(perf.Slower), string(perf.Faster), string(perf.Same), string(perf.New), string(perf.Unknown),
	string(perf.RepeatedMoves), string(perf.L1Conflicts), string(perf.IMBConflicts),
}

// growthText formats a growth as a signed percentage.
func growthText(by, before int64) string {
	return fmt.Sprintf("%+.1f %%", 100*float64(by)/float64(before))
}

// perfTop returns the table of the top operators.
func (t Text) perfTop(r *perf.Report) Table[*perf.Operator] {
	type op = *perf.Operator
	quotients := map[string]perf.Quotient{}
	for _, q := range perf.Quotients() {
		quotients[q.Name] = q
	}
	share := func(name, quotient string) Column[op] {
		q := quotients[quotient]
		return numberColumn(name, func(o op) string {
			if o.Class == perf.ClassInconsistent {
				return noValue
			}
			return shareText(q.ValueFor(o))
		})
	}
	columns := []Column[op]{
		numberColumn("rank", func(o op) int { return o.Rank }).withTitle("perf¦RANK").withRank(1),
		textColumn("name", perfName).withTitle("NAME"),
		numberColumn("mcu", func(o op) string { return countText(o.Get(perf.MCU)) }).withTitle("MCU").withRank(2),
		numberColumn("share", func(o op) string { return shareText(o.Share) }).withTitle("SHARE").withRank(4),
		numberColumn("cum", func(o op) string { return shareText(o.Cumulative) }).withTitle("CUM").withRank(9),
		textColumn("class", t.classText).withTitle("CLASS").withRank(3),
		share("data", "share_mte").withTitle("DATA").withRank(5),
		share("compute", "share_compute").withTitle("COMPUTE").withRank(6),
		share("overlap", "overlap").withTitle("OVERLAP").withRank(8),
		textColumn("advice", func(o op) string { return t.Lang.Text(o.Hint()) }).withTitle("ADVICE").withRank(7),
	}
	if r.MHz > 0 {
		columns = slices.Insert(columns, 3, numberColumn("us", func(o op) string { return sixDigits(r.Microseconds(o)) }).withTitle("US").withRank(10))
	}
	if r.PeakBPC > 0 {
		columns = slices.Insert(columns, len(columns)-1, numberColumn("ddr", func(o op) string { return shareText(r.DDRUse(o)) }).withTitle("DDR").withRank(11))
	}
	return Table[op]{columns, r.ShownOperators()}
}

// perfName returns the name of an operator, with its number from the second occurrence on.
func perfName(o *perf.Operator) string {
	if o.Occurrence > 1 {
		return fmt.Sprintf("%s #%d", o.Name, o.Occurrence)
	}
	return o.Name
}

// classText returns the class of an operator, marked if its confidence is low.
func (t Text) classText(o *perf.Operator) string {
	if o.Confidence == perf.Low {
		return t.format("%s (low)", o.Class)
	}
	return string(o.Class)
}

// perfChanged returns the operators that changed since the baseline, largest growth first, and the
// number of further ones.
func perfChanged(r *perf.Report) (changed []*perf.Operator, more int) {
	if r.BaselineSummary == nil {
		return nil, 0
	}
	for _, o := range r.ListedOperators() {
		if o.Status != perf.Same || len(o.Regressions()) > 0 {
			changed = append(changed, o)
		}
	}
	slices.SortStableFunc(changed, func(a, b *perf.Operator) int {
		x, y := a.Growth(), b.Growth()
		if x.Known != y.Known {
			return map[bool]int{true: -1, false: 1}[x.Known]
		}
		return cmp.Compare(y.N, x.N)
	})
	shown := r.NumShown(len(changed))
	return changed[:shown], len(changed) - shown
}

// perfChanges returns the table of changed operators.
func (t Text) perfChanges(changed []*perf.Operator) Table[*perf.Operator] {
	type op = *perf.Operator
	return Table[op]{Rows: changed, Columns: []Column[op]{
		textColumn("name", perfName).withTitle("NAME"),
		textColumn("status", func(o op) perf.Status { return o.Status }).withTitle("STATUS").withRank(1),
		numberColumn("mcu", func(o op) string { return countText(o.Get(perf.MCU)) }).withTitle("MCU").withRank(4),
		numberColumn("before", func(o op) string { return countText(o.BaselineCount(perf.MCU)) }).withTitle("BEFORE").withRank(5),
		numberColumn("change", func(o op) string {
			if by, was := o.Growth(), o.BaselineCount(perf.MCU); by.Known && was.N > 0 {
				return growthText(by.N, was.N)
			}
			return noValue
		}).withTitle("CHANGE").withRank(2),
		textColumn("findings", func(o op) string { return joinNames(o.Regressions()) }).withTitle("FINDINGS").withRank(3),
	}}
}

// perfAdvised returns the operators that are explained in full: top operators, and changed
// operators with findings.
func perfAdvised(r *perf.Report, changed []*perf.Operator) []*perf.Operator {
	says := func(o *perf.Operator) bool { return o.Class != perf.ClassUnknown && o.Class != perf.ClassIdle }
	all := lists.Filter(r.ShownOperators(), func(o *perf.Operator) bool { return says(o) || len(o.Advice) > 0 })
	for _, o := range changed {
		if len(o.Regressions()) > 0 && !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	return all
}

// perfHeading names an operator with its class and runs.
func (t Text) perfHeading(o *perf.Operator) string {
	head := t.format("%s, rank %d: %s", perfName(o), o.Rank, o.Class)
	if o.Confidence != perf.NoClass {
		head += t.format("perf¦ (%s)", confidenceText(finding.Confidence(o.Confidence)))
	}
	if runs := o.Runs; runs != nil && runs.Unstable {
		head += t.format("; %d runs of %d to %d cycles, median %s", runs.N, runs.Min, runs.Max, strconv.FormatFloat(runs.Median, 'f', -1, 64))
	}
	return head
}

// perfTexts explains an operator with advice.
func (t Text) perfTexts(o *perf.Operator) []string {
	texts := []string{t.sentence(o.Text)}
	for _, a := range o.Advice {
		texts = append(texts, string(a.Code)+t.format(": ")+t.sentence(a.Text))
	}
	return texts
}

// perfFacts describes the read tables and the basis of the classes.
func (t Text) perfFacts(r *perf.Report) factList {
	var facts factList
	add := func(en string, lines ...string) { facts.add(t.format(en), lines...) }
	add("Tables", lang.FirstNames(r.Files))
	if r.BaselineSummary != nil {
		add("Baseline", lang.FirstNames(r.BaselineSummary.Files))
	}
	if len(r.Cores) > 0 {
		cores := lists.Map(r.Cores, strconv.Itoa)
		add("Cores", lang.Ranges(cores))
	}
	if r.Relation != "" {
		add("Runs", t.format("%s with runs in perf/; the table has their %s", count(len(r.Runs), "operator"), r.Relation.Text()))
	}
	add("Left out", t.leftOutTexts(r))
	if listed := len(r.ListedOperators()); listed < len(r.Operators) {
		add("Listed", t.format("%d of %s: class %s", listed, count(len(r.Operators), "operator"), joinNames(r.Classes)))
	}
	if n := len(r.Missing); n > 0 {
		add("Missing", t.format("%d of %d columns: %s", n, len(perf.Columns()), lang.FirstNames(r.Missing)))
	}
	for _, note := range r.Notes {
		add("Note", t.sentence(note.Text))
	}
	th := &r.Thresholds
	add("Thresholds", t.format("busy %s, lead %s, half %s, small %s, wait %s, conflict %s; growth %s, %d bytes, %d cycles; slower %s; cores and runs %s (--help says what they are)",
		th.Busy, th.Lead, th.Half, th.Small, th.Wait, th.Conflict, th.Grow, th.MinBytes, th.MinCycles, th.Regress, th.Imbalance))
	return facts
}

func joinNames[S ~string](all []S) string {
	return strings.Join(lists.Map(all, func(s S) string { return string(s) }), ", ")
}

// leftOutTexts counts the skipped operators by reason.
func (t Text) leftOutTexts(r *perf.Report) string {
	counts, reasons := map[string]int{}, []string(nil)
	for _, h := range r.Hidden {
		if counts[string(h.Reason)]++; counts[string(h.Reason)] == 1 {
			reasons = append(reasons, string(h.Reason))
		}
	}
	slices.Sort(reasons)
	for i, reason := range reasons {
		reasons[i] = fmt.Sprintf("%d %s", counts[reason], reason)
	}
	return t.join(reasons...)
}
