package diagnose

import (
	"cmp"
	"slices"

	"dumptool/internal/compare/record"
)

// Source is a tensor that an operator reads.
type Source struct {
	Op     string `json:"op"`     // the operator that makes it
	Output int    `json:"output"` // which output of it, -1 if that is not known
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
	// AnyClass is set where NaN and infinities on one side are no errors.
	AnyClass bool
}

// operator is the rows of one operator. The numbers are places in the lists of its network.
type operator struct {
	network *network
	index   int32
	// The rows that were compared, the first of them inputs of its own.
	first, firstOutput, end int32
	// What it reads, as far as that is known.
	firstSource, endSource int32
	known                  bool // the graph has it
	inferred               bool // the sources are, from the execution order
	looped                 bool // it comes before what it reads
	state                  walkState
}

// tensors are the compared rows of the operator, inputs those of its own inputs, outputs
// the others.
func (o *operator) tensors() []*row { return o.network.list(o.first, o.end) }
func (o *operator) inputs() []*row  { return o.network.list(o.first, o.firstOutput) }
func (o *operator) outputs() []*row { return o.network.list(o.firstOutput, o.end) }

// sources are the rows that it reads.
func (o *operator) sources() []*row { return o.network.list(o.firstSource, o.endSource) }

// resolved is what is known about the inputs of a row.
type resolved struct {
	rows     []*row
	inferred bool     // from the execution order
	through  []string // operators in between that were not compared
}

// network is the operators of a round with what they read.
type network struct {
	Network
	source    Rows
	rows      []row
	order     []*row     // the rows in execution order
	operators []operator // the same
	lists     []*row     // of operators, one behind the other
	// What few rows have: the operators without compared outputs between an operator and
	// its inputs, those that run inside of it, and whose tensor a row has.
	through    map[*operator][]string
	within     map[*operator][]*operator
	duplicates map[*row][]record.Finding
	// made are the outputs whose noise is known, in the order in which they are judged, and
	// related the inputs of rows that are known by their values.
	made    []*row
	related map[*row][]*row
	views   [views]view
}

// list are the rows of a list.
func (n *network) list(first, end int32) []*row { return n.lists[first:end:end] }

// newNetwork makes all that the judgement of the rows needs.
func newNetwork(rows Rows, known Network) *network {
	count := rows.Len()
	n := &network{Network: known, source: rows, rows: make([]row, count), order: make([]*row, 0, count)}
	places := make([]int, count) // as the rows say
	for i := range n.rows {
		n.rows[i], places[i] = n.newRow(i), rows.Row(i).Order
		n.order = append(n.order, &n.rows[i])
	}
	slices.SortStableFunc(n.order, func(a, b *row) int { return cmp.Compare(places[a.index], places[b.index]) })
	for place, r := range n.order {
		r.place = int32(place)
	}
	n.resolve(n.group(), places)
	n.findDuplicates()
	for _, r := range n.order {
		r.rounding = r.isRounding()
	}
	return n
}

// named are operators by their names, and the names of the operators.
type named struct {
	operators map[string]*operator
	names     []string
}

// group joins the rows to operators, in execution order.
func (n *network) group() *named {
	all := &named{operators: make(map[string]*operator, len(n.rows)), names: make([]string, 0, len(n.rows))}
	n.operators = make([]operator, 0, len(n.rows)) // none moves
	counts, compared := make([]int32, len(n.rows)), 0
	for _, r := range n.order {
		name := n.source.Row(int(r.index)).Op
		o := all.operators[name]
		if o == nil {
			n.operators = append(n.operators, operator{network: n, index: int32(len(n.operators))})
			o = &n.operators[len(n.operators)-1]
			all.operators[name], all.names = o, append(all.names, name)
		}
		r.operator = o
		if r.failed() || r.good() {
			counts[o.index]++
			compared++
		}
	}
	n.lists = make([]*row, compared)
	at := int32(0)
	for i := range n.operators {
		o := &n.operators[i]
		o.first, o.firstOutput, o.end = at, at, at
		at += counts[i]
	}
	for _, inputs := range []bool{true, false} {
		for _, r := range n.order {
			if o := r.operator; r.isInput == inputs && (r.failed() || r.good()) {
				n.lists[o.end] = r
				o.end++
				if inputs {
					o.firstOutput++
				}
			}
		}
	}
	return all
}

