package report

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/filename"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/report/page"
	"dumptool/internal/report/plot"
	"dumptool/internal/safefile"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
	"dumptool/internal/ui"
)

// NewCompareFolder returns a folder that never replaces a compared file or one of others.
func NewCompareFolder(dir string, r *record.Report, others ...string) *Folder {
	compared := map[string]bool{"": true} // an absent side
	others = slices.Clip(others)
	for _, row := range r.AllRows() {
		for _, path := range []string{row.RefPath, row.NPUPath} {
			if !compared[path] {
				others, compared[path] = append(others, path), true
			}
		}
	}
	return NewFolder(dir, others...)
}

// OpConfigName is the file with limits of operators, which the user fills in.
const OpConfigName = "op_config.csv"

// WriteComparison writes the reports of a comparison in some formats. It removes outdated reports
// of an earlier run that dumptool wrote, except plots, and returns the names of reports that other
// programs wrote. compare.json is written last, since the old one lists the removable files.
func WriteComparison(f *Folder, formats []string, r *record.Report, opt Options) (left []string, failed []error) {
	opt.folder = true
	before := f.earlierReports()
	var late []string // formats with pictures, and links to the files before them
	early := slices.DeleteFunc(slices.Clone(formats), func(name string) bool {
		pictures := WriterOf[*record.Report](name).Keep.Pictures
		if pictures && name != documentFormat {
			late = append(late, name)
		}
		return pictures
	})
	opt.Width = 0
	failed = WriteFiles(f, early, r, opt)
	if opt.Gather != nil {
		failed = append(failed, gatherPictures(f, r, labelsOf(r), opt.Gather)...)
	}
	opt.beside = f.Written
	failed = append(failed, WriteFiles(f, late, r, opt)...)
	if len(failed) == 0 {
		before = f.removeStale(before)
	}
	if slices.Contains(formats, documentFormat) {
		// Files that could not be removed stay listed as dumptool's.
		r.Files = slices.Concat(f.Written, slices.DeleteFunc(before, f.hasWritten))
		slices.SortFunc(r.Files, func(a, b record.File) int { return strings.Compare(a.Name, b.Name) })
		failed = append(failed, WriteFiles(f, []string{documentFormat}, r, opt)...)
	}
	return f.foreignFiles(before), failed
}

// writeHPAA writes HPAA's files beside cpu_vs_npu.csv.
func writeHPAA(folder *Folder, r *record.Report, opt Options) error {
	if err := writeStatisticsBeside(folder, r, opt); err != nil {
		return err
	}
	labels := labelsOf(r)
	stems, names := operatorStems(r, labels, opt.Plots)
	renamed := false
	for i, row := range r.AllRows() {
		stem, ok := stems[i]
		if !ok {
			continue
		}
		renamed = renamed || stem != labels.labelOf(row)
		if !row.HasErrors() { // has plots only
			continue
		}
		if err := folder.Write(stem+".csv", func(w io.Writer) error { return WriteOpErrors(w, row, opt.Elements) }); err != nil {
			return err
		}
	}
	for _, log := range SkipLogs(r, opt.SkipLines) {
		if err := folder.Write(log.Name, log.Write); err != nil {
			return err
		}
	}
	if renamed {
		if err := folder.Write(opNamesFile, names.WriteTable); err != nil {
			return err
		}
	}
	return writeOpConfig(folder, r)
}

// writeStatisticsBeside writes the rows that were compared by statistics, which cpu_vs_npu.csv
// lacks.
func writeStatisticsBeside(folder *Folder, r *record.Report, opt Options) error {
	if !r.HasRow(func(row *record.Row) bool { return row.Statistics != nil && row.IsJudged() }) {
		return nil
	}
	return folder.Write(statisticsFile, func(w io.Writer) error { return writeStatisticsCSV(w, r, opt) })
}

