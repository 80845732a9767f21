package diagnose

import (
	"slices"

	"dumptool/internal/tensor"
)

// leastCopied is the number of elements below which two tensors may be the same by
// chance.
const leastCopied = 8

// content identifies a tensor by its type, shape and elements.
type content struct {
	digest
	dtype tensor.DType
	shape string
}

// content is that of a side of the row: a tensor of few elements, or of one value, says
// nothing about where it comes from.
func (r *row) content(npu bool) (c content, ok bool) {
	res := r.result()
	if res == nil || res.Total < leastCopied {
		return c, false
	}
	side, sum, dtype := &res.Ref, r.refDigest(), r.source.RefDType
	if npu {
		side, sum, dtype = &res.NPU, r.npuDigest(), r.source.NPUDType
	}
	return content{sum, dtype, r.source.Shape.String()}, side.Min.Defined && side.Min.Value != side.Max.Value
}

// findProducers finds the output that each input is a copy of: the latest one before it
// with the same elements, on the NPU's side, else on that of the reference. Where both
// sides have one, and they differ, the NPU read another tensor than it should have.
func (n *network) findProducers() {
	if !n.Ordered {
		return
	}
	var made [2]map[content]*row // by the side
	for side := range made {
		made[side] = map[content]*row{}
	}
	for _, r := range n.order {
		var by [2]*row
		for side := range made {
			if c, ok := r.content(side == 1); ok && r.isInput {
				by[side] = made[side][c]
			} else if ok {
				made[side][c] = r
			}
		}
		byRef, byNPU := by[0], by[1]
		switch {
		case byNPU != nil && (byRef == nil || byRef == byNPU):
			r.producer = byNPU
		case byRef != nil:
			r.producer, r.misread = byRef, byNPU
		default:
			continue
		}
		o := r.operator
		if o.known || r.producer.operator == o {
			continue
		}
		if o.inferred {
			o.sources, o.inferred = nil, false
		}
		if !slices.Contains(o.sources, r.producer) {
			o.sources = append(o.sources, r.producer)
		}
	}
}
