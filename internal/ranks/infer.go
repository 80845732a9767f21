package ranks

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/trace"
)

// inference finds the groups of communications without a named group. It tries evenly spaced ranks in equal blocks,
// and keeps the groups whose members hold the result of the communication.
type inference struct {
	*reader
	steps []*trace.Step // of the same program
	world int           // the number of ranks of the program
	mesh  []Axis        // nil without --parallel
	// votes sums, by kind of communication and spacing, the shares of communications that the groups explain.
	votes map[string]map[spacing]float64
	held  []ungroupedCalls
	found [][]int
}

// spacing describes equal groups of size ranks, stride apart. With 4 ranks, tp=2 is {1, 2} and dp=2 is {2, 2}.
type spacing struct{ stride, size int }

// groups splits ranks into groups with this spacing; nil if a group lacks a member.
func (s spacing) groups(ranks []int) [][]int {
	all := trace.GroupBy(slices.Values(ranks), func(rank int) ([2]int, bool) { return [2]int{rank / (s.stride * s.size), rank % s.stride}, true })
	if slices.ContainsFunc(all, func(g []int) bool { return len(g) != s.size }) {
		return nil
	}
	return all
}

// ungroupedCalls has the calls of a communication on all ranks, whose groups are not known yet.
type ungroupedCalls struct {
	kind  string
	ranks []int
	calls map[int]*trace.Call
	best  candidate
}

// event returns the communication within a group of the ranks.
func (u *ungroupedCalls) event(ranks []int) *Event {
	e := &Event{Group: ranks, Calls: make([]*trace.Call, len(ranks)), comms: make([]*trace.Comm, len(ranks)), group: &group{ranks: ranks}}
	for i, rank := range ranks {
		e.Calls[i], e.comms[i] = u.calls[rank], u.calls[rank].Comm
	}
	return e
}

// candidate is a spacing with the share of members, 0 to 1, that hold the result of their group.
type candidate struct {
	spacing
	share float64
}

// A member is explained if this share of its elements is right, a spacing if this share of members is explained. Both
// are 0 to 1.
const (
	explainedElements = 0.98
	explainedMembers  = 0.9
)

// inferSteps sets the groups of communications of the steps without a named group, program by program. With a mesh,
// groups lie along its consecutive axes.
func (r *Run) inferSteps(f *reader, all []*trace.Step, mesh []Axis) {
	for _, steps := range trace.GroupBy(slices.Values(all), func(s *trace.Step) (dumpdir.Coordinates, bool) { return s.Program(), true }) {
		p := r.programOf(steps[0])
		n := &inference{reader: f, steps: steps, world: len(p.ranks), mesh: mesh, votes: p.votes}
		for _, s := range steps {
			n.scoreStep(s)
			n.matchPairs(s, true)
		}
		for _, s := range steps {
			n.matchUsualPairs(s)
			n.matchPairs(s, false)
		}
		for i := range n.held {
			n.decideGroups(&n.held[i])
		}
	}
}

// inferStep infers the groups of a step from this step alone.
func (r *Run) inferStep(f *reader, s *trace.Step, mesh []Axis) {
	if len(r.NamedGroups()) > 0 && !r.inferred {
		return
	}
	r.inferSteps(f, []*trace.Step{s}, mesh)
	r.inferred = true
}

// scoreStep scores groups for each communication of a step.
func (n *inference) scoreStep(s *trace.Step) {
	type key struct {
		API           string
		CountElements int
	}
	sets := make(map[key]*ungroupedCalls)
	var order []key
	for _, rank := range s.Ranks() {
		counts := make(map[string]int)
		for _, c := range s.Calls[rank] {
			m := c.Comm
			if m == nil || m.Group != nil || m.GroupName != "" || m.API.Pattern == trace.Unchecked || m.API.Pattern >= trace.Send || len(m.In) == 0 {
				continue
			}
			kind := m.API.Names[0] + shapesText(m)
			k := key{kind, counts[kind]}
			counts[kind]++
			if sets[k] == nil {
				sets[k] = &ungroupedCalls{kind: kind, calls: make(map[int]*trace.Call)}
				order = append(order, k)
			}
			sets[k].ranks = append(sets[k].ranks, rank)
			sets[k].calls[rank] = c
		}
	}
	for _, k := range order {
		n.scoreGroups(sets[k])
		n.held = append(n.held, *sets[k])
	}
}

