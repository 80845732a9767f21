package unshard

import (
	"context"
	"maps"
	"slices"
	"sync"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lists"
	"dumptool/internal/trace"
	"dumptool/internal/unshard/locate"
)

// Location is the position of a tensor of a rank in a reference of one rank.
type Location struct {
	// Ref is the whole tensor in the reference. Map selects the part; nil if it was not found.
	Ref *trace.Tensor
	Map *locate.Role
	// Partial: the tensor is a summand. The sum over the ranks is Ref or a part of Ref.
	Partial bool
}

// StepPositions has the positions of the tensors of a step in the reference.
type StepPositions struct {
	At map[*trace.Tensor]Location
	// Sources maps an input of a communication to the equal output of an operator.
	Sources map[*trace.Tensor]*trace.Tensor
	// Given lists the data and the experts of the reference that the ranks have.
	Given RankContents
}

// Locate finds the positions of the tensors of a step in a step of the reference, by their values. Several ranks of
// the reference are merged into one. Names only select candidates. A tensor that cannot be read is not located.
// others are the other steps of the reference: they are searched, in this order, for data that the step of the
// reference does not have. With namesOnly a module is not searched in a module of another class at its place.
func Locate(ctx context.Context, s, ref *trace.Step, others [][]*dumpdir.Round, namesOnly bool, version, workers int) (*StepPositions, error) {
	f := &trace.Files{Version: version}
	defer f.Close()
	f.DescribeAll([]*trace.Step{s, ref}) // the comparison reports tensors that cannot be opened
	r := &reference{step: s, others: others, refs: make(map[string]*trace.Tensor), calls: make(map[string]string), namesOnly: namesOnly, layers: make(map[string]map[int]*trace.Call), arrays: make(map[arrayKey]*locate.Array)}
	joined := r.unsharder(f).joinRanks(ref)
	for c := range joined.AllCalls() {
		for _, t := range c.Tensors() {
			r.refs[c.Name+" "+t.Place()] = t
			r.joined = r.joined || t.Loose
		}
		r.noteCall(c.Name)
		r.noteLayers(c)
	}
	if r.joined { // the first rank decides how pieces are arranged
		workers = 1
	}
	all := r.unsharder(f)
	s.FindParameters(all.Digests)
	err := batch.Run(ctx, batch.Options{Workers: workers}, s.Ranks(), nil, func(_ context.Context, rank int) *unsharder {
		own := &trace.Files{Version: version}
		defer own.Close()
		u := r.unsharder(own)
		u.locateRank(rank)
		return u
	}, func(_ int, u *unsharder) { all.out.add(u.out) })
	if err != nil {
		return nil, err
	}
	all.findSurplus()
	return all.out, nil
}

// add adds the locations of another rank.
func (l *StepPositions) add(o *StepPositions) {
	maps.Copy(l.At, o.At)
	maps.Copy(l.Sources, o.Sources)
	l.Given.Inputs, l.Given.Experts = append(l.Given.Inputs, o.Given.Inputs...), append(l.Given.Experts, o.Given.Experts...)
}

// reference is a step of the reference. Several goroutines use it, one per rank.
type reference struct {
	step   *trace.Step                    // the step of the run
	refs   map[string]*trace.Tensor       // by the names of calls and their places
	calls  map[string]string              // names of calls, by themselves and by the places of modules without their classes
	layers map[string]map[int]*trace.Call // by role and layer
	joined bool                           // some tensor is joined from pieces of several ranks

	namesOnly bool // see Locate

	lock   sync.Mutex
	arrays map[arrayKey]*locate.Array
	cached int64 // elements in arrays

	opening sync.Mutex         // not while the other lock is held
	others  [][]*dumpdir.Round // other steps that are not opened yet
	opened  []*trace.Step
}

// unsharder locates the tensors of a rank.
type unsharder struct {
	*reference
	*trace.Digests
	out *StepPositions

	shift     int                             // offset of its layer numbers in the reference
	names     map[string]string               // names in the reference, by the names in the run
	summands  map[string]bool                 // digests of summands
	tokens    map[string]bool                 // digests of tensors that all_to_all exchanges
	producers map[string]*trace.Tensor        // the latest output of an operator, by digest
	partners  map[*trace.Tensor]*trace.Tensor // tensors of operators, by the equal tensors of communications
	learner   *locate.Learner
}

