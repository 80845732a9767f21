package report

import (
	"encoding/csv"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare"
	"dumptool/internal/compare/engine"
	"dumptool/internal/tensor"
)

// algorithms are the metrics of msaccucmp, in the order of its indexes.
var algorithms = []string{"CosineSimilarity", "MaxAbsoluteError", "AccumulatedRelativeError", "RelativeEuclideanDistance",
	"KullbackLeiblerDivergence", "StandardDeviation", "MeanAbsoluteError", "RootMeanSquareError", "MaxRelativeError", "MeanRelativeError"}

// notANumber is msaccucmp's cell for what does not exist.
const notANumber = "NaN"

// WriteCompareMsaccucmp writes a table with the columns of msaccucmp. A side has
// its column Address unless all of its files are .npy, as there; addresses are
// not kept, so that its cells are NaN. Index counts operators from 1. A side that
// is missing is *.
//
// The numbers are those of msaccucmp where it is right. Where it drops elements
// whose golden value is 0, or overflows, they are the true ones: NaN for what is
// undefined, inf for the distance from a golden tensor of zeros. The divergence is
// NaN where the report does not have it.
func WriteCompareMsaccucmp(w io.Writer, r *compare.Report) error {
	npuAddress := slices.ContainsFunc(r.Rows, func(row compare.Row) bool { return isDump(row.NPUFile) })
	refAddress := slices.ContainsFunc(r.Rows, func(row compare.Row) bool { return isDump(row.RefFile) })
	side := func(name, dtype, address string, has bool) []string {
		if has {
			return []string{name, dtype, address}
		}
		return []string{name, dtype}
	}
	out := csv.NewWriter(w)
	columns := slices.Concat([]string{"Index", "OpType"}, side("NPUDump", "DataType", "Address", npuAddress),
		side("GroundTruth", "DataType", "Address", refAddress), []string{"TensorIndex", "Shape", "OverFlow"}, algorithms, []string{"CompareFailReason"})
	if err := out.Write(columns); err != nil {
		return err
	}
	index := 0
	for i := range r.Rows {
		row := &r.Rows[i]
		if i == 0 || row.Op != r.Rows[i-1].Op || row.Round != r.Rows[i-1].Round {
			index++
		}
		npu, ref := "*", "*"
		if row.Status != compare.UnmatchedRef {
			npu = guard(npuName(row))
		}
		if row.Status != compare.UnmatchedNPU {
			ref = guard(row.Op)
		}
		kind := row.Kind
		if kind == "" {
			kind = "output"
		}
		cells := slices.Concat([]string{strconv.Itoa(index), orNaN(guard(row.OpType))},
			side(npu, dtypeText(row.NPUDType), notANumber, npuAddress), side(ref, dtypeText(row.RefDType), notANumber, refAddress),
			[]string{guard(npuName(row) + ":" + kind + ":" + strconv.Itoa(row.Output)), "[" + shownShape(row).Join(",") + "]"},
			accuracyCells(row, r.KLD[i]))
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// isDump reports whether a file is none of .npy; a tensor may follow its name.
func isDump(file string) bool {
	return file != "" && !strings.HasPrefix(strings.ToLower(filepath.Ext(file)), ".npy")
}

// npuName is the operator's name on the NPU side.
func npuName(row *compare.Row) string {
	if row.NPUOp != "" {
		return row.NPUOp
	}
	return row.Op
}

func orNaN(text string) string {
	if text == "" {
		return notANumber
	}
	return text
}

func dtypeText(d tensor.DType) string {
	if d == tensor.Undefined {
		return notANumber
	}
	return d.String()
}

// shownShape is the shape that was compared, else that of a side.
func shownShape(row *compare.Row) tensor.Shape {
	switch {
	case row.Shape != nil:
		return row.Shape
	case row.NPUShape != nil:
		return row.NPUShape
	}
	return row.RefShape
}

// accuracyCells are the cells of a row from OverFlow to CompareFailReason.
func accuracyCells(row *compare.Row, kld engine.Metric) []string {
	cells := make([]string, 0, len(algorithms)+2)
	if !row.Compared() {
		for range len(algorithms) + 1 {
			cells = append(cells, notANumber)
		}
		code, _ := skipCode(row)
		return append(cells, printable(code+": "+whyNot(row)))
	}
	r := row.Result
	a := accuracyOf(r)
	reason := ""
	if !a.cosine.Defined && r.Total > 0 {
		reason = "[CosineSimilarity] one side is all zero"
		if r.BothFinite() < r.Total {
			reason = "[CosineSimilarity] a side has a NaN or an infinity"
		}
	}
	cells = append(cells, overflowCell(r), fixed(a.cosine), fixed(a.maxAbs), fixed(a.accRel), fixed(a.red), fixed(a.kld(kld)),
		spread(&r.NPU)+","+spread(&r.Ref), fixed(a.meanAbs), fixed(a.rmse), fixed(a.maxRel), fixed(a.meanRel))
	return append(cells, reason)
}

// overflowCell tells whether a float16 tensor of the NPU reaches the end of its
// range.
func overflowCell(r *engine.Result) string {
	switch {
	case r.NPUDType != tensor.Float16:
		return notANumber
	case r.NPU.Saturated+r.NPU.PosInf+r.NPU.NegInf > 0:
		return "YES"
	}
	return "NO"
}

// fixed prints a metric with 6 decimals.
func fixed(m engine.Metric) string {
	switch {
	case !m.Defined || math.IsNaN(m.Value):
		return notANumber
	case math.IsInf(m.Value, 0):
		return compare.FormatFloat(m.Value)
	case math.Abs(m.Value) >= manyDigits:
		return strconv.FormatFloat(m.Value, 'e', 6, 64)
	}
	return strconv.FormatFloat(m.Value, 'f', 6, 64)
}

// spread prints mean and standard deviation of one side, with what is below
// 0.001 as 0.
func spread(s *engine.SideStats) string {
	mean, std := s.Mean, s.Std
	switch {
	case s.NaN > 0 || s.PosInf > 0 && s.NegInf > 0:
		mean, std = engine.Metric{}, engine.Metric{}
	case s.PosInf+s.NegInf > 0:
		sign := 1
		if s.NegInf > 0 {
			sign = -1
		}
		mean, std = engine.Metric{Value: math.Inf(sign), Defined: true}, engine.Metric{}
	}
	return "(" + thousandths(mean) + ";" + thousandths(std) + ")"
}

// thousandths prints a number with 3 decimals.
func thousandths(m engine.Metric) string {
	switch {
	case !m.Defined:
		return notANumber
	case math.IsInf(m.Value, 0):
		return compare.FormatFloat(m.Value)
	case math.Abs(m.Value) < 0.001:
		return "0.000"
	case math.Abs(m.Value) >= manyDigits:
		return strconv.FormatFloat(m.Value, 'e', 6, 64)
	}
	return strconv.FormatFloat(m.Value, 'f', 3, 64)
}
