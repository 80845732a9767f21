package noise

import "iter"

// strataCount is the number of equal parts of a tensor of each of which one block is looked
// at for what is of a sample, SampleElements the number of elements of these.
const (
	strataCount    = 128
	SampleElements = strataCount * blockElements
)

// Strata say which blocks of a tensor what is of a sample is of: all where there are
// few, else one of each stratum, at a place without a pattern, that depends on the number of
// elements alone. Every so many blocks would see only a part of the positions of an axis.
type Strata struct {
	blocks int64 // whole ones of the tensor, 0 where all elements are looked at
}

// NewStrata returns those of a tensor of so many elements.
func NewStrata(total int64) Strata {
	if total <= SampleElements {
		return Strata{}
	}
	return Strata{total / blockElements}
}

// Whole reports whether it is of all elements.
func (s Strata) Whole() bool { return s.blocks == 0 }

// Has reports whether the block of an element is looked at.
func (s Strata) Has(offset int64) bool {
	if s.Whole() {
		return true
	}
	block := offset / blockElements
	if block >= s.blocks { // the rest behind the last whole one
		return false
	}
	stratum := block * strataCount / s.blocks
	if s.first(stratum+1) <= block { // the ends of strata are rounded down
		stratum++
	}
	return block == s.chosen(stratum)
}

// Runs are the offsets and lengths of what is looked at of a tensor of so many elements, in
// order: the blocks, or, where all of them are, runs of at most so many elements.
func (s Strata) Runs(total int64, most int) iter.Seq2[int64, int] {
	return func(yield func(int64, int) bool) {
		if s.Whole() {
			for at := int64(0); at < total; at += int64(most) {
				if !yield(at, int(min(int64(most), total-at))) {
					return
				}
			}
			return
		}
		for stratum := range int64(strataCount) {
			if !yield(s.chosen(stratum)*blockElements, blockElements) {
				return
			}
		}
	}
}

// first is the first block of a stratum.
func (s Strata) first(stratum int64) int64 {
	return s.blocks * stratum / strataCount
}

// chosen is the block of a stratum that is looked at.
func (s Strata) chosen(stratum int64) int64 {
	first := s.first(stratum)
	x := uint64(s.blocks)*0x9e3779b97f4a7c15 + uint64(stratum)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return first + int64((x^x>>31)%uint64(s.first(stratum+1)-first))
}

// sampled is what is known of the pairs of the sample besides their octaves and steps.
type sampled struct {
	excluded, tiny int64   // that do not count; references below smallestNormal, which are in the octave of 0
	dr, positiveDR float64 // the sums of d*r, and of those with r > 0
}

// merge adds the pairs of another segment.
func (s *sampled) merge(next sampled) {
	s.excluded += next.excluded
	s.tiny += next.tiny
	s.dr += next.dr
	s.positiveDR += next.positiveDR
}
