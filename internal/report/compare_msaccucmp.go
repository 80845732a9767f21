package report

import (
	"cmp"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/tensor"
)

// notANumber is msaccucmp's cell for an absent value.
const notANumber = "NaN"

// WriteCompareMsaccucmp writes a table with the columns of msaccucmp. As in msaccucmp, a side has a column Address
// unless all of its files are .npy; its cells are NaN, because a comparison does not keep addresses. Index counts
// operators from 1. A missing side is *.
//
// The numbers equal msaccucmp's where msaccucmp is right. If msaccucmp drops elements with golden value 0, or overflows,
// the table has the right numbers instead: NaN if undefined, inf for the distance from an all-zero golden tensor. The
// divergence is NaN if the report lacks it.
func WriteCompareMsaccucmp(w io.Writer, r *record.Report) error {
	return writeCSV(w, msaccucmpColumns(r), func(yield func(*msaccucmpRow) bool) {
		index, before := 0, new(record.Row)
		for _, row := range r.AllRows() {
			if index == 0 || row.Op != before.Op || row.Round != before.Round {
				index++
			}
			before = row
			if !yield(newMsaccucmpRow(row, index)) {
				return
			}
		}
	})
}

// msaccucmpRow is a row of the table.
type msaccucmpRow struct {
	*record.Row
	index  int
	result *metrics.Result // nil if not compared
	accuracy
}

func newMsaccucmpRow(row *record.Row, index int) *msaccucmpRow {
	if !row.IsCompared() {
		return &msaccucmpRow{Row: row, index: index}
	}
	r := row.Result
	return &msaccucmpRow{row, index, r, accuracyOf(r)}
}

// msaccucmpColumns returns the columns of the table.
func msaccucmpColumns(r *record.Report) []Column[*msaccucmpRow] {
	type row = *msaccucmpRow
	address := func(file func(*record.Row) string) (columns []Column[row]) {
		if r.HasRow(func(row *record.Row) bool { return isDump(file(row)) }) {
			columns = append(columns, textColumn("Address", func(row) string { return notANumber }))
		}
		return columns
	}
	metric := func(name string, of func(*accuracy) metrics.Metric) Column[row] {
		return numberColumn(name, func(r row) numeral { return numeral(metricOr(of(&r.accuracy), notANumber, sixDecimals)) })
	}
	columns := slices.Concat(
		[]Column[row]{
			numberColumn("Index", func(r row) int { return r.index }),
			textColumn("OpType", func(r row) string { return nanIfEmpty(r.OpType) }),
			textColumn("NPUDump", func(r row) string { return starIfMissing(npuName(r.Row), r.Status == record.UnmatchedRef) }),
			textColumn("DataType", func(r row) string { return dtypeText(r.NPUDType) }),
		},
		address(func(r *record.Row) string { return r.NPUFile }),
		[]Column[row]{
			textColumn("GroundTruth", func(r row) string { return starIfMissing(r.Op, r.Status == record.UnmatchedNPU) }),
			textColumn("DataType", func(r row) string { return dtypeText(r.RefDType) }),
		},
		address(func(r *record.Row) string { return r.RefFile }),
		[]Column[row]{
			textColumn("TensorIndex", tensorIndex),
			textColumn("Shape", func(r row) string { return "[" + comparedShape(r.Row).Join(",") + "]" }),
			textColumn("OverFlow", func(r row) string { return overflowCell(r.result) }),
		})
	if r.HasRow(func(row *record.Row) bool { return recordedPath(row.NPUFile) != "" || recordedPath(row.RefFile) != "" }) {
		columns = recordedColumns()
	}
	return append(columns,
		metric("CosineSimilarity", func(a *accuracy) metrics.Metric { return a.cosine }),
		metric("MaxAbsoluteError", func(a *accuracy) metrics.Metric { return a.maxAbs }),
		metric("AccumulatedRelativeError", func(a *accuracy) metrics.Metric { return a.accRel }),
		metric("RelativeEuclideanDistance", func(a *accuracy) metrics.Metric { return a.red }),
		metric("KullbackLeiblerDivergence", func(a *accuracy) metrics.Metric { return a.kld }),
		textColumn("StandardDeviation", func(r row) string { return spreadsText(r.result) }),
		metric("MeanAbsoluteError", func(a *accuracy) metrics.Metric { return a.meanAbs }),
		metric("RootMeanSquareError", func(a *accuracy) metrics.Metric { return a.rmse }),
		metric("MaxRelativeError", func(a *accuracy) metrics.Metric { return a.maxRel }),
		metric("MeanRelativeError", func(a *accuracy) metrics.Metric { return a.meanRel }),
		textColumn("CompareFailReason", failReason))
}

