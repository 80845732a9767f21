package diagnose

import (
	"slices"

	"dumptool/internal/compare/engine"
)

// locate finds the first bad row and what is before it.
func (n *network) locate(v *Verdict) {
	bad := n.counted(v)
	anyBad := func(rows []int) bool { return slices.ContainsFunc(rows, bad) }
	found := false
	for _, row := range n.order {
		if !bad(row) {
			continue
		}
		inputs := v.Ops[row].Inputs
		if len(inputs) == 0 && !found || len(inputs) > 0 && !anyBad(inputs) {
			v.FirstBad = row
			break
		}
		if !found {
			v.FirstBad, found = row, true
		}
	}
	if v.FirstBad < 0 {
		return
	}
	v.NoOrigin = anyBad(v.Ops[v.FirstBad].Inputs)
	for _, row := range n.order {
		if row == v.FirstBad {
			break
		}
		switch n.ops[row].State {
		case NotCompared:
			v.Suspects = append(v.Suspects, row)
		case Passed, Warned:
			v.LastGood = row
			v.Suspects = nil
		}
	}
}

// counted returns which rows count as bad: the failing ones, without those that
// fail by rounding if any other fails and is not cleared by its inputs. It finds
// the first damaged row as well.
func (n *network) counted(v *Verdict) func(row int) bool {
	origin := false
	for _, row := range n.order {
		s, findings := &n.subjects[row], v.Ops[row].Findings
		if s.op.State != Failed || s.noise || has(findings, LayerInputBad) {
			continue
		}
		origin = true
		if v.FirstDamaged < 0 && (s.result == nil || has(findings, CalcError) || len(s.own()) > 0) {
			v.FirstDamaged = row
		}
	}
	return func(row int) bool {
		return n.ops[row].State == Failed && !(origin && n.subjects[row].noise)
	}
}

func (n *network) anyFailed(rows []int) bool {
	return slices.ContainsFunc(rows, func(row int) bool { return n.ops[row].State == Failed })
}

// firsts finds the first NaN, the first overflow and the largest jump.
func (n *network) firsts(v *Verdict) {
	for _, row := range n.order {
		r := n.ops[row].Result
		if r == nil {
			continue
		}
		if v.FirstNaN < 0 && newNonFinite(r) > 0 {
			v.FirstNaN = row
		}
		// An integer at its limit may be off by one from a good one.
		if _, float := precisionOf(r.NPUDType); v.FirstOverflow < 0 && r.Overflowed > 0 && (float || n.ops[row].State == Failed) {
			v.FirstOverflow = row
		}
		if jump := n.jump(row, v.Ops[row].Inputs); jump > v.Jump {
			v.LargestJump, v.Jump = row, jump
		}
	}
}

// newNonFinite counts the NaN and infinities of the NPU that the reference does
// not have at their place.
func newNonFinite(r *engine.Result) (count int64) {
	for npu := range r.Classes {
		for ref, pairs := range r.Classes[npu] {
			if npu != int(engine.Finite) && npu != ref {
				count += pairs
			}
		}
	}
	return count
}

// jump is the factor by which the mean relative error of a row exceeds that of
// its worst input, 0 when one of them is not known.
func (n *network) jump(row int, inputs []int) float64 {
	in, r := n.measure(inputs), n.ops[row].Result
	if !r.MeanRel.Defined || !in.meanRel.Defined {
		return 0
	}
	format, ok := precisionOf(r.NPUDType)
	floor := max(in.meanRel.Value, format.epsilon/2)
	if !ok && floor == 0 {
		return 0
	}
	return r.MeanRel.Value / floor
}

// follow finds the bad rows that depend on the first one, and the outputs.
func (n *network) follow(v *Verdict) {
	readers := make(map[*operator][]*operator)
	for _, o := range n.operators {
		for _, row := range o.sources.rows {
			readers[n.of[row]] = append(readers[n.of[row]], o)
		}
	}
	isOutput := make([]bool, len(n.ops))
	for _, row := range n.order {
		if o := n.of[row]; !n.ops[row].Input && n.ops[row].State != NotCompared && len(readers[o]) == 0 {
			v.Outputs = append(v.Outputs, row)
			isOutput[row] = true
		}
	}
	if v.FirstBad < 0 {
		return
	}
	reached := map[*operator]bool{n.of[v.FirstBad]: true}
	for queue := []*operator{n.of[v.FirstBad]}; len(queue) > 0; queue = queue[1:] {
		for _, reader := range readers[queue[0]] {
			if !reached[reader] && n.anyFailed(reader.outputs) {
				reached[reader] = true
				queue = append(queue, reader)
			}
		}
	}
	for _, row := range n.order {
		if n.ops[row].State == Failed && reached[n.of[row]] {
			v.Chain = append(v.Chain, row)
			v.OutputsBad = v.OutputsBad || isOutput[row]
		}
	}
}
