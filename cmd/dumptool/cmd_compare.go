package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/compare"
	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/execute"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/inspect"
	"dumptool/internal/lang"
	"dumptool/internal/report"
	"dumptool/internal/safefile"
	"dumptool/internal/shard"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
)

type compareOptions struct {
	*comparison
	output compareOutput
	shards shardOptions
	groups string // the file of --groups
}

// newCompareOptions returns the defaults of all flags.
func newCompareOptions() *compareOptions {
	return &compareOptions{comparison: newComparison(), output: newCompareOutput(), shards: shardOptions{wholeRuns: true, ofReports: true}}
}

func newCompareCommand(a *app) *cobra.Command {
	opts := newCompareOptions()
	cmd := &cobra.Command{
		Use:   "compare --cpu PATH --npu PATH",
		Short: "compare NPU tensors with a golden run",
		Long: `compare pairs the tensors of an NPU run with the tensors of a reference run by
name, compares every pair element by element, and says which operator went wrong
first, and why.

Each PATH is a file or folder with .npy arrays, dumps of any container (device
layouts are converted to the axis order of the reference), or raw .bin files.
Two NPU runs can be compared in the same way. A single PATH is a folder with
both sides. A missing PATH is the folder cpu or npu below $DUMP_MEMORY_PATH; the
reports then go to the folder result there.

A tensor fails by evidence of a fault: its operator adds an error that neither
rounding nor the errors of its inputs explain, or the tensor was damaged by such
an error. A tensor that exceeds the limits by rounding only is ROUNDING, which is
no failure. If you give limits, they decide instead (--verdict limits).

An element is an error unless |npu - cpu| <= atol + rtol*|cpu|. NaN and
infinities on one side only are always errors (--nan-policy). The limits are
HPAA's, 0.005 and 0.2, unless --profile, --atol, --rtol or the file
op_config.csv in the folder of the reports say otherwise.

The summary goes to stdout. With -out, the reports are also written to DIR:
report.html, a page for a browser; compare.json with all results; and
cpu_vs_npu.csv, a table with HPAA's columns and more. If both sides come from
HPAA, or with --format hpaa, HPAA's files are written: a CSV file with the errors
of every bad tensor, logs, op_config.csv.`,
		Example: `  dumptool compare --cpu golden --npu dumps
  dumptool compare --cpu golden --npu dumps --atol 0.001 --rtol 0.01 -out report
  dumptool compare golden.npy Conv2D.conv1.3.16.1624605159829577
  dumptool compare run1 run2 --profile exact --format json
  dumptool compare --cpu golden --npu dumps -out report --baseline known.json`,
		Args:              maxArgs(2),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && checkExists(args[0]) != nil {
				if err := removedError(cmd, args[0]); err != nil {
					return err
				}
			}
			return hintAtCommand(cmd, args, runCompare(cmd, a, opts, args))
		},
	}
	cmd.Long += formatHelp[*record.Report]() + exitStatus(exitFinding, exitNothing, exitCoverage, exitInterrupted)
	cmd.SuggestionsMinimumDistance = 2 // without it cobra suggests exact names only
	addFlags(cmd, append(opts.listFlags(), opts.shards.listFlags()...)...)
	makeExclusive(cmd, "json", "format")
	a.shardable[cmd] = opts
	cmd.AddCommand(newCompareDetailCommand(a), newCompareDeterminismCommand(a), newCompareCheckpointsCommand(a), newCompareJudgeCommand(a), newMergeSubcommand(a, mergeComparisons))
	return cmd
}

// listFlags lists the flags without the flags about shards.
func (o *compareOptions) listFlags() []cmdFlag {
	return slices.Concat(o.bothSideFlags(), o.operatorFlags(), o.pairFlags(), o.rankFlags(), o.shapeFlags(), o.graphFlags(), o.acceptanceFlags(), o.orderFlags(), o.judgeFlags(), o.failureFlags(), []cmdFlag{
		{"fail-fast", boolSwitch(&o.FailFast), "stop after the first failure by limits in execution order", groupCI, rareLevel},
	}, o.output.listFlags())
}

