package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/tensor"
)

// statisticsVerdict returns the verdict on a run judged by statistics or digests.
func statisticsVerdict(r *record.Report, compared int) lang.Sentence {
	m := &r.Meaning
	origins, damaged, by := statisticsOrigins(r), 0, availableData(r)
	for _, row := range r.AllRows() {
		if row.Downstream {
			damaged++
		}
	}
	var text lang.Sentence
	switch {
	case len(m.Start) > 0:
		first := m.Start[0]
		text = lang.Say("the runs started from different data: %s %s differs", first.Op, first.Tensor)
		if first.Updated {
			text = lang.Say("training does not explain how a parameter differs: %s %s, %s", first.Op, first.Tensor, first.Round)
		}
		if numbers := startNumbers(r, first); !numbers.IsZero() {
			text = lang.Say("%s: %s", text, numbers)
		}
		if more := len(m.Start) - 1; more > 0 {
			text = lang.Say("%s; and %d more", text, more)
		}
		text = lang.Say("%s. Differences that it causes are not judged", text)
		if len(origins) > 0 {
			text = lang.Say("%s; in addition %s", text, foldedOrigins(r, origins))
		}
		return failingVerdict(r, "FAIL", text)
	case len(origins) == 1:
		row := r.Row(origins[0])
		if row.FirstCode() == finding.CameIn {
			text = lang.Say("judged from %s only, %s", by, cameInText(row))
			break
		}
		text = lang.Say("judged from %s only, 1 operator adds an error of its own: %s%s", by, rowTitle(row), kindInBrackets(row))
		if e := row.Evidence; e != nil && e.Score > 1 {
			text = lang.Say("%s, %s x the error that rounding explains", text, significantDigits(roundFewDigits)(float64(e.Score)))
		}
	case len(origins) > 1:
		text = lang.Say("judged from %s only, %d operators add an error of their own: %s", by, len(origins), foldedOrigins(r, origins))
	case r.Counts[record.Fail] > 0:
		return failingVerdict(r, "FAIL", lang.Say("judged from %s only, %d of %s differ", by, r.Counts[record.Fail], tensors(compared)))
	case !m.NoVerdict.IsZero():
		return noVerdictText(r)
	case r.LowCoverage():
		return lowCoverageVerdict(r)
	default:
		return statisticsPass(r, compared)
	}
	switch {
	case damaged == 1:
		text = lang.Say("%s; %s after it differs", text, tensors(damaged))
	case damaged > 1:
		text = lang.Say("%s; %s after it differ", text, tensors(damaged))
	}
	return failingVerdict(r, "FAIL", lang.Say("%s%s", text, comparedShare(r)))
}

// availableData names the available data: statistics or digests.
func availableData(r *record.Report) lang.Text {
	if r.HasRow(func(row *record.Row) bool { return row.Statistics != nil && row.Statistics.Ref.Max.IsDefined() }) {
		return lang.Text{EN: "max/min/mean/norm"}
	}
	return lang.Text{EN: "digests"}
}

// statisticsPass returns the verdict if nothing looks wrong.
func statisticsPass(r *record.Report, compared int) lang.Sentence {
	differ, infinite, worst := 0, 0, (*record.Row)(nil)
	for _, row := range r.AllRows() {
		if row.Statistics == nil || !row.IsJudged() {
			continue
		}
		if !row.Statistics.Equal() {
			differ++
		}
		if finding.Has(row.Reasons, finding.NPUNaN) {
			infinite++
		}
		if e := row.Evidence; e != nil && e.Judged && (worst == nil || e.Score > worst.Evidence.Score) {
			worst = row
		}
	}
	text := lang.Say("PASS: judged from %s only, no operator looks wrong: %s%s", availableData(r), tensors(compared), numberlessText(r))
	if differ > 0 {
		text = lang.Say("%s, %d differ by rounding", text, differ)
	}
	if worst != nil && worst.Evidence.Score > 0 {
		text = lang.Say("%s (worst B %s at %s)", text, significantDigits(roundFewDigits)(float64(worst.Evidence.Score)), worst.Op)
	}
	if infinite > 0 {
		text = lang.Say("%s; NaN or infinities in %s of the NPU alone", text, tensors(infinite))
	}
	return lang.Say("%s%s", text, comparedShare(r))
}

// statisticsOrigins returns the origins without the tensors in which the runs already started apart.
func statisticsOrigins(r *record.Report) []int {
	return lists.Filter(originsOf(r), func(i int) bool { return !finding.Has(r.Row(i).Reasons, finding.StartedApart) })
}

