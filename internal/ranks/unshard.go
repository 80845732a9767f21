package ranks

import (
	"context"
	"maps"
	"slices"
	"sync"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/ranks/locate"
)

// Location is where a tensor of a rank lies in a reference of one rank.
type Location struct {
	// Ref is the tensor of the reference that it is a part of, Map says which part, nil
	// where the values do not say it.
	Ref *Tensor
	Map *locate.Role
	// Partial is set for a summand of Ref: the sum of the ranks is the tensor of the
	// reference, or a part of it.
	Partial bool
}

// Located is where the tensors of a step lie in the reference.
type Located struct {
	At map[*Tensor]Location
	// Sources are what communications read: the outputs of operators that their inputs are.
	Sources map[*Tensor]*Tensor
	// Events are the communications of the step.
	Events []*Event
	// Clocks are the places of calls in the order of cause; Ordered is set where that is known.
	Clocks  map[*Call]int
	Ordered bool
	// Given is what the ranks were given of the reference.
	Given Given
}

// Summed reports whether a tensor is what a communication made of a sum.
func (t *Tensor) Summed() bool {
	m := t.Call.Comm
	return m != nil && m.api.sums() && slices.Contains(m.Out, t)
}

// Reads are the calls whose outputs go into communications, those of all members.
func (l *Located) Reads() map[*Call][]*Call {
	reads := make(map[*Call][]*Call)
	for _, e := range l.Events {
		var sources []*Call
		for i, c := range e.Calls {
			if c == nil {
				continue
			}
			for _, t := range e.comms[i].In {
				if from := l.Sources[t]; from != nil && !slices.Contains(sources, from.Call) {
					sources = append(sources, from.Call)
				}
			}
		}
		for _, c := range e.Calls {
			if c != nil {
				reads[c] = append(reads[c], sources...)
			}
		}
	}
	return reads
}

// Locate finds where the tensors of a step lie in a step of the reference, by their
// values; several ranks of it are one. Names only say which tensors to try. What cannot be read lies nowhere. Others are
// the other steps of the reference, those first that are asked first for data that a step has
// of another one.
func Locate(ctx context.Context, run *Run, s, ref *Step, others [][]*dumpdir.Round, opt Options) (*Located, error) {
	f := &files{version: opt.Version}
	defer f.Close()
	(&Run{Steps: []*Step{s, ref}}).describe(f) // what cannot be opened is told when it is compared
	r := &reference{step: s, others: others, refs: make(map[string]*Tensor), layers: make(map[string]map[int]*Call), arrays: make(map[arrayKey]*locate.Array)}
	joined := r.unsharder(f).joinRanks(ref)
	for c := range joined.calls() {
		for _, t := range c.tensors() {
			r.refs[c.Name+" "+t.place()] = t
			r.joined = r.joined || t.loose
		}
		r.noteLayers(c)
	}
	if r.joined { // the first that asks says how pieces lie
		opt.Workers = 1
	}
	run.inferStep(f, s, opt.Groups.Mesh)
	all := r.unsharder(f)
	all.out.Events = run.events(s, &opt.Groups)
	err := batch.Run(ctx, batch.Options{Workers: opt.Workers}, s.ranks(), nil, func(_ context.Context, rank int) *unsharder {
		own := &files{version: opt.Version}
		defer own.Close()
		u := r.unsharder(own)
		u.locate(rank)
		return u
	}, func(_ int, u *unsharder) { all.out.add(u.out) })
	if err != nil {
		return nil, err
	}
	all.weigh()
	s.putInOrder(all.digests)
	all.out.Ordered = s.isOrdered()
	(&Run{Steps: []*Step{s}}).clocks(all.out.Events)
	for c := range s.calls() {
		all.out.Clocks[c] = c.clock
	}
	return all.out, nil
}

// add adds what is found of a further rank.
func (l *Located) add(o *Located) {
	maps.Copy(l.At, o.At)
	maps.Copy(l.Sources, o.Sources)
	l.Given.inputs, l.Given.experts = append(l.Given.inputs, o.Given.inputs...), append(l.Given.experts, o.Given.experts...)
}

