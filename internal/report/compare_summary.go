package report

import (
	"cmp"
	"slices"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/tensor"
	"dumptool/internal/ui"
)

// compareWorst is the number of rows in tables of the worst rows.
const compareWorst = 10

// maxListedNames is the number of names in a list of a summary.
const maxListedNames = 5

// comma separates the parts of an enumeration.
var comma = lang.Text{EN: ", "}

// CompareVerdict returns the outcome of a comparison in one line.
func (t Text) CompareVerdict(r *record.Report) string {
	verdict := verdictOf(r)
	switch {
	case r.Interrupted && r.Len() == 0:
		verdict = lang.Say("INTERRUPTED: no tensor was compared yet")
	case r.Interrupted:
		verdict = lang.Say("INTERRUPTED, so far: %s", verdict)
	case r.FailedFast:
		verdict = lang.Say("%s (stopped at the first failure)", verdict)
	}
	if n := len(r.Coverage.Rounds); n > 0 && r.Len() > 0 {
		verdict = lang.Say("%s; %s of one side only", verdict, rounds(n))
	}
	return t.sentence(verdict)
}

// rounds formats a number of rounds.
func rounds(n int) lang.Text { return count(n, "round") }

// failuresVerdict returns the verdict on failing rows.
func failuresVerdict(r *record.Report, compared int) lang.Sentence {
	return failingVerdict(r, "FAIL", lang.Say("%d of %s beyond the limits", r.Counts[record.Fail], tensors(compared)))
}

// failingVerdict returns the verdict on failing rows. A baseline may know some of them.
func failingVerdict(r *record.Report, status string, text lang.Sentence) lang.Sentence {
	if b := r.Baseline; b != nil && (b.Updated || len(b.Known) > 0) {
		if b.Updated || len(b.New)+len(b.Worse) == 0 {
			return lang.Say("KNOWN FAILURES: %s, all of them in the baseline", text)
		}
		text = lang.Say("%s, %d of them in the baseline", text, len(b.Known))
	}
	return lang.Say("%s: %s", status, text)
}

// firstRoundText names the first of several rounds with a first bad row, the operator, and the number
// of ranks with the same first bad operator.
func firstRoundText(r *record.Report) lang.Sentence {
	at := r.FirstBadRound()
	if at < 0 || len(r.Rounds) < 2 {
		return lang.Sentence{}
	}
	bad := r.Row(r.Rounds[at].Findings.FirstBad)
	if all := operatorsOf(r); r.Verdict == evidenceMethod && len(all) == 1 && all[0].Op == bad.Op {
		return lang.Sentence{} // the headline has its rounds
	}
	ranks, steps := coordinatesOf(r.Rounds)
	same := lists.Map(r.RoundsWithSameOperator(at), func(i int) record.Round { return r.Rounds[i] })
	sameRanks, sameSteps := coordinatesOf(same)
	where := lang.Sentence{}
	switch {
	case ranks > 1:
		where = lang.Say(", on %d of %d ranks", sameRanks, ranks)
	case steps > 1:
		where = lang.Say(", in %d of %d steps", sameSteps, steps)
	}
	return lang.Say("; first bad: %s%s", rowTitle(bad), where)
}

// coordinatesOf counts the ranks and steps of rounds.
func coordinatesOf(rounds []record.Round) (ranks, steps int) {
	byRank, byStep := map[string]bool{}, map[string]bool{}
	for i := range rounds {
		byRank[rounds[i].RoundCoordinates.Rank], byStep[rounds[i].RoundCoordinates.Step] = true, true
	}
	return len(byRank), len(byStep)
}

// comparedRows counts the compared rows.
func comparedRows(r *record.Report) int {
	n := 0
	for _, row := range r.AllRows() {
		if row.IsJudged() {
			n++
		}
	}
	return n + r.LeftOut
}

// allTensorsText formats "all n tensors".
func allTensorsText(n int) lang.Text {
	if n == 1 {
		return lang.Text{EN: "the only tensor"}
	}
	return lang.Say("all %s", tensors(n)).Text()
}

// notableJump is the minimum growth of the mean relative error from the inputs to the output of an
// operator that is reported; rounding alone makes errors grow less.
const notableJump = 10

