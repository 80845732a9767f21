package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/compare"
	"dumptool/internal/safefile"
)

type compareOptions struct {
	cpu, npu string
	judge    judgeFlags
	pair     pairFlags
	shape    shapeFlags
	order    orderFlags
	output   compareOutput
	baseline baselineFlags
	workers  int
	version  int
}

func newCompareCommand(a *app) *cobra.Command {
	opts := new(compareOptions)
	cmd := &cobra.Command{
		Use:   "compare --cpu PATH --npu PATH",
		Short: "compare NPU tensors with a golden run",
		Long: `compare pairs the tensors of an NPU run with those of a reference run by name,
compares every pair element by element, and says which operator went wrong
first, and why. Each PATH is a file or a folder of .npy arrays, dumps of any
container (device layouts are converted to the axis order of the reference), or
raw .bin files. Two runs of an NPU can be compared in the same way. A PATH that
is not given is the folder cpu or npu below $DUMP_MEMORY_PATH; the reports then
go to the folder result there.

An element is an error unless |npu - cpu| <= atol + rtol*|cpu|. NaN and
infinities on one side only are always errors (--nan-policy). The limits are
those of HPAA, 0.005 and 0.2, unless --profile, --atol, --rtol or the file
op_config.csv in the folder of the reports say otherwise.

The summary goes to stdout. With -out the reports are written to DIR too:
cpu_vs_npu.csv with HPAA's columns, a CSV file with the errors of every bad
tensor, lists of what was skipped, and compare.json with everything.`,
		Example: `  dumptool compare --cpu golden --npu dumps
  dumptool compare --cpu golden --npu dumps --atol 0.001 --rtol 0.01 -out report
  dumptool compare golden.npy Conv2D.conv1.3.16.1624605159829577
  dumptool compare run1 run2 --profile exact --format json
  dumptool compare --cpu golden --npu dumps -out report --baseline known.json`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.output.args = given(cmd.Flags())
			return misspelled(cmd, args, runCompare(cmd.Context(), a, opts, args))
		},
	}
	cmd.Long += exitStatus(exitFound, exitNothing, exitCoverage, exitInterrupted)
	cmd.SuggestionsMinimumDistance = 2 // without it cobra suggests exact names only
	opts.addFlags(cmd)
	cmd.SetUsageFunc(func(cmd *cobra.Command) error { return groupedUsage(cmd, compareGroups()) })
	cmd.AddCommand(newCompareDetailCommand(a), newCompareDeterminismCommand(a), newCompareJudgeCommand(a))
	return cmd
}

func (o *compareOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	sideFlags(flags, &o.cpu, &o.npu)
	o.judge.addFlags(cmd)
	o.pair.addFlags(flags)
	o.pair.addOps(flags)
	o.shape.addFlags(cmd)
	o.order.addFlags(cmd)
	o.order.addConsumers(flags)
	o.baseline.addFlags(flags)
	o.output.addFlags(cmd)
	workerFlags(flags, &o.workers, &o.version)
}

// sideFlags adds the flags of the two sides.
func sideFlags(flags *pflag.FlagSet, cpu, npu *string) {
	flags.StringVarP(cpu, "cpu", "g", "", "`PATH` of the reference: a file or a folder")
	alias(flags, "cpu", "cpu-dir", "golden")
	flags.StringVarP(npu, "npu", "m", "", "`PATH` of the NPU data: a file or a folder")
	alias(flags, "npu", "npu-dir")
}

// workerFlags adds the flags about how files are read.
func workerFlags(flags *pflag.FlagSet, workers, version *int) {
	flags.IntVarP(workers, "jobs", "j", 0, "`N` workers; default: one per CPU, at most 16")
	alias(flags, "jobs", "max-cores")
	flags.IntVarP(version, "version", "v", 0, "dump container `1|2`: protobuf or binary; default: as the file tells")
}

