package conclude

import (
	"math"

	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/record"
	"dumptool/internal/compare/statistics"
	"dumptool/internal/compare/verdict"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
	"dumptool/internal/recompute"
)

// powers are sizes of faults, relative to the root mean square of a tensor. A report shows the smallest size that
// would have been seen in at least powerShare (0 to 1) of the rows.
var powers = [...]float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, record.MostPower}

const powerShare = 0.9

// newMeaning returns the facts that qualify the verdict: whether it proves anything; for a verdict by evidence
// also whether the runs had equal inputs, how small a fault would have been seen, how much of the network was
// compared, and notes.
func newMeaning(rep *record.Report, s *sumTotals) (m record.Meaning) {
	if rep.Interrupted {
		return m
	}
	if rep.Standard == "" && (rep.Verdict == string(limits.ByEvidence) || rep.Verdict == string(limits.ByStatistics)) {
		addEvidenceFacts(rep, &m, s)
	}
	m.NoNumbers = s.empty + s.nan
	if m.NoVerdict.IsZero() && m.NoNumbers > 0 && m.NoNumbers == s.judged {
		m.NoVerdict = s.noNumbers()
	}
	proof := s.judged > 0 && m.NoVerdict.IsZero() && (rep.Counts[record.Fail] > 0 || m.Power == nil || isProof(m.Power))
	m.Proof = &proof
	return m
}

// minJudged: in a comparison of fewer tensors a single judged tensor suffices as a proof.
const minJudged = 20

// isProof reports whether a run without a fault proves something: faults of 30 % would have been seen in
// at least half of the tensors.
func isProof(p *record.Power) bool {
	return p.Judged > 0 && (p.Of < minJudged || 2*p.Judged >= p.Of)
}

// noNumbers describes compared tensors without a number: empty, or NaN everywhere.
func (s *sumTotals) noNumbers() lang.Sentence {
	switch {
	case s.nan == 0:
		return lang.Say("%s empty", tensorsAreText(s.empty))
	case s.empty == 0:
		return lang.Say("%s NaN everywhere on both sides", tensorsAreText(s.nan))
	}
	return lang.Say("%d tensors: %d empty, %d NaN everywhere on both sides", s.judged, s.empty, s.nan)
}

// addEvidenceFacts adds the facts about a verdict by evidence or by statistics.
func addEvidenceFacts(rep *record.Report, m *record.Meaning, s *sumTotals) {
	m.Operators = &record.Operators{Reference: len(s.refOps), NPU: len(s.npuOps), Compared: len(s.comparedOps)}
	if rep.Verdict == string(limits.ByEvidence) {
		m.Inputs, m.Power = &s.inputs, s.powerOf(rep)
	}
	addStart(rep, m)
	if row := s.rounded; row != nil {
		_, by := row.Noise.Apart.Count()
		m.Notes = append(m.Notes, lang.Say("%s numbers on one side and float32 on the other in %s, first %s", by, lang.CountText(s.kinds["rounded"], "input"), row.TensorName()))
	}
	for _, note := range [...]struct{ kind, noun, en string }{
		{"convolutions", "convolution", "HF32: inputs are rounded to 11 bits by %s (torch_npu.npu.conv.allow_hf32)"},
		{"products", "matrix product", "HF32: inputs are rounded to 11 bits by %s (torch_npu.npu.matmul.allow_hf32)"},
		{"RANDOM", "tensor", "different random numbers in %s: the seeds differ; later operators are judged by their actual inputs"},
		{"INDEX_TIE", "tensor", "different indices in %s, pointing to values that are equal except for rounding"},
		{"POLE", "tensor", "NaN or infinities in %s follow from the rounding of inputs, such as divisors that are 0 in float16: the network needs a wider type there"},
		{"FLIP", "tensor", "a different choice among nearly equal values in %s"},
		{"DRIFTED", "weight", "drifted apart since the runs began: %s; compare their first step"},
		{"TRAINED", "weight", "different since an earlier step, by no more than training changes them: %s"},
		{"INDEX_DIFFERS", "input", "different indices or order of rows in %s, but the operators that read them agree"},
		{"UNWRITTEN", "tensor", "unwritten rows in %s"},
		{"BATCH_MIXED", "tensor", "computed from all rows of batches that differ, not judged: %s"},
		{"UNREAD", "tensor", "different values in %s, only in rows that are never read or are masked"},
		{"left out", "tensor", "elements not judged in %s: the values that select them differ by less than their error"},
	} {
		if n := s.kinds[note.kind]; n > 0 {
			m.Notes = append(m.Notes, lang.Say(note.en, lang.CountText(n, note.noun)))
		}
	}
}

// addStart records whether both runs started from equal data, for rows that are judged by statistics.
func addStart(rep *record.Report, m *record.Meaning) {
	alike, known := true, false
	for _, row := range rep.AllRows() {
		s := row.Statistics
		if known = known || s != nil; s == nil || !finding.Has(row.Reasons, finding.StartedApart) || !row.IsOrigin() {
			continue
		}
		alike = false
		start := record.Start{Op: row.Op, Tensor: s.Place(row), Parameter: row.Evidence.Kind != statistics.StartInput, Why: row.Reasons[0].Evidence}
		if row.Evidence.Kind == statistics.StartUpdate {
			start.Updated, start.Round = true, row.Round
		}
		m.Start = append(m.Start, start)
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

// addEvidence counts the evidence of a row by kind.
func (s *sumTotals) addEvidence(row *record.Row, e *record.Evidence) {
	switch {
	case !e.Start || row.Noise == nil:
	case row.Noise.RMS == 0 && row.Noise.NonFinite == 0:
		s.inputs.Equal++
	case row.IsOrigin() || e.Kind == verdict.Renumbered.String():
		s.inputs.Differ++
	default:
		s.inputs.Rounding++
	}
	kind := e.Kind
	if a := row.Noise; kind == "COARSE" && a != nil && a.Apart != nil {
		kind = "rounded"
		if s.rounded == nil {
			s.rounded = row
		}
	}
	if e.HF32 {
		if kind = "products"; recompute.TypeOfOperator(row.OpType, row.Op).Form == optype.Convolution {
			kind = "convolutions"
		}
	}
	if e.LeftOut > 0 {
		kind = "left out"
	}
	s.kinds[kind]++
}

// addPower adds the smallest fault that would have been seen in a row, unless the row is an origin or damaged by one.
func (s *sumTotals) addPower(row int, e *record.Evidence) {
	if e.Level == record.IsOrigin || len(e.FedBy) > 0 || !e.Power.IsDefined() {
		return
	}
	s.power.Of++
	if e.Judged {
		s.power.Judged++
		s.deepest = max(s.deepest, row)
	}
	for i, size := range powers {
		if e.Power.Value() <= size {
			s.detected[i]++
		}
	}
}

// powerOf returns the smallest fault that would have been seen in most of the rows that addPower counted.
func (s *sumTotals) powerOf(rep *record.Report) *record.Power {
	p := s.power
	if p.Of == 0 {
		return nil
	}
	if s.deepest >= 0 {
		p.Deepest = rep.Row(s.deepest).Name()
	}
	for i, size := range powers {
		p.Size = size
		p.Share = math.Floor(100*float64(s.detected[i])/float64(p.Of)) / 100
		if float64(s.detected[i]) >= powerShare*float64(p.Of) {
			break
		}
	}
	return &p
}
