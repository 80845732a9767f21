package report

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lists"
	"dumptool/internal/tensor"
	"dumptool/internal/ui"
)

// minAround is the width to which names around the first bad row are shortened; columns are dropped
// first.
const minAround = 24

// wideWidth is the width from which the table of the worst rows has room for a second code. Off a
// terminal all codes are shown.
const (
	wideWidth = 120
	allCodes  = math.MaxInt
)

// WriteCompare prints the summary of a comparison: the verdict, the rounds if there are several,
// the first bad operator with details, the rows around it, or the worst rows if the execution order
// is unknown, and the coverage.
func (t Text) WriteCompare(w io.Writer, r *record.Report) error {
	p := t.printerTo(w)
	p.printVerdict(p.CompareVerdict(r))
	return p.printComparison(r)
}

// printComparison writes the report below the verdict.
func (p *printer) printComparison(r *record.Report) error {
	around, worst := aroundFirstBad(r), []int(nil)
	if around == nil {
		worst = r.WorstRows()
	}
	names := p.shortNames(r, around, worst)
	if names.prefix != "" {
		p.text(p.format("Names in tables are without their common beginning %s", names.prefix))
	}
	p.printRounds(r, names)
	p.printStrip(r)
	if facts := slices.Concat(p.findingFacts(r), p.tokenFacts(r), p.problemFacts(r)); len(facts) > 0 {
		p.writeBlankLine()
		p.facts(facts)
	}
	switch {
	case len(around) > 0:
		p.writeBlankLine()
		p.text(p.aroundText(r))
		p.table("", p.aroundTable(around, names, p.codesPerRow()).Grid(p.Lang).fit(p.Width, minAround))
	case len(worst) > 0:
		p.writeBlankLine()
		p.text(p.format("The worst rows (numbers over finite elements):"))
		p.table("", worstTable(r, worst, names, p.codesPerRow()).Grid(p.Lang).Fit(p.Width))
	}
	p.explainCodes(r, around, worst)
	if all := ranksOf(r); all != nil {
		p.printRanks(all, npuPaths(r))
	}
	p.writeBlankLine()
	p.facts(p.runFacts(r))
	return p.err
}

// printVerdict prints a verdict with its leading status highlighted.
func (p *printer) printVerdict(text string) {
	for i, line := range ui.Wrap(ui.Escape(text), p.Width, p.Width) {
		if i == 0 {
			rest := strings.TrimLeftFunc(line, unicode.IsUpper)
			status := strings.TrimSuffix(line, rest)
			line = p.paint(ui.StyleOf(status), status) + rest
		}
		p.print(line + "\n")
	}
}

// explainCodes explains the codes in the table of the rows around the first bad row, or of the worst rows.
func (p *printer) explainCodes(r *record.Report, around []aroundRow, worst []int) {
	var codes []string
	add := func(row *record.Row) {
		for _, reason := range row.Reasons[:min(p.codesPerRow(), len(row.Reasons))] {
			codes = append(codes, string(reason.Code))
		}
	}
	for i := range around {
		if around[i].isRow() {
			add(around[i].Row)
		}
	}
	for _, i := range worst {
		add(r.Row(i))
	}
	p.legend(codes, func(code string) string { return p.Lang.Text(finding.Code(code).Words()) })
}

// codesPerRow returns the number of reason codes of a row that fit in a table.
func (t Text) codesPerRow() int {
	switch {
	case t.Width <= 0:
		return allCodes
	case t.Width >= wideWidth:
		return 2
	}
	return 1
}

// aroundText explains the table of the rows around the first bad row.
func (t Text) aroundText(r *record.Report) string {
	if r.Verdict == evidenceMethod {
		return t.format("Rows around the first bad one, in execution order (RED: rms error / rms of the reference; EXPECTED: the RED that input errors and rounding explain; SCORE: RED / EXPECTED):")
	}
	if r.Verdict == statisticsMethod {
		return t.format("Rows around the first bad one, in execution order (reference / NPU where they differ; Z: the difference; EXPECTED: the difference that noise explains; B: Z / limit, a fault above 1):")
	}
	return t.format("Rows around the first bad one, in execution order (RED: rms error / rms of the reference; TREND: RED / RED of the inputs or of the previous operator):")
}

// shortNames returns the shortened names of the operators in a report's tables.
func (p *printer) shortNames(r *record.Report, around []aroundRow, worst []int) shortNames {
	if p.Width <= 0 {
		return shortNames{}
	}
	rows := lists.Map(badOperators(r), func(bad badOperator) *record.Row { return bad.row })
	for i := range around {
		if row := around[i].Row; row != nil {
			rows = append(rows, row)
		}
	}
	for _, i := range worst {
		rows = append(rows, r.Row(i))
	}
	return shortNamesOf(rows)
}

