package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"dumptool/internal/overflow"
	"dumptool/internal/ui"
)

// Columns of a tensor, in tables of every kind.
var tensorColumns = []string{"tensor", "dtype", "format", "shape", "count", "nan", "+inf", "-inf", "saturated", "min", "max", "mean", "first_bad", "coordinates", "error"}

// tensorCells are the cells of a tensor, with numbers in full.
func tensorCells(t *overflow.Tensor) []string {
	cells := make([]string, len(tensorColumns))
	cells[0] = fmt.Sprintf("%s %d", t.Kind, t.Index)
	cells[1], cells[2], cells[3] = t.DType.String(), t.Format.String(), storedShape(t).Join("x")
	if t.Err != nil {
		cells[14] = t.Err.Error()
	}
	c := t.Census
	if c == nil {
		return cells
	}
	for i, n := range []int64{c.Count, c.NaN, c.PosInf, c.NegInf, c.Saturated + c.HalfTraces} {
		cells[4+i] = strconv.FormatInt(n, 10)
	}
	for i, x := range []*float64{c.Min, c.Max, c.Mean} {
		if x != nil {
			cells[9+i] = strconv.FormatFloat(*x, 'g', -1, 64)
		}
	}
	if s := c.First(); s != nil && t.Bad() {
		cells[12] = strconv.FormatInt(s.Index, 10)
		cells[13] = joinInts(coordinates(t, s.Index), " ")
	}
	return cells
}

// joinInts prints numbers with sep between them.
func joinInts(values []int64, sep string) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = strconv.FormatInt(v, 10)
	}
	return strings.Join(parts, sep)
}

// recordColumns are the columns of a record in front of those of its tensors.
var recordColumns = []string{"record", "device", "step", "model", "timestamp", "time", "acc_type", "task_id", "stream_id", "context_id", "thread_id",
	"core_id", "block", "pc_start", "status", "causes", "verdict", "op_type", "op_name", "op_file", "matched_by"}

// recordCells are the cells of a record; those of what it does not tell are empty.
func recordCells(r *overflow.Record) []string {
	a := r.Area
	context, thread := "", ""
	if c, t, ok := a.Context(); ok {
		context, thread = strconv.FormatUint(c, 10), strconv.FormatUint(t, 10)
	}
	cells := []string{r.File, r.Place.Device, r.Place.Step, r.Place.Model, strconv.FormatUint(r.Timestamp, 10), timeText(r.Timestamp),
		a.Unit.String(), strconv.FormatUint(a.TaskID, 10), strconv.FormatUint(a.StreamID, 10), context, thread,
		fieldText(r, coreFields, "%d"), fieldText(r, blockFields, "%d"), fieldText(r, pcFields, "0x%x"),
		statusText(r), causesText(r), string(r.Verdict)}
	if r.Op == nil {
		return append(cells, "", "", "", "")
	}
	return append(cells, r.Op.Type, r.Op.Name, r.Op.File, string(r.Op.MatchedBy))
}

// fieldText prints the first of some fields that an area has.
func fieldText(r *overflow.Record, names []string, format string) string {
	if x := areaField(r, names); x != nil {
		return fmt.Sprintf(format, *x)
	}
	return ""
}

// timeText prints microseconds since 1970 as UTC.
func timeText(micros uint64) string {
	if micros == 0 || micros > 1<<53 {
		return ""
	}
	return time.UnixMicro(int64(micros)).UTC().Format("2006-01-02 15:04:05.000000")
}

// statusText prints the status words in hex.
func statusText(r *overflow.Record) string {
	var words []string
	for _, s := range r.Area.Status {
		words = append(words, fmt.Sprintf("0x%x", s))
	}
	return strings.Join(words, " ")
}

// causesText joins what the status words mean.
func causesText(r *overflow.Record) string {
	var causes []string
	for i := range r.Status {
		for _, e := range entriesOf(&r.Status[i]) {
			causes = append(causes, e.Meaning.EN)
		}
	}
	return strings.Join(causes, "; ")
}

// WriteAnalysisCSV writes a line for every tensor of every record; a record
// without tensors has one line.
func WriteAnalysisCSV(w io.Writer, r *overflow.Report) error {
	out := csv.NewWriter(w)
	lines := [][]string{slices.Concat(recordColumns, tensorColumns)}
	for i := range r.Records {
		record := &r.Records[i]
		head := recordCells(record)
		for j := range record.Tensors {
			lines = append(lines, slices.Concat(head, tensorCells(&record.Tensors[j])))
		}
		if len(record.Tensors) == 0 {
			lines = append(lines, append(head, make([]string, len(tensorColumns))...))
		}
	}
	return out.WriteAll(lines)
}

// scanColumns are the columns of a scanned file in front of those of its tensors.
var scanColumns = []string{"file", "device", "step", "timestamp", "time", "op_type", "op_name", "first", "verdict", "bad"}