// unsharder returns an unsharder with its own open files.
func (r *reference) unsharder(f *trace.Files) *unsharder {
	return &unsharder{reference: r, Digests: &trace.Digests{Files: f},
		out: &StepPositions{At: make(map[*trace.Tensor]Location), Sources: make(map[*trace.Tensor]*trace.Tensor)}}
}

// noteLayers records calls of the reference with one-dimensional parameters, which no rank shards.
func (r *reference) noteLayers(c *trace.Call) {
	if c.Layer < 0 || len(c.Params) == 0 || len(c.Params[0].Shape) != 1 {
		return
	}
	if r.layers[c.Role] == nil {
		r.layers[c.Role] = make(map[int]*trace.Call)
	}
	r.layers[c.Role][c.Layer] = c
}

// locateRank locates the tensors of a rank.
func (u *unsharder) locateRank(rank int) {
	calls := u.step.Calls[rank]
	u.names, u.learner = make(map[string]string), new(locate.Learner)
	u.shift = u.firstLayer(calls)
	u.findNeighbours(calls)
	for _, r := range u.roles(calls) {
		u.findRolePositions(r)
	}
	u.collectGiven(calls)
}

// firstLayer returns the offset of the layer numbers of a rank in the reference. Stages of a pipeline may number
// their layers from 0: one-dimensional weights, such as norms, vote for the nearest layer of the reference.
func (u *unsharder) firstLayer(calls []*trace.Call) int {
	votes := make(map[int]int)
	for role, refs := range u.layers {
		mine := lists.Filter(calls, func(c *trace.Call) bool { return c.Role == role && len(c.Params) > 0 })
		if len(mine) == len(refs) || len(mine) == 0 {
			continue // all layers are there
		}
		layers := slices.Sorted(maps.Keys(refs))
		whole := lists.Map(layers, func(n int) *locate.Array { return u.array(refs[n].Params[0], nil, true) })
		for _, c := range sampleLayers(mine) {
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

// maxLearnedLayers limits the layers from which a role is learned.
const maxLearnedLayers = 6

// sampleLayers returns at most maxLearnedLayers values of a list, evenly spread.
func sampleLayers[T any](all []T) []T {
	if len(all) <= maxLearnedLayers {
		return all
	}
	some := make([]T, maxLearnedLayers)
	for i := range some {
		some[i] = all[i*(len(all)-1)/(maxLearnedLayers-1)]
	}
	return some
}

// findNeighbours finds the operators that write the inputs of communications, and the operators that read their
// results, by equal tensors.
func (u *unsharder) findNeighbours(calls []*trace.Call) {
	u.summands, u.tokens, u.producers = make(map[string]bool), make(map[string]bool), make(map[string]*trace.Tensor)
	u.partners = make(map[*trace.Tensor]*trace.Tensor)
	// Element counts of the communicated tensors, and of lists of them.
	shapes, lists := make(map[int64]bool), make(map[int64]bool)
	for _, c := range calls {
		if c.Comm != nil {
			for _, list := range [][]*trace.Tensor{c.Comm.In, c.Comm.Out} {
				if len(list) > 1 {
					lists[trace.CountElements(list)] = true
				}
				for _, t := range list {
					shapes[t.Elements()] = true
				}
			}
		}
	}
	waiting := make(map[string][]*trace.Tensor) // results of communications without a reader, by mark
	// If the order of the calls is unknown, three passes over the calls record the outputs, then match the
	// communications, then match the readers. If it is known, one pass does all three.
	visit := func(c *trace.Call, makes, communicates, reads bool) {
		if c.Comm != nil {
			if communicates {
				u.followCall(c, waiting)
			}
			return
		}
		for _, t := range c.In {
			if !reads {
				continue
			}
			for _, mark := range u.lookupKeys(t, shapes, lists) {
				for _, from := range waiting[mark] {
					u.partners[from] = t
				}
				delete(waiting, mark)
			}
		}
		for _, t := range c.Out {
			if !makes {
				continue
			}
			for _, mark := range u.lookupKeys(t, shapes, lists) {
				u.producers[mark] = t
			}
		}
	}
	if len(calls) > 0 && !u.step.Ordered[calls[0].Rank] {
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

// lookupKeys returns the keys under which to look up a tensor of an operator: its own mark if a communicated tensor has
// its size, and the mark of its elements if a list of communicated tensors has its size.
func (u *unsharder) lookupKeys(t *trace.Tensor, shapes, lists map[int64]bool) (all []string) {
	if shapes[t.Elements()] {
		all = append(all, u.Mark(t))
	}
	if lists[t.Elements()] {
		all = append(all, u.ElementMark(t))
	}
	return all
}

// followCall finds the producer and the readers of one communication. The tensors of a list may be slices of one
// tensor of an operator, which is tried first.
func (u *unsharder) followCall(c *trace.Call, waiting map[string][]*trace.Tensor) {
	m := c.Comm
	var source *trace.Tensor
	for _, list := range wholeAndSlices(m.In) {
		mark := u.markOf(list)
		if mark == "" {
			continue
		}
		if from := u.producers[mark]; from != nil {
			source, mark = from, u.Mark(from)
			for _, t := range list {
				u.partners[t], u.out.Sources[t] = from, from
			}
		}
		switch p := m.API.Pattern; {
		case p == trace.AllToAll:
			u.tokens[mark] = true
		case m.API.Sums():
			u.summands[mark] = true
		}
	}
	for _, list := range wholeAndSlices(m.Out) {
		mark := u.markOf(list)
		switch p := m.API.Pattern; {
		case mark == "":
		case p == trace.AllToAll:
			u.tokens[mark] = true
		case m.API.Sums() && source != nil:
			for _, t := range list { // the sum has the position of the summand
				u.partners[t] = source
			}
		default:
			waiting[mark] = append(waiting[mark], list...)
		}
	}
}

// markOf returns the mark of a tensor, or of the concatenation of several.
func (u *unsharder) markOf(list []*trace.Tensor) string {
	if len(list) == 1 {
		return u.Mark(list[0])
	}
	return u.MarkOf(list)
}

// wholeAndSlices lists the groups of tensors of a communication that may be one tensor: all together, and each alone.
func wholeAndSlices(all []*trace.Tensor) (lists [][]*trace.Tensor) {
	if len(all) > 1 {
		lists = append(lists, all)
	}
	return slices.AppendSeq(lists, slices.Chunk(all, 1))
}

// partPair pairs a tensor of a rank with the whole tensor of the reference.
type partPair struct{ part, whole *trace.Tensor }

// tensorRole is a tensor in all layers, such as the weight of linear_fc1.
type tensorRole struct {
	parts []partPair
	// varied: shapes differ between layers. byToken: rows are tokens, ordered differently in each layer.
	varied, byToken bool
	params          bool
}

// roles returns the roles of the tensors of a rank: parameters first, then tensors of operators in the order of the
// calls, communications last.
func (u *unsharder) roles(calls []*trace.Call) (all []*tensorRole) {
	at := make(map[string]*tensorRole)
	add := func(key string, part, whole *trace.Tensor, params bool) {
		r := at[key]
		if r == nil {
			r = &tensorRole{params: params}
			at[key] = r
			all = append(all, r)
		}
		r.varied = r.varied || len(r.parts) > 0 && !r.parts[0].part.Shape.Equal(part.Shape)
		r.parts = append(r.parts, partPair{part, whole})
	}
	for pass := range 3 {
		for _, c := range calls {
			name := u.nameOf(c)
			for _, t := range c.Tensors() {
				param := slices.Contains(c.Params, t)
				switch {
				case pass < 2 && (c.Comm != nil || param != (pass == 0)), pass == 2 && c.Comm == nil:
					continue
				case c.Comm != nil:
					if p := u.partners[t]; p != nil {
						if whole := u.refOf(p); whole != nil {
							add(c.Role+" "+t.Place()+" "+whole.Call.Role+" "+whole.Place(), t, whole, false)
						}
					}
					continue
				}
				if whole := u.refs[name+" "+t.Place()]; whole != nil {
					add(c.Role+" "+t.Place(), t, whole, param)
				}
			}
		}
	}
	return all
}

// findRolePositions finds the positions of the tensors of a role.
func (u *unsharder) findRolePositions(r *tensorRole) {
	partial := 0
	for _, in := range r.parts {
		if u.summands[u.Cached(in.part)] && slices.Contains(in.part.Call.Out, in.part) && in.part.Call.Comm == nil {
			partial++
		}
		if m := in.part.Call.Comm; m != nil && m.API.Sums() && slices.Contains(m.In, in.part) {
			partial++
		}
		r.byToken = r.byToken || !r.params && (in.part.Call.Expert() >= 0 || u.tokens[u.Cached(in.part)])
	}
	if 2*partial > len(r.parts) {
		for _, in := range r.parts {
			u.out.At[in.part] = Location{Ref: in.whole, Partial: true}
		}
		return
	}
	u.joinLoose(r)
	if r.varied || r.byToken {
		u.matchRows(r)
		return
	}
	var pairs []locate.Pair
	for _, in := range sampleLayers(r.parts) {
		if p, ok := u.readPair(in); ok {
			pairs = append(pairs, p)
		}
	}
	found := u.learner.Learn(pairs)
	if n := found.Instances; r.parts[0].whole.Pieces != nil && n > 0 && n < len(pairs) && !found.Known {
		if kind := found.Axes[0].Kind(pairs[0].Whole.Shape[0]); kind == locate.Permuted || kind == locate.NotLocal {
			u.matchRows(r) // every layer has its own order of tokens
			return
		}
	}
	m := &found
	switch first := r.parts[0]; {
	case found.Found:
		if k, ok := tokensOf(first.whole, &found.Map); ok && !found.Assumed {
			u.learner.Keep(k)
		}
	case first.part.Shape.Equal(first.whole.Shape) && first.whole.Pieces == nil: // equal shapes: the whole tensor, even if its values are wrong
		m = &locate.Role{Map: locate.Map{Axes: make([]locate.Index, len(first.part.Shape))}, Found: true, Assumed: true}
	default:
		m = nil
	}
	for _, in := range r.parts {
		u.out.At[in.part] = Location{Ref: in.whole, Map: m}
	}
}

// matchRows matches the rows of each tensor of a role, which are tokens in any order. The output of an operator has the
// rows of its first input. If the rows of this input are not found in a joined reference, the output is not matched:
// similar rows would match by chance.
func (u *unsharder) matchRows(r *tensorRole) {
	for _, in := range r.parts {
		l, lost := Location{Ref: in.whole}, false
		if first := in.part.Call.In; len(first) > 0 && in.part.Place() == "output 0" && in.part.Call.Comm == nil && haveSameRows(first[0], in.part) {
			of, tried := u.out.At[first[0]]
			lost = u.joined && tried && of.Map == nil
			if of.Map != nil && of.Map.Axes[0] != nil && haveSameRows(of.Ref, in.whole) {
				axes := make([]locate.Index, len(in.part.Shape))
				axes[0] = of.Map.Axes[0]
				l.Map = &locate.Role{Map: locate.Map{Axes: axes, Score: of.Map.Score}, Found: true, Instances: 1}
			}
		}
		if p, ok := u.readPair(in); l.Map == nil && !lost && ok && slices.Equal(in.part.Shape[1:], in.whole.Shape[1:]) {
			if m, ok := locate.Rows(p.Part, p.Whole); ok {
				l.Map = &locate.Role{Map: m, Found: true, Instances: 1}
			}
		}
		u.out.At[in.part] = l
	}
}

func haveSameRows(a, b *trace.Tensor) bool {
	return len(a.Shape) > 0 && len(b.Shape) > 0 && a.Shape[0] == b.Shape[0]
}
