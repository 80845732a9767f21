package diagnose

import (
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
)

// locate finds the first bad row and what is before it.
func (n *network) locate(v *record.Findings) {
	bad := n.counted(v)
	for _, r := range n.order {
		if !bad(r) {
			continue
		}
		inputs, first := r.resolved().rows, v.FirstBad < 0
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
	n.before(v, (*row).good)
}

// before finds the last good row before the first bad one, in execution order, and what was
// not compared in between.
func (n *network) before(v *record.Findings, good func(*row) bool) {
	for _, r := range n.order[:n.rows[v.FirstBad].place] {
		switch {
		case good(r):
			v.LastGood, v.Suspects = r.index, nil
		case !r.failed():
			v.Suspects = append(v.Suspects, r.index)
		}
	}
}

// origins finds the bad rows whose inputs are known and all pass.
func (n *network) origins(v *record.Findings) {
	bad := n.counted(v)
	v.FirstDamaged = -1
	for _, r := range n.order {
		if r.operator.known && bad(r) && !slices.ContainsFunc(r.resolved().rows, bad) {
			v.Origins = append(v.Origins, r.index)
		}
	}
}

// counted returns which rows count as bad: the failing ones, without those that
// fail by rounding if any other fails that its inputs do not explain. It finds
// the first damaged row as well.
func (n *network) counted(v *record.Findings) func(*row) bool {
	origin := false
	for _, r := range n.order {
		if !r.failed() || r.rounding || r.hasInputBad {
			continue
		}
		origin = true
		if v.FirstDamaged < 0 && (!r.compared || r.hasCalcError || len(r.own()) > 0) {
			v.FirstDamaged = r.index
		}
	}
	return func(r *row) bool { return r.failed() && !(origin && r.rounding) }
}

// firsts finds the first NaN and the first overflow.
func (n *network) firsts(v *record.Findings) {
	for _, r := range n.order {
		res := r.result()
		if res == nil {
			continue
		}
		if v.FirstNaN < 0 && newNonFinite(res) > 0 {
			v.FirstNaN = r.index
		}
		// An integer at its limit may be off by one from a good one.
		if _, float := precisionOf(res.NPUDType); v.FirstOverflow < 0 && res.Overflowed > 0 && (float || r.failed()) {
			v.FirstOverflow = r.index
		}
	}
}

// largestJump finds the row whose error exceeds that of its inputs by most.
func (n *network) largestJump(v *record.Findings) {
	for _, r := range n.order {
		if jump := r.jump(); jump > v.Jump {
			v.LargestJump, v.Jump = r.index, jump
		}
	}
}

// newNonFinite counts the NaN and infinities of the NPU that the reference does
// not have at their place.
func newNonFinite(res *metrics.Result) (count int64) {
	for npu := range res.Classes {
		for ref, pairs := range res.Classes[npu] {
			if npu != int(metrics.Finite) && npu != ref {
				count += pairs
			}
		}
	}
	return count
}

// jump is the factor by which the mean relative error of a row exceeds that of
// its worst input, 0 when one of them is not known.
func (r *row) jump() float64 {
	res, in := r.result(), r.numbers()
	if res == nil || !res.MeanRel.Defined || !in.meanRel.Defined {
		return 0
	}
	format, ok := precisionOf(res.NPUDType)
	floor := max(in.meanRel.Value, format.epsilon/2)
	if !ok && floor == 0 {
		return 0
	}
	return res.MeanRel.Value / floor
}

// follow finds the bad rows that depend on the first one, and whether a row that
// no operator is known to read is among them.
func (n *network) follow(v *record.Findings) {
	if v.FirstBad < 0 {
		return
	}
	readers := n.readers()
	first := n.rows[v.FirstBad].operator
	reached := make([]bool, len(n.operators))
	reached[first.index] = true
	for queue := []*operator{first}; len(queue) > 0; queue = queue[1:] {
		for _, reader := range readers[queue[0].index] {
			if !reached[reader.index] && slices.ContainsFunc(reader.outputs, (*row).failed) {
				reached[reader.index] = true
				queue = append(queue, reader)
			}
		}
	}
	for _, r := range n.order {
		if r.failed() && reached[r.operator.index] {
			v.Chain = append(v.Chain, r.index)
			v.OutputsBad = v.OutputsBad || !r.isInput && len(readers[r.operator.index]) == 0
		}
	}
}

// readers are those of each operator, in execution order.
func (n *network) readers() [][]*operator {
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
