package recompute

import (
	"dumptool/internal/guard"
	"dumptool/internal/lang"
)

// Helpers are other goroutines that an operator may use: a place is taken while one computes.
type Helpers interface {
	TryAcquire(n int64) bool
	Release(n int64)
}

// sweep computes cells of the outputs. They are read one after the other, since a source
// serves one goroutine; helpers compute some of them meanwhile. What was found is added up in
// the order of the cells, so that it does not depend on who computed them.
type sweep struct {
	*judge
	*problem
	*grid
	in, out []*feed
	result  *result
	tallies []*tally // those of the outputs
	// machines are those that nobody uses, running the cells in their order.
	machines []*machine
	running  []*part
}

// part is a cell that somebody computes.
type part struct {
	*computed
	tallies []*tally
	done    chan error // nil for one that is done
}

// mostAhead is how many cells are computed, or wait for one before them, at the same time.
const mostAhead = 8

// cell computes a cell, or lets a helper do it; ok is false once the attributes do not go with
// the shapes.
func (s *sweep) cell(i int64) (ok bool, err error) {
	if err := s.judge.ctx.Err(); err != nil {
		return false, s.leave(err)
	}
	if err := s.wait(mostAhead - 1); err != nil || !s.result.why.IsZero() {
		return false, s.leave(err)
	}
	m := &s.judge.machine
	if n := len(s.machines); n > 0 {
		m, s.machines = s.machines[n-1], s.machines[:n-1]
	} else if len(s.running) > 0 {
		m = &machine{ctx: m.ctx, narrow: m.narrow, wide: m.wide, between: m.between}
	}
	c, err := s.grid.read(m, s.problem, s.result.attrs, s.grid.cell(i), s.in, s.out)
	if err != nil {
		return false, s.leave(err)
	}
	p := &part{computed: c}
	for _, t := range s.tallies {
		p.tallies = append(p.tallies, t.empty())
	}
	s.running = append(s.running, p)
	if h := s.Helpers; h != nil && s.expected == nil && h.TryAcquire(1) {
		p.done = make(chan error, 1)
		guard.Go(func() error {
			defer h.Release(1)
			s.compute(p)
			return nil
		}, func(err error) { p.done <- err })
		return true, nil
	}
	s.compute(p)
	err = s.wait(mostAhead)
	return s.result.why.IsZero(), err
}

// wait adds up what was found, and waits for it while more than so many cells are left.
func (s *sweep) wait(most int) error {
	for s.result.why.IsZero() && len(s.running) > 0 && (len(s.running) > most || s.running[0].done == nil) {
		p := s.running[0]
		if p.done != nil {
			if err := <-p.done; err != nil {
				s.running = s.running[1:]
				return s.leave(err)
			}
		}
		s.running, s.machines = s.running[1:], append(s.machines, p.machine)
		s.add(p)
	}
	return s.leave(nil)
}

// leave waits for all helpers if there is an error, or no cell will be added up any more.
func (s *sweep) leave(err error) error {
	if err == nil && s.result.why.IsZero() {
		return nil
	}
	for _, p := range s.running {
		if p.done != nil {
			<-p.done //nolint:errcheck // an error before it is told
		}
	}
	s.running = nil
	return err
}

// compute computes the formula in a cell and compares the outputs.
func (s *sweep) compute(p *part) {
	c := p.computed
	c.compute(s.formula)
	if c.err != nil {
		return
	}
	for k, y := range c.got {
		if k >= len(c.outputs) || c.outputs[k] == nil {
			continue
		}
		var tie func(i int) bool
		if s.formula.class == Quantised {
			tie = c.tie
		}
		t := p.tallies[k]
		t.wild = !c.selects && s.formula.class != Move
		t.mark = s.collector(s.output+k, c.outputs[k], y, t, c.offsets[k])
		t.add(c.outputs[k], y, c.wild, tie, c.offsets[k])
	}
}

// add adds what was found in a cell to the result.
func (s *sweep) add(p *part) {
	r, m := s.result, p.machine
	s.judge.machine.lacks = s.judge.machine.lacks || m.lacks
	if m.err != nil {
		r.why = lang.Error(m.err)
		return
	}
	for k, t := range p.tallies {
		s.tallies[k].merge(t, 1)
	}
	r.top, r.products = max(r.top, m.top), append(r.products, m.products...)
}
