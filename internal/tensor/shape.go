package tensor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Shape holds the dimensions of a tensor, outermost first. An empty shape is a
// scalar for host arrays; in a dump it means that no shape was recorded.
type Shape []int64

// Count returns the number of elements, 1 for an empty shape. ok is false when
// a dimension is negative or the product does not fit in 63 bits.
func (s Shape) Count() (n int64, ok bool) {
	n = 1
	for _, d := range s {
		if d < 0 {
			return 0, false
		}
		if d == 0 {
			n = 0
		}
	}
	if n == 0 {
		return 0, true
	}
	for _, d := range s {
		if n > maxInt64/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}

// Elements returns Count of a shape that was found to have one.
func (s Shape) Elements() int64 {
	n, _ := s.Count()
	return n
}

// String prints the shape as (2, 3, 4), the way numpy does.
func (s Shape) String() string {
	if len(s) == 1 {
		return fmt.Sprintf("(%d,)", s[0])
	}
	return "(" + s.Join(", ") + ")"
}

// Join prints the dimensions with sep between them, such as 2x3x4.
func (s Shape) Join(sep string) string {
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = strconv.FormatInt(d, 10)
	}
	return strings.Join(parts, sep)
}

// Equal reports whether both shapes have the same dimensions.
func (s Shape) Equal(t Shape) bool { return slices.Equal(s, t) }

// Strides returns the row-major strides of the shape, in elements.
func (s Shape) Strides() []int64 {
	strides := make([]int64, len(s))
	step := int64(1)
	for i := len(s) - 1; i >= 0; i-- {
		strides[i] = step
		step *= s[i]
	}
	return strides
}

// Coordinates returns the index of the element at a row-major offset.
func (s Shape) Coordinates(offset int64) []int64 {
	index := make([]int64, len(s))
	for i := len(s) - 1; i >= 0; i-- {
		index[i] = offset % s[i]
		offset /= s[i]
	}
	return index
}
