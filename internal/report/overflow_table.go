package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/overflow"
	"dumptool/internal/statusreg"
	"dumptool/internal/tensor"
)

// The results of overflow are tables of records or scanned files, with nested tables of tensors,
// problems and causes.

var tensorColumns = slices.Concat(
	[]Column[*overflow.Tensor]{
		textColumn("tensor", tensorName).withTitle("TENSOR"),
		textColumn("dtype", func(t *overflow.Tensor) string { return t.DType }).withTitle("overflow¦DTYPE"),
		textColumn("format", func(t *overflow.Tensor) string { return t.Format }).withTitle("FORMAT"),
		textColumn("shape", func(t *overflow.Tensor) tensor.Shape { return t.Shape }).withTitle("SHAPE"),
	},
	columnsOfPart(func(t *overflow.Tensor) (*overflow.Stats, bool) { return t.Stats, t.Stats != nil },
		numberColumn("count", func(s *overflow.Stats) *int64 { return s.Count }).inForms(InCSV),
		numberColumn("nan", func(s *overflow.Stats) *int64 { return s.NaN }),
		numberColumn("+inf", func(s *overflow.Stats) *int64 { return s.PosInf }),
		numberColumn("-inf", func(s *overflow.Stats) *int64 { return s.NegInf }),
		numberColumn("saturated", func(s *overflow.Stats) any {
			if s.Saturated == nil {
				return nil
			}
			return *s.Saturated + s.HalfTraces
		}).withTitle("LIMIT"),
		numberColumn("min", func(s *overflow.Stats) *float64 { return s.Min }).withTitle("overflow_table¦MIN"),
		numberColumn("max", func(s *overflow.Stats) *float64 { return s.Max }).withTitle("overflow_table¦MAX"),
		numberColumn("mean", func(s *overflow.Stats) *float64 { return s.Mean }).withTitle("MEAN"),
	),
	[]Column[*overflow.Tensor]{textColumn("first bad", firstBadText).withTitle("overflow_table¦FIRST BAD").inForms(InText)},
	columnsOfPart(firstBadOf,
		textColumn("first_bad", func(e *overflow.Element) int64 { return e.Index }).inForms(InCSV),
		textColumn("coordinates", func(e *overflow.Element) string { return tensor.Shape(e.Coord).Join(" ") }).inForms(InCSV),
	),
	[]Column[*overflow.Tensor]{textColumn("error", func(t *overflow.Tensor) string { return t.Error }).inForms(InCSV)},
)

// statisticsMark marks tensors known only from a table of statistics.
var statisticsMark = textColumn("from_statistics", func(t *overflow.Tensor) bool { return t.FromStatistics }).emptyIfZero()

// firstBadText returns the first bad value of a tensor, and its place.
func firstBadText(t *overflow.Tensor) any {
	if t.Stats != nil && t.BadStatistic != nil {
		value := sixDigits((*float64)(t.BadStatistic))
		return lang.Say("%s, from statistics", value).Text()
	}
	e, ok := firstBadOf(t)
	switch {
	case t.IsIntended:
		return lang.Text{EN: "set on purpose"}
	case t.Unwritten:
		return lang.Text{EN: "unwritten or unread"}
	case !ok:
		return nil
	}
	value, coord := sixDigits((*float64)(&e.Value)), tensor.Shape(e.Coord).Join(",")
	return lang.Say("%s at [%s]", value, coord).Text()
}

func firstBadOf(t *overflow.Tensor) (e *overflow.Element, ok bool) {
	if t.Stats == nil || t.FirstBad == nil {
		return nil, false
	}
	return t.FirstBad, true
}

func tensorName(t *overflow.Tensor) string { return fmt.Sprintf("%s %d", t.Kind, t.Index) }

// recordColumns are the columns of a record; unknown cells are empty.
var recordColumns = slices.Concat(
	[]Column[*overflow.Record]{
		textColumn("record", func(r *overflow.Record) string { return r.File }),
		textColumn("device", func(r *overflow.Record) string { return r.Rank }), // the name in older reports
		textColumn("step", func(r *overflow.Record) string { return r.Step }),
		textColumn("model", func(r *overflow.Record) string { return r.Model }),
		textColumn("timestamp", func(r *overflow.Record) uint64 { return r.Timestamp }),
		textColumn("time", func(r *overflow.Record) string { return overflow.FormatTime(r.Timestamp) }),
		textColumn("acc_type", func(r *overflow.Record) string { return r.Unit.String() }),
		textColumn("task_id", func(r *overflow.Record) uint64 { return r.TaskID }),
		textColumn("stream_id", func(r *overflow.Record) uint64 { return r.StreamID }),
		textColumn("context_id", func(r *overflow.Record) *uint64 { return r.ContextID }),
		textColumn("thread_id", func(r *overflow.Record) *uint64 { return r.ThreadID }),
	},
	placeColumns,
	[]Column[*overflow.Record]{
		textColumn("status", (*overflow.Record).StatusText),
		textColumn("causes", causesText),
		textColumn("verdict", func(r *overflow.Record) string { return string(r.Verdict) }),
	},
	columnsOfPart(func(r *overflow.Record) (*overflow.Operator, bool) { return r.Op, r.Op != nil },
		textColumn("op_type", func(o *overflow.Operator) string { return o.Type }),
		textColumn("op_name", func(o *overflow.Operator) string { return o.Name }),
		textColumn("op_file", func(o *overflow.Operator) string { return o.File }),
		textColumn("matched_by", func(o *overflow.Operator) string { return string(o.MatchedBy) }),
	),
)

