package checkpoint

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"dumptool/internal/tensor"
)

// line is a line of a weight, by the index of the weight on its side; weight is -1 for none.
type line struct {
	weight int32
	at     int64
}

var noLine = line{weight: -1}

// lineMatch has the lines of side B that equal the lines of a weight of side A.
type lineMatch struct {
	of, on kind // kinds of the lines on A and on B
	lines  []line
	// identical is the number of B's weights with the same contents if names do not identify the partner.
	identical int
}

func (f *lineMatch) isTransposed() bool { return f.of+f.on == rows+columns }

func (f *lineMatch) countFound() (n int) {
	for _, l := range f.lines {
		if l.weight >= 0 {
			n++
		}
	}
	return n
}

// partners are B's weights with the lines, in the order of the lines.
func (f *lineMatch) partners() (all []int32) {
	for _, l := range f.lines {
		if l.weight >= 0 && !slices.Contains(all, l.weight) {
			all = append(all, l.weight)
		}
	}
	return all
}

// entry is a line of an index.
type entry struct {
	digest uint64
	line   line
}

// index finds lines of a kind by their digests.
type index []entry

func newIndex(all []*weight, k kind, isWanted func(i int) bool) index {
	var x index
	for i, w := range all {
		if isWanted(i) {
			for at, digest := range w.digests[k] {
				x = append(x, entry{digest, line{int32(i), int64(at)}})
			}
		}
	}
	slices.SortFunc(x, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.digest, b.digest), cmp.Compare(a.line.weight, b.line.weight), cmp.Compare(a.line.at, b.line.at))
	})
	return x
}

// find returns the lines with a digest.
func (x index) find(digest uint64) index {
	from := sort.Search(len(x), func(i int) bool { return x[i].digest >= digest })
	n := sort.Search(len(x)-from, func(i int) bool { return x[from+i].digest > digest })
	return x[from : from+n]
}

func (x index) has(l line) bool {
	_, ok := slices.BinarySearchFunc(x, l, func(e entry, l line) int {
		return cmp.Or(cmp.Compare(e.line.weight, l.weight), cmp.Compare(e.line.at, l.at))
	})
	return ok
}

// maxVotes is the largest number of equal lines that vote for their weights: zeros and ones are everywhere.
const maxVotes = 8

// maxPlaces is the largest number of equal lines that are looked at: a weight of zeros has all its lines everywhere.
const maxPlaces = 1000

// minKnown is the share of lines that have to be found for a pair by contents.
const minKnown = 0.5

// matcher pairs the weights of two sides.
type matcher struct {
	b []*weight
	// named are B's weights by their plain names.
	named map[string]int32
	grid  tensor.Float // that both sides are rounded to
}

// withoutWrappers is a name without the wrappers of frameworks around a model.
func withoutWrappers(name string) string {
	for again := true; again; {
		again = false
		for _, wrapper := range []string{"module.", "model.", "transformer.", "base_model.", "_orig_mod."} {
			if rest, ok := strings.CutPrefix(name, wrapper); ok {
				name, again = rest, true
			}
		}
	}
	return name
}

// match finds the lines of a weight on side B, nil if fewer than half of them are there.
func (m *matcher) match(w *weight, of, on kind, x index) *lineMatch {
	digests := w.digests[of]
	if len(digests) == 0 {
		return nil
	}
	name, isNamed := m.named[withoutWrappers(w.name)]
	votes := map[int32]int{}
	places := make([]index, len(digests))
	for i, digest := range digests {
		places[i] = x.find(digest)
		if len(places[i]) <= maxVotes {
			for _, e := range places[i] {
				votes[e.line.weight]++
			}
		}
	}
	f := &lineMatch{of: of, on: on, lines: make([]line, len(digests))}
	// rank scores a candidate line of B: by its name, by the partners of other lines, by the lack of an alternative.
	rank := func(e entry) int {
		n := 2 * votes[e.line.weight]
		if isNamed && e.line.weight == name {
			n += 2*len(digests) + 1
		}
		if m.owner(on, e.line) == 0 {
			n++
		}
		return n
	}
	last := noLine
	for i, all := range places {
		f.lines[i] = noLine
		next := line{last.weight, last.at + 1}
		switch {
		case len(all) == 0:
		case last.weight >= 0 && all.has(next):
			f.lines[i] = next
		default:
			best := all[0]
			for _, e := range all[1:min(len(all), maxPlaces)] {
				if rank(e) > rank(best) {
					best = e
				}
			}
			f.lines[i] = best.line
		}
		last = f.lines[i]
	}
	m.keepWhole(f)
	empty := 0
	for i, zero := 0, w.emptyLine(of, m.grid); i < len(digests); i++ {
		if digests[i] == zero && f.lines[i].weight < 0 {
			empty++ // padding
		}
	}
	if known := f.countFound(); known == 0 || float64(known) < minKnown*float64(len(f.lines)-empty) {
		return nil
	}
	f.identical = m.countIdentical(w, f, places, isNamed)
	return f
}

