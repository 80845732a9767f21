package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/report"
	"dumptool/internal/report/page"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

type reportCommandOptions struct {
	page.Options
	out       string
	showGraph bool
}

func newReportCommand(a *app) *cobra.Command {
	opts := new(reportCommandOptions)
	cmd := &cobra.Command{
		Use:   "report COMPARE.JSON [COMPARE.JSON] [FILE...]",
		Short: "make a page from finished reports, without the tensors",
		Long: `report makes a browser page from the compare.json of a run, as compare --format
html does, without the tensors; instead of the file, its folder can be given.
Each further FILE gets a tab of its own: a result that check, overflow analyze,
overflow scan, compare determinism, compare checkpoints or perf wrote with
--format json. The page shows only what the documents hold: pictures of tensors,
for example, only if compare kept them (--pictures). A check.json alone makes a
page too.

Of two comparisons, the first is before and the second after: the page shows the
second one, and a tab lists the origins that are gone, new and the same. You can
also drop a second compare.json onto a page.

The page goes to stdout unless -out names a file. --show-graph draws plots of
tensors beside the page, if compare ran with --show-graph too.`,
		Example: `  dumptool report report/compare.json -out report.html
  dumptool report old/compare.json new/compare.json -out report.html
  dumptool report compare.json overflow.json perf.json -out report.html --lang zh`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runReport(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitInterrupted)
	addFlags(cmd, outFlag(&opts.out, "write the page to `FILE`, or as report.html to a folder; default: stdout"),
		cmdFlag{"title", textValue(&opts.Title), "`TEXT` above the page", groupReports, 0},
		cmdFlag{"show-graph", boolSwitch(&opts.showGraph), "with -out: draw plots of bad tensors; beside the page, as PNG files", groupReports, 0},
		noPathsFlag(&opts.NoPaths))
	return cmd
}

// runReport makes a page of documents.
func runReport(ctx context.Context, a *app, opts *reportCommandOptions, args []string) error {
	if err := opts.check(a, args); err != nil {
		return err
	}
	docs, err := report.ReadDocuments(args)
	if _, twice := errors.AsType[*report.TwiceError](err); twice {
		return asUsage(err)
	}
	if err != nil {
		return err
	}
	if docs.Comparison == nil && docs.Documents["check"] == nil {
		return usagef("none of the files is a compare.json or a check.json")
	}
	opts.Lang = string(a.global.lang)
	ropt := report.Options{Page: opts.Options}
	if opts.out == "" {
		return docs.WritePage(a.out, "", nil, ropt)
	}
	folder := report.NewFolder(store.Dir(opts.out), args...)
	var failed []error
	var interrupted error
	if opts.showGraph {
		failed, interrupted = a.drawDocuments(ctx, docs, folder)
	}
	written := folder.Written
	err = folder.Write(store.Base(opts.out), func(w io.Writer) error { return docs.WritePage(w, folder.Dir, written, ropt) })
	for _, err := range failed {
		a.failf("%w", err)
	}
	switch {
	case err != nil:
		return err
	case len(failed) > 0:
		return incompletef("%d plots are missing", len(failed))
	case interrupted != nil:
		return interrupted
	}
	a.infof("page written to %s", opts.out)
	return nil
}

// check checks the arguments and flags.
func (o *reportCommandOptions) check(a *app, args []string) error {
	switch {
	case len(args) == 0:
		return usagef("no compare.json given")
	case o.out == "" && a.streams.OutTTY:
		return hintf(usagef("a page cannot be shown in a terminal"), "-out report.html writes it to a file")
	case o.out == "" && o.showGraph:
		return usagef("--show-graph needs -out")
	}
	if o.out == "" {
		return nil
	}
	inFolder := strings.HasSuffix(o.out, "/")
	o.out = store.Clean(o.out)
	if info, err := store.Stat(o.out); inFolder && err != nil || err == nil && info.IsDir() {
		o.out = store.Join(o.out, "report.html")
	}
	if err := safefile.CheckOutput(o.out, args...); err != nil {
		return asUsage(err)
	}
	return nil
}

// drawDocuments draws the plots of documents, with a progress bar.
func (a *app) drawDocuments(ctx context.Context, docs *report.Documents, folder *report.Folder) ([]error, error) {
	if docs.CountPlots() == 0 {
		a.warnf("--show-graph: the comparison has no data for plots; run compare with --show-graph")
		return nil, nil
	}
	return withProgress(a, "drawing", func(observe func(batch.Event)) ([]error, error) { return docs.WritePlots(ctx, folder, observe) })
}