// Numbers of rows before and after the first bad row in its table.
const (
	rowsBefore = 3
	rowsAfter  = 6
)

// aroundRow is a row of the table around the first bad row; Row is nil for a gap.
type aroundRow struct {
	labelledRow
	// isFirstBad marks the first bad row.
	isFirstBad bool
	trend      string
}

// aroundFirstBad returns the rows around the first bad row in its round's execution order, and the
// first damaged row; nil without a first bad row.
func aroundFirstBad(r *record.Report) []aroundRow {
	if r.Findings.FirstBad < 0 || r.Findings.FirstBad >= r.Len() {
		return nil
	}
	order, at := executionOrder(r, r.Findings.FirstBad)
	from, to := max(0, at-rowsBefore), min(len(order), at+rowsAfter+1)
	shown := order[from:to]
	trends := map[int]string{}
	if r.Verdict != evidenceMethod {
		trends = trendsOf(r, order)
	}
	var rows []aroundRow
	add := func(i int) {
		row := r.Row(i)
		rows = append(rows, aroundRow{labelledRow: labelledRow{Row: row, result: row.Result}, isFirstBad: i == r.Findings.FirstBad, trend: trends[i]})
	}
	for _, i := range shown {
		add(i)
	}
	if i := slices.Index(order, r.Findings.FirstDamaged); i >= to {
		if i > to {
			rows = append(rows, aroundRow{})
		}
		add(order[i])
	}
	return rows
}

// executionOrder lists the rows in the round of a row in execution order, and the row's index in
// the list.
func executionOrder(r *record.Report, row int) (order []int, at int) {
	round := r.Row(row).Round
	for i, x := range r.AllRows() {
		if x.Round == round {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(r.Row(i).Order, r.Row(j).Order) })
	return order, slices.Index(order, row)
}

// trendsOf compares, for rows in execution order, the error of an output with the error of its
// operator's inputs if they were compared, else with the error of the previous operator.
func trendsOf(r *record.Report, order []int) map[int]string {
	trends := map[int]string{}
	var op string
	var before, inputs, outputs metrics.Metric // the largest errors
	for _, i := range order {
		row := r.Row(i)
		if !row.IsCompared() {
			continue
		}
		if row.Op != op {
			if outputs.IsDefined() {
				before = outputs
			}
			op, inputs, outputs = row.Op, metrics.Metric{}, metrics.Metric{}
		}
		red := row.Result.RED
		if tensor.Kind(row.Kind).IsInput() {
			inputs = largerMetric(inputs, red)
			continue
		}
		base := before
		if inputs.IsDefined() {
			base = inputs
		}
		trends[i] = trendText(base, red)
		outputs = largerMetric(outputs, red)
	}
	return trends
}

// largerMetric returns the larger of two metrics; either may be undefined.
func largerMetric(a, b metrics.Metric) metrics.Metric {
	if !a.IsDefined() || b.IsDefined() && b.Value() > a.Value() {
		return b
	}
	return a
}

// trendText formats the growth factor of an error, empty if unknown.
func trendText(before, after metrics.Metric) string {
	switch {
	case !before.IsDefined() || !after.IsDefined() || before.Value() == 0 && after.Value() == 0:
		return ""
	case before.Value() == 0:
		return "from 0"
	}
	const whole, many = 100, 1e6 // from whole on without decimals, from many on with an exponent
	ratio := after.Value() / before.Value()
	if ratio >= whole && ratio < many {
		return "x " + fixedDecimals(0)(ratio)
	}
	return "x " + significantDigits(roundFewDigits)(ratio)
}

// Marks before the names of rows: the first bad row, and other rows.
const (
	culpritMark = "> "
	otherMark   = "  "
)

