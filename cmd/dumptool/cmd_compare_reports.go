package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/pflag"

	"dumptool/internal/batch"
	"dumptool/internal/compare"
	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/execute"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/report"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// compareOutput holds the flags for the reports.
type compareOutput struct {
	reportOptions
	look report.Options
	rows string
	topN int
	// extraGiven reports whether --extra-columns was given.
	extraGiven func() bool
	pictures   execute.PictureOptions
}

// newCompareOutput returns the defaults of the flags.
func newCompareOutput() compareOutput {
	return compareOutput{topN: 20, look: report.Options{Elements: report.OpErrors{Count: 128}, HPAA: report.CSVOptions{ExtraColumns: true}},
		pictures: execute.PictureOptions{Kept: 200, Bins: metrics.BinLimits{Min: 1, Max: 128}}}
}

// listFlags lists the flags for the reports of a run.
func (o *compareOutput) listFlags() []cmdFlag {
	elements, pictures := &o.look.Elements, &o.pictures
	return append(o.reportStyleFlags(), []cmdFlag{
		{"topn", integerValue(&o.topN, 1, maxWorst, fmt.Sprintf("want 1 to %d", maxWorst)), "keep the worst `N` elements of bad tensors", groupDetails, rareLevel},
		{"diff-cnt", integerValue(&elements.Count, 1, math.MaxInt, "want at least 1"), "at most `N` error elements in the CSV of an operator", groupDetails, rareLevel | topicHPAA},
		{"diff-order", namedValue(&elements.Worst, []string{"index", "worst"}, false, true), "`ORDER` of these elements: index or worst", groupDetails, rareLevel | topicHPAA},
		{"show-graph", boolSwitch(&pictures.Plots), "with -out: draw plots of bad tensors; three of each, as PNG files", groupDetails, 0},
		{"pictures", integerOrAll(&pictures.Kept, 0, record.AllPictures), "keep the pictures of `N` tensors in compare.json, the most telling first, or of all", groupDetails, rareLevel},
		{"max-bins", integerValue(&pictures.Bins.Max, math.MinInt, maxBins, fmt.Sprintf("want at most %d, more than a plot is wide", maxBins)), "at most `N` bins in the histograms of plots and pictures", groupDetails, rareLevel},
		{"min-bins", integerValue(&pictures.Bins.Min, 1, math.MaxInt, "want at least 1"), "at least `N` bins", groupDetails, rareLevel},
	}...)
}

// reportStyleFlags lists the flags for the look of the reports of any comparison.
func (o *compareOutput) reportStyleFlags() []cmdFlag {
	extra := boolSwitch(&o.look.HPAA.ExtraColumns)
	o.extraGiven = func() bool { return extra.givenText != "" }
	return append(reportFlags[*record.Report](&o.reportOptions, "`FORMATS` of the reports: %s; default: text; with -out html, json and csv; for data of HPAA html, json and hpaa"), []cmdFlag{
		{"rows", choice(&o.rows, []string{"all", "bad", "full"}), "`WHICH` rows compare.json, junit.xml and report.html hold: all, or bad (without rows that passed); default: all, up to 1000000", groupReports, rareLevel},
		{"extra-columns", extra, "append dumptool's own columns to HPAA's in cpu_vs_npu.csv; with --format hpaa only if given", groupReports, rareLevel | topicHPAA},
		{"matrix", boolSwitch(&o.look.Matrix), "print the rounds of text as a matrix of ranks and steps", groupReports, rareLevel},
		{"hpaa-version", namedValue(&o.look.HPAA.Successor, []string{"successor"}, true), "columns of cpu_vs_npu.csv: `successor` adds cos_sim", groupReports, rareLevel | topicHPAA},
		{"bom", boolSwitch(&o.look.HPAA.BOM), "start CSV files with a byte order mark, for Excel", groupReports, rareLevel | topicHPAA},
	}...)
}

// sharedReportFlags lists the flags that change a report, and all flags that name the two sides.
func sharedReportFlags(flags *pflag.FlagSet) []string {
	for _, side := range []string{"cpu", "npu"} {
		flags.Lookup(side).Changed = true
	}
	return wordsOf(flags, func(f *pflag.Flag) bool {
		return changesResults(f) || changesReports(f) && f.Name != "format" && f.Name != "json"
	})
}

// check checks the flags of the reports.
func (o *compareOutput) check() error {
	if bins := o.pictures.Bins; bins.Max < bins.Min {
		return usagef("--max-bins %d: want at least %d, the value of --min-bins", bins.Max, bins.Min)
	}
	return checkReports[*record.Report](&o.reportOptions)
}

const (
	// maxWorst limits the worst elements kept per tensor.
	maxWorst = 10000
	// maxBins limits the bins of a histogram.
	maxBins = 1000
	// manyRows is the largest number of rows that reports list in full.
	manyRows = 1_000_000
	// largeRows is the number of rows whose compare.json takes about 100 MB.
	largeRows = 10_000
	// manyPlots is the number of bad tensors above which drawing is slow enough for a message.
	manyPlots = 1000
)