// placeColumns locate the overflow on the device.
var placeColumns = []Column[*overflow.Record]{
	textColumn("core_id", func(r *overflow.Record) *uint64 { return r.CoreID }).withTitle("core"),
	textColumn("block", func(r *overflow.Record) *uint64 { return r.Block }).withTitle("block"),
	textColumn("pc_start", func(r *overflow.Record) string { return r.PCStart }).withTitle("pc"),
}

// pointer returns a pointer to v, nil unless ok.
func pointer[V any](v V, ok bool) *V {
	if !ok {
		return nil
	}
	return &v
}

// entriesOf returns the documented and undocumented entries of a decoded value.
func entriesOf(r *statusreg.Result) []statusreg.Entry {
	return slices.Concat(r.Entries, r.UndocumentedEntries())
}

// causesText joins the meanings of the status words.
func causesText(r *overflow.Record) string {
	return strings.Join(lists.Map(r.Causes, func(c overflow.Cause) string { return c.EN }), "; ")
}

// scanColumns are the columns of a scanned file.
var scanColumns = []Column[*overflow.ScanRow]{
	textColumn("file", func(s *overflow.ScanRow) string { return s.File }),
	textColumn("device", func(s *overflow.ScanRow) string { return s.Rank }), // the name in older reports
	textColumn("step", func(s *overflow.ScanRow) string { return s.Step }),
	textColumn("timestamp", func(s *overflow.ScanRow) uint64 { return s.Timestamp }),
	textColumn("time", func(s *overflow.ScanRow) string { return overflow.FormatTime(s.Timestamp) }),
	textColumn("op_type", func(s *overflow.ScanRow) string { return s.OpType }),
	textColumn("op_name", func(s *overflow.ScanRow) string { return s.OpName }),
	textColumn("first", func(s *overflow.ScanRow) bool { return s.First }),
	textColumn("verdict", func(s *overflow.ScanRow) string { return string(s.Verdict) }),
}

// Coordinates of rounds beyond the columns device, step and model of a record, or device and step
// of a scanned file.
var (
	recordRoundColumns = columnsOfPart(func(r *overflow.Record) (dumpdir.Coordinates, bool) { return r.Coordinates(), true }, roundColumns[:2]...)
	scanRoundColumns   = columnsOfPart(func(s *overflow.ScanRow) (dumpdir.Coordinates, bool) { return s.Coordinates(), true }, roundColumns...)
)

var roundColumns = []Column[dumpdir.Coordinates]{
	textColumn("rank", func(c dumpdir.Coordinates) string { return c.Rank }).emptyIfZero(),
	textColumn("graph", func(c dumpdir.Coordinates) string { return c.Graph }).emptyIfZero(),
	textColumn("model", func(c dumpdir.Coordinates) string { return c.Model }).emptyIfZero(),
}

// rowTensor is a row with one of its tensors, nil for none.
type rowTensor[R any] struct {
	of     R
	tensor *overflow.Tensor
}

// joinColumns returns columns of rows, then of their tensors, then of their rounds.
func joinColumns[R any](columns, rounds []Column[R]) []Column[rowTensor[R]] {
	alone := func(r rowTensor[R]) (R, bool) { return r.of, true }
	tensor := func(r rowTensor[R]) (*overflow.Tensor, bool) { return r.tensor, r.tensor != nil }
	return slices.Concat(columnsOfPart(alone, columns...), columnsOfPart(tensor, tensorColumns...), columnsOfPart(alone, rounds...), columnsOfPart(tensor, statisticsMark))
}

// WriteAnalysisCSV writes a line for every tensor of every record; a record without tensors has one
// line.
func WriteAnalysisCSV(w io.Writer, r *overflow.Report) error {
	t := Table[rowTensor[*overflow.Record]]{Columns: joinColumns(recordColumns, recordRoundColumns)}
	for _, record := range pointers(r.Records) {
		for _, one := range pointers(record.Tensors) {
			t.Rows = append(t.Rows, rowTensor[*overflow.Record]{record, one})
		}
		if len(record.Tensors) == 0 {
			t.Rows = append(t.Rows, rowTensor[*overflow.Record]{of: record})
		}
	}
	return t.CSV(w)
}

