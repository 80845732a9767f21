package ranks

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// Event is one communication: the matching calls of all members of a group.
type Event struct {
	Step *trace.Step
	// Group has the members in the run, in the order of the group. Calls has their calls, nil for a missing call.
	Group []int
	Calls []*trace.Call
	// comms has the communication of each call: a call of a batch has several.
	comms []*trace.Comm
	// group also has the members that are not in the run.
	group *group
	// isAssumed: no member names the group; all ranks of the program are assumed.
	isAssumed bool
	// skip is the reason why the event cannot be checked, zero if it can.
	skip lang.Sentence
	// previous is the previous event of the same role, nil for none.
	previous *Event
}

// api returns the function of the event.
func (e *Event) api() *trace.API { return e.comms[e.firstPresent()].API }

// firstPresent returns the index of the first member with a call.
func (e *Event) firstPresent() int {
	return slices.IndexFunc(e.Calls, func(c *trace.Call) bool { return c != nil })
}

// memberIndex returns the index of a rank in the group, -1 if it is no member.
func (e *Event) memberIndex(rank int) int { return slices.Index(e.Group, rank) }

// sender returns the sending call of a pair, nil if it is not in the dump.
func (e *Event) sender() *trace.Call {
	for i, m := range e.comms {
		if m != nil && m.API.Pattern == trace.Send {
			return e.Calls[i]
		}
	}
	return nil
}

// eventKey identifies the event of a call. count numbers the calls of a rank with the same function and group.
type eventKey struct {
	api   string
	group *group
	tag   int
	count int
	// guessed: the group is assumed, and only the tensors of the call are known.
	guessed bool
}

// group is a group of ranks. It may have many more members than the run has ranks, so work for each member is done
// once per group, not per call.
type group struct {
	ranks   []int     // all members, in their order
	key     string    // the members as text
	present []int     // the members in the run
	missing lang.Text // the other members, empty for none
	text    lang.Text // all members
}

// groupKey returns the members as text, such as "0 1 2".
func groupKey(group []int) string { return strings.Trim(fmt.Sprint(group), "[]") }

// groupTable interns the groups of a run.
type groupTable struct {
	isHere map[int]bool // the ranks of the run
	byKey  map[string]*group
	byAddr map[address]*group
}

func newGroupTable(ranks []int) *groupTable {
	t := &groupTable{isHere: make(map[int]bool), byKey: make(map[string]*group), byAddr: make(map[address]*group)}
	for _, rank := range ranks {
		t.isHere[rank] = true
	}
	return t
}

func (t *groupTable) find(ranks []int) *group {
	at := addressOf(ranks)
	if g := t.byAddr[at]; g != nil {
		return g
	}
	key := groupKey(ranks)
	g := t.byKey[key]
	if g == nil {
		g = &group{ranks: ranks, key: key, text: trace.RankText(ranks)}
		var missing []int
		for _, rank := range ranks {
			if t.isHere[rank] {
				g.present = append(g.present, rank)
			} else {
				missing = append(missing, rank)
			}
		}
		if len(missing) > 0 {
			g.missing = trace.RankText(missing)
		}
		t.byKey[key] = g
	}
	t.byAddr[at] = g
	return g
}

// Groups has the members of groups that the dump does not state.
type Groups struct {
	// Named maps the names of groups in calls to ranks.
	Named map[string][]int
	// Mesh has the axes of the mesh, nil if unknown.
	Mesh []Axis
}

// events matches the calls of a step to events, in the order of the ranks and their calls.
func (r *Run) events(s *trace.Step, groups *Groups) []*Event {
	b := &eventBuilder{run: r, step: s, groups: groups, at: make(map[eventKey]*Event), counts: make(map[eventKey]int)}
	for _, rank := range s.Ranks() {
		clear(b.counts)
		for _, c := range s.Calls[rank] {
			for _, m := range c.Comm.Transfers() {
				b.add(rank, c, m)
			}
		}
	}
	for _, e := range b.events {
		e.checkMembers()
	}
	return b.events
}

