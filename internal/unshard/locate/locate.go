// Package locate finds the position of a tensor of one rank in the whole tensor of a reference, by its values: which
// slices along which axis, in which order. It works on arrays only, without names and files.
//
// Every slice along an axis is reduced to 8 random projections: equal slices have equal projections, and rounding
// noise moves them little. Runs of consecutive slices tell how an axis is cut: one run is a block, two may be a
// zig-zag or a fused pair, and so on.
//
// Start reading at Find and Match; a Learner applies them to all tensors of a rank.
package locate

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Array is a tensor in row-major order.
type Array struct {
	Shape  []int
	Values []float32
	// Exact: the values are integers, which must be equal in a part.
	Exact bool
	// Joined are the axes along which the array was joined from pieces in uncertain order: a part of equal length may
	// have its slices in another order.
	Joined []int
}

// Negative values of an Index.
const (
	Unmatched = -1 // a slice that matches no slice of the reference
	Padding   = -2 // an unmatched slice of zeros
)

// Index maps the slices of a tensor along an axis to slices of the reference; nil is the identity.
type Index []int

// Run is a run of N consecutive slices of the reference, the first at From.
type Run struct{ From, N int }

// Runs returns the runs of an index. From is Unmatched or Padding for runs of such slices.
func (x Index) Runs() (runs []Run) {
	for _, v := range x {
		last := len(runs) - 1
		switch {
		case last >= 0 && v >= 0 && runs[last].From >= 0 && runs[last].From+runs[last].N == v,
			last >= 0 && v < 0 && runs[last].From == v:
			runs[last].N++
		default:
			runs = append(runs, Run{v, 1})
		}
	}
	return runs
}

// String lists the slices, such as 0-3, 12-15; empty for the identity.
func (x Index) String() string {
	runs := x.Runs()
	words := make([]string, len(runs))
	for i, r := range runs {
		words[i] = strconv.Itoa(r.From)
		if r.N > 1 && r.From >= 0 {
			words[i] += "-" + strconv.Itoa(r.From+r.N-1)
		}
	}
	return strings.Join(words, ", ")
}

// isComplete reports whether every slice is matched.
func (x Index) isComplete() bool { return !slices.ContainsFunc(x, func(v int) bool { return v < 0 }) }

// Map is the position of a tensor in the reference: an index for each axis.
type Map struct {
	Axes []Index
	// Score is the share of matched slices, 0 to 1.
	Score float64
}

// KnownIndex is an index that was found for an axis of another tensor of this rank. Full is the length of the axis in the
// reference.
type KnownIndex struct {
	Index Index
	Full  int
}

const (
	projections = 8
	// Largest relative distances: sameTensor between tensors of equal shape, sameJoined likewise if slices may be in
	// another order, sameIndex between a part and the part that a known index selects.
	sameTensor = 0.5
	sameJoined = 0.1
	sameIndex  = 0.3
	// enough is the minimum score, 0 to 1, of an accepted map. A map with at least the score sure ends the search.
	enough = 0.7
	sure   = 0.98
	// Limits of the indexes tried for each other axis, and of their combinations.
	maxIndexes      = 8
	maxCombinations = 64
)

// Find finds the position of a part in the whole; ok is false if it is not found.
func Find(part, whole *Array, known []KnownIndex) (m Map, ok bool) {
	if len(part.Shape) != len(whole.Shape) || len(part.Values) == 0 || len(whole.Values) == 0 {
		return Map{}, false
	}
	var cut []int
	for k := range part.Shape {
		if part.Shape[k] != whole.Shape[k] {
			cut = append(cut, k)
		}
	}
	if len(cut) == 0 {
		limit := sameTensor
		if len(whole.Joined) > 0 {
			limit = sameJoined
		}
		if like := isLike(part, whole, limit); like || len(whole.Joined) == 0 {
			return Map{make([]Index, len(part.Shape)), 1}, like
		}
	}
	for _, k := range whole.Joined {
		if !slices.Contains(cut, k) {
			cut = append(cut, k)
		}
	}
	if len(cut) == 1 {
		if x, score := bestKnown(part, whole, cut[0], known); x != nil {
			m := Map{make([]Index, len(part.Shape)), score}
			m.Axes[cut[0]] = x
			return m, true
		}
	}
	// Slices may have equal projections by chance: of maps with equal scores the values decide.
	best, far := Map{Score: -1}, math.Inf(1)
	for _, free := range cut {
		for _, choice := range combinations(part, whole, cut, free, known) {
			m := findFreeIndex(part, whole, free, choice)
			if m.Score < best.Score-1e-9 {
				continue
			}
			d := Distance(part.Values, m.Part(whole).Values)
			if m.Score > best.Score+1e-9 || d < far {
				best, far = m, d
			}
			if best.Score > sure && far < sameTensor {
				return best, !best.isVague(whole)
			}
		}
	}
	return best, best.Score >= enough && !(part.Exact && best.isAmbiguous(whole)) && !best.isVague(whole)
}

// isVague reports whether the slices of a joined array are permuted or repeated although they have too few elements
// to be identified.
func (m *Map) isVague(whole *Array) bool {
	for _, axis := range whole.Joined {
		if len(whole.Values) >= projections*whole.Shape[axis] {
			continue
		}
		once := slices.Clone(m.Axes[axis])
		slices.Sort(once)
		if m.Axes[axis].Kind(whole.Shape[axis]) == Permuted || len(slices.Compact(once)) < len(m.Axes[axis]) {
			return true
		}
	}
	return false
}

