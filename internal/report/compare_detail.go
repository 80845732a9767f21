package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// WriteCompareDetail prints everything about one row: the verdict with its reasons, the statistics
// of both sides, the metrics, and the worst elements with coordinates.
func (t Text) WriteCompareDetail(w io.Writer, row *record.Row) error {
	p := t.printerTo(w)
	p.text(string(row.Status) + p.format(": ") + rowTitle(row))
	p.writeBlankLine()
	p.facts(p.detailFacts(row))
	if !row.IsCompared() {
		return p.err
	}
	result := row.Result
	p.writeBlankLine()
	p.table("", statisticsTable(result).Grid(p.Lang).Fit(p.Width))
	p.writeBlankLine()
	p.table("", metricsTable(result).Grid(p.Lang).Fit(p.Width))
	if x := row.Tokens; x != nil {
		p.writeBlankLine()
		p.text(p.format("The sequences and positions that differ most, by the mean of |d|:"))
		p.table("", tokenTable("SEQUENCE", worstTokens(x.Sequences, x.SequenceFold)).Grid(p.Lang).Fit(p.Width))
		p.writeBlankLine()
		p.table("", tokenTable("POSITION", worstTokens(x.Places, x.PlaceFold)).Grid(p.Lang).Fit(p.Width))
	}
	if len(result.Worst) > 0 {
		p.writeBlankLine()
		p.text(p.format("The elements that differ most:"))
		p.table("", elementsTable(row.Shape, result.Worst).Grid(p.Lang).Fit(p.Width))
	}
	return p.err
}

// detailFacts describes a row beside the tables.
func (t Text) detailFacts(row *record.Row) factList {
	facts := factList{{label: t.format("Files"), files: t.filesOf(row)}}
	facts.add(t.format("Paired by"), row.Rule)
	facts.add(t.format("Notes"), t.sentences(slices.Concat(row.Notes, row.Warnings))...)
	reasons := t.reasonLines(row)
	if !row.IsCompared() && len(reasons) == 0 {
		reasons = []string{t.notComparedText(row)}
	}
	facts.add(t.format("Reasons"), reasons...)
	facts.add(t.format("By itself"), t.recomputationLines(row.Self)...)
	if row.Err != nil {
		facts.add(t.format("Error"), t.sentence(lang.Error(row.Err)))
	}
	if !row.IsCompared() {
		return facts
	}
	l := &row.Limits
	facts.add("Shape", t.format("%s, reference %s, NPU %s", row.Shape, row.RefDType, row.NPUDType))
	facts.add(t.format("Limits"), fmt.Sprintf("atol %s, rtol %s (%s)", allDigits(l.Atol), allDigits(l.Rtol), l.Source()))
	facts.add(t.format("Errors"), t.errorsText(row))
	if row.Tokens != nil {
		facts.add(t.format("Tokens"), t.sentence(row.Tokens.Sentence()))
	}
	return facts
}

// recomputationLines describes the recomputation of an output from the inputs of its operator.
func (t Text) recomputationLines(s *record.RecomputedOutput) []string {
	if s == nil {
		return nil
	}
	line := strings.ToUpper(s.Status)
	if s.Reason != "" {
		line += ", " + s.Reason
	}
	for _, why := range s.Why {
		line += t.format(": ") + t.sentence(why.Evidence)
	}
	return []string{line}
}

// statistic is a statistic of both sides as text.
type statistic struct{ name, ref, npu string }

// statisticsTable lists the statistics of the two sides.
func statisticsTable(r *metrics.Result) Table[*statistic] {
	t := Table[*statistic]{Columns: []Column[*statistic]{
		textColumn("statistic", func(s *statistic) string { return s.name }).withTitle("STATISTIC"),
		numberColumn("reference", func(s *statistic) string { return s.ref }).withTitle("REFERENCE").withRank(1),
		numberColumn("npu", func(s *statistic) string { return s.npu }).withRank(2),
	}}
	rows := map[string]*statistic{} // by title; the reference comes first
	for _, m := range metrics.ReportMetrics(metrics.Sides) {
		text := shortMetric(m.MetricOf(r))
		if m.Unit == metrics.UnitCount {
			text = exactMetric(m.MetricOf(r))
		}
		if s := rows[m.Title]; s != nil {
			s.npu = text
			continue
		}
		rows[m.Title] = &statistic{name: m.Title, ref: text}
		t.Rows = append(t.Rows, rows[m.Title])
	}
	return t
}

