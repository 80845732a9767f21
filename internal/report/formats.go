// Package report turns results into text, tables, JSON and files of other tools:
// Formats lists them, Table is the one model of columns. It gets data and a
// writer or a folder, and knows neither terminals nor settings: how wide a line
// may be and which language is wanted are arguments. It decides nothing about
// the data; that is the work of the packages that make it.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"

	"dumptool/internal/check"
	"dumptool/internal/compare/determinism"
	"dumptool/internal/compare/record"
	"dumptool/internal/convert"
	"dumptool/internal/find"
	"dumptool/internal/hpaa"
	"dumptool/internal/inspect"
	"dumptool/internal/jsonpos"
	"dumptool/internal/overflow"
	"dumptool/internal/report/page"
	"dumptool/internal/show"
	"dumptool/internal/sidefile"
)

// Formats returns the forms that reports have, text first.
func Formats() []Format {
	formats.once.Do(func() { formats.all = listFormats() })
	return formats.all
}

// formats keeps what Formats returns, which inspect asks for with every file.
var formats struct {
	once sync.Once
	all  []Format
}

// listFormats lists what each format shows. A new one is an entry here, and a
// golden sample of each of its results (TestFormats).
func listFormats() []Format {
	return []Format{
		{"text", "for people", []Writer{
			textual("compare.txt", Text.WriteCompare),
			textual("", Text.WriteCompareDetail),
			textual("determinism.txt", Text.WriteDeterminism),
			textual("", Text.WriteJudgement),
			textual("", Text.WriteVersion),
			textual("", Text.WriteInspected),
			textual("", Text.WriteOverview),
			textual("", Text.WriteOperators),
			textual("", Text.WriteWindow),
			textual("", Text.WriteFound),
			textual("", Text.WriteLearned),
			textual("overflow.txt", Text.WriteAnalysis),
			textual("overflow_scan.txt", Text.WriteScan),
			textual("overflow_watch.txt", Text.WriteWatch),
			textual("check.txt", Text.WriteCheck),
			textual("", Text.WriteCheckTypes),
			textual("perf.txt", Text.WritePerf),
			textual("", Text.WriteConfigChecks),
			textual("", Text.WriteConfigExplanation),
		}},
		{"csv", "a table; that of compare has HPAA's columns, and more behind them", []Writer{
			with(writes(hpaaTable, WriteCompareCSV), writeTablesBeside),
			plainly("", WriteCompareDetailCSV),
			plainly("determinism.csv", WriteDeterminismCSV),
			plainly("", WriteJudgementCSV),
			plainly("overflow.csv", WriteAnalysisCSV),
			plainly("overflow_scan.csv", WriteScanCSV),
			plainly("overflow_watch.csv", WriteWatchCSV),
			with(plainly("check.csv", WriteCheckCSV), func(f *Folder, r *check.Report, _ Options) error { return writeRanksBeside(f, checkRanksFile, r.Ranks) }),
			plainly("perf.csv", WritePerfCSV),
		}},
		{HPAAFormat, "the files of HPAA: its table, errors of each operator, logs, op_config.csv", []Writer{
			with(writes(hpaaTable, WriteCompareCSV).keeping(Keep{Errors: true}), writeHPAA),
		}},
		{documentFormat, "everything, for programs", []Writer{
			plainly(documentName, writeCompareJSON).keeping(Keep{Worst: true, Bins: true, Pictures: true}).ofBad(),
			plainly("", WriteCompareDetailJSON),
			plainly("determinism.json", writeDocument[*determinism.Report]),
			plainly("", WriteJudgementJSON),
			plainly("", writeLine[Version]),
			plainly("", writeLine[*inspect.File]),
			plainly("", writeLine[*inspect.Overview]),
			plainly("", writeDocument[*show.Window]),
			plainly("", writeEscaped[*convert.Result]),
			plainly("", writeEscaped[*hpaa.Result]),
			plainly("", writeEscaped[*hpaa.Learned]),
			plainly("", writeDocument[*find.Answer]),
			plainly("overflow.json", writeDocument[*overflow.Report]),
			plainly("overflow_scan.json", writeDocument[*overflow.ScanReport]),
			plainly("overflow_watch.json", writeDocument[*overflow.WatchReport]),
			plainly("check.json", writeDocument[*check.Report]),
			plainly("perf.json", WritePerfJSON),
			plainly("", WriteConfigChecksJSON),
			plainly("", WriteConfigExplanationJSON),
		}},
		{"junit", "a test case for each tensor, for CI services", []Writer{
			plainly("junit.xml", WriteCompareJUnit).keeping(Keep{Worst: true}).ofBad(),
			plainly("check_junit.xml", WriteCheckJUnit),
		}},
		{"md", "Markdown, for a comment on a code host", []Writer{
			textual("compare.md", Text.WriteCompareMarkdown),
			plainly("overflow.md", WriteAnalysisMarkdown),
			plainly("overflow_scan.md", WriteScanMarkdown),
			textual("check.md", Text.WriteCheckMarkdown),
			textual("perf.md", Text.WritePerfMarkdown),
		}},
		{"msaccucmp", "a table with the columns of msaccucmp", []Writer{
			plainly("result_msaccucmp.csv", WriteCompareMsaccucmp).keeping(Keep{Divergence: true}),
		}},
		{"msprobe", "a table with the columns of msprobe", []Writer{
			with(plainly(msprobeName+".csv", WriteCompareMSProbe).keeping(Keep{Calls: true}), writeMSProbeRounds),
		}},
		{pageFormat, "a page for a browser, in one file", []Writer{
			writes("report.html", writePage).keeping(Keep{Worst: true, Bins: true, Pictures: true}).ofBad(),
			paged("determinism.html", func(o *page.Options) *json.RawMessage { return &o.Determinism }, writeDocument[*determinism.Report]),
			paged("overflow.html", overflowPage, writeDocument[*overflow.Report]),
			paged("overflow_scan.html", overflowPage, writeDocument[*overflow.ScanReport]),
			paged("check.html", func(o *page.Options) *json.RawMessage { return &o.Checked }, writeDocument[*check.Report]),
			paged("perf.html", func(o *page.Options) *json.RawMessage { return &o.Perf }, WritePerfJSON),
		}},
		{"jsonl", "a JSON object on each line: a row, or a record", []Writer{
			plainly("compare.jsonl", WriteCompareJSONLines).keeping(Keep{Worst: true, Bins: true}).ofBad(),
			plainly("overflow.jsonl", WriteAnalysisJSONLines),
			plainly("overflow_scan.jsonl", WriteScanJSONLines),
		}},
		{"github", "annotations of GitHub's workflows", []Writer{
			plainly("compare_github.txt", annotations(placesOfCompare)),
			plainly("overflow_github.txt", annotations(analysisPlaces)),
			plainly("overflow_scan_github.txt", annotations(scanPlaces)),
			plainly("check_github.txt", annotations(placesOfCheck)),
		}},
		{"sarif", "for services that show findings beside the source", []Writer{
			plainly("", WriteConfigChecksSARIF),
			plainly("compare.sarif", sarifOf(placesOfCompare, func(r *record.Report) string { return r.Tool })),
			plainly("overflow.sarif", sarifOf(analysisPlaces, func(r *overflow.Report) string { return r.Tool })),
			plainly("overflow_scan.sarif", sarifOf(scanPlaces, func(r *overflow.ScanReport) string { return r.Tool })),
			plainly("check.sarif", sarifOf(placesOfCheck, func(r *check.Report) string { return r.Tool })),
		}},
	}
}

