package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"dumptool/internal/check"
	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/recompute"
)

// checkColumns returns the columns of recomputed operators; text shows rank and step only if there
// are several.
func checkColumns(t Text, several bool) []Column[*check.Operator] {
	type row = *check.Operator
	rank := textColumn("rank", func(o row) string { return o.At.Rank }).withTitle("RANK").withRank(3)
	step := textColumn("step", func(o row) string { return o.At.Step }).withTitle("STEP").withRank(4)
	if !several {
		rank, step = rank.inForms(InCSV|InJSON), step.inForms(InCSV|InJSON)
	}
	first := func(o row) *check.Output {
		if len(o.Outputs) == 0 {
			return new(check.Output)
		}
		return &o.Outputs[0]
	}
	return []Column[row]{
		textColumn("op", func(o row) string { return o.Op }).withTitle("OPERATOR"),
		textColumn("op_type", func(o row) string { return o.Type }).withTitle("TYPE").withRank(5),
		rank, step,
		textColumn("status", func(o row) string { return string(o.Status) }).withTitle("STATUS").withRank(1),
		textColumn("reason", func(o row) string { return string(o.Reason) }).withTitle("REASON").withRank(2),
		textColumn("extent", func(o row) string { return string(o.Extent) }).inForms(InCSV | InJSON),
		textColumn("confidence", func(o row) string { return string(o.Confidence) }).inForms(InCSV | InJSON),
		textColumn("checked", func(o row) string { return t.translate(first(o).How) }).withTitle("CHECKED").withRank(7),
		numberColumn("bad", func(o row) int64 { return first(o).Bad }).inForms(InCSV | InJSON),
		numberColumn("worst_ratio", func(o row) *float64 {
			x := float64(first(o).Worst)
			if first(o).Checked == 0 {
				return nil
			}
			return &x
		}).withTitle("WORST/BOUND").withRank(6),
		numberColumn("beyond_narrow", func(o row) int64 { return first(o).Beyond }).inForms(InCSV | InJSON),
		textColumn("attributes", t.attributesText).withTitle("ATTRIBUTES").withRank(8),
		textColumn("file", func(o row) string { return o.File }).inForms(InCSV | InJSON),
	}
}

// translate translates a word of documents.
func (t Text) translate(word string) string { return t.Lang.Text(lang.Text{EN: word}) }

// attributesText lists attributes with their sources.
func (t Text) attributesText(o *check.Operator) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(o.Attributes)) {
		a := o.Attributes[name]
		all = append(all, fmt.Sprintf("%s=%s (%s)", name, a.Value, t.translate(string(a.Source))))
	}
	return strings.Join(all, " ")
}

// WriteCheckCSV writes a line for each operator.
func WriteCheckCSV(w io.Writer, r *check.Report) error {
	return Table[*check.Operator]{checkColumns(english, true), pointers(r.Operators)}.CSV(w)
}

// WriteCheckMarkdown writes the text of WriteCheck as Markdown.
func (t Text) WriteCheckMarkdown(w io.Writer, r *check.Report) error {
	return t.markdownTo(w, t.format("Operators computed again")).printCheck(r)
}

// WriteCheck prints the verdict, the first wrong operator, the operators that are not OK and the
// coverage.
func (t Text) WriteCheck(w io.Writer, r *check.Report) error { return t.printerTo(w).printCheck(r) }

// severityOrder are the statuses in the order in which operators are listed.
var severityOrder = []recompute.Status{recompute.Wrong, recompute.Crashed, recompute.Misfit, recompute.Low, recompute.Undecided}

// minGrouped is the number of operators from which they are grouped.
const minGrouped = 20

func (p *printer) printCheck(r *check.Report) error {
	p.text(p.sentence(r.Summary.Headline))
	if r.Ranks != nil {
		p.printRanks(r.Ranks, r.Paths)
	}
	if first := r.Summary.First; first != nil && (r.Ranks == nil || len(r.Ranks.Findings) == 0) {
		p.writeBlankLine()
		p.facts(p.firstWrongFacts(r, &r.Operators[*first]))
	}
	p.printNotOK(r)
	if r.Summary.Operators == 0 {
		return p.err
	}
	p.writeBlankLine()
	p.facts(p.checkFacts(r))
	return p.err
}

