package noise

import "math"

// maxDistinct is the number of different values from which the number of used bits is meaningful; further values are
// not counted.
const maxDistinct = 64

// valueSet is the set of values of a tensor, limited to maxDistinct.
type valueSet struct {
	count  int
	values [maxDistinct]uint64
	slots  [4 * maxDistinct]uint8 // hash table of indexes in values, plus 1
}

func (s *valueSet) add(values []float64) {
	for _, x := range values {
		if s.count == maxDistinct {
			return
		}
		s.insert(math.Float64bits(x + 0)) // -0 is 0
	}
}

func (s *valueSet) insert(bits uint64) {
	slot := bits * 0x9e3779b97f4a7c15 >> 56
	for ; s.slots[slot] != 0; slot = (slot + 1) % uint64(len(s.slots)) {
		if s.values[s.slots[slot]-1] == bits {
			return
		}
	}
	s.values[s.count] = bits
	s.count++
	s.slots[slot] = uint8(s.count)
}

// merge adds the values of another set.
func (s *valueSet) merge(t *valueSet) {
	for _, bits := range t.values[:t.count] {
		if s.count == maxDistinct {
			return
		}
		s.insert(bits)
	}
}