// startNumbers describes the first statistic that differs in a tensor that differs from the start.
func startNumbers(r *record.Report, s record.Start) lang.Sentence {
	for _, row := range r.AllRows() {
		x := row.Statistics
		if x == nil || row.Op != s.Op || x.Place(row) != s.Tensor {
			continue
		}
		for _, name := range []string{"norm", "max", "min", "mean"} { // in order of preference
			n := record.StatisticNumbers[slices.IndexFunc(record.StatisticNumbers, func(n record.StatisticNumber) bool { return n.Name == name })]
			if ref, npu := n.Of(&x.Ref), n.Of(&x.NPU); ref.IsDefined() && npu.IsDefined() && ref.Value() != npu.Value() {
				form := distinguishingFormat(npu, ref)
				return lang.Say("%s %s, reference %s", name, form(npu.Value()), form(ref.Value()))
			}
		}
		return lang.Sentence{}
	}
	return lang.Sentence{}
}

// kindInBrackets describes the kind of an origin's evidence.
func kindInBrackets(row *record.Row) lang.Sentence {
	if len(row.Reasons) == 0 || row.Evidence == nil {
		return reasonInBrackets(row)
	}
	return lang.Say(" (%s, %s)", row.Evidence.Kind, confidenceText(row.Reasons[0].Confidence))
}

// foldedOrigins names origins; similar origins in other calls of the same function are only
// counted.
func foldedOrigins(r *record.Report, origins []int) lang.Sentence {
	type fold struct{ name, kind string }
	calls := map[fold]int{}
	var names []lang.Sentence
	omitted := 0
	for _, i := range origins {
		row := r.Row(i)
		f := fold{name: strings.Join(strings.FieldsFunc(row.Op, func(r rune) bool { return r >= '0' && r <= '9' || r == '.' }), ".")}
		if row.Evidence != nil {
			f.kind, _, _ = strings.Cut(row.Evidence.Kind, " ")
		}
		if calls[f]++; calls[f] > 1 {
			continue
		}
		if len(names) == maxOrigins {
			omitted++
			continue
		}
		names = append(names, lang.Say("%s%s", rowTitle(row), kindInBrackets(row)))
	}
	list, more := lang.Join(names, comma), -omitted
	for _, n := range calls {
		more += n - 1
	}
	if more += omitted; more > 0 {
		list = lang.Say("%s and %d more calls", list, more)
	}
	if omitted > 0 {
		list = lang.Say("%s and %d more", list, omitted)
	}
	return list
}

// maxStarts limits the listed tensors in which the runs differ from the start.
const maxStarts = 5

// statisticsFacts describes differences from the start, the origins and the next step.
func (t Text) statisticsFacts(r *record.Report) (facts factList) {
	if r.Verdict != statisticsMethod {
		return nil
	}
	facts.add(t.format("Start"), firstLines(t, r.Meaning.Start, maxStarts, func(s record.Start) string {
		kind := ""
		if s.Parameter {
			kind = t.format(" (parameter)")
		}
		return fmt.Sprintf("%s %s%s: %s", s.Op, s.Tensor, kind, t.sentence(s.Why))
	})...)
	origins := statisticsOrigins(r)
	if len(origins) == 0 {
		return facts
	}
	ops, isMsprobe := operatorsWithProducers(r, origins[:min(len(origins), maxStarts)])
	lines := []string{t.format("dump the tensors of %s: elements that changed places do not show in max, min, mean and norm, so the fault may be in the operators that produced the inputs", strings.Join(ops, ", "))}
	if isMsprobe {
		for i := range ops {
			ops[i] = jsonpos.Quote(ops[i])
		}
		lines = append(lines, fmt.Sprintf(`{"task": "tensor", "level": "L1", "rank": [], "step": [], "tensor": {"scope": [], "list": [%s]}}`, strings.Join(ops, ", ")))
	}
	facts.add(t.format("Next"), lines...)
	return facts
}

// operatorsWithProducers returns the operators of rows and those that made their inputs, and whether
// all are calls of msprobe.
func operatorsWithProducers(r *record.Report, rows []int) (ops []string, isMsprobe bool) {
	isMsprobe = true
	for _, i := range rows {
		for _, k := range append([]int{i}, r.Row(i).Inputs...) {
			row := r.Row(k)
			if row.Statistics == nil || row.Statistics.Tensor == "" {
				isMsprobe = false
			}
			if (k == i || !tensor.Kind(row.Kind).IsInput()) && !slices.Contains(ops, row.Op) {
				ops = append(ops, row.Op)
			}
		}
	}
	return ops, isMsprobe
}

// statisticRanks maps statistics to the priorities of their columns in text.
var statisticRanks = map[string]int{"max": 8, "min": 9, "mean": 7, "norm": 3}

// noiseNumbers lists the numbers that decide the status of rows.
var noiseNumbers = []struct {
	name, title string
	of          func(*record.Evidence) metrics.Metric
	rank        int
}{
	{"z", "Z", func(e *record.Evidence) metrics.Metric { return quotient(float64(e.RMS), float64(e.RefRMS)) }, 4},
	{"lambda", "LAMBDA", func(e *record.Evidence) metrics.Metric {
		return metrics.NumberOf(float64(e.Lambda))
	}, 10},
	{"expected", "EXPECTED", func(e *record.Evidence) metrics.Metric {
		return metrics.NumberIf(e.Relative(), e.Judged)
	}, 5},
	{"b", "B", func(e *record.Evidence) metrics.Metric {
		return metrics.NumberIf(float64(e.Score), e.Judged)
	}, 2},
}

