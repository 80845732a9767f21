package compare

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"dumptool/internal/compare/pairing"
)

// drifting is a tensor of the first run and its partners in the others, nil
// where one has none.
type drifting struct {
	row       Row
	execution int
	items     []*item
}

// match finds the partners of the first run's tensors in all other runs.
func (d *Determinism) match(ctx context.Context, opt *DeterminismOptions) ([]drifting, error) {
	var sides []*side
	for _, path := range opt.Runs {
		s, err := findSide(ctx, path, "", opt.Version, opt.Workers)
		if err != nil {
			return nil, err
		}
		if len(s.items) == 0 {
			return nil, fmt.Errorf("%w: neither dumps nor arrays in %s", ErrNothing, path)
		}
		d.Warnings = append(d.Warnings, s.warnings...)
		sides = append(sides, s)
	}
	p := &partners{d: d, of: make([][]*item, len(sides[0].items)), told: map[string]bool{}}
	var rows []match
	var last *matcher
	for run, other := range sides[1:] {
		m := &matcher{opt: &Options{Pair: opt.Pair, Order: opt.Order, Version: opt.Version}, ref: other, npu: sides[0]}
		if err := m.pair(); err != nil {
			return nil, err
		}
		d.Warnings = append(d.Warnings, m.warnings...)
		rows = mergeRows(rows, p.add(m, run+1))
		last = m
	}
	last.matches = rows
	var err error
	if d.OrderSource, err = last.order(); err != nil {
		return nil, err
	}
	rows = last.matches
	var all []drifting
	for _, x := range rows {
		if x.npu != nil && p.of[x.npu.id] != nil {
			all = append(all, drifting{x.row, x.execution, p.of[x.npu.id]})
			p.of[x.npu.id] = nil // several rounds of a partner are one row
		}
	}
	return all, nil
}

// mergeRows adds the pairs of tensors that the first list does not have. Their
// partners are left out: they are of several runs.
func mergeRows(rows, more []match) []match {
	seen := map[int]bool{}
	for _, x := range rows {
		if x.npu != nil {
			seen[x.npu.id] = true
		}
	}
	for _, x := range more {
		if x.npu != nil && x.ref != nil && !seen[x.npu.id] {
			x.ref, seen[x.npu.id] = nil, true
			rows = append(rows, x)
		}
	}
	return rows
}

// partners are the tensors of all runs by those of the first.
type partners struct {
	d *Determinism
	// of holds, for every item of the first run, its partners in all runs; nil
	// where it has none.
	of [][]*item
	// told are the files that are in the list of what was left out.
	told map[string]bool
}

// add adds the pairs of a run with the first one, and returns them with those of
// earlier executions.
func (p *partners) add(m *matcher, run int) []match {
	var rows []match
	name, first := p.d.Runs[run], p.d.Runs[0]
	for _, x := range m.matches {
		switch {
		case x.row.Status == Skip:
			p.leaveOut(x.row.Name(), x.row.Reasons[0].Evidence)
			p.leaveOutOlder(m, &x, "skipped too")
		case x.ref != nil && x.npu != nil:
			rows = append(rows, p.executions(m, &x, run)...)
			continue
		case x.row.Status == Ambiguous:
			p.d.Missing = append(p.d.Missing, fmt.Sprintf("%s: ambiguous in %s: %s", x.row.Name(), name, x.row.Reasons[0].Evidence))
		case x.npu != nil:
			p.d.Missing = append(p.d.Missing, fmt.Sprintf("%s: not in %s", x.row.Name(), name))
			p.leaveOutOlder(m, &x, "an earlier execution, and not in "+name)
		default:
			p.d.Missing = append(p.d.Missing, fmt.Sprintf("%s: not in %s", x.row.Name(), first))
			p.leaveOutOlder(m, &x, "an earlier execution, and not in "+first)
		}
		rows = append(rows, x)
	}
	for _, other := range m.otherRounds {
		p.leaveOut(other, "of another round")
	}
	return rows
}

// leaveOut lists what is not compared, once.
func (p *partners) leaveOut(what, why string) {
	if !p.told[what] {
		p.told[what] = true
		p.d.LeftOut = append(p.d.LeftOut, what+": "+why)
	}
}

// leaveOutOlder lists the earlier executions of both sides of a match.
func (p *partners) leaveOutOlder(m *matcher, x *match, why string) {
	for _, npu := range []bool{false, true} {
		for _, it := range m.executionsOf(x, npu) {
			if it != x.ref && it != x.npu {
				p.leaveOut(it.String(), why)
			}
		}
	}
}

// executions makes a row of each execution of a pair, where both runs have as
// many; otherwise of the last ones alone.
func (p *partners) executions(m *matcher, x *match, run int) []match {
	here, there := m.executionsOf(x, true), m.executionsOf(x, false)
	if len(here) != len(there) || m.tied(here, m.npus) || m.tied(there, m.refs) {
		counts := fmt.Sprintf("executed %s in %s, %s in %s", timesText(len(here)), p.d.Runs[0], timesText(len(there)), p.d.Runs[run])
		if len(here) == len(there) {
			counts += ", in no certain order"
		}
		p.d.Missing = append(p.d.Missing, x.row.Name()+": "+counts+": only the last ones were compared")
		p.leaveOutOlder(m, x, "an earlier execution")
		here, there = here[len(here)-1:], there[len(there)-1:]
	}
	rows := make([]match, len(here))
	for k := range here {
		rows[k] = *x
		rows[k].npu, rows[k].ref = here[k], there[k]
		if len(here) > 1 {
			rows[k].execution = k + 1
		}
		of := &p.of[here[k].id]
		if *of == nil {
			*of = make([]*item, len(p.d.Runs))
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

// executionsOf returns the tensor of a side of a match, after its earlier
// executions in their order; nil if it has none.
func (m *matcher) executionsOf(x *match, npu bool) []*item {
	last, items, tensors := x.ref, m.ref.items, m.refs
	if npu {
		last, items, tensors = x.npu, m.npu.items, m.npus
	}
	if last == nil {
		return nil
	}
	var all []*item
	for _, id := range m.olderOf(last.id, npu) {
		all = append(all, &items[id])
	}
	slices.SortStableFunc(all, func(a, b *item) int {
		return cmp.Compare(tensors[a.id].Timestamp, tensors[b.id].Timestamp)
	})
	return append(all, last)
}

// tied reports whether two executions have one timestamp.
func (m *matcher) tied(items []*item, tensors []pairing.Tensor) bool {
	for i := 1; i < len(items); i++ {
		if tensors[items[i].id].Timestamp == tensors[items[i-1].id].Timestamp {
			return true
		}
	}
	return false
}
