package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
)

// runFacts describes the compared runs and the method.
func (t Text) runFacts(r *record.Report) (facts factList) {
	c := &r.Coverage
	lines := []string{t.format("%d of %s of the reference compared (%.3g %%)", c.Compared, tensors(c.Reference), 100*c.Ratio())}
	lines = append(append(lines, t.commonRowLines(r)...), t.pairingLines(c)...)
	lines = append(lines, t.nameLists([]nameList{{t.format("only in the reference"), c.RefOnly}, {t.format("only in the NPU run"), c.NPUOnly},
		{t.format("skipped"), c.Skipped}, {t.format("unread"), c.Unread}, {t.format("rounds of one side only"), t.sentences(c.Rounds)},
		{t.format("older files of the same name"), c.Superseded}, {t.format("in op_config.csv only"), c.Unused}})...)
	if near := similarNames(r); len(near) > 0 {
		lines = append(lines, t.format("nearest names, which --map-node-dict can pair (%d): %s", len(near), t.shortList(near)))
	}
	facts.add(t.format("Coverage"), lines...)
	facts.add(t.format("Limits"), t.format("profile %s, tolerance mode %s, NaN policy %s", r.Profile, r.TolMode, r.NaNPolicy), t.cannotFailText(r))
	if r.Verdict != "" {
		facts.add(t.format("Verdict"), t.verdictLines(r)...)
	}
	facts.add(t.format("Order"), t.sentence(r.OrderSource))
	facts.add(t.format("Axis order"), t.guessedAxisLines(r)...)
	graph := t.sentence(r.GraphSource)
	switch {
	case graph == "" && hasNoOrder(r):
		graph = t.format("unknown")
	case graph == "" && r.Verdict == statisticsMethod:
		graph = t.format("tensors of the reference with the same statistics")
	case graph == "":
		graph = t.format("unknown: the preceding operator is taken as the input")
		if r.Verdict == evidenceMethod {
			graph = t.format("unknown: the preceding tensors are taken as inputs (--graph-file names the real inputs)")
		}
		if !isOrderKnown(r) {
			graph = t.format("unknown")
		}
	}
	facts.add(t.format("Inputs"), graph)
	if r.Baseline != nil {
		facts = append(facts, t.baselineFact(r))
	}
	facts.add(t.format("Warnings"), t.sentences(r.Warnings)...)
	return facts
}

// pairingLines counts the tensors that are paired although their names differ.
func (t Text) pairingLines(c *record.Coverage) []string {
	rules := lists.Map(slices.Sorted(maps.Keys(c.PairedBy)), func(rule string) string { return fmt.Sprintf("%s %d", rule, c.PairedBy[rule]) })
	if rules == nil {
		return nil
	}
	return []string{t.format("names differ, paired by rule (--pair names does not pair them): %s", strings.Join(rules, ", "))}
}