// shapesText lists types and shapes of a communication. The number of rows of an all_to_all may differ between ranks
// and is left out.
func shapesText(m *trace.Comm) (text string) {
	for _, list := range [][]*trace.Tensor{m.In, m.Out} {
		for _, t := range list {
			shape := t.Shape
			if m.API.Pattern == trace.AllToAll && len(shape) > 0 {
				shape = shape[1:]
			}
			text += " " + t.DType.String() + shape.String()
		}
	}
	return text
}

// scoreGroups scores the groups of each spacing for a communication and keeps the best.
func (n *inference) scoreGroups(u *ungroupedCalls) {
	for _, s := range n.spacings() {
		groups := s.groups(u.ranks)
		if groups == nil {
			continue
		}
		c := candidate{s, n.sharedLeading(u, groups)}
		if c.share > explainedMembers {
			if n.votes[u.kind] == nil {
				n.votes[u.kind] = make(map[spacing]float64)
			}
			n.votes[u.kind][s] += c.share
		}
		if u.best.size == 0 || n.explainsMore(u, c, u.best) {
			u.best = c
		}
	}
}

// spacings lists the possible spacings: along consecutive axes of the mesh, or all without a mesh.
func (n *inference) spacings() (all []spacing) {
	for i, a := range n.mesh {
		size := 1
		for _, b := range n.mesh[i:] {
			if b.Name == "ep" && b != a { // a part of dp
				continue
			}
			size *= b.Size
			all = append(all, spacing{a.Stride, size})
		}
		if a.Name == "ep" && i+1 < len(n.mesh) { // the ranks of dp with the same experts
			dp := n.mesh[i+1]
			all = append(all, spacing{a.Stride * a.Size, dp.Size / a.Size})
		}
	}
	for stride := 1; n.mesh == nil && stride < n.world; stride *= 2 {
		for size := 2; stride*size <= n.world; size++ {
			if n.world%(stride*size) == 0 {
				all = append(all, spacing{stride, size})
			}
		}
	}
	return slices.DeleteFunc(all, func(s spacing) bool { return s.size < 2 || s.stride*s.size > n.world })
}

// explainsMore reports whether a explains more members than b, or as many with smaller groups: a sum over more ranks
// has a wider bound. Broadcasts prefer the largest groups.
func (n *inference) explainsMore(u *ungroupedCalls, a, b candidate) bool {
	size := cmp.Compare(b.size, a.size)
	if u.calls[u.ranks[0]].Comm.API.Pattern == trace.Broadcast {
		size = -size
	}
	return cmp.Or(cmp.Compare(a.share, b.share), size, cmp.Compare(a.stride, b.stride)) > 0
}

// sharedLeading returns the share of members, 0 to 1, that hold the result of their group. Members with uniform
// results do not count; see countVotes.
func (n *inference) sharedLeading(u *ungroupedCalls, groups [][]int) float64 {
	right, wrong := 0, 0
	for _, g := range groups {
		e := u.event(g)
		e.checkMembers()
		r, w := 0, len(g)
		if e.skip.IsZero() {
			r, w = n.countVotes(e)
		}
		right, wrong = right+r, wrong+w
	}
	return float64(right) / float64(max(1, right+wrong))
}

// countVotes counts the members of an event that hold the right result, and the members that hold another result. A
// right result of equal elements or of NaN fits many groups and is not counted.
func (n *inference) countVotes(e *Event) (right, wrong int) {
	switch pattern := e.api().Pattern; {
	case pattern == trace.AllToAll && e.comms[0].Sent == nil && len(e.comms[0].In) == 1:
		return n.voteExchange(e)
	case pattern == trace.Broadcast:
		_, right, wrong = n.voteBroadcast(e)
		return right, wrong
	}
	p, err := e.planOutputs()
	if err != nil {
		return 0, len(e.Group)
	}
	if p.ranges == nil {
		r := &reducer{reader: n.reader, event: e, plan: p, reducedWindow: &n.reader.reduced}
		return n.countVotesBy(e, r.holdsCopies)
	}
	for _, op := range append([]trace.Reduction{e.comms[0].Op}, e.otherReductions()...) {
		r := &reducer{reader: n.reader, event: e, plan: p, op: op, reducedWindow: &n.reader.reduced}
		if r.setPrecision() != nil || !r.skip.IsZero() {
			wrong = max(wrong, len(e.Group)-right)
			continue
		}
		if a, b := n.countVotesBy(e, r.holdsSum); op == e.comms[0].Op || a > right {
			right, wrong = a, b
		}
	}
	return right, wrong
}

