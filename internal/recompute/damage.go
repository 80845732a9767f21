package recompute

import (
	"slices"

	"dumptool/internal/tensor"
)

// damage records where the bad elements of an output lie.
type damage struct {
	output  int
	shape   tensor.Shape
	offsets []int64   // of the bad elements
	checked [][]int64 // by axis and index along it: number of compared elements
	bad     [][]int64 // number of bad elements
}

func newDamage(output int, shape tensor.Shape) *damage {
	s := &damage{output: output, shape: shape}
	for _, n := range shape {
		s.checked, s.bad = append(s.checked, make([]int64, n)), append(s.bad, make([]int64, n))
	}
	return s
}

// add counts a compared element.
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

// minDensity is the least share of bad elements in a damaged part, 0 to 1: where a block is lost, zeros of a Relu are
// still right.
const minDensity = .25

// isPart reports whether the bad elements form a part of the output: a single element, whole slices along an axis, a
// box, or a contiguous range. A part is at most half of the output.
func (s *damage) isPart() bool {
	bad := int64(len(s.offsets))
	if bad <= 1 {
		return bad == 1
	}
	box := int64(1)
	for axis, all := range s.bad {
		first, last := -1, 0
		sliceCount, elements := 0, int64(0)
		for k, n := range all {
			if n == 0 {
				continue
			}
			if last = k; first < 0 {
				first = k
			}
			sliceCount, elements = sliceCount+1, elements+s.checked[axis][k]
		}
		if 2*sliceCount <= len(all) && float64(bad) >= minDensity*float64(elements) {
			return true
		}
		box *= int64(last - first + 1)
	}
	first, last := slices.Min(s.offsets), slices.Max(s.offsets)
	size, all := min(box, last-first+1), s.shape.Elements()
	return 2*size <= all && float64(bad) >= minDensity*float64(size)
}
