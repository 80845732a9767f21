package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/checkpoint"
	"dumptool/internal/compare"
	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/determinism"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
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
		Short: "examine the tensors of one operator",
		Long: `detail compares the tensors of one operator and shows everything about them: the
statistics of both sides, all metrics, and the worst elements with their
coordinates. With -out both tensors are written as .npy files in the same shape
and order, and the worst elements as a CSV file.`,
		Example: `  dumptool compare detail --op conv1 --cpu golden --npu dumps
  dumptool compare detail --op conv1:output:0 golden dumps --topn 100 -out conv1`,
		Args: maxArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return runCompareDetail(cmd.Context(), a, opts, args) },
	}
	cmd.Long += formatHelp[*record.Row]() + exitStatus(exitFinding, exitNothing, exitInterrupted)
	addFlags(cmd, slices.Concat([]cmdFlag{
		{"op", textValue(&opts.op), "operator `NAME`, or a unique end of it; NAME:output:K for one of its tensors", groupChoice, 0},
		{"topn", integerValue(&opts.Top, 1, maxWorst, fmt.Sprintf("want 1 to %d", maxWorst)), "show the worst `N` elements", groupReports, 0},
		outFlag(&opts.out, "write tensors and elements to folder `DIR`"),
		(*exitZero)(&opts.ExitZero).flag("failures do not change the exit status"),
	}, opts.bothSideFlags(), opts.judgeFlags(), opts.pairFlags(), opts.shapeFlags())...)
	formatFlag[*record.Row](cmd, &opts.format)
	return cmd
}

// resolve checks the flags, and reads the files that they name.
func (o *compareDetailOptions) resolve(ctx context.Context, a *app, selector compare.Selector, args []string) error {
	if o.op == "" {
		return usagef("no operator given: --op NAME is needed")
	}
	var results string // HPAA's result folder, if the paths are HPAA's
	if err := cmp.Or(a.comparePaths(ctx, o.comparison, &results, args), o.excludeOutput(o.out)); err != nil {
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
	if err := opts.resolve(ctx, a, selector, args); err != nil {
		return err
	}
	plan, err := compare.NewDetail(ctx, opts.Options, selector)
	if err != nil {
		return a.concludeError(err)
	}
	parts, err := a.comparePairs(ctx, plan)
	if err != nil {
		return err
	}
	rep := plan.Conclude(parts)
	if err := plan.ComputeAgain(ctx, rep, parts); err != nil {
		return err
	}
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
		if opts.out == "" || !row.IsCompared() {
			continue
		}
		written, err := report.WriteDetail(folder, files, row, func(w io.Writer, npu bool) error { return plan.WriteTensor(ctx, w, &parts[i], npu) })
		for _, path := range written {
			a.infof("%s written", path)
		}
		if err != nil {
			return err
		}
	}
	return a.conclude(plan.DetailOutcome(ctx, selector, rep))
}

type compareDeterminismOptions struct {
	*comparison
	output reportOptions
	failOn string
}