// tensors are all of a call: the parameters first.
func (c *Call) tensors() []*Tensor { return slices.Concat(c.Params, c.In, c.Out) }

// place is where a tensor stands in its call.
func (t *Tensor) place() string {
	kind := "output"
	switch {
	case slices.Contains(t.Call.In, t):
		kind = "input"
	case slices.Contains(t.Call.Params, t):
		kind = "parameter"
	}
	return kind + " " + t.Path
}

// reference is a step of the reference, and what is known of it. Several ranks ask it at a time.
type reference struct {
	step   *Step                    // the ranks
	refs   map[string]*Tensor       // by the names of calls and their places
	layers map[string]map[int]*Call // by roles
	joined bool                     // tensors of several ranks are joined

	lock   sync.Mutex
	arrays map[arrayKey]*locate.Array
	held   int64 // their elements

	opening sync.Mutex         // not while the other lock is held
	others  [][]*dumpdir.Round // other steps, those that are not yet opened
	opened  []*Step
}

// unsharder locates the tensors of a rank.
type unsharder struct {
	*reference
	*digests
	out *Located

	shift    int                 // the number of its first layer
	names    map[string]string   // those of numbered calls in the reference
	summands map[string]bool     // digests of what is summed
	tokens   map[string]bool     // digests of what is exchanged by all_to_all
	made     map[string]*Tensor  // the latest tensor of an operator by its digest
	partners map[*Tensor]*Tensor // those of communications
	learner  *locate.Learner
}

// unsharder locates tensors with files of its own.
func (r *reference) unsharder(f *files) *unsharder {
	return &unsharder{reference: r, digests: &digests{files: f},
		out: &Located{At: make(map[*Tensor]Location), Sources: make(map[*Tensor]*Tensor), Clocks: make(map[*Call]int)}}
}

// noteLayers notes the calls of the reference that have one-dimensional parameters: every
// rank has these whole.
func (r *reference) noteLayers(c *Call) {
	if c.Layer < 0 || len(c.Params) == 0 || len(c.Params[0].Shape) != 1 {
		return
	}
	if r.layers[c.Role] == nil {
		r.layers[c.Role] = make(map[int]*Call)
	}
	r.layers[c.Role][c.Layer] = c
}

// locate locates the tensors of a rank.
func (u *unsharder) locate(rank int) {
	calls := u.step.Calls[rank]
	u.names, u.learner = make(map[string]string), new(locate.Learner)
	u.shift = u.firstLayer(calls)
	u.follow(calls)
	for _, r := range u.roles(calls) {
		u.learn(r)
	}
	u.notice(calls)
}

// firstLayer is the number that the first layer of a rank has in the reference: of a stage
// of a pipeline it is what most norms say.
func (u *unsharder) firstLayer(calls []*Call) int {
	votes := make(map[int]int)
	for role, refs := range u.layers {
		var mine []*Call
		for _, c := range calls {
			if c.Role == role && len(c.Params) > 0 {
				mine = append(mine, c)
			}
		}
		if len(mine) == len(refs) || len(mine) == 0 {
			continue // all layers are there
		}
		var whole []*locate.Array
		layers := slices.Sorted(maps.Keys(refs))
		for _, n := range layers {
			whole = append(whole, u.array(refs[n].Params[0], nil, true))
		}
		for _, c := range someLayers(mine) {
			if part := u.array(c.Params[0], nil, false); part != nil {
				if at, _ := locate.Nearest(part, whole); at >= 0 {
					votes[layers[at]-c.Layer]++
				}
			}
		}
	}
	best, most := 0, 0
	for _, shift := range slices.Sorted(maps.Keys(votes)) {
		if votes[shift] > most {
			best, most = shift, votes[shift]
		}
	}
	return best
}

// learnedFrom is how many layers a role is learned from.
const learnedFrom = 6

