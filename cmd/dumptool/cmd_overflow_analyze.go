package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dumptool/internal/overflow"
	"dumptool/internal/report"
	"dumptool/internal/safefile"
	"dumptool/internal/tensorfile"
)

type overflowAnalyzeOptions struct {
	dirs    []string
	output  reportOptions
	most    string
	compat  bool
	workers int
}

// reportOptions are the flags of commands that write a report.
type reportOptions struct {
	out     string
	formats []string
	lang    report.Lang
}

// reportFormats are the formats of a report, and the extensions of their files.
var reportFormats = []string{"text", "json", "csv", "md"}

func newOverflowAnalyzeCommand(a *app) *cobra.Command {
	opts := new(overflowAnalyzeOptions)
	cmd := &cobra.Command{
		Use:   "analyze -d DIR",
		Short: "find the operator that overflowed first, and why",
		Long: `analyze finds the overflow records below DIR - of any number of devices, steps
and models - and matches each with the dump of its operator: by the ids of the
record, by those of the file names, or as a guess by time; the rule is shown. It
reads the operator's tensors and says whether the bad values were produced there
or came in. Records are ordered by device, step and time.`,
		Example: `  dumptool overflow analyze -d dumps
  dumptool overflow analyze -d dumps -n 3 --lang zh
  dumptool overflow analyze -d dumps -out report --format text,json,csv`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runOverflowAnalyze(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitFound, exitNothing, exitInterrupted)
	opts.addFlags(cmd)
	return cmd
}

func (o *overflowAnalyzeOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.dirs, "dump-path", "d", nil, "folder `DIR` with the dumps")
	flags.StringVarP(&o.most, "top-num", "n", "all", "look into the first `N` records of each device, or all")
	flags.BoolVar(&o.compat, "compat", false, "write overflow_summary_TIME.txt as msaccucmp does, to the output folder")
	flags.IntVarP(&o.workers, "jobs", "j", 0, "files read at a time; default: one per CPU")
	o.output.addFlags(cmd)
}

func (o *reportOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.out, "out", "", "write the report to folder `DIR` instead of printing it")
	alias(flags, "out", "output")
	flags.StringSliceVar(&o.formats, "format", []string{"text"}, "`FORMAT` of the report: text, json, csv, md; several with -out")
	completeValues(cmd, "format", reportFormats)
	langFlag(cmd, &o.lang)
}

// check checks the flags of a report.
func (o *reportOptions) check() error {
	for i, f := range o.formats {
		o.formats[i] = strings.ToLower(f)
		if !slices.Contains(reportFormats, o.formats[i]) {
			return usagef("--format %s: want one of %s", f, strings.Join(reportFormats, ", "))
		}
	}
	switch {
	case len(o.formats) == 0:
		return usagef("--format is empty: want one of %s", strings.Join(reportFormats, ", "))
	case len(o.formats) > 1 && o.out == "":
		return usagef("several formats need an output folder (-out)")
	}
	return nil
}

// showsText reports whether the text report is printed: what it says needs no
// message.
func (o *reportOptions) showsText() bool { return o.out == "" && slices.Contains(o.formats, "text") }

// writeReport prints the report, or writes a file NAME.EXT per format.
func (a *app) writeReport(o *reportOptions, name string, render func(w io.Writer, format string, width int) error) error {
	if o.out == "" {
		return render(a.out, o.formats[0], a.streams.OutWidth)
	}
	if err := safefile.MkdirAll(o.out); err != nil {
		return err
	}
	for _, format := range o.formats {
		ext := format
		if format == "text" {
			ext = "txt"
		}
		if err := writeRendered(filepath.Join(o.out, name+"."+ext), func(w io.Writer) error { return render(w, format, 0) }); err != nil {
			return err
		}
	}
	a.msg.Infof("report written to %s", o.out)
	return nil
}

// writeRendered writes a file, once all of its content is there.
func writeRendered(path string, render func(io.Writer) error) error {
	var b bytes.Buffer
	if err := render(&b); err != nil {
		return err
	}
	return safefile.WriteFile(path, b.Bytes())
}

// runOverflowAnalyze analyzes the trees that are given.
func runOverflowAnalyze(ctx context.Context, a *app, opts *overflowAnalyzeOptions, args []string) error {
	paths := append(opts.dirs, args...)
	if len(paths) == 0 {
		return usagef("no folder given: -d DIR is needed")
	}
	if err := opts.output.check(); err != nil {
		return err
	}
	most, err := parseMost(opts.most)
	if err != nil {
		return err
	}
	if opts.compat && opts.output.out == "" {
		return usagef("--compat needs an output folder (-out)")
	}
	list := tensorfile.Find(paths, tensorfile.FindOptions{Skip: opts.output.out})
	for _, w := range list.Warnings {
		a.msg.Warnf("%s", w)
	}
	progress := a.msg.Progress("analyzing")
	defer progress.Close()
	r, err := overflow.Analyze(ctx, list, overflow.Options{Workers: opts.workers, Most: most, Observe: progress.Observe})
	progress.Close()
	if err != nil {
		return err
	}
	if r.Total == 0 && r.Dumps == 0 && len(r.Problems) == 0 {
		return nothingf("neither overflow records nor dumps among %s", counted(r.Files, "file"))
	}
	err = a.writeReport(&opts.output, "overflow", func(w io.Writer, format string, width int) error {
		switch format {
		case "json":
			return report.WriteAnalysisJSON(w, r)
		case "csv":
			return report.WriteAnalysisCSV(w, r)
		case "md":
			return report.WriteAnalysisMarkdown(w, r)
		}
		return report.Text{Lang: opts.output.lang, Width: width}.WriteAnalysis(w, r)
	})
	if err != nil {
		return err
	}
	if opts.compat && len(r.Records) > 0 {
		path := filepath.Join(opts.output.out, "overflow_summary_"+time.Now().Format("20060102150405")+".txt")
		if err := writeRendered(path, func(w io.Writer) error { return report.WriteAnalysisCompat(w, r) }); err != nil {
			return err
		}
	}
	return a.concludeAnalysis(r, &opts.output)
}

// parseMost reads the number of records to look into; 0 stands for all.
func parseMost(text string) (int, error) {
	if strings.EqualFold(text, "all") {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, usagef("-n %s: want a number from 1, or all", text)
	}
	return n, nil
}

// concludeAnalysis returns the error of the run: unreadable files or overflows.
func (a *app) concludeAnalysis(r *overflow.Report, output *reportOptions) error {
	unreadable := r.Unreadable()
	switch {
	case unreadable > 0:
		return incompletef("%s found, %s could not be read", counted(r.Total, "overflow record"), counted(unreadable, "file"))
	case r.Total > 0:
		return reported(foundf("%s found", counted(r.Total, "overflow record")))
	}
	a.msg.Infof("no overflow recorded, %s seen", counted(r.Dumps, "operator dump"))
	if !output.showsText() {
		for _, t := range overflow.NothingFound {
			a.msg.Hintf("%s", output.lang.Text(t))
		}
	}
	return nil
}
