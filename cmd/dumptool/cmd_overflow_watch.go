package main

import (
	"context"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/overflow"
	"dumptool/internal/report"
)

type overflowWatchOptions struct {
	dumps    dumpFlags
	output   reportOptions
	exitZero exitZero
}

func newOverflowWatchCommand(a *app) *cobra.Command {
	opts := new(overflowWatchOptions)
	cmd := &cobra.Command{
		Use:   "watch PATH...",
		Short: "find the operator that overwrote the memory of another one",
		Long: `watch compares the dumps that CANN's watcher mode writes (dump_scene "watcher"):
the output of a watched operator C after each of the operators A, B, ... ran, in
files {type of C}.{A}_To_{C}.{task}.{stream}.{timestamp}. In the order of time each
is held, byte for byte, against the one before; the first is the dump of C itself
where there is one. What differs was written by the operator that ran last, or by
one that ran since the dump before.`,
		Example: `  dumptool overflow watch dumps
  dumptool overflow watch dumps --format csv > changes.csv`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runOverflowWatch(cmd.Context(), a, opts, args) },
	}
	cmd.Long += formatHelp[*overflow.WatchReport]() + exitStatus(exitFound, exitNothing, exitInterrupted)
	opts.addFlags(cmd)
	return cmd
}

func (o *overflowWatchOptions) addFlags(cmd *cobra.Command) {
	o.dumps.add(cmd, pathFlag(morePaths), roundsFlag, opsFlag, jobsFlag(filesRead))
	o.exitZero.add(cmd.Flags(), "changed memory")
	addReportFlags[*overflow.WatchReport](cmd, &o.output, "text", "; several with -out")
}

// runOverflowWatch compares the dumps of the trees that are given.
func runOverflowWatch(ctx context.Context, a *app, opts *overflowWatchOptions, args []string) error {
	args = append(opts.dumps.paths, args...)
	if len(args) == 0 {
		return usagef("no file or folder given")
	}
	if err := opts.dumps.check(); err != nil {
		return err
	}
	if err := checkReports[*overflow.WatchReport](&opts.output); err != nil {
		return err
	}
	ops, err := opts.dumps.opSet()
	if err != nil {
		return err
	}
	run, err := a.openRun(ctx, args, dumpdir.Options{Skip: opts.output.out, NoRaw: true}, opts.dumps.selection())
	if err != nil {
		return err
	}
	r, err := watched(a, "comparing", func(observe func(batch.Event)) (*overflow.WatchReport, error) {
		return overflow.Watch(ctx, run, overflow.Options{Select: opts.dumps.selection(), Ops: ops, Workers: opts.dumps.workers, Observe: observe})
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
