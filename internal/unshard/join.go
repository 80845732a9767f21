package unshard

import (
	"maps"
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/trace"
	"dumptool/internal/unshard/locate"
)

// OpenReference reads the calls of a step of the reference from the rounds of its ranks.
func OpenReference(rounds []*dumpdir.Round) *trace.Step {
	if len(rounds) == 1 {
		return trace.OpenStep(rounds[0])
	}
	run, _ := trace.Open(rounds)
	return run.Steps[0]
}

// joiner merges the ranks of a step of the reference into one rank. Equal tensors of ranks are merged, a summand is
// replaced by the sum, and all other tensors become pieces of one tensor. The values of the run decide how the pieces
// are arranged; see arrange.
type joiner struct {
	u     *unsharder
	step  *trace.Step
	sums  map[string]*trace.Tensor // sums of the current rank, by the digest of each summand
	lists map[int64]bool           // total elements of summands that are passed as lists
	shift map[int]int              // number of the first layer, by rank
	// experts has the number of the first expert, by layer and rank.
	experts map[string]map[int]int
}

// joinRanks merges the ranks of a step into one.
func (u *unsharder) joinRanks(s *trace.Step) *trace.Step {
	s.FindParameters(u.Digests)
	if len(s.Calls) < 2 {
		return s
	}
	j := &joiner{u: u, step: s}
	j.numberLayers()
	j.numberExperts()
	one := &trace.Step{At: s.At, Calls: make(map[int][]*trace.Call), Ordered: map[int]bool{}}
	at := make(map[string]*trace.Call)
	// By call and place: the tensors of all ranks, and the tensors or sums that replace them.
	from, tensors := make(map[string][]*trace.Tensor), make(map[string][]*trace.Tensor)
	for _, rank := range s.Ranks() {
		j.findSums(s.Calls[rank])
		for _, c := range s.Calls[rank] {
			if c.Comm != nil {
				continue
			}
			name := j.nameOf(c)
			if at[name] == nil {
				role, layer, _ := trace.ParseName(name)
				at[name] = &trace.Call{Step: one, Name: name, Role: role, Layer: layer, Script: c.Script, Place: len(one.Calls[0])}
				one.Calls[0] = append(one.Calls[0], at[name])
			}
			for _, t := range c.Tensors() {
				key := name + " " + t.Place()
				from[key] = append(from[key], t)
				if sum := j.sumOf(t); sum != nil && slices.Contains(c.Out, t) {
					of := *sum
					of.Call, of.Path = c, t.Path
					t = &of
				}
				tensors[key] = append(tensors[key], t)
				if len(tensors[key]) > 1 {
					continue
				}
				first := &trace.Tensor{Call: at[name], Name: t.Name, Path: t.Path}
				joined, isParam, isInput := at[name], slices.Contains(c.Params, t), slices.Contains(c.In, t)
				if isParam {
					joined.Params = append(joined.Params, first)
				}
				if isInput {
					joined.In = append(joined.In, first)
				}
				if !isParam && !isInput {
					joined.Out = append(joined.Out, first)
				}
			}
		}
	}
	for _, c := range one.Calls[0] {
		for _, t := range c.Tensors() {
			key := c.Name + " " + t.Place()
			j.setPieces(t, j.dropReplicas(tensors[key]))
			t.Sources = from[key]
		}
	}
	return one
}

// setPieces sets a tensor to its only piece, or to a loose tensor of several pieces.
func (j *joiner) setPieces(t *trace.Tensor, pieces []*trace.Tensor) {
	one := *pieces[0]
	if len(pieces) > 1 {
		one = trace.Tensor{DType: one.DType, Shape: one.Shape, File: one.File, Loose: true}
		for _, p := range pieces {
			one.Pieces = append(one.Pieces, trace.Piece{Of: p})
		}
	}
	one.Call, one.Path, one.Name = t.Call, t.Path, t.Name
	*t = one
}

// numberLayers finds the number of the first layer of each rank among all layers: stages of a pipeline may number
// their layers from 0.
func (j *joiner) numberLayers() {
	j.shift = make(map[int]int)
	stages := j.step.Stages()
	last, from0 := make(map[int]int), make(map[int]bool) // by stage: number of layers, and whether numbers begin at 0
	for c := range j.step.AllCalls() {
		if stage := stages[c.Rank]; c.Layer >= 0 {
			last[stage] = max(last[stage], c.Layer+1)
			from0[stage] = from0[stage] || c.Layer == 0
		}
	}
	first := make(map[int]int)
	next := 0
	for _, stage := range slices.Sorted(maps.Keys(last)) {
		if from0[stage] {
			first[stage] = next
		}
		next = first[stage] + last[stage]
	}
	for rank := range j.step.Calls {
		j.shift[rank] = first[stages[rank]]
	}
}

