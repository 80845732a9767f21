package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

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
	overflow.Options
	paths, ops []string
	open       dumpdir.Options
	output     reportOptions
	exitZero   exitZero
	shards     shardOptions // where a command has --shard
}

// defineOverflow adds the flags of a command whose report is an R, and others; found is
// what --exit-zero forgives.
func defineOverflow[R any](cmd *cobra.Command, o *overflowTreeOptions, found string, others ...cmdFlag) {
	define(cmd, slices.Concat([]cmdFlag{pathFlag(&o.paths, "folder `PATH` with the dumps")}, roundFlags(&o.Select), []cmdFlag{opsFlag(&o.ops)}, others, []cmdFlag{jobsFlag(&o.Workers, filesRead)})...)
	addReportFlags[R](cmd, &o.output, "text", "; several with -out")
	o.exitZero.add(cmd.Flags(), found)
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

// runOverflow opens the trees that are given, looks into them and writes the report, or
// the document of a shard. write writes what there is beside the report; nil for nothing.
func runOverflow[R overflowReport](cmd *cobra.Command, a *app, o *overflowTreeOptions, args []string, doing string,
	look func(context.Context, *dumpdir.Run, overflow.Options) (R, error), write func(R) error,
) error {
	ctx := cmd.Context()
	paths := append(o.paths, args...)
	if len(paths) == 0 {
		return usagef("no file or folder given")
	}
	if err := cmp.Or(checkIR(o.open.IR), checkReports[R](&o.output)); err != nil {
		return err
	}
	var err error
	if o.Ops, err = readOps(o.ops); err != nil {
		return err
	}
	if cmd.Flag("shard") != nil {
		if o.Shard, err = o.shards.resolve(a, o.output.out); err != nil {
			return err
		}
	}
	o.open.Skip, o.open.NoRaw = o.output.out, true
	run, err := a.openRun(ctx, paths, o.open, o.Select)
	if err != nil {
		return err
	}
	origin, path := o.shards.origin(cmd, o.Shard, run.Listing()), ""
	if o.Shard.On() {
		path = store.Join(o.output.out, o.Shard.Folder(), report.WriterOf[R]("json").File)
		complete := func(d *shard.Document) bool {
			var r R
			return d.Decode(&r) == nil && any(r).(overflowDocument).Unread() == 0
		}
		if o.shards.done(a, path, &origin, complete) {
			return nil
		}
	}
	r, err := watched(a, doing, func(observe func(batch.Event)) (R, error) {
		o.Observe = observe
		return look(ctx, run, o.Options)
	})
	if err != nil {
		return err
	}
	if d, ok := any(r).(overflowDocument); ok {
		d.SetOrigin(origin)
	}
	if o.Shard.On() { // that its document is complete is all that is asked of a shard
		failed := report.WriteFiles(report.NewFolder(store.Dir(path)), []string{"json"}, r, report.Options{})
		if len(failed) == 0 {
			a.shardWritten(o.Shard, path)
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
