package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare"
	"dumptool/internal/compare/engine"
)

// fact is an item of a summary: a label and lines of text.
type fact struct {
	label string
	lines []string
}

// compareWorst is the number of rows in tables of the worst.
const compareWorst = 10

// listed is the number of names that a list of a summary shows.
const listed = 5

// CompareVerdict says in one line how a comparison ended.
func CompareVerdict(r *compare.Report) string {
	verdict := compareVerdict(r)
	switch {
	case r.Interrupted:
		return "INTERRUPTED, so far: " + verdict
	case r.FailedFast:
		return verdict + " (stopped at the first failure)"
	}
	return verdict
}

func compareVerdict(r *compare.Report) string {
	n, compared := r.Counts, comparedRows(r)
	var missed []string
	misses := 0
	for _, status := range []compare.Status{compare.ShapeMismatch, compare.DTypeMismatch, compare.Ambiguous, compare.Error} {
		if n[status] > 0 {
			misses += n[status]
			missed = append(missed, fmt.Sprintf("%d %s", n[status], status))
		}
	}
	notCompared := fmt.Sprintf("%s could not be compared (%s)", tensors(misses), strings.Join(missed, ", "))
	tail := ""
	if misses > 0 {
		tail = "; " + notCompared
	}
	switch {
	case n[compare.Fail] > 0:
		return failures(r, compared) + tail
	case misses > 0 && misses == n[compare.Error]:
		return "ERROR: " + notCompared
	case misses > 0:
		return "FAIL: " + notCompared
	case len(r.Rows) == 0:
		return "NOTHING COMPARED: no tensor was chosen"
	case compared == 0:
		return fmt.Sprintf("NOTHING COMPARED: none of %s has a partner that could be compared", tensors(len(r.Rows)))
	case n[compare.Partial] > 0:
		return fmt.Sprintf("PARTIAL: of %d of %s only a part was compared", n[compare.Partial], tensors(compared))
	case n[compare.Warn] > 0:
		return fmt.Sprintf("PASS with warnings: %s within the limits, %d of them with a warning", all(compared), n[compare.Warn])
	}
	return fmt.Sprintf("PASS: %s within the limits", all(compared))
}

// failures is the verdict on rows that failed.
func failures(r *compare.Report, compared int) string {
	n := r.Counts[compare.Fail]
	text := fmt.Sprintf("%d of %s beyond the limits", n, tensors(compared))
	if b := r.Baseline; b != nil && (b.Updated || len(b.Known) > 0) {
		if b.Updated || len(b.New)+len(b.Worse) == 0 {
			return "KNOWN FAILURES: " + text + ", all of them in the baseline"
		}
		text += fmt.Sprintf(", %d of them in the baseline", len(b.Known))
	}
	return "FAIL: " + text
}

// comparedRows counts the rows that were compared.
func comparedRows(r *compare.Report) int {
	n := 0
	for i := range r.Rows {
		if r.Rows[i].Compared() {
			n++
		}
	}
	return n
}

// tensors counts tensors in words.
func tensors(n int) string {
	if n == 1 {
		return "1 tensor"
	}
	return strconv.Itoa(n) + " tensors"
}

// all counts all tensors in words.
func all(n int) string {
	if n == 1 {
		return "the only tensor"
	}
	return "all " + tensors(n)
}

// notableJump is the factor between the mean relative errors of an operator and
// of its inputs from which it is worth a line: less is how errors grow by
// themselves.
const notableJump = 10

