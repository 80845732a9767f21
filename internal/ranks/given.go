package ranks

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/ranks/locate"
	"dumptool/internal/tensor"
)

// Given is what the ranks of a step were given of the reference: which of the integers that
// come in from outside, and which experts.
type Given struct {
	inputs  []*givenInput
	experts []*heldExpert
}

// givenInput are integers that nobody on the rank computed, where they are read first.
type givenInput struct {
	t *Tensor
	// axes are the positions of the reference, as texts; nil where it has not these integers.
	axes []string
	// stale is the step of the reference that has them, empty for its own one.
	stale string
	// over is set where ranks hold some of the reference more often than it has them while
	// others are held by none, and would not without these.
	over bool

	whole  *Tensor // of the reference
	values []float32
}

// key is where integers are read, on whatever rank.
func (in *givenInput) key() string { return in.t.Call.Name + " " + in.t.place() }

// heldExpert is an expert of a rank.
type heldExpert struct {
	call  *Call
	layer string // the name in the reference up to the number of the expert
	// at is the number that it has in the reference, -1 where it is none of these; of is how
	// many there are.
	at, of int
}

// isInteger reports whether a tensor is a list of integers.
func (t *Tensor) isInteger() bool {
	return (t.DType == tensor.Int64 || t.DType == tensor.Int32) && t.elements() > 1
}

// notice notes what a rank was given.
func (u *unsharder) notice(calls []*Call) {
	seen, held := make(map[string]bool), make(map[string]bool)
	for _, c := range calls {
		if c.Comm != nil {
			continue
		}
		for _, t := range c.In {
			if !t.isInteger() {
				continue
			}
			if mark := u.mark(t); mark != "" && !seen[mark] {
				seen[mark] = true
				u.noticeInput(t)
			}
		}
		for _, t := range c.Out {
			if t.isInteger() {
				seen[u.mark(t)] = true
			}
		}
		if key := beforeExpert(c.Name) + " " + itoa(c.expert()); c.expert() >= 0 && len(c.Params) > 0 && !held[key] {
			held[key] = true
			u.noticeExpert(c)
		}
	}
}

// noticeInput finds integers in the reference, of their own step or of another one.
func (u *unsharder) noticeInput(t *Tensor) {
	whole := u.refOf(t)
	if whole == nil {
		return
	}
	in := &givenInput{t: t, whole: whole}
	u.out.Given.inputs = append(u.out.Given.inputs, in)
	if m := u.out.At[t].Map; u.noticeAt(in, whole, m) {
		return
	}
	for _, s := range u.otherSteps() {
		for c := range s.calls() {
			for _, other := range c.In {
				if c.Name == whole.Call.Name && other.Path == whole.Path && u.noticeAt(in, other, nil) {
					in.stale = s.At.Step
					return
				}
			}
		}
	}
}

// noticeAt notes where integers lie in a tensor of the reference, if they do.
func (u *unsharder) noticeAt(in *givenInput, whole *Tensor, role *locate.Role) bool {
	p, ok := u.pair(partOf{in.t, whole})
	if !ok {
		return false
	}
	isPart := func(m *locate.Map) bool { return slices.Equal(m.Part(p.Whole).Values, p.Part.Values) }
	var m locate.Map
	if role != nil && isPart(&role.Map) {
		m = role.Map
	} else if m, ok = u.learner.Find(p); !ok || !isPart(&m) {
		return false
	}
	in.axes, in.values = make([]string, len(m.Axes)), p.Part.Values
	for k, x := range m.Axes {
		in.axes[k] = x.String()
	}
	return true
}

// otherSteps are the steps of the reference besides that of the step.
func (u *unsharder) otherSteps() []*Step {
	u.opening.Lock()
	defer u.opening.Unlock()
	for ; len(u.others) > 0; u.others = u.others[1:] {
		s := OpenReference(u.others[0])
		(&Run{Steps: []*Step{s}}).describe(u.files)
		s = u.joinRanks(s)
		for _, c := range s.Calls[0] {
			for _, t := range c.tensors() {
				t.joinLike(u.refs[c.Name+" "+t.place()])
			}
		}
		u.opened = append(u.opened, s)
	}
	return u.opened
}

// noticeExpert notes which expert of the reference one of the rank is.
func (u *unsharder) noticeExpert(c *Call) {
	h := &heldExpert{call: c, at: -1, layer: beforeExpert(numbered(c.Name, layerWords, c.Layer+u.shift))}
	if name := u.nameOf(c); name != "" {
		_, _, h.at = parseName(name)
	}
	for u.refs[numbered(h.layer+"."+strings.TrimPrefix(c.Name, beforeExpert(c.Name)+"."), expertWords, h.of)+" "+c.Params[0].place()] != nil {
		h.of++
	}
	u.out.Given.experts = append(u.out.Given.experts, h)
}

