package check

import (
	"maps"
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/lang"
	"dumptool/internal/recompute"
)

// conclude sums the rows up.
func (r *Report) conclude() {
	s := &r.Summary
	s.Counts, s.Undecided = map[string]int{}, map[string]int{}
	for _, status := range Statuses {
		s.Counts[status.Key()] = 0
	}
	s.Operators = len(r.Operators)
	var judged, all int64
	for i := range r.Operators {
		o := &r.Operators[i]
		s.Counts[o.Status.Key()]++
		all += o.size
		switch o.Status {
		case recompute.Undecided:
			s.Undecided[o.Reason]++
			continue
		case recompute.Crashed:
			continue
		}
		s.Judged++
		judged += o.size
		if o.Status == recompute.Wrong && s.First == nil {
			s.First = &i
		}
	}
	if all > 0 {
		s.Share = float64(judged) / float64(all)
	}
	if s.Headline = r.withCrashes(r.withOperandBits(r.headline())); r.Interrupted {
		s.Headline = lang.Sayf("INTERRUPTED, so far: %v", "INTERRUPTED，到目前为止：%v", s.Headline)
	}
	s.HeadlineZH = s.Headline.Text().ZH
}

// withCrashes adds the operators at which the program has a bug to a headline: in front of it,
// unless something is wrong.
func (r *Report) withCrashes(headline lang.Sentence) lang.Sentence {
	n := r.Summary.Count(recompute.Crashed)
	if n == 0 {
		return headline
	}
	crashes := lang.Sayf("internal error in %s (please report)", "%s发生内部错误（请报告）", lang.CountText(n, "operator", "个算子"))
	all := []lang.Sentence{crashes, headline}
	if r.Summary.First != nil || !r.ranksHeadline().IsZero() {
		slices.Reverse(all)
	}
	return lang.Join(all, lang.Text{EN: "; ", ZH: "；"})
}

// headline says the most important thing.
func (r *Report) headline() lang.Sentence {
	s := &r.Summary
	wrong, misfit := s.Count(recompute.Wrong), s.Count(recompute.Misfit)
	fine := s.Count(recompute.OK) + s.Count(recompute.Low)
	if h := r.ranksHeadline(); !h.IsZero() {
		return h
	}
	switch {
	case s.Operators == 0 && r.Ranks != nil:
		return r.Ranks.Clean()
	case wrong == 1:
		o := &r.Operators[*s.First]
		return lang.Sayf("WRONG: %s (%s) does not compute what its inputs say: %s", "错误：%s（%s）的结果与其输入不符：%s", o.Op, o.Type, o.differ())
	case wrong > 1:
		o := &r.Operators[*s.First]
		return lang.Sayf("WRONG: %d operators do not compute what their inputs say, first %s (%s)", "错误：%d 个算子的结果与其输入不符，第一个是 %s（%s）", wrong, o.Op, o.Type)
	case 2*s.Judged < s.Operators && r.ranksChecked():
		return lang.Sayf("%s; of their operators only %d of %d could be judged", "%s；其算子中只有 %d/%d 个可以判定", r.Ranks.Clean().Text(), s.Judged, s.Operators)
	case s.Judged == 0 && s.Operators > 0 && s.Count(recompute.Crashed) == 0 && !r.Interrupted:
		why, todo := r.nothing()
		if todo.IsZero() {
			todo = why
		} else {
			todo = lang.Join([]lang.Sentence{why, todo}, lang.Text{EN: "; ", ZH: "；"})
		}
		return lang.Sayf("NOT JUDGED: %v", "未判定：%v", todo)
	case 2*s.Judged < s.Operators:
		return lang.Sayf("NOT JUDGED: only %d of %d operators could be judged%v", "未判定：%[2]d 个算子中只有 %[1]d 个可以判定%[3]v", s.Judged, s.Operators, r.mostFrequent())
	case misfit > 0:
		i := slices.IndexFunc(r.Operators, func(o Operator) bool { return o.Status == recompute.Misfit })
		o := &r.Operators[i]
		return lang.Sayf("OK so far: %d of %d operators compute what their inputs say, %s: %s (no attributes fit; -f GRAPH decides)", "目前正常：%[2]d 个算子中 %[1]d 个的结果与其输入相符，%[3]s：%[4]s（没有属性能解释；用 -f GRAPH 判定）",
			fine, s.Operators, lang.CountText(misfit, "suspect", "个可疑"), o.Op)
	}
	return lang.Sayf("OK: %d of %d operators compute what their inputs say, %d undecided", "正常：%[2]d 个算子中 %[1]d 个的结果与其输入相符，%[3]d 个未判定", fine, s.Operators, s.Count(recompute.Undecided))
}

