package overflow

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/check"
	"dumptool/internal/tensor"
)

// TestFinders compares lines of -Inf and rows with bad elements with a search by coordinates, for
// any axis and any blocks.
func TestFinders(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		shape := tensor.Shape(rapid.SliceOfN(rapid.Int64Range(1, 4), 1, 4).Draw(rt, "shape"))
		axis := rapid.IntRange(0, len(shape)-1).Draw(rt, "axis")
		n := int(shape.Elements())
		values := rapid.SliceOfN(rapid.SampledFrom([]float64{1, math.Inf(-1), math.Inf(-1), math.Inf(-1)}), n, n).Draw(rt, "values")
		lines, rows := newLineFinder(shape, axis), newRowFinder(check.RowWidth(shape), tensor.Float16)
		for first := 0; first < n; {
			k := rapid.IntRange(1, n-first).Draw(rt, "block")
			lines.add(values[first : first+k])
			rows.add(values[first : first+k])
			first += k
		}
		want := MaskedLines{Axis: axis}
		count := int64(len(values)) // rows: all axes except the last
		if len(shape) > 1 {
			count /= shape[len(shape)-1]
		}
		bad := make([]bool, count)
		for i := range values {
			at := shape.Coordinates(int64(i))
			row := at[0]
			for axis := 1; axis < len(shape)-1; axis++ {
				row = row*shape[axis] + at[axis]
			}
			bad[row] = bad[row] || math.IsInf(values[i], -1)
			if at[axis] > 0 {
				continue
			}
			all := true
			for k := range values {
				other := shape.Coordinates(int64(k))
				other[axis] = 0
				all = all && (!cmp.Equal(other, at) || math.IsInf(values[k], -1))
			}
			if all {
				if want.Count++; want.Count == 1 {
					want.First = at
				}
			}
		}
		if diff := cmp.Diff(want, lines.found); diff != "" {
			rt.Error(diff)
		}
		got := make([]bool, count)
		for i, r := range rows.ranges {
			if i > 0 && r.From <= rows.ranges[i-1].To {
				rt.Errorf("ranges %v touch", rows.ranges)
			}
			for k := r.From; k < r.To; k++ {
				got[k] = true
			}
		}
		if diff := cmp.Diff(bad, got); diff != "" {
			rt.Error(diff)
		}
	})
}

// TestUnionOf compares a union of ranges with the union of their members.
func TestUnionOf(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ranges := rapid.SliceOf(rapid.Custom(func(rt *rapid.T) check.Range {
			from := rapid.Int64Range(0, 20).Draw(rt, "from")
			return check.Range{From: from, To: from + rapid.Int64Range(1, 5).Draw(rt, "length")}
		}))
		a, b := ranges.Draw(rt, "a"), ranges.Draw(rt, "b")
		var want, got [32]bool
		for _, r := range slices.Concat(a, b) {
			for k := r.From; k < r.To; k++ {
				want[k] = true
			}
		}
		last := int64(-1)
		for _, r := range unionOf(a, b) {
			if r.From <= last {
				rt.Errorf("%v touches the range before", r)
			}
			for last = r.To; r.From < r.To; r.From++ {
				got[r.From] = true
			}
		}
		if got != want {
			rt.Errorf("%v and %v: %v", a, b, unionOf(a, b))
		}
	})
}

