package noise

import (
	"math"

	"dumptool/internal/compare/metrics/kernel"
)

// minLoneUnits: a lone pair differs by more than this number of units in the last place.
const minLoneUnits = 32

// singles has the counts of single pairs: flips, one-sided pairs, differing integers, lone pairs.
type singles struct {
	flips, oneSided int64
	twoSidedDD      float64 // sum of squares of d over the pairs that are not one-sided
	differing       int64
	shift           float64           // n-r of the differing integers; NaN if there are several values
	lone            [3]outlierCounter // for the type of the request, then for the types of Coarser
}

// outlierCounter counts the pairs that differ by more than minLoneUnits of a type.
type outlierCounter struct {
	units     units
	count     int64
	isCrowded bool // another pair differs by more than one unit
}

// units computes the units in the last place of a type: epsilon times the power of two of a number, and least for
// subnormal numbers.
type units struct{ epsilon, least float64 }

func unitsOf(t Type) units {
	if t.Integer {
		return units{0, 1}
	}
	return units{t.Epsilon(), t.Subnormal()}
}

// unitOf returns the unit of a number.
func (u *units) unitOf(x float64) float64 {
	const exponent = 0x7ff << 52
	return max(u.epsilon*math.Float64frombits(math.Float64bits(x)&exponent), u.least)
}

// newSingles returns empty counts.
func newSingles(t Type, gridded bool) (s singles) {
	s.lone[0].units = unitsOf(t)
	for k, d := range Coarser {
		of, _ := TypeOf(d)
		s.lone[k+1] = outlierCounter{units: unitsOf(of), isCrowded: !gridded}
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
		s.lone[k].count += next.lone[k].count
		s.lone[k].isCrowded = s.lone[k].isCrowded || next.lone[k].isCrowded
	}
}

// isOtherType reports whether the elements are not numbers of the coarser type of s.lone[k]: more than 1 % do not fit
// this type.
func (c *Collector) isOtherType(k int) bool {
	return k > 0 && 100*c.grid.countOffGrid(Coarser[k-1]) > c.total
}

// countLone returns the number of lone pairs by the type of s.lone[k]; 0 if the tensor is crowded or does not have this
// type.
func (c *Collector) countLone(k int) int64 {
	if l := &c.singles.lone[k]; !l.isCrowded && !c.isOtherType(k) {
		return l.count
	}
	return 0
}

// addSingles adds a block with differences; maxD is the largest |d| and dd the sum of squares of d. least is a lower
// bound of |r|, 0 if a side may have zeros; ratio is an upper bound of |d|/|r|.
func (c *Collector) addSingles(n, r []float64, least, maxD, ratio, dd float64) {
	s := &c.singles
	before := s.oneSided
	if ratio >= 1 && maxD >= least { // smaller differences change no sign
		s.addSigns(n, r, least == 0)
	}
	if s.oneSided > before {
		dd = twoSidedSquares(n, r)
	}
	s.twoSidedDD += dd
	if c.request.Type.Integer {
		s.addDiffering(n, r)
	}
	for k := range s.lone {
		l := &s.lone[k]
		if l.isCrowded = l.isCrowded || c.isOtherType(k); !l.isCrowded && ratio > l.units.epsilon/2 && maxD > l.units.unitOf(least) {
			l.add(n, r, &c.request)
		}
	}
}

// addSigns counts the pairs whose sides have different signs. It tests the sign bits of eight pairs at a time. If
// there may be zeros it also tests the bits minus 1, whose sign differs if one side alone is 0.
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

// countSigns counts the pairs whose sides have different signs.
func (s *singles) countSigns(n, r []float64) {
	for i, x := range r {
		if y := n[i]; (y > 0) != (x > 0) {
			s.flips++
		}
		if isOneSided(n[i], x) {
			s.oneSided++
		}
	}
}

// isOneSided reports whether exactly one side is 0.
func isOneSided(n, r float64) bool { return (n == 0) != (r == 0) }

// twoSidedSquares returns the sum of the squares of d of the pairs that are not one-sided.
func twoSidedSquares(n, r []float64) (dd float64) {
	for i, x := range r {
		if y := n[i]; !isOneSided(y, x) {
			y -= x
			dd += float64(y * y)
		}
	}
	return dd
}

// addDiffering counts the differing pairs of integers, and finds their common difference.
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

// add counts pairs with a difference of many units. It stops at a pair that differs by more than a unit, but not by
// many units or not beyond the limits.
func (l *outlierCounter) add(n, r []float64, req *Request) {
	half := l.units.epsilon / 2 // half of epsilon times |x| is at most the unit of x
	for i, x := range r {
		d := math.Abs(n[i] - x)
		if d <= math.Abs(x)*half || d <= l.units.unitOf(x) {
			continue
		}
		if d <= minLoneUnits*l.units.unitOf(x) || d <= req.Atol+float64(req.Rtol*math.Abs(x)) {
			l.isCrowded = true
			return
		}
		l.count++
	}
}
