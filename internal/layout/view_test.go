package layout

import (
	"math"
	"slices"
	"strings"
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

func TestBadStrides(t *testing.T) {
	for _, test := range []struct {
		shape   tensor.Shape
		strides []int64
		want    string
	}{
		{tensor.Shape{2, 3}, []int64{1}, "1 strides for the 2 axes of (2, 3)"},
		{tensor.Shape{2, 3}, []int64{1, -1}, "stride 1 is -1, want at least 0"},
		{tensor.Shape{1 << 31, 1 << 31}, []int64{0, 0}, "too many elements"},
		{tensor.Shape{3, 3}, []int64{1, math.MaxInt64 / 2}, "reach beyond 63 bits"},
		{tensor.Shape{3, 3, 2}, []int64{math.MaxInt64/4 + 1, math.MaxInt64 / 4, 1}, "reach beyond 63 bits"},
	} {
		if plan, err := PlanStrided(test.shape, test.strides); plan != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v %v: %v, %v, want %s", test.shape, test.strides, plan, err, test.want)
		}
	}
	if _, err := PlanStrided(tensor.Shape{1, 3}, []int64{math.MaxInt64, math.MaxInt64/2 - 1}); err != nil {
		t.Error(err)
	}
}
