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

// WriteInspected prints what is in a file: its path, then what it holds,
// indented. The tensors are one table, or a second one with the statistics where
// one alone is too wide for the terminal.
func (t Text) WriteInspected(w io.Writer, f *inspect.File) error {
	p := t.to(w)
	p.print(ui.Escape(f.Entry.Path()) + "\n")
	for _, line := range p.aboutFile(f) {
		p.print(textIndent + ui.Escape(line) + "\n")
	}
	p.sideText(f)
	p.inspected(inspectedRows(f))
	p.misfits(f)
	return p.err
}

// sideText says what is in a file that holds no tensors.
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

// misfits lists what of a file does not fit, or says how much it is.
func (p *printer) misfits(f *inspect.File) {
	if f.MisfitCount == 0 {
		return
	}
	text := p.say("does not fit: %s", "不符合格式：%s", lang.CountText(f.MisfitCount, "place", "处"))
	if len(f.Misfits) == 0 {
		p.line(textIndent, text+p.say(" (--verbose lists them)", "（--verbose 列出）"))
		return
	}
	p.line(textIndent, text)
	for _, m := range f.Misfits {
		place := ""
		if m.Line != nil {
			place = p.say("line %d", "第 %d 行", *m.Line)
		} else if m.Offset != nil {
			place = p.say("byte %d", "字节 %d", *m.Offset)
		}
		p.facts([]fact{{label: textIndent + textIndent + place, lines: []string{m.Found, p.say("want %s", "应为 %s", m.Wanted)}}})
	}
	if rest := f.MisfitCount - len(f.Misfits); rest > 0 {
		p.line(textIndent, p.say("%d more", "另有 %d 处", rest))
	}
}

// inspected prints what is in a file.
func (p *printer) inspected(rows []inspected) {
	if len(rows) == 0 {
		return
	}
	whole := Table[inspected]{slices.Concat(inspectedColumns, statsColumns), rows}.Grid(p.Lang)
	if p.fits(whole) {
		p.grid(textIndent, whole, 0)
		return
	}
	p.table(textIndent, Table[inspected]{inspectedColumns, rows}.Grid(p.Lang))
	if rows = slices.DeleteFunc(rows, func(r inspected) bool { return r.tensor == nil || r.tensor.Stats == nil }); len(rows) > 0 {
		p.table(textIndent, Table[inspected]{slices.Concat(inspectedColumns[:2], statsColumns), rows}.Grid(p.Lang))
	}
}

// aboutFile returns the lines about a file as a whole.
func (t Text) aboutFile(f *inspect.File) []string {
	var lines []string
	if f.OriginalName != "" {
		lines = append(lines, t.say("originally %s", "原名 %s", f.OriginalName))
	}
	switch {
	case f.OpType != "" && f.OpName != "":
		lines = append(lines, string(f.OpType+" "+f.OpName))
	case f.OpType+f.OpName != "":
		lines = append(lines, string(f.OpType+f.OpName))
	}
	if f.Script != "" {
		lines = append(lines, t.say("script %s", "脚本 %s", f.Script))
	}
	container := string(f.Container)
	if f.DumpTime != 0 {
		container = t.say("%s, dumped %s", "%s，dump 时间 %s", container, dumpTime(uint64(f.DumpTime)))
	}
	if f.Side == nil {
		lines = append(lines, container)
	}
	if f.HasName {
		lines = append(lines, t.aboutName(f))
	}
	if n := len(f.Values); n > 0 {
		lines = append(lines, t.say("%s besides tensors (--json lists them)", "张量以外有 %s(用 --json 列出)", lang.CountText(n, "value", "个值")))
	}
	if f.Sliced {
		lines = append(lines, t.say("slices of thread %d (FFTS+)", "线程 %d 的切片(FFTS+)", f.Name.ThreadID))
	}
	for i := range f.Outputs {
		if r := f.Outputs[i].Record; r != nil {
			lines = append(lines, t.aboutRecord(r)...)
		}
	}
	return lines
}

// stridesText are the strides of a tensor that is not stored in C order.
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

// deviceText is where a tensor was before it was saved, unless that was the host.
func deviceText(t *inspect.Tensor) string {
	if t.Device == "cpu" {
		return ""
	}
	return t.Device
}

// aboutName says what the ids in the name of a file are.
func (t Text) aboutName(f *inspect.File) string {
	n := f.Name
	text := fmt.Sprintf("task %d", n.TaskID)
	if n.HasStream {
		text += t.say(", stream %d", "，stream %d", n.StreamID)
	}
	if n.HasCore {
		text += t.say(", core type %d, core %d", "，core 类型 %d，core %d", n.CoreType, n.CoreID)
	}
	if n.HasThread {
		text += t.say(", task type %d, context %d, thread %d", "，task 类型 %d，context %d，thread %d", n.TaskType, n.ContextID, n.ThreadID)
	}
	if n.HasDevice {
		text += t.say(", device %d", "，device %d", n.DeviceID)
	}
	if n.Timestamp != uint64(f.DumpTime) {
		text += t.say(", timestamp %d", "，时间戳 %d", n.Timestamp)
	}
	return text
}

// dumpTime prints a time in microseconds, and in UTC where that makes sense.
func dumpTime(micros uint64) string {
	if text := dateTime(micros); text != "" {
		return fmt.Sprintf("%s UTC (%d)", text, micros)
	}
	return strconv.FormatUint(micros, 10)
}

