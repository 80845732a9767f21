package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/overflow"
	"dumptool/internal/report"
	"dumptool/internal/shard"
	"dumptool/internal/store"
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
	ir       string
	shards   shardOptions // where a command has --shard
}

// addOverflowFlags adds the flags of a command whose report is an R; found is what
// --exit-zero forgives.
func addOverflowFlags[R any](cmd *cobra.Command, o *overflowTreeOptions, found string) {
	o.dumps.add(cmd, pathFlag(morePaths), roundsFlag, opsFlag, jobsFlag(filesRead))
	o.exitZero.add(cmd.Flags(), found)
	addReportFlags[R](cmd, &o.output, "text", "; several with -out")
}

// overflowReport is the report of a command that looks into all dumps of trees.
type overflowReport interface {
	Outcome(reported bool) batch.Outcome
}

// overflowDocument is an overflowReport that shards make and that can be merged.
type overflowDocument interface {
	overflowReport
	SetOrigin(origin shard.Origin)
	Unread() int
}

// resolve checks the flags of a command whose report is an R and turns them into
// options. args are paths.
func resolveOverflow[R overflowReport](o *overflowTreeOptions, args []string) (opt overflow.Options, err error) {
	o.dumps.paths = append(o.dumps.paths, args...)
	if len(o.dumps.paths) == 0 {
		return opt, usagef("no file or folder given")
	}
	if err := cmp.Or(o.dumps.check(), checkIR(o.ir), checkReports[R](&o.output)); err != nil {
		return opt, err
	}
	opt = overflow.Options{Select: o.dumps.selection(), Workers: o.dumps.workers, All: o.all}
	opt.Ops, err = o.dumps.opSet()
	return opt, err
}

// runOverflow opens the trees that are given, looks into them and writes the report, or
// the document of a shard. write writes what there is beside the report; nil for nothing.
func runOverflow[R overflowReport](cmd *cobra.Command, a *app, o *overflowTreeOptions, opt overflow.Options, doing string, open dumpdir.Options,
	look func(context.Context, *dumpdir.Run, overflow.Options) (R, error), write func(R) error,
) error {
	ctx := cmd.Context()
	var err error
	if cmd.Flags().Lookup("shard") != nil {
		if opt.Shard, err = o.shards.resolve(a, o.output.out); err != nil {
			return err
		}
	}
	open.Skip, open.NoRaw, open.IR = o.output.out, true, o.ir
	run, err := a.openRun(ctx, o.dumps.paths, open, opt.Select)
	if err != nil {
		return err
	}
	origin, path := o.shards.origin(cmd, opt.Shard, run.Listing()), ""
	if opt.Shard.On() {
		path = store.Join(o.output.out, opt.Shard.Folder(), report.WriterOf[R]("json").File)
		complete := func(d *shard.Document) bool {
			var r R
			return d.Decode(&r) == nil && any(r).(overflowDocument).Unread() == 0
		}
		if o.shards.done(a, path, &origin, complete) {
			return nil
		}
	}
	r, err := watched(a, doing, func(observe func(batch.Event)) (R, error) {
		opt.Observe = observe
		return look(ctx, run, opt)
	})
	if err != nil {
		return err
	}
	if d, ok := any(r).(overflowDocument); ok {
		d.SetOrigin(origin)
	}
	if opt.Shard.On() { // that its document is complete is all that is asked of a shard
		failed := report.WriteFiles(report.NewFolder(store.Dir(path)), []string{"json"}, r, report.Options{})
		if len(failed) == 0 {
			a.shardWritten(opt.Shard, path)
		}
		return errors.Join(failed...)
	}
	if write != nil {
		if err := write(r); err != nil {
			return err
		}
	}
	return concludeReport(a, &o.output, o.exitZero, r, r.Outcome(o.output.printsText()))
}