// rankFlags lists the flags for runs of many ranks.
func (o *compareOptions) rankFlags() (all []cmdFlag) {
	for _, f := range groupFlags(&o.Groups.Mesh, &o.groups) {
		f.levels |= rareLevel
		all = append(all, f)
	}
	return all
}

// prepare lists both sides and pairs their tensors. The origin of the document is then complete.
func (o *compareOptions) prepare(cmd *cobra.Command, a *app, args []string) (*compare.Run, error) {
	if err := o.resolve(cmd.Context(), a, args); err != nil {
		return nil, err
	}
	o.Args = sharedReportFlags(cmd.Flags())
	warnOfModels(a, cmd)
	o.warnOfTables(a, cmd)
	if o.Shard.IsSharded() {
		if err := o.prepareShard(); err != nil {
			return nil, err
		}
	}
	o.Origin = o.shards.newOrigin(cmd, args, o.Shard, "")
	plan, err := compare.New(cmd.Context(), o.Options)
	if err != nil {
		return nil, a.concludeError(err)
	}
	if n := plan.CountOtherFiles(); n > 0 {
		a.infof("%s ignored: neither dumps nor arrays", lang.CountText(n, "other file"))
	}
	if plan.HoldsWeights() {
		a.infof("these look like weights: 'dumptool compare checkpoints' finds them under other names and in other layouts, and needs no limits")
	}
	if n := plan.CountReads(); n > 0 {
		a.infof("no graph file found: inferring the data flow from tensor contents (reads %d more inputs of one side; --flow files skips this)", n)
	}
	return plan, nil
}

// makeOrigin implements shardable.
func (o *compareOptions) makeOrigin(cmd *cobra.Command, a *app, args []string) (shard.Origin, error) {
	plan, err := o.prepare(cmd, a, args)
	if err != nil {
		return shard.Origin{}, err
	}
	origin := o.Origin
	origin.Listing = plan.Listing()
	return origin, nil
}

// runCompare compares two runs.
func runCompare(cmd *cobra.Command, a *app, o *compareOptions, args []string) error {
	ctx := cmd.Context()
	plan, err := o.prepare(cmd, a, args)
	switch {
	case err != nil:
		return err
	case o.Shard.IsSharded():
		return o.compareShard(ctx, a, cmd, plan)
	}
	if o.shards.resume {
		earlier, complete := o.readEarlierReport(a, cmd, plan, o.documentPath())
		if complete {
			return a.conclude(o.Outcome(earlier))
		}
		plan.Resume(earlier)
	}
	parts, interrupted := a.comparePairs(ctx, plan)
	rep := plan.Conclude(parts)
	interrupted = cmp.Or(interrupted, plan.ComputeAgain(ctx, rep, parts), plan.JudgeRanks(ctx, rep))
	if err := cmp.Or(o.write(ctx, a, comparedRun{plan, parts, rep}), interrupted); err != nil {
		return err
	}
	return a.conclude(o.Outcome(rep))
}

// prepareShard refuses options that need a whole run, and keeps the data that any report shows.
func (o *compareOptions) prepareShard() error {
	switch {
	case o.FailFast:
		return usagef("--fail-fast: a shard does not see the failures of other shards")
	case o.UpdateBaseline:
		return usagef("--update-baseline: the merge of the shards writes it")
	case o.output.pictures.Plots:
		return usagef("--show-graph: shards draw no plots; use 'compare detail', or a run of some operators (--ops)")
	}
	o.Bins, o.Axes = true, true
	elements := o.output.look.Elements
	o.Top, o.List = o.output.topN, elements.Count
	if elements.Worst {
		o.Top = max(o.Top, elements.Count)
	}
	return nil
}

