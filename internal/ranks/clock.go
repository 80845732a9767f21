package ranks

import (
	"cmp"
	"maps"
	"slices"

	"dumptool/internal/trace"
)

// lamportClocks computes Lamport clocks of the calls of consecutive steps: 1 + the latest clock of the previous call
// on the rank and of every member of the event. If calls wait for each other in a circle (a dump may be cut or out of
// order), the first rank proceeds without waiting.
func lamportClocks(steps []*trace.Step, events []*Event) map[*trace.Call]int {
	all := make(map[*trace.Call]int)
	of := make(map[*trace.Call][]*Event)
	for _, e := range events {
		for _, c := range e.Calls {
			if c != nil && !slices.Contains(of[c], e) {
				of[c] = append(of[c], e)
			}
		}
	}
	now := make(map[int]int) // clock of each rank
	for _, s := range steps {
		w := &clockWalk{step: s, events: of, clocks: all, rankClocks: now, nextCalls: make(map[int]int)}
		w.walkEvents()
	}
	return all
}

// clockWalk goes through the calls of all ranks of a step.
type clockWalk struct {
	step       *trace.Step
	events     map[*trace.Call][]*Event
	clocks     map[*trace.Call]int
	rankClocks map[int]int // the clock of each rank
	nextCalls  map[int]int // the next call of each rank
}

func (w *clockWalk) walkEvents() {
	ranks := w.step.Ranks()
	for {
		moved, left := false, -1
		for _, rank := range ranks {
			calls := w.step.OrderedCalls(rank)
			for w.nextCalls[rank] < len(calls) && w.tryCall(calls[w.nextCalls[rank]]) {
				moved = true
			}
			if left < 0 && w.nextCalls[rank] < len(calls) {
				left = rank
			}
		}
		switch {
		case left < 0:
			return
		case !moved: // deadlock: the first rank proceeds all the same
			w.passCall(w.step.OrderedCalls(left)[w.nextCalls[left]], w.rankClocks[left]+1)
		}
	}
}

// passCall sets the clock of a call and goes on to the next.
func (w *clockWalk) passCall(c *trace.Call, clock int) {
	w.clocks[c] = clock
	w.rankClocks[c.Rank] = clock
	w.nextCalls[c.Rank] = c.Place + 1
}

// tryCall passes a call if all calls that it waits for have passed, and reports whether it has.
func (w *clockWalk) tryCall(c *trace.Call) bool {
	clock := w.rankClocks[c.Rank] + 1
	for _, e := range w.events[c] {
		if !e.api().Pattern.IsPair() {
			return w.tryCollective(e)
		}
		sender := e.sender()
		if sender == c || sender == nil || c.Comm.API.Pattern == trace.SendReceives {
			continue
		}
		if sender.Place >= w.nextCalls[sender.Rank] { // not sent yet
			return false
		}
		clock = max(clock, w.clocks[sender]+1)
	}
	w.passCall(c, clock)
	return true
}

// tryCollective passes a collective if all its members have reached it.
func (w *clockWalk) tryCollective(e *Event) bool {
	clock := 0
	for _, c := range e.Calls {
		switch {
		case c == nil:
		case c.Place < w.nextCalls[c.Rank]: // this member passed without the others
			clock = max(clock, w.clocks[c])
		case c.Place > w.nextCalls[c.Rank]:
			return false
		default:
			clock = max(clock, w.rankClocks[c.Rank]+1)
		}
	}
	for _, c := range e.Calls {
		if c != nil && c.Place == w.nextCalls[c.Rank] {
			w.passCall(c, clock)
		}
	}
	return true
}

// sortByCause sorts findings by cause: step, clock if known, class, then confidence. Findings with Consistent come
// last in their step.
func sortByCause(all []*Finding, clocks map[*trace.Call]int) {
	clock := func(f *Finding) int {
		if f.call.Step.IsOrdered() {
			return clocks[f.call]
		}
		return 0
	}
	flag := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(a.call.Step.Index, b.call.Step.Index), cmp.Compare(flag(a.Consistent), flag(b.Consistent)), cmp.Compare(clock(a), clock(b)), cmp.Compare(classOrder[a.Class], classOrder[b.Class]),
			cmp.Compare(flag(a.Confidence != high), flag(b.Confidence != high)), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.call.Place, b.call.Place))
	})
}

// damagedCalls finds the calls that a finding may have damaged: later calls of its rank, and calls of ranks that
// communicate with a damaged rank. It also returns the first damaged call of each rank in the step of the finding.
func (r *Run) damagedCalls(f *Finding, events map[*trace.Step][]*Event) (*Spread, map[int]int) {
	var inStep map[int]int
	out := &Spread{Steps: []string{}}
	reached := map[int]int{f.Rank: f.call.Place} // the first damaged call of each rank
	for _, s := range r.Steps[f.call.Step.Index:] {
		if s.Program() != f.call.Step.Program() {
			continue
		}
		for _, e := range events[s] {
			if !f.damagesOneRank() || !slices.Contains(e.Calls, f.call) {
				r.crossEvent(e, reached)
			}
		}
		for rank, from := range reached {
			calls := s.OrderedCalls(rank)
			if from >= len(calls) {
				continue
			}
			for _, c := range calls[from:] {
				if c != f.call {
					out.Tensors += len(c.Out)
				}
			}
		}
		out.Steps = append(out.Steps, s.At.Step)
		if inStep == nil {
			inStep = maps.Clone(reached)
		}
		for rank := range reached {
			reached[rank] = 0
		}
	}
	out.Ranks = slices.Sorted(maps.Keys(reached))
	return out, inStep
}

// damagesOneRank reports whether a wrong communication damaged only the rank of the finding: the other members hold the
// right data.
func (f *Finding) damagesOneRank() bool {
	return f.Class == CommClass && f.Kind != MissingRank && f.Kind != DoubleRank && f.Kind != SentOther && f.Kind != CallsDiffer && len(f.Alt) == 0
}

// crossEvent adds the members of an event to the reached ranks, if a reached rank takes part in the event.
func (r *Run) crossEvent(e *Event, reached map[int]int) {
	pair, sender := e.api().Pattern.IsPair(), e.sender()
	hit := false
	for _, c := range e.Calls {
		if c != nil && (c == sender || !pair) {
			from, ok := reached[c.Rank]
			hit = hit || ok && c.Place >= from
		}
	}
	for _, c := range e.Calls {
		if !hit || c == nil || c == sender && pair {
			continue
		}
		if from, ok := reached[c.Rank]; !ok || c.Place < from {
			reached[c.Rank] = c.Place
		}
	}
}

// mayHaveCarried reports whether the event may have carried data between two ranks: from the rank with number from to
// the rank of a call whose position in the order is unknown.
func (e *Event) mayHaveCarried(to *trace.Call, from int) bool {
	i := e.memberIndex(to.Rank)
	return i >= 0 && from != to.Rank && e.memberIndex(from) >= 0 && e.Calls[i] != nil && e.Calls[i].Unplaced
}
