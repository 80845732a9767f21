package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/batch"
	"dumptool/internal/compare"
	"dumptool/internal/compare/record"
	"dumptool/internal/config"
	"dumptool/internal/lang"
	"dumptool/internal/report"
	"dumptool/internal/safefile"
	"dumptool/internal/shard"
	"dumptool/internal/store"
)

// divideFlags say how a plan is divided into shards.
type divideFlags struct {
	by     string
	ignore string
}

func (o *divideFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.by, "shard-by", "", "`WHAT` one shard compares together: ref (the pairs of a reference, as far as the balance allows), pair (nothing), round; default: as the plan says, else ref")
	harmless(flags, "shard-by")
	flags.StringVar(&o.ignore, "plan-ignore", "", "`etag`: files may have been written at other times, as copies are; their sizes still count")
	completeValues(cmd, "shard-by", names(compare.ShardBys()))
	completeValues(cmd, "plan-ignore", []string{"etag"})
}

// resolve checks the flags.
func (o *divideFlags) resolve() (by compare.ShardBy, ignore bool, err error) {
	if o.by != "" {
		if by, err = oneOf("--shard-by", o.by, compare.ShardBys()); err != nil {
			return by, false, err
		}
	}
	if o.ignore != "" {
		if _, err = oneOf("--plan-ignore", o.ignore, []string{"etag"}); err != nil {
			return by, false, err
		}
	}
	return by, o.ignore != "", nil
}

type comparePlanOptions struct {
	compareOptions
	shards int
}

func newComparePlanCommand(a *app) *cobra.Command {
	opts := new(comparePlanOptions)
	cmd := &cobra.Command{
		Use:   "plan --cpu PATH --npu PATH -out PLAN.jsonl",
		Short: "write down what a comparison compares, for shards",
		Long: `plan pairs and orders the tensors of two runs as compare does, and writes what is
to be compared to a file, without comparing anything. Shards of the comparison
on many machines ('compare --plan PLAN.jsonl --shard I/N') then list and
open no files but their own. All flags of compare are good here; those about the
reports hold for 'compare merge'. Paths of tensors are below --cpu and --npu in
the file, so that it is good where the data lie elsewhere.

Up to about 100000 tensors no plan is needed: shards make the same one.`,
		Example: `  dumptool compare plan --cpu golden --npu dumps -out plan.jsonl
  dumptool compare plan --cpu golden --npu dumps --rtol 0.01 --shards 100 -out plan.jsonl`,
		Args:        cobra.MaximumNArgs(2),
		Annotations: map[string]string{settingsOfParentKey: "true"},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.args, opts.settings, opts.key = given(cmd.Flags()), settingsOf(cmd.Flags()), keyOf(cmd.Flags())
			return runComparePlan(cmd.Context(), a, opts, args)
		},
	}
	cmd.Long += exitStatus(exitNothing, exitInterrupted)
	opts.addFlags(cmd)
	opts.divide.addFlags(cmd)
	cmd.Flags().IntVar(&opts.shards, "shards", 0, "divide the rows among `N` shards in the file too; otherwise each shard does that by itself, with the same result")
	harmless(cmd.Flags(), "shards")
	return cmd
}

// runComparePlan makes a plan and writes it.
func runComparePlan(ctx context.Context, a *app, opts *comparePlanOptions, args []string) error {
	out := opts.output.out
	switch {
	case out == "":
		return usagef("no file given for the plan: -out PLAN.jsonl is needed")
	case opts.shards < 0 || opts.shards > shard.MaxShards:
		return usagef("--shards %d: want 1 to %d", opts.shards, shard.MaxShards)
	}
	opts.output.out = ""
	by, _, err := opts.divide.resolve()
	if err != nil {
		return err
	}
	plan, err := a.planShards(ctx, &opts.compareOptions, args)
	if err != nil {
		return err
	}
	if err := safefile.CheckOutput(out, opts.tensors.cpu, opts.tensors.npu); err != nil {
		return asUsage(err)
	}
	if opts.shards > 0 {
		plan.Divide(opts.shards, by)
	}
	if err := safefile.MkdirAll(store.Dir(out)); err != nil {
		return err
	}
	if err := plan.WriteFile(out); err != nil {
		return err
	}
	a.say([]batch.Message{batch.Infof("%s: %s, plan %.12s", "%s：%s，计划 %.12s", out, lang.CountText(len(plan.Pairs), "row", "行"), plan.Hash())})
	return nil
}

