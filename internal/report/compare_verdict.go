package report

import (
	"io"
	"slices"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/ranks"
	"dumptool/internal/tensor"
)

// verdictOf returns the verdict of a run with doubts: compared steps that differ, and sides that
// are identical.
func verdictOf(r *record.Report) lang.Sentence {
	text := verdictAlone(r)
	if f := firstOfRanks(r); f != nil {
		text = verdictOfRanks(f, text)
	}
	if differ := otherSteps(r); !differ.IsZero() {
		text = lang.Sayf("%s; %s", "%s；%s", text, differ)
	}
	if sameBits(r) {
		text = lang.Sayf("%s; both sides hold the same bits in every tensor", "%s；两侧每个张量的数据逐位相同", text)
	}
	return text
}

// ranksOf returns the findings between ranks, nil for none.
func ranksOf(r *record.Report) *ranks.Report {
	if r.Ranks == nil {
		return nil
	}
	all, err := ranks.Read(r.Ranks)
	if err != nil {
		return nil // a document of another version
	}
	return all
}

// firstOfRanks returns the first finding between ranks, nil for none.
func firstOfRanks(r *record.Report) *ranks.Finding {
	all := ranksOf(r)
	if all == nil || all.Found() == 0 || r.Interrupted {
		return nil
	}
	return all.Findings[0]
}

// verdictOfRanks returns a verdict that begins with a finding between ranks.
func verdictOfRanks(f *ranks.Finding, rest lang.Sentence) lang.Sentence {
	t := rest.Text()
	en, fails := strings.CutPrefix(t.EN, "FAIL: ")
	if zh, ok := strings.CutPrefix(t.ZH, "FAIL："); ok && fails {
		return lang.Sayf("FAIL: %s; %s", "FAIL：%s；%s", f.Said(), lang.Text{EN: en, ZH: zh})
	}
	return lang.Sayf("FAIL: %s; beside the reference: %s", "FAIL：%s；与标杆相比：%s", f.Said(), rest)
}

// otherSteps says that rounds of different steps are compared.
func otherSteps(r *record.Report) lang.Sentence {
	n := 0
	var text lang.Sentence
	for i := range r.Rounds {
		ref, npu := r.Rounds[i].RefAt.Step, r.Rounds[i].At.Step
		if ref == "" || npu == "" || ref == npu {
			continue
		}
		if n++; n == 1 {
			text = lang.Sayf("step %s of the NPU beside step %s of the reference", "NPU 的 step %s 与标杆的 step %s 比对", npu, ref)
		}
	}
	if n > 1 {
		text = lang.Sayf("%s, and %d more rounds of different steps", "%s，另有 %d 个轮次的 step 不同", text, n-1)
	}
	return text
}

// sameBits reports whether all compared tensors, at least two, have equal digests, and there is
// nothing else to report. If limits decide, such as limits of an exact profile, equal bits are the
// expected result.
func sameBits(r *record.Report) bool {
	n := 0
	if r.Verdict != byEvidence || r.Counts[record.Fail]+r.Counts[record.Warn] > 0 {
		return false
	}
	for _, row := range r.All() {
		switch {
		case !row.Judged() && (row.RefFile == "" || row.NPUFile == ""):
		case !row.Judged() || !row.SameBits() || row.Common != nil:
			return false
		default:
			n++
		}
	}
	return n > 1
}