// aboutRecord sums up an overflow record, in a line for every unit.
func (t Text) aboutRecord(r *opdebug.Record) []string {
	title := t.say("overflow record: ", "溢出记录：")
	switch {
	case !r.Valid():
		return []string{title + t.say("not valid", "无效")}
	case r.Empty():
		return []string{title + t.say("empty", "空")}
	case !r.Overflowed():
		return []string{title + t.say("no overflow", "无溢出")}
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

// inspected is a tensor, a buffer or space without one, or a row of a table.
type inspected struct {
	op     string // of a row of a table
	name   string
	size   int64
	tensor *inspect.Tensor
	row    *inspect.Statistics // nil for tensors that are there
}

// inspectedRows lists what a file holds, in the order of the file.
func inspectedRows(f *inspect.File) []inspected {
	var rows []inspected
	for _, t := range slices.Concat(pointers(f.Inputs), pointers(f.Outputs), pointers(f.Tensors)) {
		rows = append(rows, inspected{name: t.Label(), size: t.Size, tensor: t})
	}
	for _, b := range f.Buffers {
		rows = append(rows, inspected{name: blobName("L1 buffer", "buffer", b), size: b.Size})
	}
	for _, b := range f.Spaces {
		rows = append(rows, inspected{name: blobName("log space", "space", b), size: b.Size})
	}
	for _, s := range pointers(f.Statistics) {
		rows = append(rows, inspected{s.Op, s.Label(), s.Size, &s.Tensor, s})
	}
	return rows
}

// inspectedColumns are the columns of what a tensor is, statsColumns of what it
// holds.
var (
	inspectedColumns = slices.Concat(
		[]Column[inspected]{
			words("operator", func(r inspected) string { return r.op }).titled("OPERATOR", "算子").optional(),
			words("tensor", func(r inspected) string { return r.name }).titled("TENSOR", "张量"),
		},
		of(func(r inspected) (*inspect.Tensor, bool) { return r.tensor, r.tensor != nil },
			words("dtype", (*inspect.Tensor).TypeName).titled("DTYPE", "数据类型"),
			words("format", formatText).titled("FORMAT", "格式"),
			words("shape", func(t *inspect.Tensor) string { return shapeText(t.Shape) }).titled("SHAPE", "形状"),
			words("slice", func(t *inspect.Tensor) string {
				if t.Slice == nil {
					return ""
				}
				return shapeText(t.Slice)
			}).titled("SLICE", "切片").optional(),
			words("original", originalText).titled("ORIGINAL", "原始").optional(),
			numbers("groups", func(t *inspect.Tensor) any {
				if t.Groups == nil || *t.Groups == 0 {
					return nil
				}
				return *t.Groups
			}).titled("GROUPS", "分组").optional(),
			numbers("c0", func(t *inspect.Tensor) int64 { return t.C0 }).given().optional(),
			words("strides", stridesText).titled("STRIDES", "步长").optional(),
			words("device", deviceText).titled("DEVICE", "设备").optional(),
		),
		[]Column[inspected]{numbers("bytes", func(r inspected) any {
			if r.row != nil && r.size == 0 { // that of tensors that are not there
				return nil
			}
			return r.size
		}).titled("BYTES", "字节").optional()},
	)
	statsColumns = slices.Concat(of(func(r inspected) (s *inspect.Stats, ok bool) {
		if r.tensor != nil {
			s = r.tensor.Stats
		}
		return s, s != nil
	},
		numbers("min", func(s *inspect.Stats) string { return numberText(s.Min) }).titled("MIN", "最小").optional(),
		numbers("max", func(s *inspect.Stats) string { return numberText(s.Max) }).titled("MAX", "最大").optional(),
		numbers("mean", func(s *inspect.Stats) string { return numberText(s.Mean) }).titled("MEAN", "均值").optional(),
		numbers("nan", func(s *inspect.Stats) *int64 { return s.NaN }).optional(),
		numbers("+inf", func(s *inspect.Stats) *int64 { return s.PosInf }).optional(),
		numbers("-inf", func(s *inspect.Stats) *int64 { return s.NegInf }).optional(),
	), of(func(r inspected) (*inspect.Statistics, bool) { return r.row, r.row != nil },
		numbers("norm", func(s *inspect.Statistics) any {
			if s.Norm == nil {
				return nil
			}
			return numeral(numberText(s.Norm))
		}).titled("NORM", "范数").optional(),
		words("digest", func(s *inspect.Statistics) string { return s.Digest }).titled("DIGEST", "摘要").optional(),
	))
)

// blobName names a buffer or a space, whose type 0 has a name of its own.
func blobName(zero, other string, b inspect.Blob) string {
	if b.Type != 0 {
		zero = fmt.Sprintf("type %d %s", b.Type, other)
	}
	return fmt.Sprintf("%s %d", zero, b.Index)
}

// numberText prints a number that may be missing.
func numberText(x *tensor.Number) string { return wholeOrSix((*float64)(x)) }

// formatText is the layout: files that name their tensors have none.
func formatText(t *inspect.Tensor) string {
	if t.Format == nil {
		return tensor.ND.String()
	}
	return t.Format.String()
}

// shapeText prints a shape as -s of convert takes it; - is no shape, and () one
// without dimensions.
func shapeText[S ~[]int64](s S) string {
	switch {
	case s == nil:
		return "-"
	case len(s) == 0:
		return "()"
	}
	return tensor.Shape(s).Join(",")
}

// originalText prints the original shape and format as far as they are known.
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
