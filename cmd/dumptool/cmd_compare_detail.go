package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"dumptool/internal/compare"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/report"
	"dumptool/internal/safefile"
)

type compareDetailOptions struct {
	tensors  comparison
	op       string
	out      string
	format   string
	topN     int
	exitZero exitZero
}

func newCompareDetailCommand(a *app) *cobra.Command {
	opts := new(compareDetailOptions)
	cmd := &cobra.Command{
		Use:   "detail --op NAME[:output:K] --cpu PATH --npu PATH",
		Short: "look into the tensors of one operator",
		Long: `detail compares the tensors of one operator and shows everything about them: the
statistics of both sides, all metrics, and the worst elements with their
coordinates. With -out both tensors are written as .npy files in the same shape
and order, and the worst elements as a CSV file.`,
		Example: `  dumptool compare detail --op conv1 --cpu golden --npu dumps
  dumptool compare detail --op conv1:output:0 golden dumps --topn 100 -out conv1`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return runCompareDetail(cmd.Context(), a, opts, args) },
	}
	cmd.Long += formatHelp[*record.Row]() + exitStatus(exitFound, exitNothing, exitInterrupted)
	flags := cmd.Flags()
	opts.tensors.addFlags(cmd)
	flags.StringVar(&opts.op, "op", "", "operator `NAME`, or the end of one that no other has; NAME:output:K for one of its tensors")
	flags.IntVar(&opts.topN, "topn", 20, "show the worst `N` elements")
	harmless(flags, "op", "topn")
	outFlag(flags, &opts.out, "", "write tensors and elements to folder `DIR`")
	formatFlag[*record.Row](cmd, &opts.format)
	opts.exitZero.add(flags, "failures")
	return cmd
}

// resolve turns the flags into options, and reads the files that they name.
func (o *compareDetailOptions) resolve(a *app, selector compare.Selector, args []string) (*compare.Options, error) {
	switch {
	case o.op == "":
		return nil, usagef("no operator given: --op NAME is needed")
	case o.topN < 1 || o.topN > maxWorst:
		return nil, usagef("--topn %d: want 1 to %d", o.topN, maxWorst)
	}
	opt := &compare.Options{Top: o.topN, Keep: true, KLD: true, ExitZero: bool(o.exitZero)}
	if err := o.tensors.resolve(opt); err != nil {
		return nil, err
	}
	var results string // of HPAA, where the paths are its own
	if err := a.comparePaths(&o.tensors.cpu, &o.tensors.npu, &results, append(o.tensors.dumps.paths, args...)); err != nil {
		return nil, err
	}
	if err := o.tensors.setPaths(opt, o.out); err != nil {
		return nil, err
	}
	if o.out != "" {
		if err := safefile.CheckWritable(o.out, "detail"); err != nil {
			return nil, err
		}
	}
	if err := o.tensors.load(opt, results); err != nil {
		return nil, err
	}
	var err error
	if opt.Pair.Ops, err = dumpdir.NewNameSet([]string{selector.Op}); err != nil {
		return nil, usagef("--op: %w", err)
	}
	return opt, nil
}

// runCompareDetail compares one operator.
func runCompareDetail(ctx context.Context, a *app, opts *compareDetailOptions, args []string) error {
	format, err := oneFormat[*record.Row](opts.format)
	if err != nil {
		return err
	}
	selector := compare.ParseSelector(opts.op)
	opt, err := opts.resolve(a, selector, args)
	if err != nil {
		return err
	}
	plan, err := compare.NewDetailPlan(ctx, *opt, selector)
	if err != nil {
		return a.notCompared(err)
	}
	parts, err := a.comparePairs(ctx, plan)
	if err != nil {
		return err
	}
	rep := plan.Conclude(parts)
	out := resultPrinter{app: a, format: format}
	folder, files := report.NewCompareFolder(opts.out, rep), report.NewFileNames()
	for i := range parts {
		row := rep.Row(i)
		if !selector.Has(row) {
			continue
		}
		if err := printNext(&out, row); err != nil {
			return err
		}
		if opts.out == "" || !row.Compared() {
			continue
		}
		written, err := report.WriteDetail(folder, files, row, func(w io.Writer, npu bool) error { return plan.WriteTensor(ctx, w, &parts[i], npu) })
		for _, path := range written {
			a.msg.Infof("%s written", path)
		}
		if err != nil {
			return err
		}
	}
	return a.conclude(plan.DetailOutcome(ctx, selector, rep))
}
