package report

import (
	"errors"
	"math"

	"dumptool/internal/compare"
	"dumptool/internal/compare/engine"
	"dumptool/internal/tensor"
)

// known is a metric that is defined.
func known(x float64) engine.Metric { return engine.Metric{Value: x, Defined: true} }

// at is an extreme.
func at(x float64, offset int64) engine.Extreme {
	return engine.Extreme{Metric: known(x), Offset: offset}
}

// float is an element of a floating-point type.
func float(d tensor.DType, x float64) engine.Value { return engine.Value{DType: d, Real: x} }

// pair is a pair of float32 elements.
func pair(offset int64, ref, npu float64) engine.Element {
	e := engine.Element{Offset: offset, Ref: float(tensor.Float32, ref), NPU: float(tensor.Float32, npu), Abs: math.Abs(npu - ref), Rel: math.Abs(npu-ref) / math.Abs(ref)}
	if math.IsInf(e.Abs, 0) {
		e.Abs = math.NaN()
	}
	if math.IsNaN(e.Abs) || ref == 0 || math.IsInf(e.Rel, 0) {
		e.Rel = math.NaN()
	}
	return e
}

// hpaaLimits are those of the profile hpaa.
var hpaaLimits = compare.Limits{Atol: 0.005, Rtol: 0.2, AtolSource: "profile hpaa", RtolSource: "profile hpaa"}

// passing is a row of the first fixture of the HPAA notes: npu 1 2 3 4.5, ref
// 1 2 3 4.
func passing(op string) compare.Row {
	start := pair(0, 1, 1)
	r := &engine.Result{Total: 4, Differ: 1, RefDType: tensor.Float32, NPUDType: tensor.Float16, Start: &start,
		HPAA:   engine.Cells{MaxRel: at(0.125, 3), MeanRel: known(0.03125), Mean: known(2.5), Std: known(math.Sqrt(1.25)), RMS: known(math.Sqrt(7.5))},
		MaxAbs: at(0.5, 3), MeanAbs: known(0.125), RMSE: known(0.25), MSE: known(0.0625), MaxRel: at(0.125, 3), MeanRel: known(0.03125), AccRel: known(0.125),
		RED: known(0.5 / math.Sqrt(30)), Cosine: known(32 / math.Sqrt(30*34.25)), Pearson: known(0.994377),
		Worst: []engine.Element{pair(3, 4, 4.5)},
		Ref:   engine.SideStats{Min: known(1), Max: known(4), Mean: known(2.5), Std: known(math.Sqrt(1.25)), Var: known(1.25), RMS: known(math.Sqrt(7.5))},
		NPU:   engine.SideStats{Min: known(1), Max: known(4.5), Mean: known(2.625), Std: known(1.2930100), Var: known(1.671875), RMS: known(2.926175)}}
	r.Classes[engine.Finite][engine.Finite] = 4
	return compare.Row{Op: op, OpType: "Relu", Kind: "output", Status: compare.Pass, RefFile: "cpu/" + op + ".npy", NPUFile: "npu/" + op + ".npy",
		Rule: "stem", Shape: tensor.Shape{4}, RefDType: tensor.Float32, NPUDType: tensor.Float16, Limits: hpaaLimits, Result: r}
}

// failing is a row of the second fixture: npu 1.3 2 0.004 -0.006, ref 1 2 0 0.
func failing(op string) compare.Row {
	row := passing(op)
	first, last := pair(0, 1, 1.3), pair(3, 0, -0.006)
	errs := engine.Errors{Count: 2, First: &first, Last: &last, MaxAbs: 0.3, SumAbs: 0.306}
	row.Status, row.Shape, row.OpType = compare.Fail, tensor.Shape{2, 2}, "Conv2D"
	row.Reasons = []compare.Reason{{Code: compare.CalcError, Confidence: compare.High, Evidence: "mean_rel of the inputs 0.001 < 0.1, of the output 4.2 > 1"},
		{Code: compare.LimitsBroken, Confidence: compare.High, Evidence: "2 of 4 elements"}}
	row.Errors, row.First = 2, &first
	r := row.Result
	r.Start, r.Beyond = &first, errs
	r.HPAA = engine.Cells{Errors: errs, MaxRel: at(0.3, 0), MeanRel: known(0.15), Mean: known(0.75), Std: known(0.829156197588850), RMS: known(1.118033988749895)}
	r.MaxAbs, r.MeanAbs, r.MaxRel, r.MeanRel, r.AccRel, r.RelUndefined = at(0.3, 0), known(0.0775), at(0.3, 0), known(0.15), known(0.3), 2
	r.Cosine, r.Pearson = known(0.993648), known(0.988877)
	r.Listed = []engine.Element{first, last}
	r.Worst = []engine.Element{first, last, pair(2, 0, 0.004), pair(1, 2, 2)}
	r.Axes = []engine.AxisProfile{{Axis: 0, Size: 2, Fold: 1, Bins: []engine.AxisBin{{Count: 2, Errors: 1, SumAbs: 0.3, SumRel: 0.3}, {Count: 2, Errors: 1, SumAbs: 0.01}}}}
	r.Joint = []engine.JointBin{{Abs: engine.ZeroBin, Ref: 0, Count: 1, MinRef: 2, MaxRef: 2}, {Abs: -1, Ref: 0, Count: 1, MinAbs: 0.3, MaxAbs: 0.3, MinRef: 1, MaxRef: 1}}
	return row
}

