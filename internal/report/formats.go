// Package report converts results to text, tables, JSON and files of other tools: Formats lists
// them, and Table is the only model of columns. Reports are written to a writer or a folder; the
// width of lines and the language are arguments, since the package knows neither terminals nor
// settings. It makes no decisions about the data; the packages that produce the data do.
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
	"dumptool/internal/checkpoint"
	"dumptool/internal/compare/determinism"
	"dumptool/internal/compare/record"
	"dumptool/internal/convert"
	"dumptool/internal/find"
	"dumptool/internal/hpaa"
	"dumptool/internal/inspect"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lists"
	"dumptool/internal/overflow"
	"dumptool/internal/perf"
	"dumptool/internal/report/page"
	"dumptool/internal/show"
	"dumptool/internal/sidefile"
)

// Formats returns the formats of reports, text first.
func Formats() []Format {
	formats.once.Do(func() { formats.all = listFormats() })
	return formats.all
}

// formats caches the result of Formats, which inspect calls for every file.
var formats struct {
	once sync.Once
	all  []Format
}

// listFormats lists the writers of each format. A new writer needs an entry here, and a golden
// sample of each of its results (TestFormats).
func listFormats() []Format {
	return []Format{
		{"text", "text for reading", []Writer{
			textWriter("compare.txt", Text.WriteCompare),
			textWriter("", Text.WriteCompareDetail),
			textWriter("determinism.txt", Text.WriteDeterminism),
			textWriter("", Text.WriteJudgement),
			textWriter("", Text.WriteVersion),
			textWriter("", Text.WriteInspected),
			textWriter("", Text.WriteOverview),
			textWriter("", Text.WriteOperators),
			textWriter("", Text.WriteWindow),
			textWriter("", Text.WriteFound),
			textWriter("overflow.txt", Text.WriteAnalysis),
			textWriter("overflow_scan.txt", Text.WriteScan),
			textWriter("overflow_watch.txt", Text.WriteWatch),
			textWriter("headroom.txt", Text.WriteHeadroom),
			textWriter("checkpoints.txt", Text.WriteCheckpoints),
			textWriter("check.txt", Text.WriteCheck),
			textWriter("", Text.WriteCheckTypes),
			textWriter("perf.txt", Text.WritePerf),
			textWriter("", Text.WriteConfigChecks),
			textWriter("", Text.WriteConfigExplanation),
		}},
		{"csv", "a table; compare: HPAA's columns, followed by more", []Writer{
			withExtraFiles(writerFor(hpaaTable, WriteCompareCSV), writeTablesBeside),
			plainWriter("", WriteCompareDetailCSV),
			plainWriter("determinism.csv", WriteDeterminismCSV),
			plainWriter("", WriteJudgementCSV),
			plainWriter("overflow.csv", WriteAnalysisCSV),
			plainWriter("overflow_scan.csv", WriteScanCSV),
			plainWriter("overflow_watch.csv", WriteWatchCSV),
			plainWriter("headroom.csv", WriteHeadroomCSV),
			plainWriter("checkpoints.csv", WriteCheckpointsCSV),
			withExtraFiles(plainWriter("check.csv", WriteCheckCSV), func(f *Folder, r *check.Report, _ Options) error { return writeRanksBeside(f, checkRanksFile, r.Ranks) }),
			plainWriter("perf.csv", WritePerfCSV),
		}},
		{HPAAFormat, "the files of HPAA: its table, errors of each operator, logs, op_config.csv", []Writer{
			withExtraFiles(writerFor(hpaaTable, WriteCompareCSV).withDetails(KeptData{Errors: true}), writeHPAA),
		}},
		{documentFormat, "all results, for programs", []Writer{
			plainWriter(documentName, writeCompareJSON).withDetails(KeptData{Worst: true, Bins: true, Pictures: true}).badRowsOnly(),
			plainWriter("", WriteCompareDetailJSON),
			plainWriter("determinism.json", writeDocument[*determinism.Report]),
			plainWriter("", WriteJudgementJSON),
			plainWriter("", writeLine[Version]),
			plainWriter("", writeLine[*inspect.File]),
			plainWriter("", writeLine[*inspect.Overview]),
			plainWriter("", writeDocument[*show.Window]),
			plainWriter("", writeEscaped[*convert.Result]),
			plainWriter("", writeEscaped[*hpaa.Result]),
			plainWriter("", writeDocument[*find.SearchResult]),
			plainWriter("overflow.json", writeDocument[*overflow.Report]),
			plainWriter("overflow_scan.json", writeDocument[*overflow.ScanReport]),
			plainWriter("overflow_watch.json", writeDocument[*overflow.WatchReport]),
			plainWriter("headroom.json", writeDocument[*overflow.HeadroomReport]),
			plainWriter("checkpoints.json", writeDocument[*checkpoint.Report]),
			plainWriter("check.json", writeDocument[*check.Report]),
			plainWriter("perf.json", WritePerfJSON),
			plainWriter("", WriteConfigChecksJSON),
			plainWriter("", WriteConfigExplanationJSON),
		}},
		{"junit", "a test case for each tensor, for CI services", []Writer{
			plainWriter("junit.xml", WriteCompareJUnit).withDetails(KeptData{Worst: true}).badRowsOnly(),
			plainWriter("check_junit.xml", WriteCheckJUnit),
		}},
		{"md", "Markdown, for a comment on a code host", []Writer{
			textWriter("compare.md", Text.WriteCompareMarkdown),
			textWriter("overflow.md", Text.WriteAnalysisMarkdown),
			textWriter("overflow_scan.md", Text.WriteScanMarkdown),
			textWriter("check.md", Text.WriteCheckMarkdown),
			textWriter("perf.md", Text.WritePerfMarkdown),
		}},
		{"msaccucmp", "a table with the columns of msaccucmp", []Writer{
			plainWriter("result_msaccucmp.csv", WriteCompareMsaccucmp).withDetails(KeptData{Divergence: true}),
		}},
		{"msprobe", "a table with the columns of msprobe", []Writer{
			withExtraFiles(plainWriter(msprobeName+".csv", WriteCompareMSProbe).withDetails(KeptData{Calls: true}), writeMSProbeRounds),
		}},
		{pageFormat, "a page for a browser, in one file", []Writer{
			writerFor("report.html", writePage).withDetails(KeptData{Worst: true, Bins: true, Pictures: true}).badRowsOnly(),
			pagedWriter("determinism.html", determinism.Schema, writeDocument[*determinism.Report]),
			pagedWriter("overflow.html", overflow.Schema, writeDocument[*overflow.Report]),
			pagedWriter("overflow_scan.html", overflow.ScanSchema, writeDocument[*overflow.ScanReport]),
			pagedWriter("headroom.html", overflow.HeadroomSchema, writeDocument[*overflow.HeadroomReport]),
			pagedWriter("checkpoints.html", checkpoint.Schema, writeDocument[*checkpoint.Report]),
			pagedWriter("check.html", check.Schema, writeDocument[*check.Report]),
			pagedWriter("perf.html", perf.Schema, WritePerfJSON),
		}},
		{"sarif", "for services that show findings in the source code", []Writer{
			plainWriter("", WriteConfigChecksSARIF),
			plainWriter("compare.sarif", sarifWriter(placesOfCompare, func(r *record.Report) string { return r.Tool })),
			plainWriter("overflow.sarif", sarifWriter(analysisPlaces, func(r *overflow.Report) string { return r.Tool })),
			plainWriter("overflow_scan.sarif", sarifWriter(scanPlaces, func(r *overflow.ScanReport) string { return r.Tool })),
			plainWriter("check.sarif", sarifWriter(placesOfCheck, func(r *check.Report) string { return r.Tool })),
		}},
	}
}

