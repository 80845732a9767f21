package compare

import (
	"cmp"
	"slices"
)

// supersededBy is a tensor that supersedes others of its side.
type supersededBy struct {
	id  int
	npu bool
}

// Executions returns the tensor of a side of a pair, after its earlier executions
// in their order; nil if it has none.
func (p *Plan) Executions(x *Pair, npu bool) []*Tensor {
	last, side := x.Ref, p.ref
	if npu {
		last, side = x.NPU, p.npu
	}
	if last == nil {
		return nil
	}
	var all []*Tensor
	for _, id := range p.olderBy[supersededBy{last.ID, npu}] {
		all = append(all, side.Tensors[id])
	}
	slices.SortStableFunc(all, func(a, b *Tensor) int { return cmp.Compare(p.timestamp(a, npu), p.timestamp(b, npu)) })
	return append(all, last)
}

// timestamp is that of a tensor, 0 where its name and its file have none.
func (p *Plan) timestamp(t *Tensor, npu bool) uint64 {
	if npu {
		return p.npu.named[t.ID].Timestamp
	}
	return p.ref.named[t.ID].Timestamp
}

// Tied reports whether two executions have one timestamp.
func (p *Plan) Tied(executions []*Tensor, npu bool) bool {
	for i := 1; i < len(executions); i++ {
		if p.timestamp(executions[i], npu) == p.timestamp(executions[i-1], npu) {
			return true
		}
	}
	return false
}