// resolve finds the inputs of every operator, whose rows have places in the execution
// order: those of one place are no inputs of each other that can be inferred.
func (n *network) resolve(all *named, places []int) {
	first := make([]int, len(n.operators)) // the place of the first row
	for _, r := range slices.Backward(n.order) {
		first[r.operator.index] = places[r.index]
	}
	before := -1 // the last compared one
	for i := range n.operators {
		o := &n.operators[i]
		if _, o.known = n.Graph[all.names[i]]; o.known {
			n.search(all, o)
		} else if n.Ordered && before >= 0 && first[before] < first[i] {
			b := &n.operators[before]
			o.firstSource, o.endSource, o.inferred = b.firstOutput, b.end, true
		}
		if len(o.outputs()) > 0 {
			before = i
		}
		for _, name := range n.Within[all.names[i]] {
			if inside := all.operators[name]; inside != nil && inside != o {
				if n.within == nil {
					n.within = make(map[*operator][]*operator)
				}
				n.within[o] = append(n.within[o], inside)
			}
		}
	}
}

// resolved is what is known about the inputs of the row: those of its operator that were
// compared, else what that reads, and the outputs of what runs inside of it.
func (r *row) resolved() resolved {
	o := r.operator
	in := resolved{rows: o.sources(), inferred: o.inferred, through: o.network.through[o]}
	if own := o.inputs(); !r.isInput && len(own) > 0 {
		in = resolved{rows: own}
	}
	if inside := r.inside(); len(inside) > 0 {
		in.rows = slices.Concat(in.rows, inside)
	}
	return in
}

// inside are the outputs of what runs inside of the operator of an output.
func (r *row) inside() (rows []*row) {
	if r.isInput {
		return nil
	}
	for _, o := range r.network().within[r.operator] {
		rows = append(rows, o.outputs()...)
	}
	return rows
}

// links are the rows that the row is known to read, as indexes.
func (r *row) links() (rows []int) {
	in := r.resolved()
	if in.inferred {
		return nil
	}
	for _, x := range in.rows {
		if x != r {
			rows = append(rows, int(x.index))
		}
	}
	return rows
}

// searchLimit bounds the operators without compared outputs between an operator
// and its inputs; it keeps the time linear.
const searchLimit = 256

// search walks the graph upwards from an operator to compared outputs, through
// operators that have none: copies are never dumped.
func (n *network) search(all *named, o *operator) {
	name := all.names[o.index]
	visited := map[string]bool{name: true}
	var found []*row
	var through []string
	for queue := slices.Clone(n.Graph[name]); len(queue) > 0; {
		source := queue[0]
		queue = queue[1:]
		producer := all.operators[source.Op]
		if source.Op == name {
			continue
		}
		if producer != nil && len(producer.outputs()) > 0 {
			found = append(found, producer.output(source.Output)...)
			continue
		}
		if visited[source.Op] {
			continue
		}
		visited[source.Op] = true
		if further := n.Graph[source.Op]; len(visited) <= searchLimit && len(further) <= searchLimit {
			through = append(through, source.Op)
			queue = append(queue, further...)
		}
	}
	slices.SortFunc(found, func(a, b *row) int { return cmp.Compare(a.place, b.place) })
	o.firstSource = int32(len(n.lists))
	n.lists = append(n.lists, slices.Compact(found)...)
	o.endSource = int32(len(n.lists))
	if len(through) > 0 {
		if n.through == nil {
			n.through = make(map[*operator][]string)
		}
		n.through[o] = through
	}
}

// output returns the row of one output, all outputs if it is not known.
func (o *operator) output(output int) []*row {
	outputs := o.outputs()
	for k, r := range outputs {
		if int(r.output) == output {
			return outputs[k : k+1]
		}
	}
	return outputs
}
