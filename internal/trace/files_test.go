package trace_test

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumptest/ranktest"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"

	"pgregory.net/rapid"
)

// lists returns the same values as one list and as tensors of random sizes.
func lists(t *rapid.T) (values []float64, tensors []*trace.Tensor) {
	sizes := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 5, 7, 64, trace.Window + 3}), 1, 3).Draw(t, "sizes")
	for _, n := range sizes {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(len(values) + i)
		}
		values = append(values, x...)
		tensors = append(tensors, ranktest.Of(tensor.Float32, x...))
	}
	return values, tensors
}

// TestRunsOfLists: ranges of concatenated tensors equal the ranges of their values.
func TestRunsOfLists(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		values, tensors := lists(rt)
		f := new(trace.Files)
		defer f.Close()
		first := rapid.IntRange(0, len(values)).Draw(rt, "first")
		want := values[first:rapid.IntRange(first, len(values)).Draw(rt, "end")]
		got := make([]float64, len(want))
		if err := f.Floats(got, tensors, int64(first)); err != nil || !slices.Equal(got, want) {
			rt.Fatalf("%d elements from %d on: %v", len(want), first, err)
		}
		data, size, err := f.Bytes(nil, tensors, int64(first), int64(len(want)))
		if err != nil || len(want) > 0 && size != 4 || len(data) != 4*len(want) {
			rt.Fatalf("%d bytes of size %d, want %d: %v", len(data), size, 4*len(want), err)
		}
		for i, v := range want {
			if math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])) != float32(v) {
				rt.Fatalf("element %d is not %v", i, v)
			}
		}
		other := slices.Clone(want)
		var changed []int
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, max(0, len(want)-1)), 0, 3).Draw(rt, "changed") {
			if i < len(other) && other[i] == want[i] {
				other[i]--
				changed = append(changed, i)
			}
		}
		slices.Sort(changed)
		differ, err := f.Differences(tensors, int64(first), []*trace.Tensor{ranktest.Of(tensor.Float32, other...)}, 0, int64(len(want)), 0)
		if err != nil || differ.Count != int64(len(changed)) || differ.Total != int64(len(want)) {
			rt.Fatalf("%+v, want %d of %d: %v", differ, len(changed), len(want), err)
		}
		if n := len(changed); n > 0 && (differ.First != int64(changed[0]) || differ.Last != int64(changed[n-1])) {
			rt.Fatalf("differences from %d to %d, want %d to %d", differ.First, differ.Last, changed[0], changed[n-1])
		}
	})
}

// TestJoined: the elements of a tensor that is joined from pieces along its axes.
func TestJoined(t *testing.T) {
	const rows, columns = 6, 8
	value := func(i, j int64) float64 { return float64(100*i + j) }
	piece := func(top, left, height, width int64) trace.Piece {
		var x []float64
		for i := range height {
			for j := range width {
				x = append(x, value(top+i, left+j))
			}
		}
		return trace.Piece{Of: ranktest.FloatTensor(tensor.Float32, tensor.Shape{height, width}, x), From: []int64{top, left}}
	}
	for name, pieces := range map[string][]trace.Piece{
		"rows":    {piece(0, 0, 2, columns), piece(2, 0, 4, columns)},
		"columns": {piece(0, 0, rows, 3), piece(0, 3, rows, 5)},
		"both":    {piece(0, 0, 3, 4), piece(0, 4, 3, 4), piece(3, 0, 3, 4), piece(3, 4, 3, 4)},
	} {
		x := &trace.Tensor{Name: name, DType: tensor.Float32, Shape: tensor.Shape{rows, columns}, Pieces: pieces}
		f := new(trace.Files)
		got := make([]float64, rows*columns)
		if x.IsStored() {
			t.Errorf("%s: pieces in memory make no file", name)
		}
		x.File = ranktest.NoFile
		if err := f.Floats(got, []*trace.Tensor{x}, 0); err != nil {
			t.Fatal(name, err)
		}
		for k, v := range got {
			if want := value(int64(k/columns), int64(k%columns)); v != want {
				t.Errorf("%s: element %d is %v, want %v", name, k, v, want)
			}
		}
		f.Close()
	}
	other := ranktest.IntTensor(tensor.Shape{rows, 3}, make([]int32, 3*rows))
	x := &trace.Tensor{Name: "types", DType: tensor.Float32, Shape: tensor.Shape{rows, columns}, File: ranktest.NoFile,
		Pieces: []trace.Piece{piece(0, 0, rows, 5), {Of: other, From: []int64{0, 5}}}}
	if err := new(trace.Files).Floats(make([]float64, 4), []*trace.Tensor{x}, 0); err == nil || !strings.Contains(err.Error(), "elements of int32, but of float32 on another rank") {
		t.Errorf("pieces of two types: %v", err)
	}
}