// WriteScanCSV writes a line for every tensor.
func WriteScanCSV(w io.Writer, r *overflow.ScanReport) error {
	out := csv.NewWriter(w)
	lines := [][]string{slices.Concat(scanColumns, tensorColumns)}
	for i := range r.Rows {
		row := &r.Rows[i]
		for j := range row.Tensors {
			t := &row.Tensors[j]
			head := []string{row.File, row.Place.Device, row.Place.Step, strconv.FormatUint(row.Timestamp, 10), timeText(row.Timestamp),
				row.OpType, row.OpName, strconv.FormatBool(row.First), string(row.Verdict), strconv.FormatBool(t.Bad())}
			lines = append(lines, append(head, tensorCells(t)...))
		}
	}
	return out.WriteAll(lines)
}

// isFirst reports whether a record is the first of its device.
func isFirst(r *overflow.Report, i int) bool {
	first, ok := r.First[r.Records[i].Place.Device]
	return ok && first == i
}

// opText names an operator, possibly one whose file name says nothing of it.
func opText(opType, name string) string {
	if opType == "" {
		return name
	}
	return strings.TrimSpace("[" + opType + "] " + name)
}

// WriteAnalysisMarkdown writes the records as a document.
func WriteAnalysisMarkdown(w io.Writer, r *overflow.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Overflow records\n\nrecords: %d, problems: %d\n", len(r.Records), len(r.Problems))
	for i := range r.Records {
		record := &r.Records[i]
		op := "operator not found"
		if record.Op != nil {
			op = opText(record.Op.Type, record.Op.Name)
			if record.Op.MatchedBy.Guess() {
				op += " (a guess)"
			}
		}
		first := ""
		if isFirst(r, i) {
			first = " (first of its device)"
		}
		fmt.Fprintf(&b, "\n## %d. %s%s\n\n", i+1, markdown(op), first)
		cells := recordCells(record)
		for j, name := range recordColumns {
			markdownItem(&b, name, cells[j])
		}
		for _, t := range record.Advice {
			markdownItem(&b, "advice", t.EN)
		}
		for _, warning := range record.Warnings {
			markdownItem(&b, "warning", warning)
		}
		if len(record.Tensors) > 0 {
			markdownTensors(&b, record.Tensors)
		}
	}
	markdownProblems(&b, r.Problems)
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteScanMarkdown writes the rows of a scan as a document.
func WriteScanMarkdown(w io.Writer, r *overflow.ScanReport) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Overflow scan\n\nfiles: %d, tensors: %d, files with bad tensors: %d\n", r.Files, r.Tensors, r.BadFiles)
	for i := range r.Rows {
		row := &r.Rows[i]
		first := ""
		if row.First {
			first = " (first of its device)"
		}
		name := opText(row.OpType, row.OpName)
		if name == "" {
			name = filepath.Base(row.File)
		}
		fmt.Fprintf(&b, "\n## %d. %s%s\n\n", i+1, markdown(name), first)
		markdownItem(&b, "file", row.File)
		markdownItem(&b, "device", row.Place.Device)
		markdownItem(&b, "step", row.Place.Step)
		markdownItem(&b, "time", timeText(row.Timestamp))
		markdownItem(&b, "verdict", string(row.Verdict))
		markdownTensors(&b, row.Tensors)
	}
	markdownProblems(&b, r.Problems)
	_, err := io.WriteString(w, b.String())
	return err
}

// markdownItem writes an item of a list, unless its text is empty.
func markdownItem(b *strings.Builder, name, text string) {
	if text != "" {
		fmt.Fprintf(b, "- %s: %s\n", name, markdown(text))
	}
}

// markdownTensors writes a table of tensors.
func markdownTensors(b *strings.Builder, tensors []overflow.Tensor) {
	b.WriteString("\n| " + strings.Join(tensorColumns, " | ") + " |\n|" + strings.Repeat("---|", len(tensorColumns)) + "\n")
	for i := range tensors {
		cells := tensorCells(&tensors[i])
		for j := range cells {
			cells[j] = markdown(cells[j])
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
}

// markdownProblems lists the problems, unless there are none.
func markdownProblems(b *strings.Builder, problems []overflow.Problem) {
	if len(problems) == 0 {
		return
	}
	b.WriteString("\n## Problems\n\n")
	for _, p := range problems {
		fmt.Fprintf(b, "- %s: %s\n", markdown(p.File), markdown(p.Err.Error()))
	}
}

// markdown keeps text of files from being taken for markup. Underscores within a
// word are none.
func markdown(text string) string {
	text = ui.Escape(text)
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c == '&':
			b.WriteString("&amp;")
		case c == '<':
			b.WriteString("&lt;")
		case c == '_' && inWord(text, i), !strings.ContainsRune("\\|`*_[]~$", rune(c)):
			b.WriteByte(c)
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}

// inWord reports whether an ASCII letter or digit is on both sides of the
// underscores around text[i].
func inWord(text string, i int) bool {
	before, after := strings.TrimRight(text[:i], "_"), strings.TrimLeft(text[i:], "_")
	return before != "" && after != "" && alphanumeric(before[len(before)-1]) && alphanumeric(after[0])
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