// findingFacts say where the run went wrong.
func findingFacts(r *compare.Report) []fact {
	f := &r.Findings
	var facts []fact
	add := func(label string, lines ...string) { facts = append(facts, fact{label, lines}) }
	if f.FirstBad >= 0 && f.FirstBad < len(r.Rows) {
		add("First bad", firstBad(&r.Rows[f.FirstBad])...)
		good := rowAt(r, f.LastGood)
		if good != nil {
			add("Last good", rowTitle(good))
		}
		if suspects := rowLabels(r, f.Suspects); len(suspects) > 0 {
			where := "before the first bad one"
			if good != nil {
				where = "between the last good and the first bad one"
			}
			add("Suspects", tensors(len(suspects))+" "+where+" not compared, the fault may be there: "+shortList(suspects))
		}
	}
	if i := f.FirstDamaged; i >= 0 && i != f.FirstBad && i < len(r.Rows) {
		add("First damaged", firstBad(&r.Rows[i])...)
	}
	if row := rowAt(r, f.FirstNaN); row != nil {
		bad := row.Result.NPU.NaN + row.Result.NPU.PosInf + row.Result.NPU.NegInf
		add("First NaN/inf", fmt.Sprintf("%s, %d of %d elements", rowTitle(row), bad, row.Result.Total))
	}
	if row, n := firstReferenceNaN(r); row != nil {
		add("Reference NaN", fmt.Sprintf("%s, the reference is NaN or infinite at %d of %d elements where the NPU is finite", rowTitle(row), n, row.Result.Total))
	}
	if row := rowAt(r, f.FirstOverflow); row != nil {
		add("First overflow", fmt.Sprintf("%s, %d of %d elements", rowTitle(row), row.Result.Overflowed, row.Result.Total))
	}
	if row := rowAt(r, f.LargestJump); row != nil && f.Jump >= notableJump {
		add("Largest jump", fmt.Sprintf("%s, mean_rel is %s times that of its inputs", rowTitle(row), floatShort(f.Jump)))
	}
	// Without a graph nobody knows what depends on what.
	if first := f.FirstBad >= 0 && r.GraphSource != ""; first && (len(f.Chain) > 1 || f.OutputsBad) {
		text := tensors(max(len(f.Chain), 1)) + " bad from the first bad one on"
		if f.OutputsBad {
			text += ", outputs of the network among them"
		} else {
			text += ", no output of the network among them"
		}
		add("Spread", text)
	}
	return facts
}

// firstReferenceNaN is the first row whose reference has no numbers where the NPU
// has them, at how many elements, nil when there is none.
func firstReferenceNaN(r *compare.Report) (*compare.Row, int64) {
	for i := range r.Rows {
		row := &r.Rows[i]
		if !row.Compared() {
			continue
		}
		of := &row.Result.Classes[engine.Finite]
		if n := of[engine.NaN] + of[engine.PosInf] + of[engine.NegInf]; n > 0 {
			return row, n
		}
	}
	return nil, 0
}

// rowAt is the row of a finding if it exists and was compared.
func rowAt(r *compare.Report, i int) *compare.Row {
	if i < 0 || i >= len(r.Rows) || !r.Rows[i].Compared() {
		return nil
	}
	return &r.Rows[i]
}

// rowTitle names a row with its type.
func rowTitle(row *compare.Row) string {
	title := rowLabel(row)
	if row.Round != "" {
		title += "@" + row.Round
	}
	if row.OpType != "" {
		title += " (" + row.OpType + ")"
	}
	return title
}

// firstBad tells all about the first bad row.
func firstBad(row *compare.Row) []string {
	lines := []string{rowTitle(row)}
	if row.Compared() {
		lines = append(lines, errorsText(row))
	} else {
		lines = append(lines, string(row.Status)+", "+compareStatusText[row.Status])
	}
	lines = append(lines, reasonLines(row)...)
	return append(lines, fileLines(row)...)
}

// errorsText tells how many elements are errors, and the first of them.
func errorsText(row *compare.Row) string {
	total := row.Result.Total
	text := fmt.Sprintf("%d of %d elements are errors", row.Errors, total)
	if row.Errors > 0 && total > 0 {
		text += fmt.Sprintf(" (%.3g %%)", 100*float64(row.Errors)/float64(total))
	}
	if e := row.First; e != nil {
		text += fmt.Sprintf(", first at %d (%s): reference %s, NPU %s", e.Offset, joinInts(compare.Coordinates(row.Shape, e.Offset), ", "),
			valueShort(e.Ref), valueShort(e.NPU))
	}
	return text
}

// reasonLines tell the reasons of a row.
func reasonLines(row *compare.Row) []string {
	var lines []string
	for _, reason := range row.Reasons {
		line := string(reason.Code)
		if reason.Confidence != "" {
			line += " (" + string(reason.Confidence) + " confidence)"
		}
		if reason.Evidence != "" {
			line += ": " + reason.Evidence
		}
		lines = append(lines, line)
	}
	return lines
}

// fileLines tell the files of a row.
func fileLines(row *compare.Row) []string {
	var lines []string
	if row.RefFile != "" {
		lines = append(lines, "reference: "+row.RefFile)
	}
	if row.NPUFile != "" {
		lines = append(lines, "NPU: "+row.NPUFile)
	}
	return lines
}