// keepWhole keeps only the lines on one weight of B if most lines are there, in the same places. Of two tied weights one
// may have a wrong line; the right line of the other weight is then no match.
func (m *matcher) keepWhole(f *lineMatch) {
	count := map[int32]int{}
	for i, l := range f.lines {
		if l.weight >= 0 && l.at == int64(i) {
			count[l.weight]++
		}
	}
	for whole, n := range count {
		if 2*n <= len(f.lines) || m.b[whole].lineCount(f.on) != int64(len(f.lines)) {
			continue
		}
		for i, l := range f.lines {
			if l.weight != whole {
				f.lines[i] = noLine
			}
		}
	}
}

// countIdentical returns the number of B's weights that hold exactly the lines of w, 0 if there is one or the name
// decides.
func (m *matcher) countIdentical(w *weight, f *lineMatch, places []index, isNamed bool) int {
	partners := f.partners()
	if len(partners) != 1 || isNamed && m.named[withoutWrappers(w.name)] == partners[0] {
		return 0
	}
	count := map[int32]int{}
	for _, all := range places {
		seen := int32(-1)
		for _, e := range all[:min(len(all), maxPlaces)] {
			if e.line.weight != seen {
				seen = e.line.weight
				count[seen]++
			}
		}
	}
	names := map[string]bool{}
	for i, c := range count {
		if w := m.b[i]; c == len(f.lines) && w.lineCount(f.on) == int64(len(f.lines)) {
			name := w.name
			if rank, rest, ok := strings.Cut(name, "/"); ok && mpRank.MatchString(rank) {
				name = rest // every rank has it
			}
			names[name] = true
		}
	}
	if len(names) < 2 {
		return 0
	}
	return len(names)
}

// owner is the weight of A that has a line of B, plus 1; 0 for none.
func (m *matcher) owner(on kind, l line) int32 {
	if owners := m.b[l.weight].owners[on]; owners != nil {
		return owners[l.at]
	}
	return 0
}

// recordClaim notes that A's weight i has the lines of f.
func (m *matcher) recordClaim(i int, f *lineMatch) {
	for _, l := range f.lines {
		if l.weight < 0 {
			continue
		}
		w := m.b[l.weight]
		if w.owners[f.on] == nil {
			w.owners[f.on] = make([]int32, w.lineCount(f.on))
		}
		if w.owners[f.on][l.at] == 0 {
			w.owners[f.on][l.at] = int32(i + 1)
		}
	}
}

// pairRemainingLines gives lines whose elements differ a partner from the partner of the line before or behind: the
// step between the partners of consecutive lines stays the same, unless that line of B has a partner already.
func (m *matcher) pairRemainingLines(i int, f *lineMatch) {
	step := func(at, d int) int64 {
		if p := at + d; p >= 0 && p < len(f.lines) && f.lines[p].weight == f.lines[at].weight {
			return f.lines[at].at - f.lines[p].at
		}
		return int64(-d)
	}
	try := func(at, d int) {
		if at+d < 0 || at+d >= len(f.lines) || f.lines[at+d].weight < 0 {
			return
		}
		from := f.lines[at+d]
		l := line{from.weight, from.at + step(at+d, d)}
		if l.at < 0 || l.at >= m.b[l.weight].lineCount(f.on) || m.owner(f.on, l) != 0 {
			return
		}
		f.lines[at] = l
		m.recordClaim(i, &lineMatch{on: f.on, lines: f.lines[at : at+1]})
	}
	for at := range f.lines {
		if f.lines[at].weight < 0 {
			try(at, -1)
		}
	}
	for at := len(f.lines) - 1; at >= 0; at-- {
		if f.lines[at].weight < 0 {
			try(at, 1)
		}
	}
}

// pairByPosition pairs the remaining lines of A with the remaining lines of the partner weights, in order.
func (m *matcher) pairByPosition(i int, f *lineMatch) {
	free := line{weight: noLine.weight}
	partners := f.partners()
	next := func() bool {
		for ; len(partners) > 0; partners, free.at = partners[1:], 0 {
			for free.weight = partners[0]; free.at < m.b[free.weight].lineCount(f.on); free.at++ {
				if m.owner(f.on, free) == 0 {
					return true
				}
			}
		}
		return false
	}
	for at := range f.lines {
		if f.lines[at].weight < 0 && next() {
			f.lines[at] = free
			m.recordClaim(i, &lineMatch{on: f.on, lines: f.lines[at : at+1]})
		}
	}
}
