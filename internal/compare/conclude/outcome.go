package conclude

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
)

// SumOptions define failures of the command.
type SumOptions struct {
	// ExitZero suppresses failures in the outcome. Coverage is the required coverage of the
	// reference.
	ExitZero bool
	Coverage Required
}

// Required is the minimum share and the minimum number of reference tensors to compare; Text is
// the user's text.
type Required struct {
	Share   float64
	Tensors int
	Text    string
}

// ParseRequired parses "all", a share such as 0.9 or 90%, or a number of tensors from 2 on.
// Empty means no requirement.
func ParseRequired(text string) (r Required, ok bool) {
	r.Text = text
	plain := strings.TrimSpace(strings.ToLower(text))
	number, percent := strings.CutSuffix(plain, "%")
	v, err := strconv.ParseFloat(number, 64)
	switch {
	case plain == "":
	case plain == "all":
		r.Share = 1
	case err != nil:
		return r, false
	case percent && v >= 0 && v <= 100:
		r.Share = v / 100
	case !percent && v >= 0 && v <= 1:
		r.Share = v
	case !percent && v == float64(int32(v)) && v > 1:
		r.Tensors = int(v)
	default:
		return r, false
	}
	return r, true
}

// Outcome returns the outcome by priority: unreadable tensors, failures,
// coverage.
func (o *Options) Outcome(rep *record.Report) batch.Outcome {
	failOn := o.FailOn
	if !anyPaired(rep) { // without any pair, ambiguous tensors are no failures
		failOn = slices.DeleteFunc(slices.Clone(failOn), func(s record.Status) bool { return s == record.Ambiguous })
	}
	failed, compared, crashed := failures(rep, failOn), 0, 0
	for _, row := range rep.All() {
		if row.Self.IsCrashed() {
			crashed++
		}
		if row.Judged() {
			compared++
		}
	}
	c, want := &rep.Coverage, &o.Coverage
	switch n := rep.Counts[record.Error]; {
	case n > 0 && rep.Unfetched() > 0:
		return batch.Outcomef(batch.Incomplete, "%s could not be read, %d of them since object storage did not answer; %d of %d others failed", "%[1]s无法读取，其中 %[2]d 个因对象存储无应答；其余 %[4]d 个中 %[3]d 个不合格", lang.CountText(n, "tensor", "个张量"), rep.Unfetched(), failed, rep.Len()-n).
			WithHint("the same command line with --resume does just these again", "用同一命令行加 --resume 只重做这些")
	case n > 0:
		return batch.Outcomef(batch.Incomplete, "%s could not be read, %d of %d others failed", "%[1]s无法读取，其余 %[3]d 个中 %[2]d 个不合格", lang.CountText(n, "tensor", "个张量"), failed, rep.Len()-n)
	case slices.ContainsFunc(o.SideFiles.Problems, func(e *sidefile.FileError) bool { return e.Given }):
		return batch.Outcomef(batch.Incomplete, "a file about operators could not be read, %d of %s failed", "一个算子信息文件无法读取，%[2]s中 %[1]d 个不合格", failed, lang.CountText(rep.Len(), "tensor", "个张量"))
	case crashed > 0:
		return batch.Outcomef(batch.Incomplete, "internal error while computing again: %s (please report), %d of %d tensors failed", "重新计算时发生内部错误：%[1]s（请报告），%[3]d 个张量中 %[2]d 个不合格",
			lang.CountText(crashed, "output", "个输出"), failed, rep.Len())
	case failed > 0 && !o.ExitZero:
		return batch.Outcomef(batch.Found, "%d of %d tensors failed", "%[2]d 个张量中 %[1]d 个不合格", failed, rep.Len()).AsShown()
	case foundInRanks(rep) > 0 && !o.ExitZero:
		return batch.Outcomef(batch.Found, "%d findings between ranks", "rank 之间有 %d 个发现", foundInRanks(rep)).AsShown()
	case rep.Baseline != nil && len(rep.Baseline.Missing) > 0:
		return batch.Outcomef(batch.NotCovered, "%s of the baseline missing, such as %s", "缺少基线中的 %s，例如 %s", lang.CountText(len(rep.Baseline.Missing), "tensor", "个张量"), rep.Baseline.Missing[0])
	case c.Reference > 0 && c.Ratio() < want.Share, want.Share > 0 && compared == 0, c.Compared < want.Tensors:
		return batch.Outcomef(batch.NotCovered, "compared %d of %s of the reference, want %s", "标杆 %[2]s中比对了 %[1]d 个，要求 %[3]s", c.Compared, lang.CountText(c.Reference, "tensor", "个张量"), want.Text)
	case compared == 0:
		return NothingCompared(rep, o.Pair.Rounds)
	case !rep.Meaning.NoVerdict.IsZero():
		return batch.Outcomef(batch.Nothing, "no verdict: %s", "无法判定：%s", rep.Meaning.NoVerdict).AsShown()
	case rep.LowCoverage() && want.Text == "":
		of := rep.Meaning.Operators
		return batch.Outcomef(batch.NotCovered, "%d of %d operators have a partner (--require-coverage 0 allows it)", "仅 %d/%d 个算子有对应(--require-coverage 0 可放行)", of.Compared, min(of.Reference, of.NPU)).AsShown()
	case rep.Meaning.Unproven() && want.Text == "":
		return batch.Outcomef(batch.NotCovered, "what was compared proves nothing (--require-coverage 0 allows it)", "比对的内容不足以证明任何结论(--require-coverage 0 可放行)").AsShown()
	}
	return batch.Outcome{}
}

