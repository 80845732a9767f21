package report

import (
	"cmp"
	"slices"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/tensor"
)

// The rows that the table around the first bad one has before and after it.
const (
	rowsBefore = 3
	rowsAfter  = 6
)

// aroundRow is a row of the table around the first bad one; its Row is nil where
// rows are left out.
type aroundRow struct {
	labelled
	// culprit is set for the first bad row.
	culprit bool
	trend   string
}

// aroundFirstBad are the rows around the first bad one in the execution order of
// its round, and the first damaged one; nil where there is no first bad row.
func aroundFirstBad(r *record.Report) []aroundRow {
	if r.Findings.FirstBad < 0 || r.Findings.FirstBad >= r.Len() {
		return nil
	}
	order, at := executionOrder(r, r.Findings.FirstBad)
	from, to := max(0, at-rowsBefore), min(len(order), at+rowsAfter+1)
	shown := order[from:to]
	trends := map[int]string{}
	if r.Verdict != byEvidence {
		trends = trendsOf(r, order)
	}
	var rows []aroundRow
	add := func(i int) {
		row := r.Row(i)
		rows = append(rows, aroundRow{labelled: labelled{Row: row, result: row.Result}, culprit: i == r.Findings.FirstBad, trend: trends[i]})
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

// executionOrder lists the rows of the round of a row in execution order, and the
// place of the row in it.
func executionOrder(r *record.Report, row int) (order []int, at int) {
	round := r.Row(row).Round
	for i, x := range r.All() {
		if x.Round == round {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(r.Row(i).Order, r.Row(j).Order) })
	return order, slices.Index(order, row)
}

// trendsOf says of rows in execution order how the error of an output compares with
// that of the inputs of its operator where they were compared, else with that of
// the operator before.
func trendsOf(r *record.Report, order []int) map[int]string {
	trends := map[int]string{}
	var op string
	var before, inputs, outputs metrics.Metric // the largest errors
	for _, i := range order {
		row := r.Row(i)
		if !row.Compared() {
			continue
		}
		if row.Op != op {
			if outputs.Defined {
				before = outputs
			}
			op, inputs, outputs = row.Op, metrics.Metric{}, metrics.Metric{}
		}
		red := row.Result.RED
		if tensor.Kind(row.Kind).IsInput() {
			inputs = larger(inputs, red)
			continue
		}
		base := before
		if inputs.Defined {
			base = inputs
		}
		trends[i] = trend(base, red)
		outputs = larger(outputs, red)
	}
	return trends
}

// larger is the larger of two metrics, of which one may be undefined.
func larger(a, b metrics.Metric) metrics.Metric {
	if !a.Defined || b.Defined && b.Value > a.Value {
		return b
	}
	return a
}

// trend is by which factor an error grew, empty where nothing is known.
func trend(before, after metrics.Metric) string {
	switch {
	case !before.Defined || !after.Defined || before.Value == 0 && after.Value == 0:
		return ""
	case before.Value == 0:
		return "from 0"
	}
	const whole, many = 100, 1e6 // from here on without decimals, and with an exponent
	ratio := after.Value / before.Value
	if ratio >= whole && ratio < many {
		return "x " + decimals(0)(ratio)
	}
	return "x " + digits(fewDigits)(ratio)
}

// The marks in front of the names of rows: of the first bad one, and of others.
const (
	culpritMark = "> "
	otherMark   = "  "
)

// aroundTable is the table of rows around the first bad one, with the first codes of
// their reasons. The numbers are over pairs that are finite on both sides.
func (t Text) aroundTable(rows []aroundRow, names shortNames, codes int) Table[aroundRow] {
	type row = aroundRow
	number := func(rank int, name string, cell func(row) string) Column[row] {
		return numbers(name, cell).where(func(r row) bool { return r.result != nil }).ranked(rank)
	}
	all := []Column[row]{
		words("op", func(r row) string {
			switch {
			case r.Row == nil:
				return otherMark + ellipsis
			case r.culprit:
				return culpritMark + names.of(r.Row)
			}
			return otherMark + names.of(r.Row)
		}).titled(otherMark+"OP", otherMark+"算子").in(InText),
		words("op", func(r row) string {
			switch {
			case r.Row == nil:
				return ellipsis
			case r.culprit:
				return names.of(r.Row) + t.say(" (first bad)", "(首个出错)")
			}
			return names.of(r.Row)
		}).in(InCSV),
		words("status", func(r row) record.Status { return r.Status }).where(aroundRow.shown).titled("STATUS", "状态").ranked(3),
		number(4, "errors/total", func(r row) string { return ratioText(r.Errors, r.result.Total) }).titled("ERRORS/TOTAL", "错误/总数"),
		number(7, "max_abs", func(r row) string { return orElse(r.result.MaxAbs.Metric, noValue, digits(fewDigits)) }),
		number(5, "red", func(r row) string { return orElse(r.result.RED, noValue, digits(fewDigits)) }),
		number(2, "trend", func(r row) string { return r.trend }),
		number(4, "expected", func(r row) string { return digits(fewDigits)(r.Evidence.Relative()) }).where(aroundRow.hasEvidence).titled("EXPECTED", "预期"),
		number(2, "score", func(r row) string { return digits(fewDigits)(float64(r.Evidence.Score)) }).where(aroundRow.hasEvidence).titled("SCORE", "倍数"),
		number(6, "cosine", func(r row) string { return orElse(r.result.Cosine, noValue, cosine) }),
		words("reason", func(r row) string { return firstCodes(r.Row, codes) }).where(aroundRow.shown).titled("REASON", "原因").ranked(1),
	}
	if slices.ContainsFunc(rows, aroundRow.hasStatistics) {
		all = slices.Concat(all[:3], t.statisticsColumns(rows), all[len(all)-1:])
	}
	// Evidence has its own numbers in place of the trend.
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

// shown reports whether it is a row, not a gap.
func (r aroundRow) shown() bool { return r.Row != nil }

// hasStatistics reports whether statistics of the tensors are known.
func (r aroundRow) hasStatistics() bool { return r.Row != nil && r.Statistics != nil }

// hasEvidence reports whether anything is known of what rounding explains.
func (r aroundRow) hasEvidence() bool {
	return r.Row != nil && r.Evidence != nil && r.Evidence.Class != ""
}

// shortNames are the names of operators in tables. On a terminal what all of them
// begin with is left out.
type shortNames struct{ prefix string }

// shortPrefix is the shortest beginning that is worth to be left out.
const shortPrefix = 8

// shortNamesOf finds what the names of rows begin with: whole parts of names.
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
	prefix = prefix[:strings.LastIndexAny(prefix, separators)+1]
	if len(prefix) < shortPrefix || slices.ContainsFunc(rows, func(row *record.Row) bool { return row.Op == prefix }) {
		return shortNames{}
	}
	return shortNames{prefix}
}

// of names a row.
func (n shortNames) of(row *record.Row) string { return strings.TrimPrefix(rowLabel(row), n.prefix) }

// inRound names a row with its round.
func (n shortNames) inRound(row *record.Row) string {
	if row.Round == "" {
		return n.of(row)
	}
	return n.of(row) + "@" + row.Round
}