// printNotOK lists the operators that are not OK. Unless all operators are requested, it lists groups in place of more
// than minGrouped operators, and in place of operators without a verdict.
func (p *printer) printNotOK(r *check.Report) {
	rows := slices.DeleteFunc(pointers(r.Operators), func(o *check.Operator) bool { return o.Status == recompute.OK })
	slices.SortStableFunc(rows, func(a, b *check.Operator) int {
		return slices.Index(severityOrder, a.Status) - slices.Index(severityOrder, b.Status)
	})
	single := slices.IndexFunc(rows, func(o *check.Operator) bool { return o.Status == recompute.Undecided })
	if single < 0 || p.All || len(rows)-single == 1 {
		single = len(rows)
	}
	lines := lists.Map(operatorFolds.joinRows(rows[:single]), func(line foldedRow[check.Operator]) *check.Operator { return line.row })
	if len(lines) > minGrouped && single < len(rows) {
		lines, single = nil, 0
	}
	if len(lines) > 0 {
		p.writeBlankLine()
		printTable(p, Table[*check.Operator]{checkColumns(p.Text, len(r.Rounds) > 1), lines}, minAround)
	}
	if single < len(rows) {
		p.writeBlankLine()
		printTable(p, checkGroups(rows[single:]), minName)
	}
	codes := lists.Map(rows, func(o *check.Operator) string { return string(o.Reason) })
	p.legend(codes, func(code string) string {
		return cmp.Or(p.Lang.Text(finding.Code(code).Words()), p.sentence(check.Explain(finding.Code(code))))
	})
}

// operatorFolds joins an operator of several ranks and steps with one verdict: the largest error stands for all.
var operatorFolds = rankStepFolds[check.Operator]{
	at:   func(o *check.Operator) dumpdir.Coordinates { return o.At },
	move: func(o *check.Operator, at dumpdir.Coordinates) { o.At = at },
	key: func(o *check.Operator) string {
		return fmt.Sprintf("%q %q %s %s %s", o.Op, o.Type, o.Status, o.Reason, english.attributesText(o))
	},
	replaces: func(o, more *check.Operator) bool { return worstRatio(more) > worstRatio(o) },
}

// worstRatio returns the largest error of the first output, relative to its bound.
func worstRatio(o *check.Operator) float64 {
	if len(o.Outputs) == 0 {
		return 0
	}
	return float64(o.Outputs[0].Worst)
}

// proofOfUnwritten says how to repeat the run to prove that memory was never written.
const proofOfUnwritten = "to prove it, run again with torch.utils.deterministic.fill_uninitialized_memory: unwritten rows become NaN"

// firstWrongFacts describes the first wrong operator.
func (p *printer) firstWrongFacts(r *check.Report, o *check.Operator) []summaryItem {
	name := opText(o.Type, o.Op)
	if at := o.At.String(); at != "" {
		name += ", " + at
	}
	if o.Script != "" {
		name += "  " + o.Script
	}
	lines := []string{name, p.sentence(o.Evidence)}
	sure := p.format("report.firstWrong¦%s", confidenceText(o.Confidence))
	switch o.Extent {
	case recompute.All:
		sure += p.format(", all")
	case recompute.Part:
		sure += p.format(", part")
	}
	verdict := string(o.Reason) + p.format(" (%s)", sure)
	if attrs := p.attributesText(o); attrs != "" {
		verdict += p.format(": ") + attrs
	}
	lines = append(lines, verdict)
	switch {
	case o.Reason == recompute.ByUnwritten:
		lines = append(lines, p.format(proofOfUnwritten))
	case !slices.Contains(o.Notes, recompute.ByPeers): // which needs the others of its kind
		lines = append(lines, p.format("reproduce: %s", reproduceCommand(r, o)))
	}
	return []summaryItem{{label: p.format("First wrong"), lines: lines}}
}