// findingFacts describes where the run went wrong: with several rounds, in the headline's round.
func (t Text) findingFacts(r *record.Report) factList {
	if r.Standard != "" {
		return t.standardFacts(r)
	}
	f := &r.Findings
	facts := slices.Concat(t.meaningFacts(r), t.statisticsFacts(r))
	add := facts.add
	round, title := "", rowTitle
	if f.FirstBad >= 0 && f.FirstBad < r.Len() {
		row := r.Row(f.FirstBad)
		round = row.Round
		title = func(row *record.Row) string {
			if row.Round == round {
				return titleOf(row)
			}
			return rowTitle(row)
		}
		facts = append(facts, summaryItem{t.format("First bad"), t.firstBad(row), t.filesOf(row)})
		good := rowAt(r, f.LastGood)
		if good != nil {
			add(t.format("Last good"), title(good))
		}
		if suspects := rowLabels(r, f.Suspects); len(suspects) > 0 {
			where := lang.Text{EN: "before the first bad one"}
			if good != nil {
				where = lang.Text{EN: "between the last good and the first bad one"}
			}
			add(t.format("Suspects"), t.format("%s %s not compared, the fault may be there: %s",
				tensors(len(suspects)), where, t.shortList(suspects)))
		}
	}
	if origins := t.allOrigins(r); origins != nil {
		facts = append(facts, *origins)
	}
	if failing := t.unorderedFailures(r); failing != nil {
		facts = append(facts, *failing)
	}
	if i := f.FirstDamaged; i >= 0 && i != f.FirstBad && i < r.Len() {
		facts = append(facts, summaryItem{t.format("report¦First damaged"), t.firstBad(r.Row(i)), t.filesOf(r.Row(i))})
	}
	if row := rowAt(r, f.FirstNaN); row != nil && row.IsCompared() {
		result := row.Result
		bad := result.NPU.NaN + result.NPU.PosInf + result.NPU.NegInf
		add(t.format("First NaN/inf"), t.format("%s, %d of %d elements", title(row), bad, result.Total))
	}
	if row, n, total := firstReferenceNaN(r, round); row != nil {
		add(t.format("Reference NaN"), t.format("%s, the reference is NaN or infinite at %d of %d elements where the NPU is finite", title(row), n, total))
	}
	if row := rowAt(r, f.FirstOverflow); row != nil && (f.FirstOverflow != f.FirstNaN || row.Result.Overflowed > row.Result.NPU.NaN) { // NaN alone is no overflow
		result := row.Result
		add(t.format("First overflow"), t.format("%s, %d of %d elements", title(row), result.Overflowed, result.Total))
	}
	if row := rowAt(r, f.JumpOfOrigin()); row != nil && f.Jump >= notableJump {
		add(t.format("Largest jump"), t.format("%s: mean_rel is %s x the mean_rel of its inputs", title(row), fourDigits(f.Jump)))
	}
	// The spread needs the data flow.
	if first := f.FirstBad >= 0 && !r.GraphSource.IsZero(); first && (len(f.Chain) > 1 || f.OutputsBad) {
		among := lang.Text{EN: "no network output is affected"}
		if f.OutputsBad {
			among = lang.Text{EN: "network outputs are affected"}
		}
		add(t.format("compare_summary¦Spread"), t.format("%s bad: the first bad one and all that it affects, %s", tensors(max(len(f.Chain), 1)), among))
	}
	return facts
}

// meaningFacts qualifies the verdict: whether the inputs were equal, what could not be judged, and
// other remarks.
func (t Text) meaningFacts(r *record.Report) (facts factList) {
	m, add := &r.Meaning, facts.add
	if in := m.Inputs; in != nil {
		switch all := in.Equal + in.Rounding + in.Differ; {
		case all == 0:
			add(t.format("Start"), t.format("inputs and weights are not among the dumps"))
		case in.Differ > 0:
			add(t.format("Start"), t.format("%d of %d inputs and weights are not the same", in.Differ, all))
		case in.Rounding > 0:
			add(t.format("Start"), t.format("%d of %d inputs and weights are equal, the others differ by rounding", in.Equal, all))
		case all == 1:
			add(t.format("Start"), t.format("the only input or weight is equal"))
		default:
			add(t.format("Start"), t.format("all %d inputs and weights are equal", all))
		}
	}
	if p := m.Power; p != nil && 10*(p.Of-p.Judged) > p.Of {
		text := t.format("%d of %s not judged: only faults above %d %% would have been seen there%s", p.Of-p.Judged, tensors(p.Of), int(100*record.MostPower), dumpAdvice(r))
		if p.Deepest != "" {
			text += t.format(" (the last that was judged: %s)", p.Deepest)
		}
		add(t.format("Not judged"), text)
	}
	if len(m.Notes) > 0 {
		lines := lists.Map(m.Notes, t.sentence)
		add(t.format("compare_summary¦Notes"), lines...)
	}
	return facts
}

