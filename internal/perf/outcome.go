package perf

import (
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/lang"
)

// failures counts what got worse since the baseline, empty for nothing: such as
// SLOWER 2, NEW 1. An operator may count more than once.
func (r *Report) failures(f FailOn) string {
	if r.Before == nil {
		return ""
	}
	counts := make(map[string]int)
	for _, o := range r.Operators {
		for _, what := range f.reasons(o) {
			counts[what]++
		}
	}
	const missing = "MISSING"
	if slices.Contains(f, FailMissing) {
		counts[missing] = len(r.Before.Missing)
	}
	var parts []string
	for _, what := range []string{string(Slower), string(RepeatedMoves), string(L1Conflicts), string(IMBConflicts), string(New), missing} {
		if counts[what] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", what, counts[what]))
		}
	}
	return strings.Join(parts, ", ")
}

// Outcome is how reading and comparing ended.
func (r *Report) Outcome(f FailOn) batch.Outcome {
	const shown = 20
	operators := lang.CountText(len(r.Operators), "operator", "个算子")
	var messages []batch.Message
	for i, p := range r.Problems {
		if i == shown {
			messages = append(messages, batch.Errorf("%d more problems (--json lists them)", "另有 %d 个问题（--json 全部列出）", len(r.Problems)-shown))
			break
		}
		messages = append(messages, batch.Errorf("%s", "%s", p))
	}
	o := batch.Outcome{Messages: messages}
	failed := r.failures(f)
	switch {
	case len(r.Problems) > 0:
		o.Kind, o.Text = batch.Incomplete, lang.Sayf("%s read, %s: lines or tables that cannot be used", "已读取 %s，%s：无法使用的行或表", operators, lang.CountText(len(r.Problems), "problem", "个问题"))
	case len(r.Files) == 0:
		o.Kind, o.Text = batch.Nothing, lang.Sayf("no table of operators in %s, want op_perf.csv or op_perf_{core}.csv", "%s 中没有算子性能表，需要 op_perf.csv 或 op_perf_{core}.csv", strings.Join(r.Paths, ", "))
	case len(r.Operators) == 0 && len(r.Hidden) > 0:
		o.Kind, o.Text = batch.Nothing, lang.Sayf("nothing is left: %s left out", "没有剩余：%s均被排除", lang.CountText(len(r.Hidden), "operator", "个算子"))
	case len(r.Operators) == 0:
		o.Kind, o.Text = batch.Nothing, lang.Sayf("no operators in %s", "%s 中没有算子", strings.Join(r.Files, ", "))
	case failed != "":
		o.Kind, o.Text = batch.Found, lang.Sayf("worse than the baseline: %s", "比基线差：%s", failed)
	}
	return o
}
