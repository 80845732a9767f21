package ranks

import (
	"cmp"
	"hash/fnv"
	"slices"
)

// describe finds the types and shapes of tensors that only their files say. What cannot
// be opened has no elements then.
func (r *Run) describe(f *files) (errs []error) {
	for _, s := range r.Steps {
		for _, rank := range s.ranks() {
			for _, c := range s.Calls[rank] {
				for _, t := range slices.Concat(c.In, c.Params, c.Out) {
					if t.Shape != nil || t.File == nil || t.data != nil {
						continue
					}
					if err := f.describe(t); err != nil {
						errs = append(errs, err)
					}
				}
			}
		}
	}
	return errs
}

// inference finds the groups of communications that do not name them, by what their
// members hold: groups of ranks that are evenly spaced, in equal blocks.
type inference struct {
	*digests
	run   *Run
	world int
	mesh  []Axis // nil where nobody says it
	// votes are how well groups explain all communications of a kind.
	votes map[string]map[spacing]float64
	held  []undecided
	found GroupList
}

// spacing is how groups lie among all ranks.
type spacing struct{ stride, size int }

// groups are those of some ranks; nil where they are not whole ones.
func (s spacing) groups(ranks []int) [][]int {
	at := make(map[[2]int]int)
	var all [][]int
	for _, r := range ranks {
		key := [2]int{r / (s.stride * s.size), r % s.stride}
		i, ok := at[key]
		if !ok {
			i = len(all)
			at[key] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], r)
	}
	if slices.ContainsFunc(all, func(g []int) bool { return len(g) != s.size }) {
		return nil
	}
	return all
}

// undecided are calls that belong together but for their groups.
type undecided struct {
	kind  string
	ranks []int
	calls map[int]*Call
	best  candidate
}

// candidate are groups, and what share of what the members hold they explain.
type candidate struct {
	spacing
	share float64
}

// The share of elements that have to be explained for a member, and of members for groups.
const (
	explainedElements = 0.98
	explainedMembers  = 0.9
)

// infer gives the communications of a run their groups where nobody names them, and
// returns these groups. With a mesh they are along axes of it that follow each other.
func (r *Run) infer(f *files, mesh []Axis) GroupList {
	if r.votes == nil {
		r.votes = make(map[string]map[spacing]float64)
	}
	n := &inference{digests: &digests{files: f}, run: r, world: len(r.Ranks), mesh: mesh, votes: r.votes}
	for _, s := range r.Steps {
		n.step(s)
		n.pairs(s)
	}
	for _, s := range r.Steps {
		n.usualPairs(s)
	}
	for i := range n.held {
		n.decide(&n.held[i])
	}
	return n.found
}

// inferStep gives the communications of a step their groups, by that step alone.
func (r *Run) inferStep(f *files, s *Step, mesh []Axis) {
	if len(r.Read()) > 0 && !r.inferred {
		return
	}
	one := &Run{Steps: []*Step{s}, Ranks: r.Ranks, world: r.world, votes: r.votes}
	one.infer(f, mesh)
	r.votes, r.inferred = one.votes, true
}

// step looks for the groups of the communications of a step.
func (n *inference) step(s *Step) {
	type key struct {
		api   string
		count int
	}
	sets := make(map[key]*undecided)
	var order []key
	for _, rank := range s.ranks() {
		counts := make(map[string]int)
		for _, c := range s.Calls[rank] {
			m := c.Comm
			if m == nil || m.Group != nil || m.GroupName != "" || m.api.pattern == unchecked || m.api.pattern >= send || len(m.In) == 0 {
				continue
			}
			kind := m.api.names[0] + shapesText(m)
			k := key{kind, counts[kind]}
			counts[kind]++
			if sets[k] == nil {
				sets[k] = &undecided{kind: kind, calls: make(map[int]*Call)}
				order = append(order, k)
			}
			sets[k].ranks = append(sets[k].ranks, rank)
			sets[k].calls[rank] = c
		}
	}
	for _, k := range order {
		n.try(sets[k])
		n.held = append(n.held, *sets[k])
	}
}

// shapesText are the shapes of a communication; rows of an exchange may differ.
func shapesText(m *Comm) (text string) {
	for _, list := range [][]*Tensor{m.In, m.Out} {
		for _, t := range list {
			shape := t.Shape
			if m.api.pattern == allToAll && len(shape) > 0 {
				shape = shape[1:]
			}
			text += " " + t.DType.String() + shape.String()
		}
	}
	return text
}

