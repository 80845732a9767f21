// Package locate finds where a tensor of one rank lies in the whole tensor of a
// reference, by its values: which slices along which axis, in which order. It knows no
// names and no files: arrays in, maps out.
//
// Every slice along an axis has 8 random projections; equal slices have equal ones, and
// those of noise that rounding makes are near. Runs of consecutive slices say how an axis
// is cut: one run is a block, two may be a zig-zag or a fused pair, and so on.
package locate

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Array is a tensor in the order of its axes, the last one fastest.
type Array struct {
	Shape  []int
	Values []float32
	// Exact is set for integers: a part of them has the same ones.
	Exact bool
	// Joined are the axes along which it was joined from pieces, in no certain order: a part
	// that is as long may have its slices in another one.
	Joined []int
}

// What an Index has in place of a slice of the reference.
const (
	Unmatched = -1 // a slice that no slice of the reference is like
	Padding   = -2 // zeros without a like
)

// Index are the slices of the reference that the slices of a tensor are along an axis;
// nil for all of them, in their order.
type Index []int

// Run is how many consecutive slices of the reference follow each other, and the first.
type Run struct{ From, N int }

// Runs are the runs of an index. Those of Unmatched and Padding have that as From.
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

// String lists the slices: 0-3, 12-15; it is empty for all of them.
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

// complete reports whether every slice has a like.
func (x Index) complete() bool { return !slices.ContainsFunc(x, func(v int) bool { return v < 0 }) }

// Map is where a tensor lies in the reference: an index an axis.
type Map struct {
	Axes []Index
	// Score is the share of slices that are found.
	Score float64
}

// Known is an index that an axis of this rank has elsewhere in the net, and how long the
// axis of the reference is.
type Known struct {
	Index Index
	Full  int
}

const (
	projections = 8
	// sameTensor is how far two tensors of one shape may be apart, relative; sameIndex how
	// far one and what a known index makes of the reference.
	// sameJoined is sameTensor where other orders of the slices are possible.
	sameTensor = 0.5
	sameJoined = 0.1
	sameIndex  = 0.3
	// enough is the score from which on a map counts, sure that which needs no other try.
	enough = 0.7
	sure   = 0.98
	// Other axes are tried with so many indexes each, and in so many combinations.
	maxIndexes      = 8
	maxCombinations = 64
)

// Find finds where a part lies in the whole. ok is false where it does not.
func Find(part, whole *Array, known []Known) (m Map, ok bool) {
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
		if x, score := byKnown(part, whole, cut[0], known); x != nil {
			m := Map{make([]Index, len(part.Shape)), score}
			m.Axes[cut[0]] = x
			return m, true
		}
	}
	// A few slices may have the projections of others by chance: their values decide then.
	best, far := Map{Score: -1}, math.Inf(1)
	for _, free := range cut {
		for _, choice := range combinations(part, whole, cut, free, known) {
			m := try(part, whole, free, choice)
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
	return best, best.Score >= enough && !(part.Exact && best.byChance(whole)) && !best.isVague(whole)
}

// isVague reports whether the slices of a joined array lie in another order each for itself, or
// are there twice, and have too few elements to say so.
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
	// A map of integers in shorter runs, of slices that are seldomer the only ones of their
	// kind, is one that others are as good as.
	shortRun, lone = 3, 0.9
)

// byChance reports whether a map of integers is one of many: its runs are short, and other
// slices are equal to those that it has.
func (m *Map) byChance(whole *Array) bool {
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

// byKnown is the known index of an axis that explains the part best, nil for none, and the
// share of it that it explains. Of integers some may be others: choices among values that
// nearly tie.
func byKnown(part, whole *Array, axis int, known []Known) (best Index, score float64) {
	least := math.Inf(1)
	for _, k := range known {
		if len(k.Index) != part.Shape[axis] || k.Full != whole.Shape[axis] || !k.Index.complete() {
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

// unequal is the share of values that differ.
func unequal(a, b []float32) float64 {
	n := 0
	for i, v := range a {
		if v != b[i] {
			n++
		}
	}
	return float64(n) / float64(len(a))
}

// isLike reports whether two arrays are less apart than a limit, integers not at all.
func isLike(a, b *Array, limit float64) bool {
	if a.Exact {
		return slices.Equal(a.Values, b.Values)
	}
	return Distance(a.Values, b.Values) < limit
}

// choice is an index for some of the axes.
type choice map[int]Index

// combinations are the indexes of the axes that are cut but for the free one.
func combinations(part, whole *Array, cut []int, free int, known []Known) []choice {
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

// candidates are the indexes that an axis may have: known ones, then equal blocks.
func candidates(n, full int, known []Known) (all []Index) {
	for _, k := range known {
		if len(k.Index) == n && k.Full == full && k.Index.complete() {
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

// try finds the index of one axis; the indexes of the other axes are given.
func try(part, whole *Array, free int, others choice) Map {
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

// Take is a part of an array: the slices of an index along an axis. Slices that it does
// not have are zeros.
func Take(a *Array, axis int, x Index) *Array {
	outer, inner := around(a.Shape, axis)
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

// around is how many elements there are outside and inside of an axis.
func around(shape []int, axis int) (outer, inner int) {
	outer, inner = 1, 1
	for _, d := range shape[:axis] {
		outer *= d
	}
	for _, d := range shape[axis+1:] {
		inner *= d
	}
	return outer, inner
}

// Distance is how far values are apart, relative to the second ones; 1 for those that
// are no zeros where the second ones are.
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