// mostFrequent is the reason of most operators without a verdict.
func (r *Report) mostFrequent() lang.Text {
	var of string
	for _, reason := range slices.Sorted(maps.Keys(r.Summary.Undecided)) {
		if r.Summary.Undecided[reason] > r.Summary.Undecided[of] {
			of = reason
		}
	}
	why, known := reasons[recompute.Reason(of)]
	if of == "" || !known {
		return lang.Text{}
	}
	n := r.Summary.Undecided[of]
	return lang.Sayf("; of %d %s", "；其中 %d 个：%s", n, why).Text()
}

// differ says how much of an operator is wrong.
func (o *Operator) differ() lang.Text {
	var bad, all int64
	for _, t := range o.Outputs {
		bad, all = bad+t.Bad, all+t.Elements
	}
	if bad == 0 {
		return lang.Text{EN: o.Reason, ZH: o.Reason}
	}
	return lang.Sayf("%d of %d elements", "%[2]d 个元素中 %[1]d 个", bad, all).Text()
}

// Outcome is how the check ended; reported says that the report is printed for people, who
// see the headline there.
func (r *Report) Outcome(reported bool) batch.Outcome {
	var o batch.Outcome
	found := 0
	for status, n := range r.Summary.Counts {
		if slices.Contains(r.failOn, status) {
			found += n
		}
	}
	found += r.ranksFound()
	unread, crashed := len(r.Problems), r.Summary.Count(recompute.Crashed)
	switch {
	case crashed > 0:
		o = batch.Outcome{Kind: batch.Incomplete, Text: r.Summary.Headline}
	case found > 0 && unread == 0:
		o = batch.Outcome{Kind: batch.Found, Text: r.Summary.Headline}
	case unread > 0:
		o = batch.Outcomef(batch.Incomplete, "%s could not be read", "%s无法读取", lang.CountText(unread, "file", "个文件"))
	case !r.judgeable() && !r.ranksChecked():
		why, todo := r.nothing()
		if o = batch.Outcomef(batch.Nothing, "%v", "%v", why); !todo.IsZero() {
			o = o.WithHint("%v", "%v", todo)
		}
		if len(r.Operators) == 0 {
			o.Messages = r.others
		}
	case r.require > 0 && float64(r.Summary.Judged) < r.require*float64(r.Summary.Operators):
		o = batch.Outcomef(batch.NotCovered, "%d of %d operators were judged, --require-coverage wants %v", "%[2]d 个算子中 %[1]d 个被判定，--require-coverage 要求 %[3]v", r.Summary.Judged, r.Summary.Operators, r.require)
	}
	for i := range r.Operators {
		if one := &r.Operators[i]; one.Status == recompute.Crashed {
			o.Messages = append(o.Messages, batch.Errorf("%s: %s: %v", "%s：%s：%v", one.File, one.Op, one.Said()))
		}
	}
	for _, p := range r.Problems {
		o.Messages = append(o.Messages, batch.Errorf("%s: %v", "%s：%v", p.File, p.Err))
	}
	for _, w := range r.Warnings {
		o.Messages = append(o.Messages, batch.Warnf("%v", "%v", w))
	}
	if reported && o.Kind == batch.Found {
		o = o.AsShown()
	}
	return o
}

// judgeable reports whether an operator has a known type, inputs and outputs.
func (r *Report) judgeable() bool {
	return slices.ContainsFunc(r.Operators, func(o Operator) bool {
		return o.Status != recompute.Undecided || !slices.Contains([]recompute.Reason{recompute.NoType, recompute.NoInputs, recompute.NoOutputs}, recompute.Reason(o.Reason))
	})
}

