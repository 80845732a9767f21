package ranks

import (
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/trace"
)

// Run is a run of many ranks.
type Run struct {
	*trace.Run

	programs map[dumpdir.Coordinates]*program
	groups   *groupTable
	// inferred: groups were inferred from values.
	inferred bool
}

// program has the ranks of a program of the run. Programs may have different numbers of ranks.
type program struct {
	ranks []int // ranks in the dump, ascending
	world []int // all ranks from 0 on, also ranks that are not in the dump
	// votes: see inference.votes, summed over all steps.
	votes map[string]map[spacing]float64
}

// Open opens rounds as a run of many ranks; see trace.Open. all has all rounds of the dump: further ranks in it
// extend the worlds of their programs.
func Open(rounds, all []*dumpdir.Round) (*Run, []lang.Sentence) {
	t, warnings := trace.Open(rounds)
	r := newRun(t, nil)
	for round, at := range trace.StepsOf(all) {
		at.Step = ""
		if p := r.programs[at]; p != nil {
			p.extendWorld(trace.RanksOf([]*dumpdir.Round{round}))
		}
	}
	return r, warnings
}

// newRun returns a run; further are ranks that exist but are not in the run.
func newRun(t *trace.Run, further []int) *Run {
	r := &Run{Run: t, groups: newGroupTable(t.Ranks), programs: make(map[dumpdir.Coordinates]*program)}
	for _, s := range t.Steps {
		p := r.programOf(s)
		if p == nil {
			p = &program{votes: make(map[string]map[spacing]float64)}
			r.programs[s.Program()] = p
		}
		ranks := s.Ranks()
		p.ranks = append(p.ranks, ranks...)
		p.extendWorld(ranks)
		p.extendWorld(further)
		for c := range s.AllCalls() {
			if c.Comm != nil {
				p.extendWorld([]int{c.Comm.Root})
			}
		}
		for _, g := range groupsOf(s.AllCalls()) {
			p.extendWorld(g)
		}
	}
	for _, p := range r.programs {
		slices.Sort(p.ranks)
		p.ranks = slices.Compact(p.ranks)
	}
	return r
}

// extendWorld extends the world to the largest of the ranks.
func (p *program) extendWorld(ranks []int) {
	const maxWorld = 1 << 20
	for top := min(slices.Max(append([]int{0}, ranks...)), maxWorld); len(p.world) <= top; {
		p.world = append(p.world, len(p.world))
	}
}

func (r *Run) programOf(s *trace.Step) *program { return r.programs[s.Program()] }

// HasGroupsOfOne reports whether a call communicates in a group of one rank.
func (r *Run) HasGroupsOfOne() bool {
	for c := range r.AllCalls() {
		if c.Comm != nil && len(c.Comm.Group) == 1 {
			return true
		}
	}
	return false
}

// newFinding makes a finding about one call.
func newFinding(c *trace.Call, k Kind, sure finding.Confidence, why lang.Sentence) *Finding {
	return &Finding{Kind: k, Rank: c.Rank, Confidence: sure, Own: true, Members: []int{c.Rank}, Evidence: why, call: c}
}

// newNote makes a note about an operator of some ranks in a step.
func newNote(s *trace.Step, k Kind, op string, ranks []int) *Note {
	return &Note{Kind: k, Step: s.At.Text().String(), Op: op, Ranks: ranks, Count: 1, step: s.Index}
}