// documentFormat is the format of compare.json, which lists the reports of a run.
// HPAAFormat is that of the files of HPAA, whose table is hpaaTable.
const (
	HPAAFormat     = "hpaa"
	hpaaTable      = "cpu_vs_npu.csv"
	documentFormat = "json"
	documentName   = "compare.json"
)

// Format is a form of reports.
type Format struct {
	// Name is what --format says.
	Name string
	// For says in the help what the format is good for.
	For string
	// Writers write the results that the format can show, one for each type.
	Writers []Writer
}

// Writer writes the results of one type in one format.
type Writer struct {
	// File is the name of the report in an output folder.
	File string
	// Keep is what a comparison must keep for the report.
	Keep Keep

	// fewer is set where Options.OnlyBad leaves rows out.
	fewer bool

	result reflect.Type
	write  func(w io.Writer, result any, opt Options) error
	// beside writes further files next to the report; it may be nil.
	beside func(f *Folder, result any, opt Options) error
}

// Keep says what of a comparison a report shows beside the rows.
type Keep struct {
	// Worst are the elements of a tensor that differ most, Errors the elements
	// beyond the limits, and Divergence is that of Kullback and Leibler. Bins are
	// histograms and profiles of axes, Calls the values of calls of msprobe.
	// Pictures are those of the rows that have them.
	Worst, Errors, Divergence, Bins, Calls, Pictures bool
}

// keeping returns a writer whose reports show more than the rows.
func (w Writer) keeping(k Keep) Writer {
	w.Keep = k
	return w
}

// ofBad returns a writer of which Options.OnlyBad leaves rows out.
func (w Writer) ofBad() Writer {
	w.fewer = true
	return w
}

// render writes a result.
func (w *Writer) render(out io.Writer, result any, opt Options) error {
	if r, ok := result.(*record.Report); ok {
		result = w.shown(r, opt)
	}
	return w.write(out, result, opt)
}

// shown is what the reports show of a comparison.
func (w *Writer) shown(r *record.Report, opt Options) *record.Report {
	if w.fewer && opt.OnlyBad {
		return r.BadRows()
	}
	return r
}

// with returns a writer that writes further files next to its reports.
func with[R any](w Writer, beside func(f *Folder, result R, opt Options) error) Writer {
	w.beside = func(f *Folder, result any, opt Options) error { return beside(f, result.(R), opt) }
	return w
}