// nothing says why no operator could be judged, and what to do, zero for nothing.
func (r *Report) nothing() (why, todo lang.Sentence) {
	none := r.Summary.Undecided
	switch {
	case len(r.Operators) == 0 && r.unchosen > 0:
		return lang.Sayf("no operator is left: the chosen names leave out %s", "没有剩余的算子：所选名称排除了%s", lang.CountText(r.unchosen, "operator", "个算子")), todo
	case r.Ranks == nil && len(r.Operators) == 0 && len(r.Rounds) > 0:
		return lang.Sayf("there is one rank only: nothing to set beside it", "只有一个 rank：没有可以相互对照的内容"), todo
	case r.Ranks != nil && len(r.Operators) == 0:
		return lang.Sayf("no communication and no replica of %d ranks could be checked", "%d 个 rank 的通信与副本均无法检查", r.Ranks.World),
			lang.Sayf("that needs tensors, or digests (md5) in dump.json", "这需要张量，或 dump.json 中的摘要（md5）")
	case len(r.Operators) == 0:
		return lang.Sayf("there are no dumps of operators", "没有算子的 dump"),
			lang.Sayf("to see what lies there: %s", "查看其中有什么：%s", lang.CommandLine(append([]string{"inspect"}, lang.PathArguments(r.Paths)...)...))
	case r.tables:
		return lang.Sayf("there are statistics only: check needs tensors", "只有统计量：check 需要张量"), todo
	case none[string(recompute.NoInputs)] == len(r.Operators) && r.outputsOnly():
		return lang.Sayf("the dumps have outputs only (dump_mode output)", "dump 只有输出（dump_mode 为 output）"),
			lang.Sayf(`set "dump_mode": "all"; 'dumptool config explain' says what a configuration dumps`, `请设置 "dump_mode": "all"；'dumptool config explain' 说明配置会 dump 什么`)
	case none[string(recompute.NoType)] > 0:
		todo = lang.Sayf("dumptool check --types lists the types whose formula is known", "dumptool check --types 列出已知公式的类型")
	}
	return lang.Sayf("none of %s could be judged%v", "%s都无法判定%v", lang.CountText(len(r.Operators), "operator", "个算子"), r.mostFrequent()), todo
}

// outputsOnly reports whether no operator has an input.
func (r *Report) outputsOnly() bool {
	return !slices.ContainsFunc(r.Operators, func(o Operator) bool { return len(o.Inputs) > 0 })
}

// Statuses are all of them, the best first.
var Statuses = []recompute.Status{recompute.OK, recompute.Low, recompute.Wrong, recompute.Misfit, recompute.Undecided, recompute.Crashed}

// Count is the number of operators of a status.
func (s *Summary) Count(status recompute.Status) int { return s.Counts[status.Key()] }

// reasons say why operators are undecided.
var reasons = map[recompute.Reason]lang.Sentence{
	recompute.NoType:         lang.Sayf("no formula is known for the type", "该类型没有已知的公式"),
	recompute.NoInputs:       lang.Sayf("inputs were not dumped", "输入未 dump"),
	recompute.NoOutputs:      lang.Sayf("outputs were not dumped", "输出未 dump"),
	recompute.NoDType:        lang.Sayf("an element type has no numbers", "某元素类型不是数值"),
	recompute.NoAttributes:   lang.Sayf("no attributes can be found", "无法确定其属性"),
	recompute.InPlace:        lang.Sayf("the output was written over an input", "输出覆盖了输入"),
	recompute.IllConditioned: lang.Sayf("rounding may change too much of the result", "舍入可能改变结果过多"),
	recompute.InputChanged:   lang.Sayf("an input changed after it was read", "输入在读取后被改变"),
	recompute.InputDiffers:   lang.Sayf("a file is not what dump.json says", "文件与 dump.json 不符"),
	recompute.NotCompared:    lang.Sayf("no formula is known for an output", "某个输出没有已知的公式"),
	recompute.OverBudget:     lang.Sayf("it is too large to be computed in parts", "过大，无法分块计算"),
	recompute.NoReason:       lang.Sayf("no attributes explain it; a graph (-f) decides", "没有属性能解释；需要图（-f）判定"),
}

// Reason says in words why an operator has its status.
func (r *Report) Reason(o *Operator) lang.Sentence {
	if !o.evidence.IsZero() {
		return o.evidence
	}
	return reasons[recompute.Reason(o.Reason)]
}

// Findings are the statuses that --fail-on may name.
var Findings = []string{"wrong", "misfit", "low", "undecided", "weak"}

// Types returns the table of types that can be checked, or the rows with one of some names.
func Types(names ...string) []recompute.Listed { return recompute.List(names...) }
