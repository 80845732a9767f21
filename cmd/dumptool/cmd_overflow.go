package main

import (
	"context"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/overflow"
	"dumptool/internal/report"
)

func newOverflowCommand(a *app) *cobra.Command {
	cmd := newGroup(&cobra.Command{
		Use:   "overflow",
		Short: "find out what overflowed, and why",
		Long: `overflow has commands for what a device leaves behind when numbers overflow:
the records that it writes (OpDebug dumps), their status words, and the dumps of
the operators.`,
	})
	cmd.Long += exitStatus(exitFound, exitNothing, exitInterrupted)
	cmd.AddCommand(
		newOverflowDecodeCommand(a),
		newOverflowStatusCommand(a),
		newOverflowAnalyzeCommand(a),
		newOverflowScanCommand(a),
		newOverflowWatchCommand(a),
	)
	return cmd
}

// overflowTreeOptions are the flags of the commands that look into all dumps of trees.
type overflowTreeOptions struct {
	dumps    dumpFlags
	output   reportOptions
	all      bool
	exitZero exitZero
	part     overflow.Part // of the work, where a command has --shard
}

// addOverflowFlags adds the flags of a command whose report is an R; found is what
// --exit-zero forgives.
func addOverflowFlags[R any](cmd *cobra.Command, o *overflowTreeOptions, found string) {
	o.dumps.add(cmd, pathFlag(morePaths), roundsFlag, opsFlag, jobsFlag(filesRead))
	o.exitZero.add(cmd.Flags(), found)
	addReportFlags[R](cmd, &o.output, "text", "; several with -out")
}

// runOverflow opens the trees that are given, looks into them and writes the report.
func runOverflow[R interface {
	Outcome(in overflow.Inputs) batch.Outcome
}](ctx context.Context, a *app, o *overflowTreeOptions, args []string, doing string, open dumpdir.Options,
	look func(context.Context, *dumpdir.Run, overflow.Options) (R, error), lookPart lookPart,
) error {
	args = append(o.dumps.paths, args...)
	if len(args) == 0 {
		return usagef("no file or folder given")
	}
	if err := o.dumps.check(); err != nil {
		return err
	}
	if err := checkReports[R](&o.output); err != nil {
		return err
	}
	ops, err := o.dumps.opSet()
	if err != nil {
		return err
	}
	open.Skip, open.NoRaw = o.output.out, true
	run, err := a.openRun(ctx, args, open, o.dumps.selection())
	if err != nil {
		return err
	}
	opt := overflow.Options{Select: o.dumps.selection(), Ops: ops, Workers: o.dumps.workers, All: o.all}
	if o.part.On() {
		return runOverflowPart(ctx, a, doing, run, opt, o.part, lookPart)
	}
	r, err := watched(a, doing, func(observe func(batch.Event)) (R, error) {
		opt.Observe = observe
		return look(ctx, run, opt)
	})
	if err != nil {
		return err
	}
	outcome := r.Outcome(overflow.InputsOf(run))
	if outcome.Kind != batch.Nothing {
		if err := writeReports(a, &o.output, r, report.Options{}); err != nil {
			return err
		}
	}
	return a.conclude(o.exitZero.of(outcome))
}

// lookPart looks into a part of a run and writes a part file; nil where a command has no
// --shard.
type lookPart func(context.Context, *dumpdir.Run, overflow.Options, overflow.Part) (overflow.PartWritten, error)

// runOverflowPart looks into a part of a run. That its part is complete is all that is
// asked of a shard, whatever was found.
func runOverflowPart(ctx context.Context, a *app, doing string, run *dumpdir.Run, opt overflow.Options, part overflow.Part, look lookPart) error {
	written, err := watched(a, doing, func(observe func(batch.Event)) (overflow.PartWritten, error) {
		opt.Observe = observe
		return look(ctx, run, opt, part)
	})
	if err != nil {
		return err
	}
	a.partWritten(part.Spec, written.Path)
	return nil
}

// part reads the flag of a command whose reports are those of o.
func (s *shardFlag) part(a *app, cmd *cobra.Command, o *reportOptions) (overflow.Part, error) {
	spec, err := s.spec(a)
	if err != nil || !spec.On() {
		return overflow.Part{}, err
	}
	return overflow.Part{Spec: spec, Dir: o.out, Tool: toolName()}, o.forPart(cmd)
}
