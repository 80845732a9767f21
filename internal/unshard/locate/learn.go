package locate

import (
	"fmt"
	"slices"
	"strings"
)

// Learner finds the positions of the tensors of a rank, role by role. Indexes that it finds for one role are
// candidates for later roles.
type Learner struct {
	known []KnownIndex
}

// Pair is a tensor of a rank and the reference tensor of the same name.
type Pair struct{ Part, Whole *Array }

// Role is a tensor in several layers, such as the weight of every first linear layer, with the map that its instances
// share.
type Role struct {
	Map
	// Found: the role has a map. Instances counts the instances with this map. Assumed: the values match nothing in
	// the reference; the map consists of the only indexes of these lengths in other roles, and its score is 0.
	Found, Assumed bool
	Instances      int
	// Others counts other maps with as many instances. If it is not 0, the map is ambiguous.
	Others int
	// Known: another role has the index of the first axis.
	Known    bool
	refShape []int // shape in the reference
}

// Find finds the position of a tensor, with the learned indexes as candidates.
func (l *Learner) Find(p Pair) (Map, bool) { return Find(p.Part, p.Whole, l.known) }

// MatchQuality returns how well parts match their wholes, from 0 for not found to 1. Nothing is learned.
func (l *Learner) MatchQuality(instances []Pair) (score float64) {
	for _, in := range instances {
		if m, ok := l.Find(in); ok {
			score += m.Score / float64(len(instances))
		}
	}
	return score
}

// doubleVote is the minimum score, 0 to 1, of an instance whose map gets two votes.
const doubleVote = 0.95

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
			v = &vote{role: Role{Map: m, Found: true, refShape: in.Whole.Shape}}
			votes[key] = v
			order = append(order, key)
		}
		v.role.Instances++
		v.role.Score = min(v.role.Score, m.Score)
		if v.votes++; m.Score >= doubleVote {
			v.votes++
		}
	}
	// Parallel ranks cut axes into runs of equal lengths. If some instance surely has such runs, irregular maps come
	// from damaged values and are dropped.
	certain := slices.ContainsFunc(order, func(key string) bool { return votes[key].role.isRegular() && votes[key].role.Score >= doubleVote })
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
		best.role.Axes[axis] = l.fillUnmatched(x, best.role.refShape[axis])
	}
	best.role.Known = slices.ContainsFunc(l.known, func(k KnownIndex) bool { return slices.Equal(k.Index, best.role.Axes[0]) })
	l.add(&best.role)
	return best.role
}

// isRegular reports whether all axes are cut into equal runs, as parallel ranks cut them.
func (r *Role) isRegular() bool {
	for axis, x := range r.Axes {
		if k := x.Kind(r.refShape[axis]); k == Blocks || k == Permuted || k == NotLocal {
			return false
		}
	}
	return true
}

// fillUnmatched fills unmatched slices, whose values are damaged: from an index of another role that agrees with all matched
// slices, else by continuing the neighbouring runs. Zeros are padding only behind the last slice of the reference.
func (l *Learner) fillUnmatched(x Index, full int) Index {
	if x == nil || x.isComplete() {
		return x
	}
	for _, k := range l.known {
		if k.Full == full && len(k.Index) == len(x) && isConsistent(x, k.Index) {
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

// isConsistent reports whether more than half of the slices of x are matched, and all matched slices equal the known index.
func isConsistent(x, known Index) bool {
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

// assume returns the map of a role that was not found in any instance; see Role.Assumed.
func (l *Learner) assume(instances []Pair) Role {
	if len(instances) == 0 {
		return Role{}
	}
	part, whole := instances[0].Part, instances[0].Whole
	if len(part.Shape) != len(whole.Shape) || slices.Equal(part.Shape, whole.Shape) {
		return Role{}
	}
	r := Role{Map: Map{Axes: make([]Index, len(part.Shape))}, Found: true, Assumed: true, refShape: whole.Shape}
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

// add keeps the indexes of a map as candidates. It also keeps the combined index of the first two axes, since other
// tensors have sequence and batch as a single axis of tokens.
func (l *Learner) add(r *Role) {
	for axis, x := range r.Axes {
		if x != nil && x.isComplete() {
			l.Keep(KnownIndex{x, r.refShape[axis]})
		}
	}
	if len(r.refShape) != 3 || r.Axes[0] == nil && r.Axes[1] == nil {
		return
	}
	first, second := r.Axes[0].OrIdentity(r.refShape[0]), r.Axes[1].OrIdentity(r.refShape[1])
	if !first.isComplete() || !second.isComplete() {
		return
	}
	flat := make(Index, 0, len(first)*len(second))
	for _, i := range first {
		for _, j := range second {
			flat = append(flat, i*r.refShape[1]+j)
		}
	}
	l.Keep(KnownIndex{flat, r.refShape[0] * r.refShape[1]})
}

// OrIdentity returns the index, or the identity of n slices for nil.
func (x Index) OrIdentity(n int) Index {
	if x != nil {
		return x
	}
	x = make(Index, n)
	for i := range x {
		x[i] = i
	}
	return x
}

// Keep adds an index to the candidates.
func (l *Learner) Keep(k KnownIndex) {
	if !slices.ContainsFunc(l.known, func(o KnownIndex) bool { return slices.Equal(o.Index, k.Index) }) {
		l.known = append(l.known, k)
	}
}

// Equal reports whether two maps select the same slices.
func (m *Map) Equal(o *Map) bool { return slices.EqualFunc(m.Axes, o.Axes, slices.Equal) }

// key returns a map as text.
func (m *Map) key() string {
	var text strings.Builder
	for _, x := range m.Axes {
		fmt.Fprint(&text, x == nil, x.Runs(), ";")
	}
	return text.String()
}

// Nearest returns the position and relative distance of the array nearest to a; -1 if no array has its shape.
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
