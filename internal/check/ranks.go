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

// Parts lists the parts of a check.
var Parts = []string{Operators, Comm, Replicas}

// includesPart reports whether a part is checked. By default all parts are checked, or only operators if Ops selects
// some.
func (o *Options) includesPart(part string) bool {
	if len(o.Only) > 0 {
		return slices.Contains(o.Only, part)
	}
	return part == Operators || o.Ops == nil // a choice of operators is no whole run
}

// judgeRanks judges communication and replicas of all ranks, and sorts operators that computed wrong results into the
// same causal order. In a run of a single rank only groups of one rank can be judged; they are reported if they are
// wrong.
func (c *checker) judgeRanks(ctx context.Context, run *dumpdir.Run) error {
	if !c.opt.includesPart(Comm) && !c.opt.includesPart(Replicas) {
		return nil
	}
	r, warnings := ranks.Open(run.Select(c.opt.Select), run.Rounds)
	alone := len(r.Ranks) == 1
	if len(r.Ranks) == 0 || alone && (!c.opt.includesPart(Comm) || !r.HasGroupsOfOne()) {
		return nil
	}
	c.Warnings = append(c.Warnings, warnings...)
	opt := c.opt.Ranks
	opt.NoComm, opt.NoReplicas, opt.Workers = !c.opt.includesPart(Comm), alone || !c.opt.includesPart(Replicas), c.opt.Workers
	for i := range c.Operators {
		if o := &c.Operators[i]; o.Status == recompute.Wrong {
			if f := r.Claim(o.At, o.Op, ranks.Compute, finding.High, o.Evidence); f != nil {
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
		c.Problems = append(c.Problems, Problem{File: failed.Path(), Err: lang.Error(failed.Err)})
	}
	return nil
}

// hasRankChecks reports whether communication or replicas were checked.
func (r *Report) hasRankChecks() bool { return r.Ranks != nil && r.Ranks.HasChecks() }

// ranksHeadline returns the headline of the first finding between ranks, zero for none.
func (r *Report) ranksHeadline() lang.Sentence {
	if r.Ranks == nil || len(r.Ranks.Findings) == 0 {
		return lang.Sentence{}
	}
	return r.Ranks.Findings[0].Headline()
}

// countRankFindings counts the findings between ranks that --fail-on selects.
func (r *Report) countRankFindings() (n int) {
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
