package layout

import (
	"fmt"
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// Crop plans the leading part of a dense array: want[i] of got[i] positions of
// every axis.
func Crop(got, want tensor.Shape) (*Plan, error) {
	if len(got) != len(want) {
		return nil, &ShapeError{Format: tensor.ND, Stored: got, Host: want,
			Relation: fmt.Sprintf("rank is %d, want %d", len(got), len(want))}
	}
	for i, n := range got {
		if want[i] > n {
			return nil, &ShapeError{Format: tensor.ND, Stored: got, Host: want,
				Relation: fmt.Sprintf("dimension %d is %d, want at least %d", i, n, want[i])}
		}
	}
	return viewPlan(got, want, got.Strides()), nil
}

// Transpose plans a dense array with its axes in another order: axis i of the
// result is axis perm[i] of the array, as numpy.transpose has it.
func Transpose(got tensor.Shape, perm []int) (*Plan, error) {
	axes := make([]int, len(got))
	for i := range axes {
		axes[i] = i
	}
	if sorted := slices.Sorted(slices.Values(perm)); !slices.Equal(sorted, axes) {
		return nil, fmt.Errorf("%v does not order the %d axes of %v", perm, len(got), got)
	}
	want, strides := make(tensor.Shape, len(perm)), make([]int64, len(perm))
	for i, p := range perm {
		want[i], strides[i] = got[p], got.Strides()[p]
	}
	return viewPlan(got, want, strides), nil
}

// Strided plans the elements of an array that strides, from 0 on, give for a
// shape: they may lie in any order, with gaps, and an element be several ones of the
// result. The array ends with the last of them.
func Strided(want tensor.Shape, strides []int64) (*Plan, error) {
	if len(strides) != len(want) {
		return nil, fmt.Errorf("%d strides for the %d axes of %v", len(strides), len(want), want)
	}
	if n, ok := want.Count(); !ok || n > maxElements {
		return nil, &ShapeError{Format: tensor.ND, Host: want, Relation: "too many elements"}
	}
	last := int64(0)
	for i, n := range want {
		if strides[i] < 0 {
			return nil, fmt.Errorf("stride %d is %d, want at least 0", i, strides[i])
		}
		if n > 1 {
			if strides[i] > (math.MaxInt64-1-last)/(n-1) {
				return nil, fmt.Errorf("strides %v for %v reach beyond 63 bits", strides, want)
			}
			last += (n - 1) * strides[i]
		}
	}
	return viewPlan(tensor.Shape{last + 1}, want, strides), nil
}

// viewPlan plans the elements of a dense array that strides give for a shape.
func viewPlan(stored, want tensor.Shape, strides []int64) *Plan {
	return &Plan{Shape: want, Format: tensor.ND, steps: []step{{m: view(stored, denseAxes(want), strides)}}}
}

// permutation is the map of a host array stored in the order from.
func permutation(stored, wanted dims5, from, to string) *Map {
	var strides []int64
	for _, axis := range stored.axes(from) {
		strides = append(strides, axis.Stride)
	}
	return view(stored.shape(from), wanted.axes(to), strides)
}

// view is the map of axes whose strides in a dense array are given.
func view(stored tensor.Shape, axes []Axis, strides []int64) *Map {
	b := block{spans: make([]span, len(axes))}
	for i, a := range axes {
		b.spans[i] = linear(a.Size, strides[i])
	}
	return &Map{Device: stored, Axes: axes, blocks: listOf(b)}
}