// someLayers are at most so many of a list, evenly spread.
func someLayers[T any](all []T) []T {
	if len(all) <= learnedFrom {
		return all
	}
	some := make([]T, learnedFrom)
	for i := range some {
		some[i] = all[i*(len(all)-1)/(learnedFrom-1)]
	}
	return some
}

// follow finds what the communications of a rank read, and who reads what they write: a
// tensor of a communication is that of the operator.
func (u *unsharder) follow(calls []*Call) {
	u.summands, u.tokens, u.made = make(map[string]bool), make(map[string]bool), make(map[string]*Tensor)
	u.partners = make(map[*Tensor]*Tensor)
	shapes := make(map[int64]bool) // of what is communicated, by the number of elements
	for _, c := range calls {
		if c.Comm != nil {
			for _, t := range slices.Concat(c.Comm.In, c.Comm.Out) {
				shapes[t.elements()] = true
			}
		}
	}
	waiting := make(map[string][]*Tensor) // for who reads them
	// Calls make, communicate and read in this order, or each when its turn comes.
	visit := func(c *Call, makes, communicates, reads bool) {
		if c.Comm != nil {
			if communicates {
				u.followCall(c, waiting)
			}
			return
		}
		for _, t := range c.In {
			if reads && shapes[t.elements()] {
				mark := u.mark(t)
				for _, from := range waiting[mark] {
					u.partners[from] = t
				}
				delete(waiting, mark)
			}
		}
		for _, t := range c.Out {
			if makes && shapes[t.elements()] {
				u.made[u.mark(t)] = t
			}
		}
	}
	if len(calls) > 0 && !u.step.ordered[calls[0].Rank] {
		for pass := range 3 {
			for _, c := range calls {
				visit(c, pass == 0, pass == 1, pass == 2)
			}
		}
		return
	}
	for _, c := range calls {
		visit(c, true, true, true)
	}
}

// followCall is follow for one communication.
func (u *unsharder) followCall(c *Call, waiting map[string][]*Tensor) {
	m := c.Comm
	var source *Tensor
	for _, t := range m.In {
		mark := u.mark(t)
		if mark == "" {
			continue
		}
		if from := u.made[mark]; from != nil {
			source, u.partners[t], u.out.Sources[t] = from, from, from
		}
		switch p := m.api.pattern; {
		case p == allToAll:
			u.tokens[mark] = true
		case m.api.sums():
			u.summands[mark] = true
		}
	}
	for _, t := range m.Out {
		mark := u.mark(t)
		switch p := m.api.pattern; {
		case mark == "":
		case p == allToAll:
			u.tokens[mark] = true
		case m.api.sums() && source != nil:
			u.partners[t] = source // what the summands are those of
		default:
			waiting[mark] = append(waiting[mark], t)
		}
	}
}

// partOf is a tensor with the one of the reference that it is a part of.
type partOf struct{ part, whole *Tensor }

// tensorRole are the same tensors of several layers.
type tensorRole struct {
	all []partOf
	// varied is set where they have different shapes, byToken where their rows are tokens in
	// an order of their own.
	varied, byToken bool
	params          bool
}

// roles are those of a rank: parameters first, then in the order of the calls, and last
// what is communicated.
func (u *unsharder) roles(calls []*Call) (all []*tensorRole) {
	at := make(map[string]*tensorRole)
	add := func(key string, part, whole *Tensor, params bool) {
		r := at[key]
		if r == nil {
			r = &tensorRole{params: params}
			at[key] = r
			all = append(all, r)
		}
		r.varied = r.varied || len(r.all) > 0 && !r.all[0].part.Shape.Equal(part.Shape)
		r.all = append(r.all, partOf{part, whole})
	}
	for pass := range 3 {
		for _, c := range calls {
			name := u.nameOf(c)
			for _, t := range c.tensors() {
				param := slices.Contains(c.Params, t)
				switch {
				case pass < 2 && (c.Comm != nil || param != (pass == 0)), pass == 2 && c.Comm == nil:
					continue
				case c.Comm != nil:
					if p := u.partners[t]; p != nil {
						if whole := u.refOf(p); whole != nil {
							add(c.Role+" "+t.place()+" "+whole.Call.Role+" "+whole.place(), t, whole, false)
						}
					}
					continue
				}
				if whole := u.refs[name+" "+t.place()]; whole != nil {
					add(c.Role+" "+t.place(), t, whole, param)
				}
			}
		}
	}
	return all
}