// compareShard compares the rounds of a shard and writes its document.
func (o *compareOptions) compareShard(ctx context.Context, a *app, cmd *cobra.Command, plan *compare.Run) error {
	path := o.documentPath()
	earlier, complete := o.readEarlierReport(a, cmd, plan, path)
	if complete {
		return nil
	}
	plan.Resume(earlier)
	parts, err := a.comparePairs(ctx, plan)
	if err != nil {
		return err
	}
	run := comparedRun{plan, parts, plan.Conclude(parts)}
	if err := cmp.Or(plan.ComputeAgain(ctx, run.Report, parts), plan.JudgeRanks(ctx, run.Report)); err != nil {
		return err
	}
	if o.Pictures != nil {
		if _, err := a.gatherPictures(ctx, o.Pictures, run, nil); err != nil {
			return err
		}
	}
	path, err = report.WriteDocument(report.NewFolder(store.Dir(path), o.Ref, o.NPU), run.Report, o.shards.compress)
	if err != nil {
		return err
	}
	a.printShardWritten(o.Shard, path)
	if n := run.Unfetched(); n > 0 {
		return unfetchedError(n)
	}
	return nil
}

// documentPath returns the path of the document of the run or of the shard.
func (o *compareOptions) documentPath() string {
	return shard.FindNamed(store.Join(o.output.out, o.Shard.Folder(), report.WriterOf[*record.Report]("json").File))
}

// readEarlierReport returns the report of the same work that --resume finds at path, or nil. complete reports
// whether it has no gaps.
func (o *compareOptions) readEarlierReport(a *app, cmd *cobra.Command, plan *compare.Run, path string) (rep *record.Report, complete bool) {
	origin := o.Origin
	origin.Listing = plan.Listing()
	d := o.shards.findEarlier(a, path, &origin)
	if d == nil || o.KLD && o.Shard.IsSharded() && !hasFormat(d.Argv, divergenceFlag) {
		return nil, false
	}
	rep, err := conclude.ReadReport(path)
	if err != nil {
		return nil, false
	}
	complete = !rep.IsUnfinished()
	if o.Shard.IsSharded() { // broken files may have been repaired
		complete = complete && rep.Counts[record.Error] == 0
	}
	switch {
	case complete:
		a.printComplete(path)
	case !o.Shard.IsSharded() && !slices.Equal(reportWords(cmd.Flags(), d.Argv), reportWords(cmd.Flags(), origin.Argv)): // the rows have the data for the earlier reports
		return nil, false
	}
	return rep, complete
}

// resolve checks the flags, and reads the files that they name.
func (o *compareOptions) resolve(ctx context.Context, a *app, args []string) error {
	if err := cmp.Or(o.checkFailures(), o.chooseStandard(), a.comparePaths(ctx, o.comparison, &o.output.out, args)); err != nil {
		return err
	}
	if a.isHPAA && o.output.out == "" { // HPAA's result folder; with $DUMP_MEMORY_PATH it is below that
		o.output.out = "result"
	}
	chosen := a.getenv(memoryPath) == "" || !safefile.IsSameFile(o.output.out, store.Join(a.getenv(memoryPath), "result"))
	if err := o.output.check(); err != nil {
		return err
	}
	var err error
	if o.Shard, err = o.shards.resolve(a, o.output.out); err != nil {
		return err
	}
	if err := o.excludeOutput(o.output.out); err != nil {
		return err
	}
	if err := o.output.resolve(&o.Options, a.hasHPAASpelling || o.hasHPAASide, chosen); err != nil {
		return err
	}
	o.Axes = a.streams.OutWidth > 0
	if o.Unshard == plan.UnshardOff && o.Groups.Mesh != nil {
		return usagef("--parallel describes ranks that are compared with their part of the reference: remove --unshard off")
	}
	if err := cmp.Or(readGroups(&o.Groups, o.groups), o.load(o.output.out)); err != nil {
		return err
	}
	if o.FailFast && o.Judge.Verdict.Mode == limits.ByEvidence {
		return usagef("--fail-fast needs limits, since evidence compares rows with each other: give --atol, --rtol or --verdict limits")
	}
	warn(a, o.Warnings)
	return o.chooseOrder()
}

// warnOfModels explains a colon in --model, since a model's name may contain one.
func warnOfModels(a *app, cmd *cobra.Command) {
	given := cmd.Flag("model").Value.String()
	if ref, npu, parted := strings.Cut(given, ":"); parted {
		a.warnf("--model %s: read as %s for the reference and %s for the NPU data; use --ref-model and --npu-model for a name with a colon", given, ref, npu)
	}
}

