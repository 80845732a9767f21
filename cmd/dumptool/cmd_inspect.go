package main

import (
	"context"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/inspect"
)

type inspectOptions struct {
	dumps  dumpFlags
	stats  bool
	long   bool
	script bool
	json   jsonFlag
}

func newInspectCommand(a *app) *cobra.Command {
	opts := new(inspectOptions)
	cmd := &cobra.Command{
		Use:   "inspect PATH...",
		Short: "show what is in dump files and .npy arrays",
		Long: `inspect shows what the files at PATH hold - files, or folders with all their
folders: container, operator, dump time, and of every tensor element type,
format, shape, original shape and size in bytes. Of overflow records it shows
unit, stream, task and status, of tables of statistics their rows. Files that are
neither dumps nor .npy arrays are counted and left out.

Of folders with ranks or steps, or more than 20 files, it says first what they
are: who wrote them, which ranks and steps there are, where the execution order
comes from, and what is missing or wrong. More than 20 files are shown as a line
for every operator in execution order; --long shows all files and tensors.

With --stats every tensor is read once. Minimum, maximum and mean are those of
the finite elements, in the device's layout: its padding counts too.

With --script every operator has the line of the user's script that it comes from,
which the graphs that MindSpore saves have, and the stacks of msprobe; "script" in
--json.

Of a file that is given by itself and lies beside dumps - a graph of MindSpore, its
execution orders, mapping.csv - inspect counts what is in it, and the lines or fields
that do not fit, which readers pass over; --verbose lists them with their place.

With --json every file is an object on a line of its own, behind one with the
keys "run" and "rounds" where there is anything to say about the run as a whole.
Keys stand in a fixed order; null means unknown. A file or tensor that cannot be
read has the key "error".`,
		Example: `  dumptool inspect Conv2D.conv1.58.16.1624605159829577
  dumptool inspect --stats dumps
  dumptool inspect dumps --rank 0 --step '0|3-5' --ops 're:.*conv.*' --long
  dumptool inspect --json dumps | jq -r 'select(.op_type == "Conv2D") | .file'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runInspect(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitNothing, exitInterrupted)
	opts.addFlags(cmd)
	return cmd
}

func (o *inspectOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.dumps.add(cmd, pathFlag(morePaths), roundsFlag, opsFlag, findFlag, jobsFlag(filesRead), containerFlag)
	flags.BoolVar(&o.stats, "stats", false, "show minimum, maximum, mean and the number of NaN and Inf of every tensor")
	flags.BoolVar(&o.long, "long", false, "show all files and tensors, however many there are")
	flags.BoolVar(&o.script, "script", false, "show the line of the script that every operator comes from")
	harmless(flags, "stats", "long", "script")
	o.json.add(flags, "print one JSON object a file")
}

func runInspect(ctx context.Context, a *app, opts *inspectOptions, args []string) error {
	args = append(opts.dumps.paths, args...)
	if len(args) == 0 {
		return usagef("no file or folder given")
	}
	if err := opts.dumps.check(); err != nil {
		return err
	}
	ops, err := opts.dumps.opSet()
	if err != nil {
		return err
	}
	opt := inspect.Options{
		Stats: opts.stats, Script: opts.script, Misfits: a.global.verbose, Version: opts.dumps.version, Rounds: opts.dumps.selection(), Ops: ops, Workers: opts.dumps.workers,
	}
	if opt.Only, err = opts.dumps.found(ctx, a, args); err != nil {
		return err
	}
	run, err := inspect.Open(ctx, opt, args)
	if err != nil {
		return err
	}
	warn(a, dumpdir.ChoiceWarnings(dumpdir.Chosen{Run: run, By: opt.Rounds}))
	out := &resultPrinter{app: a, format: opts.json.format()}
	if inspect.HasHead(run) {
		if err := printNext(out, run); err != nil {
			return err
		}
	} else {
		warn(a, run.TreeWarnings())
	}
	sum, err := opts.inspect(ctx, opt, run, out)
	if err != nil {
		return err
	}
	return a.conclude(sum.Outcome(run))
}

// inspect shows what is in the files of a run, or its operators.
func (o *inspectOptions) inspect(ctx context.Context, opt inspect.Options, run *dumpdir.Run, out *resultPrinter) (inspect.Summary, error) {
	emit := func(f *inspect.File) error { return inspected(out, f) }
	var ops *inspect.Operators
	if inspect.IsLarge(run) && !o.long && out.format == "text" {
		ops = inspect.NewOperators(run, opt.Script)
		emit = func(f *inspect.File) error {
			ops.Add(f)
			out.say(f.Messages())
			return nil
		}
	}
	sum, err := watched(out.app, "reading", func(observe func(batch.Event)) (inspect.Summary, error) {
		if ops == nil && (!o.stats || out.streams.OutTTY) { // a bar would be in the way of the results
			observe = nil
		}
		return inspect.Run(ctx, opt, run, observe, emit)
	})
	if err == nil && ops != nil {
		err = printNext(out, ops)
	}
	return sum, err
}

// inspected prints what was found in a file, and what there is to say about it. In text
// the messages are all there is of one that could not be read.
func inspected(out *resultPrinter, f *inspect.File) error {
	if !f.NotDump && (f.Err == nil || f.Partial || out.format != "text") {
		if err := printNext(out, f); err != nil {
			return err
		}
	}
	out.say(f.Messages())
	return nil
}