// comparedNames limits the names among which the nearest one is looked for.
const comparedNames = 300

// NothingCompared is the outcome of a run without a pair. If both sides have tensors, their
// names differ.
func NothingCompared(rep *record.Report, rounds plan.Rounds) batch.Outcome {
	c := &rep.Coverage
	skipped, ambiguous := rep.Counts[record.Skip], rep.Counts[record.Ambiguous]
	left := lang.Sayf("%s in the reference, %d in the NPU run only", "标杆有 %s，仅 NPU 侧有 %d 个", lang.CountText(c.Reference, "tensor", "个张量"), len(c.NPUOnly))
	if ambiguous > 0 {
		left = lang.Sayf("%s, %d AMBIGUOUS", "%s，%d 个 AMBIGUOUS", left, ambiguous)
	}
	nothing := func(why lang.Sentence) batch.Outcome {
		return batch.Outcomef(batch.Nothing, "nothing was compared: %s", "没有比对任何张量：%s", why)
	}
	nothingf := func(en, zh string, args ...any) batch.Outcome { return nothing(lang.Sayf(en, zh, args...)) }
	switch {
	case ambiguous > 0 && ambiguous+skipped == rep.Len():
		return nothingf("%s AMBIGUOUS: each has several partners", "%s AMBIGUOUS：各有多个候选", tensorsAre(ambiguous)).
			WithHint("--map-node-dict says which operators belong together", "用 --map-node-dict 指定对应的算子")
	case len(c.RefOnly) > 0 && len(c.NPUOnly) > 0:
		near := slices.MinFunc(c.NPUOnly[:min(len(c.NPUOnly), comparedNames)], func(a, b string) int { return lang.Distance(c.RefOnly[0], a) - lang.Distance(c.RefOnly[0], b) })
		return nothing(left).WithHint("--map-node-dict pairs names that differ, such as %s and %s", "名称不同时用 --map-node-dict 配对，例如 %s 和 %s", c.RefOnly[0], near)
	case rep.Standard != "" && skipped > 0:
		return nothingf("the standard %s could be applied to none of %s", "标准 %s 无法适用于 %s中的任何一个", rep.Standard, lang.CountText(rep.Len(), "tensor", "个张量"))
	case skipped > 0 && skipped == rep.Len():
		return nothingf("all that was found was skipped (%s; --skip-keys, --exclude-node-list)", "全部张量都被跳过(%s；--skip-keys、--exclude-node-list)", lang.CountText(skipped, "tensor", "个张量"))
	case skipped > 0:
		return nothingf("%s skipped, %s", "跳过 %s，%s", lang.CountText(skipped, "tensor", "个张量"), left)
	case rep.Len() == 0 && rounds != (plan.Rounds{}):
		return nothingf("--round %s leaves no tensor", "--round %s 没有选中任何张量", rounds)
	case rep.Len() == 0 && len(c.Rounds) > 0:
		return nothingf("no round of one side is one of the other: %s", "两侧没有相同的轮次：%s", c.Rounds[0]).
			WithHint("--ref-rank, --npu-rank and the like choose one round of each side, whatever they are called", "用 --ref-rank、--npu-rank 等在两侧各选一个轮次，编号可以不同")
	}
	return nothing(left)
}

// failures counts the failing rows that are not damaged by other failures; with a baseline only
// new and worse ones.
func failures(rep *record.Report, failOn []record.Status) int {
	n := 0
	for _, row := range rep.All() {
		fails := slices.Contains(failOn, row.Status) || row.Common != nil && slices.Contains(failOn, record.Rows)
		if fails && !row.Known && !row.Downstream {
			n++
		}
	}
	return n
}

func tensorsAre(n int) lang.Text {
	if n == 1 {
		return lang.Text{EN: "the only tensor is", ZH: "唯一的张量"}
	}
	return lang.Text{EN: fmt.Sprintf("all %d tensors are", n), ZH: fmt.Sprintf("全部 %d 个张量", n)}
}
