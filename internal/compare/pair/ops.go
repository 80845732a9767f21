package pair

import (
	"slices"

	"dumptool/internal/dumpdir"
)

// selectOps keeps the results for the wanted operators, and lists what was
// asked for in vain. used are the skip keys and excluded names that had a use.
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
			if text, ok := t.in(c.join.opt.Ops); ok {
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
	res.Skipped = slices.DeleteFunc(res.Skipped, func(s Skipped) bool { return !ref[s.Ref] && !npu[s.NPU] })
	res.UnmatchedRef = slices.DeleteFunc(res.UnmatchedRef, func(u Unmatched) bool { return !ref[u.ID] })
	res.UnmatchedNPU = slices.DeleteFunc(res.UnmatchedNPU, func(u Unmatched) bool { return !npu[u.ID] })
	res.Superseded = slices.DeleteFunc(res.Superseded, func(s Superseded) bool {
		if s.NPU {
			return !npu[s.By]
		}
		return !ref[s.By]
	})
}
