package main

import (
	"strings"

	"github.com/spf13/pflag"

	"dumptool/internal/compare"
	"dumptool/internal/compare/record"
)

// baselineFlags are the flags about an earlier run and about the exit status.
type baselineFlags struct {
	file     string
	update   bool
	slack    float64
	coverage string
	failOn   []string
	failFast bool
	exitZero exitZero
}

func (o *baselineFlags) addFlags(flags *pflag.FlagSet) {
	o.addMerged(flags)
	flags.BoolVar(&o.failFast, "fail-fast", false, "stop after the first failure in execution order")
	harmless(flags, "fail-fast")
}

// addMerged adds the flags that are about all rows of a run.
func (o *baselineFlags) addMerged(flags *pflag.FlagSet) {
	flags.StringVar(&o.file, "baseline", "", "failures in `FILE` are known: only new and worse ones fail")
	flags.BoolVar(&o.update, "update-baseline", false, "write what this run found to the file of --baseline")
	flags.Float64Var(&o.slack, "baseline-slack", 1.5, "a known failure may grow by this `FACTOR`")
	harmless(flags, "baseline-slack")
	flags.StringVar(&o.coverage, "require-coverage", "", "fail unless this `SHARE` of the reference is compared: all, 90%, 0.9, or a number of tensors")
	flags.StringSliceVar(&o.failOn, "fail-on", []string{"fail", "shape", "dtype", "ambiguous"},
		"`STATUSES` that fail: fail, shape, dtype, ambiguous, rounding, warn, partial, skip, unmatched-ref, unmatched-npu")
	o.exitZero.add(flags, "accuracy failures")
}

// failStatuses are the names of --fail-on.
var failStatuses = map[string]record.Status{
	"fail": record.Fail, "shape": record.ShapeMismatch, "dtype": record.DTypeMismatch, "ambiguous": record.Ambiguous,
	"rounding": record.Rounding, "warn": record.Warn, "partial": record.Partial, "skip": record.Skip,
	"unmatched-ref": record.UnmatchedRef, "unmatched-npu": record.UnmatchedNPU,
}

// resolve checks the flags about baseline and exit status.
func (o *baselineFlags) resolve(opt *compare.Options) error {
	for _, name := range o.failOn {
		if strings.TrimSpace(name) == "" {
			continue
		}
		status, ok := failStatuses[strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")]
		if !ok {
			return usagef("--fail-on %s: want fail, shape, dtype, ambiguous, rounding, warn, partial, skip, unmatched-ref or unmatched-npu", name)
		}
		opt.FailOn = append(opt.FailOn, status)
	}
	switch {
	case len(opt.FailOn) == 0:
		return usagef("--fail-on: no status given; --exit-zero keeps failures from the exit status")
	case o.update && o.file == "":
		return usagef("--update-baseline needs --baseline FILE")
	case o.failFast && o.file != "":
		return usagef("--fail-fast cannot stand beside --baseline, which is about all failures of a run")
	case !(o.slack >= 1):
		return usagef("--baseline-slack %g: want a factor from 1", o.slack)
	}
	required, ok := compare.ParseRequired(o.coverage)
	if !ok {
		return usagef("--require-coverage %s: want all, a share such as 0.9 or 90%%, or a number of tensors from 2", o.coverage)
	}
	opt.Coverage, opt.ExitZero, opt.FailFast = required, bool(o.exitZero), o.failFast
	opt.BaselineFile, opt.UpdateBaseline, opt.Slack = o.file, o.update, o.slack
	return nil
}
