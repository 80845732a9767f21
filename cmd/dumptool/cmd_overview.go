package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/dumpconf"
	"dumptool/internal/dumpdir"
	"dumptool/internal/guard"
	"dumptool/internal/inspect"
	"dumptool/internal/report"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
)

// overviewName is the name of the command that runs if paths stand in place of a command.
const overviewName = "PATH..."

type overviewOptions struct {
	rounds dumpdir.Selection
	json   jsonFlag
}

func newOverviewCommand(a *app) *cobra.Command {
	opts := new(overviewOptions)
	cmd := &cobra.Command{
		Use:   overviewName,
		Short: "show what a path holds, and which commands fit",
		Long: `A path in place of a command: what lies there - who wrote it, ranks, steps,
operators, element types, overflow records, a reference beside it, mistakes in its
configuration - and the commands that make sense, filled in.

The first word is a path where it exists, has a slash or begins with s3://, and is
no command: ./compare is a folder, compare is the command. Names and dump.json say
nearly all of it; element types are those of at most 64 files.`,
		Example: `  dumptool dumps
  dumptool golden dumps
  dumptool ./compare --json`,
		Args:        cobra.ArbitraryArgs,
		Annotations: withoutSettings(),
		RunE:        func(cmd *cobra.Command, args []string) error { return runOverview(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitNothing, exitInterrupted)
	addFlags(cmd, append(slices.DeleteFunc(roundFlags(&opts.rounds), func(f cmdFlag) bool { return f.levels&rareLevel != 0 }), opts.json.flag("print one JSON object"))...)
	return cmd
}

// isPath reports whether a word that is no command is a path.
func isPath(word string) bool {
	if strings.Contains(word, "/") {
		return true
	}
	_, _, err := tensorfile.Split(word)
	return word != "" && err == nil
}

// runOverview describes the contents of paths.
func runOverview(ctx context.Context, a *app, opts *overviewOptions, args []string) error {
	if len(args) == 0 {
		return usagef("no path given")
	}
	for _, path := range args {
		_ = store.Preload(path) // one listing of a bucket serves all later calls, and so does its error
		if err := checkExists(path); err != nil {
			return err
		}
	}
	args = slices.DeleteFunc(slices.Clone(args), func(file string) bool { // a file below another path is no run of its own
		info, err := store.Stat(file)
		return err == nil && !info.IsDir() && slices.ContainsFunc(args, func(root string) bool {
			_, err := store.ResolveWithin(root, file)
			return root != file && err == nil
		})
	})
	run, err := dumpdir.Open(ctx, args, dumpdir.Options{})
	if err != nil {
		return err
	}
	if err := run.Choose(ctx, opts.rounds, nil, dumpdir.HeaderOptions{}); err != nil {
		return err
	}
	warn(a, dumpdir.ChoiceWarnings(dumpdir.RunSelection{Run: run, By: opts.rounds}))
	o, err := a.makeOverview(ctx, run)
	if err != nil {
		return err
	}
	if !o.IsKnown() {
		sum, err := new(inspectOptions).inspect(ctx, run, &resultPrinter{app: a, format: opts.json.format()})
		if err != nil {
			return err
		}
		return a.conclude(sum.Outcome(run))
	}
	o.Suggest()
	return printResult(a, opts.json.format(), o, report.Options{})
}

// makeOverview describes the paths of a run.
func (a *app) makeOverview(ctx context.Context, run *dumpdir.Run) (*inspect.Overview, error) {
	return inspect.NewOverview(ctx, run, func(path string) (inspect.Configuration, bool) { return countMistakes(ctx, path) })
}

// countMistakes counts the mistakes in a dump configuration; ok is false for other files.
func countMistakes(ctx context.Context, path string) (c inspect.Configuration, ok bool) {
	src, err := dumpconf.ReadFile(ctx, path, nil)
	if err != nil || !dumpconf.IsConfiguration(src) {
		return c, false
	}
	err = guard.Do(func() error {
		r := dumpconf.Check(path, src, dumpconf.Options{})
		c = inspect.Configuration{Path: path, Schema: r.Schema.String(), Errors: r.Count(dumpconf.Error), Warnings: r.Count(dumpconf.Warning)}
		return nil
	})
	return c, err == nil
}
