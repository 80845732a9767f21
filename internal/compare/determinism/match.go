package determinism

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"dumptool/internal/compare"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
)

// tensors is a tensor of the first run and its partners in the others, nil
// where one has none.
type tensors struct {
	row   Row
	items []*compare.Tensor
}

// match finds the partners of the first run's tensors in all other runs.
func (d *Report) match(ctx context.Context, opt *Options) ([]tensors, error) {
	opt.Pair.SameRounds = true
	planning := compare.Options{Pair: opt.Pair, SideFiles: opt.SideFiles, OrderBy: opt.OrderBy, Version: opt.Version, Workers: opt.Workers}
	var sides []*compare.Side
	for _, path := range opt.Runs {
		s, err := compare.OpenSide(ctx, &planning, path, opt.Rounds)
		if err != nil {
			return nil, err
		}
		d.Warnings = append(d.Warnings, s.Warnings...)
		sides = append(sides, s)
	}
	if err := comparable(sides); err != nil {
		return nil, err
	}
	d.warn(compare.ChoiceWarnings(sides...))
	p := &partners{report: d, of: make([][]*compare.Tensor, len(sides[0].Tensors)), leftOut: map[string]bool{}}
	var rows []compare.Pair
	var last *compare.Plan
	for run, other := range sides[1:] {
		plan := compare.PlanSides(&planning, other, sides[0])
		d.warn(plan.AllWarnings())
		rows = mergeRows(rows, p.add(plan, run+1))
		last = plan
	}
	d.MissingRounds = len(p.missingRounds)
	d.Missing = append(p.missingRounds, d.Missing...)
	last.Pairs = rows
	if err := last.Sort(); err != nil {
		return nil, err
	}
	d.warn(last.AllWarnings()) // those of the order too
	d.OrderSource = last.OrderSource()
	var all []tensors
	for _, x := range last.Pairs {
		if x.NPU != nil && p.of[x.NPU.ID] != nil {
			r := x.Row
			all = append(all, tensors{Row{Op: r.Op, Kind: r.Kind, Output: r.Output, Round: r.Round, Order: r.Order, Execution: x.Execution}, p.of[x.NPU.ID]})
			p.of[x.NPU.ID] = nil // several rounds of a partner are one row
		}
	}
	return all, nil
}

// comparable is nil unless a run has statistics only and another one has none.
func comparable(sides []*compare.Side) error {
	bare := slices.ContainsFunc(sides, func(s *compare.Side) bool {
		return !slices.ContainsFunc(s.Tensors, func(t *compare.Tensor) bool { return t.Statistics != nil && t.Statistics.Suffice() })
	})
	for _, s := range sides {
		if err := s.NoTensors(); bare && err != nil {
			return err
		}
	}
	return nil
}

// warn adds the warnings that are not there yet: what is said of one run is often said
// of all.
func (d *Report) warn(more []lang.Sentence) {
	for _, w := range more {
		if !slices.ContainsFunc(d.Warnings, w.Equal) {
			d.Warnings = append(d.Warnings, w)
		}
	}
}

// mergeRows adds the pairs of tensors that the first list does not have. Their
// partners are left out: they are of several runs.
func mergeRows(rows, more []compare.Pair) []compare.Pair {
	seen := map[int]bool{}
	for _, x := range rows {
		if x.NPU != nil {
			seen[x.NPU.ID] = true
		}
	}
	for _, x := range more {
		if x.NPU != nil && x.Ref != nil && !seen[x.NPU.ID] {
			x.Ref, seen[x.NPU.ID] = nil, true
			rows = append(rows, x)
		}
	}
	return rows
}

// partners are the tensors of all runs by those of the first.
type partners struct {
	report *Report
	// of holds, for every item of the first run, its partners in all runs; nil
	// where it has none.
	of [][]*compare.Tensor
	// leftOut are the files that are in the list of what was left out.
	leftOut       map[string]bool
	missingRounds []string
}

