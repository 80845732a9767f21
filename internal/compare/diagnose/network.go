package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/record"
	"dumptool/internal/compare/verdict"
	"dumptool/internal/finding"
	"dumptool/internal/optype"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// Network describes the operators of a round besides their rows.
type Network struct {
	// Graph may be nil, may name unknown operators, and may have cycles.
	Graph record.Flow
	// Within are the operators that run inside of another one, a module: it is none to
	// suspect where one of them is bad.
	Within map[string][]string
	// Ordered: the rows are in the order of execution.
	Ordered bool
	// AnyClass: NaN and infinities on one side are no errors.
	AnyClass bool
	// HF32 says whether products of float32 are made of inputs of 11 bits.
	HF32 HF32
	// Flow says what may tell who feeds whom besides the graph.
	Flow FlowFrom
	// Across: the rows belong to several rounds, the ranks of a step. The graph
	// and Within have the operators by their Key then.
	Across bool
}

// Key names an operator among the operators of several rounds.
func Key(op, round string) string { return op + "@" + round }

// key names the operator of a row.
func (n *Network) key(row *record.Row) string {
	if n.Across {
		return Key(row.Op, row.Round)
	}
	return row.Op
}

// operator is the rows of one operator.
type operator struct {
	name  string
	index int // in execution order
	// The rows that were compared: those of inputs of its own, and the others.
	inputs, outputs []*row
	// sources are the rows that it reads, as far as that is known, through the operators
	// without compared outputs between it and them. within are those that run inside of it.
	sources  []*row
	through  []string
	within   []*operator
	known    bool // the graph has it
	inferred bool // the sources are, from the execution order
	looped   bool // it comes before what it reads
	lost     bool // an input, or rows of it, are nowhere in the reference
	visited  bool // by the walk, which has finished with the operator where passed is set
	passed   bool
}

// resolved describes the inputs of a row.
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
	walked    []*operator // the same, each after those that it reads
	// made are the outputs whose noise is known, in the order in which they are judged.
	made []*row
}

// newNetwork makes all that the judgement of the rows needs.
func newNetwork(rows []record.Row, known Network) *network {
	n := &network{Network: known, rows: make([]row, len(rows)), order: make([]*row, 0, len(rows))}
	for i := range rows {
		n.rows[i] = n.newRow(i, &rows[i])
		n.order = append(n.order, &n.rows[i])
	}
	slices.SortStableFunc(n.order, func(a, b *row) int { return cmp.Compare(a.source.Order, b.source.Order) })
	for place, r := range n.order {
		r.place = place
	}
	n.resolve(n.group())
	n.findProducers()
	n.findDuplicates()
	n.findSwapped()
	for _, r := range n.order {
		r.rounding = r.isRounding()
	}
	return n
}

// walk lists the operators so that each comes after those that it reads, in execution
// order where nothing else decides. One of a cycle comes before what it reads; it is looped.
func (n *network) walk() []*operator {
	walked := make([]*operator, 0, len(n.operators))
	var visit func(*operator)
	visit = func(o *operator) {
		o.visited = true
		if !o.inferred { // an earlier row is not a producer just by its place in the order
			for _, r := range o.sources {
				switch source := r.operator; {
				case !source.visited:
					visit(source)
				case !source.passed && source != o:
					o.looped = true
				}
			}
		}
		o.passed = true
		walked = append(walked, o)
	}
	for _, o := range n.operators {
		if !o.visited {
			visit(o)
		}
	}
	return walked
}

// group joins the rows to operators, in execution order. It returns them by name.
func (n *network) group() map[string]*operator {
	all := make(map[string]*operator, len(n.rows))
	for _, r := range n.order {
		name := n.key(r.source)
		o := all[name]
		if o == nil {
			o = &operator{name: name, index: len(n.operators)}
			n.operators = append(n.operators, o)
			all[o.name] = o
		}
		r.operator = o
		o.lost = o.lost || r.isInput && (r.source.Part.IsLost() || finding.Has(r.source.Pair.Reasons, finding.NotLocated))
		switch {
		case !r.failed() && !r.good():
		case r.isInput:
			o.inputs = append(o.inputs, r)
		default:
			o.outputs = append(o.outputs, r)
		}
	}
	return all
}

// resolve finds the inputs of every operator. Those of one place in the execution order
// are no inputs of each other that can be inferred.
func (n *network) resolve(all map[string]*operator) {
	first := make([]int, len(n.operators)) // the place that the first row says
	for _, r := range slices.Backward(n.order) {
		first[r.operator.index] = r.source.Order
	}
	var before *operator // the last compared one
	for i, o := range n.operators {
		if _, o.known = n.Graph[o.name]; o.known {
			n.search(all, o)
		} else if n.Ordered && before != nil && first[before.index] < first[i] {
			o.sources, o.inferred = before.outputs, true
		}
		if len(o.outputs) > 0 {
			before = o
		}
		for _, name := range n.Within[o.name] {
			if inside := all[name]; inside != nil && inside != o {
				o.within = append(o.within, inside)
			}
		}
	}
}

// resolved is what is known about the inputs of the row: those of its operator that were
// compared, else what that reads, and the outputs of what runs inside of it.
func (r *row) resolved() resolved {
	o := r.operator
	in := resolved{rows: o.sources, inferred: o.inferred, through: o.through}
	if !r.isInput && len(o.inputs) > 0 {
		in = resolved{rows: o.inputs}
	}
	if inside := r.inside(); len(inside) > 0 {
		in.rows = slices.Concat(in.rows, inside)
	}
	return in
}