// eventBuilder collects the events of a step.
type eventBuilder struct {
	run    *Run
	step   *trace.Step
	groups *Groups
	events []*Event
	at     map[eventKey]*Event
	counts map[eventKey]int // number of calls of the current rank, by keys without a count
}

func (b *eventBuilder) add(rank int, c *trace.Call, m *trace.Comm) {
	members, assumed := b.groupOf(rank, m)
	if members == nil || m.API.Pattern == trace.Unchecked {
		return
	}
	g := b.run.groups.find(members)
	at := slices.Index(g.present, rank)
	if at < 0 {
		b.events = append(b.events, &Event{Step: b.step, Group: []int{rank}, Calls: []*trace.Call{c}, comms: []*trace.Comm{m}, group: g,
			skip: lang.Say("rank %d is not in the group of %s", rank, g.text)})
		return
	}
	key := eventKey{api: m.API.Names[0], group: g, guessed: assumed && m.ArgsMissing}
	if m.API.Pattern.IsPair() {
		key.api, key.tag = "send", m.Tag
	}
	count := b.counts[key]
	b.counts[key]++
	key.count = count
	e := b.at[key]
	if e == nil {
		e = &Event{Step: b.step, Group: g.present, Calls: make([]*trace.Call, len(g.present)), comms: make([]*trace.Comm, len(g.present)), group: g, isAssumed: assumed}
		b.at[key] = e
		b.events = append(b.events, e)
	}
	if e.Calls[at] == nil {
		e.Calls[at], e.comms[at] = c, m
	}
}

// groupOf returns the ranks of a communication, nil if unknown. assumed: no group is named, and all ranks of the
// program take part.
func (b *eventBuilder) groupOf(rank int, m *trace.Comm) (group []int, assumed bool) {
	switch {
	case m.API.Pattern == trace.Send && m.Root >= 0:
		return []int{rank, m.Root}, false
	case m.API.Pattern == trace.Receive && m.Root >= 0:
		return []int{m.Root, rank}, false
	case m.API.Pattern.IsPair():
		return nil, false
	case m.Group != nil:
		return m.Group, false
	case m.GroupName != "" && b.groups != nil:
		return b.groups.Named[m.GroupName], false
	case m.GroupName != "":
		return nil, false
	}
	return b.run.programOf(b.step).world, true
}

// checkMembers sets skip if members are missing or contradict each other.
func (e *Event) checkMembers() {
	var absent, silent []int // not in this step, and without such a call
	for i, c := range e.Calls {
		switch rank := e.Group[i]; {
		case c != nil:
		case e.Step.Calls[rank] == nil:
			absent = append(absent, rank)
		default:
			silent = append(silent, rank)
		}
	}
	switch {
	case !e.skip.IsZero():
	case len(e.Group) < len(e.group.ranks):
		e.skip = lang.Say("%s not in the dump", e.group.missing)
	case len(absent) > 0:
		e.skip = lang.Say("%s not in the dump of step %s", trace.RankText(absent), e.Step.At.Step)
	case len(silent) > 0:
		e.skip = lang.Say("no such call with this group on %s", trace.RankText(silent))
	case len(e.Group) < 2 && e.isAssumed: // the other ranks are not in the dump
		e.skip = lang.Say("a group of one rank")
	default:
		e.skip = e.mismatch()
	}
}

// mismatch returns why the tensors of the members do not fit together, zero if they do.
func (e *Event) mismatch() lang.Sentence {
	first := e.comms[0]
	for i, m := range e.comms {
		sends := e.api().Pattern != trace.ScatterRoot && m.API.Pattern != trace.Receive
		receives := m.API.Pattern != trace.Send && (e.api().Pattern != trace.GatherRoot || e.isRoot(i))
		switch {
		case sends && len(m.In) == 0:
			return lang.Say("rank %d has no input", e.Group[i])
		case receives && len(m.Out) == 0:
			return lang.Say("rank %d has no output", e.Group[i])
		case len(m.In) == 0 || len(first.In) == 0:
			continue
		}
		mine, same := trace.DTypeOf(m.In)
		other, _ := trace.DTypeOf(first.In)
		if mine == tensor.Undefined || other == tensor.Undefined { // unknown until the file is read
			return lang.Say("a tensor cannot be read")
		}
		if !same || mine != other {
			return lang.Say("the ranks of the group have tensors of different types")
		}
		if e.api().Sums() && trace.CountElements(m.In) != trace.CountElements(first.In) {
			return lang.Say("the ranks of the group have tensors of different shapes")
		}
	}
	return lang.Sentence{}
}