// learn finds where the tensors of a role lie.
func (u *unsharder) learn(r *tensorRole) {
	partial := 0
	for _, in := range r.all {
		if u.summands[u.known(in.part)] && slices.Contains(in.part.Call.Out, in.part) && in.part.Call.Comm == nil {
			partial++
		}
		if m := in.part.Call.Comm; m != nil && m.api.sums() && slices.Contains(m.In, in.part) {
			partial++
		}
		r.byToken = r.byToken || !r.params && (in.part.Call.expert() >= 0 || u.tokens[u.known(in.part)])
	}
	if 2*partial > len(r.all) {
		for _, in := range r.all {
			u.out.At[in.part] = Location{Ref: in.whole, Partial: true}
		}
		return
	}
	u.arrange(r)
	if r.varied || r.byToken {
		u.byRows(r)
		return
	}
	var pairs []locate.Pair
	for _, in := range someLayers(r.all) {
		if p, ok := u.pair(in); ok {
			pairs = append(pairs, p)
		}
	}
	found := u.learner.Learn(pairs)
	if n := found.Instances; r.all[0].whole.pieces != nil && n > 0 && n < len(pairs) && !found.Known {
		if kind := found.Axes[0].Kind(pairs[0].Whole.Shape[0]); kind == locate.Permuted || kind == locate.NotLocal {
			u.byRows(r) // every layer has an order of its own
			return
		}
	}
	m := &found
	switch first := r.all[0]; {
	case found.Found:
		if k, ok := first.whole.tokens(&found.Map); ok && !found.Assumed {
			u.learner.Keep(k)
		}
	case first.part.Shape.Equal(first.whole.Shape) && first.whole.pieces == nil: // whatever is wrong with it
		m = &locate.Role{Map: locate.Map{Axes: make([]locate.Index, len(first.part.Shape))}, Found: true, Assumed: true}
	default:
		m = nil
	}
	for _, in := range r.all {
		u.out.At[in.part] = Location{Ref: in.whole, Map: m}
	}
}

// known is the digest of a tensor that was asked for before, or that the dump has.
func (u *unsharder) known(t *Tensor) string {
	if t.Digest == "" && t.mark == "" {
		return ""
	}
	return u.mark(t)
}

// byRows finds each tensor of a role by its rows alone: tokens in an order of their own.
// The output of an operator has the rows of its first input; beside a joined reference none where
// that has none, since those of its rows that are like some there say less.
func (u *unsharder) byRows(r *tensorRole) {
	for _, in := range r.all {
		l, lost := Location{Ref: in.whole}, false
		if first := in.part.Call.In; len(first) > 0 && in.part.place() == "output 0" && in.part.Call.Comm == nil && sameRows(first[0], in.part) {
			of, tried := u.out.At[first[0]]
			lost = u.joined && tried && of.Map == nil
			if of.Map != nil && of.Map.Axes[0] != nil && sameRows(of.Ref, in.whole) {
				axes := make([]locate.Index, len(in.part.Shape))
				axes[0] = of.Map.Axes[0]
				l.Map = &locate.Role{Map: locate.Map{Axes: axes, Score: of.Map.Score}, Found: true, Instances: 1}
			}
		}
		if p, ok := u.pair(in); l.Map == nil && !lost && ok && slices.Equal(in.part.Shape[1:], in.whole.Shape[1:]) {
			if m, ok := locate.Rows(p.Part, p.Whole); ok {
				l.Map = &locate.Role{Map: m, Found: true, Instances: 1}
			}
		}
		u.out.At[in.part] = l
	}
}

func sameRows(a, b *Tensor) bool {
	return len(a.Shape) > 0 && len(b.Shape) > 0 && a.Shape[0] == b.Shape[0]
}
