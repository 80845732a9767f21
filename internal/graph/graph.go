// Package graph reads files that say which operators there are and who feeds
// whom: the graph of the NPU's compiler, which also says what result of the
// user's model an operator stands for, and maps of consumers. All become one
// Graph.
package graph

import (
	"cmp"
	"slices"
	"sync"

	"dumptool/internal/filename"
	"dumptool/internal/tensor"
)

// Graph is operators and the data that flows between them.
type Graph struct {
	Ops []Op
	// Warnings are oddities that do not keep the graph from being used.
	Warnings []string

	index filename.Index
	// places finds operators by their names in the topological order, once placed.
	placed sync.Once
	places filename.Index
}

// Op is an operator of a graph. What its file does not say has the zero value.
type Op struct {
	Name, Type string
	// ID is the place in the execution order of its section.
	ID    int64
	HasID bool
	// Section is the index of the graph in a file with several.
	Section int
	// Inputs are the producers of the inputs; Op is empty for an input that is
	// not connected. Control edges are left out.
	Inputs  []Producer
	Outputs []Origin
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

// add adds an operator, unless there is one of that name; it returns the one of
// that name.
func (g *Graph) add(op Op) (at *Op, added bool) {
	i, added := g.index.Add(op.Name, len(g.Ops))
	if added {
		g.Ops = append(g.Ops, op)
	}
	return &g.Ops[i], added
}

// connect adds to the inputs of op an output of from.
func (g *Graph) connect(from, op string) {
	g.add(Op{Name: from})
	to, _ := g.add(Op{Name: op})
	to.Inputs = append(to.Inputs, Producer{from, -1})
}

// Find returns the operator with the first of names that the graph has, exact or
// as in file names; nil if it has none of them.
func (g *Graph) Find(names ...string) *Op {
	if i, ok := g.index.Find(names...); ok {
		return &g.Ops[i]
	}
	return nil
}

// Producers returns what feeds an operator, in the order of the inputs where
// that is known. An operator without producers reads what is fed to the network.
func (op *Op) Producers() []Producer {
	return slices.DeleteFunc(slices.Clone(op.Inputs), func(p Producer) bool { return p.Op == "" })
}

// Origin returns the result of the model that an output of an operator of the
// NPU stands for; names are the operator's, exact or as in file names.
func (g *Graph) Origin(output int, names ...string) (Origin, bool) {
	op := g.Find(names...)
	if op == nil || output < 0 || output >= len(op.Outputs) || op.Outputs[output].Op == "" {
		return Origin{}, false
	}
	return op.Outputs[output], true
}

// InputOrigin returns the result of the model that an input of an operator of
// the NPU stands for: that of its producer. Operators that only change the
// element type or the layout are looked through when they have no origin.
func (g *Graph) InputOrigin(input int, names ...string) (Origin, bool) {
	op := g.Find(names...)
	// A cycle of such operators ends the walk.
	for range g.Ops {
		if op == nil || input < 0 || input >= len(op.Inputs) {
			return Origin{}, false
		}
		from := op.Inputs[input]
		if origin, ok := g.Origin(from.Output, from.Op); ok {
			return origin, true
		}
		op, input = g.Find(from.Op), 0
		if op == nil || op.Type != "Cast" && op.Type != "TransData" {
			return Origin{}, false
		}
	}
	return Origin{}, false
}

// Order returns the names of the operators in execution order: by section, id,
// and place in the file. Operators without id come last in their section.
func (g *Graph) Order() []string {
	sorted := make([]*Op, len(g.Ops))
	for i := range g.Ops {
		sorted[i] = &g.Ops[i]
	}
	slices.SortStableFunc(sorted, func(a, b *Op) int {
		if a.HasID != b.HasID && a.Section == b.Section {
			if a.HasID {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Section, b.Section), cmp.Compare(a.ID, b.ID))
	})
	names := make([]string, len(sorted))
	for i, op := range sorted {
		names[i] = op.Name
	}
	return names
}
