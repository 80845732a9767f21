package pairing

import (
	"cmp"
	"slices"

	"dumptool/internal/tensor"
)

// Fusion is a graph of the NPU's compiler that tells which operator of the
// user's model a result stands for.
type Fusion struct {
	Ops []FusionOp
	// Warnings are oddities that do not keep the graph from being used.
	Warnings []string

	index nameIndex
}

// FusionOp is an operator of the compiled graph.
type FusionOp struct {
	Name, Type string
	// ID is the place in the execution order of its graph.
	ID    int64
	HasID bool
	// Graph is the index of the graph in the file.
	Graph int
	// Inputs are the producers of the inputs; Op is empty for an input that is
	// not connected. Control edges are left out.
	Inputs  []Producer
	Outputs []Origin
	// Originals are the operators of the model that were fused into this one.
	Originals []string
	// L1Group is the number of the L1 fusion, empty when there is none.
	L1Group string
	// MultiOp is set for the parts that an operator of the model was split into.
	MultiOp bool
}

// Origin is a result of the user's model.
type Origin struct {
	Op     string // empty when the graph names none
	Output int
	Format string // empty when the graph names none
	Shape  tensor.Shape
}

// Producer is an output that another operator consumes.
type Producer struct {
	Op     string
	Output int // -1 when unknown
}

// find returns the operator with the first of names that the graph has.
func (f *Fusion) find(names ...string) *FusionOp {
	if i, ok := f.index.find(names...); ok {
		return &f.Ops[i]
	}
	return nil
}

// Origin returns the result of the model that an output of an operator of the
// NPU stands for; names are the operator's, exact or as in file names.
func (f *Fusion) Origin(output int, names ...string) (Origin, bool) {
	op := f.find(names...)
	if op == nil || output < 0 || output >= len(op.Outputs) || op.Outputs[output].Op == "" {
		return Origin{}, false
	}
	return op.Outputs[output], true
}

// InputOrigin returns the result of the model that an input of an operator of
// the NPU stands for: that of its producer. Operators that only change the
// element type or the layout are looked through when they have no origin.
func (f *Fusion) InputOrigin(input int, names ...string) (Origin, bool) {
	op := f.find(names...)
	// A cycle of such operators ends the walk.
	for range f.Ops {
		if op == nil || input < 0 || input >= len(op.Inputs) {
			return Origin{}, false
		}
		from := op.Inputs[input]
		if origin, ok := f.Origin(from.Output, from.Op); ok {
			return origin, true
		}
		op, input = f.find(from.Op), 0
		if op == nil || op.Type != "Cast" && op.Type != "TransData" {
			return Origin{}, false
		}
	}
	return Origin{}, false
}

// Graph returns the producers of every operator.
func (f *Fusion) Graph() *Graph {
	g := new(Graph)
	for i := range f.Ops {
		g.know(f.Ops[i].Name)
		for _, p := range f.Ops[i].Inputs {
			if p.Op != "" {
				g.add(f.Ops[i].Name, p)
			}
		}
	}
	return g
}

// order returns the names of the operators in execution order: by graph, id,
// and place in the file. Operators without id come last in their graph.
func (f *Fusion) order() []string {
	sorted := make([]*FusionOp, len(f.Ops))
	for i := range f.Ops {
		sorted[i] = &f.Ops[i]
	}
	slices.SortStableFunc(sorted, func(a, b *FusionOp) int {
		if a.HasID != b.HasID && a.Graph == b.Graph {
			if a.HasID {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Graph, b.Graph), cmp.Compare(a.ID, b.ID))
	})
	names := make([]string, len(sorted))
	for i, op := range sorted {
		names[i] = op.Name
	}
	return names
}
