// Package diagnose finds why a tensor is bad and which operator is the origin.
//
// Examine inspects the tensors of one failing pair: never written, moved by a row, read as the wrong type, errors in
// a part of an axis. Judge and Conclude read no tensors. Judge weighs all rows of a round by evidence: the error that
// each operator adds (package verdict) and its place in the network. Conclude judges by limits: an operator that
// turns a small error into a large one is a suspect, an operator with bad inputs is not, if the errors are
// comparable.
//
// Rules of the HPAA manual (jumps of the mean relative error and of the correlation, uneven axes, NaN on one or both
// sides) have a high confidence if their limits are documented too; the other rules are ours.
//
// Notation: n is an element of the NPU tensor, r the element of the reference at the same offset, d = n - r. RED is
// sqrt(sum d^2 / sum r^2). Samples depend only on sizes, so results depend only on the inputs.
package diagnose

import (
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
)

// Conclusion says why the rows of a round fail by limits.
type Conclusion struct {
	// Findings say where the errors begin.
	Findings record.Findings

	network *dataFlow
}

// Conclude judges all rows of a round: where the errors begin, and why each row is bad,
// the best reason first. A good row has no reasons except NaN that the model makes. The
// result depends only on the arguments; no tensor is read.
//
// FirstBad is the first failing row whose known inputs all pass, or that has no known
// inputs while all rows before it pass; if there is none, as in a cycle, the first failing
// row. Rows that fail only by accumulated rounding count as passing here, unless nothing
// else fails. FirstDamaged is the first row that neither rounding nor a bad input explains:
// with a specific pattern, a calculation error or a wrong shape. It is FirstBad, or a later row if the cause of FirstBad
// is unknown. For LargestJump the error of an input counts as at least the rounding of its type.
//
// If the order is unknown, no row is the first: Origins are the failing rows whose
// inputs are known and all pass.
//
// The rows of one operator are one node of the graph. Operators with the same Order
// are in the order of the rows, but none is inferred to be the input of another.
func Conclude(rows []record.Row, known Network) *Conclusion {
	n := newNetwork(rows, known)
	for i := range n.rows {
		if r := &n.rows[i]; r.hasFailed() {
			findings := r.judge()
			r.hasCalcError, r.hasInputBad = finding.Has(findings, finding.CalcError), finding.Has(findings, finding.LayerInputBad)
		}
	}
	v := record.NoFindings()
	if n.IsOrdered {
		n.locateFirstBad(&v)
		n.findFirsts(&v)
		n.findDependentRows(&v)
	} else {
		n.findOrigins(&v)
	}
	n.findLargestJump(&v)
	return &Conclusion{v, n}
}

// Reasons returns why a row is bad, the best reason first.
func (c *Conclusion) Reasons(index int) []finding.Finding {
	r := &c.network.rows[index]
	return r.withFacts(r.judge())
}

// locateFirstBad finds the first bad row and the rows before it.
func (n *dataFlow) locateFirstBad(v *record.Findings) {
	bad := n.isCountedBad(v)
	for _, r := range n.order {
		if !bad(r) {
			continue
		}
		inputs, first := r.resolveInputs().rows, v.FirstBad < 0
		if good := len(inputs) > 0 && !slices.ContainsFunc(inputs, bad); first || good {
			v.FirstBad = r.index
			if good || len(inputs) == 0 {
				break
			}
		}
	}
	if v.FirstBad < 0 {
		return
	}
	n.findLastGood(v, (*row).isGood)
}

// findLastGood finds the last good row before the first bad one, in execution order, and the rows in
// between that were not compared.
func (n *dataFlow) findLastGood(v *record.Findings, good func(*row) bool) {
	for _, r := range n.order[:n.rows[v.FirstBad].place] {
		switch {
		case good(r):
			v.LastGood, v.Suspects = r.index, nil
		case !r.hasFailed():
			v.Suspects = append(v.Suspects, r.index)
		}
	}
}

