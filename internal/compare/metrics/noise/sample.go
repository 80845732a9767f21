package noise

import "iter"

// strataCount is the number of strata, equal parts of a large tensor with one sampled block
// each. SampleElements is the number of sampled elements.
const (
	strataCount    = 128
	SampleElements = strataCount * blockElements
)

// Strata selects the blocks of a tensor for the sample: all blocks of a small tensor, else one block of each stratum,
// at a pseudo-random position that depends only on the number of elements. Equidistant blocks could miss positions of
// an axis.
type Strata struct {
	blocks int64 // whole blocks of the tensor, 0 if the sample has all elements
}

// NewStrata returns the strata of a tensor of total elements.
func NewStrata(total int64) Strata {
	if total <= SampleElements {
		return Strata{}
	}
	return Strata{total / blockElements}
}

// IsComplete reports whether the sample has all elements.
func (s Strata) IsComplete() bool { return s.blocks == 0 }

// HasBlock reports whether the block of an element is in the sample.
func (s Strata) HasBlock(offset int64) bool {
	if s.IsComplete() {
		return true
	}
	block := offset / blockElements
	if block >= s.blocks { // the incomplete last block
		return false
	}
	stratum := block * strataCount / s.blocks
	if s.firstBlock(stratum+1) <= block { // the borders of strata are rounded down
		stratum++
	}
	return block == s.sampledBlock(stratum)
}

// Runs yields the offsets and lengths of the sampled elements in order: the sampled blocks, or
// runs of at most maxLen elements if the sample is the whole tensor.
func (s Strata) Runs(total int64, maxLen int) iter.Seq2[int64, int] {
	return func(yield func(int64, int) bool) {
		if s.IsComplete() {
			for at := int64(0); at < total; at += int64(maxLen) {
				if !yield(at, int(min(int64(maxLen), total-at))) {
					return
				}
			}
			return
		}
		for stratum := range int64(strataCount) {
			if !yield(s.sampledBlock(stratum)*blockElements, blockElements) {
				return
			}
		}
	}
}

// firstBlock returns the first block of a stratum.
func (s Strata) firstBlock(stratum int64) int64 {
	return s.blocks * stratum / strataCount
}

// sampledBlock returns the sampled block of a stratum.
func (s Strata) sampledBlock(stratum int64) int64 {
	first := s.firstBlock(stratum)
	x := uint64(s.blocks)*0x9e3779b97f4a7c15 + uint64(stratum)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return first + int64((x^x>>31)%uint64(s.firstBlock(stratum+1)-first))
}

// sampleSums has the sums over the sample except octaves and steps.
type sampleSums struct {
	excluded, tiny int64   // pairs that do not count; nonzero references below smallestNormal, which are in octave 0
	dr, positiveDR float64 // sum of d*r, over all pairs and over r > 0
}

// merge adds the sums of another segment.
func (s *sampleSums) merge(next sampleSums) {
	s.excluded += next.excluded
	s.tiny += next.tiny
	s.dr += next.dr
	s.positiveDR += next.positiveDR
}
