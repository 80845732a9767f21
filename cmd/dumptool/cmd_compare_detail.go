package main

import (
	"context"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/compare"
	"dumptool/internal/compare/pairing"
	"dumptool/internal/report"
	"dumptool/internal/safefile"
)

type compareDetailOptions struct {
	cpu, npu string
	op       string
	out      string
	format   string
	topN     int
	exitZero bool
	judge    judgeFlags
	pair     pairFlags
	shape    shapeFlags
	workers  int
	version  int
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
	cmd.Long += exitStatus(exitFound, exitNothing, exitInterrupted)
	flags := cmd.Flags()
	sideFlags(flags, &opts.cpu, &opts.npu)
	flags.StringVar(&opts.op, "op", "", "operator `NAME`, or NAME:output:K for one of its tensors")
	flags.IntVar(&opts.topN, "topn", 20, "show the worst `N` elements")
	flags.StringVar(&opts.out, "out", "", "write tensors and elements to folder `DIR`")
	alias(flags, "out", "output")
	flags.StringVar(&opts.format, "format", "text", "`FORMAT` of what is printed: text, json or csv")
	flags.BoolVar(&opts.exitZero, "exit-zero", false, "failures do not change the exit status")
	opts.judge.addFlags(cmd)
	opts.pair.addFlags(flags)
	opts.shape.addFlags(cmd)
	workerFlags(flags, &opts.workers, &opts.version)
	completeValues(cmd, "format", []string{"text", "json", "csv"})
	return cmd
}

// resolve turns the flags into options.
func (o *compareDetailOptions) resolve(a *app, args []string) (*compare.Options, error) {
	switch {
	case o.op == "":
		return nil, usagef("no operator given: --op NAME is needed")
	case o.topN < 1 || o.topN > maxWorst:
		return nil, usagef("--topn %d: want 1 to %d", o.topN, maxWorst)
	}
	opt := &compare.Options{Version: o.version, Workers: o.workers, Top: o.topN, Keep: true, KLD: true}
	if err := checkWorkers(o.workers, o.version); err != nil {
		return nil, err
	}
	if err := o.judge.resolve(&opt.Judge); err != nil {
		return nil, err
	}
	if err := o.shape.resolve(&opt.Shape); err != nil {
		return nil, err
	}
	if err := o.pair.resolve(&opt.Pair); err != nil {
		return nil, err
	}
	var results string // of HPAA, where the paths are its own
	if err := a.comparePaths(&o.cpu, &o.npu, &results, args); err != nil {
		return nil, err
	}
	if err := checkFolder(o.out, o.cpu, o.npu); err != nil {
		return nil, err
	}
	if o.out != "" {
		if err := checkWritable(o.out, "detail"); err != nil {
			return nil, err
		}
	}
	opt.Ref, opt.NPU, opt.Skip = o.cpu, o.npu, o.out
	var err error
	opt.Config, err = o.judge.load(results)
	return opt, err
}

// runCompareDetail compares one operator.
func runCompareDetail(ctx context.Context, a *app, opts *compareDetailOptions, args []string) error {
	format, err := oneOf("--format", opts.format, []string{"text", "json", "csv"})
	if err != nil {
		return err
	}
	opt, err := opts.resolve(a, args)
	if err != nil {
		return err
	}
	selector := compare.ParseSelector(opts.op)
	if opt.Pair.Ops, err = pairing.NewNameSet([]string{selector.Op}); err != nil {
		return usagef("--op: %w", err)
	}
	progress := a.msg.Progress("comparing")
	defer progress.Close()
	opt.Observe = progress.Observe
	rep, err := compare.Run(ctx, *opt)
	progress.Close()
	if err != nil {
		return compareError(err)
	}
	shown, failed, unread := 0, 0, 0
	files := report.NewFileNames()
	for i := range rep.Rows {
		row := &rep.Rows[i]
		if !selector.Has(row) {
			continue
		}
		if shown > 0 && format == "text" {
			if _, err := io.WriteString(a.out, "\n"); err != nil {
				return err
			}
		}
		shown++
		if err := a.printDetail(format, row); err != nil {
			return err
		}
		if opts.out != "" && row.Compared() {
			if err := a.writeDetail(ctx, newReportFolder(opts.out, rep), files, rep, i); err != nil {
				return err
			}
		}
		switch row.Status {
		case compare.Error:
			unread++
		case compare.Fail, compare.ShapeMismatch, compare.DTypeMismatch, compare.Ambiguous:
			failed++
		}
	}
	switch {
	case shown == 0:
		return noOperator(ctx, opts.op, *opt, rep)
	case unread > 0:
		return incompletef("%s could not be read", counted(unread, "tensor"))
	case failed > 0 && !opts.exitZero:
		return reported(foundf("%s failed", counted(failed, "tensor")))
	}
	return nil
}

// noOperator is the error for an operator, or a tensor of one, that neither side
// has. The hint tells what there is.
func noOperator(ctx context.Context, op string, opt compare.Options, rep *compare.Report) error {
	err := nothingf("no tensor is called %s", op)
	var near []string
	for i := range rep.Rows {
		near = append(near, rep.Rows[i].Name())
	}
	if len(near) > 0 {
		return hintf(err, "the operator has %s", strings.Join(near[:min(len(near), nearNames)], ", "))
	}
	names, listError := operatorNames(ctx, opt)
	if listError != nil {
		return err
	}
	if near = nearest(op, names); len(near) == 0 {
		return hintf(err, "operators are called like %s", names[0])
	}
	return hintf(err, "did you mean %s?", strings.Join(near, ", "))
}

// printDetail prints one row.
func (a *app) printDetail(format string, row *compare.Row) error {
	switch format {
	case "json":
		return report.WriteCompareDetailJSON(a.out, row)
	case "csv":
		return report.WriteCompareDetailCSV(a.out, row)
	}
	return report.Text{Width: a.streams.OutWidth}.WriteCompareDetail(a.out, row)
}

// writeDetail writes the tensors of a row and its worst elements.
func (a *app) writeDetail(ctx context.Context, folder *reportFolder, names *report.FileNames, rep *compare.Report, i int) error {
	if err := safefile.MkdirAll(folder.dir); err != nil {
		return err
	}
	row := &rep.Rows[i]
	stem := names.Stem(strings.Join([]string{row.Op, row.Kind, strconv.Itoa(row.Output)}, "_") + roundSuffix(row.Round))
	for _, file := range []struct {
		suffix string
		write  func(io.Writer) error
	}{
		{"_cpu.npy", func(w io.Writer) error { return rep.WriteTensor(ctx, w, i, compare.RefSide) }},
		{"_npu.npy", func(w io.Writer) error { return rep.WriteTensor(ctx, w, i, compare.NPUSide) }},
		{"_worst.csv", func(w io.Writer) error { return report.WriteCompareDetailCSV(w, row) }},
	} {
		if err := folder.write(stem+file.suffix, file.write); err != nil {
			return err
		}
		a.msg.Infof("%s written", filepath.Join(folder.dir, stem+file.suffix))
	}
	return nil
}

// roundSuffix tells the files of several rounds apart.
func roundSuffix(round string) string {
	if round == "" {
		return ""
	}
	return "_" + round
}
