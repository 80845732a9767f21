package diagnose

import "dumptool/internal/compare/record"

// Conclusion says of the rows of a round that fail by limits why they do.
type Conclusion struct {
	// Findings are where it began to be bad.
	Findings record.Findings

	network *network
}

// Conclude judges all rows of a round: where it began to be bad, and why each row
// is, the best reason first; a good row has none but NaN that the model makes. It
// is a function of its arguments and reads no tensor.
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
func Conclude(rows []record.Row, known Network) *Conclusion {
	n := newNetwork(rows, known)
	for i := range n.rows {
		if r := &n.rows[i]; r.failed() {
			findings := r.judge()
			r.hasCalcError, r.hasInputBad = record.Has(findings, record.CalcError), record.Has(findings, record.LayerInputBad)
		}
	}
	v := record.NoFindings()
	if n.Ordered {
		n.locate(&v)
		n.firsts(&v)
		n.follow(&v)
	} else {
		n.origins(&v)
	}
	n.largestJump(&v)
	return &Conclusion{v, n}
}

// Reasons say why a row is bad, the best one first.
func (c *Conclusion) Reasons(index int) []record.Finding {
	r := &c.network.rows[index]
	return r.factual(r.judge())
}

// Inputs are the rows that a row is known to read.
func (c *Conclusion) Inputs(index int) []int { return c.network.rows[index].links() }
