package pair

import "dumptool/internal/tensor"

// Match pairs the tensors of the reference with those of the NPU.
//
// Both sides are those of one round. Of several runs of an operator the latest
// counts. Then the rules are tried in their order.
//
// The IDs within a side must differ.
func Match(ref, npu []Tensor, opt Options) *Result {
	res := new(Result)
	refs, npus := ofKind(ref, opt.Kind), ofKind(npu, opt.Kind)
	refStems, npuStems := stems(refs), stems(npus)
	var old []Superseded
	refs, res.Superseded = latest(refs, false, npuStems)
	npus, old = latest(npus, true, refStems)
	res.Superseded = append(res.Superseded, old...)

	s := &skips{opt.SkipKeys, opt.Exclude, make(map[string]bool)}
	skipped := make(map[*Tensor]*Skipped)
	for _, side := range [][]*Tensor{refs, npus} {
		for _, t := range side {
			if why := s.reason(t); why != nil {
				skipped[t] = why
			}
		}
	}
	j := newJoin(&opt, refs, npus)
	j.run(skipped)
	c := &collector{join: j, res: res, skipped: skipped, refDone: make([]bool, len(refs)), npuDone: make([]bool, len(npus))}
	c.collect()
	if len(skipped) > 0 {
		c.collectSkipped()
	}
	c.collectRest()
	c.selectOps(s.used)
	return res
}

// ofKind returns the tensors of a kind, all if it is empty.
func ofKind(tensors []Tensor, k tensor.Kind) []*Tensor {
	chosen := make([]*Tensor, 0, len(tensors))
	for i := range tensors {
		if k == "" || tensors[i].Kind == k {
			chosen = append(chosen, &tensors[i])
		}
	}
	return chosen
}

// collector makes a Result of what a join found.
type collector struct {
	join    *join
	res     *Result
	skipped map[*Tensor]*Skipped
	// refDone and npuDone are the tensors that the result has.
	refDone, npuDone []bool
}

// ids gives the IDs for positions, which are done then.
func ids(tensors []*Tensor, done []bool, at []int) []int {
	all := make([]int, len(at))
	for i, k := range at {
		all[i] = tensors[k].ID
		done[k] = true
	}
	return all
}

func (c *collector) collect() {
	j := c.join
	for _, p := range j.pairs {
		c.refDone[p.Ref], c.npuDone[p.NPU] = true, true
		p.Ref, p.NPU = j.ref[p.Ref].ID, j.npu[p.NPU].ID
		c.res.Pairs = append(c.res.Pairs, p)
	}
	for _, a := range j.ambiguous {
		a.Refs, a.NPUs = ids(j.ref, c.refDone, a.Refs), ids(j.npu, c.npuDone, a.NPUs)
		c.res.Ambiguous = append(c.res.Ambiguous, a)
	}
}

// collectSkipped finds the partners of skipped tensors: what would be a pair is
// skipped as a pair, so that the other side is not called unmatched.
func (c *collector) collectSkipped() {
	j := c.join
	j.pairs, j.ambiguous = nil, nil
	copy(j.decided, c.npuDone)
	j.run(nil)
	for _, p := range j.pairs {
		why := c.skipped[j.ref[p.Ref]]
		if why == nil {
			why = c.skipped[j.npu[p.NPU]]
		}
		if why == nil {
			continue // not a pair without the skipped ones, so none with them
		}
		c.skip(p.Ref, p.NPU, *why)
	}
}

// skip adds a skipped pair; a position of -1 stands for none.
func (c *collector) skip(ref, npu int, why Skipped) {
	why.Ref, why.NPU = -1, -1
	if ref >= 0 {
		c.refDone[ref] = true
		why.Ref = c.join.ref[ref].ID
	}
	if npu >= 0 {
		c.npuDone[npu] = true
		why.NPU = c.join.npu[npu].ID
	}
	c.res.Skipped = append(c.res.Skipped, why)
}

// collectRest adds the tensors without partner.
func (c *collector) collectRest() {
	for i, t := range c.join.ref {
		switch why := c.skipped[t]; {
		case c.refDone[i]:
		case why != nil:
			c.skip(i, -1, *why)
		default:
			c.res.UnmatchedRef = append(c.res.UnmatchedRef, Unmatched{ID: t.ID})
		}
	}
	for i, t := range c.join.npu {
		switch why := c.skipped[t]; {
		case c.npuDone[i]:
		case why != nil:
			c.skip(-1, i, *why)
		default:
			c.res.UnmatchedNPU = append(c.res.UnmatchedNPU, Unmatched{t.ID, c.join.why[i]})
		}
	}
}