// documentFormat is the format of compare.json, which lists the reports of a run. HPAAFormat is the
// format of HPAA's files, with the table hpaaTable.
const (
	HPAAFormat     = "hpaa"
	hpaaTable      = "cpu_vs_npu.csv"
	documentFormat = "json"
	documentName   = "compare.json"
)

// Format is a format of reports.
type Format struct {
	// Name is the value of --format.
	Name string
	// Purpose is the purpose of the format, for the help.
	Purpose string
	// Writers has a writer for each type of result that the format can show.
	Writers []Writer
}

// Writer writes results of one type in one format.
type Writer struct {
	// File is the name of the report in an output folder.
	File string
	// KeptData is the data that a comparison must keep for the report.
	Keep KeptData

	// canOmitRows: Options.OnlyBad omits rows of the report.
	canOmitRows bool

	result reflect.Type
	write  func(w io.Writer, result any, opt Options) error
	// writeExtra writes further files next to the report; may be nil.
	writeExtra func(f *Folder, result any, opt Options) error
}

// KeptData lists the data of a comparison, beside the rows, that a report shows.
type KeptData struct {
	// Worst keeps the elements that differ most, Errors the elements beyond the limits, Divergence
	// the Kullback-Leibler divergence, Bins histograms and profiles of axes, Calls the values of
	// msprobe's calls, and Pictures the pictures of rows that have them.
	Worst, Errors, Divergence, Bins, Calls, Pictures bool
}

