package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/overflow"
	"dumptool/internal/statusreg"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// The results of overflow are tables of records or scanned files, with nested tables of tensors,
// problems and causes.

// tensorTable returns the table of tensors. An unreadable tensor has an error instead of
// statistics.
func tensorTable(tensors []overflow.Tensor) Table[*overflow.Tensor] {
	return Table[*overflow.Tensor]{tensorColumns, pointers(tensors)}
}

var tensorColumns = slices.Concat(
	[]Column[*overflow.Tensor]{
		words("tensor", tensorName).titled("TENSOR"),
		words("dtype", func(t *overflow.Tensor) string { return t.DType }).titled("overflow¦DTYPE"),
		words("format", func(t *overflow.Tensor) string { return t.Format }).titled("FORMAT"),
		words("shape", func(t *overflow.Tensor) tensor.Shape { return t.Shape }).titled("SHAPE"),
	},
	of(func(t *overflow.Tensor) (*overflow.Stats, bool) { return t.Stats, t.Stats != nil },
		numbers("count", func(s *overflow.Stats) *int64 { return s.Count }).in(InCSV),
		numbers("nan", func(s *overflow.Stats) *int64 { return s.NaN }),
		numbers("+inf", func(s *overflow.Stats) *int64 { return s.PosInf }),
		numbers("-inf", func(s *overflow.Stats) *int64 { return s.NegInf }),
		numbers("saturated", func(s *overflow.Stats) any {
			if s.Saturated == nil {
				return nil
			}
			return *s.Saturated + s.HalfTraces
		}).titled("LIMIT"),
		numbers("min", func(s *overflow.Stats) *float64 { return s.Min }).titled("overflow_table¦MIN"),
		numbers("max", func(s *overflow.Stats) *float64 { return s.Max }).titled("overflow_table¦MAX"),
		numbers("mean", func(s *overflow.Stats) *float64 { return s.Mean }).titled("MEAN"),
	),
	[]Column[*overflow.Tensor]{words("first bad", firstBadText).titled("overflow_table¦FIRST BAD").in(InText)},
	of(firstBadOf,
		words("first_bad", func(e *overflow.Element) int64 { return e.Index }).in(InCSV),
		words("coordinates", func(e *overflow.Element) string { return tensor.Shape(e.Coord).Join(" ") }).in(InCSV),
	),
	[]Column[*overflow.Tensor]{words("error", func(t *overflow.Tensor) string { return t.Error }).in(InCSV)},
)

// fromStatistics marks tensors known only from a table of statistics.
var fromStatistics = words("from_statistics", func(t *overflow.Tensor) bool { return t.FromStatistics }).given()

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
		words("record", func(r *overflow.Record) string { return r.File }),
		words("device", func(r *overflow.Record) string { return r.Rank }), // the name in older reports
		words("step", func(r *overflow.Record) string { return r.Step }),
		words("model", func(r *overflow.Record) string { return r.Model }),
		words("timestamp", func(r *overflow.Record) uint64 { return r.Timestamp }),
		words("time", func(r *overflow.Record) string { return overflow.Time(r.Timestamp) }),
		words("acc_type", func(r *overflow.Record) string { return r.Unit.String() }),
		words("task_id", func(r *overflow.Record) uint64 { return r.TaskID }),
		words("stream_id", func(r *overflow.Record) uint64 { return r.StreamID }),
		words("context_id", func(r *overflow.Record) *uint64 { return r.ContextID }),
		words("thread_id", func(r *overflow.Record) *uint64 { return r.ThreadID }),
	},
	placeColumns,
	[]Column[*overflow.Record]{
		words("status", (*overflow.Record).StatusText),
		words("causes", causesText),
		words("verdict", func(r *overflow.Record) string { return string(r.Verdict) }),
	},
	of(func(r *overflow.Record) (*overflow.Operator, bool) { return r.Op, r.Op != nil },
		words("op_type", func(o *overflow.Operator) string { return o.Type }),
		words("op_name", func(o *overflow.Operator) string { return o.Name }),
		words("op_file", func(o *overflow.Operator) string { return o.File }),
		words("matched_by", func(o *overflow.Operator) string { return string(o.MatchedBy) }),
	),
)

