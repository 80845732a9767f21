package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/compare"
	"dumptool/internal/compare/determinism"
	"dumptool/internal/lang"
	"dumptool/internal/report"
	"dumptool/internal/sidefile"
)

type compareDeterminismOptions struct {
	pair     pairFlags
	order    orderFlags
	output   reportOptions
	exitZero exitZero
	dumps    dumpFlags
}

func newCompareDeterminismCommand(a *app) *cobra.Command {
	opts := new(compareDeterminismOptions)
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
	flags := cmd.Flags()
	opts.pair.addFlags(flags)
	opts.pair.addOps(flags)
	opts.order.addFlags(cmd)
	addReportFlags[*determinism.Report](cmd, &opts.output, "text", "; several with -out")
	opts.exitZero.add(flags, "differences")
	opts.dumps.add(cmd, pathFlag(morePaths), roundsFlag, opsFlag, compareWorkers, containerFlag)
	return cmd
}

// runCompareDeterminism compares runs.
func runCompareDeterminism(ctx context.Context, a *app, opts *compareDeterminismOptions, args []string) error {
	args = append(opts.dumps.paths, args...)
	if len(args) < 2 {
		return usagef("want two runs or more, got %s", lang.Count(len(args), "argument"))
	}
	if err := cmp.Or(checkReports[*determinism.Report](&opts.output), opts.dumps.check()); err != nil {
		return err
	}
	var opt compare.Options
	var files sidefile.Files
	opts.pair.addFiles(&files)
	opts.order.addFiles(&files)
	if err := opt.Load(files); err != nil {
		return compareError(err)
	}
	if err := cmp.Or(opts.pair.resolve(&opt, opts.dumps.ops), opts.order.resolve(&opt)); err != nil {
		return err
	}
	warn(a, opt.Warnings)
	for i := range args {
		if err := exists(args[i]); err != nil {
			return err
		}
	}
	d, err := watched(a, "comparing", func(observe func(batch.Event)) (*determinism.Report, error) {
		return determinism.Check(ctx, determinism.Options{
			Runs: args, Rounds: opts.dumps.selection(), Pair: opt.Pair, SideFiles: opt.SideFiles, OrderBy: opt.OrderBy, Version: opts.dumps.version, Workers: opts.dumps.workers, Observe: observe,
		})
	})
	if err != nil {
		return a.notCompared(err)
	}
	warn(a, d.Warnings)
	if err := writeReports(a, &opts.output, d, report.Options{}); err != nil {
		return err
	}
	return a.conclude(d.Outcome(bool(opts.exitZero)))
}
