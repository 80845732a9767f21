package report

import (
	"slices"
	"strings"

	"dumptool/internal/compare/record"
)

// runFacts say what was compared, and how.
func (t Text) runFacts(r *record.Report) []fact {
	c := &r.Coverage
	lines := []string{t.say("%d of %s of the reference compared (%.3g %%)", "标杆中 %d/%s已比对(%.3g %%)", c.Compared, tensors(c.Reference), 100*c.Ratio())}
	lines = append(lines, t.nameLists([]nameList{{t.say("only in the reference", "仅标杆有"), c.RefOnly}, {t.say("only in the NPU run", "仅 NPU 有"), c.NPUOnly},
		{t.say("skipped", "已跳过"), c.Skipped}, {t.say("unread", "未能读取"), c.Unread}, {t.say("rounds of one side only", "仅一侧有的轮次"), c.Rounds},
		{t.say("older files of the same name", "同名的较早文件"), c.Superseded}, {t.say("in op_config.csv only", "仅在 op_config.csv 中"), c.Unused}})...)
	facts := []fact{{label: t.say("Coverage", "覆盖率"), lines: lines},
		{label: t.say("Limits", "门限"), lines: []string{t.say("profile %s, tolerance mode %s, NaN policy %s", "profile %s，判定方式 %s，NaN 策略 %s", r.Profile, r.TolMode, r.NaNPolicy)}}}
	if r.Verdict != "" {
		facts = append(facts, fact{label: t.say("Verdict", "判定"), lines: t.verdictLines(r)})
	}
	if !r.OrderSource.IsZero() {
		facts = append(facts, fact{label: t.say("Order", "执行顺序"), lines: []string{t.of(r.OrderSource)}})
	}
	if guessed := t.guessedAxes(r); len(guessed) > 0 {
		facts = append(facts, fact{label: t.say("Axis order", "轴顺序"), lines: guessed})
	}
	graph := t.of(r.GraphSource)
	switch {
	case graph == "" && unordered(r):
		graph = t.say("unknown", "未知")
	case graph == "" && r.Verdict == byStatistics:
		graph = t.say("tensors of the reference with the same statistics", "标杆中统计量相同的张量")
	case graph == "":
		graph = t.say("unknown, the operator before counts as the input", "未知，以前一个算子作为输入")
		if r.Verdict == byEvidence {
			graph = t.say("unknown, the tensors before count as inputs (--consumer-map tells faults apart better)", "未知，以此前的张量作为输入(--consumer-map 可更好地区分故障)")
		}
		if !orderKnown(r) {
			graph = t.say("unknown", "未知")
		}
	}
	facts = append(facts, fact{label: t.say("Inputs", "输入来源"), lines: []string{graph}})
	if r.Baseline != nil {
		facts = append(facts, t.baselineFact(r))
	}
	if len(r.Warnings) > 0 {
		facts = append(facts, fact{label: t.say("Warnings", "警告"), lines: t.all(r.Warnings)})
	}
	return facts
}

// verdictLines say what tensors fail by.
func (t Text) verdictLines(r *record.Report) []string {
	lines := []string{t.say("by evidence: the errors that operators add beyond what rounding explains", "按证据：算子自身引入的、超出舍入可解释范围的误差")}
	switch {
	case r.Standard != "":
		lines = []string{t.say("by the standard %s for single operators; the limits count error elements only", "按单算子验收标准 %s；门限仅用于统计错误元素", r.Standard)}
	case r.Verdict == byLimits:
		lines = []string{t.say("by limits", "按门限")}
	case r.Verdict == byStatistics:
		lines = nil
	}
	if !r.VerdictWhy.IsZero() {
		lines = append(lines, t.of(r.VerdictWhy))
	}
	if r.Effective != "" {
		lines = append(lines, t.say("the float32 tensors of the NPU hold %s numbers", "NPU 的 float32 张量存放的是 %s 数值", r.Effective))
	}
	return lines
}