// placeColumns locate the overflow on the device.
var placeColumns = []Column[*overflow.Record]{
	words("core_id", func(r *overflow.Record) *uint64 { return r.CoreID }).titled("core"),
	words("block", func(r *overflow.Record) *uint64 { return r.Block }).titled("block"),
	words("pc_start", func(r *overflow.Record) string { return r.PCStart }).titled("pc"),
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
	return slices.Concat(r.Entries, r.Undocumented())
}

// causesText joins the meanings of the status words.
func causesText(r *overflow.Record) string {
	var causes []string
	for _, c := range r.Causes {
		causes = append(causes, c.EN)
	}
	return strings.Join(causes, "; ")
}

// scanColumns are the columns of a scanned file.
var scanColumns = []Column[*overflow.ScanRow]{
	words("file", func(s *overflow.ScanRow) string { return s.File }),
	words("device", func(s *overflow.ScanRow) string { return s.Rank }), // the name in older reports
	words("step", func(s *overflow.ScanRow) string { return s.Step }),
	words("timestamp", func(s *overflow.ScanRow) uint64 { return s.Timestamp }),
	words("time", func(s *overflow.ScanRow) string { return overflow.Time(s.Timestamp) }),
	words("op_type", func(s *overflow.ScanRow) string { return s.OpType }),
	words("op_name", func(s *overflow.ScanRow) string { return s.OpName }),
	words("first", func(s *overflow.ScanRow) bool { return s.First }),
	words("verdict", func(s *overflow.ScanRow) string { return string(s.Verdict) }),
}

// Coordinates of rounds beyond the columns device, step and model of a record, or device and step
// of a scanned file.
var (
	recordRoundColumns = of(func(r *overflow.Record) (dumpdir.Coordinates, bool) { return r.At(), true }, roundColumns[:2]...)
	scanRoundColumns   = of(func(s *overflow.ScanRow) (dumpdir.Coordinates, bool) { return s.At(), true }, roundColumns...)
)

var roundColumns = []Column[dumpdir.Coordinates]{
	words("rank", func(c dumpdir.Coordinates) string { return c.Rank }).given(),
	words("graph", func(c dumpdir.Coordinates) string { return c.Graph }).given(),
	words("model", func(c dumpdir.Coordinates) string { return c.Model }).given(),
}

// withTensor is a row with one of its tensors, nil for none.
type withTensor[R any] struct {
	of     R
	tensor *overflow.Tensor
}

// besides returns columns of rows, then of their tensors, then of their rounds.
func besides[R any](columns, rounds []Column[R]) []Column[withTensor[R]] {
	alone := func(r withTensor[R]) (R, bool) { return r.of, true }
	tensor := func(r withTensor[R]) (*overflow.Tensor, bool) { return r.tensor, r.tensor != nil }
	return slices.Concat(of(alone, columns...), of(tensor, tensorColumns...), of(alone, rounds...), of(tensor, fromStatistics))
}

// WriteAnalysisCSV writes a line for every tensor of every record; a record without tensors has one
// line.
func WriteAnalysisCSV(w io.Writer, r *overflow.Report) error {
	t := Table[withTensor[*overflow.Record]]{Columns: besides(recordColumns, recordRoundColumns)}
	for _, record := range pointers(r.Records) {
		for _, one := range pointers(record.Tensors) {
			t.Rows = append(t.Rows, withTensor[*overflow.Record]{record, one})
		}
		if len(record.Tensors) == 0 {
			t.Rows = append(t.Rows, withTensor[*overflow.Record]{of: record})
		}
	}
	return t.CSV(w)
}

