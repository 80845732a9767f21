package ranks

import (
	"iter"
	"maps"
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Run is what a run of many ranks says, without elements.
type Run struct {
	// Steps are in the order of the training or inference.
	Steps []*Step
	// Ranks are all ranks of which any step knows, ascending.
	Ranks []int

	world  []int       // all ranks that there are, in the dump or not
	groups *groupTable // of events
	// inferred is set where groups come from values, votes are how well groups of a kind of
	// communication explained those of all steps.
	inferred bool
	votes    map[string]map[spacing]float64
}

// Step is one step, or one graph or model of it, of all ranks.
type Step struct {
	// At are the coordinates without the rank.
	At dumpdir.Coordinates
	// rounds are the coordinates of each rank in the run.
	rounds map[int]dumpdir.Coordinates
	// Calls are those of each rank, in its order.
	Calls map[int][]*Call
	// ordered is set for ranks whose order is known; sequence are the calls of others in the
	// order that their tensors say, if they do.
	ordered  map[int]bool
	sequence map[int][]*Call
	index    int
	before   *Step // the last one of its program, nil for none
}

// StepOf is the step that has a round, nil for none.
func (r *Run) StepOf(at dumpdir.Coordinates) *Step {
	for _, s := range r.Steps {
		for _, own := range s.rounds {
			if own == at {
				return s
			}
		}
	}
	return nil
}

// program are the coordinates that steps of one program share: what several programs of a run
// hold tells nothing of each other.
func (s *Step) program() dumpdir.Coordinates {
	at := s.At
	at.Step = ""
	return at
}

// Call is a call of a rank: an operator or a communication.
type Call struct {
	Rank int
	Step *Step
	// Name is that of the call in the run, Role the name without the numbers of layers,
	// experts and calls, Layer the number of the layer, -1 where the name has none.
	Name, Role string
	Layer      int
	// Module is the module around a communication, empty where it is not known; Script
	// the line of the user's script.
	Module, Script string
	// In, Params and Out are its tensors.
	In, Params, Out []*Tensor
	// Comm says what a communication does, nil for an operator.
	Comm *Comm

	place int // in the order of the rank
	clock int // in the order of cause
	// unplaced is set where its place is a guess: the order comes from what calls read, and
	// nobody on its rank made what this one reads.
	unplaced bool
}

// finding is that something is wrong with a call by itself, and why.
func (c *Call) finding(k Kind, sure finding.Confidence, why lang.Sentence) *Finding {
	return &Finding{Kind: k, Rank: c.Rank, Confidence: sure, Own: true, Members: []int{c.Rank}, Evidence: why, call: c}
}

// note is a note about an operator of some ranks, for the first time in a step.
func (s *Step) note(k Kind, op string, ranks []int) *Note {
	return &Note{Kind: k, Step: s.At.Text().EN, Op: op, Ranks: ranks, Count: 1, step: s.index}
}

// expert is the number of the expert that a call belongs to, -1 for none.
func (c *Call) expert() int {
	_, _, expert := parseName(c.Name)
	return expert
}

// Tensor is a tensor of a call.
type Tensor struct {
	// Call is the call that has it, Name its name in the run.
	Call *Call
	Name string
	// Path is the place or the key in the call.
	Path string
	// DType is the type of the elements in the program, which may be stored in a wider
	// one; Undefined where only the file knows.
	DType tensor.DType
	Shape tensor.Shape
	// Digest is that of the elements, empty where there is none. Digests of different
	// kinds have different lengths.
	Digest string
	// File is the tensor as it is stored, nil where only the digest is known.
	File *dumpdir.Tensor

	data    *Values   // of a tensor in memory
	pieces  []Piece   // of a joined one
	from    []*Tensor // those of ranks that it was made from
	loose   bool      // it is not known how these are joined
	mark    string    // the digest of the elements, once it was computed
	spread  spread
	numbers finiteness
}

// finiteness says whether a tensor has NaN or infinities.
type finiteness uint8

const (
	_ finiteness = iota
	finite
	notFinite
)

// spread says whether the elements of a tensor differ.
type spread uint8

const (
	unknown spread = iota
	varied
	uniform // all are the same, or some are no number
)

// Stored reports whether the elements can be read.
func (t *Tensor) Stored() bool { return t.File != nil || t.data != nil }

// elements is the number of elements.
func (t *Tensor) elements() int64 { return t.Shape.Elements() }

// count is the number of elements of tensors together.
func count(all []*Tensor) int64 {
	var n int64
	for _, t := range all {
		n += t.elements()
	}
	return n
}

// dtypeOf is the type that all tensors have, false where they differ.
func dtypeOf(all []*Tensor) (d tensor.DType, same bool) {
	for i, t := range all {
		if i > 0 && t.DType != d {
			return d, false
		}
		d = t.DType
	}
	return d, true
}

// newRun puts calls into the order of a run. The ranks that there are besides are others
// of the dump, which were not chosen.
func newRun(steps []*Step, besides []int) *Run {
	r := &Run{Steps: steps}
	slices.SortStableFunc(r.Steps, func(a, b *Step) int { return a.At.Compare(b.At) })
	last := make(map[dumpdir.Coordinates]*Step)
	for i, s := range r.Steps {
		s.index, s.before = i, last[s.program()]
		last[s.program()] = s
		for rank, calls := range s.Calls {
			if !slices.Contains(r.Ranks, rank) {
				r.Ranks = append(r.Ranks, rank)
			}
			for place, c := range calls {
				c.place = place
			}
		}
	}
	slices.Sort(r.Ranks)
	r.findWorld(besides)
	r.groups = newGroupTable(r.Ranks)
	return r
}

// findWorld finds all ranks: those of the dump and those that it names, from 0 on.
func (r *Run) findWorld(besides []int) {
	top := slices.Max(slices.Concat([]int{0}, r.Ranks, besides))
	for c := range r.calls() {
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
}

// of are the coordinates of a rank of the step.
func (s *Step) of(rank int) dumpdir.Coordinates {
	if at, ok := s.rounds[rank]; ok {
		return at
	}
	at := s.At
	at.Rank = itoa(rank)
	return at
}

// ranks are those of a step, ascending.
func (s *Step) ranks() []int { return slices.Sorted(maps.Keys(s.Calls)) }

// calls are those of all ranks of a step, rank by rank, each in its order.
func (s *Step) calls() iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		for _, rank := range s.ranks() {
			for _, c := range s.Calls[rank] {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// calls are those of all steps.
func (r *Run) calls() iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		for _, s := range r.Steps {
			for c := range s.calls() {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// alike sorts values by what they have in common: groups, and values in them, in their order.
// Values whose key is not ok are left out.
func alike[T any, K comparable](all iter.Seq[T], key func(T) (k K, ok bool)) (groups [][]T) {
	at := make(map[K]int)
	for x := range all {
		k, ok := key(x)
		if !ok {
			continue
		}
		i, seen := at[k]
		if !seen {
			i = len(groups)
			at[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], x)
	}
	return groups
}