// runCompare compares two runs.
func runCompare(ctx context.Context, a *app, opts *compareOptions, args []string) error {
	if err := opts.output.check(); err != nil {
		return err
	}
	opt, problems, err := opts.resolve(a, args)
	if err != nil {
		return err
	}
	for _, p := range problems {
		a.msg.Warnf("%v", p.err)
	}
	progress := a.msg.Progress("comparing")
	defer progress.Close()
	opt.Observe = progress.Observe
	rep, err := compare.Run(ctx, *opt)
	progress.Close()
	switch {
	case rep == nil:
		return compareError(err)
	case errors.Is(err, context.Canceled):
		rep.Interrupted = true // if only while it looked for causes
	case err != nil:
		return err
	}
	for _, p := range problems {
		rep.Warnings = append(rep.Warnings, p.err.Error())
	}
	unkept := opts.baseline.rewrite(a, opt.Baseline, rep)
	if err := a.writeComparison(&opts.output, opt, rep); err != nil {
		return err
	}
	switch {
	case rep.Interrupted:
		return err
	case unkept != nil:
		return unkept
	}
	asked := slices.ContainsFunc(problems, func(p sideProblem) bool { return p.asked })
	return opts.baseline.conclude(rep, opt.FailOn, opts.pair.round, asked)
}

// misspelled adds a hint to the error of a run whose first path is not there and
// is almost the name of a command.
func misspelled(cmd *cobra.Command, args []string, err error) error {
	if len(args) == 0 || exitCode(err) != exitIncomplete || exists(args[0]) == nil {
		return err
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return hintf(err, "did you mean '%s %s'?", cmd.CommandPath(), near[0])
	}
	return err
}

// compareError gives an error that ended a comparison its exit status.
func compareError(err error) error {
	var names *compare.NameError
	var order *compare.OrderError
	switch {
	case errors.As(err, &names):
		return configError(fmt.Errorf("--map-node-dict: %s", strings.Join(names.Missing, "; ")))
	case errors.As(err, &order):
		return configError(fmt.Errorf("--order: %w", err))
	case errors.Is(err, compare.ErrNothing):
		return nothingf("%w", err)
	}
	return err
}

// resolve turns the flags into options.
func (o *compareOptions) resolve(a *app, args []string) (*compare.Options, []sideProblem, error) {
	opt := &compare.Options{
		Version: o.version, Workers: o.workers,
		KLD: slices.Contains(o.output.formats, "msaccucmp"), FailFast: o.baseline.failFast, Slack: o.baseline.slack,
	}
	if err := checkWorkers(o.workers, o.version); err != nil {
		return nil, nil, err
	}
	if err := o.judge.resolve(&opt.Judge); err != nil {
		return nil, nil, err
	}
	if err := o.shape.resolve(&opt.Shape); err != nil {
		return nil, nil, err
	}
	if err := o.baseline.resolve(a, opt); err != nil {
		return nil, nil, err
	}
	if err := o.pair.resolve(&opt.Pair); err != nil {
		return nil, nil, err
	}
	if err := a.comparePaths(&o.cpu, &o.npu, &o.output.out, args); err != nil {
		return nil, nil, err
	}
	if err := checkFolder(o.output.out, o.cpu, o.npu); err != nil {
		return nil, nil, err
	}
	if err := o.checkOutputs(); err != nil {
		return nil, nil, err
	}
	opt.Ref, opt.NPU, opt.Skip = o.cpu, o.npu, o.output.out
	opt.Top, opt.List = o.output.worst(), o.output.listed()
	var err error
	if opt.Config, err = o.judge.load(o.output.out); err != nil {
		return nil, nil, err
	}
	problems, err := o.order.load(opt, o.pair.fusion, o.output.out)
	if safefile.SameFile(o.cpu, o.npu) {
		problems = append(problems, sideProblem{fmt.Errorf("--cpu and --npu are the same: %s", o.cpu), false})
	}
	return opt, problems, err
}

// checkOutputs finds out whether the reports can be written.
func (o *compareOptions) checkOutputs() error {
	if o.output.out == "" {
		return nil
	}
	var names []string
	for _, format := range o.output.chosen() {
		names = append(names, reportFiles[format])
		if o.baseline.file != "" && safefile.SameFile(o.baseline.file, filepath.Join(o.output.out, reportFiles[format])) {
			return usagef("--baseline %s: that is the name of a report", o.baseline.file)
		}
	}
	return checkWritable(o.output.out, names...)
}

// checkWorkers checks the flags of workerFlags.
func checkWorkers(workers, version int) error {
	switch {
	case workers < 0:
		return usagef("-j %d: want at least 1, or 0 for one per CPU", workers)
	case version < 0 || version > 2:
		return usagef("-v %d: want 1 or 2", version)
	}
	return nil
}