// findOrigins finds the bad rows whose inputs are known and all pass.
func (n *dataFlow) findOrigins(v *record.Findings) {
	bad := n.isCountedBad(v)
	v.FirstDamaged = -1
	for _, r := range n.order {
		if r.operator.isKnown && bad(r) && !slices.ContainsFunc(r.resolveInputs().rows, bad) {
			v.Origins = append(v.Origins, r.index)
		}
	}
}

// isCountedBad returns a predicate for rows that count as bad. Rows that fail by rounding do not count if there is a
// failing row that neither rounding nor a bad input explains. It also sets FirstDamaged.
func (n *dataFlow) isCountedBad(v *record.Findings) func(*row) bool {
	origin := false
	for _, r := range n.order {
		if !r.hasFailed() || r.failsByRounding || r.hasInputBad {
			continue
		}
		origin = true
		if v.FirstDamaged < 0 && (!r.isCompared || r.hasCalcError || len(r.ownPatterns()) > 0) {
			v.FirstDamaged = r.index
		}
	}
	return func(r *row) bool { return r.hasFailed() && !(origin && r.failsByRounding) }
}

// findFirsts finds the first NaN and the first overflow.
func (n *dataFlow) findFirsts(v *record.Findings) {
	for _, r := range n.order {
		res := r.result()
		if res == nil {
			continue
		}
		if v.FirstNaN < 0 && countNewNonFinite(res) > 0 {
			v.FirstNaN = r.index
		}
		// A passing integer at the limit of its type may be off by one.
		if _, float := precisionOf(res.NPUDType); v.FirstOverflow < 0 && res.Overflowed > 0 && (float || r.hasFailed()) {
			v.FirstOverflow = r.index
		}
	}
}

// findLargestJump finds the row with the largest ratio of its error to the error of its inputs.
func (n *dataFlow) findLargestJump(v *record.Findings) {
	for _, r := range n.order {
		if jump := r.errorGrowth(); jump > v.Jump {
			v.LargestJump, v.Jump = r.index, jump
		}
	}
}

// countNewNonFinite counts the NaN and infinities of the NPU whose reference is of another
// class.
func countNewNonFinite(res *metrics.Result) (count int64) {
	for npu := range res.Classes {
		for ref, pairs := range res.Classes[npu] {
			if npu != int(metrics.Finite) && npu != ref {
				count += pairs
			}
		}
	}
	return count
}

// errorGrowth returns the mean relative error of a row divided by the mean relative error of its worst input, 0 if either is
// unknown.
func (r *row) errorGrowth() float64 {
	res, in := r.result(), r.worstInputMetrics()
	if res == nil || !res.MeanRel.IsDefined() || !in.meanRel.IsDefined() {
		return 0
	}
	format, ok := precisionOf(res.NPUDType)
	floor := max(in.meanRel.Value(), format.epsilon/2)
	if !ok && floor == 0 {
		return 0
	}
	return res.MeanRel.Value() / floor
}

// findDependentRows finds the bad rows that depend on the first one, and whether a model output, an output without known
// readers, is among these rows.
func (n *dataFlow) findDependentRows(v *record.Findings) {
	if v.FirstBad < 0 {
		return
	}
	readers := n.readers()
	first := n.rows[v.FirstBad].operator
	reached := make([]bool, len(n.operators))
	reached[first.index] = true
	for queue := []*operator{first}; len(queue) > 0; queue = queue[1:] {
		for _, reader := range readers[queue[0].index] {
			if !reached[reader.index] && slices.ContainsFunc(reader.outputs, (*row).hasFailed) {
				reached[reader.index] = true
				queue = append(queue, reader)
			}
		}
	}
	for _, r := range n.order {
		if r.hasFailed() && reached[r.operator.index] {
			v.Chain = append(v.Chain, r.index)
			v.OutputsBad = v.OutputsBad || !r.isInput && len(readers[r.operator.index]) == 0
		}
	}
}

// readers returns the readers of each operator, in execution order.
func (n *dataFlow) readers() [][]*operator {
	all := make([][]*operator, len(n.operators))
	for _, o := range n.operators {
		for _, r := range o.sources {
			if read := all[r.operator.index]; len(read) == 0 || read[len(read)-1] != o {
				all[r.operator.index] = append(read, o)
			}
		}
	}
	return all
}