// warnOfTables names flags about tables in CSV that are given for a report without one. HPAA's own flags are not named:
// its command lines work as they are.
func (o *compareOptions) warnOfTables(a *app, cmd *cobra.Command) {
	if o.output.out != "" || slices.Contains(o.output.formats, "csv") || slices.Contains(o.output.formats, report.HPAAFormat) {
		return
	}
	for _, name := range []string{"bom", "extra-columns"} {
		if cmd.Flags().Changed(name) {
			a.warnf("--%s has no effect: without -out DIR or --format csv no table is written", name)
		}
	}
}

// comparePairs compares the pairs of a plan, with a progress bar.
func (a *app) comparePairs(ctx context.Context, plan *compare.Run) ([]execute.Part, error) {
	return withProgress(a, "comparing", func(observe func(batch.Event)) ([]execute.Part, error) { return plan.Execute(ctx, observe) })
}

// write writes the baseline and the reports.
func (o *compareOptions) write(ctx context.Context, a *app, run comparedRun) error {
	messages, notKept := o.SaveBaseline(run.Report)
	a.printMessages(messages)
	return cmp.Or(o.output.write(ctx, a, &o.Options, run), notKept)
}

// hintAtCommand adds a hint if the first path of a run does not exist and resembles the name of a
// command.
func hintAtCommand(cmd *cobra.Command, args []string, err error) error {
	if len(args) == 0 || exitCode(err) != exitIncomplete || checkExists(args[0]) == nil {
		return err
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return hintf(err, "did you mean '%s %s'?", cmd.CommandPath(), near[0])
	}
	return err
}

// concludeError concludes a comparison that an error ended.
func (a *app) concludeError(err error) error {
	if nothing, ok := errors.AsType[*plan.NothingError](err); ok {
		return a.conclude(nothing.Outcome())
	}
	return compareError(err)
}

// compareError gives an error that ended a comparison its exit status.
func compareError(err error) error {
	var file *sidefile.FileError
	var order *plan.OrderError
	switch {
	case errors.As(err, &file):
		return configError(err)
	case errors.As(err, &order):
		return configError(lang.Errorf("--order: %w", err))
	}
	return rankError(err)
}

// configError wraps an error in a file of the user: exit status 2.
func configError(err error) error { return &codedError{exitUsage, err} }

// load reads the files named by flags, and HPAA's files in a folder.
func (o *comparison) load(folder string) error {
	o.files.Folder = folder
	if err := recogniseGraphs(o.graphFiles, &o.files, &o.IR); err != nil {
		return err
	}
	if err := o.Load(o.files); err != nil {
		return compareError(err)
	}
	return o.chooseOps()
}

// chooseOps makes the set of operators chosen by flags and files.
func (o *comparison) chooseOps() (err error) {
	o.Pair.Ops, err = readOps(o.ops, o.SideFiles.Ops...)
	return err
}

// recogniseGraphs recognises the files of --graph-file and assigns each to the matching flag.
func recogniseGraphs(paths []string, files *sidefile.Files, ir *string) error {
	for _, path := range paths {
		role, err := sidefile.Recognise(path)
		if err != nil {
			return configError(lang.Errorf("--graph-file: %w", safefile.WithPath(path, err)))
		}
		to := map[sidefile.Role]*string{
			sidefile.ExecutionFile: &files.Execution, sidefile.ConsumersFile: &files.Consumers, sidefile.FusionFile: &files.Fusion, sidefile.IRFile: ir,
		}[role]
		if *to != "" {
			return usagef("--graph-file %s and %s give the same information: use only one of them", path, *to)
		}
		*to = path
	}
	return nil
}

// memoryPath is the environment variable with the folder of HPAA's data.
const memoryPath = "DUMP_MEMORY_PATH"

// getenv returns an environment variable, empty if it is not set.
func (a *app) getenv(name string) string {
	if a.settings.LookupEnv == nil {
		return ""
	}
	value, _ := a.settings.LookupEnv(name)
	return value
}