// metricsTable lists the metrics.
func metricsTable(r *metrics.Result) Table[metrics.TitledMetric] {
	return Table[metrics.TitledMetric]{Rows: metrics.ReportMetrics(metrics.Detail), Columns: []Column[metrics.TitledMetric]{
		textColumn("metric", func(m metrics.TitledMetric) string { return m.Title }).withTitle("METRIC"),
		numberColumn("value", func(m metrics.TitledMetric) metrics.Metric { return m.MetricOf(r) }).withTitle("VALUE").withRank(1),
		numberColumn("at", func(m metrics.TitledMetric) string {
			i := metrics.Index(m.Name + "_offset")
			if i < 0 {
				return ""
			}
			return metricOr(metrics.Table[i].MetricOf(r), "", allDigits)
		}).withTitle("AT").withRank(2),
	}}
}

// elementsTable lists the elements with the largest differences.
func elementsTable(shape tensor.Shape, worst []metrics.Element) Table[metrics.Element] {
	return Table[metrics.Element]{Rows: worst, Columns: []Column[metrics.Element]{
		textColumn("coordinates", func(e metrics.Element) string {
			return "(" + tensor.Shape(record.Coordinates(shape, e.Offset)).Join(", ") + ")"
		}).withTitle("COORDINATES"),
		numberColumn("offset", func(e metrics.Element) int64 { return e.Offset }).withTitle("OFFSET").withRank(5),
		numberColumn("reference", func(e metrics.Element) string { return formatElement(e.Ref, significantDigits(shownDigits)) }).withTitle("REFERENCE").withRank(1),
		numberColumn("npu", func(e metrics.Element) string { return formatElement(e.NPU, significantDigits(shownDigits)) }).withRank(2),
		numberColumn("abs", func(e metrics.Element) metrics.Metric { return differenceMetric(e.Abs) }).withTitle("ABS").withRank(3),
		numberColumn("rel", func(e metrics.Element) metrics.Metric { return differenceMetric(e.Rel) }).withTitle("REL").withRank(4),
	}}
}

// WriteCompareDetailCSV writes the worst elements of a row: the offset, the coordinates in columns
// axis0, axis1 and so on, both values and the differences; undefined differences are NA.
func WriteCompareDetailCSV(w io.Writer, row *record.Row) error {
	all := opErrors(nil).Columns
	index, ref, npu, differences := all[:1], all[1], all[2], all[3:]
	ref.Name = "ref_value"
	var axes []Column[metrics.Element]
	for i := range row.Shape {
		axes = append(axes, numberColumn("axis"+strconv.Itoa(i), func(e metrics.Element) int64 {
			return axisCoordinates(row.Shape, e.Offset)[i]
		}))
	}
	t := Table[metrics.Element]{Columns: slices.Concat(index, axes, []Column[metrics.Element]{npu, ref}, differences)}
	if row.IsCompared() {
		t.Rows = row.Result.Worst
	}
	return t.CSV(w)
}

// axisCoordinates returns the coordinates of an element, one per axis.
func axisCoordinates(s tensor.Shape, offset int64) []int64 {
	if at := record.Coordinates(s, offset); len(at) == len(s) {
		return at
	}
	return make([]int64, len(s))
}

// WriteCompareDetailJSON writes a row in the form of compare.json, with the worst elements and the
// profiles of the axes.
func WriteCompareDetailJSON(w io.Writer, row *record.Row) error {
	return writeJSON(w, record.Detail{Row: row})
}

// WriteDetail writes the tensors of a row, in the compared shape, and its worst elements. It
// returns the paths of the written files.
func WriteDetail(folder *Folder, names *FileNames, row *record.Row, tensor func(w io.Writer, npu bool) error) (written []string, err error) {
	parts := []string{row.Op, row.Kind, strconv.Itoa(row.Output)}
	if row.Round != "" {
		parts = append(parts, row.Round)
	}
	stem := names.Stem(strings.Join(parts, "_"))
	for _, file := range []struct {
		suffix string
		write  func(io.Writer) error
	}{
		{"_cpu.npy", func(w io.Writer) error { return tensor(w, false) }},
		{"_npu.npy", func(w io.Writer) error { return tensor(w, true) }},
		{"_worst.csv", func(w io.Writer) error { return WriteCompareDetailCSV(w, row) }},
	} {
		if err := folder.Write(stem+file.suffix, file.write); err != nil {
			return written, err
		}
		written = append(written, store.Join(folder.Dir, stem+file.suffix))
	}
	return written, nil
}
