package recompute

import (
	"slices"

	"dumptool/internal/tensor"
)

// damage is where the bad elements of an output lie.
type damage struct {
	output  int
	shape   tensor.Shape
	offsets []int64   // of the bad elements
	checked [][]int64 // elements that were compared, by axis and place along it
	bad     [][]int64 // bad ones
}

func newDamage(output int, shape tensor.Shape) *damage {
	s := &damage{output: output, shape: shape}
	for _, n := range shape {
		s.checked, s.bad = append(s.checked, make([]int64, n)), append(s.bad, make([]int64, n))
	}
	return s
}

// add notes an element that was compared.
func (s *damage) add(offset int64, bad bool) {
	at := s.shape.Coordinates(offset)
	for axis, k := range at {
		if s.checked[axis][k]++; bad {
			s.bad[axis][k]++
		}
	}
	if bad {
		s.offsets = append(s.offsets, offset)
	}
}

// density is the least share of bad elements in a damaged part, 0 to 1: zeros of a Relu stay right
// where a block is lost.
const density = .25

// isPart reports whether the bad elements form a part of the output: a single one, whole slices along
// an axis, a box, or a range of elements that lie behind each other. A part is no more than half of
// the output.
func (s *damage) isPart() bool {
	bad := int64(len(s.offsets))
	if bad <= 1 {
		return bad == 1
	}
	box := int64(1)
	for axis, all := range s.bad {
		first, last := -1, 0
		hit, within := 0, int64(0)
		for k, n := range all {
			if n == 0 {
				continue
			}
			if last = k; first < 0 {
				first = k
			}
			hit, within = hit+1, within+s.checked[axis][k]
		}
		if 2*hit <= len(all) && float64(bad) >= density*float64(within) {
			return true
		}
		box *= int64(last - first + 1)
	}
	first, last := slices.Min(s.offsets), slices.Max(s.offsets)
	size, all := min(box, last-first+1), s.shape.Elements()
	return 2*size <= all && float64(bad) >= density*float64(size)
}