// comparePaths finds both sides: in the flags, then the arguments, then in the only argument, then
// HPAA's folders. HPAA's result folder becomes the output, and is never a side.
func (a *app) comparePaths(ctx context.Context, o *comparison, out *string, args []string) error {
	args = append(o.paths, args...)
	given := len(args)
	for _, side := range []*string{&o.Ref, &o.NPU} {
		if *side == "" && len(args) > 0 {
			*side, args = args[0], args[1:]
		}
	}
	if len(args) > 0 {
		return usagef("unexpected argument %q: both sides are given", args[0])
	}
	root := a.getenv(memoryPath)
	if root != "" && given == 0 && (o.Ref == "" || o.NPU == "") {
		o.hasHPAASide = o.Ref == "" && o.NPU == ""
		for name, path := range map[string]*string{"cpu": &o.Ref, "npu": &o.NPU, "result": out} {
			if *path == "" {
				*path = store.Join(root, name)
			}
		}
	}
	if given == 1 && o.NPU == "" {
		if err := a.findTwoSides(ctx, o); err != nil {
			return err
		}
	}
	switch {
	case o.Stems[0] != "" && o.Ref != o.NPU:
		return usagef("--stems divides the files of one folder: want one path, found %s and %s", o.Ref, o.NPU)
	case o.Ref == "" && o.NPU == "":
		return usagef("no paths given: --cpu PATH and --npu PATH are needed, or $%s", memoryPath)
	case o.Ref == "":
		return usagef("no reference given: --cpu PATH is needed")
	case o.NPU == "":
		return usagef("no NPU data given: --npu PATH is needed")
	}
	for _, path := range []string{o.Ref, o.NPU} {
		if err := checkExists(path); err != nil {
			return err
		}
	}
	order := cmp.Or(dumpdir.RuntimeFile(o.NPU), dumpdir.RuntimeFile(o.Ref))
	o.hasHPAASide = o.hasHPAASide || order != ""
	if order = cmp.Or(o.files.Runtime, order); order != "" {
		o.files.OrderFolder = store.Dir(order)
	}
	return nil
}

// findTwoSides finds both sides in the only given path, by --stems or by the contents of the path.
func (a *app) findTwoSides(ctx context.Context, o *comparison) error {
	if o.Stems[0] != "" {
		o.NPU = o.Ref
		return nil
	}
	if err := checkExists(o.Ref); err != nil {
		return err
	}
	run, err := dumpdir.Open(ctx, []string{o.Ref}, dumpdir.Options{})
	if err != nil {
		return err
	}
	sides, ok := inspect.FindTwoSides(run, o.Ref)
	switch {
	case !ok:
		return nil
	case len(sides.Stems) > 2:
		return usagef("%s holds %d sides: files named %s; choose two: %s", o.Ref, len(sides.Stems), strings.Join(sides.Stems, ", "),
			lang.CommandLine("compare", lang.PathArgument(o.Ref), "--stems", strings.Join(sides.Stems[:2], ",")))
	case sides.Stems != nil:
		o.NPU, o.Stems = o.Ref, [2]string(sides.Stems)
		a.infof("%s holds two sides: files named %s are the reference, files named %s the NPU data (--stems)", o.Ref, o.Stems[0], o.Stems[1])
	default:
		a.infof("%s holds two sides: %s is the reference, %s the NPU data", o.Ref, sides.Reference, sides.NPU)
		o.Ref, o.NPU = sides.Reference, sides.NPU
	}
	return nil
}

// excludeOutput excludes the output folder from the sides, and refuses it as a side.
func (o *comparison) excludeOutput(out string) error {
	o.Skip = out
	switch {
	case out == "":
	case safefile.IsSameFile(out, o.Ref):
		return usagef("-out %s is the folder of --cpu: choose another folder", out)
	case safefile.IsSameFile(out, o.NPU):
		return usagef("-out %s is the folder of --npu: choose another folder", out)
	}
	return nil
}

// checkExists checks that a path is a file, a folder, or a tensor in an existing file.
func checkExists(path string) error {
	var coded *codedError
	if _, _, err := tensorfile.Split(path); errors.As(err, &coded) {
		return err
	} else if err != nil {
		return incompletef("%w", safefile.WithPath(path, err))
	}
	return nil
}
