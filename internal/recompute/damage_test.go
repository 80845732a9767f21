package recompute

import (
	"testing"

	"dumptool/internal/tensor"
)

// TestDamage: which bad elements form a part of an output of 8x10x6.
func TestDamage(t *testing.T) {
	t.Parallel()
	shape := tensor.Shape{8, 10, 6}
	for _, c := range []struct {
		name string
		bad  func(i, j, k, offset int64) bool
		want bool
	}{
		{"none", func(_, _, _, _ int64) bool { return false }, false},
		{"all", func(_, _, _, _ int64) bool { return true }, false},
		{"one element", func(_, _, _, at int64) bool { return at == 77 }, true},
		{"two elements far apart", func(_, _, _, at int64) bool { return at == 3 || at == 470 }, false},
		{"a row", func(_, j, _, _ int64) bool { return j == 4 }, true},
		{"every third channel", func(_, _, k, _ int64) bool { return k%3 == 1 }, true},
		{"a block of which zeros were right", func(i, j, k, _ int64) bool { return i < 4 && (j+k)%2 == 0 }, true},
		{"a tile", func(i, j, k, _ int64) bool { return i >= 1 && i < 4 && j < 5 && k < 4 }, true},
		{"a tail", func(_, _, _, at int64) bool { return at >= 447 }, true},
		{"a border", func(_, j, k, _ int64) bool { return j == 0 || j == 9 || k == 0 || k == 5 }, false},
		{"a diagonal", func(_, j, k, _ int64) bool { return j == k+2 }, false},
		{"every seventh element", func(_, _, _, at int64) bool { return at%7 == 0 }, false},
	} {
		d := newDamage(0, shape)
		for at := range shape.Elements() {
			x := shape.Coordinates(at)
			d.add(at, c.bad(x[0], x[1], x[2], at))
		}
		if got := d.isPart(); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}
