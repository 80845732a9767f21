package compare

import (
	"math"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
)

// powers are the sizes of faults of which a report says in how many rows they would have
// been seen, and powerShare is the share of the rows that is enough.
var powers = [...]float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, record.MostPower}

const powerShare = 0.9

// meaning is what there is to know about the verdict by evidence: whether what came in was
// the same, how small a fault would have been seen, how much of the network was compared,
// and what else changes how to read it.
func meaning(rep *record.Report) (m record.Meaning) {
	if rep.Interrupted || rep.Verdict != string(ByEvidence) && rep.Verdict != string(ByStatistics) || rep.Standard != "" {
		return m
	}
	m.Operators = operatorsOfReport(rep)
	if rep.Verdict == string(ByEvidence) {
		m.Inputs, m.Power = &record.Inputs{}, powerOf(rep)
	}
	addStart(rep, &m)
	counts := map[string]int{}
	for _, row := range rep.All() {
		e := row.Evidence
		if e == nil {
			continue
		}
		switch {
		case !e.Start || row.Noise == nil || m.Inputs == nil:
		case row.Noise.RMS == 0 && row.Noise.NonFinite == 0:
			m.Inputs.Equal++
		case row.IsOrigin():
			m.Inputs.Differ++
		default:
			m.Inputs.Rounding++
		}
		kind := e.Kind
		if e.HF32 {
			if kind = "products"; optype.OfOperator(row.OpType, row.Op).Form == optype.Convolution {
				kind = "convolutions"
			}
		}
		if e.LeftOut > 0 {
			kind = "left out"
		}
		counts[kind]++
	}
	for _, note := range [...]struct{ kind, en, zh string }{
		{"convolutions", "HF32: %d convolutions round their inputs to 11 bits (torch_npu.npu.conv.allow_hf32)", "HF32：%d 个卷积将输入舍入到 11 位(torch_npu.npu.conv.allow_hf32)"},
		{"products", "HF32: %d products of matrices round their inputs to 11 bits (torch_npu.npu.matmul.allow_hf32)", "HF32：%d 个矩阵乘将输入舍入到 11 位(torch_npu.npu.matmul.allow_hf32)"},
		{"RANDOM", "%d tensors hold other random numbers: the seeds differ; what follows is judged by its actual inputs", "%d 个张量的随机数不同：两侧种子不同；其后的算子按实际输入判定"},
		{"INDEX_TIE", "indices of %d tensors differ among numbers that are the same but for rounding", "%d 个张量的索引不同，其指向的数值仅有舍入差异"},
		{"FLIP", "%d tensors hold another choice among values that nearly tie", "%d 个张量在近乎相等的值之间作了不同选择"},
		{"DRIFTED", "%d weights have drifted apart since the runs began: compare their first step", "%d 个权重自运行开始后逐渐偏离：请比对第一个 step"},
		{"UNREAD", "%d tensors differ in rows that nothing reads", "%d 个张量在未被读取的行上不同"},
		{"left out", "%d tensors have elements that are not judged: what selects them is within its own error", "%d 个张量含未判定的元素：选择它们的数值在自身误差之内"},
	} {
		if n := counts[note.kind]; n > 0 {
			m.Notes = append(m.Notes, lang.Sayf(note.en, note.zh, n))
		}
	}
	return m
}

// addStart adds whether the runs started alike, of rows that are judged by statistics.
func addStart(rep *record.Report, m *record.Meaning) {
	alike, known := true, false
	for _, row := range rep.All() {
		s := row.Statistics
		if known = known || s != nil; s == nil || !record.Has(row.Reasons, record.StartedApart) || !row.IsOrigin() {
			continue
		}
		alike = false
		m.Start = append(m.Start, record.Start{Op: row.Op, Tensor: s.Tensor, Parameter: row.Evidence.Kind == "parameter", Why: row.Reasons[0].Evidence})
	}
	if known {
		m.StartedAlike = &alike
	}
	for i := range rep.Rounds {
		if why := rep.Rounds[i].NoVerdict; !why.IsZero() && rep.Counts[record.Fail] == 0 && m.NoVerdict.IsZero() {
			m.NoVerdict = why
		}
	}
}

// powerOf says how small a fault would have been seen in rows that no origin damaged.
func powerOf(rep *record.Report) *record.Power {
	var p record.Power
	var seen [len(powers)]int
	for _, row := range rep.All() {
		e := row.Evidence
		if e == nil || e.Level == record.IsOrigin || len(e.FedBy) > 0 || !e.Power.Defined {
			continue
		}
		p.Of++
		if e.Judged {
			p.Judged++
			p.Deepest = row.Name()
		}
		for i, size := range powers {
			if e.Power.Value <= size {
				seen[i]++
			}
		}
	}
	if p.Of == 0 {
		return nil
	}
	for i, size := range powers {
		p.Size = size
		p.Share = math.Floor(100*float64(seen[i])/float64(p.Of)) / 100
		if float64(seen[i]) >= powerShare*float64(p.Of) {
			break
		}
	}
	return &p
}

// operatorsOfReport counts the operators of both sides, and those of which a tensor was
// compared.
func operatorsOfReport(rep *record.Report) *record.Operators {
	var refs, npus, both = map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, row := range rep.All() {
		if row.Pair.Status == record.Skip {
			continue
		}
		if row.RefFile != "" {
			refs[row.Op] = true
		}
		if row.NPUFile != "" {
			npus[row.Op] = true
		}
		if row.Judged() {
			both[row.Op] = true
		}
	}
	return &record.Operators{Reference: len(refs), NPU: len(npus), Compared: len(both)}
}
