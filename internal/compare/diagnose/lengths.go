package diagnose

import (
	"slices"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
)

// acceptLengths finds the rows whose lengths may differ: inputs of the network, outputs of operators whose size
// depends on values, and tensors computed from such rows, with the same ratio of lengths or as recomputation from the
// operator's own inputs confirms. The part that both sides have then decides the status of the row. Other outputs whose
// operator reads inputs of equal lengths stay a SHAPE_MISMATCH.
func (n *dataFlow) acceptLengths() {
	if !slices.ContainsFunc(n.rows, func(r row) bool { return r.source.Common != nil }) {
		return
	}
	var accepted []*row
	for _, r := range n.order {
		c := r.source.Common
		if c == nil || c.Matched > 0 {
			continue
		}
		c.Counts = false // set by an earlier judgement
		var sources []*row
		switch {
		case r.producer != nil:
			sources = []*row{r.producer}
		case !r.isInput:
			sources = slices.Concat(r.operator.inputs, r.operator.sources)
		}
		from := func(in *row) bool { return in.hasRatioOf(c) }
		switch {
		case slices.ContainsFunc(sources, from), r.source.Self.IsRight() && slices.ContainsFunc(sources, (*row).hasOtherLength), r.isStart() && (r.place < n.firstOutput || slices.ContainsFunc(accepted, from)), !r.isInput && r.isSizedByValues() && r.mayTie():
			accepted = append(accepted, r)
			r.useCommonPart()
		}
	}
}

// useCommonPart makes the common part of a row decide its status.
func (r *row) useCommonPart() {
	s := r.source
	s.Common.Counts = true
	s.Status, s.Reasons = s.Pair.Status, finding.WithoutCode(s.Reasons, finding.SizeMismatch)
	r.status, r.isCompared, r.noise = s.Status, s.IsCompared(), s.Noise
	r.failedBefore = r.hasFailed()
}

// hasRatioOf reports whether the accepted lengths of a row have the same ratio as the lengths of c.
func (r *row) hasRatioOf(c *record.CommonPart) bool {
	common := r.source.Common
	return r.hasOtherLength() && common.Ref*c.NPU == common.NPU*c.Ref
}

// hasOtherLength reports whether the lengths of both sides differ, and the difference is accepted.
func (r *row) hasOtherLength() bool {
	return r.source.Common != nil && r.source.Common.Counts && !r.isMatched()
}

// isMatched reports whether the rows of both sides were matched.
func (r *row) isMatched() bool { return r.source.Common != nil && r.source.Common.Matched > 0 }

// mayTie reports whether values near a threshold may explain that the lengths differ. Either the operator is right by
// its own inputs and some input differs, or the operator is not wrong and the lengths differ by at most one
// position or 1 in 20.
func (r *row) mayTie() bool {
	const few = 20
	c, self := r.source.Common, r.source.Self
	apart := max(c.Ref-c.NPU, c.NPU-c.Ref)
	return self.IsRight() && !r.hasEqualInputs() || !self.IsWrong() && (apart <= 1 || few*apart <= max(c.Ref, c.NPU))
}

// hasEqualInputs reports whether all inputs are known and equal on both sides.
func (r *row) hasEqualInputs() bool {
	in := r.resolveInputs()
	return len(in.rows) > 0 && !in.isInferred && !slices.ContainsFunc(in.rows, func(in *row) bool { return in.noise == nil || in.noise.RMS > 0 || in.noise.NonFinite > 0 })
}

// isSizedByValues reports whether the length of an output depends on the values of the inputs.
func (r *row) isSizedByValues() bool {
	return r.typ.Sized || r.typ.Gathers && slices.ContainsFunc(r.operator.inputs, func(in *row) bool {
		return in.noise != nil && in.noise.Type.Integer && in.noise.Type.Mantissa == 1 // a mask
	})
}
