package locate

import (
	"math"
	"slices"
)

// sketch has the projections of the slices along an axis.
type sketch struct {
	of   [][projections]float64
	norm []float64 // length of each projection
}

// newSketch projects the slices of an array along an axis. NaN and infinities count as 0.
func newSketch(a *Array, axis int) *sketch {
	n := a.Shape[axis]
	outer, inner := outerInner(a.Shape, axis)
	s := &sketch{make([][projections]float64, n), make([]float64, n)}
	columns := outer * inner
	if columns == 0 {
		return s
	}
	row := make([][projections]float64, inner)
	for o := range outer {
		for i := range row {
			row[i] = projectionVector(o*inner + i)
		}
		for k := range n {
			to := &s.of[k]
			for i, v := range a.Values[(o*n+k)*inner:][:inner] {
				x := float64(v)
				if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
					continue
				}
				for p, w := range row[i] {
					to[p] += float64(x * w)
				}
			}
		}
	}
	scale := 1 / math.Sqrt(float64(columns))
	for k := range s.of {
		for p := range s.of[k] {
			s.of[k][p] *= scale
		}
		s.norm[k] = length(&s.of[k])
	}
	return s
}

func length(v *[projections]float64) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x * x)
	}
	return math.Sqrt(sum)
}

func distance(a, b *[projections]float64) float64 {
	var sum float64
	for p := range a {
		d := a[p] - b[p]
		sum += float64(d * d)
	}
	return math.Sqrt(sum)
}

// projectionVector returns the projection vector of an element: nearly normal numbers, each the sum of four uniform ones,
// from a splitmix64 generator seeded with the place, equal on every machine.
func projectionVector(place int) (d [projections]float64) {
	state := uint64(place)*0x9e3779b97f4a7c15 + 0x243f6a8885a308d3
	for p := range d {
		state += 0x9e3779b97f4a7c15
		z := (state ^ state>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		sum := int64(z&0xffff) + int64(z>>16&0xffff) + int64(z>>32&0xffff) + int64(z>>48)
		d[p] = float64(sum-2*0xffff) * (1.0 / 37837) // the deviation of such a sum is 2^16/sqrt(3)
	}
	return d
}

const (
	// Maximum distances between the projections of two slices, relative to the length of the projection: runDistance
	// for slices of a run, matchDistance for a slice and its match. A slice also belongs to a run if its distance is at most
	// nearestFactor times the distance of the nearest slice.
	runDistance, matchDistance, nearestFactor = 0.2, 0.4, 1.6
	// zeroLength is the length below which projections count as zeros, relative to the usual length.
	zeroLength = 1e-6
	// maxTable is the maximum number of pairs of slices for a table of all distances. Beyond it the limit nearest is not
	// used.
	maxTable = 1 << 26
)

// matcher matches slices along an axis.
type matcher struct {
	part, whole *sketch
	scale       float64
	// least caches the distance to the nearest slice of the whole, -1 if not computed yet.
	least []float64
	full  bool
	exact bool // integers
}

// Match matches the slices of a part along an axis with slices of the whole; the other axes are equal. It returns the
// index and the share of matched slices, 0 to 1.
func Match(part, whole *Array, axis int) (Index, float64) {
	m := &matcher{part: newSketch(part, axis), whole: newSketch(whole, axis), exact: part.Exact}
	n := len(m.part.of)
	m.full = n*len(m.whole.of) <= maxTable
	m.scale = medianLength(m.part.norm)
	m.least = make([]float64, n)
	for i := range m.least {
		m.least[i] = -1
	}
	x := make(Index, n)
	hit := 0
	for i := 0; i < n; {
		at, run := m.longest(i)
		good := m.isGood(i)
		switch {
		case m.part.norm[i] <= zeroLength*m.scale && (run == 0 || !good):
			x[i] = Padding
			hit++
			i++
		case run == 0 || !good:
			x[i] = Unmatched
			i++
		default:
			for q := range run {
				x[i+q] = at + q
				if m.isGood(i + q) {
					hit++
				}
			}
			i += run
		}
	}
	return x, float64(hit) / float64(max(n, 1))
}

// medianLength returns the median of the lengths that are not 0; 1 if all are.
func medianLength(norm []float64) float64 {
	some := slices.DeleteFunc(slices.Clone(norm), func(v float64) bool { return v <= 0 })
	if len(some) == 0 {
		return 1
	}
	slices.Sort(some)
	if n := len(some); n%2 == 0 {
		return (some[n/2-1] + some[n/2]) / 2
	}
	return some[len(some)/2]
}

// nearestOf returns the distance of the nearest slice of the whole.
func (m *matcher) nearestOf(i int) float64 {
	if m.least[i] < 0 {
		m.least[i] = math.Inf(1)
		for j := range m.whole.of {
			m.least[i] = min(m.least[i], distance(&m.part.of[i], &m.whole.of[j]))
		}
	}
	return m.least[i]
}

func (m *matcher) isGood(i int) bool {
	return m.nearestOf(i) <= m.limit(matchDistance, i)
}

// limit returns the largest distance between projections of a slice and its match.
func (m *matcher) limit(relative float64, i int) float64 {
	if m.exact {
		relative = 0
	}
	return max(relative*m.part.norm[i], zeroLength*m.scale)
}

// isNear reports whether two slices may belong to a run.
func (m *matcher) isNear(i, j int) bool {
	d := distance(&m.part.of[i], &m.whole.of[j])
	if d <= m.limit(runDistance, i) {
		return true
	}
	return m.full && !m.exact && d <= nearestFactor*m.nearestOf(i)
}

// longest finds the longest run of slices of the whole that are near the slices from i on: its first slice and its
// length. Of equally long runs the one with the nearest first slice wins.
func (m *matcher) longest(i int) (at, run int) {
	least := math.Inf(1)
	for j := range m.whole.of {
		if !m.isNear(i, j) {
			continue
		}
		n := 1
		for i+n < len(m.part.of) && j+n < len(m.whole.of) && m.isNear(i+n, j+n) {
			n++
		}
		if d := distance(&m.part.of[i], &m.whole.of[j]); n > run || n == run && d < least {
			at, run, least = j, n, d
		}
	}
	return at, run
}
