package diagnose

import "dumptool/internal/compare/engine"

// State is the outcome of a row, as far as the diagnosis cares.
type State uint8

// The states. Rows that were skipped, unmatched or unreadable are NotCompared;
// a row whose shapes differ has Failed without a result.
const (
	NotCompared State = iota
	Passed
	Warned
	Failed
)

// Op is one row: an output, or an input, of an operator.
type Op struct {
	Name   string
	Output int    // the index
	Input  bool   // an input of the operator that was itself compared
	Round  string // tells rounds, steps and cards apart
	State  State
	// Order is the place in the execution order. Of operators at one place it is
	// not known which comes first: none is inferred to be the input of another,
	// otherwise their rows keep the order of the list.
	Order int
	// Result is nil for a pair that was not compared.
	Result *engine.Result
	// Patterns are the findings of Patterns.
	Patterns []Finding
}

// OpVerdict is the judgement of one row.
type OpVerdict struct {
	// Inputs are the rows that it was judged by. They are Inferred if no graph
	// names them: then they are the outputs of the operator before.
	Inputs   []int
	Inferred bool
	// Through are the operators between the row and its inputs that were not
	// compared.
	Through []string
	// Findings say why the row is bad, the best first. Rows that are good have
	// none, but for NaN that the model makes.
	Findings []Finding
}

// Verdict is the judgement of a network. Rows are told by their index in the
// list that was judged, -1 when there is no such row.
type Verdict struct {
	Ops []OpVerdict // of each row
	// FirstBad is the first failing row whose known inputs all pass, or that
	// has no known inputs while all rows before it pass. Rows that fail by
	// accumulated rounding only count as passing here, unless there is nothing
	// else that fails. Where every failing row has a failing input, as in a
	// cycle, it is the first failing row and NoOrigin is set.
	FirstBad int
	NoOrigin bool
	// FirstDamaged is the first row that no rounding explains and that no bad
	// input clears: one with a specific pattern, an error of calculation or a
	// wrong shape. It is FirstBad, or comes after it where the cause of FirstBad
	// is not known.
	FirstDamaged int
	// LastGood is the last good row before FirstBad, Suspects are the rows in
	// between that were not compared: the fault may be in one of them.
	LastGood int
	Suspects []int
	// FirstNaN is the first row where the NPU has a NaN or an infinity that the
	// reference has not, FirstOverflow the first with overflowed elements.
	FirstNaN, FirstOverflow int
	// LargestJump is the row whose mean relative error exceeds that of its worst
	// input by the largest factor, Jump. An input is taken to be off by the
	// rounding of its type at least.
	LargestJump int
	Jump        float64
	// Chain are the failing rows from FirstBad on that depend on it, in
	// execution order.
	Chain []int
	// Outputs are the rows that nobody is known to read, without a graph those
	// of the last compared operator. OutputsBad tells whether the chain reaches
	// them: a problem of the network. If not, it is a deviation that vanishes.
	Outputs    []int
	OutputsBad bool
}

// Network judges all rows of a run: why each is bad, and where it began. The
// graph may be nil, may name operators that nobody knows, and may have cycles.
func Network(ops []Op, graph Graph) *Verdict {
	n := newNetwork(ops, graph)
	v := &Verdict{Ops: make([]OpVerdict, len(ops)), FirstBad: -1, FirstDamaged: -1, LastGood: -1, FirstNaN: -1, FirstOverflow: -1, LargestJump: -1}
	n.subjects = make([]subject, len(ops))
	for row := range ops {
		inputs := n.inputsOf(row)
		n.subjects[row] = subject{network: n, op: &ops[row], result: ops[row].Result, inputs: &inputs, numbers: n.measure(inputs.rows)}
	}
	for _, row := range n.order {
		n.subjects[row].noise = n.subjects[row].rounded()
	}
	for row := range ops {
		inputs := n.subjects[row].inputs
		v.Ops[row] = OpVerdict{
			Inputs:   inputs.rows,
			Inferred: inputs.inferred,
			Through:  inputs.through,
			Findings: n.subjects[row].judge(),
		}
	}
	n.locate(v)
	n.firsts(v)
	n.follow(v)
	return v
}
