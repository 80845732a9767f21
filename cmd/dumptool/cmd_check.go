package main

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/check"
	"dumptool/internal/dumpdir"
	"dumptool/internal/inspect"
	"dumptool/internal/lang"
	"dumptool/internal/report"
	"dumptool/internal/shard"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
)

// checkOptions are the flags of check.
type checkOptions struct {
	check.Options
	paths, ops, attrs []string
	groups            string
	open              dumpdir.Options
	files             sidefile.Files
	graphFiles        []string
	output            reportOptions
	exitZero          exitZero
	extract           string
	extractMax        sizeFlag
	types             string
	all               bool
}

func newCheckCommand(a *app) *cobra.Command {
	opts := &checkOptions{extractMax: 64 << 20, Options: check.Options{Seed: 1, Budget: check.DefaultBudget, FailOn: []string{"wrong"}}, open: dumpdir.Options{Graphs: true}}
	cmd := &cobra.Command{
		Use:   "check PATH...",
		Short: "find the operator that computed wrong, without a reference",
		Long: `check needs one run only, no reference and no limits. It computes every operator of
a known type again in float64 from its dumped inputs, and compares the outputs with
the error bound of a healthy NPU.

Statuses: OK, within the error of float32 arithmetic; LOW, within the error of
float16 arithmetic and function tables; WRONG, beyond; MISFIT, an attribute is
unknown and no value of it explains the output; UNDECIDED, cannot be judged, with
the reason; CRASHED, a bug of dumptool (please report it; exit status 3).
Attributes come from --attr, the graph, the arguments of the call, or inputs that
hold them; otherwise they are inferred from shapes and values.

With several ranks, every communication is computed again from the inputs of all
its ranks, and replicas of weights and results are compared: the first line names
the first wrong rank, operator and kind of fault. If the dump of a rank is
missing, its communications count as not checked, never as wrong. --only operators
skips all this.

The inputs must have been dumped (dump_mode all).`,
		Example: `  dumptool check dumps
  dumptool check dumps --attr conv1.strides=2,2
  dumptool check dumps --json > check.json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runCheck(cmd, a, opts, args) },
	}
	cmd.Long += formatHelp[*check.Report]() + exitStatus(exitFinding, exitNothing, exitCoverage, exitInterrupted)
	addFlags(cmd, append(slices.Concat([]cmdFlag{pathFlag(&opts.paths, "folder `PATH` with the dumps")}, roundFlags(&opts.Select), skipFlags(&opts.Filter.SkipKeys, &opts.Filter.Exclude, groupChoice), groupFlags(&opts.Ranks.Groups.Mesh, &opts.groups)),
		opsFlag(&opts.ops), containerFlag(&opts.Version),
		cmdFlag{"only", listOfTexts(&opts.Only, check.Parts), fillUsage("`PARTS` to check: %s; default: all that the data allow", check.Parts), groupChoice, 0},
		cmdFlag{"attr", textList(&opts.attrs), "attribute `OP.KEY=VALUE`, such as conv1.strides=2,2; TYPE:LayerNorm.epsilon=1e-5 for all of a type", groupFacts, 0},
		cmdFlag{"graph-file", textList(&opts.graphFiles), "`FILE` with attributes, data flow or execution order; recognised by its content: the graph of an offline model (JSON or ge_proto_*.txt), an execution order of MindSpore, a map of consumers of HPAA, or a graph of MindSpore or folder of graphs", groupFacts, 0},
		cmdFlag{"fusion|f|fusion-rule-file", textValue(&opts.files.Fusion), "fusion-rule `FILE`: the graph of the offline model as JSON, or as text (ge_proto_*.txt)", groupFacts, hiddenLevel},
		irFlag(&opts.open.IR),
		stemsFlag(&opts.open.Stem),
		cmdFlag{"strict-replicas", boolSwitch(&opts.Ranks.StrictReplicas), "sums that ranks hold in different roundings are a finding (HCCL_DETERMINISTIC=true)", groupVerdict, 0},
		cmdFlag{"extract", textValue(&opts.extract), "write each WRONG or MISFIT operator to folder `DIR`: inputs, outputs, and scripts that run it again", groupReports, 0},
		cmdFlag{"extract-max", &opts.extractMax, "largest `SIZE` of the arrays of one operator for --extract", groupReports, rareLevel},
		cmdFlag{"seed", integerValue(&opts.Seed, 0, math.MaxInt64, "want a number of at least 0"), "seed `N` of the random signs and samples", groupVerdict, rareLevel},
		cmdFlag{"full", boolSwitch(&opts.Full), "compute everything, whatever the cost", groupVerdict, 0},
		cmdFlag{"budget", integerValue(&opts.Budget, 0, math.MaxInt64, "want a number of at least 0"), "budget of one operator, `N` multiply-adds (or elements, without products); larger operators are sampled; 0: no limit", groupVerdict, rareLevel},
		cmdFlag{"types", textValue(&opts.types), "print the `TYPES` that are known, with inputs and attributes, or --types=LayerNorm,Conv2D these, and end", groupMore, 0},
		cmdFlag{"all", boolSwitch(&opts.all), "list every operator without a verdict, with what is missing, instead of one line per reason", groupReports, 0},
		cmdFlag{"require-coverage", shareValue(&opts.Require), "fail unless this `SHARE` of the operators is judged, such as all, 90%, 0.9", groupCI, 0},
		cmdFlag{"fail-on", listOfTexts(&opts.FailOn, check.Findings), fillUsage("`STATUSES` that count as a finding: %s", check.Findings), groupCI, 0},
		jobsFlag(&opts.Workers, "`N` operators at a time; default: one per CPU"))...)
	cmd.Flag("types").NoOptDefVal = allTypes
	excludeFromSettings(cmd.Flag("types"))
	excludeFromSettings(cmd.Flag("all"))
	addReportFlags[*check.Report](cmd, &opts.output)
	addFlags(cmd, opts.exitZero.flag("wrong operators do not change the exit status"))
	return cmd
}

// allTypes is the value of --types without names.
const allTypes = "all"

// printTypes prints the table of types, or the rows of the given names.
func (o *checkOptions) printTypes(a *app) error {
	var names []string
	if o.types != allTypes {
		names = strings.Split(o.types, ",")
	}
	all := check.Types(names...)
	if len(all) == 0 {
		return usagef("--types %s: no such type is known", o.types)
	}
	return printResult(a, "text", all, report.Options{})
}

// load reads the files about the graph.
func (o *checkOptions) load() error {
	if err := recogniseGraphs(o.graphFiles, &o.files, &o.open.IR); err != nil {
		return err
	}
	if err := checkIR(o.open.IR); err != nil {
		return err
	}
	o.files.Attributes, o.open.Attributes, o.Graph, o.GraphFile = true, true, true, o.files.Fusion
	in, err := o.files.Load()
	if err != nil {
		return compareError(err)
	}
	o.open.Sources = dumpdir.Sources{Execution: in.Execution, Fusion: in.Fusion, Consumers: in.Consumers}
	return nil
}

// openRun opens the paths. A folder with a reference beside the NPU dumps gives only the NPU dumps.
func (o *checkOptions) openRun(ctx context.Context, a *app, paths []string) (*dumpdir.Run, error) {
	for _, path := range paths {
		if err := checkExists(path); err != nil && len(paths) == 1 {
			return nil, err
		}
		if err := checkIsDump(ctx, path); err != nil {
			return nil, err
		}
	}
	run, err := dumpdir.Open(ctx, paths, o.open)
	if err == nil && len(paths) == 1 {
		if reference, npu, ok := inspect.Sides(run, paths[0]); ok {
			a.infof("%s holds both sides: %s is checked, %s is not (dumptool compare compares the two)", paths[0], npu, reference)
			run, err = dumpdir.Open(ctx, []string{npu}, o.open)
		}
	}
	return a.warnOfRun(run, err, o.Select)
}

// checkIsDump refuses a file without tensors (a dump configuration, a document of dumptool or a graph)
// and names the command that takes it.
func checkIsDump(ctx context.Context, path string) error {
	if info, err := store.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil //nolint:nilerr // opening the run reports the error
	}
	role, err := sidefile.Recognise(path)
	if err != nil || role != sidefile.FusionFile && role != sidefile.IRFile {
		return nil //nolint:nilerr // it may be a dump
	}
	if _, ok := countMistakes(ctx, path); ok {
		return usagef("%s is a dump configuration: %s", path, lang.CommandLine("config", "check", lang.PathArgument(path)))
	}
	if schema, err := report.SchemaOf(path); err == nil {
		return usagef("%s is a document of dumptool (%.40s): %s", path, schema, lang.CommandLine("report", lang.PathArgument(path)))
	}
	in, err := (&sidefile.Files{Fusion: path}).Load()
	if role == sidefile.IRFile || err == nil && in.Fusion != nil && len(in.Fusion.Ops) > 0 {
		return usagef("%s is a graph: give the dumps as the path, and the graph beside them: %s", path, lang.CommandLine("check", "DUMPS", "--graph-file", lang.PathArgument(path)))
	}
	return nil
}

func runCheck(cmd *cobra.Command, a *app, o *checkOptions, args []string) error {
	ctx := cmd.Context()
	if o.types != "" {
		return o.printTypes(a)
	}
	paths := append(o.paths, args...)
	if len(paths) == 0 {
		return usagef("no file or folder given")
	}
	if err := checkReports[*check.Report](&o.output); err != nil {
		return err
	}
	if err := o.load(); err != nil {
		return err
	}
	for _, text := range o.attrs {
		g, err := check.ParseUserAttribute(text)
		if err != nil {
			return usagef("--attr %s: %w", text, err)
		}
		o.Attributes = append(o.Attributes, g)
	}
	var err error
	if o.Ops, err = readOps(o.ops); err != nil {
		return err
	}
	if err := readGroups(&o.Ranks.Groups, o.groups); err != nil {
		return err
	}
	o.open.Skip, o.open.NoRaw = o.output.out, true
	run, err := o.openRun(ctx, a, paths)
	if err != nil {
		return err
	}
	for _, f := range run.Files { // an operator is judged with all its tensors
		f.Only = tensorfile.Selector{}
	}
	if err := o.Ranks.Groups.Check(run.Rounds); err != nil {
		return rankError(err)
	}
	var cases *report.Cases
	if o.extract != "" {
		cases = report.NewCases(o.extract)
		o.Extract, o.ExtractMost = cases.Write, int64(o.extractMax)
	}
	origin := (&shardOptions{}).newOrigin(cmd, nil, shard.Spec{}, run.Listing())
	origin.Argv = wordsOf(cmd.Flags(), changesResults) // to say how an operator runs again
	r, interrupted := withProgress(a, "checking", func(observe func(batch.Event)) (*check.Report, error) {
		o.Observe = observe
		return check.Run(ctx, run, o.Options)
	})
	if given, ok := errors.AsType[*check.AttributeError](interrupted); ok {
		return usagef("--attr: %w", given)
	}
	if r == nil {
		return interrupted
	}
	if cases != nil {
		messages, err := cases.Messages()
		if err != nil {
			return err
		}
		a.printMessages(messages)
	}
	origin.Interrupted = r.Interrupted
	r.Origin = origin
	if len(r.Operators) > 0 || r.Ranks != nil {
		if err := writeReports(a, &o.output, r, report.Options{Text: report.Text{All: o.all}}); err != nil {
			return err
		}
	}
	if interrupted != nil {
		return interrupted
	}
	return a.conclude(o.exitZero.applyTo(r.Outcome(o.output.printsText())))
}
