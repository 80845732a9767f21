package diagnose

import (
	"cmp"
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/record"
)

// Source is a tensor that an operator reads.
type Source struct {
	Op     string // the operator that makes it
	Output int    // which output of it, -1 if that is not known
}

// Graph is what operators read, by their name. An operator with an empty list is
// known to have no inputs; of one that is not in the graph nothing is known.
type Graph map[string][]Source

// Network is what is known of the operators of a round besides their rows.
type Network struct {
	// Graph may be nil, may name unknown operators, and may have cycles.
	Graph Graph
	// Within are the operators that run inside of another one, a module: it is none to
	// suspect where one of them is bad.
	Within map[string][]string
	// Ordered is set where the order of the rows is that of the execution.
	Ordered bool
	// Read reads the result and the noise of a row where the rows have something else in
	// their place, which says that there are some: they take most of the memory.
	Read func(index int) (metrics.Packed, noise.Packed)
	// AnyClass is set where NaN and infinities on one side are no errors.
	AnyClass bool
}

// operator is the rows of one operator.
type operator struct {
	name    string
	order   int    // of its first row
	outputs []*row // that were compared
	inputs  []*row // of its own that were compared
	sources resolved
}

// resolved is what is known about the inputs of an operator.
type resolved struct {
	rows     []*row
	inferred bool     // from the execution order
	through  []string // operators in between that were not compared
}

// network is the operators of a round with what they read.
type network struct {
	Network
	rows      []row
	order     []*row      // the rows in execution order
	operators []*operator // the same
	byName    map[string]*operator
}

// newNetwork makes all that the judgement of the rows needs.
func newNetwork(rows []record.Row, evidence []Evidence, known Network) *network {
	n := &network{Network: known, rows: make([]row, len(rows)), order: make([]*row, 0, len(rows)), byName: make(map[string]*operator, len(rows))}
	results := &results{read: known.Read}
	for i := range rows {
		n.rows[i] = row{Row: &rows[i], Evidence: &evidence[i], index: i, results: results}
		n.order = append(n.order, &n.rows[i])
	}
	slices.SortStableFunc(n.order, func(a, b *row) int { return cmp.Compare(a.Order, b.Order) })
	n.group()
	n.resolve()
	for _, r := range n.order {
		r.inputs = &r.operator.sources
		if own := r.operator.inputs; !r.isInput() && len(own) > 0 {
			r.inputs = &resolved{rows: own}
		}
		if inside := n.inside(r); len(inside) > 0 {
			more := *r.inputs
			more.rows = slices.Concat(more.rows, inside)
			r.inputs = &more
		}
		r.numbers = measure(r.inputs.rows)
		r.Row.Inputs = nil
		for _, in := range r.inputs.rows {
			if !r.inputs.inferred && in != r {
				r.Row.Inputs = append(r.Row.Inputs, in.index)
			}
		}
	}
	n.findDuplicates()
	for _, r := range n.order {
		r.rounding = r.isRounding()
	}
	return n
}

// group joins the rows to operators, in execution order.
func (n *network) group() {
	for _, r := range n.order {
		o := n.byName[r.Op]
		if o == nil {
			o = &operator{name: r.Op, order: r.Order}
			n.byName[r.Op] = o
			n.operators = append(n.operators, o)
		}
		r.operator = o
		switch {
		case !r.failed() && !r.good():
		case r.isInput():
			o.inputs = append(o.inputs, r)
		default:
			o.outputs = append(o.outputs, r)
		}
	}
}

// inside are the outputs of what runs inside of the operator of an output.
func (n *network) inside(r *row) (rows []*row) {
	if r.isInput() {
		return nil
	}
	for _, name := range n.Within[r.Op] {
		if o := n.byName[name]; o != nil && o != r.operator {
			rows = append(rows, o.outputs...)
		}
	}
	return rows
}

// resolve finds the inputs of every operator.
func (n *network) resolve() {
	var before *operator // the last compared one
	for _, o := range n.operators {
		if _, known := n.Graph[o.name]; known {
			o.sources = n.search(o)
		} else if n.Ordered && before != nil && before.order < o.order {
			o.sources = resolved{rows: before.outputs, inferred: true}
		}
		if len(o.outputs) > 0 {
			before = o
		}
	}
}

// searchLimit bounds the operators without compared outputs between an operator
// and its inputs; it keeps the time linear.
const searchLimit = 256

// search walks the graph upwards from an operator to compared outputs, through
// operators that have none: copies are never dumped.
func (n *network) search(o *operator) (found resolved) {
	visited := map[string]bool{o.name: true}
	for queue := slices.Clone(n.Graph[o.name]); len(queue) > 0; {
		source := queue[0]
		queue = queue[1:]
		producer := n.byName[source.Op]
		if source.Op == o.name {
			continue
		}
		if producer != nil && len(producer.outputs) > 0 {
			found.rows = append(found.rows, producer.output(source.Output)...)
			continue
		}
		if visited[source.Op] {
			continue
		}
		visited[source.Op] = true
		if further := n.Graph[source.Op]; len(visited) <= searchLimit && len(further) <= searchLimit {
			found.through = append(found.through, source.Op)
			queue = append(queue, further...)
		}
	}
	slices.SortFunc(found.rows, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.index, b.index))
	})
	found.rows = slices.Compact(found.rows)
	return found
}

// output returns the row of one output, all outputs if it is not known.
func (o *operator) output(output int) []*row {
	for k, r := range o.outputs {
		if r.Output == output {
			return o.outputs[k : k+1]
		}
	}
	return o.outputs
}
