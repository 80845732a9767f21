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

// Step is a step, or a graph or model of it, on all ranks.
type Step struct {
	// At are the coordinates without the rank.
	At dumpdir.Coordinates
	// rounds has the coordinates of the round of each rank.
	rounds map[int]dumpdir.Coordinates
	// Calls has the calls of each rank, in the order of the dump.
	Calls map[int][]*Call
	// Ordered: the dump has the order of the rank. Other ranks get a sequence if their tensors determine the order.
	Ordered  map[int]bool
	sequence map[int][]*Call
	// Index is the position of the step in the run; Before is the previous step of the same program, nil for the
	// first.
	Index  int
	Before *Step
}

// StepOf returns the step with a round, nil for none.
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

// Program returns the coordinates that all steps of a program share. The programs of a run, such as
// actor and critic, are independent.
func (s *Step) Program() dumpdir.Coordinates {
	at := s.At
	at.Step = ""
	return at
}

// Call is a call of a rank: an operator or a communication.
type Call struct {
	Rank int
	Step *Step
	// Name is the name in the run. Role is the name without the numbers of layers, experts and calls. Layer is the
	// number of the layer, -1 for none.
	Name, Role string
	Layer      int
	// Module is the module around a communication, empty if unknown. Script is the line of the user's script.
	Module, Script string
	// In, Params and Out are its tensors. Parameters that FindParameters found are inputs too.
	In, Params, Out []*Tensor
	// Comm describes a communication, nil for an operator.
	Comm *Comm

	Place int // in the order of the rank
	// Unplaced: the position is a guess. The order comes from the tensors that calls read, and no call of the rank
	// wrote some input of this call.
	Unplaced bool
}

// Expert returns the number of the expert of a call, -1 for none.
func (c *Call) Expert() int {
	_, _, expert := ParseName(c.Name)
	return expert
}

// LayerOf returns the layer of a call; a communication has the layer of the module around it.
func (c *Call) LayerOf() int {
	if c.Layer < 0 && c.Module != "" {
		_, layer, _ := ParseName(c.Module)
		return layer
	}
	return c.Layer
}

// Tensor is a tensor of a call.
type Tensor struct {
	// Call is the call with the tensor among its inputs, parameters or outputs; Name is the name in the run.
	Call *Call
	Name string
	// Path is the index or the keyword in the call, such as 0 or 1.0.
	Path string
	// DType is the element type in the program, which may be stored in a wider type; Undefined until the file is
	// opened.
	DType tensor.DType
	Shape tensor.Shape
	// Digest is the digest of the elements in the dump, empty for none. Digests of different
	// kinds have different lengths.
	Digest string
	// File is the stored tensor, nil if only the digest is known.
	File *dumpdir.Tensor
	// Data has the elements of a tensor in memory, nil for other tensors.
	Data *Values
	// Pieces are the tensors of ranks from which a tensor of the reference is joined, nil for a tensor in a single
	// file. Loose: the positions of the pieces are not known yet.
	Pieces []Piece
	Loose  bool
	// Sources are the tensors of ranks that a tensor of a joined reference replaces.
	Sources []*Tensor

	mark    string // digest of the elements, empty until it is computed
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
	uniform // all are equal, or some are NaN or infinite
)

// IsStored reports whether the elements can be read.
func (t *Tensor) IsStored() bool { return t.File != nil || t.Data != nil }

// Elements returns the number of elements.
func (t *Tensor) Elements() int64 { return t.Shape.Elements() }

// CountElements returns the number of elements of all tensors.
func CountElements(all []*Tensor) int64 {
	var n int64
	for _, t := range all {
		n += t.Elements()
	}
	return n
}

// DTypeOf returns the type of all tensors, false if types differ.
func DTypeOf(all []*Tensor) (d tensor.DType, same bool) {
	for i, t := range all {
		if i > 0 && t.DType != d {
			return d, false
		}
		d = t.DType
	}
	return d, true
}

// Tensors returns all tensors of a call, each once, the parameters first.
func (c *Call) Tensors() []*Tensor {
	all := slices.Concat(c.Params, c.In, c.Out)
	params := len(c.Params)
	return append(all[:params:params], slices.DeleteFunc(all[params:], func(t *Tensor) bool { return slices.Contains(c.Params, t) })...)
}

// Place names the tensor in its call, such as input 0.
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

// Label names a parameter in its call: weight, or input 1 if the dump does not name it.
func (t *Tensor) Label() string {
	if slices.Contains(t.Call.In, t) {
		return t.Place()
	}
	return t.Path
}

// IsInteger reports whether a tensor is a list of integers.
func (t *Tensor) IsInteger() bool {
	return (t.DType == tensor.Int64 || t.DType == tensor.Int32) && t.Elements() > 1
}

// IsSummed reports whether a tensor is the result of a summing communication.
func (t *Tensor) IsSummed() bool {
	m := t.Call.Comm
	return m != nil && m.API.Sums() && slices.Contains(m.Out, t)
}

// New sorts the steps into the order of the run, and numbers their calls.
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

// RoundOf returns the coordinates of a rank of the step.
func (s *Step) RoundOf(rank int) dumpdir.Coordinates {
	if at, ok := s.rounds[rank]; ok {
		return at
	}
	at := s.At
	at.Rank = strconv.Itoa(rank)
	return at
}

// Ranks returns the ranks of a step, ascending.
func (s *Step) Ranks() []int { return slices.Sorted(maps.Keys(s.Calls)) }

// AllCalls iterates over the calls of a step, rank by rank.
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

// AllCalls iterates over the calls of all steps.
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

// GroupBy groups values by key, in the order of the values. Values whose key is not ok are left out.
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
