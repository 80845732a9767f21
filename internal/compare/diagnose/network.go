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
	"dumptool/internal/format/msprobe"
	"dumptool/internal/optype"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// Network holds facts about a round beyond its rows: the graph, the order, and options of the judgement.
type Network struct {
	// Graph may be nil, may name unknown operators, and may have cycles.
	Graph record.Flow
	// InnerOperators lists, for each module, the operators that run inside. A module is no suspect if an
	// operator inside it is bad.
	InnerOperators map[string][]string
	// IsOrdered: the rows are in the order of execution.
	IsOrdered bool
	// IgnoresClass: NaN and infinities on one side are no errors.
	IgnoresClass bool
	// HF32 says whether products of float32 have inputs of 11 bits.
	HF32 HF32
	// Flow says which sources besides the graph give the data flow.
	Flow FlowFrom
	// IsLaterStep: a step of an optimiser may have changed the parameters before.
	IsLaterStep bool
	// Past has the facts that earlier steps show.
	Past record.Past
	// IsPartial: operators were left out, by options or in the dump. What the first dumped operator reads may have been
	// computed.
	IsPartial bool
	// Peers are the rows of other ranks from which the results of communications were computed.
	Peers record.Peers
	// HasSeveralRounds: the rows belong to several rounds, the ranks of a step. Graph and Within then
	// use Key for operators.
	HasSeveralRounds bool
}

// OperatorKey names an operator of one of several rounds.
func OperatorKey(op, round string) string { return op + "@" + round }

// key returns the name of a row's operator in Graph and Within.
func (n *Network) key(row *record.Row) string {
	if n.HasSeveralRounds {
		return OperatorKey(row.Op, row.Round)
	}
	return row.Op
}

// operator has the rows of one operator.
type operator struct {
	name  string
	index int // in execution order
	// The compared rows: its own inputs, and its outputs.
	inputs, outputs []*row
	// sources are the known rows that it reads, possibly through operators without compared
	// outputs (bypassed). inner are the operators that run inside it.
	sources        []*row
	bypassed       []string
	inner          []*operator
	container      *operator // the innermost module around it, nil for none
	forward        *operator // of a backward call, nil for none
	isKnown        bool      // the sources are known, from the graph or from equal contents
	isInferred     bool      // sources were inferred from the execution order
	isLooped       bool      // it comes before one of its producers in the walk, because of a cycle
	lacksReference bool      // the reference lacks an input, or rows of an input
	// hasUnmadeInput: an input that only one side holds equals no output before it.
	hasUnmadeInput bool
	isVisited      bool // the walk has reached the operator
	isFinished     bool // the walk has judged the operator
}

// lacksInputs reports whether a module was dumped without inputs: msprobe leaves out the tensors that a module takes by
// keyword.
func (o *operator) lacksInputs() bool {
	return msprobe.IsModule(o.name) && !slices.ContainsFunc(o.inputs, func(r *row) bool { return r.source.Kind == string(tensor.Input) })
}

// resolvedInputs has the inputs of a row.
type resolvedInputs struct {
	rows       []*row
	isInferred bool     // from the execution order
	bypassed   []string // operators in between without compared outputs
}

// dataFlow has the operators of a round and their inputs.
type dataFlow struct {
	Network
	rows      []row
	order     []*row      // the rows in execution order
	operators []*operator // in execution order
	// firstOutput is the position of the first output. updated is the position of the first row of a backward pass or an
	// optimiser, after which parameters may have changed; -1 without such a row.
	firstOutput, firstUpdate int
	hasMatchedRows           bool        // --match-rows matched the rows of some tensor
	walkOrder                []*operator // each after its producers
	// judgedOutputs are the outputs with known noise, in the order of judgement.
	judgedOutputs []*row
}

