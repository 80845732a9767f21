package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/compare"
	"dumptool/internal/compare/pairing"
	"dumptool/internal/report"
	"dumptool/internal/safefile"
)

// check checks the flags of the reports and sets the formats that nobody chose.
func (o *compareOutput) check() error {
	for i, f := range o.formats {
		known, err := oneOf("--format", f, compareFormats)
		if err != nil {
			return err
		}
		o.formats[i] = known
	}
	switch {
	case len(o.formats) > 1 && o.out == "":
		return usagef("several formats need an output folder (-out)")
	case o.version != "" && !strings.EqualFold(o.version, "successor"):
		return usagef("--hpaa-version %s: want successor", o.version)
	case o.diffCount < 1:
		return usagef("--diff-cnt %d: want at least 1", o.diffCount)
	case o.topN < 1 || o.topN > maxWorst:
		return usagef("--topn %d: want 1 to %d", o.topN, maxWorst)
	}
	var err error
	o.diffOrder, err = oneOf("--diff-order", o.diffOrder, []string{"index", "worst"})
	return err
}

// maxWorst is the most worst elements of a tensor that are kept.
const maxWorst = 10000

// worst is the number of worst elements that the reports need.
func (o *compareOutput) worst() int {
	n := 0
	if o.writes("json") || o.writes("junit") {
		n = o.topN
	}
	if o.diffOrder == "worst" && o.out != "" && o.writes("csv") {
		n = max(n, o.diffCount)
	}
	return n
}

// listed is the number of first errors that the CSV files of operators need.
func (o *compareOutput) listed() int {
	if o.diffOrder == "index" && o.out != "" && o.writes("csv") {
		return o.diffCount
	}
	return 0
}

// writes reports whether a format is wanted.
func (o *compareOutput) writes(format string) bool {
	if o.out == "" {
		return slices.Contains(o.formats, format)
	}
	return slices.Contains(o.chosen(), format)
}

// csv are the options of cpu_vs_npu.csv.
func (o *compareOutput) csv() report.CSVOptions {
	return report.CSVOptions{Successor: o.version != "", ExtraColumns: o.extraColumns, BOM: o.bom}
}

// reportFiles are the names of the reports by format.
var reportFiles = map[string]string{
	"text": "compare.txt", "csv": "cpu_vs_npu.csv", "json": "compare.json", "junit": "junit.xml", "md": "compare.md",
	"msaccucmp": "result_msaccucmp.csv",
}

// writeComparison prints the report, or writes it to a folder and prints the
// summary. A report that cannot be written does not stop the others.
func (a *app) writeComparison(o *compareOutput, opt *compare.Options, rep *compare.Report) error {
	if o.out == "" {
		format := "text"
		if len(o.formats) > 0 {
			format = o.formats[0]
		}
		return o.render(format, rep, a.streams.OutWidth)(a.out)
	}
	if err := safefile.MkdirAll(o.out); err != nil {
		return err
	}
	folder := newReportFolder(o.out, rep)
	var failed []error
	for _, format := range o.chosen() {
		err := folder.write(reportFiles[format], o.render(format, rep, 0))
		if err == nil && format == "csv" {
			err = o.writeHPAA(folder, opt, rep)
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	if err := o.render("text", rep, a.streams.OutWidth)(a.out); err != nil {
		return err
	}
	if err := a.out.Flush(); err != nil { // the summary stands before the messages
		return fmt.Errorf("cannot write the results: %w", err)
	}
	if len(failed) == 0 {
		a.msg.Infof("reports written to %s", o.out)
		return nil
	}
	for _, err := range failed[1:] {
		a.msg.Errorf("%v", err)
	}
	return failed[0]
}

// chosen are the formats of the reports in a folder.
func (o *compareOutput) chosen() []string {
	if len(o.formats) == 0 {
		return []string{"csv", "json"}
	}
	return o.formats
}

// render returns what writes the report in a format.
func (o *compareOutput) render(format string, rep *compare.Report, width int) func(io.Writer) error {
	return func(w io.Writer) error {
		switch format {
		case "csv":
			return report.WriteCompareCSV(w, rep, o.csv())
		case "json":
			return report.WriteCompareReportJSON(w, rep, compare.DocumentMeta{Tool: toolName(), Args: o.args})
		case "junit":
			return report.WriteCompareJUnit(w, rep)
		case "md":
			return report.WriteCompareMarkdown(w, rep)
		case "msaccucmp":
			return report.WriteCompareMsaccucmp(w, rep)
		}
		return report.Text{Width: width}.WriteCompare(w, rep)
	}
}

// writeHPAA writes the files of HPAA beside cpu_vs_npu.csv.
func (o *compareOutput) writeHPAA(folder *reportFolder, opt *compare.Options, rep *compare.Report) error {
	names, renamed := report.NewFileNames(), false
	labels := report.CompareLabels(rep)
	errorOptions := report.OpErrors{Count: o.diffCount, Worst: o.diffOrder == "worst", Mode: opt.Judge.Mode}
	for i := range rep.Rows {
		row := &rep.Rows[i]
		if row.Status != compare.Fail || row.Result == nil {
			continue
		}
		stem := names.Stem(labels[i])
		renamed = renamed || stem != labels[i]
		err := folder.write(stem+".csv", func(w io.Writer) error { return report.WriteOpErrors(w, row, errorOptions) })
		if err != nil {
			return err
		}
	}
	if err := emptyStale(folder, names, rep, labels); err != nil {
		return err
	}
	for _, log := range report.SkipLogs(rep) {
		if err := folder.write(log.Name, log.Write); err != nil {
			return err
		}
	}
	if renamed {
		if err := folder.write("op_names.csv", names.WriteTable); err != nil {
			return err
		}
	}
	return writeOpConfig(folder, rep)
}

// emptyStale takes the errors out of the files of an earlier run whose operators
// do not fail any more: nothing is deleted, and only files of ours are touched.
func emptyStale(folder *reportFolder, names *report.FileNames, rep *compare.Report, labels []string) error {
	entries, err := os.ReadDir(folder.dir)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, e := range entries {
		there[e.Name()] = e.Type().IsRegular()
	}
	for i := range rep.Rows {
		if rep.Rows[i].Status == compare.Fail {
			continue
		}
		for n := 1; ; n++ {
			stem, free := names.Candidate(labels[i], n)
			if free && !there[stem+".csv"] {
				break
			}
			if !free || !hasOpErrors(filepath.Join(folder.dir, stem+".csv")) {
				continue
			}
			if err := folder.write(stem+".csv", report.WriteNoOpErrors); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasOpErrors reports whether a file lists errors of an operator.
func hasOpErrors(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return report.HasOpErrors(f)
}

// writeOpConfig writes an op_config.csv without limits, for the user to fill
// in, unless there is one.
func writeOpConfig(folder *reportFolder, rep *compare.Report) error {
	if _, err := os.Lstat(filepath.Join(folder.dir, opConfigName)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var names []string
	for i := range rep.Rows {
		if rep.Rows[i].RefFile != "" {
			names = append(names, rep.Rows[i].Op)
		}
	}
	return folder.write(opConfigName, func(w io.Writer) error { return pairing.WriteOpConfig(w, names) })
}