// aroundTable returns the table of rows around the first bad row, with their first reason codes.
// The numbers cover pairs that are finite on both sides.
func (t Text) aroundTable(rows []aroundRow, names shortNames, codes int) Table[aroundRow] {
	type row = aroundRow
	number := func(rank int, name string, cell func(row) string) Column[row] {
		return numberColumn(name, cell).emptyUnless(func(r row) bool { return r.result != nil }).withRank(rank)
	}
	all := []Column[row]{
		textColumn("op", func(r row) string {
			switch {
			case r.Row == nil:
				return otherMark + ellipsis
			case r.isFirstBad:
				return culpritMark + names.shortName(r.Row)
			}
			return otherMark + names.shortName(r.Row)
		}).withTitle(otherMark + "OP"),
		textColumn("status", func(r row) record.Status { return r.Status }).emptyUnless(aroundRow.isRow).withTitle("STATUS").withRank(3),
		number(4, "errors/total", func(r row) string { return ratioText(r.Errors, r.result.Total) }).withTitle("ERRORS/TOTAL"),
		number(7, "max_abs", func(r row) string {
			return metricOr(r.result.MaxAbs.Metric, noValue, significantDigits(roundFewDigits))
		}),
		number(5, "red", func(r row) string { return metricOr(r.result.RED, noValue, significantDigits(roundFewDigits)) }),
		number(2, "trend", func(r row) string { return r.trend }),
		number(4, "expected", func(r row) string { return significantDigits(roundFewDigits)(r.Evidence.Relative()) }).emptyUnless(aroundRow.hasEvidence).withTitle("EXPECTED"),
		number(2, "score", func(r row) string { return significantDigits(roundFewDigits)(float64(r.Evidence.Score)) }).emptyUnless(aroundRow.hasEvidence).withTitle("SCORE"),
		number(6, "cosine", func(r row) string { return metricOr(r.result.Cosine, noValue, formatCosine) }),
		textColumn("reason", func(r row) string { return firstCodes(r.Row, codes) }).emptyUnless(aroundRow.isRow).withTitle("REASON").withRank(1),
	}
	if slices.ContainsFunc(rows, aroundRow.hasStatistics) {
		all = slices.Concat(all[:2], t.statisticsColumns(rows), all[len(all)-1:])
	}
	// Evidence has its own numbers instead of the trend.
	return Table[row]{Rows: rows, Columns: slices.DeleteFunc(all, func(c Column[row]) bool {
		switch c.Name {
		case "trend":
			return !slices.ContainsFunc(rows, func(r row) bool { return r.trend != "" })
		case "expected", "score":
			return !slices.ContainsFunc(rows, aroundRow.hasEvidence)
		}
		return false
	})}
}

// isRow reports whether the entry is a row, not a gap.
func (r aroundRow) isRow() bool { return r.Row != nil }

// hasStatistics reports whether the row has statistics of the tensors.
func (r aroundRow) hasStatistics() bool { return r.Row != nil && r.Statistics != nil }

// hasEvidence reports whether the row has evidence on what rounding explains.
func (r aroundRow) hasEvidence() bool {
	return r.Row != nil && r.Evidence != nil && r.Evidence.Class != ""
}

// shortNames shortens the names of operators in tables on a terminal by their common prefix.
type shortNames struct{ prefix string }

// shortPrefix is the minimum length of an omitted prefix.
const shortPrefix = 8

// shortNamesOf finds the common prefix of the rows' names, in whole parts of names.
func shortNamesOf(rows []*record.Row) shortNames {
	if len(rows) < 2 {
		return shortNames{}
	}
	prefix := rows[0].Op
	for _, row := range rows {
		n := 0
		for n < min(len(prefix), len(row.Op)) && prefix[n] == row.Op[n] {
			n++
		}
		prefix = prefix[:n]
	}
	separators := "/"
	if !strings.Contains(prefix, separators) {
		separators = "._"
	}
	prefix = cutBeforeNumber(prefix[:strings.LastIndexAny(prefix, separators)+1])
	if len(prefix) < shortPrefix || slices.ContainsFunc(rows, func(row *record.Row) bool { return row.Op == prefix }) {
		return shortNames{}
	}
	return shortNames{prefix}
}

// cutBeforeNumber cuts a prefix before its first part that ends in a number, such as layer15, which
// identifies the layer of an operator.
func cutBeforeNumber(prefix string) string {
	at := 0
	for _, part := range namePart().FindAllString(prefix, -1) {
		if word := strings.TrimRight(part, "/._"); strings.TrimRightFunc(word, unicode.IsDigit) != word {
			return prefix[:at]
		}
		at += len(part)
	}
	return prefix
}

// shortName returns the short name of a row.
func (n shortNames) shortName(row *record.Row) string {
	return strings.TrimPrefix(rowLabel(row), n.prefix)
}

// nameInRound returns the short name of a row with its round.
func (n shortNames) nameInRound(row *record.Row) string {
	if row.Round == "" {
		return n.shortName(row)
	}
	return n.shortName(row) + "@" + row.Round
}

// npuPaths returns the paths of the NPU data, as given.
func npuPaths(r *record.Report) (paths []string) {
	for _, a := range r.Args {
		if path, ok := strings.CutPrefix(a, "--npu="); ok {
			paths = append(paths, path)
		}
	}
	return paths
}

// WriteCompareMarkdown writes the text of WriteCompare as Markdown.
func (t Text) WriteCompareMarkdown(w io.Writer, r *record.Report) error {
	return t.markdownTo(w, t.CompareVerdict(r)).printComparison(r)
}
