package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/find"
	"dumptool/internal/inspect"
)

type inspectOptions struct {
	inspect.Options
	paths, ops []string
	find       string
	long       bool
	json       jsonFlag
}

func newInspectCommand(a *app) *cobra.Command {
	opts := new(inspectOptions)
	cmd := &cobra.Command{
		Use:   "inspect PATH...",
		Short: "show what is in dump files and .npy arrays",
		Long: `inspect shows the content of the files at PATH (files, or folders with all their
subfolders): container, operator, dump time, and for every tensor element type,
format, shape, original shape and size in bytes. For overflow records it shows
unit, stream, task and status; for tables of statistics, their rows. Files that
are neither dumps nor .npy arrays are counted and left out.

For folders it first prints an overview, as dumptool PATH does: which program
wrote them, ranks and steps, the source of the execution order, element types,
and what is missing or wrong. More than 20 files are shown as one line for every
operator in execution order; --long shows all files and tensors.

With --stats every tensor is read once. Minimum, maximum and mean cover the
finite elements in the layout of the device, including its padding.

With --script every operator shows the line of the user's script that it comes
from, found in the graphs of MindSpore and the call stacks of msprobe; key
"script" of --json.

For a single file that lies beside dumps (a graph of MindSpore, one of its
execution orders, mapping.csv) inspect counts its entries, and the lines or
fields of another format, which readers skip; --verbose lists their places.

With --json every file is an object on a line of its own. If a folder was given,
an object with the keys "run" and "rounds" comes first. Keys stand in a fixed
order; null means unknown. A file or tensor that cannot be read has the key
"error".`,
		Example: `  dumptool inspect Conv2D.conv1.58.16.1624605159829577
  dumptool inspect --stats dumps
  dumptool inspect dumps --rank 0 --step 0,3-5 --ops 're:.*conv.*' --long
  dumptool inspect --json dumps | jq -r 'select(.op_type == "Conv2D") | .file'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runInspect(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitNothing, exitInterrupted)
	opts.addFlags(cmd)
	return cmd
}

func (o *inspectOptions) addFlags(cmd *cobra.Command) {
	addFlags(cmd, slices.Concat([]cmdFlag{morePaths(&o.paths)}, roundFlags(&o.Rounds), []cmdFlag{
		opsFlag(&o.ops), findFlag(&o.find), containerFlag(&o.Version),
		{"stats", boolSwitch(&o.Stats), "show minimum, maximum, mean and the number of NaN and Inf of every tensor", groupReports, 0},
		{"long", boolSwitch(&o.long), "show all files and tensors, however many there are", groupReports, 0},
		{"script", boolSwitch(&o.Script), "show the line of the script for every operator", groupReports, 0},
		readersFlag(&o.Workers),
		o.json.flag("print one JSON object a file"),
	})...)
}

func runInspect(ctx context.Context, a *app, opts *inspectOptions, args []string) (err error) {
	args = append(opts.paths, args...)
	if len(args) == 0 {
		return usagef("no file or folder given")
	}
	opt := &opts.Options
	opt.Misfits = a.global.verbose
	if opt.Ops, err = readOps(opts.ops); err != nil {
		return err
	}
	if opt.Only, err = a.findDumps(ctx, opts.find, find.Options{Paths: args, Rounds: opt.Rounds, Workers: opt.Workers}); err != nil {
		return err
	}
	run, err := inspect.Open(ctx, *opt, args)
	if err != nil {
		return err
	}
	warn(a, dumpdir.ChoiceWarnings(dumpdir.RunSelection{Run: run, By: opt.Rounds}))
	out := &resultPrinter{app: a, format: opts.json.format()}
	headed := false
	if inspect.HasHead(run) {
		o, err := a.makeOverview(ctx, run)
		if err != nil {
			return err
		}
		if headed = o.IsKnown(); headed {
			err = printNext(out, o)
		}
		if err != nil {
			return err
		}
	}
	if !headed {
		warn(a, run.TreeWarnings())
	}
	sum, err := opts.inspect(ctx, run, out)
	if err != nil {
		return err
	}
	return a.conclude(sum.Outcome(run))
}

// inspect shows the contents of the files of a run, or the operators of a large run.
func (o *inspectOptions) inspect(ctx context.Context, run *dumpdir.Run, out *resultPrinter) (inspect.Summary, error) {
	emit := func(f *inspect.File) error { return printInspected(out, f) }
	var ops *inspect.Operators
	if inspect.IsLarge(run) && !o.long && out.format == "text" {
		ops = inspect.NewOperators(run, o.Script)
		emit = func(f *inspect.File) error {
			ops.Add(f)
			out.printMessages(f.Messages())
			return nil
		}
	}
	sum, err := withProgress(out.app, "reading", func(observe func(batch.Event)) (inspect.Summary, error) {
		if ops == nil && (!o.Stats || out.streams.OutTTY) { // a bar would disturb results on the terminal
			observe = nil
		}
		return inspect.Run(ctx, o.Options, run, observe, emit)
	})
	if err == nil && ops != nil {
		err = printNext(out, ops)
	}
	return sum, err
}

// printInspected prints the contents of a file and its messages. In text an unreadable file gives only
// messages.
func printInspected(out *resultPrinter, f *inspect.File) error {
	if !f.NotDump && (f.Err == nil || f.Partial || out.format != "text") {
		if err := printNext(out, f); err != nil {
			return err
		}
	}
	out.printMessages(f.Messages())
	return nil
}
