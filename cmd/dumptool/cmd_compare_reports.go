package main

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/batch"
	"dumptool/internal/compare"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/report"
	"dumptool/internal/report/page"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// compareOutput are the flags about the reports.
type compareOutput struct {
	reportOptions
	extraColumns, bom  bool
	rows               string
	diffCount, topN    int
	diffOrder, version string
	showGraph          bool
	maxBins, minBins   int
	pictures           string
}

func (o *compareOutput) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.addLooks(cmd)
	flags.IntVar(&o.diffCount, "diff-cnt", 128, "at most `N` error elements in the CSV of an operator")
	flags.StringVar(&o.diffOrder, "diff-order", "index", "`ORDER` of these elements: index or worst")
	flags.IntVar(&o.topN, "topn", 20, "keep the worst `N` elements of bad tensors")
	flags.BoolVar(&o.showGraph, "show-graph", false, "with -out: draw three plots of every bad tensor, as PNG files")
	flags.StringVar(&o.pictures, "pictures", "200", "keep the pictures of `N` tensors in compare.json, the most telling first, or of all")
	flags.IntVar(&o.maxBins, "max-bins", 128, "at most `N` bins in the histograms of plots and pictures")
	flags.IntVar(&o.minBins, "min-bins", 1, "at least `N` bins")
	harmless(flags, "diff-cnt", "diff-order", "topn", "pictures", "max-bins", "min-bins")
	completeValues(cmd, "diff-order", []string{"index", "worst"})
}

// addLooks adds the flags that say how the reports look, whatever was compared.
func (o *compareOutput) addLooks(cmd *cobra.Command) {
	flags := cmd.Flags()
	addReportFlags[*record.Report](cmd, &o.reportOptions, "", "; default: text, with -out csv and json")
	flags.StringVar(&o.version, "hpaa-version", "", "columns of cpu_vs_npu.csv: `successor` adds cos_sim")
	flags.BoolVar(&o.extraColumns, "extra-columns", false, "add columns of our own to cpu_vs_npu.csv")
	flags.StringVar(&o.rows, "rows", "", "`WHICH` rows compare.json, junit.xml and report.html have: all, or bad, without those that passed; default: all up to 1000000")
	completeValues(cmd, "rows", []string{"all", "bad"})
	flags.BoolVar(&o.bom, "bom", false, "start CSV files with a byte order mark, for Excel")
	harmless(flags, "hpaa-version", "extra-columns", "rows", "bom")
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

// check checks the flags of the reports.
func (o *compareOutput) check() error {
	return cmp.Or(o.checkValues(), checkReports[*record.Report](&o.reportOptions))
}

// checkValues checks all of them but the formats.
func (o *compareOutput) checkValues() error {
	if o.rows != "" {
		var err error
		if o.rows, err = oneOf("--rows", o.rows, []string{"all", "bad"}); err != nil {
			return err
		}
	}
	switch {
	case o.version != "" && !strings.EqualFold(o.version, "successor"):
		return usagef("--hpaa-version %s: want successor", o.version)
	case o.diffCount < 1:
		return usagef("--diff-cnt %d: want at least 1", o.diffCount)
	case o.topN < 1 || o.topN > maxWorst:
		return usagef("--topn %d: want 1 to %d", o.topN, maxWorst)
	case o.minBins < 1:
		return usagef("--min-bins %d: want at least 1", o.minBins)
	case o.maxBins < o.minBins:
		return usagef("--max-bins %d: want at least %d, the value of --min-bins", o.maxBins, o.minBins)
	case o.maxBins > mostBins:
		return usagef("--max-bins %d: want at most %d, more than a plot is wide", o.maxBins, mostBins)
	}
	var err error
	o.diffOrder, err = oneOf("--diff-order", o.diffOrder, []string{"index", "worst"})
	return err
}

const (
	// maxWorst is the most worst elements of a tensor that are kept.
	maxWorst = 10000
	// mostBins is the most bins of a histogram.
	mostBins = 1000
	// manyRows is the number of rows up to which reports have all of them.
	manyRows = 1_000_000
	// manyPlots is the number of bad tensors from which drawing takes so long that it
	// is said.
	manyPlots = 1000
)

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
	if err := o.setKept(opt); err != nil {
		return err
	}
	if o.out == "" {
		return nil
	}
	files := report.FilesOf[*record.Report](o.formats...)
	for _, name := range files {
		if opt.BaselineFile != "" && safefile.SameFile(opt.BaselineFile, store.Join(o.out, name)) {
			return usagef("--baseline %s: that is the name of a report", opt.BaselineFile)
		}
	}
	return safefile.CheckWritable(o.out, files...)
}