// recordedColumns returns the columns up to the algorithms for files of torch.utils.dumper. Index
// is the sequence number of the NPU's operator.
func recordedColumns() []Column[*msaccucmpRow] {
	type row = *msaccucmpRow
	part := func(r row, i int) string {
		if parts := strings.Split(recordedPath(r.NPUFile), "/"); i < len(parts) {
			return parts[i]
		}
		return ""
	}
	return []Column[row]{
		numberColumn("Index", func(r row) numeral { return numeral(nanIfEmpty(part(r, 2))) }),
		textColumn("NPUDump", func(r row) string { return starIfMissing(part(r, 1), r.Status == record.UnmatchedRef) }),
		textColumn("NPUDumpPath", func(r row) string { return starIfMissing(recordedPath(r.NPUFile), r.Status == record.UnmatchedRef) }),
		textColumn("GroundTruthPath", func(r row) string { return starIfMissing(recordedPath(r.RefFile), r.Status == record.UnmatchedNPU) }),
		textColumn("DataType", func(r row) string { return dtypeText(r.NPUDType) }),
		textColumn("Shape", func(r row) string { return "[" + comparedShape(r.Row).Join(",") + "]" }),
	}
}

// recordedPath returns the path of a tensor in a file of torch.utils.dumper,
// /operator/sequence/direction/parameter, empty for other files.
func recordedPath(file string) string {
	at := strings.LastIndex(file, ":/")
	if at < 2 || strings.Count(file[at:], "/") < 4 || strings.HasPrefix(file[at:], "://") { // at 1 is a drive letter's colon
		return ""
	}
	return file[at+1:]
}

// failReason returns why a row was not compared, or has no cosine.
func failReason(r *msaccucmpRow) string {
	switch {
	case !r.IsCompared():
		code, _ := skipCode(r.Row)
		return code + ": " + english.notComparedText(r.Row)
	case r.cosine.IsDefined() || r.result.Total == 0:
		return ""
	case !r.finite:
		return "[CosineSimilarity] a side has a NaN or an infinity"
	}
	return "[CosineSimilarity] one side is all zero"
}

// starIfMissing returns a name, or * for a missing side.
func starIfMissing(name string, missing bool) string {
	if missing {
		return "*"
	}
	return name
}

// tensorIndex names a tensor by operator, kind and number.
func tensorIndex(r *msaccucmpRow) string {
	return npuName(r.Row) + strings.TrimPrefix(r.TensorName(), r.Op)
}

// isDump reports whether a file is not .npy; a tensor may follow its name.
func isDump(file string) bool {
	return file != "" && !strings.HasPrefix(strings.ToLower(filepath.Ext(file)), ".npy")
}

// npuName returns the operator's name on the NPU side.
func npuName(row *record.Row) string { return cmp.Or(row.NPUOp, row.Op) }

func nanIfEmpty(text string) string { return cmp.Or(text, notANumber) }

func dtypeText(d tensor.DType) string {
	if d == tensor.Undefined {
		return notANumber
	}
	return d.String()
}

// comparedShape returns the compared shape, else the shape of one side.
func comparedShape(row *record.Row) tensor.Shape {
	switch {
	case row.Shape != nil:
		return row.Shape
	case row.NPUShape != nil:
		return row.NPUShape
	}
	return row.RefShape
}

// overflowCell says whether a float16 tensor of the NPU reaches the limits of its range.
func overflowCell(r *metrics.Result) string {
	switch {
	case r == nil || r.NPUDType != tensor.Float16:
		return notANumber
	case r.NPU.Saturated+r.NPU.PosInf+r.NPU.NegInf > 0:
		return "YES"
	}
	return "NO"
}

// sixDecimals formats a number of the table.
func sixDecimals(x float64) string {
	if math.IsNaN(x) {
		return notANumber
	}
	return fixedDecimals(6)(x)
}

