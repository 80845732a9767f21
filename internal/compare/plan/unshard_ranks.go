package plan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
)

// References of several ranks: which of their ranks stand together for one, and with what they are paired.

// ranksWith are the rounds of all ranks of the step that a round is of, ascending; the round alone
// where its ranks are no numbers or are there twice.
func ranksWith(rounds []*dumpdir.Round, of *dumpdir.Round) (all []*dumpdir.Round) {
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

// isAlike reports whether both sides have the same several ranks, with the same tensors.
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

// namesDiffer reports whether a round lacks many operators of another one.
func namesDiffer(ref, npu *dumpdir.Round) bool {
	has := make(map[string]bool, len(ref.Ops))
	for _, op := range ref.Ops {
		has[op.Name] = true
	}
	lacks := 0
	for _, op := range npu.Ops {
		if !has[op.Name] {
			lacks++
		}
	}
	return float64(lacks) > otherShapes*float64(len(npu.Ops))
}

// repair pairs the ranks of steps with the first round of a reference of several ranks, which
// stands for all of them.
func (s *sharding) repair(paired *dumpdir.RoundPairs) {
	if s == nil {
		return
	}
	for _, step := range s.steps {
		if len(step.refs) < 2 {
			continue
		}
		isNPU := func(r *dumpdir.Round) bool { return s.of[r] == step }
		isRef := func(r *dumpdir.Round) bool { return slices.Contains(step.refs, r) }
		i := slices.IndexFunc(paired.Pairs, func(x dumpdir.RoundPair) bool { return isNPU(x.NPU) })
		if i < 0 {
			continue
		}
		notes := slices.DeleteFunc(slices.Clone(paired.Pairs[i].Notes), func(n string) bool { return strings.HasPrefix(n, "rank ") })
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