const (
	// A map of integers is ambiguous if its runs have fewer than shortRun slices on average, and less than the share
	// lone (0 to 1) of its slices occurs only once in the reference.
	shortRun, lone = 3, 0.9
)

// isAmbiguous reports whether integers may match by chance: the runs of the map are short, and the reference has
// several slices equal to the matched slices.
func (m *Map) isAmbiguous(whole *Array) bool {
	for axis, x := range m.Axes {
		if len(x.Runs())*shortRun <= len(x) {
			continue
		}
		kinds := make(map[[projections]float64]int)
		of := newSketch(whole, axis).of
		for _, s := range of {
			kinds[s]++
		}
		single := 0
		for _, at := range x {
			if at < 0 || kinds[of[at]] == 1 {
				single++
			}
		}
		if float64(single) < lone*float64(len(x)) {
			return true
		}
	}
	return false
}

// bestKnown returns the known index that explains the part best along an axis, nil for none, and the share that it
// explains, 0 to 1. Some integers may differ, since an integer may be the choice between nearly equal values, such as
// an argmax.
func bestKnown(part, whole *Array, axis int, known []KnownIndex) (best Index, score float64) {
	least := math.Inf(1)
	for _, k := range known {
		if len(k.Index) != part.Shape[axis] || k.Full != whole.Shape[axis] || !k.Index.isComplete() {
			continue
		}
		of := Take(whole, axis, k.Index)
		d, limit, share := Distance(part.Values, of.Values), sameIndex, 1.0
		if part.Exact {
			d, limit = unequal(part.Values, of.Values), 1-enough
			share = 1 - d
		}
		if d < least && d < limit {
			least, best, score = d, k.Index, share
		}
	}
	return best, score
}

// unequal returns the share of values that differ, 0 to 1.
func unequal(a, b []float32) float64 {
	n := 0
	for i, v := range a {
		if v != b[i] {
			n++
		}
	}
	return float64(n) / float64(len(a))
}

// isLike reports whether the distance of two arrays is below a limit; integers must be equal.
func isLike(a, b *Array, limit float64) bool {
	if a.Exact {
		return slices.Equal(a.Values, b.Values)
	}
	return Distance(a.Values, b.Values) < limit
}

// choice has an index for some axes.
type choice map[int]Index

// combinations lists the choices of indexes for all cut axes except the free one.
func combinations(part, whole *Array, cut []int, free int, known []KnownIndex) []choice {
	all := []choice{{}}
	for _, k := range cut {
		if k == free {
			continue
		}
		var next []choice
		for _, c := range all {
			for _, x := range candidates(part.Shape[k], whole.Shape[k], known) {
				more := choice{k: x}
				for axis, y := range c {
					more[axis] = y
				}
				next = append(next, more)
			}
		}
		all = next
	}
	return all[:min(len(all), maxCombinations)]
}

// candidates lists the indexes that an axis may have: known ones, then equal blocks.
func candidates(n, full int, known []KnownIndex) (all []Index) {
	for _, k := range known {
		if len(k.Index) == n && k.Full == full && k.Index.isComplete() {
			all = append(all, k.Index)
		}
	}
	for from := 0; n > 0 && full%n == 0 && from < full && len(all) < maxIndexes; from += n {
		block := make(Index, n)
		for i := range block {
			block[i] = from + i
		}
		all = append(all, block)
	}
	return all[:min(len(all), maxIndexes)]
}

// findFreeIndex finds the index of the free axis, given the indexes of the other axes.
func findFreeIndex(part, whole *Array, free int, others choice) Map {
	m := Map{Axes: make([]Index, len(part.Shape))}
	for axis := range part.Shape {
		if x, ok := others[axis]; ok {
			whole = Take(whole, axis, x)
			m.Axes[axis] = x
		}
	}
	m.Axes[free], m.Score = Match(part, whole, free)
	return m
}

// Take selects the slices of an index along an axis. Unmatched slices are zeros.
func Take(a *Array, axis int, x Index) *Array {
	outer, inner := outerInner(a.Shape, axis)
	n := a.Shape[axis]
	out := &Array{Exact: a.Exact, Joined: a.Joined, Shape: slices.Clone(a.Shape), Values: make([]float32, outer*len(x)*inner)}
	out.Shape[axis] = len(x)
	for o := range outer {
		for i, from := range x {
			if from >= 0 && from < n {
				copy(out.Values[(o*len(x)+i)*inner:][:inner], a.Values[(o*n+from)*inner:][:inner])
			}
		}
	}
	return out
}

// Part returns the part of the whole that a map selects.
func (m *Map) Part(whole *Array) *Array {
	for axis, x := range m.Axes {
		if x != nil {
			whole = Take(whole, axis, x)
		}
	}
	return whole
}

// outerInner returns the number of elements outside and inside of an axis.
func outerInner(shape []int, axis int) (outer, inner int) {
	outer, inner = 1, 1
	for _, d := range shape[:axis] {
		outer *= d
	}
	for _, d := range shape[axis+1:] {
		inner *= d
	}
	return outer, inner
}

// Distance returns the RMS of a-b relative to the RMS of b: 1 if b is 0 and a is not, infinite for NaN or different
// lengths.
func Distance(a, b []float32) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	var apart, size float64
	for i, x := range a {
		d := float64(x) - float64(b[i])
		apart += float64(d * d)
		size += float64(float64(b[i]) * float64(b[i]))
	}
	switch {
	case math.IsNaN(apart):
		return math.Inf(1)
	case size > 0:
		return math.Sqrt(apart) / math.Sqrt(size)
	case apart > 0:
		return 1
	}
	return 0
}