// verdictAlone returns the verdict of a run: by evidence of a fault, or by limits.
func verdictAlone(r *record.Report) lang.Sentence {
	n, compared := r.Counts, comparedRows(r)
	missed, misses := notCompared(r)
	var tail lang.Sentence
	if misses > 0 {
		tail = lang.Sayf("; %s", "；%s", missed)
	}
	evidence := r.Verdict == byEvidence
	switch left := len(standardRows(r, record.Skip)); {
	case r.Standard != "" && compared > 0:
		return lang.Sayf("%s%s", "%s%s", byStandard(r, compared, misses), tail)
	case r.Standard != "" && misses == 0 && left > 0:
		return lang.Sayf("NOTHING COMPARED: the standard %s could not be applied to %s", "NOTHING COMPARED：标准 %s 无法适用于 %s", r.Standard, tensors(left))
	case n[record.Fail] > 0 && evidence && !r.Interrupted: // an interrupted run is not judged
		return lang.Sayf("%s%s%s", "%s%s%s", faults(r), firstRound(r), tail)
	case r.Verdict == byStatistics && compared > 0 && !r.Interrupted:
		return lang.Sayf("%s%s%s", "%s%s%s", byFewNumbers(r, compared), firstRound(r), tail)
	case n[record.Fail] > 0:
		return lang.Sayf("%s%s%s%s", "%s%s%s%s", failures(r, compared), firstRound(r), besideLimits(r), tail)
	case misses > 0 && misses == n[record.Error]:
		return lang.Sayf("ERROR: %s", "ERROR：%s", missed)
	case misses > 0 && misses == n[record.Ambiguous] && compared == 0:
		return lang.Sayf("NOTHING COMPARED: %s", "NOTHING COMPARED：%s", missed)
	case misses > 0:
		return lang.Sayf("FAIL: %s", "FAIL：%s", missed)
	case r.Len() == 0:
		return lang.Sayf("NOTHING COMPARED: no tensor was chosen", "NOTHING COMPARED：没有选中任何张量")
	case compared == 0:
		return lang.Sayf("NOTHING COMPARED: none of %s has a partner that could be compared", "NOTHING COMPARED：%s均没有可比对的对应张量", tensors(r.Len()))
	case !r.Meaning.NoVerdict.IsZero():
		return noVerdict(r)
	case n[record.Partial] > 0:
		return lang.Sayf("PARTIAL: of %d of %s only a part was compared", "PARTIAL：%d/%s仅比对了一部分", n[record.Partial], tensors(compared))
	case r.LowCoverage() && evidence:
		return lowCoverage(r)
	case evidence && r.Meaning.Unproven():
		return withoutProof(r, compared)
	case evidence:
		return healthy(r, compared)
	case n[record.Warn] > 0:
		return lang.Sayf("PASS with warnings: %s within the limits, %d of them with a warning%s%s", "PASS(有警告)：%s在门限内，其中 %d 个有警告%s%s", all(compared), n[record.Warn], numberless(r), besideLimits(r))
	}
	return lang.Sayf("PASS: %s within the limits%s%s", "PASS：%s在门限内%s%s", all(compared), numberless(r), besideLimits(r))
}

// The verdict modes of reports.
const (
	byEvidence = "evidence"
	byLimits   = "limits"
	// byStatistics is the mode of dumps without elements.
	byStatistics = "statistics"
)

// notCompared describes how many tensors could not be compared, and why.
func notCompared(r *record.Report) (text lang.Sentence, misses int) {
	var missed []lang.Sentence
	for _, status := range []record.Status{record.ShapeMismatch, record.DTypeMismatch, record.Ambiguous, record.Error} {
		if n := r.Counts[status]; n > 0 {
			misses += n
			missed = append(missed, lang.Sayf("%d %s", "%d 个 %s", n, status))
		}
	}
	return lang.Sayf("%s could not be compared (%s)", "%s无法比对(%s)", tensors(misses), lang.Join(missed, comma)), misses
}

// besideLimits describes the evidence beside a verdict by limits.
func besideLimits(r *record.Report) lang.Sentence {
	if r.Verdict != byLimits {
		return lang.Sentence{}
	}
	origins := originsOf(r)
	if len(origins) == 0 {
		return lang.Sayf("; by evidence no operator looks wrong", "；按证据没有算子异常")
	}
	return lang.Sayf("; by evidence it begins at %s", "；按证据始于 %s", originNames(r, origins))
}

// originsOf returns the origins of all rounds, beginning with the findings' round.
func originsOf(r *record.Report) []int {
	type operator struct{ op, round string }
	var rows []int
	first, named := map[int]bool{}, map[operator]bool{} // outputs of one operator are one origin
	add := func(i int) {
		row := r.Row(i)
		rows, first[i] = append(rows, i), true
		if row.Kind == string(tensor.Output) {
			named[operator{row.Op, row.Round}] = true
		}
	}
	for _, i := range r.Origins {
		if i >= 0 && i < r.Len() {
			add(i)
		}
	}
	for i, row := range r.All() {
		if row.IsOrigin() && !first[i] && !(row.Kind == string(tensor.Output) && named[operator{row.Op, row.Round}]) {
			add(i)
		}
	}
	return rows
}

// mostOrigins is the number of origins that a line names.
const mostOrigins = 3

// originNames names origins with their first reasons.
func originNames(r *record.Report, origins []int) lang.Sentence {
	var names []lang.Sentence
	for _, i := range origins[:min(mostOrigins, len(origins))] {
		row := r.Row(i)
		names = append(names, lang.Sayf("%s%s", "%s%s", rowTitle(row), inBrackets(row)))
	}
	list := lang.Join(names, comma)
	if more := len(origins) - mostOrigins; more > 0 {
		list = lang.Sayf("%s and %d more", "%s，另有 %d 个", list, more)
	}
	return list
}