// firstReferenceNaN returns the first row of a round, or of all rounds if round is empty, whose
// reference has non-finite elements where the NPU is finite, with their number and the total; nil
// if there is none.
func firstReferenceNaN(r *record.Report, round string) (row *record.Row, n, total int64) {
	for _, row := range r.AllRows() {
		if !row.IsCompared() || round != "" && row.Round != round {
			continue
		}
		if n := countReferenceNonFinite(row); n > 0 {
			return row, n, row.Result.Total
		}
	}
	return nil, 0, 0
}

// countReferenceNonFinite counts the elements of a row that are non-finite in the reference only.
func countReferenceNonFinite(row *record.Row) int64 {
	if row.Result == nil {
		return 0
	}
	of := &row.Result.Classes[metrics.Finite]
	return of[metrics.NaN] + of[metrics.PosInf] + of[metrics.NegInf]
}

// rowAt returns the row of a finding if it exists and was compared.
func rowAt(r *record.Report, i int) *record.Row {
	if i < 0 || i >= r.Len() || !r.Row(i).IsJudged() {
		return nil
	}
	return r.Row(i)
}

// rowInRound returns the name of a row with its round.
func rowInRound(row *record.Row) string { return shortNames{}.nameInRound(row) }

// modulePath returns the modules around an operator, without the numbers of their calls.
func modulePath(row *record.Row) string {
	names := make([]string, len(row.Modules))
	for i, name := range row.Modules {
		for _, direction := range []string{".forward.", ".backward."} {
			if at := strings.LastIndex(name, direction); at > 0 {
				name = name[:at]
			}
		}
		names[i] = name
	}
	return strings.Join(names, " > ")
}

// titleOf returns a row's name with its type, script line and modules.
func titleOf(row *record.Row) string {
	title := rowLabel(row)
	known := lists.Filter([]string{row.OpType, row.Script, modulePath(row)}, func(text string) bool { return text != "" })
	if len(known) > 0 {
		title += " (" + strings.Join(known, ", ") + ")"
	}
	return title
}

// rowTitle returns a row's name with its type and round.
func rowTitle(row *record.Row) string {
	switch {
	case row.Round == "":
		return titleOf(row)
	case row.RoundCoordinates == record.RoundCoordinates{}: // a folder
		return titleOf(row) + ", round " + row.Round
	}
	return titleOf(row) + ", " + row.Round
}

// isOrderKnown reports whether the execution order of all rounds is known.
func isOrderKnown(r *record.Report) bool {
	return !slices.ContainsFunc(r.Rounds, func(x record.Round) bool { return !x.OrderKnown })
}

// allOrigins lists the origins by evidence if there are several, or if no order makes one of them
// the first; nil if there is nothing to list.
func (t Text) allOrigins(r *record.Report) *summaryItem {
	origins, places := operatorsOf(r), t.roundLister(r)
	if r.Verdict != evidenceMethod || len(origins) == 0 || len(origins) == 1 && r.Findings.FirstBad >= 0 {
		return nil
	}
	var lines []string
	if r.Findings.FirstBad < 0 {
		lines = []string{t.format("neither the data flow nor the execution order is known (--graph-file gives it)")}
	}
	return &summaryItem{label: t.format("Origins"), lines: append(lines, firstLines(t, origins, compareWorst, func(o operatorRows) string {
		row := places.mergeRows(o)
		line := rowTitle(row)
		if reasons := t.reasonLines(row); len(reasons) > 0 {
			line += t.format(": ") + reasons[0]
		}
		if e := row.Evidence; e != nil && len(e.FedBy) > 0 {
			line += t.format(" (also depends on %s)", t.shortList(rowLabels(r, e.FedBy)))
		}
		return line
	})...)}
}

// unorderedFailures lists the failures of a run without an execution order, in which no row is the first
// bad one: with known data flow, the failing operators whose inputs pass. It is nil if there is an
// order.
func (t Text) unorderedFailures(r *record.Report) *summaryItem {
	if r.Findings.FirstBad >= 0 || isOrderKnown(r) || r.Verdict == evidenceMethod {
		return nil
	}
	if origins := r.Findings.Origins; len(origins) > 0 {
		lines := []string{t.format("failing operators whose inputs pass; the execution order is not known (--graph-file gives it)")}
		return &summaryItem{label: t.format("Origins"), lines: append(lines, firstLines(t, origins, compareWorst, func(i int) string { return rowTitle(r.Row(i)) })...)}
	}
	failing, places := groupByOperator(r, record.Fail), t.roundLister(r)
	if len(failing) == 0 {
		return nil
	}
	lines := []string{t.format("by name, the execution order is not known (--graph-file gives it)")}
	return &summaryItem{label: t.format("compare_summary¦Failing"), lines: append(lines, firstLines(t, failing, compareWorst, func(o operatorRows) string { return t.join(titleOf(o.Row), places.roundsOf(o)) })...)}
}