// reproduceCommand returns the command that writes the files to run an operator again.
func reproduceCommand(r *check.Report, o *check.Operator) string {
	args := append([]string{"check"}, r.RecheckArguments()...)
	return lang.CommandLine(append(append(args, roundFlags(o.At.Rank, o.At.Step, o.Op)...), "--extract", "repro")...)
}

// roundFlags returns the flags that select ranks, steps and an operator; empty texts select all.
func roundFlags(ranks, steps, op string) (words []string) {
	for _, f := range []struct{ name, value string }{{"--rank", ranks}, {"--step", steps}, {"--ops", dumpdir.OpsText(op)}} {
		if f.value != "" {
			words = append(words, lang.Flag(f.name, f.value)...)
		}
	}
	return words
}

// checkFacts describes the coverage, the sources of attributes and the order.
func (p *printer) checkFacts(r *check.Report) (facts factList) {
	s := &r.Summary
	covered := p.format("%d of %d operators judged (%.1f %% of the bytes)", s.Judged, s.Operators, 100*s.Share)
	var not []string
	for _, reason := range slices.Sorted(maps.Keys(s.Undecided)) {
		part := fmt.Sprintf("%d %s", s.Undecided[reason], reason)
		if types := unknownTypes(r); reason == recompute.NoType && len(types) > 0 {
			part += " (" + strings.Join(types, ", ") + ")"
		}
		not = append(not, part)
	}
	if len(not) > 0 {
		covered += p.format("; not: %s", strings.Join(not, ", "))
	}
	facts.add(p.format("check¦Coverage"), covered)
	facts.add(p.format("Crashed"), p.unjudgedLines(r, recompute.Crashed)...)
	facts.add(p.format("check¦Suspects"), p.unjudgedLines(r, recompute.Misfit)...)
	facts.add(p.format("Undecided"), p.unjudgedLines(r, recompute.Undecided)...)
	var unwritten []string
	for i := range r.Unwritten {
		if u := &r.Unwritten[i]; u.Reaches == "" {
			unwritten = append(unwritten, p.sentence(u.Text))
		}
	}
	facts.add(p.format("Unwritten"), firstLines(p.Text, unwritten, 5, func(note string) string { return note })...)
	sources := map[recompute.Source]int{}
	for i := range r.Operators {
		for _, a := range r.Operators[i].Attributes {
			sources[a.Source]++
		}
	}
	var from []string
	for _, source := range recompute.Sources {
		if n := sources[source]; n > 0 {
			from = append(from, fmt.Sprintf("%s %d", p.translate(string(source)), n))
		}
	}
	facts.add(p.format("Attributes"), strings.Join(from, ", "))
	var orders []string
	for _, o := range r.Orders {
		if text := p.sentence(o.Source); text != "" && !slices.Contains(orders, text) {
			orders = append(orders, text)
		}
	}
	const most = 2
	facts.add(p.format("check¦Order"), firstLines(p.Text, orders, most, func(order string) string { return order })...)
	return facts
}

// unjudgedLines describes the first operators with a status in more detail than their reason does, such as
// the misfit or the bug. An operator of several rounds is listed once.
func (p *printer) unjudgedLines(r *check.Report, status recompute.Status) (lines []string) {
	const most = 5
	omitted, seen, again := 0, make(map[string]int), make(map[int]int)
	for i := range r.Operators {
		o := &r.Operators[i]
		if o.Status != status || o.Evidence.IsZero() {
			continue
		}
		text := opText(o.Type, o.Op) + ": " + p.sentence(o.Evidence)
		at, known := seen[text]
		switch {
		case known && !p.All:
			again[at]++
		case len(lines) == most && !p.All:
			omitted++
		default:
			seen[text] = len(lines)
			lines = append(lines, o.File+": "+text)
		}
	}
	for at, n := range again {
		lines[at] += p.format(" (and in %s)", lang.CountText(n, "more round"))
	}
	if omitted > 0 {
		lines = append(lines, p.format("%s: --all lists them", lang.CountText(omitted, "more operator")))
	}
	return lines
}

// unknownTypes returns the unknown types of operators, in order of occurrence.
func unknownTypes(r *check.Report) (types []string) {
	const most = 6
	for i := range r.Operators {
		o := &r.Operators[i]
		if o.Reason == recompute.NoType && o.Type != "" && !slices.Contains(types, o.Type) {
			if len(types) == most {
				return append(types, "...")
			}
			types = append(types, o.Type)
		}
	}
	return types
}

