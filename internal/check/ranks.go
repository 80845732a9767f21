package check

import (
	"context"
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/ranks"
	"dumptool/internal/recompute"
)

// The parts of a check.
const (
	Operators = "operators"
	Comm      = "comm"
	Replicas  = "replicas"
)

// Parts are what can be checked.
var Parts = []string{Operators, Comm, Replicas}

// wants reports whether a part is checked: all are where none is named.
func (o *Options) wants(part string) bool {
	if len(o.Only) > 0 {
		return slices.Contains(o.Only, part)
	}
	return part == Operators || o.Ops == nil // some operators are no whole run
}

// judgeRanks judges the ranks of a run together, and puts operators that computed wrong into the
// order of cause. Of a run of one rank only groups of one can be judged: these are reported where
// they are wrong.
func (c *checker) judgeRanks(ctx context.Context, run *dumpdir.Run) error {
	if !c.opt.wants(Comm) && !c.opt.wants(Replicas) {
		return nil
	}
	r, warnings := ranks.Open(run.Select(c.opt.Select), run.Rounds)
	alone := len(r.Ranks) == 1
	if len(r.Ranks) == 0 || alone && (!c.opt.wants(Comm) || !r.HasGroupsOfOne()) {
		return nil
	}
	c.Warnings = append(c.Warnings, warnings...)
	opt := c.opt.Ranks
	opt.NoComm, opt.NoReplicas, opt.Workers = !c.opt.wants(Comm), alone || !c.opt.wants(Replicas), c.opt.Workers
	for i := range c.Operators {
		if o := &c.Operators[i]; o.Status == recompute.Wrong {
			if f := r.Claim(o.At, o.Op, ranks.Compute, finding.High, o.Said()); f != nil {
				opt.Others = append(opt.Others, f)
			}
		}
	}
	report, err := r.Judge(ctx, opt)
	if err != nil || alone && report.Events.Wrong == 0 {
		return err
	}
	c.Ranks = report
	for _, failed := range report.Errs {
		c.Problems = append(c.Problems, Problem{File: failed.Path(), Err: lang.Failed(failed.Err)})
	}
	return nil
}

// ranksChecked reports whether communication or replicas were.
func (r *Report) ranksChecked() bool { return r.Ranks != nil && r.Ranks.Checked() }

// ranksHeadline names the first thing that is wrong between the ranks, the zero value for
// none.
func (r *Report) ranksHeadline() lang.Sentence {
	if r.Ranks == nil || len(r.Ranks.Findings) == 0 {
		return lang.Sentence{}
	}
	return r.Ranks.Findings[0].Headline()
}

// ranksFound counts the findings between ranks that --fail-on names.
func (r *Report) ranksFound() (n int) {
	if r.Ranks == nil {
		return 0
	}
	for _, f := range r.Ranks.Findings {
		if slices.Contains(r.failOn, f.Weight()) {
			n++
		}
	}
	return n
}
