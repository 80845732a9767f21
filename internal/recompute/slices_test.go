package recompute

import (
	"context"
	"slices"
	"testing"

	"dumptool/internal/tensor"
)

// TestSlicesOfUnknownIndex: a slice whose index was not dumped is found from the values, with axes dropped or added.
// The elements are numbered, so that the expected output can be read off the index. A damaged part is WRONG, and
// elements in another order are a MISFIT.
func TestSlicesOfUnknownIndex(t *testing.T) {
	t.Parallel()
	x := &Tensor{DType: tensor.Float32, Stored: tensor.Float32, Shape: tensor.Shape{4, 5, 6}}
	all := make([]float64, 120)
	for i := range all {
		all[i] = float64(i) + 1
	}
	x.Source = numbers{all, tensor.Float32}
	for index, c := range map[string]struct {
		shape tensor.Shape
		at    func(coord []int64) [3]int64
	}{
		"[1]":             {tensor.Shape{5, 6}, func(c []int64) [3]int64 { return [3]int64{1, c[0], c[1]} }},
		"[:, -1]":         {tensor.Shape{4, 6}, func(c []int64) [3]int64 { return [3]int64{c[0], 4, c[1]} }},
		"[..., 2]":        {tensor.Shape{4, 5}, func(c []int64) [3]int64 { return [3]int64{c[0], c[1], 2} }},
		"[1:4, :, 2:4]":   {tensor.Shape{3, 5, 2}, func(c []int64) [3]int64 { return [3]int64{c[0] + 1, c[1], c[2] + 2} }},
		"[::2]":           {tensor.Shape{2, 5, 6}, func(c []int64) [3]int64 { return [3]int64{2 * c[0], c[1], c[2]} }},
		"[:, 3, 1::2]":    {tensor.Shape{4, 3}, func(c []int64) [3]int64 { return [3]int64{c[0], 3, 2*c[1] + 1} }},
		"[2, 1]":          {tensor.Shape{6}, func(c []int64) [3]int64 { return [3]int64{2, 1, c[0]} }},
		"[:, None, :, 0]": {tensor.Shape{4, 1, 5}, func(c []int64) [3]int64 { return [3]int64{c[0], c[2], 0} }},
	} {
		y := make([]float64, c.shape.Elements())
		for i := range y {
			at := c.at(c.shape.Coordinates(int64(i)))
			y[i] = float64(30*at[0]+6*at[1]+at[2]) + 1
		}
		damaged, reversed := slices.Clone(y), slices.Clone(y)
		damaged[len(y)-1] = -7
		slices.Reverse(reversed)
		for name, one := range map[string]struct {
			v    []float64
			want []Status
		}{"healthy": {y, []Status{OK}}, "damaged": {damaged, []Status{Wrong, Misfit}}, "reversed": {reversed, []Status{Misfit}}} {
			out := &Tensor{DType: tensor.Float32, Stored: tensor.Float32, Shape: c.shape, Source: numbers{one.v, tensor.Float32}}
			v, err := Judge(context.Background(), &Operator{Formula: "StridedSlice", Inputs: []*Tensor{x}, Outputs: []*Tensor{out}, Attributes: Attributes{}, Called: true, Open: true})
			if err != nil || !slices.Contains(one.want, v.Status) || name == "damaged" && v.Outputs[0].Bad != 1 {
				t.Errorf("x%s %s: %s %s with %v, %v", index, name, v.Status, v.Reason, v.Attributes, err)
			}
		}
	}
}

// TestShapesOfSlices: the shapes that a slice may have before axes are dropped or added, determined by hand.
func TestShapesOfSlices(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		x, out tensor.Shape
		want   []tensor.Shape
	}{
		{tensor.Shape{4, 5}, tensor.Shape{3, 2}, []tensor.Shape{{3, 2}}},
		{tensor.Shape{4, 5}, tensor.Shape{3}, []tensor.Shape{{3, 1}, {1, 3}}},
		{tensor.Shape{4, 5}, tensor.Shape{5}, []tensor.Shape{{1, 5}}},
		{tensor.Shape{4, 5}, tensor.Shape{6}, nil},
		{tensor.Shape{4, 5}, tensor.Shape{}, []tensor.Shape{{1, 1}}},
		{tensor.Shape{4, 5}, tensor.Shape{2, 1, 5}, []tensor.Shape{{2, 5}}},
		{tensor.Shape{4}, tensor.Shape{2, 2}, nil},
		{tensor.Shape{4, 5}, tensor.Shape{4, 1}, []tensor.Shape{{4, 1}, {1, 4}}}, // [:, 0:1] or [0, 0:4, None]
		{tensor.Shape{3, 4, 5}, tensor.Shape{3, 2}, []tensor.Shape{{3, 2, 1}, {3, 1, 2}, {1, 3, 2}}},
	} {
		got := listSliceShapes(c.x, c.out)
		if !slices.EqualFunc(got, c.want, func(s, t tensor.Shape) bool { return s.Equal(t) }) {
			t.Errorf("%s to %s: %v, want %v", c.x, c.out, got, c.want)
		}
	}
}