// foldedTitle returns the title of a row in at most two lines of a terminal, leaving out outer
// modules.
func (t Text) foldedTitle(row *record.Row) string {
	title := rowTitle(row)
	room := t.Width - labelWidth
	for modules := row.Modules; t.Width > 0 && len(modules) > 1 && len(ui.Wrap(title, room, room-len(textIndent))) > 2; {
		modules = modules[1:]
		folded := *row
		folded.Modules = slices.Concat([]string{ellipsis}, modules)
		title = rowTitle(&folded)
	}
	return title
}

// firstBad describes the first bad row, without its files.
func (t Text) firstBad(row *record.Row) []string {
	lines := []string{t.foldedTitle(row)}
	if row.IsCompared() {
		lines = append(lines, t.errorsText(row))
	} else if row.Statistics != nil && len(row.Reasons) > 0 { // the reasons have the numbers
	} else if row.Statistics != nil && row.IsJudged() {
		lines = append(lines, t.statisticsText(row.Statistics))
	} else {
		lines = append(lines, t.join(string(row.Status), t.Lang.Text(compareStatusText[row.Status])))
	}
	return slices.Concat(lines, t.reasonLines(row), t.unevenAxisLines(row))
}

// errorsText returns the number of erroneous elements, and the first erroneous element.
func (t Text) errorsText(row *record.Row) string {
	total := row.Result.Total
	text := t.format("%d of %d elements are errors", row.Errors, total)
	if row.Errors > 0 && total > 0 {
		text += t.format(" (%.3g %%)", 100*float64(row.Errors)/float64(total))
	}
	if e := row.First; e != nil {
		text += t.format(", first at %d (%s): reference %s, NPU %s", e.Offset, tensor.Shape(record.Coordinates(row.Shape, e.Offset)).Join(", "),
			formatElement(e.Ref, significantDigits(shownDigits)), formatElement(e.NPU, significantDigits(shownDigits)))
	}
	return text
}

// statisticsText formats the statistics of both sides.
func (t Text) statisticsText(s *record.Statistics) string {
	if s.HasComparableDigests() {
		return t.format("digest: reference %s, NPU %s", s.Ref.Digest, s.NPU.Digest)
	}
	side := func(s *record.SideStatistics) string {
		var parts []string
		for _, n := range record.StatisticNumbers {
			if x := n.Of(s); x.IsDefined() {
				parts = append(parts, n.Name+" "+fourDigits(x.Value()))
			}
		}
		return cmp.Or(strings.Join(parts, " "), noValue)
	}
	return t.format("reference: %s; NPU: %s", side(&s.Ref), side(&s.NPU))
}

// reasonLines formats the reasons of a row.
func (t Text) reasonLines(row *record.Row) []string {
	var lines []string
	for _, reason := range row.Reasons {
		line := string(reason.Code)
		if reason.Confidence != "" {
			line += t.format(" (%s confidence)", confidenceText(reason.Confidence))
		}
		if !reason.Evidence.IsZero() {
			line += t.format(": ") + t.sentence(reason.Evidence)
		}
		lines = append(lines, line)
	}
	return lines
}

// confidenceText translates a confidence; documents may have other ones.
func confidenceText(c finding.Confidence) lang.Text {
	return lang.Text{EN: string(c)}
}

// filesOf returns the files of a row.
func (t Text) filesOf(row *record.Row) []sideFile {
	var files []sideFile
	if row.RefFile != "" {
		files = append(files, sideFile{t.format("reference"), row.RefFile})
	}
	if row.NPUFile != "" {
		files = append(files, sideFile{"NPU", row.NPUFile})
	}
	return files
}

// firstLines returns lines about the first rows, and the number of further rows.
func firstLines[R any](t Text, rows []R, most int, line func(R) string) []string {
	lines := lists.Map(rows[:min(most, len(rows))], line)
	if more := len(rows) - most; more > 0 {
		lines = append(lines, t.format("and %d more", more))
	}
	return lines
}
