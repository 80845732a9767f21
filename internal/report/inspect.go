package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/inspect"
	"dumptool/internal/lang"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
	"dumptool/internal/ui"
)

// WriteInspected prints the contents of a file: its path, then the contents, indented. Tensors are
// one table, or two, the second with the statistics, if one is too wide for the terminal.
func (t Text) WriteInspected(w io.Writer, f *inspect.File) error {
	p := t.printerTo(w)
	p.print(ui.Escape(f.Entry.Path()) + "\n")
	for _, line := range p.fileLines(f) {
		p.print(textIndent + ui.Escape(line) + "\n")
	}
	p.sideText(f)
	p.printInspected(inspectedRows(f))
	p.printMisfits(f)
	return p.err
}

// sideText prints the summary of a file without tensors.
func (p *printer) sideText(f *inspect.File) {
	if f.Side == nil {
		return
	}
	var counts []string
	for _, c := range f.Side.Counts {
		if c.N > 0 {
			counts = append(counts, p.Lang.Text(c.Text()))
		}
	}
	p.line(textIndent, p.Lang.Text(f.Side.What))
	if len(counts) > 0 {
		p.line(textIndent, p.join(counts...))
	}
}

// printMisfits lists the misfits of a file, or their number.
func (p *printer) printMisfits(f *inspect.File) {
	if f.MisfitCount == 0 {
		return
	}
	text := p.format("does not fit: %s", lang.CountText(f.MisfitCount, "place"))
	if len(f.Misfits) == 0 {
		p.line(textIndent, text+p.format(" (--verbose lists them)"))
		return
	}
	p.line(textIndent, text)
	for _, m := range f.Misfits {
		place := ""
		if m.Line != nil {
			place = p.format("line %d", *m.Line)
		} else if m.Offset != nil {
			place = p.format("byte %d", *m.Offset)
		}
		p.facts([]summaryItem{{label: textIndent + textIndent + place, lines: []string{m.Found, p.format("want %s", m.Wanted)}}})
	}
	if rest := f.MisfitCount - len(f.Misfits); rest > 0 {
		p.line(textIndent, p.format("%d more", rest))
	}
}

// printInspected prints the contents of a file.
func (p *printer) printInspected(rows []inspectedRow) {
	if len(rows) == 0 {
		return
	}
	whole := Table[inspectedRow]{slices.Concat(inspectedColumns, statsColumns), rows}.Grid(p.Lang)
	if p.fitsTerminal(whole) {
		p.grid(textIndent, whole, 0)
		return
	}
	p.table(textIndent, Table[inspectedRow]{inspectedColumns, rows}.Grid(p.Lang))
	if rows = slices.DeleteFunc(rows, func(r inspectedRow) bool { return r.tensor == nil || r.tensor.Stats == nil }); len(rows) > 0 {
		p.table(textIndent, Table[inspectedRow]{slices.Concat(inspectedColumns[:2], statsColumns), rows}.Grid(p.Lang))
	}
}

// fileLines describes a file as a whole.
func (t Text) fileLines(f *inspect.File) []string {
	var lines []string
	if f.OriginalName != "" {
		lines = append(lines, t.format("originally %s", f.OriginalName))
	}
	switch {
	case f.OpType != "" && f.OpName != "":
		lines = append(lines, string(f.OpType+" "+f.OpName))
	case f.OpType+f.OpName != "":
		lines = append(lines, string(f.OpType+f.OpName))
	}
	if f.Script != "" {
		lines = append(lines, t.format("script %s", f.Script))
	}
	container := string(f.Container)
	if f.DumpTime != 0 {
		container = t.format("%s, dumped %s", container, dumpTime(uint64(f.DumpTime)))
	}
	if f.Side == nil {
		lines = append(lines, container)
	}
	if f.HasName {
		lines = append(lines, t.nameText(f))
	}
	if n := len(f.Values); n > 0 {
		lines = append(lines, t.format("%s besides tensors (--json lists them)", lang.CountText(n, "value")))
	}
	if f.Sliced {
		lines = append(lines, t.format("slices of thread %d (FFTS+)", f.Name.ThreadID))
	}
	for i := range f.Outputs {
		if r := f.Outputs[i].Record; r != nil {
			lines = append(lines, t.recordLines(r)...)
		}
	}
	return lines
}

