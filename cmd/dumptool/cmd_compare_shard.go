package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/batch"
	"dumptool/internal/compare"
	"dumptool/internal/lang"
	"dumptool/internal/shard"
	"dumptool/internal/store"
)

// compareShardFlags are the flags of a comparison that does a part of the work.
type compareShardFlags struct {
	plan  string
	shard shardFlag
	retry bool
}

// shardFlags are flags about who does which part of a comparison: no report tells them.
var shardFlags = []string{"plan", "shard", "shards", "shard-by", "plan-ignore", "retry-errors"}

func (o *compareShardFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.plan, "plan", "", "compare what the `FILE` of 'compare plan' says, which has all other options")
	o.shard.add(flags)
	flags.BoolVar(&o.retry, "retry-errors", false, "with --shard: of a part that is there only compare again what could not be read")
}

// besidePlan are the flags that can stand beside --plan.
var besidePlan = []string{"plan", "shard", "shard-by", "plan-ignore", "retry-errors", "cpu", "npu", "third", "noise", "out", "jobs"}

// hideBesidePlan keeps settings out that are for runs without a plan.
func hideBesidePlan(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(besidePlan, f.Name) {
			hiddenBy(f, "plan")
		}
	})
}

// checkPlan refuses options beside a plan, which has them.
func (o *compareOptions) checkPlan() error {
	for _, s := range o.settings {
		if !slices.Contains(besidePlan, s.Name) {
			return usagef("--%s: the plan has the options, and it is made with others", s.Name)
		}
	}
	return nil
}

// runCompareShard compares a part of the pairs and writes what is found to a part file.
func runCompareShard(ctx context.Context, a *app, opts *compareOptions, spec shard.Spec, args []string) error {
	dir := opts.output.out
	if dir == "" {
		return usagef("--shard %s: -out DIR is needed, the folder of the parts", spec)
	}
	plan, err := a.shardPlan(ctx, opts, spec, args)
	if err != nil {
		return err
	}
	rows, done := plan.Rows(spec), []compare.Part(nil)
	if opts.shards.retry {
		if rows, done, err = plan.Retry(ctx, dir, spec, rows); err != nil {
			return err
		}
		if len(rows) == 0 {
			a.say([]batch.Message{batch.Infof("%s: no row is to be compared again", "%s：没有需要重新比对的行", store.Join(dir, shard.FileName(spec.Index, spec.Of)))})
			return nil
		}
	}
	parts, err := watched(a, "comparing", func(observe func(batch.Event)) ([]compare.Part, error) {
		return plan.ExecuteRows(ctx, rows, observe)
	})
	if err != nil {
		return err
	}
	parts = append(parts, done...)
	slices.SortFunc(parts, func(a, b compare.Part) int { return cmp.Compare(a.Pair, b.Pair) })
	path, err := plan.WritePart(dir, spec, parts)
	if err != nil {
		return err
	}
	written := batch.Infof("%s: %s", "%s：%s", path, lang.CountText(len(parts), "row", "行"))
	if unread, _ := plan.Unread(parts); len(unread) > 0 {
		written = batch.Warnf("%s: %s, %d could not be read (--retry-errors compares them again)", "%s：%s，其中 %d 行无法读取(--retry-errors 只重新比对这些行)",
			path, lang.CountText(len(parts), "row", "行"), len(unread))
	}
	a.say([]batch.Message{written})
	return nil
}

// shardPlan reads the plan of a shard, or makes it, and leaves it among the parts.
func (a *app) shardPlan(ctx context.Context, opts *compareOptions, spec shard.Spec, args []string) (*compare.Plan, error) {
	by, ignore, err := opts.divide.resolve()
	if err != nil {
		return nil, err
	}
	if opts.shards.plan == "" {
		plan, err := a.planShards(ctx, opts, args)
		if err != nil {
			return nil, err
		}
		if err := plan.Keep(opts.output.out); err != nil {
			return nil, err
		}
		plan.Divide(spec.Of, by)
		return plan, nil
	}
	if err := opts.checkPlan(); err != nil {
		return nil, err
	}
	if len(args)+len(opts.tensors.dumps.paths) > 0 {
		return nil, usagef("unexpected argument: the plan has both sides; --cpu and --npu say where they lie here")
	}
	file, err := openPlan(opts.shards.plan)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	planned, _, err := plannedOptions(opts.shards.plan, file.Settings())
	if err != nil {
		return nil, err
	}
	planned.tensors.cpu, planned.tensors.npu = opts.tensors.cpu, opts.tensors.npu
	planned.tensors.dumps.workers = opts.tensors.dumps.workers
	planned.output.out = opts.output.out
	opt, err := planned.resolvePlanned(file)
	if err != nil {
		return nil, err
	}
	planned.output.keepAll(opt)
	for _, path := range []string{opt.Ref, opt.NPU} {
		if err := exists(path); err != nil {
			return nil, err
		}
	}
	plan, err := file.Shard(*opt, ignore, spec, by)
	if err != nil {
		return nil, err
	}
	return plan, file.Keep(opts.output.out)
}

// openPlan opens a plan.
func openPlan(path string) (*compare.PlanFile, error) {
	file, err := compare.OpenPlan(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, hintf(err, "'dumptool compare plan' makes it")
	}
	return file, err
}
