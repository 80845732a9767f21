package layout

import (
	"fmt"
	"slices"

	"dumptool/internal/tensor"
)

// Transpose plans a dense array with its axes in another order: axis i of the
// result is axis perm[i] of the array, as numpy.transpose has it.
func Transpose(got tensor.Shape, perm []int) (*Plan, error) {
	sorted := slices.Clone(perm)
	slices.Sort(sorted)
	ordered := len(perm) == len(got)
	for i, p := range sorted {
		ordered = ordered && p == i
	}
	if !ordered {
		return nil, fmt.Errorf("%v does not order the %d axes of %v", perm, len(got), got)
	}
	strides := got.Strides()
	want := make(tensor.Shape, len(perm))
	b := block{spans: make([]span, len(perm))}
	for i, p := range perm {
		want[i] = got[p]
		b.spans[i] = linear(got[p], strides[p])
	}
	m := &Map{Device: got, Axes: denseAxes(want), blocks: listOf(b)}
	return &Plan{Shape: want, Format: tensor.ND, steps: []step{{m: m}}}, nil
}
