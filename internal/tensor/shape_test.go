package tensor

import (
	"math"
	"slices"
	"testing"
)

func TestShapeCount(t *testing.T) {
	const huge = math.MaxInt64
	for _, c := range []struct {
		shape Shape
		n     int64
		ok    bool
	}{
		{nil, 1, true},
		{Shape{}, 1, true},
		{Shape{7}, 7, true},
		{Shape{2, 3, 4}, 24, true},
		{Shape{2, 0, 4}, 0, true},
		{Shape{huge}, huge, true},
		{Shape{huge, 1}, huge, true},
		{Shape{huge, 2}, 0, false},
		{Shape{1 << 31, 1 << 31}, 1 << 62, true},
		{Shape{1 << 32, 1 << 31}, 0, false},
		{Shape{1 << 32, 1 << 32, 1 << 32}, 0, false},
		{Shape{1 << 62, 4, 0}, 0, true}, // empty, however large the rest
		{Shape{0, 1 << 62, 4}, 0, true},
		{Shape{-1}, 0, false},
		{Shape{0, -1}, 0, false},
		{Shape{-2, -2}, 0, false},
		{Shape{math.MinInt64, -1}, 0, false},
	} {
		if n, ok := c.shape.Count(); n != c.n || ok != c.ok {
			t.Errorf("%v.Count() = %d, %v; want %d, %v", c.shape, n, ok, c.n, c.ok)
		}
	}
}

func TestShapeText(t *testing.T) {
	for _, c := range []struct {
		shape        Shape
		text, joined string
	}{
		{nil, "()", ""},
		{Shape{3}, "(3,)", "3"},
		{Shape{2, 0, 40}, "(2, 0, 40)", "2x0x40"},
	} {
		if got := c.shape.String(); got != c.text {
			t.Errorf("String() = %q, want %q", got, c.text)
		}
		if got := c.shape.Join("x"); got != c.joined {
			t.Errorf("Join() = %q, want %q", got, c.joined)
		}
	}
	if !(Shape{1, 2}).Equal(Shape{1, 2}) || (Shape{1, 2}).Equal(Shape{2, 1}) || (Shape{1}).Equal(Shape{1, 1}) {
		t.Error("Equal is wrong")
	}
}

func TestShapeCoordinates(t *testing.T) {
	shape := Shape{2, 3, 4}
	if got := shape.Strides(); !slices.Equal(got, []int64{12, 4, 1}) {
		t.Errorf("Strides() = %v", got)
	}
	offset := int64(0)
	for i := range int64(2) {
		for j := range int64(3) {
			for k := range int64(4) {
				if got := shape.Coordinates(offset); !slices.Equal(got, []int64{i, j, k}) {
					t.Errorf("Coordinates(%d) = %v", offset, got)
				}
				offset++
			}
		}
	}
}