// spreadsText formats the spreads of both sides.
func spreadsText(r *metrics.Result) string {
	if r == nil {
		return notANumber
	}
	return meanAndDeviation(&r.NPU) + "," + meanAndDeviation(&r.Ref)
}

// meanAndDeviation formats mean and standard deviation of one side; values below 0.001 are 0.
func meanAndDeviation(s *metrics.SideStats) string {
	mean, std := s.Mean, s.Std
	switch {
	case s.NaN > 0 || s.PosInf > 0 && s.NegInf > 0:
		mean, std = metrics.Metric{}, metrics.Metric{}
	case s.PosInf+s.NegInf > 0:
		sign := 1
		if s.NegInf > 0 {
			sign = -1
		}
		mean, std = metrics.NumberOf(math.Inf(sign)), metrics.Metric{}
	}
	return "(" + metricOr(mean, notANumber, thousandths) + ";" + metricOr(std, notANumber, thousandths) + ")"
}

// thousandths formats x with 3 decimals; values below 0.001 are 0.
func thousandths(x float64) string {
	if math.Abs(x) < 0.001 {
		x = 0
	}
	return fixedDecimals(3)(x)
}

// accuracy holds the metrics of msaccucmp over whole tensors. Unlike the metrics of a Result they
// cover non-finite values, with IEEE 754 arithmetic.
type accuracy struct {
	cosine, maxAbs, accRel, red, kld, meanAbs, rmse, maxRel, meanRel metrics.Metric
	finite                                                           bool
}

// accuracyOf returns msaccucmp's metrics for a result.
func accuracyOf(r *metrics.Result) accuracy {
	a := accuracy{cosine: r.Cosine, maxAbs: r.MaxAbs.Metric, accRel: r.AccRel, red: r.RED, kld: r.KLD, meanAbs: r.MeanAbs, rmse: r.RMSE, maxRel: r.MaxRel.Metric,
		finite: r.CountBothFinite() == r.Total}
	if r.CosineZero == metrics.OneZero {
		a.cosine = metrics.Metric{}
	}
	if !a.accRel.IsDefined() && r.RelUndefined == 0 {
		a.accRel = metrics.NumberOf(0) // all zero on both sides, or empty
		if r.Total > 0 {
			a.maxRel = metrics.NumberOf(0)
		}
	}
	if r.Total == 0 {
		a.cosine, a.red = metrics.NumberOf(1), metrics.NumberOf(0)
	}
	if !a.finite {
		a.coverAllPairs(r)
	}
	if a.accRel.IsDefined() && r.Total > 0 {
		a.meanRel = metrics.NumberOf(a.accRel.Value() / float64(r.Total))
	}
	return a
}

// coverAllPairs extends the metrics from finite pairs to all pairs.
func (a *accuracy) coverAllPairs(r *metrics.Result) {
	const f, p, n, x = metrics.Finite, metrics.PosInf, metrics.NegInf, metrics.NaN
	c := &r.Classes
	opposite := c[p][n] + c[n][p]
	fromNPU, fromRef := c[p][f]+c[n][f], c[f][p]+c[f][n]
	nan, infinite := metrics.Metric{}, metrics.NumberOf(math.Inf(1))
	a.cosine, a.kld = nan, nan                      // only finite tensors have a divergence
	if opposite+fromNPU+fromRef+c[f][f] < r.Total { // NaN, or inf - inf
		a.maxAbs, a.meanAbs, a.rmse, a.accRel, a.maxRel, a.red = nan, nan, nan, nan, nan, nan
		return
	}
	a.maxAbs, a.meanAbs, a.rmse = infinite, infinite, infinite
	switch {
	case opposite > 0: // inf / -inf
		a.accRel, a.maxRel, a.red = nan, nan, nan
	case fromNPU > 0:
		a.accRel, a.maxRel, a.red = infinite, infinite, infinite
		if fromRef > 0 {
			a.red = nan
		}
	default: // a finite number over an infinity is 0, its relative error 1
		a.red = nan
		sum, top := 0.0, 1.0
		if r.AccRel.IsDefined() {
			sum, top = r.AccRel.Value(), max(r.MaxRel.Value(), 1)
		}
		a.accRel, a.maxRel = metrics.NumberOf(sum+float64(fromRef)), metrics.NumberOf(top)
	}
}

// defined returns a defined metric.
