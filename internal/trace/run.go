package trace

import (
	"iter"
	"maps"
	"slices"
	"strconv"

	"dumptool/internal/dumpdir"
	"dumptool/internal/tensor"
)

// Run is a run of many ranks.
type Run struct {
	// Steps are in the order of the training or inference.
	Steps []*Step
	// Ranks are the ranks of all steps, ascending.
	Ranks []int
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
	Ordered  map[int]bool
	sequence map[int][]*Call
	Index    int
	Before   *Step // the last one of its program, nil for none
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

// Program are the coordinates that steps of one program share: what several programs of a run
// hold tells nothing of each other.
func (s *Step) Program() dumpdir.Coordinates {
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

	Place int // in the order of the rank
	// unplaced is set where its place is a guess: the order comes from what calls read, and
	// nobody on its rank made what this one reads.
	Unplaced bool
}

// Expert is the number of the expert that a call belongs to, -1 for none.
func (c *Call) Expert() int {
	_, _, expert := ParseName(c.Name)
	return expert
}

// LayerOf is the layer of a call; of a communication that of the module around it.
func (c *Call) LayerOf() int {
	if c.Layer < 0 && c.Module != "" {
		_, layer, _ := ParseName(c.Module)
		return layer
	}
	return c.Layer
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
	// Data are the elements of a tensor in memory, nil for others.
	Data *Values
	// Pieces are the tensors of ranks that a tensor of the reference is joined from, nil for a
	// tensor of one file. Loose is set while it is not known where they lie in it.
	Pieces []Piece
	Loose  bool
	// Sources are all tensors of ranks that a tensor of a joined reference stands for.
	Sources []*Tensor

	mark    string // the digest of the elements, once it was computed
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
func (t *Tensor) Stored() bool { return t.File != nil || t.Data != nil }

// Elements is the number of elements.
func (t *Tensor) Elements() int64 { return t.Shape.Elements() }

// CountElements is the number of elements of tensors together.
func CountElements(all []*Tensor) int64 {
	var n int64
	for _, t := range all {
		n += t.Elements()
	}
	return n
}

// DTypeOf is the type that all tensors have, false where they differ.
func DTypeOf(all []*Tensor) (d tensor.DType, same bool) {
	for i, t := range all {
		if i > 0 && t.DType != d {
			return d, false
		}
		d = t.DType
	}
	return d, true
}

// Tensors are all of a call: the parameters first.
func (c *Call) Tensors() []*Tensor { return slices.Concat(c.Params, c.In, c.Out) }

// Place is where a tensor stands in its call.
func (t *Tensor) Place() string {
	kind := "output"
	switch {
	case slices.Contains(t.Call.In, t):
		kind = "input"
	case slices.Contains(t.Call.Params, t):
		kind = "parameter"
	}
	return kind + " " + t.Path
}

// IsInteger reports whether a tensor is a list of integers.
func (t *Tensor) IsInteger() bool {
	return (t.DType == tensor.Int64 || t.DType == tensor.Int32) && t.Elements() > 1
}

// Summed reports whether a tensor is what a communication made of a sum.
func (t *Tensor) Summed() bool {
	m := t.Call.Comm
	return m != nil && m.API.Sums() && slices.Contains(m.Out, t)
}

// New puts steps into the order of the run, and numbers their calls.
func New(steps []*Step) *Run {
	r := &Run{Steps: steps}
	slices.SortStableFunc(r.Steps, func(a, b *Step) int { return a.At.Compare(b.At) })
	last := make(map[dumpdir.Coordinates]*Step)
	for i, s := range r.Steps {
		s.Index, s.Before = i, last[s.Program()]
		last[s.Program()] = s
		for rank, calls := range s.Calls {
			if !slices.Contains(r.Ranks, rank) {
				r.Ranks = append(r.Ranks, rank)
			}
			for place, c := range calls {
				c.Place = place
			}
		}
	}
	slices.Sort(r.Ranks)
	return r
}

// RoundOf are the coordinates of a rank of the step.
func (s *Step) RoundOf(rank int) dumpdir.Coordinates {
	if at, ok := s.rounds[rank]; ok {
		return at
	}
	at := s.At
	at.Rank = strconv.Itoa(rank)
	return at
}

// Ranks are those of a step, ascending.
func (s *Step) Ranks() []int { return slices.Sorted(maps.Keys(s.Calls)) }

// AllCalls are those of all ranks of a step, rank by rank, each in its order.
func (s *Step) AllCalls() iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		for _, rank := range s.Ranks() {
			for _, c := range s.Calls[rank] {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// AllCalls are those of all steps.
func (r *Run) AllCalls() iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		for _, s := range r.Steps {
			for c := range s.AllCalls() {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// GroupBy sorts values by what they have in common: groups, and values in them, in their order.
// Values whose key is not ok are left out.
func GroupBy[T any, K comparable](all iter.Seq[T], key func(T) (k K, ok bool)) (groups [][]T) {
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