// newNetwork prepares the judgement of the rows.
func newNetwork(rows []record.Row, known Network) *dataFlow {
	n := &dataFlow{Network: known, rows: make([]row, len(rows)), order: make([]*row, 0, len(rows))}
	for i := range rows {
		n.rows[i] = n.newRow(i, &rows[i])
		n.hasMatchedRows = n.hasMatchedRows || n.rows[i].isMatched()
		n.order = append(n.order, &n.rows[i])
	}
	slices.SortStableFunc(n.order, func(a, b *row) int { return cmp.Compare(a.source.Order, b.source.Order) })
	n.firstOutput, n.firstUpdate = len(n.order), -1
	for place, r := range n.order {
		r.place = place
		if !r.isInput {
			n.firstOutput = min(n.firstOutput, place)
		}
		if n.firstUpdate < 0 && r.isInUpdate() {
			n.firstUpdate = place
		}
	}
	n.resolve(n.group())
	n.findForwards()
	n.findIndices()
	n.findProducers()
	n.findInner()
	n.IsPartial = n.IsPartial || !n.HasSeveralRounds && !n.IsLaterStep && n.isPartial()
	n.acceptLengths()
	n.findDuplicates()
	n.findSwapped()
	for _, r := range n.order {
		r.failsByRounding = r.isRounding()
	}
	return n
}

// isPartial reports whether the dump leaves out operators of the forward pass.
func (n *dataFlow) isPartial() bool {
	var c record.Completeness
	for _, o := range n.operators {
		if len(o.inner) > 0 || len(o.outputs) == 0 {
			continue
		}
		if o.outputs[0].isInUpdate() {
			break
		}
		open := false
		for _, r := range o.inputs {
			if r.noise != nil && !r.noise.Type.Integer && !r.isParameter() {
				if open = r.producer == nil; !open {
					break
				}
			}
		}
		c.Add(o.name, open && (o.isInferred || len(o.sources) == 0))
	}
	return c.IsPartial()
}

// walk lists each operator after its producers, otherwise in execution order. In a cycle one
// operator comes before its producer; it is looped.
func (n *dataFlow) walk() []*operator {
	walked := make([]*operator, 0, len(n.operators))
	var visit func(*operator)
	visit = func(o *operator) {
		o.isVisited = true
		if !o.isInferred { // isInferred sources do not determine the order
			for _, r := range o.sources {
				switch source := r.operator; {
				case !source.isVisited:
					visit(source)
				case !source.isFinished && source != o:
					o.isLooped = true
				}
			}
		}
		o.isFinished = true
		walked = append(walked, o)
	}
	for _, o := range n.operators {
		if !o.isVisited {
			visit(o)
		}
	}
	return walked
}

// group groups the rows by operator, in execution order, and returns the operators by name.
func (n *dataFlow) group() map[string]*operator {
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
		o.lacksReference = o.lacksReference || r.isInput && (r.source.Part.IsLost() || finding.Has(r.source.Pair.Reasons, finding.NotLocated))
		switch {
		case !r.hasFailed() && !r.isGood():
		case r.isInput:
			o.inputs = append(o.inputs, r)
		default:
			o.outputs = append(o.outputs, r)
		}
	}
	return all
}

// resolve finds the inputs of every operator. Operators at the same place in the execution
// order are not inferred to be inputs of each other.
func (n *dataFlow) resolve(all map[string]*operator) {
	first := make([]int, len(n.operators)) // the place of the first row
	for _, r := range slices.Backward(n.order) {
		first[r.operator.index] = r.source.Order
	}
	var before *operator // the last operator with compared outputs
	for i, o := range n.operators {
		if _, o.isKnown = n.Graph[o.name]; o.isKnown {
			n.search(all, o)
		} else if n.IsOrdered && before != nil && first[before.index] < first[i] {
			o.sources, o.isInferred = before.outputs, true
		}
		if len(o.outputs) > 0 {
			before = o
		}
		for _, name := range n.InnerOperators[o.name] {
			if inside := all[name]; inside != nil && inside != o {
				o.inner = append(o.inner, inside)
				if c := inside.container; c == nil || len(n.InnerOperators[o.name]) < len(n.InnerOperators[c.name]) {
					inside.container = o
				}
			}
		}
	}
}