// countVotesBy is countVotes with holds as the test of a member.
func (n *inference) countVotesBy(e *Event, holds func(int) (bool, error)) (right, wrong int) {
	for i, m := range e.comms {
		switch fits, err := holds(i); {
		case err != nil || !fits:
			wrong++
		case n.identifiesGroup(m):
			right++
		}
	}
	return right, wrong
}

// identifiesGroup reports whether the result of a member can identify its group: a result of equal elements, such as
// zeros, fits many groups.
func (n *inference) identifiesGroup(m *trace.Comm) bool {
	return slices.ContainsFunc(m.Out, func(t *trace.Tensor) bool { return !n.IsUniform(t) })
}

// hypothesisFit counts the elements of a member that match or contradict an expected result. Matching 0, NaN and
// infinity are not counted, since they fit many groups.
type hypothesisFit struct{ counted, bad int }

func (f *hypothesisFit) add(y float64, good bool) {
	switch {
	case !good:
		f.counted++
		f.bad++
	case y != 0 && y-y == 0:
		f.counted++
	}
}

// isGood reports whether nearly all counted elements are right.
func (f *hypothesisFit) isGood() bool {
	return float64(f.bad) <= (1-explainedElements)*float64(f.counted)
}

// holdsCopies reports whether a member holds copies of its pieces in the plan.
func (r *reducer) holdsCopies(i int) (bool, error) {
	var f hypothesisFit
	var at int64
	for _, part := range r.plan.pieces[i] {
		some := min(part.n, windowElements)
		r.x, r.y = trace.Resize(r.x, some), trace.Resize(r.y, some)
		if err := errors.Join(r.Floats(r.x, r.event.comms[part.from].In, part.first), r.Floats(r.y, r.event.comms[i].Out, at)); err != nil {
			return false, err
		}
		for k, y := range r.y {
			f.add(y, math.Float64bits(y) == math.Float64bits(r.x[k]))
		}
		at += part.n
	}
	return f.isGood(), nil
}

// holdsSum reports whether a member holds its part of the reduction.
func (r *reducer) holdsSum(i int) (bool, error) {
	part := r.plan.ranges[i]
	some := min(part.n, windowElements)
	r.y = trace.Resize(r.y, some)
	if err := errors.Join(r.reduce(part.first, some), r.Floats(r.y, r.event.comms[i].Out, 0)); err != nil {
		return false, err
	}
	var f hypothesisFit
	for k, y := range r.y {
		judged := r.judge(y, r.exact[k], r.size[k], r.bound(r.exact[k], r.size[k]))
		f.add(y, judged == good || judged == overflowed && y-y != 0)
	}
	return f.isGood(), nil
}

// voteBroadcast finds the root: the member whose input most members hold. right counts the members that hold this input
// and can identify their group (see identifiesGroup); wrong counts the members that hold other data.
func (n *inference) voteBroadcast(e *Event) (root, right, wrong int) {
	most := -1
	for i, from := range e.comms {
		holding, telling := 0, 0
		for _, m := range e.comms {
			if trace.CountElements(m.Out) == trace.CountElements(from.In) && n.SurelySame(from.In, 0, m.Out, 0, trace.CountElements(from.In)) {
				holding++
				if n.identifiesGroup(m) {
					telling++
				}
			}
		}
		if holding > most {
			root, most, right, wrong = i, holding, telling, len(e.Group)-holding
		}
	}
	return root, right, wrong
}

