package ranks

import (
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/trace"
)

// Run is a run of many ranks that is judged.
type Run struct {
	*trace.Run

	world  []int // all ranks from 0 on, in the dump or not
	groups *groupTable
	// inferred is set where groups come from values; votes say how well groups of a kind of
	// communication explained the communications of all steps.
	inferred bool
	votes    map[string]map[spacing]float64
}

// Open opens rounds as a run of many ranks; see trace.Open. Unchosen are further ranks of the
// dump, which are not judged.
func Open(rounds []*dumpdir.Round, unchosen []int) (*Run, []lang.Sentence) {
	t, warnings := trace.Open(rounds)
	return newRun(t, unchosen), warnings
}

func newRun(t *trace.Run, unchosen []int) *Run {
	r := &Run{Run: t, groups: newGroupTable(t.Ranks)}
	top := slices.Max(slices.Concat([]int{0}, t.Ranks, unchosen))
	for c := range t.AllCalls() {
		if c.Comm != nil {
			top = max(top, c.Comm.Root)
		}
	}
	for _, g := range r.Read() {
		top = max(top, slices.Max(g))
	}
	const maxWorld = 1 << 20
	r.world = make([]int, min(top, maxWorld)+1)
	for i := range r.world {
		r.world[i] = i
	}
	return r
}

// HasGroupsOfOne reports whether a call communicates in a group of one rank.
func (r *Run) HasGroupsOfOne() bool {
	for c := range r.AllCalls() {
		if c.Comm != nil && len(c.Comm.Group) == 1 {
			return true
		}
	}
	return false
}

// finding is that something is wrong with a call by itself, and why.
func newFinding(c *trace.Call, k Kind, sure finding.Confidence, why lang.Sentence) *Finding {
	return &Finding{Kind: k, Rank: c.Rank, Confidence: sure, Own: true, Members: []int{c.Rank}, Evidence: why, call: c}
}

// note is a note about an operator of some ranks, for the first time in a step.
func newNote(s *trace.Step, k Kind, op string, ranks []int) *Note {
	return &Note{Kind: k, Step: s.At.Text().EN, Op: op, Ranks: ranks, Count: 1, step: s.Index}
}