// guessedAxes lists the tensors that fit several orders of axes, where another
// than the most likely one counts or the tensor fails, and the flag that decides.
func (t Text) guessedAxes(r *record.Report) []string {
	var lines []string
	for _, row := range r.All() {
		for _, n := range row.Notes {
			note := n.String()
			if strings.Contains(note, "--ref-format") && (row.Status == record.Fail || strings.HasSuffix(note, "decides)")) {
				lines = append(lines, rowInRound(row)+t.say(": ", "：")+t.of(n))
			}
		}
	}
	return firstOf(t, lines, listed, func(line string) string { return line })
}

// unordered reports whether no round has a known execution order.
func unordered(r *record.Report) bool {
	return len(r.Rounds) > 0 && !slices.ContainsFunc(r.Rounds, func(x record.Round) bool { return x.OrderKnown })
}

// baselineFact compares with the baseline.
func (t Text) baselineFact(r *record.Report) fact {
	b := r.Baseline
	lines := slices.Concat([]string{b.File}, t.nameLists([]nameList{{t.say("new failures", "新增失败"), rowLabels(r, b.New)}, {t.say("known and worse", "已知且变差"), rowLabels(r, b.Worse)},
		{t.say("known failures", "已知失败"), rowLabels(r, b.Known)}, {t.say("fixed, update the baseline", "已修复，请更新基线"), rowLabels(r, b.Fixed)},
		{t.say("missing in this run", "本次运行缺失"), b.Missing}}))
	if b.Updated {
		lines = append(lines, t.say("updated", "已更新"))
	}
	return fact{label: t.say("Baseline", "基线"), lines: lines}
}

// nameList is names of what a label says.
type nameList struct {
	label string
	names []string
}

// nameLists are lines about names, for each label that has some.
func (t Text) nameLists(lists []nameList) []string {
	var lines []string
	for _, l := range lists {
		if len(l.names) > 0 {
			lines = append(lines, t.say("%s (%d): %s", "%s(%d)：%s", l.label, len(l.names), t.shortList(l.names)))
		}
	}
	return lines
}

// rowLabels names rows.
func rowLabels(r *record.Report, rows []int) []string {
	var labels []string
	for _, i := range rows {
		if i >= 0 && i < r.Len() {
			labels = append(labels, rowLabel(r.Row(i)))
		}
	}
	return labels
}

// shortList joins names, of which it shows the first ones.
func (t Text) shortList(names []string) string {
	if more := len(names) - listed; more > 0 {
		return strings.Join(names[:listed], ", ") + t.say(" and %d more", "，另有 %d 个", more)
	}
	return strings.Join(names, ", ")
}

// fewDigits are those of numbers in tables of rows.
const fewDigits = 3

// firstCodes are the first codes of the reasons of a row.
func firstCodes(row *record.Row, most int) string {
	return strings.ReplaceAll(codesText(row.Reasons[:min(most, len(row.Reasons))]), ";", ", ")
}

// worstTable is the table of the worst rows, with the first codes of their
// reasons. The numbers are over pairs that are finite on both sides.
func worstTable(r *record.Report, worst []int, names shortNames, codes int) Table[labelled] {
	t := Table[labelled]{Columns: []Column[labelled]{
		words("op", func(row labelled) string { return names.inRound(row.Row) }).titled("OP", "算子"),
		words("status", func(row labelled) record.Status { return row.Status }).titled("STATUS", "状态").ranked(4),
		numbers("errors/total", func(row labelled) string { return ratioText(row.Errors, row.result.Total) }).titled("ERRORS/TOTAL", "错误/总数").ranked(1),
		numbers("max_abs", func(row labelled) string { return orElse(row.result.MaxAbs.Metric, noValue, digits(fewDigits)) }).ranked(3),
		numbers("mean_rel", func(row labelled) string { return orElse(row.result.MeanRel, noValue, digits(fewDigits)) }).ranked(6),
		numbers("cosine", func(row labelled) string { return orElse(row.result.Cosine, noValue, cosine) }).ranked(5),
		words("reason", func(row labelled) string { return firstCodes(row.Row, codes) }).titled("REASON", "原因").ranked(2),
	}}
	for _, i := range worst {
		row := r.Row(i)
		t.Rows = append(t.Rows, labelled{Row: row, result: row.Result})
	}
	return t
}
