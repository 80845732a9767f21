package report

import (
	"fmt"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
)

// byStandard is the verdict of an acceptance standard.
func byStandard(r *record.Report, compared, misses int) lang.Sentence {
	n := r.Counts
	var tail lang.Sentence
	if left := len(standardRows(r, record.Skip)); left > 0 {
		tail = lang.Sayf("; the standard could not be applied to %s", "；标准无法适用于 %s", tensors(left))
	}
	switch failed := n[record.Fail]; {
	case failed > 0:
		verb := lang.Text{EN: "do"}
		if failed == 1 {
			verb.EN = "does"
		}
		text := lang.Sayf("%d of %s %s not meet the standard%s", "%d/%s%s不满足标准%s", failed, tensors(compared), verb, tail)
		return orKnown(r, fmt.Sprintf("FAIL (%s)", r.Standard), text)
	case misses > 0 && misses == n[record.Error]:
		return lang.Sayf("ERROR (%s): the standard is met by %s compared%s", "ERROR (%s)：已比对的%s满足标准%s", r.Standard, all(compared), tail)
	case misses > 0:
		return lang.Sayf("FAIL (%s): the standard is met by %s compared%s", "FAIL (%s)：已比对的%s满足标准%s", r.Standard, all(compared), tail)
	case n[record.Partial] > 0:
		return lang.Sayf("PARTIAL (%s): of %d of %s only a part was compared%s", "PARTIAL (%s)：%d/%s仅比对了一部分%s", r.Standard, n[record.Partial], tensors(compared), tail)
	case n[record.Warn] > 0:
		return lang.Sayf("PASS with warnings (%s): %d of %s with a warning%s", "PASS(有警告) (%s)：%d/%s有警告%s", r.Standard, n[record.Warn], tensors(compared), tail)
	}
	return lang.Sayf("PASS (%s): the standard is met by %s%s", "PASS (%s)：%s满足标准%s", r.Standard, all(compared), tail)
}

// standardRows are the rows of a status of which the standard says why, and those that it
// has no elements of.
func standardRows(r *record.Report, status record.Status) []int {
	var rows []int
	for i, row := range r.All() {
		if row.Status == status && (record.Has(row.Reasons, record.NotStandard) || record.Has(row.Reasons, record.StatisticsOnly)) {
			rows = append(rows, i)
		}
	}
	return rows
}

// standardFacts list the tensors that do not meet the standard, and those that it
// cannot be applied to, with the numbers.
func (t Text) standardFacts(r *record.Report) []fact {
	var facts []fact
	for _, list := range []struct {
		label  string
		status record.Status
	}{
		{t.say("Failing", "不满足标准"), record.Fail}, {t.say("To investigate", "需人工分析"), record.Warn}, {t.say("Not judged", "未判定"), record.Skip},
	} {
		if rows := standardRows(r, list.status); len(rows) > 0 {
			facts = append(facts, fact{label: list.label, lines: firstOf(t, rows, compareWorst, func(i int) string {
				row := r.Row(i)
				return rowTitle(row) + t.say(": ", "：") + t.whyNot(row)
			})})
		}
	}
	return facts
}