// WriteScanCSV writes a line for every tensor.
func WriteScanCSV(w io.Writer, r *overflow.ScanReport) error {
	columns := joinColumns(scanColumns, scanRoundColumns)
	bad := textColumn("bad", func(r rowTensor[*overflow.ScanRow]) bool { return r.tensor.Bad })
	t := Table[rowTensor[*overflow.ScanRow]]{Columns: slices.Insert(columns, len(scanColumns), bad)}
	for _, row := range pointers(r.Rows) {
		for _, one := range pointers(row.Tensors) {
			t.Rows = append(t.Rows, rowTensor[*overflow.ScanRow]{row, one})
		}
	}
	return t.CSV(w)
}

// isFirst reports whether a record is the first of its rank.
func isFirst(r *overflow.Report, i int) bool {
	first, ok := r.First[r.Records[i].Rank]
	return ok && first == i
}

// opText names an operator whose type may be unknown.
func opText(opType, name string) string {
	if opType == "" {
		return name
	}
	return strings.TrimSpace("[" + opType + "] " + name)
}

// printAnalysisGroups prints a line for each operator with records, and returns the index of the first
// record; -1, and nothing is printed, if all records are to be shown.
func (p *printer) printAnalysisGroups(r *overflow.Report) int {
	if r.All || len(r.Records) <= maxShown {
		return -1
	}
	groups := r.Groups()
	p.line("", p.format("%s of %s, in the order of step and rank:", lang.CountText(r.Total, "overflow record"), count(len(groups), "operator")))
	p.printGroups(groups, func(g *overflow.Group) string {
		var statuses []string
		verdicts := make(map[overflow.Verdict]int)
		for _, i := range g.Members {
			if status := r.Records[i].StatusText(); !slices.Contains(statuses, status) {
				statuses = append(statuses, status)
			}
			verdicts[r.Records[i].Verdict]++
		}
		first := &r.Records[g.FirstMember()]
		return p.groupLine(p.operatorText(first), g, first.Coordinates(), p.statusText(statuses), p.verdictsText(verdicts))
	})
	return groups[0].FirstMember()
}

// printScanGroups prints a line for each operator with rows, and returns the index of the first row; -1,
// and nothing is printed, if all rows are to be shown.
func (p *printer) printScanGroups(r *overflow.ScanReport) int {
	if r.All || len(r.Rows) <= maxShown {
		return -1
	}
	groups := r.Groups()
	p.line("", p.format("%s with bad tensors, in the order of step and rank:", count(len(groups), "operator")))
	p.printGroups(groups, func(g *overflow.Group) string {
		verdicts := make(map[overflow.Verdict]int)
		for _, i := range g.Members {
			verdicts[r.Rows[i].Verdict]++
		}
		first := &r.Rows[g.FirstMember()]
		return p.groupLine(opText(first.OpType, first.OpName), g, first.Coordinates(), "", p.verdictsText(verdicts))
	})
	return groups[0].FirstMember()
}

// printGroups prints a line for each of the first groups.
func (p *printer) printGroups(groups []overflow.Group, line func(*overflow.Group) string) {
	for i := range groups[:min(maxGroups, len(groups))] {
		p.line(textIndent, line(&groups[i]))
	}
	if n := len(groups) - maxGroups; n > 0 {
		p.line(textIndent, p.format("%s more", count(n, "operator")))
	}
}

// groupLine returns how often an operator occurs, and its ranks and steps.
func (p *printer) groupLine(name string, g *overflow.Group, first dumpdir.Coordinates, status, verdict string) string {
	from := ""
	if len(g.Ranks) > 1 || len(g.Steps) > 1 {
		rank, step := withLabel("rank ", first.Rank), withLabel("step ", first.Step)
		if rank != "" && step != "" {
			rank += " "
		}
		from = p.format("first ") + rank + step
	}
	places := p.join(p.rangesText(g.Ranks, "rank"), p.rangesText(g.Steps, "step"), from, status, verdict)
	return name + fmt.Sprintf(p.format("  %d x: "), len(g.Members)) + places
}

// rangesText formats ranks or steps with runs joined.
func (p *printer) rangesText(values []string, noun string) string {
	if len(values) > 1 && p.Lang != Chinese {
		noun += "s"
	}
	return withLabel(noun+" ", lang.Ranges(values))
}

// statusText formats the first statuses.
func (p *printer) statusText(words []string) string {
	const most = 3
	text := strings.Join(words[:min(most, len(words))], ", ")
	if text == "" {
		text = p.format("lost")
	}
	if len(words) > most {
		text += ", ..."
	}
	return p.format("status ") + text
}

// verdictsText formats verdicts, with counts if they differ.
func (p *printer) verdictsText(counts map[overflow.Verdict]int) string {
	var all []string
	for _, v := range []overflow.Verdict{overflow.ProducedHere, overflow.CameIn, overflow.CameFromRank, overflow.FromUnwritten, overflow.ProcessOverflow, overflow.CannotTell} {
		switch n := counts[v]; {
		case n == 0:
		case len(counts) == 1:
			all = append(all, p.verdictText(v))
		default:
			all = append(all, fmt.Sprintf(p.format("%s %d x"), p.verdictText(v), n))
		}
	}
	return p.join(all...)
}
