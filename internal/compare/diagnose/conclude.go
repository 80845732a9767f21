package diagnose

import (
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/tensor"
)

// Conclude judges all rows of a round: where it began to be bad, and why each row
// is, the best reason first; a good row has none but NaN that the model makes. It
// is a function of its arguments and reads no tensor. The evidence is that of the
// row at the same index, empty where there is none.
//
// FirstBad is the first failing row whose known inputs all pass, or that has no
// known inputs while all rows before it pass; where there is none, as in a cycle,
// the first failing row. Rows that fail by accumulated rounding only count as
// passing here, unless nothing else fails. FirstDamaged is the first row that
// neither rounding nor a bad input explains: one with a specific pattern, an error
// of calculation or a wrong shape. It is FirstBad, or comes after it where the
// cause of FirstBad is not known. An input counts in LargestJump as if its error
// were the rounding of its type at least.
//
// Where the order is not known no row is the first of anything: Origins are the
// failing rows whose inputs are known and all pass.
//
// The rows of one operator are one node of the graph. Operators with the same Order
// are in the order of the rows, but none is inferred to be the input of another.
func Conclude(rows []record.Row, evidence []Evidence, known Network) (v record.Findings, reasons [][]record.Finding) {
	n := newNetwork(rows, evidence, known)
	for i := range n.rows {
		n.rows[i].findings = n.rows[i].factual(n.rows[i].judge())
		reasons = append(reasons, n.rows[i].findings)
	}
	v = record.NoFindings()
	if n.Ordered {
		n.locate(&v)
		n.firsts(&v)
		n.follow(&v)
	} else {
		n.origins(&v)
	}
	n.largestJump(&v)
	return v, reasons
}

// row is one row under judgement.
type row struct {
	*record.Row
	*Evidence

	index    int
	results  *results
	operator *operator
	inputs   *resolved
	numbers  inputNumbers
	rounding bool // fails by accumulated rounding only
	findings []record.Finding
}

func (r *row) isInput() bool { return tensor.Kind(r.Kind).IsInput() }

// failed reports whether the row is bad; one whose shapes differ is so without a
// result.
func (r *row) failed() bool {
	return r.Status == record.Fail || r.Status == record.ShapeMismatch || r.Status == record.DTypeMismatch
}

// good reports whether the row was compared and is not bad.
func (r *row) good() bool {
	return r.Status == record.Pass || r.Status == record.Warn || r.Status == record.Partial
}

// inputNumbers are the worst metrics of the inputs of an operator.
type inputNumbers struct {
	meanRel, pearson metrics.Metric
	red              float64 // 0 where it is not known
}

// measure takes the worst of all inputs with a result.
func measure(inputs []*row) (in inputNumbers) {
	for _, r := range inputs {
		res := r.result()
		if res == nil {
			continue
		}
		if m := res.MeanRel; m.Defined && (!in.meanRel.Defined || m.Value > in.meanRel.Value) {
			in.meanRel = m
		}
		in.red = max(in.red, res.RED.Value)
		if m := res.Pearson; m.Defined && (!in.pearson.Defined || m.Value < in.pearson.Value) {
			in.pearson = m
		}
	}
	return in
}