// numberExperts finds which experts of a layer each rank has: ranks with different weights have different experts.
func (j *joiner) numberExperts() {
	j.experts = make(map[string]map[int]int)
	seen, next := make(map[string]int), make(map[string]int)
	for _, rank := range j.step.Ranks() {
		held := make(map[string]int) // number of experts, by layer
		marks := make(map[string]string)
		for _, c := range j.step.Calls[rank] {
			if c.Expert() < 0 || len(c.Params) == 0 {
				continue
			}
			layer := j.layerName(c)
			held[layer] = max(held[layer], c.Expert()+1)
			marks[layer] += " " + j.u.Mark(c.Params[0])
		}
		for layer, mark := range marks {
			first, known := seen[layer+mark]
			if !known {
				first = next[layer]
				seen[layer+mark] = first
				next[layer] += held[layer]
			}
			if j.experts[layer] == nil {
				j.experts[layer] = make(map[int]int)
			}
			j.experts[layer][rank] = first
		}
	}
}

// layerName returns the name of a call up to the number of its expert, with the global number of its layer.
func (j *joiner) layerName(c *trace.Call) string {
	return trace.CutAtExpert(trace.WithLayer(c.Name, c.Layer+j.shift[c.Rank]))
}

// nameOf returns the name of a call in the merged step.
func (j *joiner) nameOf(c *trace.Call) string {
	name := trace.WithLayer(c.Name, c.Layer+j.shift[c.Rank])
	if expert := c.Expert(); expert >= 0 {
		name = trace.WithExpert(name, expert+j.experts[j.layerName(c)][c.Rank])
	}
	return name
}

// findSums indexes the results of summing communications by their inputs.
func (j *joiner) findSums(calls []*trace.Call) {
	j.sums, j.lists = make(map[string]*trace.Tensor), make(map[int64]bool)
	for _, c := range calls {
		if m := c.Comm; m != nil && m.API.Sums() && len(m.Out) == 1 {
			if mark := j.u.markOf(m.In); mark != "" {
				j.sums[mark] = m.Out[0]
			}
			if len(m.In) > 1 {
				j.lists[trace.CountElements(m.In)] = true
			}
		}
	}
}

// sumOf returns the result of the communication that sums a tensor, nil for none.
func (j *joiner) sumOf(t *trace.Tensor) *trace.Tensor {
	sum := j.sums[j.u.Mark(t)]
	if sum == nil && j.lists[t.Elements()] {
		sum = j.sums[j.u.ElementMark(t)]
	}
	return sum
}

// maxReplicaDistance is the largest relative distance, 0 to 1, between replicas whose sums were rounded differently.
const maxReplicaDistance = 0.1

// dropReplicas drops tensors that equal a tensor of an earlier rank.
func (j *joiner) dropReplicas(all []*trace.Tensor) (out []*trace.Tensor) {
	for _, t := range all {
		if !slices.ContainsFunc(out, func(o *trace.Tensor) bool { return j.areReplicas(o, t) }) {
			out = append(out, t)
		}
	}
	return out
}

// areReplicas reports whether two tensors are replicas.
func (j *joiner) areReplicas(a, b *trace.Tensor) bool {
	if !a.Shape.Equal(b.Shape) {
		return false
	}
	if equal, known := j.u.Equal(a, b); equal || !known || a.IsInteger() {
		return equal || !known
	}
	x, y := j.u.array(a, nil, true), j.u.array(b, nil, true)
	return x != nil && y != nil && locate.Distance(x.Values, y.Values) < maxReplicaDistance
}

// arrangement is a grid of pieces: n pieces per row along the axis fast, and the rows along the axis slow.
type arrangement struct{ fast, n, slow int }

// join joins the pieces of a tensor, false if they do not fit together.
func (a arrangement) join(t *trace.Tensor) (*trace.Tensor, bool) {
	one := *t
	one.Loose, one.Pieces = false, slices.Clone(t.Pieces)
	first := t.Pieces[0].Of.Shape
	one.Shape = slices.Clone(first)
	one.Shape[a.fast] = 0
	for i := range one.Pieces {
		p := &one.Pieces[i]
		for k, n := range p.Of.Shape {
			if len(p.Of.Shape) != len(first) || n != first[k] && (k != a.fast || a.n < len(t.Pieces)) {
				return nil, false
			}
		}
		if p.Of.DType != t.Pieces[0].Of.DType {
			return nil, false
		}
		p.From = make([]int64, len(first))
		if p.From[a.fast] = one.Shape[a.fast]; a.n < len(t.Pieces) {
			p.From[a.fast], p.From[a.slow] = int64(i%a.n)*first[a.fast], int64(i/a.n)*first[a.slow]
		}
		one.Shape[a.fast] += p.Of.Shape[a.fast]
	}
	if a.n < len(t.Pieces) {
		one.Shape[a.fast], one.Shape[a.slow] = int64(a.n)*first[a.fast], int64(len(t.Pieces)/a.n)*first[a.slow]
	}
	return &one, true
}