// inBrackets returns the first reason of an origin in brackets.
func inBrackets(row *record.Row) lang.Sentence {
	if len(row.Reasons) == 0 {
		return lang.Sentence{}
	}
	reason := row.Reasons[0]
	return lang.Sayf(" [%s, %s]", " [%s，%s]", reason.Code, confidenceText(reason.Confidence))
}

// faults returns the verdict by evidence on a run with failing rows.
func faults(r *record.Report) lang.Sentence {
	origins := originsOf(r)
	if b := r.Baseline; b != nil && (b.Updated || len(b.Known) > 0) && (b.Updated || len(b.New)+len(b.Worse) == 0) {
		return lang.Sayf("KNOWN FAILURES: %s, all of them in the baseline", "KNOWN FAILURES：%s，均在基线中", originCount(len(origins)))
	}
	damaged := 0 // by all origins together
	for _, row := range r.All() {
		if row.Downstream {
			damaged++
		}
	}
	var text lang.Sentence
	switch {
	case len(origins) == 0:
		text = lang.Sayf("FAIL: %d of %s break a gate", "FAIL：%d/%s未满足附加门槛", r.Counts[record.Fail], tensors(comparedRows(r)))
	case len(r.Rounds) > 1:
		bad := map[string]bool{}
		for _, i := range origins {
			bad[r.Row(i).Round] = true
		}
		text = lang.Sayf("FAIL: %s in %d of %s", "FAIL：%s，位于 %d/%s", originCount(len(origins)), len(bad), rounds(len(r.Rounds)))
	case len(origins) == 1:
		row := r.Row(origins[0])
		text = lang.Sayf("FAIL: %s", "FAIL：%s", oneOrigin(row))
		if a := row.Argument; a != nil && row.FirstCode() != finding.ArgumentsDiffer {
			text = lang.Sayf("%s; also differs: %s is %.100s, %.100s in the reference", "%s；另有不同：%s 为 %.100s，标杆为 %.100s", text, a.Name, a.NPU, a.Ref)
		}
	default:
		text = lang.Sayf("FAIL: %s: %s", "FAIL：%s：%s", originCount(len(origins)), originNames(r, origins))
	}
	switch {
	case damaged > 0 && len(origins) == 1:
		text = lang.Sayf("%s; %s damaged by it", "%s；%s因此受损", text, tensors(damaged))
	case damaged > 0:
		text = lang.Sayf("%s; %s damaged by them", "%s；%s因此受损", text, tensors(damaged))
	}
	if b := r.Baseline; b != nil && len(b.Known) > 0 {
		text = lang.Sayf("%s; %d known to the baseline", "%s；其中 %d 个在基线中", text, len(b.Known))
	}
	return text
}

// originCount formats a number of origins.
func originCount(n int) lang.Text {
	if n == 1 {
		return lang.Text{EN: "1 origin", ZH: "1 个起源"}
	}
	return lang.Sayf("%d independent origins", "%d 个独立的起源", n).Text()
}