// try measures how well groups of each spacing explain calls.
func (n *inference) try(u *undecided) {
	for _, s := range n.spacings() {
		groups := s.groups(u.ranks)
		if groups == nil {
			continue
		}
		c := candidate{s, n.share(u, groups)}
		if c.share > explainedMembers {
			if n.votes[u.kind] == nil {
				n.votes[u.kind] = make(map[spacing]float64)
			}
			n.votes[u.kind][s] += c.share
		}
		if u.best.size == 0 || n.better(u, c, u.best) {
			u.best = c
		}
	}
}

// spacings are those that groups may have: along axes of a mesh that follow each other, or all.
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

// better reports whether groups explain more than others, or as much with fewer members:
// a sum over more ranks has a wider bound. Of broadcasts the largest groups count.
func (n *inference) better(u *undecided, a, b candidate) bool {
	size := cmp.Compare(b.size, a.size)
	if u.calls[u.ranks[0]].Comm.api.pattern == broadcast {
		size = -size
	}
	return cmp.Or(cmp.Compare(a.share, b.share), size, cmp.Compare(a.stride, b.stride)) > 0
}

// share is the share of members of which groups explain what they hold.
func (n *inference) share(u *undecided, groups [][]int) float64 {
	explained := 0
	for _, g := range groups {
		e := &Event{Group: g, Calls: make([]*Call, len(g)), comms: make([]*Comm, len(g))}
		for i, rank := range g {
			e.Calls[i], e.comms[i] = u.calls[rank], u.calls[rank].Comm
		}
		e.complete(nil)
		if e.skip.IsZero() {
			explained += n.explained(e)
		}
	}
	return float64(explained) / float64(len(u.ranks))
}

// explained counts the members of an event that hold what they ought to. Where all elements are
// the same, or some are no number, any group explains them: that counts as none.
func (n *inference) explained(e *Event) (members int) {
	if !slices.ContainsFunc(e.comms, func(m *Comm) bool { return len(m.Out) > 0 && !n.isUniform(m.Out[0]) }) {
		return 0
	}
	if e.api().pattern == allToAll && e.comms[0].Sent == nil && len(e.comms[0].In) == 1 {
		return n.exchanged(e)
	}
	if e.api().pattern == broadcast {
		return n.broadcast(e)
	}
	p, err := e.plan()
	if err != nil {
		return 0
	}
	if p.pieces != nil {
		for i, pieces := range p.pieces {
			var at, differ, total int64
			for _, part := range pieces {
				some := min(part.n, sample)
				d, err := n.differences(e.comms[part.from].In, part.first, e.comms[i].Out, at, some, 0)
				if err != nil {
					return 0
				}
				differ, total, at = differ+d.count, total+some, at+part.n
			}
			if float64(differ) <= (1-explainedElements)*float64(total) {
				members++
			}
		}
		return members
	}
	r := &reducer{files: n.files, event: e, plan: p, op: e.comms[0].Op, reduced: &n.reduced}
	if r.prepare() != nil || !r.skip.IsZero() {
		return 0
	}
	for i, part := range p.ranges {
		some := min(part.n, sample)
		y := make([]float64, some)
		if some == 0 || r.reduce(part.first, some) != nil || r.floats(y, e.comms[i].Out, 0) != nil {
			continue
		}
		bad := 0
		for k := range y {
			if r.judge(y[k], r.exact[k], r.size[k], r.bound(r.exact[k], r.size[k])) == wrong {
				bad++
			}
		}
		if float64(bad) <= (1-explainedElements)*float64(some) {
			members++
		}
	}
	return members
}

// broadcast counts the members that hold what one of them put in, and makes that one the
// root.
func (n *inference) broadcast(e *Event) (members int) {
	for root := range e.Group {
		in, holding := e.comms[root].In, 0
		for _, m := range e.comms {
			if count(m.Out) == count(in) && n.surelySame(in, 0, m.Out, 0, count(in)) {
				holding++
			}
		}
		members = max(members, holding)
	}
	return members
}

// exchanged counts the members of an exchange, all or none: the rows that are sent are
// those that are received.
func (n *inference) exchanged(e *Event) int {
	rows := make(map[uint64]int)
	for _, m := range e.comms {
		for by, t := range map[int]*Tensor{1: m.In[0], -1: m.Out[0]} {
			if len(t.Shape) == 0 || t.Shape[0] == 0 {
				continue
			}
			row := t.elements() / t.Shape[0]
			for at := int64(0); row > 0 && at < t.elements(); at += row {
				data, _, err := n.bytes(nil, []*Tensor{t}, at, row)
				if err != nil {
					return 0
				}
				h := fnv.New64a()
				h.Write(data) // which never fails
				rows[h.Sum64()] += by
			}
		}
	}
	for _, k := range rows {
		if k != 0 {
			return 0
		}
	}
	return len(e.Group)
}

