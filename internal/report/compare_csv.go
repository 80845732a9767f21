package report

import (
	"encoding/csv"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare"
	"dumptool/internal/compare/engine"
	"dumptool/internal/tensor"
)

// CSVOptions say how cpu_vs_npu.csv is written.
type CSVOptions struct {
	// Successor adds the column cos_sim, as later versions of HPAA do.
	Successor bool
	// ExtraColumns adds columns of ours behind those of HPAA.
	ExtraColumns bool
	// BOM puts a byte order mark in front, for spreadsheet programs.
	BOM bool
}

// undefined is the cell of a number that does not exist.
const undefined = "NA"

// cellColumns are the columns of HPAA's table.
var cellColumns = []string{"op_name", "nan/inf", "errors/total", "1st_diff_offset/offset_dim/data_shape", "ref_value", "npu_value",
	"max_abs_err", "mean_abs_err", "max_abs_total", "mean_abs_total", "mean", "std", "rms"}

// extraColumns are those that ExtraColumns adds.
var extraColumns = []string{"status", "reason", "max_abs_all", "mean_abs_all", "pearson", "red", "cos", "rel_undefined", "order", "dtype_ref", "dtype_npu"}

// cosineColumn is the place of cos_sim.
const cosineColumn = 3

// WriteCompareCSV writes cpu_vs_npu.csv: the compared rows, in execution order.
// As the HPAA manual says, max_abs_total and mean_abs_total hold relative
// errors. What is undefined, such as a relative error where the whole reference
// is 0, is NA; what is not finite is nan, inf or -inf.
func WriteCompareCSV(w io.Writer, r *compare.Report, opt CSVOptions) error {
	if opt.BOM {
		if _, err := io.WriteString(w, "\ufeff"); err != nil {
			return err
		}
	}
	out := csv.NewWriter(w)
	columns := slices.Clone(cellColumns)
	if opt.Successor {
		columns = slices.Insert(columns, cosineColumn, "cos_sim")
	}
	if opt.ExtraColumns {
		columns = append(columns, extraColumns...)
	}
	if err := out.Write(columns); err != nil {
		return err
	}
	labels := CompareLabels(r)
	for i := range r.Rows {
		row := &r.Rows[i]
		if !row.Compared() {
			continue
		}
		cells := hpaaCells(row, labels[i])
		if opt.Successor {
			cells = slices.Insert(cells, cosineColumn, metricText(row.Result.Cosine))
		}
		if opt.ExtraColumns {
			cells = append(cells, extraCells(row)...)
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// hpaaCells are the cells of a compared row in HPAA's table.
func hpaaCells(row *compare.Row, label string) []string {
	cells := &row.Result.HPAA
	nonFinite := "False"
	if cells.NonFinite {
		nonFinite = "True"
	}
	place, shown := undefined+"/"+undefined, row.Result.Start
	if first := cells.First; first != nil {
		shown = first
		place = strconv.FormatInt(first.Offset, 10) + "/" + tensor.Shape(compare.Coordinates(row.Shape, first.Offset)).String()
	}
	ref, npu := undefined, undefined
	if shown != nil {
		ref, npu = valueText(shown.Ref), valueText(shown.NPU)
	}
	mean := 0.0
	if cells.Count > 0 {
		mean = cells.SumAbs / float64(cells.Count)
	}
	limits := "(atol=" + compare.FormatFloat(row.Limits.Atol) + ",rtol=" + compare.FormatFloat(row.Limits.Rtol) + ")"
	return []string{guard(label + limits), nonFinite,
		ratioText(cells.Count, row.Result.Total), place + "/" + row.Shape.String(), ref, npu,
		compare.FormatFloat(cells.MaxAbs), compare.FormatFloat(mean), metricText(cells.MaxRel.Metric), metricText(cells.MeanRel),
		metricText(cells.Mean), metricText(cells.Std), metricText(cells.RMS)}
}

// extraCells are the cells of a compared row in columns of ours.
func extraCells(row *compare.Row) []string {
	r := row.Result
	return []string{string(row.Status), codesText(row.Reasons), metricText(r.MaxAbs.Metric), metricText(r.MeanAbs), metricText(r.Pearson),
		metricText(r.RED), metricText(r.Cosine), strconv.FormatInt(r.RelUndefined, 10), strconv.Itoa(row.Order),
		r.RefDType.String(), r.NPUDType.String()}
}

// codesText joins the codes of reasons.
func codesText(reasons []compare.Reason) string {
	codes := make([]string, len(reasons))
	for i, reason := range reasons {
		codes[i] = string(reason.Code)
	}
	return strings.Join(codes, ";")
}

// ratioText prints errors and total as HPAA does.
func ratioText(errors, total int64) string {
	return strconv.FormatInt(errors, 10) + "/" + strconv.FormatInt(total, 10)
}

// metricText prints a metric with all of its digits.
func metricText(m engine.Metric) string { return compare.Number(m).String() }

// valueText prints an element with 6 decimals as HPAA does, or with 9 digits
// where those would make it 0. From 1e15 on it has an exponent. A complex element is printed as 1.000000+2.000000j.
func valueText(v engine.Value) string {
	switch h := v.DType.Host(); {
	case h.Complex():
		imaginary := decimals(v.Imag)
		if imaginary[0] != '-' {
			imaginary = "+" + imaginary
		}
		return decimals(v.Real) + imaginary + "j"
	case isInteger(h):
		return string(compare.ElementValueOf(v)) + ".000000"
	}
	return decimals(v.Real)
}

// isInteger reports whether elements are integers, bools among them.
func isInteger(h tensor.Host) bool {
	switch h {
	case tensor.HostNone, tensor.HostFloat16, tensor.HostFloat32, tensor.HostFloat64:
		return false
	}
	return !h.Complex()
}

// manyDigits is the number from which tables print an exponent: float64 has no
// more digits in front of the decimal point.
const manyDigits = 1e15

// decimals prints a number of HPAA's table.
func decimals(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return compare.FormatFloat(x)
	}
	if math.Abs(x) >= manyDigits {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	text := strconv.FormatFloat(x, 'f', 6, 64)
	if x != 0 && strings.Trim(text, "-0.") == "" {
		return strconv.FormatFloat(x, 'g', 9, 64)
	}
	return text
}

// OpErrors says which elements WriteOpErrors writes.
type OpErrors struct {
	// Count is the most elements, 0 for all that are known.
	Count int
	// Worst takes the elements with the largest errors, the worst first, in
	// place of those with the lowest index.
	Worst bool
	// Mode is the tolerance mode of the run.
	Mode engine.Mode
}

// opErrorColumns are the columns of {op}.csv.
var opErrorColumns = []string{"index", "std_value", "npu_value", "abs_diff", "relative_diff"}

// WriteNoOpErrors writes {op}.csv of an operator without errors: the header.
func WriteNoOpErrors(w io.Writer) error {
	_, err := io.WriteString(w, strings.Join(opErrorColumns, ",")+"\n")
	return err
}

// HasOpErrors reports whether r is an {op}.csv with errors: it begins with
// exactly the header and holds more.
func HasOpErrors(r io.Reader) bool {
	header := strings.Join(opErrorColumns, ",") + "\n"
	start := make([]byte, len(header)+1)
	_, err := io.ReadFull(r, start)
	return err == nil && string(start[:len(header)]) == header
}

// WriteOpErrors writes {op}.csv: erroneous elements of a row. std_value is the
// value of the reference, as in HPAA; a difference that is undefined is NA.
func WriteOpErrors(w io.Writer, row *compare.Row, opt OpErrors) error {
	out := csv.NewWriter(w)
	lines := [][]string{opErrorColumns}
	for _, e := range erroneous(row, opt) {
		lines = append(lines, []string{strconv.FormatInt(e.Offset, 10), fullText(e.Ref), fullText(e.NPU), differenceText(e.Abs), differenceText(e.Rel)})
	}
	return out.WriteAll(lines)
}

// erroneous lists the elements of {op}.csv.
func erroneous(row *compare.Row, opt OpErrors) []engine.Element {
	if !row.Compared() {
		return nil
	}
	all := row.Result.Listed
	if opt.Worst {
		limits := engine.Limits{Atol: row.Limits.Atol, Rtol: row.Limits.Rtol, Mode: opt.Mode}
		all = slices.DeleteFunc(slices.Clone(row.Result.Worst), func(e engine.Element) bool { return within(&e, limits) })
	}
	if opt.Count > 0 && len(all) > opt.Count {
		all = all[:opt.Count]
	}
	return all
}

// within reports whether an element keeps the limits. One that is not finite on
// both sides does not.
func within(e *engine.Element, l engine.Limits) bool {
	part := l.Rtol * math.Hypot(e.Ref.Real, e.Ref.Imag)
	switch l.Mode {
	case engine.BothExceeded:
		return e.Abs <= max(l.Atol, part)
	case engine.EitherExceeded:
		return e.Abs <= min(l.Atol, part)
	}
	return e.Abs <= l.Atol+part
}

// fullText prints an element with all of its digits.
func fullText(v engine.Value) string {
	h := v.DType.Host()
	if h.Complex() {
		imaginary := compare.FormatFloat(v.Imag)
		if imaginary[0] != '-' {
			imaginary = "+" + imaginary
		}
		return compare.FormatFloat(v.Real) + imaginary + "j"
	}
	if isInteger(h) {
		return string(compare.ElementValueOf(v))
	}
	return compare.FormatFloat(v.Real)
}

// differenceText prints a difference, NaN of which means that there is none.
func differenceText(x float64) string {
	if math.IsNaN(x) {
		return undefined
	}
	return compare.FormatFloat(x)
}