// stridesText formats the strides of a tensor that is not in C order.
func stridesText(t *inspect.Tensor) string {
	if len(t.Strides) != len(t.Shape) || t.Size == 0 {
		return ""
	}
	for i, n := range tensor.Shape(t.Shape).Strides() {
		if t.Shape[i] > 1 && t.Strides[i] != n {
			return shapeText(t.Strides)
		}
	}
	return ""
}

// deviceText returns the device of a tensor before it was saved, empty for the host.
func deviceText(t *inspect.Tensor) string {
	if t.Device == "cpu" {
		return ""
	}
	return t.Device
}

// nameText describes the ids in the name of a file.
func (t Text) nameText(f *inspect.File) string {
	n := f.Name
	text := fmt.Sprintf("task %d", n.TaskID)
	if n.HasStream {
		text += t.format(", stream %d", n.StreamID)
	}
	if n.HasCore {
		text += t.format(", core type %d, core %d", n.CoreType, n.CoreID)
	}
	if n.HasThread {
		text += t.format(", task type %d, context %d, thread %d", n.TaskType, n.ContextID, n.ThreadID)
	}
	if n.HasDevice {
		text += t.format(", device %d", n.DeviceID)
	}
	if n.Timestamp != uint64(f.DumpTime) {
		text += t.format(", timestamp %d", n.Timestamp)
	}
	return text
}

// dumpTime formats a time in microseconds, with UTC if it is a plausible date.
func dumpTime(micros uint64) string {
	if text := dateTime(micros); text != "" {
		return fmt.Sprintf("%s UTC (%d)", text, micros)
	}
	return strconv.FormatUint(micros, 10)
}

// recordLines summarises an overflow record, a line per unit.
func (t Text) recordLines(r *opdebug.Record) []string {
	title := t.format("overflow record: ")
	switch {
	case !r.Valid():
		return []string{title + t.format("not valid")}
	case r.Empty():
		return []string{title + t.format("report¦empty")}
	case !r.HasOverflow():
		return []string{title + t.format("no overflow")}
	}
	var lines []string
	for _, area := range r.Overflows() {
		line := fmt.Sprintf("%s%s stream %d task %d status", title, area.Unit, area.StreamID, area.TaskID)
		for _, status := range area.Status {
			line += fmt.Sprintf(" %#x", status)
		}
		lines = append(lines, line)
	}
	return lines
}

// inspectedRow is a tensor, a buffer or space, or a row of a table.
type inspectedRow struct {
	op     string // for a row of a table
	name   string
	size   int64
	tensor *inspect.Tensor
	row    *inspect.Statistics // nil for tensors in the file
}

// inspectedRows lists the contents of a file in file order.
func inspectedRows(f *inspect.File) []inspectedRow {
	var rows []inspectedRow
	for _, t := range slices.Concat(pointers(f.Inputs), pointers(f.Outputs), pointers(f.Tensors)) {
		rows = append(rows, inspectedRow{name: t.Label(), size: t.Size, tensor: t})
	}
	for _, b := range f.Buffers {
		rows = append(rows, inspectedRow{name: blobName("L1 buffer", "buffer", b), size: b.Size})
	}
	for _, b := range f.Spaces {
		rows = append(rows, inspectedRow{name: blobName("log space", "space", b), size: b.Size})
	}
	for _, s := range pointers(f.Statistics) {
		rows = append(rows, inspectedRow{s.Op, s.Label(), s.Size, &s.Tensor, s})
	}
	return rows
}

