package noise

import (
	"math"

	"dumptool/internal/compare/metrics/kernel"
)

// manyUnits is how many units in the last place a lone pair is off at least.
const manyUnits = 32

// singles is what single pairs say.
type singles struct {
	flips, oneSided int64
	twoSidedDD      float64 // the sum of squares of d of the pairs that are not one-sided
	differing       int64
	shift           float64   // n-r of those that differ, NaN where there are several
	lone            [3]lonely // by the type, and by those that an array of float32 may hold
}

// lonely counts the pairs that are off by many units of a type.
type lonely struct {
	units   units
	many    int64
	crowded bool // another pair is off by more than one unit
}

// units are the units in the last place of a type: epsilon times the power of two of a
// number, at least the least one, that of numbers below the normal ones.
type units struct{ epsilon, least float64 }

func unitsOf(t Type) units {
	if t.Integer {
		return units{0, 1}
	}
	return units{t.Epsilon(), t.Subnormal()}
}

// at returns the unit of a number.
func (u *units) at(x float64) float64 {
	const exponent = 0x7ff << 52
	return max(u.epsilon*math.Float64frombits(math.Float64bits(x)&exponent), u.least)
}

// newSingles returns what no pairs say.
func newSingles(t Type, gridded bool) (s singles) {
	s.lone[0].units = unitsOf(t)
	for k, d := range Coarser {
		of, _ := TypeOf(d)
		s.lone[k+1] = lonely{units: unitsOf(of), crowded: !gridded}
	}
	return s
}

// merge adds the pairs of another segment.
func (s *singles) merge(next *singles) {
	s.flips, s.oneSided, s.twoSidedDD = s.flips+next.flips, s.oneSided+next.oneSided, s.twoSidedDD+next.twoSidedDD
	if s.differing == 0 {
		s.shift = next.shift
	} else if next.differing > 0 && next.shift != s.shift {
		s.shift = math.NaN()
	}
	s.differing += next.differing
	for k := range s.lone {
		s.lone[k].many += next.lone[k].many
		s.lone[k].crowded = s.lone[k].crowded || next.lone[k].crowded
	}
}

// elsewhere reports whether the elements are of another type than that of s.lone[k]: of
// those that an array of float32 may hold only, if too many of them are no numbers of it.
func (c *Collector) elsewhere(k int) bool {
	return k > 0 && 100*c.grid.off(Coarser[k-1]) > c.total
}

// lone returns the number of pairs that are off alone by the type of s.lone[k].
func (c *Collector) lone(k int) int64 {
	if l := &c.singles.lone[k]; !l.crowded && !c.elsewhere(k) {
		return l.many
	}
	return 0
}

// addSingles adds a block with differences, of which maxD is the largest magnitude and dd
// the sum of squares. No reference is smaller than least, which is 0 where a side may have
// zeros, and no |d| more than ratio times |r|.
func (c *Collector) addSingles(n, r []float64, least, maxD, ratio, dd float64) {
	s := &c.singles
	before := s.oneSided
	if ratio >= 1 && maxD >= least { // no smaller difference changes a sign
		s.addSigns(n, r, least == 0)
	}
	if s.oneSided > before {
		dd = twoSided(n, r)
	}
	s.twoSidedDD += dd
	if c.request.Type.Integer {
		s.addDiffering(n, r)
	}
	for k := range s.lone {
		l := &s.lone[k]
		if l.crowded = l.crowded || c.elsewhere(k); !l.crowded && ratio > l.units.epsilon/2 && maxD > l.units.at(least) {
			l.add(n, r, &c.request)
		}
	}
}

// addSigns counts the pairs whose sides are not of one sign, of eight at a time where that
// may be. Where there are zeros, that is also where the numbers before the bits differ in
// sign.
func (s *singles) addSigns(n, r []float64, zeros bool) {
	const chunk = 8
	for ; len(r) >= chunk; n, r = n[chunk:], r[chunk:] {
		a, b := (*[chunk]float64)(n), (*[chunk]float64)(r)
		differ := uint64(0)
		for i := range chunk {
			differ |= math.Float64bits(a[i]) ^ math.Float64bits(b[i])
		}
		if zeros {
			for i := range chunk {
				differ |= (math.Float64bits(a[i]) - 1) ^ (math.Float64bits(b[i]) - 1)
			}
		}
		if differ >= kernel.SignBit {
			s.countSigns(a[:], b[:])
		}
	}
	s.countSigns(n, r)
}

// countSigns counts the pairs whose sides are not of one sign.
func (s *singles) countSigns(n, r []float64) {
	for i, x := range r {
		if y := n[i]; (y > 0) != (x > 0) {
			s.flips++
		}
		if oneSided(n[i], x) {
			s.oneSided++
		}
	}
}

// oneSided reports whether one side alone is 0.
func oneSided(n, r float64) bool { return (n == 0) != (r == 0) }

// twoSided returns the sum of the squares of d of the pairs that are not one-sided.
func twoSided(n, r []float64) (dd float64) {
	for i, x := range r {
		if y := n[i]; !oneSided(y, x) {
			y -= x
			dd += float64(y * y)
		}
	}
	return dd
}

// addDiffering counts the pairs that differ, and finds what they differ by.
func (s *singles) addDiffering(n, r []float64) {
	for i, x := range r {
		d := n[i] - x
		switch {
		case d == 0:
			continue
		case s.differing == 0:
			s.shift = d
		case d != s.shift:
			s.shift = math.NaN()
		}
		s.differing++
	}
}

// add adds pairs, until there is one that is off by more than a unit and yet not by many
// units and beyond the limits.
func (l *lonely) add(n, r []float64, req *Request) {
	half := l.units.epsilon / 2 // of a number it is not more than the unit
	for i, x := range r {
		d := math.Abs(n[i] - x)
		if d <= math.Abs(x)*half || d <= l.units.at(x) {
			continue
		}
		if d <= manyUnits*l.units.at(x) || d <= req.Atol+float64(req.Rtol*math.Abs(x)) {
			l.crowded = true
			return
		}
		l.many++
	}
}