// joinedAxes returns the axes along which a tensor is joined from pieces.
func joinedAxes(t *trace.Tensor) (all []int) {
	for _, p := range t.Pieces {
		for k, from := range p.From {
			if from > 0 && !slices.Contains(all, k) {
				all = append(all, k)
			}
		}
	}
	slices.Sort(all)
	return all
}

// arrangementsOf lists the possible arrangements of the pieces of a tensor: along one axis first, then along two.
func arrangementsOf(t *trace.Tensor) (all []arrangement) {
	k := len(t.Pieces)
	for fast := range t.Pieces[0].Of.Shape {
		all = append(all, arrangement{fast, k, fast})
	}
	for n := 2; n < k; n++ {
		for fast := range t.Pieces[0].Of.Shape {
			for slow := range t.Pieces[0].Of.Shape {
				if k%n == 0 && slow != fast {
					all = append(all, arrangement{fast, n, slow})
				}
			}
		}
	}
	return all
}

// joinLoose joins the loose reference tensors of a role in the arrangement in which the tensors of the run are found
// best. All reference tensors of a role have the same arrangement.
func (u *unsharder) joinLoose(r *tensorRole) {
	i := slices.IndexFunc(r.parts, func(in partPair) bool { return in.whole.Loose })
	if i < 0 {
		return
	}
	best, most, cuts := arrangement{}, -1.0, 0
	for _, a := range arrangementsOf(r.parts[i].whole) {
		if r.varied || r.byToken {
			best, most = a, 1 // rows are concatenated
			break
		}
		var pairs []locate.Pair
		cut := 0
		for _, in := range sampleLayers(r.parts) {
			whole := in.whole
			if whole.Loose {
				joined, ok := a.join(whole)
				if !ok {
					continue
				}
				whole = joined
			}
			if p, ok := u.readPair(partPair{in.part, whole}); ok && isWithinPadding(p) {
				pairs = append(pairs, p)
				for k, n := range p.Part.Shape {
					if n != p.Whole.Shape[k] {
						cut++
					}
				}
			}
			if len(pairs) == triedLayers {
				break
			}
		}
		if score := u.learner.MatchQuality(pairs); score > most+0.01 || score > most-0.01 && cut < cuts {
			best, most, cuts = a, score, cut
		}
	}
	if most <= 0 {
		return
	}
	of := r.parts[i].whole
	for _, t := range u.refs {
		if t.Loose && t.Call.Role == of.Call.Role && t.Place() == of.Place() {
			if joined, ok := best.join(t); ok {
				*t = *joined
			}
		}
	}
}

// tokensOf returns the positions of a part's tokens in the flat list of all tokens. The first two axes of the joined
// tensor form this list.
func tokensOf(t *trace.Tensor, m *locate.Map) (k locate.KnownIndex, ok bool) {
	if len(t.Pieces) == 0 || len(t.Shape) != 3 {
		return k, false
	}
	rows, batch, next := make([]int, t.Shape[0]*t.Shape[1]), t.Shape[1], 0
	for _, p := range t.Pieces {
		if p.From[2] > 0 {
			return k, false
		}
		for i := range p.Of.Shape[0] {
			for j := range p.Of.Shape[1] {
				rows[(p.From[0]+i)*batch+p.From[1]+j] = next
				next++
			}
		}
	}
	k.Full = len(rows)
	for _, i := range m.Axes[0].OrIdentity(int(t.Shape[0])) {
		for _, j := range m.Axes[1].OrIdentity(int(batch)) {
			if i < 0 || j < 0 {
				return k, false
			}
			k.Index = append(k.Index, rows[int64(i)*batch+int64(j)])
		}
	}
	return k, true
}

// joinLike joins a tensor like the tensor of the same name in another step.
func joinLike(t, o *trace.Tensor) {
	if !t.Loose || o == nil || len(o.Pieces) != len(t.Pieces) || o.Loose {
		return
	}
	for i := range t.Pieces {
		if !t.Pieces[i].Of.Shape.Equal(o.Pieces[i].Of.Shape) {
			return
		}
	}
	t.Loose, t.Shape = false, o.Shape
	for i := range t.Pieces {
		t.Pieces[i].From = o.Pieces[i].From
	}
}

// triedLayers is the number of layers on which each arrangement is tried.
const triedLayers = 2

// isWithinPadding reports whether no axis of a part is longer than twice the axis of the whole, which allows padding.
func isWithinPadding(p locate.Pair) bool {
	for k, n := range p.Part.Shape {
		if n > p.Whole.Shape[k]*2 {
			return false
		}
	}
	return true
}