// add adds the pairs of a run with the first one, and returns them with those of
// earlier executions.
func (p *partners) add(plan *compare.Plan, run int) []compare.Pair {
	var rows []compare.Pair
	name, first := p.report.Runs[run], p.report.Runs[0]
	for _, x := range plan.Pairs {
		switch {
		case x.Row.Pair.Status == record.Skip:
			p.leaveOut(x.Row.Name(), x.Row.Pair.Reasons[0].Evidence)
			p.leaveOutOlder(plan, &x, lang.Sayf("skipped too", "同样跳过"))
		case x.Ref != nil && x.NPU != nil:
			rows = append(rows, p.executions(plan, &x, run)...)
			continue
		case x.Row.Pair.Status == record.Ambiguous:
			p.report.Missing = append(p.report.Missing, fmt.Sprintf("%s: ambiguous in %s: %s", x.Row.Name(), name, x.Row.Pair.Reasons[0].Evidence.String()))
		case x.NPU != nil:
			p.report.Missing = append(p.report.Missing, fmt.Sprintf("%s: not in %s", x.Row.Name(), name))
			p.leaveOutOlder(plan, &x, lang.Sayf("an earlier execution, and not in %s", "较早的执行，且 %s 中没有", name))
		default:
			p.report.Missing = append(p.report.Missing, fmt.Sprintf("%s: not in %s", x.Row.Name(), first))
			p.leaveOutOlder(plan, &x, lang.Sayf("an earlier execution, and not in %s", "较早的执行，且 %s 中没有", first))
		}
		rows = append(rows, x)
	}
	p.miss(plan.NPURounds, name)
	p.miss(plan.RefRounds, first)
	for _, other := range plan.OtherRounds {
		p.leaveOut("round "+other, lang.Sayf("not chosen", "未选中"))
	}
	return rows
}

// miss lists rounds that a run lacks.
func (p *partners) miss(rounds []*dumpdir.Round, run string) {
	for _, r := range rounds {
		p.missingRounds = append(p.missingRounds, fmt.Sprintf("%s: not in %s", cmp.Or(r.At.String(), "the round without coordinates"), run))
	}
}

// leaveOut lists what is not compared, once.
func (p *partners) leaveOut(what string, why lang.Sentence) {
	if !p.leftOut[what] {
		p.leftOut[what] = true
		p.report.LeftOut = append(p.report.LeftOut, lang.Sayf("%s: %s", "%s：%s", what, why))
	}
}

// leaveOutOlder lists the earlier executions of both sides of a match.
func (p *partners) leaveOutOlder(plan *compare.Plan, x *compare.Pair, why lang.Sentence) {
	for _, npu := range []bool{false, true} {
		for _, it := range plan.Executions(x, npu) {
			if it != x.Ref && it != x.NPU {
				p.leaveOut(it.String(), why)
			}
		}
	}
}

// executions makes a row of each execution of a pair, where both runs have as
// many; otherwise of the last ones alone.
func (p *partners) executions(plan *compare.Plan, x *compare.Pair, run int) []compare.Pair {
	here, there := plan.Executions(x, true), plan.Executions(x, false)
	if len(here) != len(there) || plan.Tied(here, true) || plan.Tied(there, false) {
		counts := fmt.Sprintf("executed %s in %s, %s in %s", timesText(len(here)), p.report.Runs[0], timesText(len(there)), p.report.Runs[run])
		if len(here) == len(there) {
			counts += ", in no certain order"
		}
		p.report.Missing = append(p.report.Missing, x.Row.Name()+": "+counts+": only the last ones were compared")
		p.leaveOutOlder(plan, x, lang.Sayf("an earlier execution", "较早的执行"))
		here, there = here[len(here)-1:], there[len(there)-1:]
	}
	rows := make([]compare.Pair, len(here))
	for k := range here {
		rows[k] = *x
		row := *x.Row // each execution has a place of its own
		rows[k].Row = &row
		rows[k].NPU, rows[k].Ref = here[k], there[k]
		if len(here) > 1 {
			rows[k].Execution = k + 1
		}
		of := &p.of[here[k].ID]
		if *of == nil {
			*of = make([]*compare.Tensor, len(p.report.Runs))
			(*of)[0] = here[k]
		}
		(*of)[run] = there[k]
	}
	return rows
}

func timesText(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