// oneOrigin describes the only origin.
func oneOrigin(row *record.Row) lang.Sentence {
	e, code := row.Evidence, row.FirstCode()
	switch {
	case code == finding.OverflowFP16:
		return lang.Sayf("overflow of %s begins at %s", "%s 溢出始于 %s", row.NPUDType, rowTitle(row))
	case code == finding.NPUNaN:
		return lang.Sayf("NaN or infinities begin at %s", "NaN 或 inf 始于 %s", rowTitle(row))
	case code == finding.StartedApart && e != nil && !e.Start:
		return lang.Sayf("the runs did not read the same input, or %s is wrong: its inputs were not dumped", "两侧读取的输入不同，或 %s 有误：其输入未 dump", rowTitle(row))
	case code == finding.StartedApart:
		return lang.Sayf("the runs did not read the same input (or weights): %s differs", "两侧读取的输入(或权重)不同：%s 不一致", rowTitle(row))
	case code == finding.CameIn && row.Kind != string(tensor.Output):
		return lang.Sayf("%s differs, and what made it was not compared", "%s 不同，且产生它的算子未比对", rowTitle(row))
	case code == finding.CameIn:
		return lang.Sayf("the fault is inside %s, in an operator that was not dumped", "故障位于 %s 内部一个未 dump 的算子", rowTitle(row))
	case row.Self.IsWrong() && row.Self.Bad > 0:
		return lang.Sayf("%s%s is wrong by itself: computed again from its own inputs, %d of %d elements differ", "%s%s 自身计算有误：用其自身输入重新计算，%[4]d 个元素中 %[3]d 个不同",
			rowTitle(row), inBrackets(row), row.Self.Bad, row.Self.Elements)
	case row.Self.IsWrong():
		return lang.Sayf("%s%s is wrong by itself: computed again from its own inputs it differs by more than rounding", "%s%s 自身计算有误：用其自身输入重新计算，差异超出舍入", rowTitle(row), inBrackets(row))
	case code == finding.Unwritten:
		return lang.Sayf("%s%s: %s", "%s%s：%s", rowTitle(row), inBrackets(row), row.Reasons[0].Evidence)
	case code == finding.ArgumentsDiffer && row.Argument != nil:
		a := row.Argument
		return lang.Sayf("%s%s was called with %s=%.100s, in the reference with %.100s, and computes what its own inputs say", "%s%s 的调用参数为 %s=%.100s，标杆为 %.100s，其结果与自身输入相符",
			rowTitle(row), inBrackets(row), a.Name, a.NPU, a.Ref)
	case code == finding.ReferenceDiffers || code == finding.InputDiffers:
		return lang.Sayf("%s%s computes what its own inputs say, and differs from the reference: compare inputs, weights and attributes", "%s%s 的结果与其自身输入相符，但与标杆不同：请比对输入、权重和属性", rowTitle(row), inBrackets(row))
	case e == nil || e.Score == 0:
		return lang.Sayf("1 operator is wrong: %s%s", "1 个算子异常：%s%s", rowTitle(row), inBrackets(row))
	case e.Score < 1.5:
		return lang.Sayf("1 operator adds an error of its own: %s%s", "1 个算子引入了自身的误差：%s%s", rowTitle(row), inBrackets(row))
	}
	return lang.Sayf("1 operator adds an error of its own: %s%s, %s x what rounding explains", "1 个算子引入了自身的误差：%s%s，为舍入可解释的 %s 倍",
		rowTitle(row), inBrackets(row), digits(fewDigits)(float64(e.Score)))
}

// noVerdict returns the verdict on a run that cannot be judged.
func noVerdict(r *record.Report) lang.Sentence {
	return lang.Sayf("NO VERDICT: %s", "NO VERDICT：%s", r.Meaning.NoVerdict)
}

// numberless says how many of the compared tensors have no number.
func numberless(r *record.Report) lang.Sentence {
	if r.Meaning.NoNumbers == 0 {
		return lang.Sentence{}
	}
	return lang.Sayf(", %d of them empty or NaN everywhere on both sides", "，其中 %d 个为空或两侧全为 NaN", r.Meaning.NoNumbers)
}

// withoutProof returns the verdict by evidence on a run without faults in which most could not be seen.
func withoutProof(r *record.Report, compared int) lang.Sentence {
	if p := r.Meaning.Power; p != nil && p.Judged > 0 {
		return lang.Sayf("PASS WITHOUT PROOF: no operator looks wrong, but only in %d of %s a fault of less than %d %% would have been seen%s",
			"PASS WITHOUT PROOF：没有算子异常，但在 %[2]s中仅有 %[1]d 个能发现小于 %[3]d %% 的故障%[4]s", p.Judged, tensors(p.Of), int(100*record.MostPower), moreToDump(r))
	}
	return lang.Sayf("PASS WITHOUT PROOF: no operator looks wrong, but in none of %s%s a fault of less than %d %% would have been seen%s",
		"PASS WITHOUT PROOF：没有算子异常，但在 %s%s中均无法发现小于 %d %% 的故障%s", tensors(compared), numberless(r), int(100*record.MostPower), moreToDump(r))
}

// moreToDump says what would let more operators be judged. Inputs are not asked for if some are there.
func moreToDump(r *record.Report) lang.Sentence {
	for _, row := range r.All() {
		if row.Kind == string(tensor.Input) || row.Self != nil {
			return lang.Sayf("; dumptool check says which operators are right by themselves", "；dumptool check 可指出哪些算子自身计算正确")
		}
	}
	return lang.Sayf("; give --graph-file, or dump inputs", "；请提供 --graph-file 或 dump 输入")
}