// inside are the outputs of what runs inside of the operator of an output.
func (r *row) inside() (rows []*row) {
	for _, o := range r.operator.within {
		if !r.isInput {
			rows = append(rows, o.outputs...)
		}
	}
	return rows
}

// links are the rows that the row is known to read, as indexes.
func (r *row) links() (rows []int) {
	in := r.resolved()
	for _, x := range in.rows {
		if x != r && !in.inferred {
			rows = append(rows, x.index)
		}
	}
	return rows
}

// searchLimit bounds the operators without compared outputs between an operator
// and its inputs; it keeps the time linear.
const searchLimit = 256

// search walks the graph upwards from an operator to compared outputs, through
// operators that have none: copies are never dumped.
func (n *network) search(all map[string]*operator, o *operator) {
	visited := map[string]bool{o.name: true}
	for queue := slices.Clone(n.Graph[o.name]); len(queue) > 0; {
		source := queue[0]
		queue = queue[1:]
		producer := all[source.Op]
		if source.Op == o.name {
			continue
		}
		switch {
		case producer == nil:
		case len(producer.outputs) > 0:
			o.sources = append(o.sources, producer.output(source.Output)...)
			continue
		case n.Across && len(producer.inputs) > 0: // it makes a summand
			o.sources = append(o.sources, producer.inputs...)
			continue
		}
		if visited[source.Op] {
			continue
		}
		visited[source.Op] = true
		if further := n.Graph[source.Op]; len(visited) <= searchLimit && len(further) <= searchLimit {
			o.through = append(o.through, source.Op)
			queue = append(queue, further...)
		}
	}
	slices.SortFunc(o.sources, func(a, b *row) int { return cmp.Compare(a.place, b.place) })
	o.sources = slices.Compact(o.sources)
}

// output returns the row of one output, all outputs if it is not known.
func (o *operator) output(output int) []*row {
	for k, r := range o.outputs {
		if r.source.Output == output {
			return o.outputs[k : k+1]
		}
	}
	return o.outputs
}

// row is one row under judgement.
type row struct {
	source   *record.Row
	network  *network
	operator *operator
	index    int // in the round
	place    int // in execution order
	status   record.Status
	isInput  bool
	compared bool
	typ      optype.Type // the properties of the type of the operator
	indices  bool        // integers that say where something is
	wasBad   bool        // before the judgement
	rounding bool        // fails by accumulated rounding only
	// Among its findings by limits are an error of calculation, bad inputs.
	hasCalcError, hasInputBad bool
	// noise describes the effect of rounding on the row, nil where it is unknown.
	noise *noise.Noise
	held  string          // the type of the values in an array of float32, where they have another one
	made  *verdict.Source // the row as a possible input of others, set for the latest rows only

	// producer is the output that an input is a copy of, nil where it is not known. misread
	// is the one that the NPU read in its place.
	producer, misread *row

	duplicates []finding.Finding  // that it is the tensor of other rows
	swapped    []finding.Finding  // that another row has its tensor, and the reverse
	known      *[]finding.Finding // the patterns, once they are asked for
	measure    *inputNumbers
}

// newRow is the row at an index.
func (n *network) newRow(index int, source *record.Row) row {
	r := row{source: source, network: n, index: index, status: source.Status, isInput: tensor.Kind(source.Kind).IsInput(),
		compared: source.Compared(), noise: source.Noise, typ: recompute.TypeOfOperator(source.OpType, source.Op)}
	if n.Across && strings.Contains(strings.ToLower(source.Op), ".router.") {
		r.typ.Indices |= 1 << source.Output // a router of tokens returns the indices of experts
	}
	r.indices = !r.isInput && r.noise != nil && r.noise.Type.Integer && r.typ.IsIndex(source.Output)
	r.wasBad = r.failed()
	return r
}

// failed reports whether the row is bad; one whose shapes differ is so without a
// result.
func (r *row) failed() bool {
	return r.status == record.Fail || r.status == record.ShapeMismatch || r.status == record.DTypeMismatch
}

// good reports whether the row was compared and is not bad.
func (r *row) good() bool {
	return r.status == record.Pass || r.status == record.Warn || r.status == record.Partial
}

// result is the result of the row, nil if it was not compared.
func (r *row) result() *metrics.Result { return r.source.Result }

// patterns are the known ways in which the row is bad, the most specific one first: those
// that its tensors show, and what other rows and the model say of it.
func (r *row) patterns() []finding.Finding {
	if r.known == nil {
		all := r.source.Patterns
		if r.wasBad {
			all = inserted(all, r.swapped)
		}
		if r.wasBad && r.compared {
			all = inserted(all, r.duplicates)
			all = finding.Merge(all, single(finding.ModelNaN, finding.High, modelNaN(r.result())))
		}
		r.known = &all
	}
	return *r.known
}

// inputNumbers are the worst metrics of the inputs of an operator.
type inputNumbers struct {
	meanRel, pearson metrics.Metric
	red              float64 // 0 where unknown
}

// numbers are the worst metrics of the inputs that have a result.
func (r *row) numbers() inputNumbers {
	if r.measure != nil {
		return *r.measure
	}
	in := new(inputNumbers)
	r.measure = in
	for _, x := range r.resolved().rows {
		res := x.result()
		if res == nil {
			continue
		}
		in.red = max(in.red, res.RED.Value())
		if m := res.MeanRel; m.Defined() && (!in.meanRel.Defined() || m.Value() > in.meanRel.Value()) {
			in.meanRel = m
		}
		if m := res.Pearson; m.Defined() && (!in.pearson.Defined() || m.Value() < in.pearson.Value()) {
			in.pearson = m
		}
	}
	return *in
}
