package report

import (
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/tensor"
)

// CSVOptions says how to write cpu_vs_npu.csv.
type CSVOptions struct {
	// Successor adds the column cos_sim of later versions of HPAA.
	Successor bool
	// ExtraColumns adds dumptool's own columns behind HPAA's.
	ExtraColumns bool
	// BOM writes a byte order mark for spreadsheet programs.
	BOM bool
}

// writeByteOrderMark writes the byte order mark if requested.
func (o *CSVOptions) writeByteOrderMark(w io.Writer) (err error) {
	if o.BOM {
		_, err = io.WriteString(w, "\ufeff")
	}
	return err
}

// labelledRow is a compared row with its label and its numbers.
type labelledRow struct {
	*record.Row
	label  string
	result *metrics.Result // without lists
}

// csvColumns returns the columns of cpu_vs_npu.csv.
func csvColumns(opt CSVOptions) []Column[labelledRow] {
	columns := []Column[labelledRow]{
		textColumn("op_name", func(r labelledRow) string {
			return r.label + "(atol=" + allDigits(r.Limits.Atol) + ",rtol=" + allDigits(r.Limits.Rtol) + ")"
		}),
		textColumn("nan/inf", func(r labelledRow) string { return pythonBool(r.result.HPAA.NonFinite) }),
		textColumn("errors/total", func(r labelledRow) string { return ratioText(r.result.HPAA.Count, r.result.Total) }),
	}
	if opt.Successor {
		columns = append(columns, metricColumns(metrics.Successor)...)
	}
	columns = append(columns,
		textColumn("1st_diff_offset/offset_dim/data_shape", firstDifference),
		numberColumn("ref_value", func(r labelledRow) numeral {
			return hpaaValue(r, func(e *metrics.Element) metrics.Value { return e.Ref })
		}),
		numberColumn("npu_value", func(r labelledRow) numeral {
			return hpaaValue(r, func(e *metrics.Element) metrics.Value { return e.NPU })
		}))
	columns = append(columns, metricColumns(metrics.HPAATable)...)
	if !opt.ExtraColumns {
		return columns
	}
	columns = append(columns,
		textColumn("status", func(r labelledRow) record.Status { return r.Status }),
		textColumn("reason", func(r labelledRow) string { return codesText(r.Reasons) }))
	for _, m := range metrics.ReportMetrics(metrics.ExtraColumns) {
		columns = append(columns, textColumn(m.Title, func(r labelledRow) string { return plainDecimal(m.MetricOf(r.result)) }))
	}
	columns = append(columns,
		numberColumn("order", func(r labelledRow) int { return r.Order }),
		textColumn("dtype_ref", func(r labelledRow) tensor.DType { return r.result.RefDType }),
		textColumn("dtype_npu", func(r labelledRow) tensor.DType { return r.result.NPUDType }))
	columns = append(columns,
		numberColumn("errors", func(r labelledRow) int64 { return r.result.HPAA.Count }),
		numberColumn("total", func(r labelledRow) int64 { return r.result.Total }),
		textColumn("ratio", func(r labelledRow) string {
			return plainDecimal(metrics.NumberOf(record.Share(r.result.HPAA.Count, r.result.Total)))
		}),
		textColumn("score", func(r labelledRow) string {
			if r.Evidence == nil {
				return undefined
			}
			return plainDecimal(metrics.NumberOf(float64(r.Evidence.Score)))
		}),
		textColumn("shape", func(r labelledRow) string { return r.Shape.String() }),
		textColumn("ref_file", func(r labelledRow) string { return quoteAsText(r.RefFile) }),
		textColumn("npu_file", func(r labelledRow) string { return quoteAsText(r.NPUFile) }))
	for i, c := range (&record.RoundCoordinates{}).Coordinates() {
		columns = append(columns, textColumn(c.Name, func(r labelledRow) string { return r.RoundCoordinates.Coordinates()[i].Value }))
	}
	return columns
}

// plainDecimal formats a number without an exponent, which spreadsheets may misread.
func plainDecimal(m metrics.Metric) string {
	if !m.IsDefined() || math.IsInf(m.Value(), 0) || math.IsNaN(m.Value()) {
		return metricOr(m, undefined, allDigits)
	}
	return strconv.FormatFloat(m.Value(), 'f', -1, 64)
}

// metricColumns returns the columns of the metrics that a report shows, with all digits.
func metricColumns(report metrics.Report) (columns []Column[labelledRow]) {
	for _, m := range metrics.ReportMetrics(report) {
		columns = append(columns, numberColumn(m.Title, func(r labelledRow) metrics.Metric { return m.MetricOf(r.result) }))
	}
	return columns
}