// checkGroup is a group of operators with one type and verdict; of undecided ones with one reason.
type checkGroup struct {
	first *check.Operator
	count int
	types []string
}

// typesText lists the first types of a group.
func (g *checkGroup) typesText() string {
	const most = 4
	if len(g.types) > most {
		return strings.Join(g.types[:most], " ") + " ..."
	}
	return strings.Join(g.types, " ")
}

// checkGroups groups operators by type, status and reason, in their order, and undecided ones by reason.
func checkGroups(rows []*check.Operator) Table[*checkGroup] {
	var groups []*checkGroup
	for _, o := range rows {
		i := slices.IndexFunc(groups, func(g *checkGroup) bool {
			return g.first.Status == o.Status && g.first.Reason == o.Reason && (o.Status == recompute.Undecided || g.first.Type == o.Type)
		})
		if i < 0 {
			groups = append(groups, &checkGroup{first: o})
			i = len(groups) - 1
		}
		if groups[i].count++; !slices.Contains(groups[i].types, o.Type) {
			groups[i].types = append(groups[i].types, o.Type)
		}
	}
	return Table[*checkGroup]{[]Column[*checkGroup]{
		numberColumn("count", func(g *checkGroup) int { return g.count }).withTitle("COUNT"),
		textColumn("type", (*checkGroup).typesText).withTitle("TYPE"),
		textColumn("status", func(g *checkGroup) string { return string(g.first.Status) }).withTitle("STATUS"),
		textColumn("reason", func(g *checkGroup) string { return string(g.first.Reason) }).withTitle("REASON"),
		textColumn("first", func(g *checkGroup) string { return g.first.Op }).withTitle("FIRST"),
	}, groups}
}

// WriteCheckJUnit writes the operators as test cases: a wrong operator is a failure, an undecided
// one is skipped.
func WriteCheckJUnit(w io.Writer, r *check.Report) error {
	suite := junitCounts{Name: "dumptool check", Tests: len(r.Operators)}
	cases := make([]junitCase, len(r.Operators))
	for i := range r.Operators {
		o := &r.Operators[i]
		c := junitCase{Class: escapeLines(cmp.Or(o.Type, "operator")), Name: escapeLines(o.Op)}
		why := &junitOutcome{Message: escapeLines(english.sentence(o.Explain())), Type: string(o.Reason)}
		switch o.Status {
		case recompute.Wrong:
			c.Failure = why
			suite.Failures++
		case recompute.Crashed:
			why.Type = string(recompute.Crashed)
			c.Error = why
			suite.Errors++
		case recompute.Misfit, recompute.Undecided:
			why.Type = ""
			c.Skipped = why
			suite.Skipped++
		}
		cases[i] = c
	}
	between := rankCases(r.Ranks, &suite)
	return writeJUnit(w, &suite, &junitProperties{[]junitProperty{{"verdict", escapeLines(english.sentence(r.Summary.Headline))}}}, concatenate(between, slices.Values(cases)))
}

// WriteCheckTypes prints the table of operator types that check knows.
func (t Text) WriteCheckTypes(w io.Writer, types []recompute.FormListing) error {
	p := t.printerTo(w)
	printTable(p, Table[*recompute.FormListing]{[]Column[*recompute.FormListing]{
		textColumn("types", func(r *recompute.FormListing) string { return strings.Join(r.Names, " ") }).withTitle("TYPE"),
		textColumn("of", func(r *recompute.FormListing) string { return r.Framework }).withTitle("check¦OF"),
		textColumn("inputs", func(r *recompute.FormListing) string { return r.Inputs }).withTitle("INPUTS"),
		textColumn("class", func(r *recompute.FormListing) string { return r.Class }).withTitle("BOUND"),
		textColumn("attributes", func(r *recompute.FormListing) string { return strings.Join(p.sentences(r.Attributes), p.format("; ")) }).withTitle("ATTRIBUTES"),
	}, pointers(types)}, minName)
	return p.err
}