// cannotFailText says for how many tensors atol exceeds every value, so that no error can break the limits; empty if the
// verdict is by evidence.
func (t Text) cannotFailText(r *record.Report) string {
	if r.Verdict == evidenceMethod {
		return ""
	}
	n := 0
	for _, row := range r.AllRows() {
		if !row.IsCompared() || row.Result.CountBothFinite() == 0 {
			continue
		}
		if most := row.Result.Ref.Largest(); most > 0 && most < row.Limits.Atol {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return t.format("atol is above every value of %s: these limits cannot fail there", tensors(n))
}

// matchedRows counts the rows of the reference in all rounds (of), and the matched ones (matched).
func matchedRows(r *record.Report) (matched, of int64) {
	for i := range r.Rounds {
		if c := r.Rounds[i].Pairing.Common; c != nil {
			matched, of = matched+c.Matched, of+c.Ref
		}
	}
	return matched, of
}

// mayBeMatched reports whether matched rows could make the tensors of a row comparable: their numbers of elements differ,
// and they have several axes.
func mayBeMatched(row *record.Row) bool {
	return row.Status == record.ShapeMismatch && min(len(row.RefShape), len(row.NPUShape)) > 1 && finding.Has(row.Reasons, finding.SizeMismatch)
}

// commonRowLines says which tensors have another length on the NPU, so that only the part that both sides
// have was compared.
func (t Text) commonRowLines(r *record.Report) (lines []string) {
	found := map[record.CommonPart]int{}
	var order []record.CommonPart
	for _, row := range r.AllRows() {
		if row.Common == nil || !row.Common.Counts {
			continue
		}
		c := *row.Common
		if c.Matched > 0 {
			c.Axis = 0
		}
		if found[c] == 0 {
			order = append(order, c)
		}
		found[c]++
	}
	for _, c := range order {
		if c.Matched > 0 {
			lines = append(lines, t.format("%s with %d rows on the NPU and %d in the reference: the %d matched rows were compared (--match-rows)", tensors(found[c]), c.NPU, c.Ref, c.Matched))
			continue
		}
		which := lang.Text{EN: "first"}
		if c.Trailing {
			which = lang.Text{EN: "last"}
		}
		lines = append(lines, t.format("%s with %d positions on axis %d on the NPU and %d in the reference: the %s %d were compared (ROWS)", tensors(found[c]), c.NPU, c.Axis, c.Ref, which, min(c.Ref, c.NPU)))
	}
	return lines
}

// similarNames lists the operators that only the reference has, each with the most similar name of the
// NPU.
func similarNames(r *record.Report) []string {
	var all []string
	seen := make(map[string]bool)
	for _, row := range r.AllRows() {
		if row.Status == record.UnmatchedRef && row.Near != "" && !seen[row.Op] {
			seen[row.Op] = true
			all = append(all, row.Op+" | "+row.Near)
		}
	}
	return all
}

// verdictLines says how tensors are judged.
func (t Text) verdictLines(r *record.Report) []string {
	lines := []string{t.format("report¦by evidence: the errors that operators add beyond rounding")}
	switch {
	case r.Standard != "":
		lines = []string{t.format("by the standard %s for single operators; the limits count error elements only", r.Standard)}
	case r.Verdict == limitsMethod:
		lines = []string{t.format("by limits")}
	case r.Verdict == statisticsMethod: // the headline says it
		return nil
	}
	if !r.VerdictWhy.IsZero() {
		lines = append(lines, t.sentence(r.VerdictWhy))
	}
	if r.Effective != "" {
		lines = append(lines, t.format("the float32 tensors of the NPU hold %s numbers", r.Effective))
	}
	return lines
}

// guessedAxisLines lists tensors that fit several orders of axes, if the chosen order is not the most
// likely one or the tensor fails, with the flag that decides.
func (t Text) guessedAxisLines(r *record.Report) []string {
	var lines []string
	for _, row := range r.AllRows() {
		for _, n := range row.Notes {
			if isGuess(n, row) {
				lines = append(lines, rowInRound(row)+t.format(": ")+t.sentence(n))
			}
		}
	}
	return firstLines(t, lines, maxListedNames, func(line string) string { return line })
}

// isGuess reports whether a note says that an order of axes was guessed.
func isGuess(n lang.Sentence, row *record.Row) bool {
	note := n.String()
	return strings.Contains(note, "--ref-format") && (row.Status == record.Fail || strings.HasSuffix(note, "decides)"))
}

// hasNoOrder reports whether no round has a known execution order.
func hasNoOrder(r *record.Report) bool {
	return len(r.Rounds) > 0 && !slices.ContainsFunc(r.Rounds, func(x record.Round) bool { return x.OrderKnown })
}

// baselineFact describes the difference to the baseline.
func (t Text) baselineFact(r *record.Report) summaryItem {
	b := r.Baseline
	lines := slices.Concat([]string{b.File}, t.nameLists([]nameList{{t.format("new failures"), rowLabels(r, b.New)}, {t.format("known and worse"), rowLabels(r, b.Worse)},
		{t.format("known failures"), rowLabels(r, b.Known)}, {t.format("fixed, update the baseline"), rowLabels(r, b.Fixed)},
		{t.format("missing in this run"), b.Missing}}))
	if b.Updated {
		lines = append(lines, t.format("updated"))
	}
	return summaryItem{label: t.format("Baseline"), lines: lines}
}

// nameList is a labelled list of names.
type nameList struct {
	label string
	names []string
}

// nameLists returns a line for each list with names.
func (t Text) nameLists(lists []nameList) []string {
	var lines []string
	for _, l := range lists {
		if len(l.names) > 0 {
			lines = append(lines, t.format("%s (%d): %s", l.label, len(l.names), t.shortList(l.names)))
		}
	}
	return lines
}

// rowLabels returns the labels of rows.
func rowLabels(r *record.Report, rows []int) []string {
	var labels []string
	for _, i := range rows {
		if i >= 0 && i < r.Len() {
			labels = append(labels, rowLabel(r.Row(i)))
		}
	}
	return labels
}

// shortList joins the first names.
func (t Text) shortList(names []string) string {
	if more := len(names) - maxListedNames; more > 0 {
		return strings.Join(names[:maxListedNames], ", ") + t.format(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// roundFewDigits is the number of digits in tables of rows.
const roundFewDigits = 3

// firstCodes joins the codes of the first reasons of a row.
func firstCodes(row *record.Row, most int) string {
	return strings.ReplaceAll(codesText(row.Reasons[:min(most, len(row.Reasons))]), ";", ", ")
}

// worstTable returns the table of the worst rows, with the codes of their first reasons. The
// numbers cover pairs that are finite on both sides.
func worstTable(r *record.Report, worst []int, names shortNames, codes int) Table[labelledRow] {
	t := Table[labelledRow]{Columns: []Column[labelledRow]{
		textColumn("op", func(row labelledRow) string { return names.nameInRound(row.Row) }).withTitle("OP"),
		textColumn("status", func(row labelledRow) record.Status { return row.Status }).withTitle("STATUS").withRank(4),
		numberColumn("errors/total", func(row labelledRow) string { return ratioText(row.Errors, row.result.Total) }).withTitle("ERRORS/TOTAL").withRank(1),
		numberColumn("max_abs", func(row labelledRow) string {
			return metricOr(row.result.MaxAbs.Metric, noValue, significantDigits(roundFewDigits))
		}).withRank(3),
		numberColumn("mean_rel", func(row labelledRow) string {
			return metricOr(row.result.MeanRel, noValue, significantDigits(roundFewDigits))
		}).withRank(6),
		numberColumn("cosine", func(row labelledRow) string { return metricOr(row.result.Cosine, noValue, formatCosine) }).withRank(5),
		textColumn("reason", func(row labelledRow) string { return firstCodes(row.Row, codes) }).withTitle("REASON").withRank(2),
	}}
	for _, i := range worst {
		row := r.Row(i)
		t.Rows = append(t.Rows, labelledRow{Row: row, result: row.Result})
	}
	return t
}

// standardVerdict returns the verdict of an acceptance standard.
func standardVerdict(r *record.Report, compared, misses int) lang.Sentence {
	n := r.Counts
	var tail lang.Sentence
	if left := len(standardRows(r, record.Skip)); left > 0 {
		tail = lang.Say("; the standard could not be applied to %s", tensors(left))
	}
	switch failed := n[record.Fail]; {
	case failed > 0:
		text := lang.Say("%d of %s do not meet the standard%s", failed, tensors(compared), tail)
		if failed == 1 {
			text = lang.Say("1 of %s does not meet the standard%s", tensors(compared), tail)
		}
		return failingVerdict(r, fmt.Sprintf("FAIL (%s)", r.Standard), text)
	case misses > 0 && misses == n[record.Error]:
		return lang.Say("ERROR (%s): the standard is met by %s compared%s", r.Standard, allTensorsText(compared), tail)
	case misses > 0:
		return lang.Say("FAIL (%s): the standard is met by %s compared%s", r.Standard, allTensorsText(compared), tail)
	case !r.Meaning.NoVerdict.IsZero():
		return noVerdictText(r)
	case n[record.Partial] > 0:
		return lang.Say("PARTIAL (%s): only a part of %d of %s was compared%s", r.Standard, n[record.Partial], tensors(compared), tail)
	case n[record.Warn] > 0:
		return lang.Say("PASS with warnings (%s): %d of %s with a warning%s", r.Standard, n[record.Warn], tensors(compared), tail)
	}
	return lang.Say("PASS (%s): the standard is met by %s%s%s", r.Standard, allTensorsText(compared), numberlessText(r), tail)
}

// standardRows returns the rows of a status whose reason is the standard, including rows whose
// elements it needs and does not have.
func standardRows(r *record.Report, status record.Status) []int {
	var rows []int
	for i, row := range r.AllRows() {
		if row.Status == status && (finding.Has(row.Reasons, finding.NotStandard) || finding.Has(row.Reasons, finding.StatisticsOnly)) {
			rows = append(rows, i)
		}
	}
	return rows
}

// standardFacts lists the tensors that do not meet the standard, and the tensors that it cannot
// judge, with numbers.
func (t Text) standardFacts(r *record.Report) (facts factList) {
	for _, list := range []struct {
		label  string
		status record.Status
	}{
		{t.format("Failing"), record.Fail}, {t.format("To investigate"), record.Warn}, {t.format("Not judged"), record.Skip},
	} {
		facts.add(list.label, firstLines(t, standardRows(r, list.status), compareWorst, func(i int) string {
			row := r.Row(i)
			return rowTitle(row) + t.format(": ") + t.notComparedText(row)
		})...)
	}
	return facts
}

// operatorRows is the rows of an operator with one status: the first row, the number of rows, and
// their rounds, in which neighbours differ.
type operatorRows struct {
	*record.Row
	count  int
	rounds []string
}

// groupByOperator groups the rows with some statuses by operator and status.
func groupByOperator(r *record.Report, statuses ...record.Status) []operatorRows {
	var rows []*record.Row
	for _, row := range r.AllRows() {
		if slices.Contains(statuses, row.Status) {
			rows = append(rows, row)
		}
	}
	return groupBy(rows, func(row *record.Row) string { return row.Op + " " + string(row.Status) })
}

// groupBy groups rows by a key.
func groupBy(rows []*record.Row, key func(*record.Row) string) []operatorRows {
	var all []operatorRows
	index := map[string]int{}
	for _, row := range rows {
		k := key(row)
		at, seen := index[k]
		if !seen {
			at = len(all)
			index[k] = at
			all = append(all, operatorRows{Row: row})
		}
		o := &all[at]
		if o.count++; len(o.rounds) == 0 || o.rounds[len(o.rounds)-1] != row.Round {
			o.rounds = append(o.rounds, row.Round)
		}
	}
	return all
}

// roundLister describes the rounds of operators' rows.
type roundLister struct {
	Text
	networks []graphRounds
	rounds   map[string]*record.Round
}

func (t Text) roundLister(r *record.Report) *roundLister {
	p := &roundLister{t, graphRoundsOf(r.Rounds), map[string]*record.Round{}}
	for i := range r.Rounds {
		p.rounds[r.Rounds[i].Name] = &r.Rounds[i]
	}
	return p
}

// roundsOf returns the number of rows and their rounds; empty for one row of a run with one round.
func (p *roundLister) roundsOf(o operatorRows) string {
	count, where := "", ""
	if o.count > 1 {
		count = p.Lang.Text(tensors(o.count))
	}
	if len(p.rounds) > 1 {
		where = p.roundsOfOperator(o)
	}
	return p.join(count, where)
}

// roundsOfOperator returns the rounds of an operator's rows.
func (p *roundLister) roundsOfOperator(o operatorRows) string {
	var at []*record.Round
	for _, name := range o.rounds {
		if round := p.rounds[name]; round != nil && (len(at) == 0 || at[len(at)-1] != round) {
			at = append(at, round)
		}
	}
	return p.placesOf(p.networks, at)
}

// mergeRows returns the first row with the rounds of all rows in place of its own.
func (p *roundLister) mergeRows(o operatorRows) *record.Row {
	row := *o.Row
	if len(o.rounds) > 1 {
		row.Round = p.roundsOfOperator(o)
	}
	return &row
}

// problemFacts lists the operators that should have been compared and were not. The remedy for
// ambiguous operators is given once.
func (t Text) problemFacts(r *record.Report) []summaryItem {
	missed := groupByOperator(r, record.ShapeMismatch, record.DTypeMismatch, record.Ambiguous, record.Error)
	if len(missed) == 0 {
		return nil
	}
	places, explained := t.roundLister(r), false
	lines := firstLines(t, missed, compareWorst, func(o operatorRows) string {
		row := o.Row
		why := t.notComparedText(row)
		if row.Status == record.Ambiguous {
			if explained { // the files named are the first operator's
				why, _, _ = strings.Cut(why, t.format(": "))
			}
			explained = true
		}
		return titleOf(row) + t.format(": ") + t.join(string(row.Status), places.roundsOf(o), why)
	})
	if ambiguous := groupByOperator(r, record.Ambiguous); len(ambiguous) > 0 {
		lines = append(lines, t.format("--map-node-dict pairs these tensors: %s",
			lang.ShellLine([]string{"--map-node-dict", "{" + jsonpos.Quote(ambiguous[0].Op) + `:"NPU_NAME"}`})))
	}
	if r.HasRow(mayBeMatched) {
		lines = append(lines, t.format("--match-rows auto compares the rows that both sides have, of runs with another batch, padding or token layout"))
	}
	return []summaryItem{{label: t.format("Not compared"), lines: lines}}
}
