package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"dumptool/internal/compare"
	"dumptool/internal/compare/engine"
	"dumptool/internal/tensor"
	"dumptool/internal/ui"
)

// WriteCompareDetail prints all about one row: the verdict and its reasons, the
// statistics of both sides, the metrics, and the worst elements with their
// coordinates. No line is longer than the terminal is wide, 80 columns with
// width 0.
func (t Text) WriteCompareDetail(w io.Writer, row *compare.Row) error {
	p := newComparePrinter(t, w)
	p.text(string(row.Status) + ": " + rowTitle(row))
	p.blank()
	p.facts(detailFacts(row))
	if !row.Compared() {
		return p.err
	}
	p.blank()
	p.table(statisticsTable(row.Result))
	p.blank()
	p.table(metricsTable(row.Result))
	if len(row.Result.Worst) > 0 {
		p.blank()
		p.text("The elements that differ most:")
		p.table(elementsTable(row))
	}
	return p.err
}

// detailFacts tell about a row what is not in tables.
func detailFacts(row *compare.Row) []fact {
	var facts []fact
	add := func(label string, lines ...string) {
		if len(lines) > 0 {
			facts = append(facts, fact{label, lines})
		}
	}
	add("Files", fileLines(row)...)
	if row.Rule != "" {
		add("Paired by", row.Rule)
	}
	add("Notes", row.Notes...)
	reasons := reasonLines(row)
	if !row.Compared() && len(reasons) == 0 {
		reasons = []string{whyNot(row)}
	}
	add("Reasons", reasons...)
	if row.Err != nil {
		add("Error", row.Err.Error())
	}
	if !row.Compared() {
		return facts
	}
	r, l := row.Result, &row.Limits
	add("Shape", fmt.Sprintf("%s, reference %s, NPU %s", row.Shape, r.RefDType, r.NPUDType))
	add("Limits", fmt.Sprintf("atol %s, rtol %s (%s)", compare.FormatFloat(l.Atol), compare.FormatFloat(l.Rtol), l.LimitSource()))
	add("Errors", errorsText(row))
	return facts
}

// statisticsTable compares the two sides.
func statisticsTable(r *engine.Result) grid {
	g := grid{columns: []ui.Column{{Title: "STATISTIC"}, {Title: "REFERENCE", Align: ui.Right}, {Title: "NPU", Align: ui.Right}}, keep: []int{1, 2}}
	ref, npu := &r.Ref, &r.NPU
	for _, m := range []struct {
		name     string
		ref, npu engine.Metric
	}{{"min", ref.Min, npu.Min}, {"max", ref.Max, npu.Max}, {"mean", ref.Mean, npu.Mean}, {"std", ref.Std, npu.Std}, {"rms", ref.RMS, npu.RMS}} {
		g.rows = append(g.rows, []string{m.name, metricShort(m.ref), metricShort(m.npu)})
	}
	for _, c := range []struct {
		name     string
		ref, npu int64
	}{{"zeros", ref.Zeros, npu.Zeros}, {"NaN", ref.NaN, npu.NaN}, {"+inf", ref.PosInf, npu.PosInf}, {"-inf", ref.NegInf, npu.NegInf},
		{"saturated", ref.Saturated, npu.Saturated}, {"subnormal", ref.Subnormal, npu.Subnormal}} {
		g.rows = append(g.rows, []string{c.name, strconv.FormatInt(c.ref, 10), strconv.FormatInt(c.npu, 10)})
	}
	return g
}

// metricsTable lists the metrics.
func metricsTable(r *engine.Result) grid {
	g := grid{columns: []ui.Column{{Title: "METRIC"}, {Title: "VALUE", Align: ui.Right}, {Title: "AT", Align: ui.Right}}, keep: []int{1, 2}}
	add := func(name string, m engine.Metric) { g.rows = append(g.rows, []string{name, metricShort(m), ""}) }
	extreme := func(name string, e engine.Extreme) {
		at := ""
		if e.Defined {
			at = strconv.FormatInt(e.Offset, 10)
		}
		g.rows = append(g.rows, []string{name, metricShort(e.Metric), at})
	}
	extreme("max_abs", r.MaxAbs)
	add("mean_abs", r.MeanAbs)
	add("rmse", r.RMSE)
	extreme("max_rel", r.MaxRel)
	add("mean_rel", r.MeanRel)
	add("cosine", r.Cosine)
	add("pearson", r.Pearson)
	add("red", r.RED)
	add("sqnr_db", r.SQNR)
	extreme("ulp_max", r.ULPMax)
	add("abs_p50", r.AbsQuantiles.P50)
	add("abs_p99", r.AbsQuantiles.P99)
	add("rel_p50", r.RelQuantiles.P50)
	add("rel_p99", r.RelQuantiles.P99)
	add("min_atol", r.MinAtol)
	add("min_rtol", r.MinRtol)
	return g
}

// elementsTable lists the elements that differ most.
func elementsTable(row *compare.Row) grid {
	g := grid{columns: []ui.Column{{Title: "COORDINATES"}, {Title: "OFFSET", Align: ui.Right}, {Title: "REFERENCE", Align: ui.Right},
		{Title: "NPU", Align: ui.Right}, {Title: "ABS", Align: ui.Right}, {Title: "REL", Align: ui.Right}}, keep: []int{2, 3, 4, 5, 1}}
	for i := range row.Result.Worst {
		e := &row.Result.Worst[i]
		g.rows = append(g.rows, []string{"(" + joinInts(compare.Coordinates(row.Shape, e.Offset), ", ") + ")", strconv.FormatInt(e.Offset, 10),
			valueShort(e.Ref), valueShort(e.NPU), differenceShort(e.Abs), differenceShort(e.Rel)})
	}
	return g
}

// differenceShort prints a difference for people.
func differenceShort(x float64) string {
	return metricShort(engine.Metric{Value: x, Defined: x == x})
}

// WriteCompareDetailCSV writes the worst elements of a row: the offset, the
// coordinates along axis0, axis1 and so on, both values and the differences, of
// which an undefined one is NA.
func WriteCompareDetailCSV(w io.Writer, row *compare.Row) error {
	columns := []string{"index"}
	for i := range row.Shape {
		columns = append(columns, "axis"+strconv.Itoa(i))
	}
	lines := [][]string{append(columns, "npu_value", "ref_value", "abs_diff", "relative_diff")}
	if row.Compared() {
		for i := range row.Result.Worst {
			e := &row.Result.Worst[i]
			cells := []string{strconv.FormatInt(e.Offset, 10)}
			for _, c := range axisCoordinates(row.Shape, e.Offset) {
				cells = append(cells, strconv.FormatInt(c, 10))
			}
			lines = append(lines, slices.Concat(cells, []string{fullText(e.NPU), fullText(e.Ref), differenceText(e.Abs), differenceText(e.Rel)}))
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// axisCoordinates are the coordinates of an element, one for each axis.
func axisCoordinates(s tensor.Shape, offset int64) []int64 {
	if at := compare.Coordinates(s, offset); len(at) == len(s) {
		return at
	}
	return make([]int64, len(s))
}

// WriteCompareDetailJSON writes a row in the form of compare.json, with the worst
// elements and the profiles of the axes.
func WriteCompareDetailJSON(w io.Writer, row *compare.Row) error {
	d := compare.NewDocumentRow(row)
	d.AddDetail(row)
	return writeJSON(w, d)
}
