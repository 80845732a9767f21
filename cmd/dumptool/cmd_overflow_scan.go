package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/overflow"
	"dumptool/internal/report"
)

type overflowScanOptions struct {
	dumps    dumpFlags
	output   reportOptions
	all      bool
	exitZero exitZero
	ir       string
}

func newOverflowScanCommand(a *app) *cobra.Command {
	opts := new(overflowScanOptions)
	cmd := &cobra.Command{
		Use:   "scan PATH...",
		Short: "find NaN, infinities and saturated values in ordinary dumps",
		Long: `scan reads every tensor of dumps and arrays once and shows those with NaN,
infinities or values at the limit of their floating-point type, in the order of
rank, step and execution; the first of each rank is marked, and devices are ranks.
Integers at the limits of their type are counted, but are no finding by
themselves. Of tensors whose statistics alone were dumped (statistic.csv and the
tables of CANN) it shows what those say.

More than 20 executions with bad tensors are grouped by operator, and the first of
them is shown in full; --all shows all, good ones too.`,
		Example: `  dumptool overflow scan dumps
  dumptool overflow scan dumps --all --format csv > all.csv`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runOverflowScan(cmd.Context(), a, opts, args) },
	}
	cmd.Long += formatHelp[*overflow.ScanReport]() + exitStatus(exitFound, exitNothing, exitInterrupted)
	opts.addFlags(cmd)
	return cmd
}

func (o *overflowScanOptions) addFlags(cmd *cobra.Command) {
	o.dumps.add(cmd, pathFlag(morePaths), roundsFlag, opsFlag, jobsFlag(filesRead))
	cmd.Flags().BoolVar(&o.all, "all", false, "show everything, good tensors too")
	addIR(cmd.Flags(), &o.ir)
	o.exitZero.add(cmd.Flags(), "bad tensors")
	addReportFlags[*overflow.ScanReport](cmd, &o.output, "text", "; several with -out")
}

// runOverflowScan scans the trees that are given.
func runOverflowScan(ctx context.Context, a *app, opts *overflowScanOptions, args []string) error {
	args = append(opts.dumps.paths, args...)
	if len(args) == 0 {
		return usagef("no file or folder given")
	}
	if err := opts.dumps.check(); err != nil {
		return err
	}
	if err := cmp.Or(checkIR(opts.ir), checkReports[*overflow.ScanReport](&opts.output)); err != nil {
		return err
	}
	ops, err := opts.dumps.opSet()
	if err != nil {
		return err
	}
	run, err := a.openRun(ctx, args, dumpdir.Options{Skip: opts.output.out, NoRaw: true, Graphs: true, IR: opts.ir}, opts.dumps.selection())
	if err != nil {
		return err
	}
	r, err := watched(a, "scanning", func(observe func(batch.Event)) (*overflow.ScanReport, error) {
		return overflow.Scan(ctx, run, overflow.Options{Select: opts.dumps.selection(), Ops: ops, Workers: opts.dumps.workers, All: opts.all, Observe: observe})
	})
	if err != nil {
		return err
	}
	outcome := r.Outcome(run)
	if outcome.Kind != batch.Nothing {
		err = writeReports(a, &opts.output, r, report.Options{})
	}
	if err != nil {
		return err
	}
	return a.conclude(opts.exitZero.of(outcome))
}
