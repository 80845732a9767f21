package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/compare"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/report"
	"dumptool/internal/safefile"
)

// compareOutput are the flags about the reports.
type compareOutput struct {
	reportOptions
	extraColumns, bom  bool
	diffCount, topN    int
	diffOrder, version string
}

func (o *compareOutput) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	addReportFlags[*record.Report](cmd, &o.reportOptions, "", "; default: text, with -out csv and json")
	flags.StringVar(&o.version, "hpaa-version", "", "columns of cpu_vs_npu.csv: `successor` adds cos_sim")
	flags.BoolVar(&o.extraColumns, "extra-columns", false, "add columns of our own to cpu_vs_npu.csv")
	flags.BoolVar(&o.bom, "bom", false, "start CSV files with a byte order mark, for Excel")
	flags.IntVar(&o.diffCount, "diff-cnt", 128, "at most `N` error elements in the CSV of an operator")
	flags.StringVar(&o.diffOrder, "diff-order", "index", "`ORDER` of these elements: index or worst")
	flags.IntVar(&o.topN, "topn", 20, "keep the worst `N` elements of bad tensors")
	completeValues(cmd, "diff-order", []string{"index", "worst"})
}

// neutralFlags do not change what a report says.
var neutralFlags = []string{"jobs", "out", "format", "json", "quiet", "verbose", "log-format", "lang", "color", configFlag}

// given lists the flags that were set, in the order of their names, but for
// those that do not change what a report says.
func given(flags *pflag.FlagSet) []string {
	var list []string
	flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains(neutralFlags, f.Name) {
			list = append(list, "--"+f.Name+"="+f.Value.String())
		}
	})
	return list
}

// check checks the flags of the reports and sets the formats that nobody chose.
func (o *compareOutput) check() error {
	switch {
	case o.version != "" && !strings.EqualFold(o.version, "successor"):
		return usagef("--hpaa-version %s: want successor", o.version)
	case o.diffCount < 1:
		return usagef("--diff-cnt %d: want at least 1", o.diffCount)
	case o.topN < 1 || o.topN > maxWorst:
		return usagef("--topn %d: want 1 to %d", o.topN, maxWorst)
	}
	if err := checkReports[*record.Report](&o.reportOptions); err != nil {
		return err
	}
	var err error
	o.diffOrder, err = oneOf("--diff-order", o.diffOrder, []string{"index", "worst"})
	return err
}

// maxWorst is the most worst elements of a tensor that are kept.
const maxWorst = 10000

// resolve chooses the formats that nobody chose, says what the reports need, and finds
// out whether they can be written.
func (o *compareOutput) resolve(opt *compare.Options) error {
	switch {
	case len(o.formats) > 0:
	case o.out == "":
		o.formats = []string{"text"}
	default:
		o.formats = []string{"csv", "json"}
	}
	o.setKept(opt)
	if o.out == "" {
		return nil
	}
	files := report.FilesOf[*record.Report](o.formats...)
	for _, name := range files {
		if opt.BaselineFile != "" && safefile.SameFile(opt.BaselineFile, filepath.Join(o.out, name)) {
			return usagef("--baseline %s: that is the name of a report", opt.BaselineFile)
		}
	}
	return safefile.CheckWritable(o.out, files...)
}

// setKept sets what the comparison keeps for the reports.
func (o *compareOutput) setKept(opt *compare.Options) {
	keep := report.KeepOf[*record.Report](o.formats...)
	opt.Bins, opt.KLD, opt.Calls = keep.Bins, keep.Divergence, keep.Calls
	if keep.Worst {
		opt.Top = o.topN
	}
	switch { // the errors in the files of operators
	case o.out == "" || !keep.Errors:
	case o.diffOrder == "worst":
		opt.Top = max(opt.Top, o.diffCount)
	default:
		opt.List = o.diffCount
	}
}

// write prints the report, or writes the reports to a folder and prints the
// summary.
func (o *compareOutput) write(a *app, opt *compare.Options, rep *record.Report) error {
	ropt := report.Options{
		Text:     report.Text{Lang: a.lang()},
		HPAA:     report.CSVOptions{Successor: o.version != "", ExtraColumns: o.extraColumns, BOM: o.bom},
		Elements: report.OpErrors{Count: o.diffCount, Worst: o.diffOrder == "worst", Mode: opt.Judge.Mode},
	}
	if o.out == "" {
		return printResult(a, o.formats[0], rep, ropt)
	}
	inputs := append(report.CompareInputs(rep), opt.BaselineFile)
	left, failed := report.WriteComparison(report.NewFolder(o.out, inputs...), o.formats, rep, ropt)
	if err := a.text().WriteCompare(a.out, rep); err != nil {
		return err
	}
	if err := a.out.Flush(); err != nil { // the summary stands before the messages
		return err
	}
	if len(left) > 0 {
		a.msg.Warnf("%s has files that look like reports of another run: %s", o.out, lang.FirstNames(left))
	}
	return a.reportsWritten(lang.Text{EN: "reports", ZH: "报告"}, o.out, failed)
}