// decide gives calls the groups that explain them, or those that explained most others of
// their kind.
func (n *inference) decide(u *undecided) {
	pick := u.best.spacing
	if u.best.share <= explainedMembers {
		most := 0.0
		pick = spacing{}
		for s, votes := range n.votes[u.kind] {
			if votes > most || votes == most && (s.size < pick.size || s.size == pick.size && s.stride > pick.stride) {
				pick, most = s, votes
			}
		}
	}
	if pick.size == 0 {
		return
	}
	for _, g := range pick.groups(u.ranks) {
		n.found.add(g)
		for _, rank := range g {
			m := u.calls[rank].Comm
			m.Group = g
			if m.api.pattern == broadcast && m.Root < 0 {
				m.Root = n.rootOf(u, g)
			}
		}
	}
}

// rootOf is the rank whose input most members of a group hold after a broadcast.
func (n *inference) rootOf(u *undecided, g []int) int {
	root, most := g[0], -1
	for _, r := range g {
		in, holding := u.calls[r].Comm.In, 0
		for _, other := range g {
			if out := u.calls[other].Comm.Out; count(out) == count(in) && n.surelySame(in, 0, out, 0, count(in)) {
				holding++
			}
		}
		if holding > most {
			root, most = r, holding
		}
	}
	return root
}

// pairs finds out who sent to whom, where no call says it: what was received is what
// another rank sent.
func (n *inference) pairs(s *Step) {
	var sends, receives []*Call
	for _, rank := range s.ranks() {
		for _, c := range s.Calls[rank] {
			switch m := c.Comm; {
			case m == nil || m.Root >= 0:
			case m.api.pattern == send && len(m.In) > 0:
				sends = append(sends, c)
			case m.api.pattern == receive && len(m.Out) > 0:
				receives = append(receives, c)
			}
		}
	}
	for _, to := range receives {
		i := slices.IndexFunc(sends, func(from *Call) bool {
			in, out := from.Comm.In, to.Comm.Out
			return from.Comm.Root < 0 && from.Rank != to.Rank && count(in) == count(out) && n.surelySame(in, 0, out, 0, count(in))
		})
		if i >= 0 {
			sends[i].Comm.Root, to.Comm.Root = to.Rank, sends[i].Rank
		}
	}
}

// usualPairs finds out who sent what arrived as something else: the rank that sends to the
// receiver otherwise, the next of its sends that nobody got and that is as large.
func (n *inference) usualPairs(s *Step) {
	senders := make(map[int]map[int]int) // how often, by receivers and senders
	for _, step := range n.run.Steps {
		for rank, calls := range step.Calls {
			for _, c := range calls {
				if m := c.Comm; m != nil && m.api.pattern == receive && m.Root >= 0 {
					if senders[rank] == nil {
						senders[rank] = make(map[int]int)
					}
					senders[rank][m.Root]++
				}
			}
		}
	}
	for _, rank := range s.ranks() {
		for _, to := range s.Calls[rank] {
			if m := to.Comm; m == nil || m.api.pattern != receive || m.Root >= 0 || len(senders[rank]) != 1 {
				continue
			}
			for sender := range senders[rank] {
				if from := n.freeSend(s, sender, to); from != nil {
					from.Comm.Root, to.Comm.Root = rank, sender
				}
			}
		}
	}
}

// freeSend is a send of a rank that is as large as what was received and that nobody got. Where
// another got it, who could have got the same from a third rank, that one sent it.
func (n *inference) freeSend(s *Step, sender int, to *Call) *Call {
	size := count(to.Comm.Out)
	for _, free := range []bool{true, false} {
		for _, from := range s.Calls[sender] {
			if m := from.Comm; m == nil || m.api.pattern != send || m.Root < 0 != free || count(m.In) != size {
				continue
			}
			if free || n.sentByOther(s, from) {
				return from
			}
		}
	}
	return nil
}

// sentByOther gives what a rank sent another sender, of equal values that nobody got, and
// reports whether there is one.
func (n *inference) sentByOther(s *Step, from *Call) bool {
	in := from.Comm.In
	for _, got := range s.Calls[from.Comm.Root] {
		if m := got.Comm; m == nil || m.api.pattern != receive || m.Root != from.Rank || count(m.Out) != count(in) || !n.surelySame(in, 0, m.Out, 0, count(in)) {
			continue
		}
		for _, rank := range s.ranks() {
			for _, c := range s.Calls[rank] {
				if m := c.Comm; m != nil && m.api.pattern == send && m.Root < 0 && rank != got.Rank && count(m.In) == count(in) && n.surelySame(in, 0, m.In, 0, count(in)) {
					m.Root, got.Comm.Root = got.Rank, rank
					return true
				}
			}
		}
	}
	return false
}
