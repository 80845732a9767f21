package plan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
)

// This file groups the ranks of a reference with several ranks, and pairs them.

// ranksOfStep returns the rounds of all ranks in the step of a round, ascending; the round alone if ranks are not
// numbers or occur twice.
func ranksOfStep(rounds []*dumpdir.Round, of *dumpdir.Round) (all []*dumpdir.Round) {
	seen := make(map[int]bool)
	for _, r := range rounds {
		if withoutRank(r) != withoutRank(of) {
			continue
		}
		rank, err := strconv.Atoi(r.At.Rank)
		if err != nil || rank < 0 || seen[rank] {
			return []*dumpdir.Round{of}
		}
		seen[rank] = true
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *dumpdir.Round) int { return a.At.Compare(b.At) })
	return all
}

// isAlike reports whether both sides have the same ranks (two or more), and each rank has the same tensors on both.
func (s *ShardedStep) isAlike(o *Options) bool {
	if len(s.refs) < 2 || len(s.refs) != len(s.npu) {
		return false
	}
	for _, npu := range s.npu {
		i := slices.IndexFunc(s.refs, func(r *dumpdir.Round) bool { return r.At.Rank == npu.At.Rank })
		if i < 0 || namesDiffer(s.refs[i], npu) || o.shapesDiffer(s.refs[i], npu) {
			return false
		}
	}
	return true
}

// namesDiffer reports whether the reference lacks many operators of the NPU round.
func namesDiffer(ref, npu *dumpdir.Round) bool {
	has := make(map[string]bool, len(ref.Ops))
	for _, op := range ref.Ops {
		has[op.Name] = true
	}
	return float64(lists.Count(npu.Ops, func(op *dumpdir.Op) bool { return !has[op.Name] })) > minOtherShapes*float64(len(npu.Ops))
}

// joinReferences pairs all ranks of a step with the first round of a reference of several ranks, which stands for all
// of its ranks.
func (s *sharding) joinReferences(paired *dumpdir.RoundPairs) {
	if s == nil {
		return
	}
	for _, step := range s.steps {
		if len(step.refs) < 2 {
			continue
		}
		isNPU := func(r *dumpdir.Round) bool { return s.byRound[r] == step }
		isRef := func(r *dumpdir.Round) bool { return slices.Contains(step.refs, r) }
		i := slices.IndexFunc(paired.Pairs, func(x dumpdir.RoundPair) bool { return isNPU(x.NPU) })
		if i < 0 {
			continue
		}
		notes := slices.DeleteFunc(slices.Clone(paired.Pairs[i].Notes), func(n lang.Sentence) bool { return strings.HasPrefix(n.String(), "rank ") })
		paired.Pairs = slices.DeleteFunc(paired.Pairs, func(x dumpdir.RoundPair) bool { return isNPU(x.NPU) })
		for _, r := range step.npu {
			paired.Pairs = append(paired.Pairs, dumpdir.RoundPair{Ref: step.ref, NPU: r, At: r.At, Notes: notes})
		}
		paired.Ref, paired.NPU = slices.DeleteFunc(paired.Ref, isRef), slices.DeleteFunc(paired.NPU, isNPU)
	}
	slices.SortStableFunc(paired.Pairs, func(a, b dumpdir.RoundPair) int {
		return cmp.Or(a.NPU.At.Compare(b.NPU.At), a.Ref.At.Compare(b.Ref.At))
	})
}