// planShards makes the plan of a comparison of which shards will do a part each.
func (a *app) planShards(ctx context.Context, opts *compareOptions, args []string) (*compare.Plan, error) {
	_, ignore, err := opts.divide.resolve()
	if err != nil {
		return nil, err
	}
	opt, err := opts.resolveShards(a, args)
	if err != nil {
		return nil, err
	}
	plan, err := compare.NewPlan(ctx, *opt)
	if err != nil {
		return nil, a.notCompared(err)
	}
	from := compare.PlanSource{Settings: opts.settings, Key: opts.key, IgnoreID: ignore}
	if opt.KLD {
		from.Key = append(from.Key, "--format "+divergence)
	}
	return plan, plan.Freeze(from)
}

// divergence is the format that takes a second pass over the tensors, which shards make
// only if it is asked for.
const divergence = "msaccucmp"

// checkShards refuses what needs a whole run.
func (o *compareOptions) checkShards() error {
	switch {
	case o.baseline.failFast:
		return usagef("--fail-fast: shards do not know of each other's failures")
	case o.output.showGraph:
		return usagef("--show-graph: shards keep no plots; 'compare detail' and a run of some operators (--ops) do")
	case o.output.pictures != "0" && slices.ContainsFunc(o.settings, func(s compare.Setting) bool { return s.Name == "pictures" }):
		return usagef("--pictures %s: shards keep no pictures, want 0", o.output.pictures)
	}
	return nil
}

// resolveShards turns the flags into options for shards: which reports there will be is
// not known.
func (o *compareOptions) resolveShards(a *app, args []string) (*compare.Options, error) {
	opt := &compare.Options{Tool: toolName(), Args: withoutPictures(o.args)}
	if err := cmp.Or(o.checkShards(), o.output.checkValues(), o.tensors.resolve(opt), o.baseline.resolve(opt), o.standard.resolve(opt)); err != nil {
		return nil, err
	}
	var results string // of HPAA, where the paths are its own
	if err := a.comparePaths(&o.tensors.cpu, &o.tensors.npu, &results, append(o.tensors.dumps.paths, args...)); err != nil {
		return nil, err
	}
	if err := o.tensors.setPaths(opt, o.output.out); err != nil {
		return nil, err
	}
	o.output.keepAll(opt)
	opt.BaselineFile, opt.UpdateBaseline = "", false // the merge reads it
	if err := o.tensors.load(opt, results, o.order.addFiles); err != nil {
		return nil, err
	}
	warn(a, opt.Warnings)
	return opt, o.order.resolve(opt)
}

// withoutPictures are the arguments of the run that has the same reports as shards, which
// keep no pictures. They are in the order of their names, as given has them.
func withoutPictures(args []string) []string {
	const flag = "--pictures=0"
	if slices.Contains(args, flag) {
		return args
	}
	at := slices.IndexFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return name > "--pictures"
	})
	if at < 0 {
		at = len(args)
	}
	return slices.Insert(slices.Clone(args), at, flag)
}

// keepAll keeps what any report shows, but for what takes another pass or a picture.
func (o *compareOutput) keepAll(opt *compare.Options) {
	opt.Bins, opt.Axes = true, true
	opt.Top, opt.List = o.topN, o.diffCount
	if o.diffOrder == "worst" {
		opt.Top = max(o.topN, o.diffCount)
	}
	opt.KLD, opt.Calls = slices.Contains(o.formats, divergence), report.KeepOf[*record.Report](o.formats...).Calls
}

// Flags that a plan does not record as settings: those of neutralFlags, but for the
// formats, and what it knows in another way.
var notSettings = []string{"cpu", "npu", "dump-path", "jobs", "out", "json", helpFlag}

