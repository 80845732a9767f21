package report

import (
	"bufio"
	"io"
	"slices"
	"strings"

	"dumptool/internal/compare/record"
	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
	"dumptool/internal/ui"
)

// File is an output file: its name, and what writes it.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// SkipLogs returns the four logs, empty ones too. Every row that was not
// compared has a line in exactly one: name, reason code and text with tabs in
// between. Behind them come the lines of an import about tensors that no row has.
func SkipLogs(r *record.Report, kept []sidefile.SkipLine) []File {
	labels := labelsOf(r)
	kept = withoutRow(kept, r, labels)
	var files []File
	for _, name := range []string{sidefile.CheckSkipName, sidefile.ConcateSkipName, sidefile.CompareSkipName, sidefile.InvalidOutName} {
		files = append(files, File{name, func(w io.Writer) error { return writeSkipLog(w, r, labels, kept, name) }})
	}
	return files
}

// withoutRow are the lines about tensors that no row has.
func withoutRow(lines []sidefile.SkipLine, r *record.Report, labels *labels) []sidefile.SkipLine {
	if len(lines) == 0 {
		return nil
	}
	var known filename.Index
	for i, row := range r.All() {
		known.Add(labels.of(row), i)
		known.Add(rowLabel(row), i)
	}
	return slices.DeleteFunc(slices.Clone(lines), func(l sidefile.SkipLine) bool {
		_, ok := known.Find(l.Name)
		return ok
	})
}

// writeSkipLog writes the log of one name.
func writeSkipLog(w io.Writer, r *record.Report, labels *labels, kept []sidefile.SkipLine, name string) error {
	out := bufio.NewWriter(w)
	line := func(label, code, text string) {
		out.WriteString(ui.Escape(label) + "\t" + ui.Escape(code) + "\t" + ui.Escape(text) + "\n")
	}
	for _, row := range r.All() {
		if row.Compared() {
			continue
		}
		code, log := skipCode(row)
		if log == name {
			line(labels.of(row), code, english.whyNot(row))
		}
	}
	for _, l := range kept {
		if l.Log == name {
			line(l.Name, l.Code, l.Text)
		}
	}
	return out.Flush()
}

// logOf says which log the rows with a reason go to.
var logOf = map[record.Code]string{
	record.BadHex:         sidefile.CheckSkipName,
	record.SizeMismatch:   sidefile.CheckSkipName,
	record.MissingPiece:   sidefile.ConcateSkipName,
	record.DuplicatePiece: sidefile.ConcateSkipName,
	record.ConcatShape:    sidefile.ConcateSkipName,
	record.NotInModel:     sidefile.InvalidOutName,
}

// skipCode is the code why a row was not compared, the status if there is none,
// and the log it goes to.
func skipCode(row *record.Row) (code, log string) {
	code, log = string(row.Status), sidefile.CompareSkipName
	if len(row.Reasons) > 0 {
		code = string(row.Reasons[0].Code)
	}
	for _, reason := range row.Reasons {
		if to, ok := logOf[reason.Code]; ok {
			return string(reason.Code), to
		}
	}
	if row.Status == record.UnmatchedRef && code == string(record.ReadError) {
		log = sidefile.CheckSkipName // a piece that an import could not read
	}
	if row.Status == record.UnmatchedNPU {
		log = sidefile.InvalidOutName
		if len(row.Reasons) == 0 {
			code = string(record.NotInModel)
		}
	}
	return code, log
}

// compareStatusText explains statuses without a reason of their own.
var compareStatusText = map[record.Status]lang.Text{
	record.ShapeMismatch: {EN: "the shapes differ", ZH: "shape 不同"},
	record.DTypeMismatch: {EN: "the element types differ", ZH: "数据类型不同"},
	record.Ambiguous:     {EN: "several tensors match", ZH: "有多个匹配的张量"},
	record.UnmatchedRef:  {EN: "the NPU run has no such tensor", ZH: "NPU 侧没有该张量"},
	record.UnmatchedNPU:  {EN: "the reference has no such tensor", ZH: "标杆中没有该张量"},
	record.Skip:          {EN: "skipped on request", ZH: "按要求跳过"},
}

// whyNot says why a row was not compared.
func (t Text) whyNot(row *record.Row) string {
	var parts []string
	for _, reason := range row.Reasons {
		if !reason.Evidence.IsZero() {
			parts = append(parts, t.of(reason.Evidence))
		}
	}
	if row.Err != nil {
		if text := row.Err.Error(); !strings.Contains(strings.Join(parts, "; "), text) {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		parts = append(parts, t.Lang.Text(compareStatusText[row.Status]))
	}
	return strings.Join(parts, t.say("; ", "；"))
}