// inspectedColumns describe a tensor, statsColumns its elements.
var (
	inspectedColumns = slices.Concat(
		[]Column[inspectedRow]{
			textColumn("operator", func(r inspectedRow) string { return r.op }).withTitle("OPERATOR").hideIfEmpty(),
			textColumn("tensor", func(r inspectedRow) string { return r.name }).withTitle("TENSOR"),
		},
		columnsOfPart(func(r inspectedRow) (*inspect.Tensor, bool) { return r.tensor, r.tensor != nil },
			textColumn("dtype", (*inspect.Tensor).TypeName).withTitle("DTYPE"),
			textColumn("format", formatText).withTitle("FORMAT"),
			textColumn("shape", func(t *inspect.Tensor) string { return shapeText(t.Shape) }).withTitle("SHAPE"),
			textColumn("slice", func(t *inspect.Tensor) string {
				if t.Slice == nil {
					return ""
				}
				return shapeText(t.Slice)
			}).withTitle("SLICE").hideIfEmpty(),
			textColumn("original", originalText).withTitle("ORIGINAL").hideIfEmpty(),
			numberColumn("groups", func(t *inspect.Tensor) any {
				if t.Groups == nil || *t.Groups == 0 {
					return nil
				}
				return *t.Groups
			}).withTitle("GROUPS").hideIfEmpty(),
			numberColumn("c0", func(t *inspect.Tensor) int64 { return t.C0 }).emptyIfZero().hideIfEmpty(),
			textColumn("strides", stridesText).withTitle("STRIDES").hideIfEmpty(),
			textColumn("device", deviceText).withTitle("DEVICE").hideIfEmpty(),
		),
		[]Column[inspectedRow]{numberColumn("bytes", func(r inspectedRow) any {
			if r.row != nil && r.size == 0 { // a table row whose tensor is missing
				return nil
			}
			return r.size
		}).withTitle("BYTES").hideIfEmpty()},
	)
	statsColumns = slices.Concat(columnsOfPart(func(r inspectedRow) (s *inspect.Stats, ok bool) {
		if r.tensor != nil {
			s = r.tensor.Stats
		}
		return s, s != nil
	},
		numberColumn("min", func(s *inspect.Stats) string { return numberText(s.Min) }).withTitle("MIN").hideIfEmpty(),
		numberColumn("max", func(s *inspect.Stats) string { return numberText(s.Max) }).withTitle("MAX").hideIfEmpty(),
		numberColumn("mean", func(s *inspect.Stats) string { return numberText(s.Mean) }).withTitle("MEAN").hideIfEmpty(),
		numberColumn("nan", func(s *inspect.Stats) *int64 { return s.NaN }).hideIfEmpty(),
		numberColumn("+inf", func(s *inspect.Stats) *int64 { return s.PosInf }).hideIfEmpty(),
		numberColumn("-inf", func(s *inspect.Stats) *int64 { return s.NegInf }).hideIfEmpty(),
	), columnsOfPart(func(r inspectedRow) (*inspect.Statistics, bool) { return r.row, r.row != nil },
		numberColumn("norm", func(s *inspect.Statistics) any {
			if s.Norm == nil {
				return nil
			}
			return numeral(numberText(s.Norm))
		}).withTitle("NORM").hideIfEmpty(),
		textColumn("digest", func(s *inspect.Statistics) string { return s.Digest }).withTitle("DIGEST").hideIfEmpty(),
	))
)

// blobName names a buffer or a space; type 0 has a special name.
func blobName(zero, other string, b inspect.Blob) string {
	if b.Type != 0 {
		zero = fmt.Sprintf("type %d %s", b.Type, other)
	}
	return fmt.Sprintf("%s %d", zero, b.Index)
}

// numberText formats a number that may be missing.
func numberText(x *tensor.Number) string { return wholeOrSix((*float64)(x)) }

// formatText returns the layout; files with named tensors have none.
func formatText(t *inspect.Tensor) string {
	if t.Format == nil {
		return tensor.ND.String()
	}
	return t.Format.String()
}

// shapeText formats a shape as -s of convert accepts it; - is no shape, () a scalar.
func shapeText[S ~[]int64](s S) string {
	switch {
	case s == nil:
		return "-"
	case len(s) == 0:
		return "()"
	}
	return tensor.Shape(s).Join(",")
}

// originalText formats the known original shape and format.
func originalText(t *inspect.Tensor) string {
	var parts []string
	if len(t.OriginalShape) > 0 {
		parts = append(parts, shapeText(t.OriginalShape))
	}
	if t.OriginalFormat != nil {
		parts = append(parts, t.OriginalFormat.String())
	}
	return strings.Join(parts, " ")
}