// resolvedInputs returns the known inputs of the row: the compared inputs of its operator, or else the
// sources of the operator; in both cases also the outputs of operators inside it.
func (r *row) resolveInputs() resolvedInputs {
	o := r.operator
	in := resolvedInputs{rows: o.sources, isInferred: o.isInferred, bypassed: o.bypassed}
	if read := o.readRows(); !r.isInput && len(read) > 0 {
		in = resolvedInputs{rows: read}
	}
	if inside := r.innerOutputs(); len(inside) > 0 {
		in.rows = slices.Concat(in.rows, inside)
	}
	return in
}

// innerOutputs returns the outputs of the operators inside the operator of an output.
func (r *row) innerOutputs() (rows []*row) {
	for _, o := range r.operator.inner {
		if !r.isInput {
			rows = append(rows, o.outputs...)
		}
	}
	return rows
}

// childOutputs returns the outputs of the operators directly inside the module of an output. The module computes from
// some of them, unless the output is a copy.
func (r *row) childOutputs() (rows []*row) {
	if r.isInput || r.copiedFrom != nil {
		return nil
	}
	for _, o := range r.operator.inner {
		if o.container == r.operator {
			rows = append(rows, o.outputs...)
		}
	}
	return rows
}

// inputRows returns the indexes of the rows that the row is known to read.
func (r *row) inputRows() (rows []int) {
	in := r.resolveInputs()
	for _, x := range in.rows {
		if x != r && !in.isInferred {
			rows = append(rows, x.index)
		}
	}
	return rows
}

// searchLimit limits the number of operators without compared outputs between an operator
// and its inputs; it keeps the time linear.
const searchLimit = 256

// search walks the graph upstream from an operator to compared outputs, through operators
// without any: copies are never dumped.
func (n *dataFlow) search(all map[string]*operator, o *operator) {
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
		case n.HasSeveralRounds && len(producer.inputs) > 0: // its inputs are summands
			o.sources = append(o.sources, producer.inputs...)
			continue
		}
		if visited[source.Op] {
			continue
		}
		visited[source.Op] = true
		if further := n.Graph[source.Op]; len(visited) <= searchLimit && len(further) <= searchLimit {
			o.bypassed = append(o.bypassed, source.Op)
			queue = append(queue, further...)
		}
	}
	slices.SortFunc(o.sources, func(a, b *row) int { return cmp.Compare(a.place, b.place) })
	o.sources = slices.Compact(o.sources)
}

// output returns the row of one output, or all outputs if there is no such row.
func (o *operator) output(output int) []*row {
	for k, r := range o.outputs {
		if r.source.Output == output {
			return o.outputs[k : k+1]
		}
	}
	return o.outputs
}

// row is a row during judgement.
type row struct {
	source          *record.Row
	network         *dataFlow
	operator        *operator
	index           int // in the round
	place           int // in execution order
	status          record.Status
	isInput         bool
	isCompared      bool
	typ             optype.Type // properties of the operator type
	isIndices       bool        // integers that index another tensor
	failedBefore    bool        // failed before the judgement
	failsByRounding bool        // fails only by accumulated rounding
	// The findings by limits include a calculation error, a bad input.
	hasCalcError, hasInputBad bool
	// noise describes the differences of the row for the judgement by evidence, nil if not known.
	noise       *noise.Noise
	heldType    string          // type whose values a float32 array holds, if it is narrower
	sourceCache *verdict.Source // the row as a possible input of others, only for the latest rows

	// producer is the output that an input is a copy of, nil if unknown. misread is the output
	// that the NPU read instead.
	producer, misreadFrom *row
	// copiedFrom is the output of an operator inside a module, if the module's output is a copy of it.
	copiedFrom *row

	duplicates   []finding.Finding  // the tensor equals the tensor of other rows
	swapFindings []finding.Finding  // two rows have each other's tensor
	patternCache *[]finding.Finding // patterns, computed on first use
	inputMetrics *inputNumbers
}

