package layout

import (
	"slices"
	"testing"

	"dumptool/internal/tensor"
)

func TestTranspose(t *testing.T) {
	shape := tensor.Shape{2, 3, 5}
	src := newMemory(30, 1)
	for i := range src.data {
		src.data[i] = byte(i)
	}
	for _, perm := range [][]int{{0, 1, 2}, {2, 0, 1}, {1, 0, 2}, {2, 1, 0}} {
		plan, err := Transpose(shape, perm)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range execute(t, plan, src, new(Buffers)).data {
			at := plan.Shape.Coordinates(int64(i))
			from := make([]int64, 3)
			for axis, p := range perm {
				from[p] = at[axis]
			}
			if want := byte(from[0]*15 + from[1]*5 + from[2]); got != want {
				t.Fatalf("%v: element %v is %d, want %d", perm, at, got, want)
			}
		}
	}
	for _, perm := range [][]int{nil, {0, 1}, {0, 0, 1}, {1, 2, 3}, {-1, 0, 1}} {
		if plan, err := Transpose(shape, slices.Clone(perm)); err == nil || plan != nil {
			t.Errorf("%v: accepted", perm)
		}
	}
}