// Options say how a result is written. A format takes from them what it needs.
type Options struct {
	// Text says how text for people looks.
	Text
	// HPAA says which columns HPAA's table of a comparison has, Elements which
	// elements the files of its operators.
	HPAA     CSVOptions
	Elements OpErrors
	// OnlyBad leaves rows that passed out of the reports of a comparison that list all
	// that is known of each row.
	OnlyBad bool
	// Page says how a page for a browser looks.
	Page page.Options
	// Kept are the lines of an import that stand in the logs of a comparison.
	Kept []sidefile.SkipLine
	// Gather gathers the pictures of a comparison, nil for none; Plots is set where some
	// of them are drawn beside the reports.
	Gather Gather
	Plots  bool
	// folder is set for reports that are written into a folder.
	folder bool
	// beside are the reports in the same folder, to which a page has links.
	beside []record.File
}

// writes returns a writer of results of type R.
func writes[R any](file string, write func(w io.Writer, result R, opt Options) error) Writer {
	return Writer{File: file, result: reflect.TypeFor[R](),
		write: func(w io.Writer, result any, opt Options) error { return write(w, result.(R), opt) }}
}

// plainly returns a writer that no option concerns.
func plainly[R any](file string, write func(w io.Writer, result R) error) Writer {
	return writes(file, func(w io.Writer, result R, _ Options) error { return write(w, result) })
}

// textual returns a writer of text.
func textual[R any](file string, write func(t Text, w io.Writer, result R) error) Writer {
	return writes(file, func(w io.Writer, result R, opt Options) error { return write(opt.Text, w, result) })
}

// FormatsOf returns the formats that can show results of type R, each with no
// other writer than that.
func FormatsOf[R any]() []Format {
	var all []Format
	for _, f := range Formats() {
		for _, w := range f.Writers {
			if w.result == reflect.TypeFor[R]() {
				f.Writers = []Writer{w}
				all = append(all, f)
				break
			}
		}
	}
	return all
}

// FormatNames lists the names of the formats for results of type R.
func FormatNames[R any]() []string {
	var names []string
	for _, f := range FormatsOf[R]() {
		names = append(names, f.Name)
	}
	return names
}

// WriterOf returns the writer of results of type R in a format. The format must
// be one of FormatNames.
func WriterOf[R any](format string) Writer {
	for _, f := range FormatsOf[R]() {
		if f.Name == format {
			return f.Writers[0]
		}
	}
	panic(fmt.Sprintf("no %s of %v", format, reflect.TypeFor[R]()))
}

// Write writes a result in a format, which must be one of FormatNames.
func Write[R any](w io.Writer, format string, result R, opt Options) error {
	x := WriterOf[R](format)
	return x.render(w, result, opt)
}

// FilesOf lists the files of results of type R in some formats, or in all.
func FilesOf[R any](formats ...string) []string {
	var files []string
	for _, f := range FormatsOf[R]() {
		if len(formats) == 0 || slices.Contains(formats, f.Name) {
			files = append(files, f.Writers[0].File)
		}
	}
	return files
}

// KeepOf is what a comparison must keep for reports of results of type R in some formats.
func KeepOf[R any](formats ...string) Keep {
	var all Keep
	for _, f := range formats {
		k := WriterOf[R](f).Keep
		all = Keep{Worst: all.Worst || k.Worst, Errors: all.Errors || k.Errors, Divergence: all.Divergence || k.Divergence, Bins: all.Bins || k.Bins, Calls: all.Calls || k.Calls, Pictures: all.Pictures || k.Pictures}
	}
	return all
}

// FormatHelp lists the formats for results of type R, a line each: its name, its
// file unless a result has none, and what it is good for.
func FormatHelp[R any]() string {
	var b strings.Builder
	formats, width := FormatsOf[R](), 0
	for _, f := range formats {
		width = max(width, len(f.Writers[0].File))
	}
	for _, f := range formats {
		line := fmt.Sprintf("  %-10s %-*s  ", f.Name, width, f.Writers[0].File)
		if width == 0 {
			line = fmt.Sprintf("  %-10s ", f.Name)
		}
		b.WriteString(line + f.For + "\n")
	}
	return b.String()
}

// marshal returns v as JSON that a terminal shows.
func marshal(v any, indent string) []byte { return jsonpos.Marshal(v, indent) }

// writeLine writes v as JSON on one line.
func writeLine[R any](w io.Writer, v R) error {
	_, err := w.Write(append(marshal(v, ""), '\n'))
	return err
}

// writeEscaped writes v as JSON on one line in which the signs of HTML are escaped.
func writeEscaped[R any](w io.Writer, v R) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(jsonpos.Visible(text), '\n'))
	return err
}

// writeJSON writes v in lines that people can read too.
func writeJSON(w io.Writer, v any) error {
	_, err := w.Write(append(marshal(v, "  "), '\n'))
	return err
}

// writeDocument writes a result that is a document as it is.
func writeDocument[R any](w io.Writer, r R) error { return writeJSON(w, r) }