// problemFacts list the rows that should have been compared and were not.
func problemFacts(r *compare.Report) []fact {
	lines, more := []string{}, 0
	for i := range r.Rows {
		row := &r.Rows[i]
		switch row.Status {
		case compare.ShapeMismatch, compare.DTypeMismatch, compare.Ambiguous, compare.Error:
		default:
			continue
		}
		if len(lines) == compareWorst {
			more++
			continue
		}
		lines = append(lines, rowTitle(row)+": "+string(row.Status)+", "+whyNot(row))
	}
	if len(lines) == 0 {
		return nil
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return []fact{{"Not compared", lines}}
}

// runFacts tell what was compared, and how.
func runFacts(r *compare.Report) []fact {
	c := &r.Coverage
	lines := []string{fmt.Sprintf("%d of %s of the reference compared (%.3g %%)", c.Compared, tensors(c.Reference), 100*c.Ratio())}
	for _, l := range []struct {
		what  string
		names []string
	}{{"only in the reference", c.RefOnly}, {"only in the NPU run", c.NPUOnly}, {"skipped", c.Skipped}, {"unread", c.Unread},
		{"older files of the same name", c.Superseded}, {"in op_config.csv only", c.Unused}} {
		if len(l.names) > 0 {
			lines = append(lines, fmt.Sprintf("%s (%d): %s", l.what, len(l.names), shortList(l.names)))
		}
	}
	facts := []fact{{"Coverage", lines}}
	facts = append(facts, fact{"Limits", []string{fmt.Sprintf("profile %s, tolerance mode %s, NaN policy %s", r.Profile, r.TolMode, r.NaNPolicy)}})
	if r.OrderSource != "" {
		facts = append(facts, fact{"Order", []string{r.OrderSource}})
	}
	graph := r.GraphSource
	if graph == "" {
		graph = "unknown, the operator before counts as the input"
	}
	facts = append(facts, fact{"Inputs", []string{graph}})
	if r.Baseline != nil {
		facts = append(facts, baselineFact(r))
	}
	if len(r.Warnings) > 0 {
		facts = append(facts, fact{"Warnings", slices.Clone(r.Warnings)})
	}
	return facts
}

// baselineFact compares with the baseline.
func baselineFact(r *compare.Report) fact {
	b := r.Baseline
	lines := []string{b.File}
	for _, l := range []struct {
		what  string
		names []string
	}{{"new failures", rowLabels(r, b.New)}, {"known and worse", rowLabels(r, b.Worse)}, {"known failures", rowLabels(r, b.Known)},
		{"fixed, update the baseline", rowLabels(r, b.Fixed)}, {"missing in this run", b.Missing}} {
		if len(l.names) > 0 {
			lines = append(lines, fmt.Sprintf("%s (%d): %s", l.what, len(l.names), shortList(l.names)))
		}
	}
	if b.Updated {
		lines = append(lines, "updated")
	}
	return fact{"Baseline", lines}
}

// rowLabels names rows.
func rowLabels(r *compare.Report, rows []int) []string {
	var labels []string
	for _, i := range rows {
		if i >= 0 && i < len(r.Rows) {
			labels = append(labels, rowLabel(&r.Rows[i]))
		}
	}
	return labels
}

// shortList joins names, of which it shows the first ones.
func shortList(names []string) string {
	if more := len(names) - listed; more > 0 {
		return strings.Join(names[:listed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// worstColumns are the columns of the table of the worst rows.
var worstColumns = []string{"op", "status", "errors/total", "max_abs", "mean_rel", "cosine", "reason"}

// worstCells are the cells of a row in that table, with the first codes of its
// reasons. The numbers are over pairs that are finite on both sides.
func worstCells(row *compare.Row, codes int) []string {
	r := row.Result
	reason := strings.ReplaceAll(codesText(row.Reasons[:min(codes, len(row.Reasons))]), ";", ", ")
	label := rowLabel(row)
	if row.Round != "" {
		label += "@" + row.Round
	}
	return []string{label, string(row.Status), ratioText(row.Errors, r.Total), threeDigits(r.MaxAbs.Metric), threeDigits(r.MeanRel),
		cosineShort(r.Cosine), reason}
}

// threeDigits prints a metric in a narrow column.
func threeDigits(m engine.Metric) string {
	if !m.Defined || math.IsInf(m.Value, 0) {
		return metricShort(m)
	}
	return strconv.FormatFloat(m.Value, 'g', 3, 64)
}

// cosineShort prints a cosine with at most 6 decimals, as 1 only what is 1 but
// for the rounding of its sums.
func cosineShort(m engine.Metric) string {
	if !m.Defined {
		return metricShort(m)
	}
	x := m.Value
	if text := strconv.FormatFloat(x, 'f', 6, 64); text == "1.000000" && x < 1-1e-12 {
		return "0.999999"
	}
	return strconv.FormatFloat(math.Round(x*1e6)/1e6, 'f', -1, 64)
}

// metricShort prints a metric for people.
func metricShort(m engine.Metric) string {
	if !m.Defined {
		return "-"
	}
	return floatShort(m.Value)
}
