package locate

import (
	"fmt"
	"slices"
	"strings"
)

// Learner learns where the tensors of one rank lie, a role after the other: what it has
// learned of one helps with the next.
type Learner struct {
	known []Known
}

// Pair is a tensor of a rank, and the tensor of the reference that has its name.
type Pair struct{ Part, Whole *Array }

// Role is what is learned of the instances of a role: of the same tensor in several
// layers.
type Role struct {
	Map
	// Found is set where a map is, Instances counts those that it was found in. Of a role
	// whose values are like nothing in the reference the map is that which all other roles
	// have for axes of such sizes, if there is one: Assumed is set then, and the score is 0.
	Found, Assumed bool
	Instances      int
	// Others counts other maps that as many instances have: with any, none is sure.
	Others int
	// Known is set where the index of the first axis is that of another role.
	Known bool
	whole []int // the shape of the reference
}

// Find finds the location of a tensor from the learned indexes.
func (l *Learner) Find(p Pair) (Map, bool) { return Find(p.Part, p.Whole, l.known) }

// Try is how well parts lie in their wholes, from 0 for one that does not to 1. Nothing is
// learned.
func (l *Learner) Try(instances []Pair) (score float64) {
	for _, in := range instances {
		if m, ok := l.Find(in); ok {
			score += m.Score / float64(len(instances))
		}
	}
	return score
}

// twice is the score from which on an instance counts double.
const twice = 0.95

// Learn finds the map that most instances of a role have.
func (l *Learner) Learn(instances []Pair) Role {
	type vote struct {
		role  Role
		votes int
	}
	votes := make(map[string]*vote)
	var order []string
	for _, in := range instances {
		m, ok := l.Find(in)
		if !ok {
			continue
		}
		key := m.key()
		v := votes[key]
		if v == nil {
			v = &vote{role: Role{Map: m, Found: true, whole: in.Whole.Shape}}
			votes[key] = v
			order = append(order, key)
		}
		v.role.Instances++
		v.role.Score = min(v.role.Score, m.Score)
		if v.votes++; m.Score >= twice {
			v.votes++
		}
	}
	// Ranks have runs of equal lengths: where those are sure of one instance, others are what
	// damaged values are like.
	certain := slices.ContainsFunc(order, func(key string) bool { return votes[key].role.isRegular() && votes[key].role.Score >= twice })
	var best *vote
	for _, key := range order {
		switch v := votes[key]; {
		case certain && !v.role.isRegular():
		case best == nil || v.votes > best.votes:
			best = v
			best.role.Others = 0
		case v.votes == best.votes:
			best.role.Others++
		}
	}
	if best == nil {
		return l.assume(instances)
	}
	for axis, x := range best.role.Axes {
		best.role.Axes[axis] = l.mend(x, best.role.whole[axis])
	}
	best.role.Known = slices.ContainsFunc(l.known, func(k Known) bool { return slices.Equal(k.Index, best.role.Axes[0]) })
	l.add(&best.role)
	return best.role
}

// isRegular reports whether all axes are cut as parallel ranks cut them.
func (r *Role) isRegular() bool {
	for axis, x := range r.Axes {
		if k := x.Kind(r.whole[axis]); k == Blocks || k == Permuted || k == NotLocal {
			return false
		}
	}
	return true
}

// mend fills slices in that are like none of the reference, since their values are damaged:
// by an index that another role has and that agrees, else by the run that they continue.
// Zeros are padding only behind the last slice of the reference.
func (l *Learner) mend(x Index, full int) Index {
	if x == nil || x.complete() {
		return x
	}
	for _, k := range l.known {
		if k.Full == full && len(k.Index) == len(x) && agree(x, k.Index) {
			return k.Index
		}
	}
	if len(x.Runs()) > 2*maxBlocks {
		return x
	}
	out := slices.Clone(x)
	for i := 1; i < len(out); i++ { // forwards
		if out[i] < 0 && out[i-1] >= 0 && out[i-1]+1 < full && !slices.Contains(out, out[i-1]+1) {
			out[i] = out[i-1] + 1
		}
	}
	for i := len(out) - 2; i >= 0; i-- { // backwards
		if out[i] < 0 && out[i+1] > 0 && !slices.Contains(out, out[i+1]-1) {
			out[i] = out[i+1] - 1
		}
	}
	return out
}

// agree reports whether an index has the same slices wherever they are found, which is the
// most of it.
func agree(x, known Index) bool {
	found := 0
	for i, v := range x {
		if v >= 0 && v != known[i] {
			return false
		}
		if v >= 0 {
			found++
		}
	}
	return 2*found > len(x)
}

// assume is the map of a role that was not found in any instance.
func (l *Learner) assume(instances []Pair) Role {
	if len(instances) == 0 {
		return Role{}
	}
	part, whole := instances[0].Part, instances[0].Whole
	if len(part.Shape) != len(whole.Shape) || slices.Equal(part.Shape, whole.Shape) {
		return Role{}
	}
	r := Role{Map: Map{Axes: make([]Index, len(part.Shape))}, Found: true, Assumed: true, whole: whole.Shape}
	for axis, n := range part.Shape {
		if n == whole.Shape[axis] {
			continue
		}
		fits := 0
		for _, k := range l.known {
			if len(k.Index) == n && k.Full == whole.Shape[axis] {
				r.Axes[axis] = k.Index
				fits++
			}
		}
		if fits != 1 {
			return Role{}
		}
	}
	return r
}

// add keeps the indexes of a map, and that of its first two axes as one: sequences and
// batches are tokens elsewhere.
func (l *Learner) add(r *Role) {
	for axis, x := range r.Axes {
		if x != nil && x.complete() {
			l.Keep(Known{x, r.whole[axis]})
		}
	}
	if len(r.whole) != 3 || r.Axes[0] == nil && r.Axes[1] == nil {
		return
	}
	first, second := r.Axes[0].Or(r.whole[0]), r.Axes[1].Or(r.whole[1])
	if !first.complete() || !second.complete() {
		return
	}
	flat := make(Index, 0, len(first)*len(second))
	for _, i := range first {
		for _, j := range second {
			flat = append(flat, i*r.whole[1]+j)
		}
	}
	l.Keep(Known{flat, r.whole[0] * r.whole[1]})
}

// Or returns the index, or the index of all n slices for nil.
func (x Index) Or(n int) Index {
	if x != nil {
		return x
	}
	x = make(Index, n)
	for i := range x {
		x[i] = i
	}
	return x
}

// Keep keeps an index that an axis of this rank has.
func (l *Learner) Keep(k Known) {
	if !slices.ContainsFunc(l.known, func(o Known) bool { return slices.Equal(o.Index, k.Index) }) {
		l.known = append(l.known, k)
	}
}

// Same reports whether two maps take the same slices.
func (m *Map) Same(o *Map) bool { return slices.EqualFunc(m.Axes, o.Axes, slices.Equal) }

// key is a map as a text.
func (m *Map) key() string {
	var text strings.Builder
	for _, x := range m.Axes {
		fmt.Fprint(&text, x == nil, x.Runs(), ";")
	}
	return text.String()
}

// Nearest is the array that is nearest to one, and how far it is; -1 for none of its
// shape.
func Nearest(a *Array, among []*Array) (at int, far float64) {
	at = -1
	for i, b := range among {
		if b == nil || !slices.Equal(a.Shape, b.Shape) {
			continue
		}
		if d := Distance(a.Values, b.Values); at < 0 || d < far {
			at, far = i, d
		}
	}
	return at, far
}
