package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"dumptool/internal/compare"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/report"
	"dumptool/internal/safefile"
)

type compareDetailOptions struct {
	*comparison
	op, out, format string
}

func newCompareDetailCommand(a *app) *cobra.Command {
	opts := &compareDetailOptions{comparison: newComparison()}
	opts.Top, opts.Keep, opts.KLD = 20, true, true
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
	define(cmd, slices.Concat([]cmdFlag{
		{"op", text(&opts.op), "operator `NAME`, or the end of one that no other has; NAME:output:K for one of its tensors", choosing, safe},
		{"topn", whole(&opts.Top, 1, maxWorst, fmt.Sprintf("want 1 to %d", maxWorst)), "show the worst `N` elements", reporting, safe},
	}, opts.sides(), opts.judge(cmd), opts.pairs(), opts.shapes())...)
	outFlag(cmd.Flags(), &opts.out, "", "write tensors and elements to folder `DIR`")
	formatFlag[*record.Row](cmd, &opts.format)
	(*exitZero)(&opts.ExitZero).add(cmd.Flags(), "failures")
	return cmd
}

// resolve checks the flags, and reads the files that they name.
func (o *compareDetailOptions) resolve(a *app, selector compare.Selector, args []string) error {
	if o.op == "" {
		return usagef("no operator given: --op NAME is needed")
	}
	var results string // of HPAA, where the paths are its own
	if err := cmp.Or(a.comparePaths(o.comparison, &results, args), o.keepOut(o.out)); err != nil {
		return err
	}
	if o.out != "" {
		if err := safefile.CheckWritable(o.out, "detail"); err != nil {
			return err
		}
	}
	if err := o.load(results); err != nil {
		return err
	}
	var err error
	if o.Pair.Ops, err = dumpdir.NewNameSet([]string{selector.Op}); err != nil {
		return usagef("--op: %w", err)
	}
	return nil
}

// runCompareDetail compares one operator.
func runCompareDetail(ctx context.Context, a *app, opts *compareDetailOptions, args []string) error {
	selector := compare.ParseSelector(opts.op)
	if err := opts.resolve(a, selector, args); err != nil {
		return err
	}
	plan, err := compare.NewDetailPlan(ctx, opts.Options, selector)
	if err != nil {
		return a.notCompared(err)
	}
	parts, err := a.comparePairs(ctx, plan)
	if err != nil {
		return err
	}
	rep := plan.Conclude(parts)
	out := resultPrinter{app: a, format: opts.format}
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
