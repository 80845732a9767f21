package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"dumptool/internal/compare"
	"dumptool/internal/report"
)

type compareDeterminismOptions struct {
	pair     pairFlags
	order    orderFlags
	format   string
	exitZero bool
	workers  int
	version  int
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
order of additions that changes).`,
		Example: `  dumptool compare determinism run1 run2 run3
  dumptool compare determinism run1 run2 --format csv`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCompareDeterminism(cmd.Context(), a, opts, args)
		},
	}
	cmd.Long += exitStatus(exitFound, exitNothing, exitCoverage, exitInterrupted)
	flags := cmd.Flags()
	opts.pair.addFlags(flags)
	opts.pair.addOps(flags)
	opts.order.addFlags(cmd)
	flags.StringVar(&opts.format, "format", "text", "`FORMAT` of the report: text, json or csv")
	flags.BoolVar(&opts.exitZero, "exit-zero", false, "differences do not change the exit status")
	workerFlags(flags, &opts.workers, &opts.version)
	completeValues(cmd, "format", []string{"text", "json", "csv"})
	return cmd
}

// runCompareDeterminism compares runs.
func runCompareDeterminism(ctx context.Context, a *app, opts *compareDeterminismOptions, args []string) error {
	if len(args) < 2 {
		return usagef("want two runs or more, got %s", counted(len(args), "argument"))
	}
	format, err := oneOf("--format", opts.format, []string{"text", "json", "csv"})
	if err != nil {
		return err
	}
	if err := checkWorkers(opts.workers, opts.version); err != nil {
		return err
	}
	var opt compare.Options
	if err := opts.pair.resolve(&opt.Pair); err != nil {
		return err
	}
	problems, err := opts.order.load(&opt, opts.pair.fusion, "")
	if err != nil {
		return err
	}
	for _, p := range problems {
		a.msg.Warnf("%v", p.err)
	}
	for i := range args {
		if err := exists(args[i]); err != nil {
			return err
		}
	}
	progress := a.msg.Progress("comparing")
	defer progress.Close()
	d, err := compare.CheckDeterminism(ctx, compare.DeterminismOptions{
		Runs: args, Pair: opt.Pair, Order: opt.Order, Version: opts.version, Workers: opts.workers, Observe: progress.Observe,
	})
	progress.Close()
	if err != nil {
		return compareError(err)
	}
	for _, w := range d.Warnings {
		a.msg.Warnf("%s", w)
	}
	write := map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return report.Text{Width: a.streams.OutWidth}.WriteDeterminism(w, d) },
		"json": func(w io.Writer) error { return report.WriteDeterminismJSON(w, d) },
		"csv":  func(w io.Writer) error { return report.WriteDeterminismCSV(w, d) },
	}[format]
	if err := write(a.out); err != nil {
		return err
	}
	return a.concludeDeterminism(opts, d)
}

// concludeDeterminism reports what could not be compared and returns the error
// of the run.
func (a *app) concludeDeterminism(opts *compareDeterminismOptions, d *compare.Determinism) error {
	for i := range d.Rows {
		if err := d.Rows[i].Err; err != nil {
			a.msg.Errorf("%v", err)
		}
	}
	const shown = 10
	for i, m := range d.Missing {
		if i == shown {
			a.msg.Warnf("and %d more", len(d.Missing)-shown)
			break
		}
		a.msg.Warnf("%s", m)
	}
	differing, unread := d.Differing()
	switch {
	case unread > 0:
		return incompletef("%s could not be read, %d differ", counted(unread, "tensor"), differing)
	case differing > 0 && !opts.exitZero:
		return reported(foundf("%d of %d tensors differ", differing, len(d.Rows)))
	case len(d.Missing) > 0:
		return coveragef("%s not in all runs", counted(len(d.Missing), "tensor"))
	}
	return nil
}
