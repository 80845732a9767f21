// Package pair decides which tensors of two runs are compared. It works on names and on small side files (name maps,
// fusion graphs), and opens no tensor files. Start at Match and the list of rules.
//
// It does not guess: two tensors are a pair if a rule leaves each exactly one partner. Several possible partners are
// an ambiguity, with the candidates.
package pair

import (
	"cmp"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/tensor"
)

// Match pairs the tensors of the reference and of the NPU, both from one round. Of several executions of an operator
// the latest counts. Then the rules are tried in their order.
//
// The IDs within a side must differ.
func Match(ref, npu []Tensor, opt Options) *Result {
	res := &Result{Fused: make(map[int][]string)}
	refs, npus := filterKind(ref, opt.Kind), filterKind(npu, opt.Kind)
	refStems, npuStems := collectStems(refs), collectStems(npus)
	var old []SupersededTensor
	refs, res.Superseded = latestExecutions(refs, false, npuStems)
	npus, old = latestExecutions(npus, true, refStems)
	res.Superseded = append(res.Superseded, old...)

	s := &skipReasons{opt.SkipKeys, opt.Exclude, make(map[string]bool)}
	skipped := make(map[*Tensor]*SkippedPair)
	for _, side := range [][]*Tensor{refs, npus} {
		for _, t := range side {
			if why := s.reason(t); why != nil {
				skipped[t] = why
			}
		}
	}
	j := newJoin(&opt, refs, npus)
	j.pairAll(skipped)
	c := &collector{join: j, res: res, skipped: skipped, refDone: make([]bool, len(refs)), npuDone: make([]bool, len(npus))}
	c.collect()
	if len(skipped) > 0 {
		c.collectSkipped()
	}
	c.collectRest()
	c.selectOps(s.used)
	return res
}

// filterKind returns the tensors of a kind; the empty kind stands for all.
func filterKind(tensors []Tensor, k tensor.Kind) []*Tensor {
	chosen := make([]*Tensor, 0, len(tensors))
	for i := range tensors {
		if k == "" || tensors[i].Kind == k {
			chosen = append(chosen, &tensors[i])
		}
	}
	return chosen
}

// collector makes the Result of a join.
type collector struct {
	join    *join
	res     *Result
	skipped map[*Tensor]*SkippedPair
	// refDone and npuDone: the tensor is in the result.
	refDone, npuDone []bool
}

// tensorIDs returns the IDs of positions and marks them as done.
func tensorIDs(tensors []*Tensor, done []bool, at []int) []int {
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
		if p.Rule == RuleATC {
			c.res.Fused[j.npu[p.NPU].ID] = j.opt.fusible.operators[j.npu[p.NPU].Name()]
		}
		p.Ref, p.NPU = j.ref[p.Ref].ID, j.npu[p.NPU].ID
		c.res.Pairs = append(c.res.Pairs, p)
	}
	for _, a := range j.ambiguous {
		a.Refs, a.NPUs = tensorIDs(j.ref, c.refDone, a.Refs), tensorIDs(j.npu, c.npuDone, a.NPUs)
		c.res.Ambiguous = append(c.res.Ambiguous, a)
	}
}

// collectSkipped finds the partners of skipped tensors and skips both, so that the partner does
// not count as unmatched.
func (c *collector) collectSkipped() {
	j := c.join
	j.pairs, j.ambiguous = nil, nil
	copy(j.isDecided, c.npuDone)
	j.pairAll(nil)
	for _, p := range j.pairs {
		why := c.skipped[j.ref[p.Ref]]
		if why == nil {
			why = c.skipped[j.npu[p.NPU]]
		}
		if why == nil {
			continue // neither is skipped, and they were no pair before
		}
		c.skip(p.Ref, p.NPU, *why)
	}
}