// WriteScanCSV writes a line for every tensor.
func WriteScanCSV(w io.Writer, r *overflow.ScanReport) error {
	columns := besides(scanColumns, scanRoundColumns)
	bad := words("bad", func(r withTensor[*overflow.ScanRow]) bool { return r.tensor.Bad })
	t := Table[withTensor[*overflow.ScanRow]]{Columns: slices.Insert(columns, len(scanColumns), bad)}
	for _, row := range pointers(r.Rows) {
		for _, one := range pointers(row.Tensors) {
			t.Rows = append(t.Rows, withTensor[*overflow.ScanRow]{row, one})
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

// WriteAnalysisMarkdown writes the records as a Markdown document.
func WriteAnalysisMarkdown(w io.Writer, r *overflow.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Overflow records\n\nrecords: %d, problems: %d\n", len(r.Records), len(r.Problems))
	columns := slices.Concat(withRank(recordColumns), recordRoundColumns[1:])
	for i := range r.Records {
		record := &r.Records[i]
		op := "operator not found"
		if record.Op != nil {
			op = opText(record.Op.Type, record.Op.Name)
			if record.Op.Guess {
				op += " (a guess)"
			}
		}
		markdownHeading(&b, i, op, isFirst(r, i))
		markdownItems(&b, columns, record)
		for _, t := range record.Advice {
			markdownItem(&b, "advice", t.String())
		}
		for _, warning := range record.Warnings {
			markdownItem(&b, "warning", warning.String())
		}
		if len(record.Tensors) > 0 {
			markdownTensors(&b, record.Tensors)
		}
	}
	markdownProblems(&b, r.Problems)
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteScanMarkdown writes the rows of a scan as a Markdown document.
func WriteScanMarkdown(w io.Writer, r *overflow.ScanReport) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Overflow scan\n\nfiles: %d, tensors: %d, files with bad tensors: %d\n", r.Files, r.Tensors, r.BadFiles)
	columns := slices.Concat(withRank(named(scanColumns, "file", "device", "step", "time", "verdict")), scanRoundColumns[1:])
	for i := range r.Rows {
		row := &r.Rows[i]
		name := opText(row.OpType, row.OpName)
		if name == "" {
			name = store.Base(row.File)
		}
		markdownHeading(&b, i, name, row.First)
		markdownItems(&b, columns, row)
		if row.FromStatistics() {
			markdownItem(&b, "source", "statistics")
		}
		markdownTensors(&b, row.Tensors)
	}
	markdownProblems(&b, r.Problems)
	_, err := io.WriteString(w, b.String())
	return err
}

// withRank returns columns in which device is renamed to rank.
func withRank[R any](columns []Column[R]) []Column[R] {
	columns = slices.Clone(columns)
	for i := range columns {
		if columns[i].Name == "device" {
			columns[i].Name = "rank"
		}
	}
	return columns
}

// markdownHeading writes the heading of a record or a file.
func markdownHeading(b *strings.Builder, i int, name string, first bool) {
	fmt.Fprintf(b, "\n## %d. %s", i+1, markdown(name))
	if first {
		b.WriteString(" (first of its rank)")
	}
	b.WriteString("\n\n")
}

// markdownItems writes the non-empty cells of a row as a list.
func markdownItems[R any](b *strings.Builder, columns []Column[R], r R) {
	for _, c := range (Table[R]{Columns: columns}).columns(InCSV) {
		if text := exact(c.Cell(r)); text != "" {
			markdownItem(b, c.Name, text)
		}
	}
}

func markdownItem(b *strings.Builder, name, text string) {
	fmt.Fprintf(b, "- %s: %s\n", name, markdown(text))
}

// markdownTensors writes a table of tensors.
func markdownTensors(b *strings.Builder, tensors []overflow.Tensor) {
	b.WriteString("\n")
	t := tensorTable(tensors)
	t.Columns = slices.Clone(t.Columns)
	for i := range t.Columns {
		t.Columns[i].Right = false
	}
	t.Markdown(b)
}

// markdownProblems lists the problems, if any.
func markdownProblems(b *strings.Builder, problems []overflow.Problem) {
	if len(problems) == 0 {
		return
	}
	b.WriteString("\n## Problems\n\n")
	for _, p := range problems {
		fmt.Fprintf(b, "- %s\n", markdown(problemText(&p).String()))
	}
}

// analysisGroups prints a line for each operator with records, and returns the index of the first
// record; -1, and nothing is printed, if all records are to be shown.
func (p *printer) analysisGroups(r *overflow.Report) int {
	if r.All || len(r.Records) <= maxShown {
		return -1
	}
	groups := r.Groups()
	p.line("", p.say("%s of %s, in the order of step and rank:", lang.CountText(r.Total, "overflow record"), count(len(groups), "operator")))
	p.groups(groups, func(g *overflow.Group) string {
		var statuses []string
		verdicts := make(map[overflow.Verdict]int)
		for _, i := range g.Members {
			if status := r.Records[i].StatusText(); !slices.Contains(statuses, status) {
				statuses = append(statuses, status)
			}
			verdicts[r.Records[i].Verdict]++
		}
		first := &r.Records[g.First()]
		return p.groupLine(p.op(first), g, first.At(), p.status(statuses), p.verdicts(verdicts))
	})
	return groups[0].First()
}

// scanGroups prints a line for each operator with rows, and returns the index of the first row; -1,
// and nothing is printed, if all rows are to be shown.
func (p *printer) scanGroups(r *overflow.ScanReport) int {
	if r.All || len(r.Rows) <= maxShown {
		return -1
	}
	groups := r.Groups()
	p.line("", p.say("%s with bad tensors, in the order of step and rank:", count(len(groups), "operator")))
	p.groups(groups, func(g *overflow.Group) string {
		verdicts := make(map[overflow.Verdict]int)
		for _, i := range g.Members {
			verdicts[r.Rows[i].Verdict]++
		}
		first := &r.Rows[g.First()]
		return p.groupLine(opText(first.OpType, first.OpName), g, first.At(), "", p.verdicts(verdicts))
	})
	return groups[0].First()
}

// groups prints a line for each of the first groups.
func (p *printer) groups(groups []overflow.Group, line func(*overflow.Group) string) {
	for i := range groups[:min(maxGroups, len(groups))] {
		p.line(textIndent, line(&groups[i]))
	}
	if n := len(groups) - maxGroups; n > 0 {
		p.line(textIndent, p.say("%s more", count(n, "operator")))
	}
}

// groupLine returns how often an operator occurs, and its ranks and steps.
func (p *printer) groupLine(name string, g *overflow.Group, first dumpdir.Coordinates, status, verdict string) string {
	from := ""
	if len(g.Ranks) > 1 || len(g.Steps) > 1 {
		rank, step := behind("rank ", first.Rank), behind("step ", first.Step)
		if rank != "" && step != "" {
			rank += " "
		}
		from = p.say("first ") + rank + step
	}
	places := p.join(p.listed(g.Ranks, "rank"), p.listed(g.Steps, "step"), from, status, verdict)
	return name + fmt.Sprintf(p.say("  %d x: "), len(g.Members)) + places
}

// listed formats ranks or steps with runs joined.
func (p *printer) listed(values []string, noun string) string {
	if len(values) > 1 && p.Lang != Chinese {
		noun += "s"
	}
	return behind(noun+" ", lang.Ranges(values))
}

// status formats the first statuses.
func (p *printer) status(words []string) string {
	const most = 3
	text := strings.Join(words[:min(most, len(words))], ", ")
	if text == "" {
		text = p.say("lost")
	}
	if len(words) > most {
		text += ", ..."
	}
	return p.say("status ") + text
}

// verdicts formats verdicts, with counts if they differ.
func (p *printer) verdicts(counts map[overflow.Verdict]int) string {
	var all []string
	for _, v := range []overflow.Verdict{overflow.ProducedHere, overflow.CameIn, overflow.CameFromRank, overflow.FromUnwritten, overflow.ProcessOverflow, overflow.CannotTell} {
		switch n := counts[v]; {
		case n == 0:
		case len(counts) == 1:
			all = append(all, p.verdict(v))
		default:
			all = append(all, fmt.Sprintf(p.say("%s %d x"), p.verdict(v), n))
		}
	}
	return p.join(all...)
}
