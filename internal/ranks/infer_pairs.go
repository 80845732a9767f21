package ranks

import (
	"slices"

	"dumptool/internal/trace"
)

// transferSide is a send or a receive of a rank.
type transferSide struct {
	rank int
	*trace.Comm
}

// transferSides returns the sends or the receives of all ranks of a step.
func transferSides(s *trace.Step, p trace.Pattern) (all []transferSide) {
	for _, rank := range s.Ranks() {
		for _, c := range s.Calls[rank] {
			for _, m := range c.Comm.Transfers() {
				if m.API.Pattern == p && (len(m.In) > 0 || len(m.Out) > 0) {
					all = append(all, transferSide{rank, m})
				}
			}
		}
	}
	return all
}

// isKnown reports whether the peer rank is known.
func (s *transferSide) isKnown() bool { return s.Root >= 0 }

// connect makes two sides peers.
func connect(from, to *transferSide) { from.Root, to.Root = to.rank, from.rank }

// matchPairs matches sends and receives whose peer no call names: a receive belongs to the send with equal elements.
// Tensors whose elements are all equal match several sends; with telling they stay unmatched for a later pass.
func (n *inference) matchPairs(s *trace.Step, telling bool) {
	sends := transferSides(s, trace.Send)
	for _, to := range transferSides(s, trace.Receive) {
		if to.isKnown() || telling && !n.identifiesGroup(to.Comm) {
			continue
		}
		i := slices.IndexFunc(sends, func(from transferSide) bool {
			return !from.isKnown() && from.rank != to.rank && n.areEqual(from.In, to.Out)
		})
		if i >= 0 {
			connect(&sends[i], &to)
		}
	}
}

// areEqual reports whether lists of tensors are known to hold the same elements.
func (n *inference) areEqual(a, b []*trace.Tensor) bool {
	return trace.CountElements(a) == trace.CountElements(b) && n.SurelySame(a, 0, b, 0, trace.CountElements(a))
}

// matchUsualPairs finds the sender of a tensor that arrived damaged: the only rank that sends to this receiver
// elsewhere, with its next unmatched send of this size.
func (n *inference) matchUsualPairs(s *trace.Step) {
	senders := make(map[int]map[int]bool) // by receiver
	for _, step := range n.steps {
		for _, to := range transferSides(step, trace.Receive) {
			if to.isKnown() {
				if senders[to.rank] == nil {
					senders[to.rank] = make(map[int]bool)
				}
				senders[to.rank][to.Root] = true
			}
		}
	}
	for _, to := range transferSides(s, trace.Receive) {
		if to.isKnown() || len(senders[to.rank]) != 1 {
			continue
		}
		for sender := range senders[to.rank] {
			if from := n.freeSend(s, sender, &to); from != nil {
				connect(from, &to)
			}
		}
	}
}

// freeSend returns an unmatched send of a rank with the size of the received tensor. If all are matched, it frees a
// send whose receiver may have got the same values from a third rank.
func (n *inference) freeSend(s *trace.Step, sender int, to *transferSide) *transferSide {
	for _, free := range []bool{true, false} {
		for _, from := range transferSides(s, trace.Send) {
			if from.rank != sender || from.isKnown() == free || trace.CountElements(from.In) != trace.CountElements(to.Out) {
				continue
			}
			if free || n.reassignSend(s, &from) {
				return &from
			}
		}
	}
	return nil
}

// reassignSend moves the receiver of a send to an unmatched send of equal values on a third rank, and reports whether
// there is one.
func (n *inference) reassignSend(s *trace.Step, from *transferSide) bool {
	for _, got := range transferSides(s, trace.Receive) {
		if got.rank != from.Root || got.Root != from.rank || !n.areEqual(from.In, got.Out) {
			continue
		}
		for _, other := range transferSides(s, trace.Send) {
			if !other.isKnown() && other.rank != got.rank && n.areEqual(from.In, other.In) {
				connect(&other, &got)
				return true
			}
		}
	}
	return false
}