// voteExchange is countVotes for an all_to_all: all members are right if the multisets of sent and received rows
// are equal, else all are wrong.
func (n *inference) voteExchange(e *Event) (right, wrong int) {
	rows := make(map[uint64]int)
	for _, m := range e.comms {
		in, known := n.rowHashes(m.In)
		out, ok := n.rowHashes(m.Out)
		if !known || !ok {
			return 0, len(e.Group)
		}
		for _, row := range in {
			rows[row]++
		}
		for _, row := range out {
			rows[row]--
		}
		if n.identifiesGroup(m) {
			right++
		}
	}
	for _, k := range rows {
		if k != 0 {
			return 0, len(e.Group)
		}
	}
	return right, 0
}

// decideGroups sets the groups of calls: to the best spacing if it explains most members, or if it explains some of them
// and was the best for other calls of the same kind; else to the spacing that was the best for most other calls of
// the kind. Sums in low precision that no spacing explains have the spacing with the nearest sums.
func (n *inference) decideGroups(u *ungroupedCalls) {
	pick := u.best.spacing
	if u.best.share <= explainedMembers && (u.best.share == 0 || n.votes[u.kind][pick] == 0) {
		if near := n.nearestSpacing(u); near.size > 0 {
			n.setGroups(u, near)
			return
		}
		most := 0.0
		pick = spacing{}
		for s, votes := range n.votes[u.kind] {
			if votes > most || votes == most && (s.size < pick.size || s.size == pick.size && s.stride > pick.stride) {
				pick, most = s, votes
			}
		}
	}
	if pick.size > 0 {
		n.setGroups(u, pick)
	}
}

// setGroups sets the groups of calls to a spacing.
func (n *inference) setGroups(u *ungroupedCalls, pick spacing) {
	for _, g := range pick.groups(u.ranks) {
		n.found = append(n.found, g)
		e := u.event(g)
		for _, m := range e.comms {
			m.Group = g
		}
		if e.api().Pattern == trace.Broadcast && e.comms[0].Root < 0 {
			root, _, _ := n.voteBroadcast(e)
			for _, m := range e.comms {
				m.Root = g[root]
			}
		}
	}
}

// distinctError is the minimum ratio between the errors of two spacings at which the smaller error identifies the
// groups.
const distinctError = 3

// nearestSpacing returns the spacing whose sums are near the results, within the error of a reduction in low precision,
// while the sums of all others are not; the zero value for none. The error of a spacing is the median over the members.
func (n *inference) nearestSpacing(u *ungroupedCalls) (nearest spacing) {
	least, second := math.Inf(1), math.Inf(1)
	for _, s := range n.spacings() {
		groups := s.groups(u.ranks)
		if groups == nil {
			continue
		}
		var all []float64
		for _, g := range groups {
			e := u.event(g)
			if e.checkMembers(); e.skip.IsZero() {
				all = append(all, n.sumErrors(e)...)
			}
		}
		if len(all) < len(u.ranks) {
			continue
		}
		slices.Sort(all)
		switch err := all[len(all)/2]; {
		case err < least:
			nearest, least, second = s, err, least
		default:
			second = min(second, err)
		}
	}
	if least > lowLargest || !(second > distinctError*least) { // second may be NaN
		return spacing{}
	}
	return nearest
}

// sumErrors returns, for each member of a reduction, the error of its result relative to the sum; nil for other
// communications.
func (n *inference) sumErrors(e *Event) (all []float64) {
	p, err := e.planOutputs()
	if err != nil || p.ranges == nil {
		return nil
	}
	r := &reducer{reader: n.reader, event: e, plan: p, op: e.comms[0].Op, reducedWindow: &n.reader.reduced}
	if r.setPrecision() != nil || !r.skip.IsZero() {
		return nil
	}
	for i, m := range e.comms {
		part := p.ranges[i]
		some := min(part.n, windowElements)
		r.y = trace.Resize(r.y, some)
		if !n.identifiesGroup(m) || errors.Join(r.reduce(part.first, some), r.Floats(r.y, m.Out, 0)) != nil {
			return nil
		}
		var apart, size float64
		for k, y := range r.y {
			apart, size = apart+float64((y-r.exact[k])*(y-r.exact[k])), size+float64(r.exact[k]*r.exact[k])
		}
		all = append(all, math.Sqrt(apart/size))
	}
	return all
}