// Flags whose values are paths, or say how the reports look: no result depends on them
// but on what is found there, which the plan knows.
var notInKey = []string{
	"op-config", "fusion", "result", "ops-from", "node-runtime-filename", "order-file", "consumer-map", "ir", "third", "noise", "map-node-dict",
	"baseline", "update-baseline", "baseline-slack", "require-coverage", "fail-on", "fail-fast", "exit-zero",
	"format", "rows", "extra-columns", "hpaa-version", "bom", "pictures", "max-bins", "min-bins",
}

// eachSetting calls f with the flags that make the options of a plan.
func eachSetting(flags *pflag.FlagSet, f func(flag *pflag.Flag)) {
	flags.VisitAll(func(flag *pflag.Flag) {
		neutral := slices.Contains(neutralFlags, flag.Name) && flag.Name != "format"
		if flag.Changed && !neutral && !slices.Contains(notSettings, flag.Name) && !slices.Contains(shardFlags, flag.Name) {
			f(flag)
		}
	})
}

// settingsOf are the flags that were set, as a plan records them.
func settingsOf(flags *pflag.FlagSet) (all []compare.Setting) {
	eachSetting(flags, func(f *pflag.Flag) { all = append(all, compare.Setting{Name: f.Name, Values: valuesOf(f)}) })
	return all
}

// keyOf are the flags that results depend on.
func keyOf(flags *pflag.FlagSet) (key []string) {
	eachSetting(flags, func(f *pflag.Flag) {
		if !slices.Contains(notInKey, f.Name) {
			key = append(key, "--"+f.Name+" "+strings.Join(valuesOf(f), ","))
		}
	})
	return key
}

// valuesOf are the values of a flag.
func valuesOf(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

// plannedOptions are the flags of the comparison of a plan.
func plannedOptions(path string, settings []compare.Setting) (*compareOptions, *pflag.FlagSet, error) {
	o := new(compareOptions)
	cmd := &cobra.Command{Use: "compare"}
	cmd.SetGlobalNormalizationFunc(normalizeFlag)
	o.addFlags(cmd)
	for _, s := range settings {
		f := cmd.Flags().Lookup(s.Name)
		if f == nil || len(s.Values) == 0 {
			return nil, nil, incompletef("%s: option %.40q is unknown: was the plan made by another version?", path, s.Name)
		}
		v := config.Value{Source: path, Text: s.Values[0]}
		if _, list := f.Value.(pflag.SliceValue); list {
			v.List = s.Values
		}
		if err := setFlag(f, v); err != nil {
			return nil, nil, err
		}
	}
	return o, cmd.Flags(), nil
}

// resolvePlanned turns the flags of a plan into options, without the files that they
// name: the plan knows what was in them.
func (o *compareOptions) resolvePlanned(plan *compare.PlanFile) (*compare.Options, error) {
	opt := &compare.Options{Tool: toolName(), Ref: o.tensors.cpu, NPU: o.tensors.npu, Second: o.standard.noise, Third: o.standard.third}
	o.standard.noise, o.standard.third = "", "" // nobody looks whether they are there
	if err := cmp.Or(o.output.check(), o.tensors.resolve(opt), o.baseline.resolve(opt)); err != nil {
		return nil, err
	}
	plan.Apply(opt)
	if err := o.standard.named(opt); err != nil {
		return nil, err
	}
	return opt, o.tensors.pair.resolve(opt, o.tensors.dumps.ops)
}

// checkKept refuses formats that show what the plan and the parts have not.
func checkKept(formats []string, plan *compare.PlanFile) error {
	keep := report.KeepOf[*record.Report](formats...)
	lacks, format := "", ""
	switch {
	case keep.Calls && plan.LacksCalls():
		lacks, format = "the plan has no values of calls", "msprobe"
	case keep.Divergence && !slices.Contains(plan.Key(), "--format "+divergence):
		lacks, format = "the parts have no divergence of Kullback and Leibler", divergence
	default:
		return nil
	}
	return hintf(usagef("--format %s: %s", format, lacks), "give --format %s to the plan, or to the shards", format)
}