func newCompareDeterminismCommand(a *app) *cobra.Command {
	opts := &compareDeterminismOptions{comparison: newComparison(), failOn: "differ"}
	cmd := &cobra.Command{
		Use:   "determinism RUN1 RUN2...",
		Short: "check that runs of one network are equal bit for bit",
		Long: `determinism compares the tensors of two or more runs of the same network bit for
bit, and lists the tensors that differ in execution order: how many different
contents there are, and how far they are from the first run. With three contents
or more it also says whether always the same elements differ (maybe a race on one
part of the tensor) or changing elements (maybe a changing order of additions).
Each rank and step is compared with the same rank and step of the first run.

If inputs were dumped, each operator that differs is computed again in every run,
and CAUSE says why: SUM_ORDER or ROUNDING_STEP (equal inputs, the operator adds
up, and every run is right), RANDOM, INHERITED (different inputs, and every run is
right), INPUT, FAULT (only some runs are right, or no order of additions can
explain the difference), or UNKNOWN.`,
		Example: `  dumptool compare determinism run1 run2 run3
  dumptool compare determinism run1 run2 --format csv
  dumptool compare determinism run1 run2 -out report --format text,json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCompareDeterminism(cmd.Context(), a, opts, args)
		},
	}
	cmd.Long += formatHelp[*determinism.Report]() + exitStatus(exitFinding, exitNothing, exitCoverage, exitInterrupted)
	addFlags(cmd, slices.Concat([]cmdFlag{morePaths(&opts.paths)}, roundFlags(&opts.RefRounds), opts.operatorFlags(), opts.pairFlags(), opts.orderFlags(),
		[]cmdFlag{opts.workersFlag(), containerFlag(&opts.Version), {"fail-on", choice(&opts.failOn, []string{"differ", "fault"}), "`WHAT` fails: differ (any bit), or fault (causes FAULT and UNKNOWN)", groupCI, 0},
			(*exitZero)(&opts.ExitZero).flag("differences do not change the exit status")})...)
	addReportFlags[*determinism.Report](cmd, &opts.output)
	return cmd
}

// runCompareDeterminism compares runs.
func runCompareDeterminism(ctx context.Context, a *app, o *compareDeterminismOptions, args []string) error {
	args = append(o.paths, args...)
	if len(args) < 2 {
		return usagef("want two runs or more, got %s", lang.CountText(len(args), "argument"))
	}
	if err := checkReports[*determinism.Report](&o.output); err != nil {
		return err
	}
	if err := cmp.Or(o.load(""), o.chooseOrder()); err != nil {
		return err
	}
	warn(a, o.Warnings)
	for i := range args {
		if err := checkExists(args[i]); err != nil {
			return err
		}
	}
	d, err := withProgress(a, "comparing", func(observe func(batch.Event)) (*determinism.Report, error) {
		return determinism.Check(ctx, determinism.Options{
			Runs: args, Rounds: o.RefRounds, Pair: o.Pair, SideFiles: o.SideFiles, OrderBy: o.OrderBy, Files: o.files, IR: o.IR, Version: o.Version, Workers: o.Workers, Observe: observe,
		})
	})
	if err != nil {
		return a.concludeError(err)
	}
	warn(a, d.Warnings)
	if err := writeReports(a, &o.output, d, report.Options{}); err != nil {
		return err
	}
	return a.conclude(d.Outcome(o.ExitZero, o.failOn == "fault"))
}

type compareCheckpointsOptions struct {
	checkpoint.Options
	output        reportOptions
	allowed       string
	writeMap      string
	all, exitZero bool
}

func newCompareCheckpointsCommand(a *app) *cobra.Command {
	opts := new(compareCheckpointsOptions)
	cmd := &cobra.Command{
		Use:   "checkpoints A B",
		Short: "check that two sets of weights hold the same model",
		Long: `checkpoints says which tensor of one set of weights is which tensor of another one,
and whether their elements are the same. Tensors are found by their contents, then by
their names: renamed, transposed, concatenated (q, k and v), divided over ranks, in
another order of rows, or with more rows. Elements are the same if they are equal, or
equal after one rounding to the coarser type.

A and B are .safetensors, .pt and .bin files, folders of them, folders with index.json,
or Megatron's folders with mp_rank_* folders. Objects in a .pt file that are no tensors
are not loaded.`,
		Example: `  dumptool compare checkpoints hf/model.safetensors megatron/iter_0001000
  dumptool compare checkpoints before after --format csv
  dumptool compare checkpoints hf megatron --write-map map.json`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.A, opts.B = args[0], args[1]
			return runCompareCheckpoints(cmd.Context(), a, opts)
		},
	}
	cmd.Long += formatHelp[*checkpoint.Report]() + exitStatus(exitFinding, exitNothing, exitInterrupted)
	addFlags(cmd,
		cmdFlag{"allow", textValue(&opts.allowed), "accept tensors of these `STATUSES` too, separated by commas: scaled, lora, only_a, only_b", groupCI, 0},
		cmdFlag{"adapter", textValue(&opts.Adapter), "`FOLDER` of an adapter (LoRA): B is A with this adapter merged", groupPairing, 0},
		cmdFlag{"write-map", textValue(&opts.writeMap), "write the pairs of tensors with equal elements to `FILE`, for --map-node-dict", groupReports, 0},
		cmdFlag{"all", boolSwitch(&opts.all), "list all tensors", groupReports, 0},
		jobsFlag(&opts.Workers, "`N` workers; default: one per CPU, at most 16"),
		(*exitZero)(&opts.exitZero).flag("differences do not change the exit status"))
	addReportFlags[*checkpoint.Report](cmd, &opts.output)
	return cmd
}

// runCompareCheckpoints compares two sets of weights.
func runCompareCheckpoints(ctx context.Context, a *app, o *compareCheckpointsOptions) error {
	for s := range strings.FieldsFuncSeq(o.allowed, func(c rune) bool { return c == ',' }) {
		status := checkpoint.Status(strings.ToUpper(s))
		if !slices.Contains([]checkpoint.Status{checkpoint.Scaled, checkpoint.LoRA, checkpoint.OnlyA, checkpoint.OnlyB}, status) {
			return usagef("--allow: %q, want scaled, lora, only_a or only_b", s)
		}
		o.Allowed = append(o.Allowed, status)
	}
	if err := checkReports[*checkpoint.Report](&o.output); err != nil {
		return err
	}
	for _, path := range []string{o.A, o.B, cmp.Or(o.Adapter, o.A)} {
		if err := checkExists(path); err != nil {
			return err
		}
	}
	r, err := withProgress(a, "comparing", func(observe func(batch.Event)) (*checkpoint.Report, error) {
		o.Observe = observe
		return checkpoint.Compare(ctx, o.Options)
	})
	if err != nil {
		return err
	}
	if r.All = o.all; o.writeMap != "" {
		if err := safefile.WriteFile(o.writeMap, r.Map()); err != nil {
			return err
		}
		a.infof("%s written", o.writeMap)
	}
	if err := writeReports(a, &o.output, r, report.Options{}); err != nil {
		return err
	}
	return a.conclude(r.Outcome(o.exitZero))
}

type compareJudgeOptions struct {
	*comparison
	format string
}

func newCompareJudgeCommand(a *app) *cobra.Command {
	opts := &compareJudgeOptions{comparison: newComparison()}
	cmd := &cobra.Command{
		Use:   "judge COMPARE.JSON",
		Short: "judge a finished comparison by its evidence, or by other limits",
		Long: `judge reads the compare.json of a run and judges its rows again without the
tensors: by their evidence, or by limits if any are given (--verdict). For limits
other than the limits of the run, a row is judged by its margin and by the
smallest atol and rtol that pass all of its elements. If these do not decide, the
row is UNDECIDED, which counts as failed: run compare again with these limits.
Limits that are not given come from the profile, not from the run.`,
		Example: `  dumptool compare judge report/compare.json --atol 0.001 --rtol 0.01
  dumptool compare judge report/compare.json --max-error-ratio 0.001`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runCompareJudge(cmd.Context(), a, opts, args) },
	}
	cmd.Long += formatHelp[*conclude.Judgement]() + exitStatus(exitFinding, exitNothing, exitCoverage)
	addFlags(cmd, append(opts.judgeFlags(), (*exitZero)(&opts.ExitZero).flag("failures do not change the exit status"))...)
	formatFlag[*conclude.Judgement](cmd, &opts.format)
	return cmd
}

// runCompareJudge judges a document.
func runCompareJudge(_ context.Context, a *app, opts *compareJudgeOptions, args []string) error {
	if len(args) != 1 {
		return usagef("want one compare.json, got %s", lang.CountText(len(args), "argument"))
	}
	if err := opts.load(""); err != nil {
		return err
	}
	doc, j, err := conclude.JudgeFile(args[0], &opts.Options.Judge, opts.SideFiles.OpConfig)
	if err != nil {
		return err
	}
	if doc.Interrupted {
		a.warnf("%s belongs to an interrupted run: rows are missing", args[0])
	}
	if n := doc.LeftOut; n > 0 {
		a.printMessages([]batch.Message{batch.Warnf("%s omits %s that passed (--rows bad): their status under other limits is unknown (UNDECIDED)",
			args[0], lang.CountText(n, "row"))})
	}
	if j.UsesLevels {
		a.infof("%s lacks the noise of its rows: using the evidence of the run", args[0])
	}
	if err := printResult(a, opts.format, j, report.Options{}); err != nil {
		return err
	}
	return a.conclude(j.Outcome(args[0], opts.ExitZero))
}