func (e *Event) isRoot(member int) bool { return e.Group[member] == e.root() }

// root returns the rank of the root: the rank that calls name, else the first member.
func (e *Event) root() int {
	for _, m := range e.comms {
		if m != nil && m.Root >= 0 && e.memberIndex(m.Root) >= 0 {
			return m.Root
		}
	}
	return e.Group[0]
}

// roleKey is equal for events with the same task in other layers and steps.
func (e *Event) roleKey() string {
	i := e.firstPresent()
	role, _, _ := trace.ParseName(e.Calls[i].Module)
	key := e.Step.Program().Text().String() + "|" + e.api().Names[0] + " " + e.group.key + " " + role
	for _, t := range e.comms[i].In {
		key += t.Shape.String()
	}
	return key
}

// linkPrevious sets Event.before; events are in the order of the run.
func linkPrevious(events []*Event) {
	last := make(map[string]*Event)
	for _, e := range events {
		key := e.roleKey()
		e.previous = last[key]
		last[key] = e
	}
}

// callsDiffer finds ranks that call a function with a group more or less often than other members. If groups are
// inferred from values, calls without an inferred group do not count.
func callsDiffer(events []*Event, inferred bool) []*Finding {
	type key struct {
		API   string
		group *group
	}
	keyOf := func(e *Event) (key, bool) { return key{e.api().Names[0], e.group}, !inferred || !e.isAssumed }
	groups := trace.GroupBy(slices.Values(events), keyOf)
	slices.SortFunc(groups, func(a, b []*Event) int {
		x, _ := keyOf(a[0])
		y, _ := keyOf(b[0])
		return cmp.Or(strings.Compare(x.API, y.API), strings.Compare(x.group.key, y.group.key))
	})
	var found []*Finding
	for _, same := range groups {
		counts := make(map[int]int)
		var e *Event // the first event that lacks a call
		for _, x := range same {
			for i, c := range x.Calls {
				switch rank := x.Group[i]; {
				case c != nil:
					counts[rank]++
				case x.Step.Calls[rank] != nil && e == nil:
					e = x
				}
			}
		}
		if e == nil {
			continue
		}
		odd, usual := minority(e.Group, func(rank int) (int, bool) { return counts[rank], e.Step.Calls[rank] != nil })
		if odd < 0 {
			continue
		}
		call := e.Calls[e.firstPresent()]
		if i := e.memberIndex(odd); e.Calls[i] != nil {
			call = e.Calls[i]
		}
		found = append(found, &Finding{Kind: CallsDiffer, Confidence: low, Rank: odd, call: call, Members: e.group.ranks,
			Evidence: lang.Say("rank %d calls %s with this group %s, others %d", odd, e.api().Names[0], lang.CountText(counts[odd], "time"), usual)})
	}
	return found
}

// minority returns a rank with the rarest value, and the most frequent value; -1 if all values are equal.
func minority(ranks []int, of func(int) (int, bool)) (odd, usual int) {
	times := make(map[int]int)
	for _, r := range ranks {
		if v, ok := of(r); ok {
			times[v]++
		}
	}
	if len(times) < 2 {
		return -1, 0
	}
	values := slices.SortedFunc(maps.Keys(times), func(a, b int) int { return cmp.Or(cmp.Compare(times[b], times[a]), cmp.Compare(b, a)) })
	usual = values[0]
	for _, r := range ranks {
		if v, ok := of(r); ok && v == values[len(values)-1] {
			return r, usual
		}
	}
	return -1, usual
}