// broken is a row whose NPU tensor turned to NaN and infinity: the third fixture.
func broken(op string) compare.Row {
	row := failing(op)
	nan, inf := math.NaN(), math.Inf(1)
	first, last := pair(0, 1, nan), pair(3, 4, -inf)
	row.Shape, row.Errors, row.First = tensor.Shape{4}, 3, &first
	row.Reasons = []compare.Reason{{Code: compare.NPUNaN, Confidence: compare.Medium, Evidence: "3 elements are not finite"}}
	r := row.Result
	r.Start = &first
	r.Beyond, r.Mismatch = engine.Errors{}, engine.Errors{Count: 3, First: &first, Last: &last}
	r.HPAA = engine.Cells{NonFinite: true, Errors: engine.Errors{Count: 3, First: &first, Last: &last, MaxAbs: 65508, SumAbs: 131011},
		MaxRel: at(32751, 1), MeanRel: known(12282.25), Mean: known(2.5), Std: known(math.Sqrt(1.25)), RMS: known(math.Sqrt(7.5))}
	r.Classes = engine.Classes{}
	r.Classes[engine.Finite][engine.Finite], r.Classes[engine.NaN][engine.Finite] = 1, 1
	r.Classes[engine.PosInf][engine.Finite], r.Classes[engine.NegInf][engine.Finite] = 1, 1
	r.NPU.NaN, r.NPU.PosInf, r.NPU.NegInf, r.Overflowed = 1, 1, 1, 3
	r.MaxAbs, r.MaxRel, r.MeanRel, r.Pearson = at(0, 2), at(0, 2), known(0), engine.Metric{}
	r.Listed = []engine.Element{first, pair(1, 2, inf), last}
	r.Worst = r.Listed
	r.Joint = nil
	return row
}

// uncompared is a row without a result.
func uncompared(op string, status compare.Status, reasons ...compare.Reason) compare.Row {
	row := compare.Row{Op: op, Kind: "output", Status: status, Reasons: reasons, RefFile: "cpu/" + op + ".npy", NPUFile: "npu/" + op + ".npy",
		RefShape: tensor.Shape{2, 3}, NPUShape: tensor.Shape{3, 2}, RefDType: tensor.Float32, NPUDType: tensor.Float16}
	switch status {
	case compare.UnmatchedRef:
		row.NPUFile, row.NPUDType, row.NPUShape = "", tensor.Undefined, nil
	case compare.UnmatchedNPU:
		row.RefFile, row.RefDType, row.RefShape = "", tensor.Undefined, nil
	case compare.Error:
		row.Err = errors.New("32 bytes at 0x80, found 7")
	}
	return row
}

// reportOf makes a report of rows, in their order, without findings.
func reportOf(rows ...compare.Row) *compare.Report {
	r := &compare.Report{Profile: "hpaa", NaNPolicy: "strict", TolMode: "isclose", Rows: rows, OrderSource: "names", Counts: map[compare.Status]int{},
		Findings: compare.Findings{FirstBad: -1, FirstDamaged: -1, LastGood: -1, FirstNaN: -1, FirstOverflow: -1, LargestJump: -1}}
	for i := range rows {
		rows[i].Order = i
		r.Counts[rows[i].Status]++
		if rows[i].Status != compare.UnmatchedNPU {
			r.Coverage.Reference++
		}
		if rows[i].Compared() {
			r.Coverage.Compared++
		}
	}
	return r
}

// everything is a report with rows of all statuses and all findings.
func everything() *compare.Report {
	second := failing("net/conv1")
	second.Output = 1
	warned := passing("net/relu1")
	warned.Status = compare.Warn
	warned.Reasons = []compare.Reason{{Code: compare.MarginCode, Confidence: compare.Low, Evidence: "the worst element uses 0.62 of its limit"}}
	part := passing("net/part")
	part.Status = compare.Partial
	r := reportOf(passing("net/input"), warned,
		uncompared("net/pad1", compare.UnmatchedRef),
		uncompared("net/skip", compare.Skip, compare.Reason{Code: compare.SkipKey, Confidence: compare.High, Evidence: "skip key \"skip\""}),
		failing("net/conv1"), second, broken("net/log2"),
		uncompared("net/mat", compare.ShapeMismatch, compare.Reason{Code: compare.LayoutCode, Confidence: compare.Medium, Evidence: "(2, 3) against (3, 2)"}),
		uncompared("net/type", compare.DTypeMismatch), uncompared("net/twin", compare.Ambiguous), uncompared("net/torn", compare.Error), part,
		uncompared("net/fused", compare.UnmatchedNPU),
		uncompared("net/hex", compare.Skip, compare.Reason{Code: compare.BadHex, Evidence: "line 3: \"zz\""}),
		uncompared("net/cat", compare.Error, compare.Reason{Code: compare.MissingPiece, Evidence: "piece 2 of 4"}))
	r.OrderSource, r.GraphSource = "runtime file result/node_runtime.file", "result/consumer_map_dict.file"
	r.Coverage.RefOnly, r.Coverage.NPUOnly, r.Coverage.Skipped = []string{"net/pad1:output:0"}, []string{"net/fused:output:0"}, []string{"net/skip:output:0", "net/hex:output:0"}
	r.Coverage.Unread = []string{"a:output:0", "b:output:0", "c:output:0", "d:output:0", "e:output:0", "f:output:0", "g:output:0"}
	r.Findings = compare.Findings{FirstBad: 4, FirstDamaged: 4, LastGood: 1, Suspects: []int{2, 3}, FirstNaN: 6, FirstOverflow: 6, LargestJump: 4, Jump: 4200, Chain: []int{4, 5, 6}, OutputsBad: true}
	r.Baseline = &compare.BaselineResult{File: "baseline.json", New: []int{4, 5}, Known: []int{6}, Fixed: []int{0}, Missing: []string{"net/gone:output:0"}}
	r.Warnings = []string{"op_config.csv line 3: no such operator"}
	return r
}
