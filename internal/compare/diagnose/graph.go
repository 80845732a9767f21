package diagnose

import "slices"

// Source is a tensor that an operator reads.
type Source struct {
	Op     string // the operator that makes it
	Output int    // which output of it, AnyOutput if that is not known
}

// AnyOutput stands for all outputs of an operator.
const AnyOutput = -1

// Graph tells what operators read, by their name. An operator that is there and
// reads nothing is known to have no inputs; of one that is not there nothing is
// known.
type Graph map[string][]Source

// FromConsumers turns a consumer map, from operators to those that read their
// outputs, into a graph.
func FromConsumers(consumers map[string][]string) Graph {
	g := make(Graph, len(consumers))
	for producer, readers := range consumers {
		if g[producer] == nil {
			g[producer] = nil
		}
		for _, reader := range readers {
			g[reader] = append(g[reader], Source{Op: producer, Output: AnyOutput})
		}
	}
	for op, sources := range g {
		slices.SortFunc(sources, func(a, b Source) int {
			switch {
			case a.Op < b.Op:
				return -1
			case a.Op > b.Op:
				return 1
			}
			return 0
		})
		g[op] = slices.Compact(sources)
	}
	return g
}

// operator is the rows of one operator in one round.
type operator struct {
	name    string
	order   int   // of its first row
	outputs []int // rows that were compared
	inputs  []int // rows of its own inputs that were compared
	sources resolved
}

// resolved is what is known about the inputs of an operator.
type resolved struct {
	rows     []int
	inferred bool     // from the execution order
	through  []string // operators in between that were not compared
}

// key tells operators apart.
type key struct{ round, name string }

// network is the operators of a run with what they read.
type network struct {
	ops       []Op
	graph     Graph
	order     []int // rows in execution order
	operators []*operator
	byName    map[key]*operator
	of        []*operator // of each row
	subjects  []subject   // of each row
}

// newNetwork groups the rows into operators, in execution order.
func newNetwork(ops []Op, graph Graph) *network {
	n := &network{
		ops: ops, graph: graph,
		order:  numbers(len(ops)),
		byName: make(map[key]*operator, len(ops)),
		of:     make([]*operator, len(ops)),
	}
	slices.SortStableFunc(n.order, func(a, b int) int { return compareInts(ops[a].Order, ops[b].Order) })
	for _, row := range n.order {
		op := &ops[row]
		k := key{op.Round, op.Name}
		o := n.byName[k]
		if o == nil {
			o = &operator{name: op.Name, order: op.Order}
			n.byName[k] = o
			n.operators = append(n.operators, o)
		}
		n.of[row] = o
		switch {
		case op.State == NotCompared:
		case op.Input:
			o.inputs = append(o.inputs, row)
		default:
			o.outputs = append(o.outputs, row)
		}
	}
	n.resolve()
	return n
}

func compareInts(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// resolve finds the inputs of every operator.
func (n *network) resolve() {
	previous := make(map[string]*operator) // the last compared operator of a round
	done := make(map[*operator]bool, len(n.operators))
	for _, row := range n.order {
		o, round := n.of[row], n.ops[row].Round
		if done[o] {
			continue
		}
		done[o] = true
		if _, known := n.graph[o.name]; known {
			o.sources = n.search(o, round)
		} else if before := previous[round]; before != nil && before.order < o.order {
			o.sources = resolved{rows: before.outputs, inferred: true}
		}
		if len(o.outputs) > 0 {
			previous[round] = o
		}
	}
}

// searchLimit bounds the operators without compared outputs that are passed on
// the way to inputs; it keeps the time linear.
const searchLimit = 256

// search walks from an operator up to compared outputs, through operators that
// have none: copies are never dumped.
func (n *network) search(o *operator, round string) (r resolved) {
	visited := map[string]bool{o.name: true}
	queue := slices.Clone(n.graph[o.name])
	for len(queue) > 0 {
		source := queue[0]
		queue = queue[1:]
		producer := n.byName[key{round, source.Op}]
		if source.Op == o.name {
			continue
		}
		if producer != nil && len(producer.outputs) > 0 {
			r.rows = append(r.rows, n.rowsOf(producer, source.Output)...)
			continue
		}
		if visited[source.Op] {
			continue
		}
		visited[source.Op] = true
		if further := n.graph[source.Op]; len(visited) <= searchLimit && len(further) <= searchLimit {
			r.through = append(r.through, source.Op)
			queue = append(queue, further...)
		}
	}
	slices.SortFunc(r.rows, func(a, b int) int {
		if c := compareInts(n.ops[a].Order, n.ops[b].Order); c != 0 {
			return c
		}
		return compareInts(a, b)
	})
	r.rows = slices.Compact(r.rows)
	return r
}

// rowsOf returns the row of one output, all outputs if it is not known.
func (n *network) rowsOf(producer *operator, output int) []int {
	for i, row := range producer.outputs {
		if n.ops[row].Output == output {
			return producer.outputs[i : i+1]
		}
	}
	return producer.outputs
}

// inputsOf returns what is known about the inputs of a row: the operator's own
// inputs where they were compared, otherwise the outputs that it reads.
func (n *network) inputsOf(row int) resolved {
	o := n.of[row]
	if !n.ops[row].Input && len(o.inputs) > 0 {
		return resolved{rows: o.inputs}
	}
	return o.sources
}