// writeTablesBeside writes the tables beside cpu_vs_npu.csv: rows of statistics, and findings
// between ranks.
func writeTablesBeside(folder *Folder, r *record.Report, opt Options) error {
	return cmp.Or(writeStatisticsBeside(folder, r, opt), writeRanksBeside(folder, compareRanksFile, ranksOf(r)))
}

// writeOpConfig writes an op_config.csv without limits, for the user to fill in, unless it exists.
// It is never rewritten, so it is only written with all operators. Names with characters that a
// terminal or a spreadsheet would interpret are left out.
func writeOpConfig(folder *Folder, r *record.Report) error {
	if r.IsCutShort() {
		return nil
	}
	if _, err := store.Lstat(store.Join(folder.Dir, OpConfigName)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	names := func(yield func(string) bool) {
		for _, row := range r.AllRows() {
			if op := row.Op; row.RefFile != "" && csvText(op) == op && !yield(op) {
				return
			}
		}
	}
	err := folder.write(OpConfigName, safefile.CreateNew, func(w io.Writer) error { return sidefile.WriteOpConfig(w, names) })
	if errors.Is(err, os.ErrExist) { // created meanwhile
		return nil
	}
	folder.Written = slices.DeleteFunc(folder.Written, func(w record.File) bool { return w.Name == OpConfigName })
	return err
}

// pagedWriter returns a writer of results whose page is made from their document.
func pagedWriter[R any](file, schema string, write func(w io.Writer, result R) error) Writer {
	return writerFor(file, func(w io.Writer, result R, opt Options) error {
		var b bytes.Buffer
		if err := write(&b, result); err != nil {
			return err
		}
		opt.Page.Documents = page.Documents{page.Kinds[schema]: b.Bytes()}
		return page.Write(w, nil, opt.Page)
	})
}

// Gather reads tensors again for the pictures in the report, and passes the pictures of each row
// with plots to draw. draw is called concurrently; the functions it returns are called one at a
// time, in row order. It returns the errors of rows without plots.
type Gather func(draw func(row int, pictures *metrics.Pictures) func() error) (failed []error)

// gatherPictures gathers the pictures of rows, and writes three plots for each row with pictures.
func gatherPictures(f *Folder, r *record.Report, labels *labels, gather Gather) []error {
	stems, _ := operatorStems(r, labels, true)
	return gather(func(row int, pictures *metrics.Pictures) func() error {
		label := labels.labelOf(r.Row(row))
		files, err := plot.Draw(label, pictures)
		return func() error {
			if err != nil {
				return lang.Errorf("%s: no plots: %w", label, err)
			}
			for _, file := range files {
				if err := f.Write(stems[row]+file.Suffix, bytesWriter(file.PNG)); err != nil {
					return err
				}
			}
			return nil
		}
	})
}

// operatorStems returns, by row index, the file names without extension of the rows that have
// files. Plots add rows with files, and do not change the names of the other rows.
func operatorStems(r *record.Report, names *labels, plots bool) (stems map[int]string, files *FileNames) {
	stems, files = map[int]string{}, NewFileNames()
	for i, row := range r.AllRows() {
		if row.IsCompared() && row.HasErrors() {
			stems[i] = files.Stem(names.labelOf(row))
		}
	}
	for i, row := range r.AllRows() {
		if plots && row.IsCompared() && row.Status == record.Fail && stems[i] == "" { // rows with errors have one already
			stems[i] = files.Stem(names.labelOf(row))
		}
	}
	return stems, files
}

// isPlot reports whether a file has the name of a plot.
func isPlot(name string) bool {
	return slices.ContainsFunc(plot.Suffixes(), func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// File is an output file with the function that writes it.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// SkipLogs returns the four logs, including empty ones. Every row that was not compared has a line
// in exactly one log: name, reason code and text separated by tabs. An import's lines about tensors
// without a row follow.
func SkipLogs(r *record.Report, kept []sidefile.SkipLine) []File {
	labels := labelsOf(r)
	kept = linesWithoutRow(kept, r, labels)
	var files []File
	for _, name := range []string{sidefile.CheckSkipName, sidefile.ConcateSkipName, sidefile.CompareSkipName, sidefile.InvalidOutName} {
		files = append(files, File{name, func(w io.Writer) error { return writeSkipLog(w, r, labels, kept, name) }})
	}
	return files
}

// linesWithoutRow returns the lines about tensors without a row.
func linesWithoutRow(lines []sidefile.SkipLine, r *record.Report, labels *labels) []sidefile.SkipLine {
	if len(lines) == 0 {
		return nil
	}
	var known filename.Index
	for i, row := range r.AllRows() {
		known.Add(labels.labelOf(row), i)
		known.Add(rowLabel(row), i)
	}
	return slices.DeleteFunc(slices.Clone(lines), func(l sidefile.SkipLine) bool {
		_, ok := known.Find(l.Name)
		return ok
	})
}

// writeSkipLog writes the log with a name.
func writeSkipLog(w io.Writer, r *record.Report, labels *labels, kept []sidefile.SkipLine, name string) error {
	out := bufio.NewWriter(w)
	line := func(label, code, text string) {
		out.WriteString(ui.Escape(label) + "\t" + ui.Escape(code) + "\t" + ui.Escape(text) + "\n")
	}
	for _, row := range r.AllRows() {
		if row.IsCompared() {
			continue
		}
		code, log := skipCode(row)
		if log == name {
			line(labels.labelOf(row), code, english.notComparedText(row))
		}
	}
	for _, l := range kept {
		if l.Log == name {
			line(l.Name, l.Code, l.Text)
		}
	}
	return out.Flush()
}

// skipLogs maps reasons to logs.
var skipLogs = map[finding.Code]string{
	finding.BadHex:         sidefile.CheckSkipName,
	finding.SizeMismatch:   sidefile.CheckSkipName,
	finding.MissingPiece:   sidefile.ConcateSkipName,
	finding.DuplicatePiece: sidefile.ConcateSkipName,
	finding.ConcatShape:    sidefile.ConcateSkipName,
	finding.NotInModel:     sidefile.InvalidOutName,
}

// skipCode returns the reason code why a row was not compared, else its status, and the row's log.
func skipCode(row *record.Row) (code, log string) {
	code, log = string(row.Status), sidefile.CompareSkipName
	if len(row.Reasons) > 0 {
		code = string(row.Reasons[0].Code)
	}
	for _, reason := range row.Reasons {
		if to, ok := skipLogs[reason.Code]; ok {
			return string(reason.Code), to
		}
	}
	if row.Status == record.UnmatchedRef && code == string(finding.ReadError) {
		log = sidefile.CheckSkipName // a piece that an import could not read
	}
	if row.Status == record.UnmatchedNPU {
		log = sidefile.InvalidOutName
		if len(row.Reasons) == 0 {
			code = string(finding.NotInModel)
		}
	}
	return code, log
}

// compareStatusText explains statuses that have no reasons.
var compareStatusText = map[record.Status]lang.Text{
	record.ShapeMismatch: {EN: "the shapes differ"},
	record.DTypeMismatch: {EN: "the element types differ"},
	record.Ambiguous:     {EN: "several tensors match"},
	record.UnmatchedRef:  {EN: "the NPU run has no such tensor"},
	record.UnmatchedNPU:  {EN: "the reference has no such tensor"},
	record.Skip:          {EN: "skipped on request"},
}

// notComparedText returns why a row was not compared.
func (t Text) notComparedText(row *record.Row) string {
	var parts []string
	for _, reason := range row.Reasons {
		if !reason.Evidence.IsZero() {
			parts = append(parts, t.sentence(reason.Evidence))
		}
	}
	if row.Err != nil {
		if text := t.sentence(lang.Error(row.Err)); !strings.Contains(strings.Join(parts, "; "), text) {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		parts = append(parts, t.Lang.Text(compareStatusText[row.Status]))
	}
	return strings.Join(parts, t.format("; "))
}