// WriteCompareCSV writes cpu_vs_npu.csv: the compared rows, in execution order. As in the HPAA
// manual, max_abs_total and mean_abs_total hold relative errors. Undefined values, such as a
// relative error with an all-zero reference, are NA; non-finite values are nan, inf or -inf.
// Statistics have no line in it: in a folder they have a table of their own, otherwise that table
// is written instead.
func WriteCompareCSV(w io.Writer, r *record.Report, opt Options) error {
	if r.Verdict == statisticsMethod && !opt.folder {
		return writeStatisticsCSV(w, r, opt)
	}
	if err := opt.HPAA.writeByteOrderMark(w); err != nil {
		return err
	}
	labels, columns := labelsOf(r), csvColumns(opt.HPAA)
	if r.HasRow(func(row *record.Row) bool { return row.Script != "" || row.Modules != nil }) {
		columns = append(columns, textColumn("script", func(r labelledRow) string { return r.Script }), textColumn("modules", func(r labelledRow) string { return modulePath(r.Row) }))
	}
	if r.HasRow(func(row *record.Row) bool { return row.Tokens != nil }) {
		columns = append(columns, tokenColumns(func(r labelledRow) *metrics.TokenNumbers {
			if r.Tokens == nil {
				return nil
			}
			return &r.Tokens.TokenNumbers
		}, plainDecimal)...)
	}
	return writeCSV(w, columns, func(yield func(labelledRow) bool) {
		for _, row := range r.AllRows() {
			if !row.IsCompared() {
				continue
			}
			if !yield(labelledRow{row, labels.labelOf(row), row.Result}) {
				return
			}
		}
	})
}

// quoteAsText quotes a name that a spreadsheet would read as a number or a date: a name without a
// letter, or digits around an e.
func quoteAsText(name string) string {
	plain := strings.Trim(name, "0123456789.-/:")
	if name != "" && (plain == "" || strings.EqualFold(plain, "e") || strings.EqualFold(plain, "e+")) {
		return "'" + name
	}
	return name
}

func pythonBool(yes bool) string {
	if yes {
		return "True"
	}
	return "False"
}

// firstDifference formats the offset of the first error, its coordinates and the shape.
func firstDifference(r labelledRow) string {
	place := undefined + "/" + undefined
	if first := r.result.HPAA.First; first != nil {
		place = strconv.FormatInt(first.Offset, 10) + "/" + tensor.Shape(record.Coordinates(r.Shape, first.Offset)).String()
	}
	return place + "/" + r.Shape.String()
}

// hpaaValue formats one side of the first error, or of the first element.
func hpaaValue(r labelledRow, side func(*metrics.Element) metrics.Value) numeral {
	shown := r.result.Start
	if first := r.result.HPAA.First; first != nil {
		shown = first
	}
	if shown == nil {
		return undefined
	}
	return numeral(hpaaElement(side(shown)))
}

// codesText joins the codes of reasons.
func codesText(reasons []finding.Finding) string {
	codes := make([]string, len(reasons))
	for i, reason := range reasons {
		codes[i] = string(reason.Code)
	}
	return strings.Join(codes, ";")
}

// ratioText formats errors and total as HPAA does.
func ratioText(errors, total int64) string {
	return strconv.FormatInt(errors, 10) + "/" + strconv.FormatInt(total, 10)
}

// OpErrors selects the elements that WriteOpErrors writes.
type OpErrors struct {
	// Count is the largest number of elements, 0 for all known ones.
	Count int
	// Worst selects the elements with the largest errors, worst first, instead of the elements with
	// the lowest index.
	Worst bool
	// Mode is the tolerance mode of the run.
	Mode metrics.Mode
}

// opErrors returns the table of {op}.csv.
func opErrors(elements []metrics.Element) Table[metrics.Element] {
	return Table[metrics.Element]{Rows: elements, Columns: []Column[metrics.Element]{
		numberColumn("index", func(e metrics.Element) int64 { return e.Offset }),
		numberColumn("std_value", func(e metrics.Element) numeral { return numeral(formatElement(e.Ref, allDigits)) }),
		numberColumn("npu_value", func(e metrics.Element) numeral { return numeral(formatElement(e.NPU, allDigits)) }),
		numberColumn("abs_diff", func(e metrics.Element) metrics.Metric { return differenceMetric(e.Abs) }),
		numberColumn("relative_diff", func(e metrics.Element) metrics.Metric { return differenceMetric(e.Rel) }),
	}}
}

// isOpErrors reports whether r is an {op}.csv, by its header line.
func isOpErrors(r io.Reader) bool {
	var header strings.Builder
	if opErrors(nil).CSV(&header) != nil {
		return false
	}
	start := make([]byte, header.Len())
	_, err := io.ReadFull(r, start)
	return err == nil && string(start) == header.String()
}

// WriteOpErrors writes {op}.csv: erroneous elements of a row. std_value is the value of the
// reference, as in HPAA; undefined differences are NA.
func WriteOpErrors(w io.Writer, row *record.Row, opt OpErrors) error {
	return opErrors(selectErrors(row, opt)).CSV(w)
}

// selectErrors returns the elements of {op}.csv.
func selectErrors(row *record.Row, opt OpErrors) []metrics.Element {
	if !row.IsCompared() {
		return nil
	}
	result := row.Result
	all := result.Listed
	if opt.Worst {
		limits := metrics.Limits{Atol: row.Limits.Atol, Rtol: row.Limits.Rtol, Mode: opt.Mode}
		all = slices.DeleteFunc(slices.Clone(result.Worst), func(e metrics.Element) bool { return limits.PassesElement(&e) })
	}
	if opt.Count > 0 && len(all) > opt.Count {
		all = all[:opt.Count]
	}
	return all
}