// resolve chooses default formats, sets the options that the formats need, and checks that the reports can be written.
// ofHPAA: the sides are an HPAA dump. chosen: a folder for reports was given, which then gets the page.
func (o *compareOutput) resolve(opt *conclude.Options, ofHPAA, chosen bool) error {
	switch {
	case len(o.formats) > 0:
	case o.out == "":
		o.formats = []string{"text"}
	case !ofHPAA:
		o.formats = []string{"html", "json", "csv"}
	case chosen:
		o.formats = []string{"html", report.HPAAFormat, "json"}
	default: // HPAA's own folder has HPAA's files
		o.formats = []string{report.HPAAFormat, "json"}
	}
	if i := slices.Index(o.formats, "csv"); i >= 0 && o.out != "" {
		o.formats = slices.Clone(o.formats) // the list of requested formats in documents stays unchanged
		switch {                            // both are the same table
		case slices.Contains(o.formats, report.HPAAFormat):
			o.formats = slices.Delete(o.formats, i, i+1)
		case ofHPAA:
			o.formats[i] = report.HPAAFormat
		}
	}
	if slices.Contains(o.formats, report.HPAAFormat) && !o.extraGiven() {
		o.look.HPAA.ExtraColumns = false
	}
	o.setKeptData(opt)
	if o.out == "" {
		return nil
	}
	files := report.FilesOf[*record.Report](o.formats...)
	for _, name := range files {
		if opt.BaselineFile != "" && safefile.IsSameFile(opt.BaselineFile, store.Join(o.out, name)) {
			return usagef("--baseline %s: that is the name of a report", opt.BaselineFile)
		}
	}
	return safefile.CheckWritable(o.out, files...)
}

// setKeptData makes the comparison keep the data that the reports need.
func (o *compareOutput) setKeptData(opt *conclude.Options) {
	keep := report.KeepOf[*record.Report](o.formats...)
	opt.Bins, opt.KLD, opt.Calls = keep.Bins, keep.Divergence, keep.Calls
	if keep.Worst {
		opt.Top = o.topN
	}
	elements := o.look.Elements
	switch { // element errors for the files per operator
	case o.out == "" || !keep.Errors:
	case elements.Worst:
		opt.Top = max(opt.Top, elements.Count)
	default:
		opt.List = elements.Count
	}
	pictures := o.pictures
	pictures.Plots = pictures.Plots && o.out != ""
	if !keep.Pictures {
		pictures.Kept = 0
	}
	if pictures.Plots || pictures.Kept > 0 {
		opt.Pictures = &pictures
	}
}

// comparedRun is a finished comparison: its report, its plan and the results of the plan's parts.
type comparedRun struct {
	plan  *compare.Run
	parts []execute.Part
	*record.Report
}

// write prints the report, or writes the reports to a folder and prints the summary. If drawing is
// interrupted, all reports without plots are there.
func (o *compareOutput) write(ctx context.Context, a *app, opt *conclude.Options, run comparedRun) error {
	ropt := o.look
	ropt.Text.Lang, ropt.SkipLines, ropt.Elements.Mode = a.lang(), run.Listed.Kept, opt.Judge.Mode
	ropt.Page.Lang, ropt.Page.NoPaths = string(a.global.lang), o.noPaths // the browser's language unless --lang is given
	rep := run.Report
	if ropt.OnlyBad = o.rows == "bad" || o.rows == "" && rep.Len() > manyRows; ropt.OnlyBad && o.rows == "" {
		a.infof("%d rows: rows that passed are left out of compare.json, junit.xml and report.html (--rows all keeps them)", rep.Len())
	}
	passed := rep.Counts[record.Pass] + rep.Counts[record.Rounding]
	if o.out != "" && o.rows == "" && !ropt.OnlyBad && rep.Len() >= largeRows && 2*passed >= rep.Len() {
		a.infof("%d rows: compare.json becomes large; --rows bad leaves out the %d that passed", rep.Len(), passed)
	}
	if o.out == "" {
		if o.pictures.Plots {
			a.warnf("--show-graph: plots are drawn with -out DIR only")
		}
		var interrupted error
		if opt.Pictures != nil {
			_, interrupted = a.gatherPictures(ctx, opt.Pictures, run, nil)
		}
		return cmp.Or(printResult(a, o.formats[0], rep, ropt), interrupted)
	}
	var interrupted error
	if opt.Pictures != nil {
		ropt.Plots = opt.Pictures.Plots
		ropt.Gather = func(draw func(int, *metrics.Pictures) func() error) (failed []error) {
			failed, interrupted = a.gatherPictures(ctx, opt.Pictures, run, draw)
			return failed
		}
	}
	left, failed := report.WriteComparison(report.NewCompareFolder(o.out, rep, opt.BaselineFile), o.formats, rep, ropt)
	summary := a.textOptions()
	summary.Matrix = o.look.Matrix
	if err := summary.WriteCompare(a.out, rep); err != nil {
		return err
	}
	if err := a.out.Flush(); err != nil { // the summary precedes the messages
		return err
	}
	if len(left) > 0 {
		a.warnf("%s already holds files that look like reports of another run: %s", o.out, lang.FirstNames(left))
	}
	return cmp.Or(a.printReportsWritten(lang.Text{EN: "reports"}, o.out, failed), interrupted)
}

// gatherPictures reads tensors again for their pictures, with a progress bar.
func (a *app) gatherPictures(ctx context.Context, opt *execute.PictureOptions, run comparedRun, draw func(int, *metrics.Pictures) func() error) (failed []error, err error) {
	drawn := 0
	for i := range run.Len() {
		if opt.Plots && run.Row(i).IsDrawn() {
			drawn++
		}
	}
	if drawn > manyPlots {
		a.infof("--show-graph: drawing 3 plots each of %d tensors", drawn)
	}
	return withProgress(a, "drawing", func(observe func(batch.Event)) ([]error, error) {
		return run.plan.Pictures(ctx, run.Report, run.parts, observe, draw)
	})
}