func (n *dataFlow) newRow(index int, source *record.Row) row {
	r := row{source: source, network: n, index: index, status: source.Status, isInput: tensor.Kind(source.Kind).IsInput() || source.Kind == string(tensor.Gradient),
		isCompared: source.IsCompared(), typ: recompute.TypeOfOperator(source.OpType, source.Op)}
	if r.isCompared {
		r.noise = source.Noise
	}
	if n.HasSeveralRounds && strings.Contains(strings.ToLower(source.Op), ".router.") {
		r.typ.Indices |= 1 << source.Output // a router of tokens returns the indices of experts
	}
	r.isIndices = !r.isInput && r.noise != nil && r.noise.Type.Integer && r.typ.IsIndex(source.Output)
	r.failedBefore = r.hasFailed()
	return r
}

// findInner finds the output inside a module that each output of the module is a copy of: a module computes nothing
// itself.
func (n *dataFlow) findInner() {
	for _, o := range n.operators {
		for _, r := range o.outputs {
			for _, in := range r.innerOutputs() {
				if in.isCompared && r.isCompared && (in.digest(npuSide) == r.digest(npuSide) || r.copiedFrom == nil && in.digest(refSide) == r.digest(refSide)) {
					r.copiedFrom = in
				}
			}
		}
	}
}

// findIndices marks the integers that an operator of unknown type returns together with numbers, as max and topk
// return indices.
func (n *dataFlow) findIndices() {
	for _, o := range n.operators {
		numbers := slices.ContainsFunc(o.outputs, func(r *row) bool { return r.noise != nil && !r.noise.Type.Integer })
		for _, r := range o.outputs {
			if numbers && r.isWideInteger() && r.typ == (optype.Type{}) {
				r.isIndices = true
			}
		}
	}
}

// isWideInteger reports whether a row has integers of more than 16 bits: indices or counts. Narrower integers are
// quantised numbers.
func (r *row) isWideInteger() bool {
	return r.noise != nil && r.noise.Type.Integer && r.noise.Type.Mantissa > 16
}

// isInUpdate reports whether a row belongs to a backward pass or an optimiser.
func (r *row) isInUpdate() bool {
	name := strings.ToLower(r.source.Op)
	return strings.Contains(name, "backward") || strings.Contains(name, "gradient") || strings.HasPrefix(r.source.OpType, "Apply")
}

// hasFailed reports whether the row is bad; a row with different shapes is bad, without a
// result.
func (r *row) hasFailed() bool {
	return r.status == record.Fail || r.status == record.ShapeMismatch || r.status == record.DTypeMismatch
}

// isGood reports whether the row was compared and is not bad.
func (r *row) isGood() bool {
	return r.status == record.Pass || r.status == record.Warn || r.status == record.Partial
}

// result returns the metrics of the row, nil if it was not compared.
func (r *row) result() *metrics.Result { return r.source.Result }

// patterns returns the known faults of the row, the most specific one first: faults seen in its tensors, faults seen in
// other rows, and NaN that the model makes.
func (r *row) patterns() []finding.Finding {
	if r.patternCache == nil {
		all := []finding.Finding(r.source.Patterns)
		if r.failedBefore {
			all = insertFindings(all, r.swapFindings)
		}
		if r.failedBefore && r.isCompared {
			all = insertFindings(all, r.duplicates)
			all = finding.Merge(all, newFindings(finding.ModelNaN, finding.High, modelNaN(r.result())))
		}
		r.patternCache = &all
	}
	return *r.patternCache
}

// inputNumbers are the worst metrics over the inputs of an operator.
type inputNumbers struct {
	meanRel, pearson metrics.Metric
	red              float64 // 0 if unknown
}

// worstInputMetrics returns the worst metrics over the inputs with a result.
func (r *row) worstInputMetrics() inputNumbers {
	if r.inputMetrics != nil {
		return *r.inputMetrics
	}
	in := new(inputNumbers)
	r.inputMetrics = in
	for _, x := range r.resolveInputs().rows {
		res := x.result()
		if res == nil {
			continue
		}
		in.red = max(in.red, res.RED.Value())
		if m := res.MeanRel; m.IsDefined() && (!in.meanRel.IsDefined() || m.Value() > in.meanRel.Value()) {
			in.meanRel = m
		}
		if m := res.Pearson; m.IsDefined() && (!in.pearson.IsDefined() || m.Value() < in.pearson.Value()) {
			in.pearson = m
		}
	}
	return *in
}
