package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/lang"
	"dumptool/internal/report"
)

// formatHelp returns the help section about the formats of results of type R.
func formatHelp[R any]() string {
	return "\n\nFormats:\n" + strings.TrimSuffix(report.FormatHelp[R](), "\n")
}

// formatFlag adds the flag for the format of printed results of type R.
func formatFlag[R any](cmd *cobra.Command, format *string) {
	names := report.FormatNames[R]()
	last := len(names) - 1
	*format = names[0]
	addFlags(cmd, cmdFlag{"format", choice(format, names), fillUsage("`FORMAT` of the report: %s or %s", names[:last], names[last:]), groupReports, 0}, jsonAliasFlag(func() { *format = "json" }))
	makeExclusive(cmd, "json", "format")
}

// jsonAliasFlag is --json, another spelling of --format json, which calls choose.
func jsonAliasFlag(choose func()) cmdFlag {
	json := boolSwitch(new(bool))
	json.read = func(text string) (bool, error) {
		yes, err := strconv.ParseBool(text)
		if yes {
			choose()
		}
		return yes, err
	}
	return cmdFlag{"json", json, "the same as --format json", groupReports, 0}
}

// parseFormat reads the name of a format of results of type R.
func parseFormat[R any](name string) (string, error) {
	if err := findRemoved(nil, "--format "+name); err != nil {
		return "", err
	}
	return matchKnown("--format", name, report.FormatNames[R]())
}

// reportOptions holds the flags of commands that print a report or write reports to a folder.
type reportOptions struct {
	out     string
	formats []string
	// chosen: formats must not be empty.
	chosen bool
	// noPaths keeps paths out of pages.
	noPaths bool
}

// addReportFlags adds the flags for reports of results of type R.
func addReportFlags[R any](cmd *cobra.Command, o *reportOptions) {
	addFlags(cmd, textReportFlags[R](o)...)
	makeExclusive(cmd, "json", "format")
}

// textReportFlags lists the flags for reports of results of type R; the default format is text.
func textReportFlags[R any](o *reportOptions) []cmdFlag {
	o.chosen, o.formats = true, []string{"text"}
	return reportFlags[R](o, "`FORMATS` of the reports: %s; several with -out")
}

// reportFlags lists the flags for reports of results of type R. usage lists the formats.
func reportFlags[R any](o *reportOptions, usage string) []cmdFlag {
	names := report.FormatNames[R]()
	all := []cmdFlag{
		outFlag(&o.out, "write the reports to folder `DIR`"),
		{"format", listOfTexts(&o.formats, names), fillUsage(usage, names), groupReports, 0},
		jsonAliasFlag(func() { o.formats = []string{"json"} }),
	}
	if slices.Contains(names, "html") {
		all = append(all, noPathsFlag(&o.noPaths))
	}
	return all
}

// noPathsFlag shortens paths in pages that are passed on.
func noPathsFlag(to *bool) cmdFlag {
	return cmdFlag{"no-paths", boolSwitch(to), "in the page (html), keep only the last part of every path", groupReports, rareLevel}
}

// checkReports checks the flags for reports of results of type R.
func checkReports[R any](o *reportOptions) error {
	for i, f := range o.formats {
		known, err := parseFormat[R](f)
		if err != nil {
			return err
		}
		o.formats[i] = known
	}
	switch {
	case o.chosen && len(o.formats) == 0:
		return usagef("--format is empty: want one of %s", strings.Join(report.FormatNames[R](), ", "))
	case len(o.formats) > 1 && o.out == "":
		return usagef("several formats need an output folder (-out)")
	}
	return nil
}

// printsText reports whether the report is printed as text.
func (o *reportOptions) printsText() bool { return o.out == "" && o.formats[0] == "text" }

// writeReports prints a result, or writes its reports to a folder without replacing any of the
// inputs.
func writeReports[R any](a *app, o *reportOptions, result R, opt report.Options, inputs ...string) error {
	opt.Page.NoPaths = o.noPaths
	if o.out == "" {
		return printResult(a, o.formats[0], result, opt)
	}
	opt.Lang, opt.Page.Lang = a.lang(), string(a.global.lang)
	failed := report.WriteFiles(report.NewFolder(o.out, inputs...), o.formats, result, opt)
	return a.printReportsWritten(lang.Text{EN: "report"}, o.out, failed)
}

// printReportsWritten prints the folder of the reports, or all errors but the first, which it returns.
func (a *app) printReportsWritten(what lang.Text, dir string, failed []error) error {
	if len(failed) == 0 {
		a.infof("%s written to %s", what, dir)
		return nil
	}
	for _, err := range failed[1:] {
		a.failf("%w", err)
	}
	return failed[0]
}