// weigh finds the inputs of a step that hold too much of the reference: of a tensor of which
// ranks hold some integers more often than the reference has them, and others less often.
// Equal parts count once. It compares numbers, not positions, of which several may have the
// same.
func (u *unsharder) weigh() {
	g := &u.out.Given
	for _, all := range alike(slices.Values(g.inputs), func(in *givenInput) (string, bool) { return in.key(), in.axes != nil && in.stale == "" }) {
		p, ok := u.pair(partOf{all[0].t, all[0].whole})
		if !ok {
			continue
		}
		left := make(stock)
		left.add(p.Whole.Values, 1)
		tiles := make(map[string][]*givenInput)
		for _, in := range all {
			tile := strings.Join(in.axes, "/")
			if tiles[tile] == nil {
				left.add(in.values, -1)
			}
			tiles[tile] = append(tiles[tile], in)
		}
		over, under := left.over()
		if over == 0 || under == 0 {
			continue
		}
		without, least := make(map[string]int), over
		for tile, holders := range tiles {
			left.add(holders[0].values, 1)
			without[tile], _ = left.over()
			left.add(holders[0].values, -1)
			least = min(least, without[tile])
		}
		for tile, holders := range tiles {
			for _, in := range holders {
				in.over = without[tile] == least && least < over
			}
		}
	}
	for _, in := range g.inputs {
		in.values, in.whole = nil, nil
	}
}

// stock is how often numbers are there and nobody holds them.
type stock map[float32]int

func (s stock) add(values []float32, by int) {
	for _, v := range values {
		s[v] += by
	}
}

// over is how many numbers are held more often than they are there, under how many are left.
func (s stock) over() (over, under int) {
	for _, n := range s {
		over, under = over+max(0, -n), under+max(0, n)
	}
	return over, under
}

// misplace adds what ranks were given that they should not have, in place of what they say of
// their data themselves.
func (r *Report) misplace(run *Run, all []*Given) {
	asked := make(map[*Call]bool)
	for _, g := range all {
		for _, in := range g.inputs {
			asked[in.t.Call] = asked[in.t.Call] || in.axes != nil
		}
	}
	r.Findings = slices.DeleteFunc(r.Findings, func(f *Finding) bool { return f.Kind == StaleInput && asked[f.call] })
	known := make(map[string]bool) // of a step before
	for _, g := range all {
		r.Findings = append(append(r.Findings, g.staleInputs()...), g.wrongParts(all)...)
		for _, f := range g.wrongExperts(run) {
			if key := itoa(f.Rank) + " " + f.call.Name; !known[key] {
				known[key] = true
				r.Findings = append(r.Findings, f)
			}
		}
	}
}

// staleInputs are the ranks that read what the reference read in another step.
func (g *Given) staleInputs() (found []*Finding) {
	named := make(map[int]bool)
	for _, in := range g.inputs {
		if rank := in.t.Call.Rank; in.stale != "" && !named[rank] {
			named[rank] = true
			found = append(found, in.t.Call.finding(StaleInput, high, lang.Sayf("the reference has its data in step %s", "标杆在 step %s 中具有该数据", in.stale)))
		}
	}
	return found
}

// wrongParts are the ranks that hold what others should. Of several that it may be those whose
// part no other rank or step has are it.
func (g *Given) wrongParts(all []*Given) (found []*Finding) {
	for _, same := range alike(slices.Values(g.inputs), func(in *givenInput) (string, bool) { return in.key(), in.over }) {
		least := -1
		var named []*givenInput
		for _, in := range same {
			switch n := in.support(all); {
			case least < 0 || n < least:
				least, named = n, []*givenInput{in}
			case n == least:
				named = append(named, in)
			}
		}
		found = append(found, wrongPart(named))
	}
	return found
}

// wrongPart is the finding about inputs of which one is wrong: equal ones are, since they
// come from one.
func wrongPart(named []*givenInput) *Finding {
	first := named[0]
	f := first.t.Call.finding(WrongPart, high, lang.Sayf("it has positions of the reference that another rank has, and no rank has others: %s", "它持有其他 rank 已持有的标杆位置，而另一些位置无 rank 持有：%s", first.text()))
	f.Members = nil
	for _, in := range named {
		f.Members = append(f.Members, in.t.Call.Rank)
		if !slices.Equal(in.axes, first.axes) {
			f.Alt, f.Confidence = append(f.Alt, in.t.Call.Rank), low
		}
	}
	return f
}

// text are the positions of an input.
func (in *givenInput) text() string {
	var axes []string
	for k, x := range in.axes {
		if runs := strings.SplitAfterN(x, ", ", shownRuns+1); x != "" {
			if len(runs) > shownRuns {
				runs[shownRuns] = "..."
			}
			axes = append(axes, strings.Join(runs, "")+" of axis "+itoa(k))
		}
	}
	return strings.Join(axes, "; ")
}