// healthy returns the verdict by evidence on a run without a fault.
func healthy(r *record.Report, compared int) lang.Sentence {
	rounding, warned := r.Counts[record.Rounding], r.Counts[record.Warn]
	text := lang.Sayf("no operator looks wrong: %s compared", "没有算子异常：已比对 %s", tensors(compared))
	if rounding > 0 {
		share, cosine := worstRounding(r)
		text = lang.Sayf("no operator looks wrong: %d of %s are beyond the limits by rounding only (worst %s %% of the elements, cosine %s)",
			"没有算子异常：%d/%s仅因舍入超出门限(最差 %s %% 的元素，余弦相似度 %s)", rounding, tensors(compared), digits(fewDigits)(100*share), cosineText(cosine))
	}
	text = lang.Sayf("%s%s%s%s", "%s%s%s%s", text, numberless(r), comparedShare(r), power(r))
	if warned == 0 {
		return lang.Sayf("PASS: %s", "PASS：%s", text)
	}
	return lang.Sayf("PASS with warnings: %s; WARN %d: %s", "PASS(有警告)：%s；WARN %d：%s", text, warned, warningCounts(r))
}

// lowCoverage returns the verdict if few operators have a partner.
func lowCoverage(r *record.Report) lang.Sentence {
	of := r.Meaning.Operators
	return lang.Sayf("LOW COVERAGE: only %d of %d operators have a partner; of those none looks wrong", "LOW COVERAGE：仅 %d/%d 个算子有对应；其中没有算子异常", of.Compared, min(of.Reference, of.NPU))
}

// comparedShare returns the share of compared operators, if it is low.
func comparedShare(r *record.Report) lang.Sentence {
	of := r.Meaning.Operators
	switch {
	case of == nil || min(of.Reference, of.NPU) == 0:
	case of.Share() < mostUncovered:
		return lang.Sayf(" (%d %% of the operators)", "(占算子的 %d %%)", int(100*of.Share()))
	case float64(of.Compared) < 0.5*float64(max(of.Reference, of.NPU)):
		side := lang.Text{EN: "NPU", ZH: "NPU"}
		if of.Reference > of.NPU {
			side = lang.Text{EN: "reference", ZH: "标杆"}
		}
		return lang.Sayf(" (%d of the %d operators of the %s)", "(%[3]s的 %[2]d 个算子中的 %[1]d 个)", of.Compared, max(of.Reference, of.NPU), side)
	}
	return lang.Sentence{}
}

// mostUncovered is the share of compared operators from which the rest is not mentioned.
const mostUncovered = 0.9

// power says how small a fault would have been seen.
func power(r *record.Report) lang.Sentence {
	p, which := r.Meaning.Power, lang.Text{EN: "them", ZH: "其中"}
	if r.Meaning.NoNumbers > 0 {
		which = lang.Text{EN: "the others", ZH: "其余的"}
	}
	switch {
	case p == nil:
		return lang.Sentence{}
	case p.Share < 0.9:
		return lang.Sayf("; in %d %% of %s faults above %s %% would have been seen", "；%[2]s %[1]d %% 可发现大于 %[3]s %% 的故障", int(100*p.Share), which, digits(fewDigits)(100*p.Size))
	}
	return lang.Sayf("; faults above %s %% would have been seen in %d %% of %s", "；%[3]s %[2]d %% 可发现大于 %[1]s %% 的故障", digits(fewDigits)(100*p.Size), int(100*p.Share), which)
}

// worstRounding returns the largest share of elements beyond the limits and the lowest cosine of
// the rows with status ROUNDING.
func worstRounding(r *record.Report) (share float64, least metrics.Metric) {
	for _, row := range r.All() {
		if row.Status != record.Rounding {
			continue
		}
		result := row.Result
		share = max(share, record.Share(row.Errors, result.Total))
		if c := result.Cosine; c.Defined() && (!least.Defined() || c.Value() < least.Value()) {
			least = c
		}
	}
	return share, least
}

func cosineText(m metrics.Metric) string { return orElse(m, noValue, cosine) }

// warningCounts counts warnings by their first code.
func warningCounts(r *record.Report) lang.Sentence {
	counts := map[finding.Code]int{}
	var codes []finding.Code
	for _, row := range r.All() {
		if row.Status != record.Warn {
			continue
		}
		if len(row.Reasons) == 0 {
			continue
		}
		code := row.Reasons[0].Code
		if counts[code]++; counts[code] == 1 {
			codes = append(codes, code)
		}
	}
	slices.Sort(codes)
	var parts []lang.Sentence
	for _, code := range codes {
		parts = append(parts, lang.Sayf("%s %d", "%s %d", code, counts[code]))
	}
	return lang.Join(parts, comma)
}

// writeCompareJSON writes compare.json with the verdict in a line.
func writeCompareJSON(w io.Writer, r *record.Report) error {
	r.Headline = english.CompareVerdict(r)
	return r.Write(w)
}