// quotient returns the quotient of two numbers, undefined if the divisor is 0.
func quotient(x, size float64) metrics.Metric {
	if size == 0 {
		return metrics.Metric{}
	}
	return metrics.NumberOf(x / size)
}

// statisticsColumns returns the columns of rows judged by statistics or digests, in text.
func (t Text) statisticsColumns(rows []aroundRow) []Column[aroundRow] {
	var all []Column[aroundRow]
	if !slices.ContainsFunc(rows, func(r aroundRow) bool { return r.hasStatistics() && r.Statistics.Ref.Max.IsDefined() }) {
		return append(all, textColumn("digest", func(r aroundRow) string {
			if r.Statistics.Ref.Digest == r.Statistics.NPU.Digest {
				return r.Statistics.Ref.Digest
			}
			return cmp.Or(r.Statistics.Ref.Digest, noValue) + " / " + cmp.Or(r.Statistics.NPU.Digest, noValue)
		}).emptyUnless(aroundRow.hasStatistics).withTitle("DIGEST").withRank(2))
	}
	for _, n := range record.StatisticNumbers {
		if !slices.ContainsFunc(rows, func(r aroundRow) bool {
			return r.hasStatistics() && (n.Of(&r.Statistics.Ref).IsDefined() || n.Of(&r.Statistics.NPU).IsDefined())
		}) {
			continue
		}
		all = append(all, numberColumn(n.Name, func(r aroundRow) string {
			ref, npu := n.Of(&r.Statistics.Ref), n.Of(&r.Statistics.NPU)
			if ref.IsDefined() == npu.IsDefined() && ref.Value() == npu.Value() {
				return metricOr(ref, noValue, fourDigits)
			}
			form := distinguishingFormat(ref, npu)
			return metricOr(ref, noValue, form) + " / " + metricOr(npu, noValue, form)
		}).emptyUnless(aroundRow.hasStatistics).withHeading(strings.ToUpper(n.Name)).withRank(statisticRanks[n.Name]))
	}
	for _, n := range noiseNumbers {
		all = append(all, numberColumn(n.name, func(r aroundRow) string {
			return metricOr(n.of(r.Evidence), "", significantDigits(roundFewDigits))
		}).emptyUnless(aroundRow.hasEvidence).withTitle(n.title).withRank(n.rank))
	}
	return all
}

// statisticsFile is the table of rows judged by statistics or digests.
const statisticsFile = "statistics.csv"

// definedOrEmpty returns the cell of a number, empty if it is undefined.
func definedOrEmpty(m metrics.Metric) any {
	if !m.IsDefined() {
		return ""
	}
	return m
}

// writeStatisticsCSV writes the statistics of both sides for all rows that have them, their
// differences and the part explained by noise.
func writeStatisticsCSV(w io.Writer, r *record.Report, opt Options) error {
	if err := opt.HPAA.writeByteOrderMark(w); err != nil {
		return err
	}
	type row = *record.Row
	columns := []Column[row]{
		textColumn("op_name", func(r row) string { return r.Op }),
		textColumn("tensor", func(r row) string { return r.Statistics.Place(r) }),
		textColumn("status", func(r row) record.Status { return r.Status }),
		textColumn("reason", func(r row) string { return codesText(r.Reasons) }),
		textColumn("shape", func(r row) string { return r.Shape.Join(", ") }),
		textColumn("dtype_ref", func(r row) tensor.DType { return r.RefDType }),
		textColumn("dtype_npu", func(r row) tensor.DType { return r.NPUDType }),
	}
	for _, n := range record.StatisticNumbers {
		columns = append(columns, numberColumn("ref_"+n.Name, func(r row) any { return definedOrEmpty(n.Of(&r.Statistics.Ref)) }),
			numberColumn("npu_"+n.Name, func(r row) any { return definedOrEmpty(n.Of(&r.Statistics.NPU)) }))
	}
	columns = append(columns, textColumn("ref_digest", func(r row) string { return r.Statistics.Ref.Digest }), textColumn("npu_digest", func(r row) string { return r.Statistics.NPU.Digest }))
	for _, n := range noiseNumbers {
		columns = append(columns, numberColumn(n.name, func(r row) any {
			if r.Evidence == nil {
				return ""
			}
			return definedOrEmpty(n.of(r.Evidence))
		}))
	}
	columns = append(columns, textColumn("rank", func(r row) string { return r.RoundCoordinates.Rank }), textColumn("step", func(r row) string { return r.RoundCoordinates.Step }),
		textColumn("script", func(r row) string { return r.Script }), textColumn("modules", modulePath))
	return writeCSV(w, columns, func(yield func(row) bool) {
		for _, row := range r.AllRows() {
			if row.Statistics != nil && row.IsJudged() && !yield(row) {
				return
			}
		}
	})
}
