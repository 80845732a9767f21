package pairing

import "fmt"

// tensorName names a tensor as reports do: op:output:k.
func tensorName(t *Tensor) string { return fmt.Sprintf("%s:%s:%d", t.Name(), t.Kind, t.Index) }

// Match pairs the tensors of the reference with those of the NPU.
//
// Of several runs of an operator in one folder the latest counts. Then the
// rules are tried in their order; a tensor's partner by a rule is searched in
// the folder of the same name first, and if the reference has no such folder
// for it, among all. So a reference with one tensor is the partner of every
// round, and one with several, in folders of other names, is ambiguous.
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
	m := newMatcher(&opt, refs, npus)
	active := func(t *Tensor) bool { return skipped[t] == nil }
	m.run(active, active)
	c := &collector{m: m, res: res, skipped: skipped, taken: make([]bool, len(refs)), paired: make([]bool, len(npus))}
	c.collect()
	if len(skipped) > 0 {
		c.collectSkipped()
	}
	c.collectRest()
	c.selectOps(s.used)
	return res
}

// ofKind returns the tensors of a kind, all if it is empty.
func ofKind(tensors []Tensor, k Kind) []*Tensor {
	chosen := make([]*Tensor, 0, len(tensors))
	for i := range tensors {
		if k == "" || tensors[i].Kind == k {
			chosen = append(chosen, &tensors[i])
		}
	}
	return chosen
}

// collector makes a Result of what a matcher found.
type collector struct {
	m       *matcher
	res     *Result
	skipped map[*Tensor]*Skipped
	// taken and paired are the tensors of the reference and the NPU that the
	// result has.
	taken, paired []bool
}

func (c *collector) collect() {
	c.m.sort()
	for _, l := range c.m.links {
		t := c.m.npu[l.npu]
		c.res.Pairs = append(c.res.Pairs, Pair{c.m.ref[l.ref].ID, t.ID, l.rule, t.Round})
		c.taken[l.ref], c.paired[l.npu] = true, true
	}
	for _, t := range c.m.ties {
		a := Ambiguity{Rule: t.rule, Round: c.m.npu[t.npus[0]].Round}
		for _, r := range t.refs {
			a.Refs = append(a.Refs, c.m.ref[r].ID)
			c.taken[r] = true
		}
		for _, n := range t.npus {
			a.NPUs = append(a.NPUs, c.m.npu[n].ID)
			c.paired[n] = true
		}
		c.res.Ambiguous = append(c.res.Ambiguous, a)
	}
}

// collectSkipped finds the partners of skipped tensors: what would be a pair is
// skipped as a pair, so that the other side is not called unmatched.
func (c *collector) collectSkipped() {
	m := c.m
	m.links, m.ties = nil, nil
	for i := range m.done {
		m.done[i] = c.paired[i]
	}
	all := func(*Tensor) bool { return true }
	m.run(all, all)
	m.sort()
	for _, l := range m.links {
		why := c.skipped[m.ref[l.ref]]
		if why == nil {
			why = c.skipped[m.npu[l.npu]]
		}
		if why == nil {
			continue // not a pair without the skipped ones, so none with them
		}
		c.skip(l.ref, l.npu, *why)
	}
}

// skip adds a skipped pair; a position of -1 stands for none.
func (c *collector) skip(ref, npu int, why Skipped) {
	why.Ref, why.NPU = -1, -1
	if ref >= 0 {
		c.taken[ref] = true
		why.Ref, why.Round = c.m.ref[ref].ID, c.m.ref[ref].Round
	}
	if npu >= 0 {
		c.paired[npu] = true
		why.NPU, why.Round = c.m.npu[npu].ID, c.m.npu[npu].Round
	}
	c.res.Skipped = append(c.res.Skipped, why)
}

// collectRest adds the tensors without partner.
func (c *collector) collectRest() {
	for i, t := range c.m.ref {
		if c.taken[i] {
			continue
		}
		if why := c.skipped[t]; why != nil {
			c.skip(i, -1, *why)
			continue
		}
		c.res.UnmatchedRef = append(c.res.UnmatchedRef, Unmatched{ID: t.ID})
	}
	for i, t := range c.m.npu {
		if c.paired[i] {
			continue
		}
		if why := c.skipped[t]; why != nil {
			c.skip(-1, i, *why)
			continue
		}
		c.res.UnmatchedNPU = append(c.res.UnmatchedNPU, Unmatched{t.ID, c.m.why[i]})
	}
}
