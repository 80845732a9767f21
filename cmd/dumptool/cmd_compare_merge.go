package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/compare"
	"dumptool/internal/compare/record"
	"dumptool/internal/shard"
	"dumptool/internal/store"
)

type compareMergeOptions struct {
	// given takes the flags that hold in place of those of the plan.
	given        compareOptions
	plan         string
	wait         time.Duration
	allowMissing bool
}

func newCompareMergeCommand(a *app) *cobra.Command {
	opts := new(compareMergeOptions)
	cmd := &cobra.Command{
		Use:   "merge PARTS...",
		Short: "make the reports of a comparison from the parts of its shards",
		Long: `merge reads the parts that 'compare --shard' wrote, in folders or files, and makes
the reports: the same bytes that one run without pictures would have made. It
reads no tensor. Without --plan the plan is the file plan.jsonl that the shards
leave among the parts.

Parts that are missing, cut or of another plan are named, and nothing is
written. With --wait it waits for those that are missing.`,
		Example: `  dumptool compare merge parts -out report
  dumptool compare merge parts --plan plan.jsonl --wait 6h -out report
  dumptool compare merge parts --baseline known.json --format json,html -out report`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCompareMerge(cmd.Context(), a, opts, cmd.Flags(), args)
		},
	}
	cmd.Long += formatHelp[*record.Report]() + exitStatus(exitFound, exitNothing, exitCoverage, exitInterrupted)
	flags := cmd.Flags()
	flags.StringVar(&opts.plan, "plan", "", "the `FILE` of 'compare plan'; default: plan.jsonl in the first folder of parts")
	flags.DurationVar(&opts.wait, "wait", 0, "wait at most `TIME`, such as 6h, until all parts are there")
	harmless(flags, "wait")
	flags.BoolVar(&opts.allowMissing, "allow-missing", false, "make a report of the parts that are there, as of an interrupted run")
	o := &opts.given
	o.output.addLooks(cmd)
	o.baseline.addMerged(flags)
	return cmd
}

// runCompareMerge makes the reports of the parts of a comparison.
func runCompareMerge(ctx context.Context, a *app, opts *compareMergeOptions, flags *pflag.FlagSet, args []string) error {
	switch {
	case len(args) == 0:
		return usagef("no parts given")
	case opts.wait < 0:
		return usagef("--wait %v: want a time from 0", opts.wait)
	}
	end := time.Now().Add(opts.wait)
	path, err := a.findPlan(ctx, opts.plan, args, end)
	if err != nil {
		return err
	}
	file, err := openPlan(path)
	if err != nil {
		return err
	}
	defer file.Close()
	planned, opt, err := opts.resolve(a, path, file, flags)
	if err != nil {
		return err
	}
	listing, err := a.waitForParts(ctx, file, args, end, opts.allowMissing)
	if err != nil {
		return err
	}
	merged, err := file.Merge(ctx, *opt, listing, opts.allowMissing)
	if err != nil {
		return err
	}
	defer merged.Close()
	rep := merged.Report
	if err := planned.write(ctx, a, opt, comparedRun{merged.Plan, nil, rep}); err != nil {
		return err
	}
	err = a.conclude(opt.Outcome(rep))
	if err == nil && rep.Interrupted {
		return incompletef("the report lacks %d of %d rows", merged.Rows-rep.Len(), merged.Rows)
	}
	return err
}

// resolve makes the options of a plan, with the flags of the merge in place of its own.
func (o *compareMergeOptions) resolve(a *app, path string, file *compare.PlanFile, flags *pflag.FlagSet) (*compareOptions, *compare.Options, error) {
	planned, its, err := plannedOptions(path, file.Settings())
	if err != nil {
		return nil, nil, err
	}
	planned.output.formats = nil // those say what shards keep
	flags.VisitAll(func(f *pflag.Flag) {
		if own := its.Lookup(f.Name); f.Changed && own != nil && err == nil && f.Name != "json" && f.Name != "plan" {
			if list, ok := f.Value.(pflag.SliceValue); ok {
				err = own.Value.(pflag.SliceValue).Replace(list.GetSlice())
			} else {
				err = own.Value.Set(f.Value.String())
			}
		}
	})
	if err != nil {
		return nil, nil, err
	}
	if len(o.given.output.formats) > 0 { // --json too
		planned.output.formats = o.given.output.formats
	}
	opt, err := planned.resolvePlanned(file)
	if err != nil {
		return nil, nil, err
	}
	if err := cmp.Or(planned.output.resolve(opt), checkKept(planned.output.formats, file)); err != nil {
		return nil, nil, err
	}
	opt.Pictures = nil
	opt.Axes = a.streams.OutWidth > 0
	return planned, opt, compareError(opt.LoadBaseline())
}

// findPlan is the path of the plan: the one that is given, else that in the first folder
// of parts that has one.
func (a *app) findPlan(ctx context.Context, plan string, parts []string, end time.Time) (string, error) {
	candidates := []string{plan}
	if plan == "" {
		candidates = nil
		for _, dir := range parts {
			if shard.IsFileName(store.Base(dir)) {
				dir = store.Dir(dir)
			}
			candidates = append(candidates, store.Join(dir, compare.PlanName))
		}
	}
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		for _, path := range candidates {
			if _, err := store.Stat(path); err == nil {
				return path, nil
			} else if !errors.Is(err, fs.ErrNotExist) {
				return "", incompletef("%w", err)
			}
		}
		if !time.Now().Before(end) {
			return "", hintf(incompletef("%s: there is no plan", candidates[0]), "--plan FILE names it; shards leave it among their parts")
		}
		if err := sleep(ctx, min(wait, time.Until(end))); err != nil {
			return "", err
		}
	}
}

// How long is waited between two looks at the parts.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 10 * time.Second
)

// sleep waits, unless ctx ends before.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// waitForParts lists the parts of a plan until all are there or the time is over.
func (a *app) waitForParts(ctx context.Context, plan *compare.PlanFile, paths []string, end time.Time, allowMissing bool) (*shard.Listing, error) {
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		listing, err := plan.Parts(paths, toolName())
		if err == nil && listing.Err() == nil {
			return listing, a.usable(listing, allowMissing)
		}
		if !time.Now().Before(end) {
			if err != nil {
				return nil, incompletef("%w", err)
			}
			return listing, a.usable(listing, allowMissing)
		}
		if err := sleep(ctx, min(wait, time.Until(end))); err != nil {
			return nil, err
		}
	}
}

// usable reports what keeps parts from being merged.
func (a *app) usable(l *shard.Listing, allowMissing bool) error {
	var faults []error
	for i := range l.Parts {
		switch p := &l.Parts[i]; {
		case p.Err == nil:
		case allowMissing && (p.State == shard.Cut || p.State == shard.Damaged):
			a.msg.Warnf("%v", p.Err)
		default:
			faults = append(faults, p.Err)
		}
	}
	missing := l.Err()
	if _, is := errors.AsType[*shard.MissingError](missing); is && allowMissing {
		a.msg.Warnf("%v", missing)
		missing = nil
	} else if is && len(faults) == 0 {
		missing = incompletef("%w (nothing was written; --allow-missing makes a partial report)", missing)
	}
	if missing != nil {
		faults = append(faults, missing)
	}
	for _, err := range faults[:max(len(faults)-1, 0)] {
		a.msg.Errorf("%v", err)
	}
	if len(faults) > 0 {
		return incompletef("%w", faults[len(faults)-1])
	}
	return nil
}