// setKept sets what the comparison keeps for the reports.
func (o *compareOutput) setKept(opt *compare.Options) error {
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
	pictures := compare.PictureOptions{Bins: metrics.BinLimits{Min: o.minBins, Max: o.maxBins}, Plots: o.showGraph && o.out != ""}
	kept, err := parsePictures(o.pictures)
	if err != nil {
		return err
	}
	if keep.Pictures {
		pictures.Kept = kept
	}
	if pictures.Plots || pictures.Kept > 0 {
		opt.Pictures = &pictures
	}
	return nil
}

// parsePictures reads the number of tensors whose pictures are kept.
func parsePictures(text string) (int, error) {
	if strings.EqualFold(text, "all") {
		return record.AllPictures, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, usagef("--pictures %s: want a number from 0, or all", text)
	}
	return n, nil
}

// comparedRun is a run that was compared: its report, and what its rows are of.
type comparedRun struct {
	plan  *compare.Plan
	parts []compare.Part
	*record.Report
}

// write prints the report, or writes the reports to a folder and prints the
// summary. A run that is interrupted while its plots are drawn has the others.
func (o *compareOutput) write(ctx context.Context, a *app, opt *compare.Options, run comparedRun) error {
	ropt := report.Options{
		Text:     report.Text{Lang: a.lang()},
		HPAA:     report.CSVOptions{Successor: o.version != "", ExtraColumns: o.extraColumns, BOM: o.bom},
		Page:     page.Options{Lang: string(a.global.lang)}, // that of the browser unless it is said
		Kept:     opt.SideFiles.Kept,
		Elements: report.OpErrors{Count: o.diffCount, Worst: o.diffOrder == "worst", Mode: opt.Judge.Mode},
	}
	rep := run.Report
	if ropt.OnlyBad = o.rows == "bad" || o.rows == "" && rep.Len() > manyRows; ropt.OnlyBad && o.rows == "" {
		a.say([]batch.Message{batch.Infof("%d rows: those that passed are left out of compare.json, junit.xml and report.html (--rows all keeps them)",
			"共 %d 行：compare.json、junit.xml 和 report.html 略去通过的行(--rows all 保留)", rep.Len())})
	}
	if o.out == "" {
		if o.showGraph {
			a.say([]batch.Message{batch.Warnf("--show-graph: plots are drawn with -out DIR only", "--show-graph：仅在指定 -out DIR 时画图")})
		}
		var interrupted error
		if opt.Pictures != nil {
			_, interrupted = a.gatherPictures(ctx, opt, run, nil)
		}
		return cmp.Or(printResult(a, o.formats[0], rep, ropt), interrupted)
	}
	var interrupted error
	if opt.Pictures != nil {
		ropt.Plots = opt.Pictures.Plots
		ropt.Gather = func(draw func(int, *metrics.Pictures) func() error) (failed []error) {
			failed, interrupted = a.gatherPictures(ctx, opt, run, draw)
			return failed
		}
	}
	left, failed := report.WriteComparison(report.NewCompareFolder(o.out, rep, opt.BaselineFile), o.formats, rep, ropt)
	if err := a.text().WriteCompare(a.out, rep); err != nil {
		return err
	}
	if err := a.out.Flush(); err != nil { // the summary stands before the messages
		return err
	}
	if len(left) > 0 {
		a.msg.Warnf("%s has files that look like reports of another run: %s", o.out, lang.FirstNames(left))
	}
	return cmp.Or(a.reportsWritten(lang.Text{EN: "reports", ZH: "报告"}, o.out, failed), interrupted)
}

// gatherPictures reads tensors once more for their pictures, with a progress bar.
func (a *app) gatherPictures(ctx context.Context, opt *compare.Options, run comparedRun, draw func(int, *metrics.Pictures) func() error) (failed []error, err error) {
	drawn := 0
	for i := range run.Len() {
		if opt.Pictures.Plots && run.Row(i).IsDrawn() {
			drawn++
		}
	}
	if drawn > manyPlots {
		a.say([]batch.Message{batch.Infof("--show-graph: drawing 3 plots each of %d tensors", "--show-graph：为 %d 个张量各画 3 张图", drawn)})
	}
	return watched(a, "drawing", func(observe func(batch.Event)) ([]error, error) {
		return run.plan.Pictures(ctx, run.Report, run.parts, observe, draw)
	})
}