// TestCovers: a sum over the last axis has an element for each row of its input.
func TestCovers(t *testing.T) {
	source := &elementOrigin{rows: []check.Range{{From: 5, To: 8}, {From: 13, To: 16}}, length: 16} // shape (2, 8, 4)
	for _, c := range []struct {
		shape          tensor.Shape
		rows, elements []check.Range
		want           bool
	}{
		{tensor.Shape{2, 8, 4}, []check.Range{{From: 6, To: 8}, {From: 13, To: 14}}, nil, true},
		{tensor.Shape{2, 8, 4}, []check.Range{{From: 4, To: 8}}, []check.Range{{From: 19, To: 24}}, false},
		{tensor.Shape{2, 8}, []check.Range{{From: 0, To: 2}}, []check.Range{{From: 5, To: 8}, {From: 13, To: 16}}, true},
		{tensor.Shape{2, 8}, []check.Range{{From: 0, To: 2}}, []check.Range{{From: 4, To: 8}}, false},
		{tensor.Shape{2, 4}, []check.Range{{From: 0, To: 2}}, []check.Range{{From: 0, To: 8}}, false}, // a mean over the rows
		{tensor.Shape{2, 8}, nil, nil, false},
	} {
		one := &Tensor{badElements: BadElements{Rows: c.rows, Elements: c.elements}}
		one.Shape = c.shape
		if got := source.coversRows(one); got != c.want {
			t.Errorf("%v %v %v: %v", c.shape, c.rows, c.elements, got)
		}
	}
}

// TestLiesWithin: ranges of axes of different lengths are compared as parts of the same memory.
func TestLiesWithin(t *testing.T) {
	tests := []struct {
		inner  []check.Range
		length int64
		outer  []check.Range
		of     int64
		want   bool
	}{
		{[]check.Range{{From: 5, To: 8}}, 8, []check.Range{{From: 5, To: 8}}, 8, true},
		{[]check.Range{{From: 6, To: 7}}, 8, []check.Range{{From: 0, To: 1}, {From: 5, To: 8}}, 8, true},
		{[]check.Range{{From: 4, To: 7}}, 8, []check.Range{{From: 5, To: 8}}, 8, false},
		{[]check.Range{{From: 1, To: 2}}, 2, []check.Range{{From: 4, To: 8}}, 8, true},
		{[]check.Range{{From: 0, To: 2}}, 2, []check.Range{{From: 4, To: 8}}, 8, false},
		{nil, 8, []check.Range{{From: 5, To: 8}}, 8, false},
		{[]check.Range{{From: 5, To: 8}}, 8, nil, 8, false},
	}
	for _, tt := range tests {
		if got := liesWithin(tt.inner, tt.length, tt.outer, tt.of); got != tt.want {
			t.Errorf("%v of %d in %v of %d: %v", tt.inner, tt.length, tt.outer, tt.of, got)
		}
	}
}

// TestLooksLikeMask has masks that come from outside.
func TestLooksLikeMask(t *testing.T) {
	minusInf := math.Inf(-1)
	tests := []struct {
		name   string
		values []float64
		want   bool
	}{
		{"0 and -inf", []float64{0, minusInf, 0}, true},
		{"-inf only", []float64{minusInf, minusInf}, true},
		{"0 and -65504", []float64{0, -65504}, true},
		{"0 and -10000", []float64{0, -10000}, true},
		{"scores and -inf", []float64{1, 2, minusInf}, false},
		{"-8000", []float64{0, -8000}, false},
		{"large on both sides", []float64{9000, -10000}, false},
		{"with +inf", []float64{0, minusInf, math.Inf(1)}, false},
		{"with NaN", []float64{0, minusInf, math.NaN()}, false},
	}
	for _, tt := range tests {
		s := &tensor.Stats{Count: int64(len(tt.values))}
		for _, x := range tt.values {
			switch {
			case math.IsNaN(x):
				s.NaN++
			case math.IsInf(x, 1):
				s.PosInf++
			case math.IsInf(x, -1):
				s.NegInf++
			default:
				if math.Abs(x) == tensor.MaxFloat16 {
					s.Saturated++
				}
				if s.Min == nil || x < *s.Min {
					s.Min = &x
				}
				if s.Max == nil || x > *s.Max {
					s.Max = &x
				}
			}
		}
		one := newTensor(tensor.Input, 0, tensor.Float16, tensor.ND, tensor.Shape{s.Count}, nil)
		one.setStats(s, tensor.Float16, one.Shape)
		if got := looksLikeMask(&one); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
