package ranks

import (
	"slices"

	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/trace"
)

// damage is a piece that a member holds with other elements than were sent.
type damage struct {
	member int
	inputPiece
	at    int64 // the first element of the piece in the member's output
	index int   // index among the pieces of the member
}

// judgeCopies compares the outputs of members with the inputs that were sent to them.
func (f *reader) judgeCopies(e *Event, p *outputPlan) judgement {
	var bad []damage
	for i, pieces := range p.pieces {
		var at int64
		for k, part := range pieces {
			d := damage{member: i, inputPiece: part, at: at, index: k}
			in, out := e.comms[part.from].In, e.comms[i].Out
			at += part.n
			equal, known := trace.HaveSameDigests(in, part.first, out, d.at, part.n)
			if !known {
				if !trace.AllStored(in, out) {
					return noElementsJudgement()
				}
				var err error
				if equal, err = f.HaveSameElements(in, part.first, out, d.at, part.n); err != nil {
					return failedJudgement(err)
				}
			}
			if !equal {
				bad = append(bad, d)
			}
		}
	}
	if len(bad) == 0 {
		return judgement{}
	}
	c := &copyExplainer{f, e, p}
	if sender := c.commonSender(bad); sender >= 0 {
		found := e.newFinding(SentOther, sender)
		found.Confidence = medium
		c.describe(found, bad[:1])
		return judgement{found: []*Finding{found}}
	}
	var j judgement
	for i := range e.Group {
		mine := slices.DeleteFunc(slices.Clone(bad), func(d damage) bool { return d.member != i })
		if len(mine) == 0 {
			continue
		}
		found := e.newFinding(c.explainMember(i, mine), i)
		c.describe(found, mine)
		j.found = append(j.found, found)
	}
	return j
}

// copyExplainer finds the fault behind damaged copies.
type copyExplainer struct {
	*reader
	event *Event
	plan  *outputPlan
}

// explainMember returns the fault that explains the damage of a member.
func (c *copyExplainer) explainMember(i int, mine []damage) Kind {
	e := c.event
	m := e.comms[i]
	switch e.api().Pattern {
	case trace.Broadcast, trace.Send, trace.Receive:
		if trace.CountElements(m.In) == trace.CountElements(m.Out) && c.SurelySame(m.In, 0, m.Out, 0, trace.CountElements(m.Out)) {
			return NotReceived
		}
	case trace.ScatterRoot:
		root := mine[0].from
		for j := range e.Group {
			if other := c.plan.pieces[j][0]; j != i && other.n == mine[0].n && c.SurelySame(e.comms[root].In, other.first, m.Out, 0, other.n) {
				return WrongPart
			}
		}
	case trace.AllToAll:
		if c.holdsSameRows(i) {
			return Swapped
		}
	default:
		for _, k := range []Kind{Swapped, Stale} {
			if slices.ContainsFunc(mine, func(d damage) bool { return c.explainBlock(d) == k }) {
				return k
			}
		}
	}
	if c.holdsPrevious(e, i) {
		return Stale
	}
	return Corrupt
}

// explainBlock returns the fault that explains a damaged block of a gather.
func (c *copyExplainer) explainBlock(d damage) Kind {
	e := c.event
	out := e.comms[d.member].Out
	for k := range e.Group {
		if in := e.comms[k].In; k != d.from && trace.CountElements(in) == d.n && c.SurelySame(in, 0, out, d.at, d.n) {
			return Swapped
		}
	}
	for _, before := range e.previousOutputs(d.member) {
		if c.SurelySame(before, d.at, out, d.at, d.n) {
			return Stale
		}
	}
	return Corrupt
}

// commonSender returns the member whose block arrived equally wrong at all receivers, while all other blocks are
// right; -1 for none. It needs at least two receivers.
func (c *copyExplainer) commonSender(bad []damage) int {
	e := c.event
	receivers := 0
	for i, pieces := range c.plan.pieces {
		if pieces != nil && (e.api().Pattern != trace.Broadcast || !e.isRoot(i)) {
			receivers++
		}
	}
	if p := e.api().Pattern; receivers < 2 || len(bad) != receivers || p != trace.AllGather && p != trace.Broadcast {
		return -1
	}
	first := bad[0]
	for _, d := range bad {
		if d.from != first.from || d.member != first.member && !c.SurelySame(e.comms[first.member].Out, first.at, e.comms[d.member].Out, d.at, d.n) {
			return -1
		}
	}
	return first.from
}

// holdsSameRows reports whether a member of an all-to-all holds the rows that were sent to it, in another order.
func (c *copyExplainer) holdsSameRows(i int) bool {
	out := c.event.comms[i].Out
	held, ok := c.rowHashes(out)
	if !ok || len(held) == 0 {
		return false
	}
	left := make(map[uint64]int)
	for _, mark := range held {
		left[mark]++
	}
	for _, p := range c.plan.pieces[i] {
		in := c.event.comms[p.from].In
		if !trace.AllStored(in) {
			return false
		}
		sent, ok := c.readHashes(in, p.first, p.n, out[0].Elements()/out[0].Shape[0])
		if !ok {
			return false
		}
		for _, mark := range sent {
			left[mark]--
		}
	}
	for _, n := range left {
		if n != 0 {
			return false
		}
	}
	return true
}

// describe sets facts and evidence of a finding about damaged pieces.
func (c *copyExplainer) describe(found *Finding, bad []damage) {
	e := c.event
	var from []int
	var total trace.Difference
	for n, d := range bad {
		from = append(from, e.Group[d.from])
		in, out := e.comms[d.from].In, e.comms[d.member].Out
		if !trace.AllStored(in, out) {
			found.Evidence = lang.Say("the digest of the data received from %s differs", trace.RankText(from))
			return
		}
		one, err := c.Differences(in, d.first, out, d.at, d.n, 0)
		if err != nil {
			return
		}
		total.Total += one.Total
		total.Count += one.Count
		if n == 0 {
			total.First, total.Last, total.Size, total.Xor = d.at+one.First, d.at+one.Last, one.Size, one.Xor
		}
	}
	found.Facts = finding.Facts{}.Int("elements", total.Count).Int("of", total.Total).Int("first_bad", total.First).Int("last_bad", total.Last).List("from", from)
	if len(e.Group) == 1 {
		found.Evidence = lang.Say("a group of one rank returns its input unchanged, but %d of %d elements differ from it, the first at %d",
			total.Count, total.Total, total.First)
		return
	}
	found.Evidence = lang.Say("%d of %d elements differ from the elements that %s sent, the first at %d",
		total.Count, total.Total, trace.RankText(from), total.First)
}
