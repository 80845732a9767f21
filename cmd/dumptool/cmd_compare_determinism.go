package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/compare/determinism"
	"dumptool/internal/lang"
	"dumptool/internal/report"
)

type compareDeterminismOptions struct {
	*comparison
	output reportOptions
}

func newCompareDeterminismCommand(a *app) *cobra.Command {
	opts := &compareDeterminismOptions{comparison: newComparison()}
	cmd := &cobra.Command{
		Use:   "determinism RUN1 RUN2...",
		Short: "check that runs of one network give the same bits",
		Long: `determinism compares the tensors of two or more runs of the same network, bit
for bit, and lists those that differ in execution order: how many contents there
are, how far they are from the first run's, and, from three runs on, whether the
same elements differ every time (a race on one part of a tensor) or others (an
order of additions that changes). Each rank and step is compared with the same
one of the first run.`,
		Example: `  dumptool compare determinism run1 run2 run3
  dumptool compare determinism run1 run2 --format csv
  dumptool compare determinism run1 run2 -out report --format text,json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCompareDeterminism(cmd.Context(), a, opts, args)
		},
	}
	cmd.Long += formatHelp[*determinism.Report]() + exitStatus(exitFound, exitNothing, exitCoverage, exitInterrupted)
	define(cmd, slices.Concat([]cmdFlag{morePaths(&opts.paths)}, roundFlags(&opts.RefRounds), opts.operators(), opts.pairs(), opts.execution(),
		[]cmdFlag{opts.jobs(), containerFlag(&opts.Version)})...)
	addReportFlags[*determinism.Report](cmd, &opts.output, "text", "; several with -out")
	(*exitZero)(&opts.ExitZero).add(cmd.Flags(), "differences")
	return cmd
}

// runCompareDeterminism compares runs.
func runCompareDeterminism(ctx context.Context, a *app, o *compareDeterminismOptions, args []string) error {
	args = append(o.paths, args...)
	if len(args) < 2 {
		return usagef("want two runs or more, got %s", lang.Count(len(args), "argument"))
	}
	if err := checkReports[*determinism.Report](&o.output); err != nil {
		return err
	}
	if err := cmp.Or(o.load(""), o.chooseOrder()); err != nil {
		return err
	}
	warn(a, o.Warnings)
	for i := range args {
		if err := exists(args[i]); err != nil {
			return err
		}
	}
	d, err := watched(a, "comparing", func(observe func(batch.Event)) (*determinism.Report, error) {
		return determinism.Check(ctx, determinism.Options{
			Runs: args, Rounds: o.RefRounds, Pair: o.Pair, SideFiles: o.SideFiles, OrderBy: o.OrderBy, Version: o.Version, Workers: o.Workers, Observe: observe,
		})
	})
	if err != nil {
		return a.notCompared(err)
	}
	warn(a, d.Warnings)
	if err := writeReports(a, &o.output, d, report.Options{}); err != nil {
		return err
	}
	return a.conclude(d.Outcome(o.ExitZero))
}