// withDetails returns a writer whose reports show more than the rows.
func (w Writer) withDetails(k KeptData) Writer {
	w.Keep = k
	return w
}

// badRowsOnly returns a writer that omits rows with Options.OnlyBad.
func (w Writer) badRowsOnly() Writer {
	w.canOmitRows = true
	return w
}

// render writes a result.
func (w *Writer) render(out io.Writer, result any, opt Options) error {
	if r, ok := result.(*record.Report); ok {
		result = w.selectRows(r, opt)
	}
	return w.write(out, result, opt)
}

// selectRows returns the part of a comparison that the report shows.
func (w *Writer) selectRows(r *record.Report, opt Options) *record.Report {
	if w.canOmitRows && opt.OnlyBad {
		return r.BadRows()
	}
	return r
}

// withExtraFiles returns a writer that writes further files next to its reports.
func withExtraFiles[R any](w Writer, beside func(f *Folder, result R, opt Options) error) Writer {
	w.writeExtra = func(f *Folder, result any, opt Options) error { return beside(f, result.(R), opt) }
	return w
}

// Options says how a result is written. Each format uses the options that concern it.
type Options struct {
	// Text describes the text for people.
	Text
	// HPAA selects the columns of HPAA's table of a comparison, Elements the elements in the files
	// of operators.
	HPAA     CSVOptions
	Elements OpErrors
	// OnlyBad omits rows that passed from the detailed reports of a comparison.
	OnlyBad bool
	// Page holds the options of an HTML page.
	Page page.Options
	// SkipLines holds the lines of an import for the logs of a comparison.
	SkipLines []sidefile.SkipLine
	// Gather gathers the pictures of a comparison, nil for none; Plots draws some of them beside
	// the reports.
	Gather Gather
	Plots  bool
	// folder: the report is written into a folder.
	folder bool
	// beside lists the reports in the same folder, to which a page links.
	beside []record.File
}

// writerFor returns a writer of results of type R.
func writerFor[R any](file string, write func(w io.Writer, result R, opt Options) error) Writer {
	return Writer{File: file, result: reflect.TypeFor[R](),
		write: func(w io.Writer, result any, opt Options) error { return write(w, result.(R), opt) }}
}

// plainWriter returns a writer that ignores the options.
func plainWriter[R any](file string, write func(w io.Writer, result R) error) Writer {
	return writerFor(file, func(w io.Writer, result R, _ Options) error { return write(w, result) })
}

// textWriter returns a writer of text.
func textWriter[R any](file string, write func(t Text, w io.Writer, result R) error) Writer {
	return writerFor(file, func(w io.Writer, result R, opt Options) error { return write(opt.Text, w, result) })
}

// FormatsOf returns the formats that can show results of type R, each with only that writer.
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
	return lists.Map(FormatsOf[R](), func(f Format) string { return f.Name })
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

// KeepOf returns the data that a comparison must keep for reports of R in some formats.
func KeepOf[R any](formats ...string) KeptData {
	var all KeptData
	for _, f := range formats {
		k := WriterOf[R](f).Keep
		all = KeptData{Worst: all.Worst || k.Worst, Errors: all.Errors || k.Errors, Divergence: all.Divergence || k.Divergence, Bins: all.Bins || k.Bins, Calls: all.Calls || k.Calls, Pictures: all.Pictures || k.Pictures}
	}
	return all
}

// FormatHelp lists the formats for results of type R, one per line: its name, its file unless a
// result has none, and its purpose.
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
		b.WriteString(line + f.Purpose + "\n")
	}
	return b.String()
}

// marshal returns v as JSON that is safe on a terminal.
func marshal(v any, indent string) []byte { return jsonpos.Marshal(v, indent) }

// writeLine writes v as JSON on one line.
func writeLine[R any](w io.Writer, v R) error {
	_, err := w.Write(append(marshal(v, ""), '\n'))
	return err
}

// writeEscaped writes v as JSON on one line with HTML escapes.
func writeEscaped[R any](w io.Writer, v R) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(jsonpos.Visible(text), '\n'))
	return err
}

// writeJSON writes v as indented JSON.
func writeJSON(w io.Writer, v any) error {
	_, err := w.Write(append(marshal(v, "  "), '\n'))
	return err
}

// writeDocument writes a result that is a document.
func writeDocument[R any](w io.Writer, r R) error { return writeJSON(w, r) }
