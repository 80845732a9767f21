package noise

import "math"

// manyValues is the minimum number of different values in a tensor for which the number of used bits is meaningful.
const manyValues = 64

// distinct is the set of values of a tensor, limited to manyValues.
type distinct struct {
	count  int
	values [manyValues]uint64
	slots  [4 * manyValues]uint8 // hash table of indexes in values, plus 1
}

func (s *distinct) add(values []float64) {
	for _, x := range values {
		if s.count == manyValues {
			return
		}
		s.insert(math.Float64bits(x + 0)) // -0 is 0
	}
}

func (s *distinct) insert(bits uint64) {
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
func (s *distinct) merge(t *distinct) {
	for _, bits := range t.values[:t.count] {
		if s.count == manyValues {
			return
		}
		s.insert(bits)
	}
}