// skip adds a skipped pair; -1 stands for no tensor.
func (c *collector) skip(ref, npu int, why SkippedPair) {
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

// collectRest adds the tensors without a partner.
func (c *collector) collectRest() {
	for i, t := range c.join.ref {
		switch why := c.skipped[t]; {
		case c.refDone[i]:
		case why != nil:
			c.skip(i, -1, *why)
		default:
			u := UnmatchedTensor{ID: t.ID}
			if calls := c.join.opt.Calls; calls != nil && t.Call != "" {
				u.Why, u.Near = explainNoNPUCall(t), calls.ref.near[t.Name()]
			}
			c.res.UnmatchedRef = append(c.res.UnmatchedRef, u)
		}
	}
	for i, t := range c.join.npu {
		switch why := c.skipped[t]; {
		case c.npuDone[i]:
		case why != nil:
			c.skip(-1, i, *why)
		default:
			u := UnmatchedTensor{ID: t.ID, Why: c.join.reasons[i]}
			if calls := c.join.opt.Calls; calls != nil && t.Call != "" {
				u.Near = calls.npu.near[t.Name()]
			}
			c.res.UnmatchedNPU = append(c.res.UnmatchedNPU, u)
		}
	}
}

// skipReasons has the reasons to leave tensors out, and records which are used.
type skipReasons struct {
	keys    []string
	exclude *dumpdir.NameSet
	used    map[string]bool
}

// reason returns why t is skipped; nil if it is not.
func (s *skipReasons) reason(t *Tensor) *SkippedPair {
	for _, k := range s.keys {
		for _, name := range t.Names() {
			if k != "" && strings.Contains(name, k) {
				s.used[k] = true
				return &SkippedPair{Code: SkipKey, Key: k}
			}
		}
	}
	if name, ok := t.matchingName(s.exclude); ok {
		s.used[name] = true
		return &SkippedPair{Code: Excluded, Key: name}
	}
	return nil
}

// occurrence identifies a tensor among the runs of its operator in a round.
type occurrence struct {
	names, opType string
	kind          tensor.Kind
	index         int
	slice         string
}

// latestExecutions returns the tensors of the latest execution of each operator, and the superseded tensors. Tensors
// without a timestamp are always kept.
//
// A short number may be part of a name: layer1.0.1 and layer1.0.2 may be two modules of a network. They count as
// modules if the other side has files with all these names.
func latestExecutions(tensors []*Tensor, npu bool, otherStems map[string]bool) (kept []*Tensor, old []SupersededTensor) {
	groups := make(map[occurrence][]*Tensor)
	first := make(map[occurrence]*Tensor, len(tensors)) // most operators run once
	for _, t := range tensors {
		if t.Timestamp == 0 {
			continue
		}
		at := occurrence{strings.Join(t.distinctNames(), "\x00"), t.OpType, t.Kind, t.Index, t.Slice}
		if one := first[at]; one == nil {
			first[at] = t
		} else {
			if groups[at] == nil {
				groups[at] = []*Tensor{one}
			}
			groups[at] = append(groups[at], t)
		}
	}
	by := make(map[*Tensor]*Tensor)
	for _, group := range groups {
		if areModules(group, otherStems) {
			continue
		}
		last := slices.MaxFunc(group, func(a, b *Tensor) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
		for _, t := range group {
			if t.Timestamp < last.Timestamp {
				by[t] = last
			}
		}
	}
	for _, t := range tensors {
		if last := by[t]; last != nil {
			old = append(old, SupersededTensor{t.ID, last.ID, npu})
		} else {
			kept = append(kept, t)
		}
	}
	return kept, old
}

// areModules reports whether the timestamps of a group are parts of names.
func areModules(group []*Tensor, otherStems map[string]bool) bool {
	const shortestReal = 1e9 // the least number with as many digits as a timestamp
	return !slices.ContainsFunc(group, func(t *Tensor) bool { return t.OpType != "" || t.Timestamp >= shortestReal || !otherStems[t.Stem] })
}

func collectStems(tensors []*Tensor) map[string]bool {
	all := make(map[string]bool, len(tensors))
	for _, t := range tensors {
		all[t.Stem] = true
	}
	return all
}

// selectOps keeps the results for the wanted operators and lists the user's names without effect. used are the skip
// keys and excluded names with an effect.
func (c *collector) selectOps(used map[string]bool) {
	opt := c.join.opt
	if opt.Ops != nil {
		c.keepOps(used)
	}
	asked := slices.Clone(opt.SkipKeys)
	for _, set := range []*dumpdir.NameSet{opt.Exclude, opt.Ops} {
		asked = append(asked, set.Texts()...)
	}
	for _, text := range asked {
		if !used[text] && text != "" && !slices.Contains(c.res.Unused, text) {
			c.res.Unused = append(c.res.Unused, text)
		}
	}
}

func (c *collector) keepOps(used map[string]bool) {
	wanted := func(tensors []*Tensor) map[int]bool {
		ids := make(map[int]bool)
		for _, t := range tensors {
			if text, ok := t.matchingName(c.join.opt.Ops); ok {
				used[text] = true
				ids[t.ID] = true
			}
		}
		return ids
	}
	ref, npu := wanted(c.join.ref), wanted(c.join.npu)
	in := func(ids map[int]bool) func(int) bool { return func(id int) bool { return ids[id] } }
	res := c.res
	res.Pairs = slices.DeleteFunc(res.Pairs, func(p Pair) bool { return !ref[p.Ref] && !npu[p.NPU] })
	res.Ambiguous = slices.DeleteFunc(res.Ambiguous, func(a Ambiguity) bool {
		return !slices.ContainsFunc(a.Refs, in(ref)) && !slices.ContainsFunc(a.NPUs, in(npu))
	})
	res.Skipped = slices.DeleteFunc(res.Skipped, func(s SkippedPair) bool { return !ref[s.Ref] && !npu[s.NPU] })
	res.UnmatchedRef = slices.DeleteFunc(res.UnmatchedRef, func(u UnmatchedTensor) bool { return !ref[u.ID] })
	res.UnmatchedNPU = slices.DeleteFunc(res.UnmatchedNPU, func(u UnmatchedTensor) bool { return !npu[u.ID] })
	res.Superseded = slices.DeleteFunc(res.Superseded, func(s SupersededTensor) bool {
		if s.NPU {
			return !npu[s.By]
		}
		return !ref[s.By]
	})
}