// shownRuns is how many runs of an axis a text has.
const shownRuns = 8

// support is how many other inputs, of all steps, have the positions of an input, on the axis
// on which fewest do. Those that are suspected beside it do not count.
func (in *givenInput) support(all []*Given) int {
	least := -1
	for k, x := range in.axes {
		if x == "" {
			continue
		}
		n := 0
		for _, g := range all {
			for _, other := range g.inputs {
				same := other.t.Call.Step == in.t.Call.Step && slices.Equal(other.axes, in.axes)
				if !same && other.stale == "" && other.t.Call.Name == in.t.Call.Name && other.t.Path == in.t.Path && k < len(other.axes) && other.axes[k] == x {
					n++
				}
			}
		}
		if least < 0 || n < least {
			least = n
		}
	}
	return max(0, least)
}

// wrongExperts are the ranks that hold experts that others should. Ranks that the dump lacks
// may hold those that seem to be missing: nothing is said then.
func (g *Given) wrongExperts(r *Run) (found []*Finding) {
	held := make(map[string]map[int][]*heldExpert) // by layers and ranks
	for _, h := range g.experts {
		if held[h.layer] == nil {
			held[h.layer] = make(map[int][]*heldExpert)
		}
		held[h.layer][h.call.Rank] = append(held[h.layer][h.call.Rank], h)
	}
	for _, layer := range slices.Sorted(maps.Keys(held)) {
		p := &placement{ranks: slices.Sorted(maps.Keys(held[layer])), held: held[layer]}
		if slices.Equal(r.Ranks, r.world) && p.isUneven() {
			if f := p.finding(held, layer); f != nil {
				found = append(found, f)
			}
		}
	}
	return found
}

// placement is which ranks hold which experts of a layer.
type placement struct {
	ranks  []int
	held   map[int][]*heldExpert
	local  int // how many each rank holds
	all    int // how many there are
	counts map[int]int
}

// isUneven reports whether some experts are held more often than others. It is not known where
// one is none of the reference, or ranks hold fewer than others.
func (p *placement) isUneven() bool {
	first := p.held[p.ranks[0]]
	p.local, p.all, p.counts = len(first), first[0].of, make(map[int]int)
	for _, rank := range p.ranks {
		if len(p.held[rank]) != p.local {
			return false
		}
		for _, h := range p.held[rank] {
			if h.at < 0 {
				return false
			}
			p.counts[h.at]++
		}
	}
	if p.all == 0 || len(p.ranks)*p.local%p.all != 0 {
		return false
	}
	for e := range p.all {
		if p.counts[e] != p.times() {
			return true
		}
	}
	return false
}

// times is how often each expert should be held.
func (p *placement) times() int { return len(p.ranks) * p.local / p.all }

// numbers are the experts of a rank.
func numbers(held []*heldExpert) []int {
	all := make([]int, len(held))
	for i, h := range held {
		all[i] = h.at
	}
	slices.Sort(all)
	return all
}

// finding names the rank that holds experts that are held too often: the one that holds other
// ones in other layers, else the one that does not hold those of its place in the order of the
// ranks.
func (p *placement) finding(layers map[string]map[int][]*heldExpert, layer string) *Finding {
	type suspect struct {
		rank, support int
		inPlace       bool
	}
	var all []suspect
	for i, rank := range p.ranks {
		mine := numbers(p.held[rank])
		if !slices.ContainsFunc(mine, func(e int) bool { return p.counts[e] > p.times() }) {
			continue
		}
		s := suspect{rank: rank, inPlace: mine[0] == i*p.local%p.all}
		for other, held := range layers {
			if other != layer && len(held[rank]) > 0 && slices.Equal(numbers(held[rank]), mine) {
				s.support++
			}
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b suspect) int {
		place := map[bool]int{true: 1}
		return cmp.Or(cmp.Compare(a.support, b.support), cmp.Compare(place[a.inPlace], place[b.inPlace]))
	})
	f := p.held[all[0].rank][0].call.finding(WrongExpert, medium, lang.Sentence{})
	f.Members = p.ranks
	for _, s := range all[1:] {
		switch {
		case s.support > all[0].support:
			f.Confidence = high
		case s.inPlace == all[0].inPlace:
			f.Alt, f.Confidence = append(f.Alt, s.rank), low
		}
	}
	mine := numbers(p.held[f.Rank])
	f.Facts = finding.Facts{}.List("experts", mine)
	f.Evidence = lang.Sayf("it holds experts %s of the reference, which are held %d times, others fewer times", "它持有标杆的专家 %s，这些专家被持有 %d 次，其他专家更少",
		strings.ReplaceAll(groupKey(mine), " ", ", "), p.counts[mine[0]])
	return f
}
