package report

import (
	"errors"
	"math"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// known returns a defined metric.
func known(x float64) metrics.Metric { return metrics.NumberOf(x) }

// at returns an extreme.
func at(x float64, offset int64) metrics.Extreme {
	return metrics.Extreme{Metric: known(x), Offset: offset}
}

// float returns an element of a floating-point type.
func float(d tensor.DType, x float64) metrics.Value { return metrics.Value{DType: d, Real: x} }

// pair returns a pair of float32 elements.
func pair(offset int64, ref, npu float64) metrics.Element {
	e := metrics.Element{Offset: offset, Ref: float(tensor.Float32, ref), NPU: float(tensor.Float32, npu), Abs: math.Abs(npu - ref), Rel: math.Abs(npu-ref) / math.Abs(ref)}
	if math.IsInf(e.Abs, 0) {
		e.Abs = math.NaN()
	}
	if math.IsNaN(e.Abs) || ref == 0 || math.IsInf(e.Rel, 0) {
		e.Rel = math.NaN()
	}
	return e
}

// hpaaLimits are the limits of the profile hpaa.
var hpaaLimits = record.Limits{Atol: 0.005, Rtol: 0.2, AtolSource: "profile hpaa", RtolSource: "profile hpaa"}

// passing is a row of the first fixture of the HPAA notes: npu 1 2 3 4.5, ref 1 2 3 4.
func passing(op string) record.Row {
	start := pair(0, 1, 1)
	r := &metrics.Result{Total: 4, Differ: 1, RefDType: tensor.Float32, NPUDType: tensor.Float16, Start: &start,
		HPAA:   metrics.HPAA{MaxRel: at(0.125, 3), MeanRel: known(0.03125), Mean: known(2.5), Std: known(math.Sqrt(1.25)), RMS: known(math.Sqrt(7.5))},
		MaxAbs: at(0.5, 3), MeanAbs: known(0.125), RMSE: known(0.25), MSE: known(0.0625), MaxRel: at(0.125, 3), MeanRel: known(0.03125), AccRel: known(0.125),
		RED: known(0.5 / math.Sqrt(30)), Cosine: known(32 / math.Sqrt(30*34.25)), Pearson: known(0.994377),
		Worst: []metrics.Element{pair(3, 4, 4.5)},
		Ref:   metrics.SideStats{Min: known(1), Max: known(4), Mean: known(2.5), Std: known(math.Sqrt(1.25)), Var: known(1.25), RMS: known(math.Sqrt(7.5))},
		NPU:   metrics.SideStats{Min: known(1), Max: known(4.5), Mean: known(2.625), Std: known(1.2930100), Var: known(1.671875), RMS: known(2.926175)}}
	r.Classes[metrics.Finite][metrics.Finite] = 4
	return record.Row{Op: op, OpType: "Relu", Kind: "output", Pair: record.PairVerdict{Status: record.Pass}, Verdict: record.Verdict{Status: record.Pass}, RefFile: "cpu/" + op + ".npy", NPUFile: "npu/" + op + ".npy",
		Rule: "stem", Shape: tensor.Shape{4}, RefDType: tensor.Float32, NPUDType: tensor.Float16, Limits: hpaaLimits, Result: r}
}

// change changes the result of a row.
func change(row *record.Row, by func(r *metrics.Result)) {
	result := *row.Result
	by(&result)
	row.Result = &result
}

// failing is a row of the second fixture: npu 1.3 2 0.004 -0.006, ref 1 2 0 0.
func failing(op string) record.Row {
	row := passing(op)
	first, last := pair(0, 1, 1.3), pair(3, 0, -0.006)
	errs := metrics.Errors{Count: 2, First: &first, Last: &last, MaxAbs: 0.3, MeanAbs: 0.153}
	row.Pair.Status, row.Status, row.Shape, row.OpType = record.Fail, record.Fail, tensor.Shape{2, 2}, "Conv2D"
	row.Reasons = []finding.Finding{{Code: finding.CalcError, Confidence: finding.High, Evidence: lang.Plain("mean_rel of the inputs 0.001 < 0.1, of the output 4.2 > 1")},
		{Code: finding.BeyondLimits, Confidence: finding.High, Evidence: lang.Plain("2 of 4 elements")}}
	row.Errors, row.First = 2, &first
	r := row.Result
	r.Start, r.Beyond = &first, errs
	r.HPAA = metrics.HPAA{Errors: errs, MaxRel: at(0.3, 0), MeanRel: known(0.15), Mean: known(0.75), Std: known(0.829156197588850), RMS: known(1.118033988749895)}
	r.MaxAbs, r.MeanAbs, r.MaxRel, r.MeanRel, r.AccRel, r.RelUndefined = at(0.3, 0), known(0.0775), at(0.3, 0), known(0.15), known(0.3), 2
	r.Cosine, r.Pearson = known(0.993648), known(0.988877)
	r.Listed = []metrics.Element{first, last}
	r.Worst = []metrics.Element{first, last, pair(2, 0, 0.004), pair(1, 2, 2)}
	r.Axes = []metrics.AxisProfile{{Axis: 0, Size: 2, Fold: 1, Bins: []metrics.AxisBin{{Count: 2, Errors: 1, SumAbs: 0.3, SumRel: 0.3}, {Count: 2, Errors: 1, SumAbs: 0.01}}}}
	return row
}

// broken is a row whose NPU tensor turned to NaN and infinity: the third fixture.
func broken(op string) record.Row {
	row := failing(op)
	nan, inf := math.NaN(), math.Inf(1)
	first, last := pair(0, 1, nan), pair(3, 4, -inf)
	row.Shape, row.Errors, row.First = tensor.Shape{4}, 3, &first
	row.Reasons = []finding.Finding{{Code: finding.NPUNaN, Confidence: finding.Medium, Evidence: lang.Plain("3 elements are not finite")}}
	r := row.Result
	r.Start = &first
	r.Beyond, r.Mismatch = metrics.Errors{}, metrics.Errors{Count: 3, First: &first, Last: &last}
	r.HPAA = metrics.HPAA{NonFinite: true, Errors: metrics.Errors{Count: 3, First: &first, Last: &last, MaxAbs: 65508, MeanAbs: 131011.0 / 3},
		MaxRel: at(32751, 1), MeanRel: known(12282.25), Mean: known(2.5), Std: known(math.Sqrt(1.25)), RMS: known(math.Sqrt(7.5))}
	r.Classes = metrics.Classes{}
	r.Classes[metrics.Finite][metrics.Finite], r.Classes[metrics.NaN][metrics.Finite] = 1, 1
	r.Classes[metrics.PosInf][metrics.Finite], r.Classes[metrics.NegInf][metrics.Finite] = 1, 1
	r.NPU.NaN, r.NPU.PosInf, r.NPU.NegInf, r.Overflowed = 1, 1, 1, 3
	r.MaxAbs, r.MaxRel, r.MeanRel, r.Pearson = at(0, 2), at(0, 2), known(0), metrics.Metric{}
	r.Listed = []metrics.Element{first, pair(1, 2, inf), last}
	r.Worst = r.Listed
	return row
}

// uncompared is a row without a result.
func uncompared(op string, status record.Status, reasons ...finding.Finding) record.Row {
	row := record.Row{Op: op, Kind: "output", Pair: record.PairVerdict{Status: status, Reasons: reasons}, Verdict: record.Verdict{Status: status, Reasons: reasons}, RefFile: "cpu/" + op + ".npy", NPUFile: "npu/" + op + ".npy",
		RefShape: tensor.Shape{2, 3}, NPUShape: tensor.Shape{3, 2}, RefDType: tensor.Float32, NPUDType: tensor.Float16}
	switch status {
	case record.UnmatchedRef:
		row.NPUFile, row.NPUDType, row.NPUShape = "", tensor.Undefined, nil
	case record.UnmatchedNPU:
		row.RefFile, row.RefDType, row.RefShape = "", tensor.Undefined, nil
	case record.Error:
		row.Err = errors.New("32 bytes at 0x80, found 7")
	}
	return row
}

// reportOf makes a report of rows, in their order, without findings.
func reportOf(rows ...record.Row) *record.Report {
	r := &record.Report{Profile: "hpaa", NaNPolicy: "strict", TolMode: "isclose", Rows: rows, OrderSource: lang.Plain("names"), Counts: map[record.Status]int{},
		Findings: record.Findings{FirstBad: -1, FirstDamaged: -1, LastGood: -1, FirstNaN: -1, FirstOverflow: -1, LargestJump: -1}}
	for i := range rows {
		rows[i].Order = i
		r.Counts[rows[i].Status]++
		if rows[i].Status != record.UnmatchedNPU {
			r.Coverage.Reference++
		}
		if rows[i].IsCompared() {
			r.Coverage.Compared++
		}
	}
	return r
}

// everything returns a report with rows of all statuses and all findings.
func everything() *record.Report {
	second := failing("net/conv1")
	second.Output = 1
	warned := passing("net/relu1")
	warned.Status = record.Warn
	warned.Reasons = []finding.Finding{{Code: finding.Margin, Confidence: finding.Low, Evidence: lang.Plain("the worst element uses 0.62 of its limit")}}
	part := passing("net/part")
	part.Status = record.Partial
	r := reportOf(passing("net/input"), warned,
		uncompared("net/pad1", record.UnmatchedRef),
		uncompared("net/skip", record.Skip, finding.Finding{Code: finding.SkipKey, Confidence: finding.High, Evidence: lang.Plain("skip key \"skip\"")}),
		failing("net/conv1"), second, broken("net/log2"),
		uncompared("net/mat", record.ShapeMismatch, finding.Finding{Code: finding.Layout, Confidence: finding.Medium, Evidence: lang.Plain("(2, 3) against (3, 2)")}),
		uncompared("net/type", record.DTypeMismatch), uncompared("net/twin", record.Ambiguous), uncompared("net/torn", record.Error), part,
		uncompared("net/fused", record.UnmatchedNPU),
		uncompared("net/hex", record.Skip, finding.Finding{Code: finding.BadHex, Evidence: lang.Plain("line 3: \"zz\"")}),
		uncompared("net/cat", record.Error, finding.Finding{Code: finding.MissingPiece, Evidence: lang.Plain("piece 2 of 4")}))
	r.OrderSource, r.GraphSource = lang.Plain("runtime file result/node_runtime.file"), lang.Plain("result/consumer_map_dict.file")
	r.Coverage.RefOnly, r.Coverage.NPUOnly, r.Coverage.Skipped = []string{"net/pad1:output:0"}, []string{"net/fused:output:0"}, []string{"net/skip:output:0", "net/hex:output:0"}
	r.Coverage.Unread = []string{"a:output:0", "b:output:0", "c:output:0", "d:output:0", "e:output:0", "f:output:0", "g:output:0"}
	r.Findings = record.Findings{FirstBad: 4, FirstDamaged: 4, LastGood: 1, Suspects: []int{2, 3}, FirstNaN: 6, FirstOverflow: 6, LargestJump: 4, Jump: 4200, Chain: []int{4, 5, 6}, OutputsBad: true}
	r.Baseline = &record.Baseline{File: "baseline.json", New: []int{4, 5}, Known: []int{6}, Fixed: []int{0}, Missing: []string{"net/gone:output:0"}}
	r.Warnings = []lang.Sentence{lang.Plain("op_config.csv line 3: no such operator")}
	return r
}
