package show

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
)

// write writes an array of float32.
func write(t interface{ Fatal(...any) }, path string, shape tensor.Shape, values []float32) {
	data, err := npy.AppendHeader(nil, tensor.HostFloat32, shape)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		bits := math.Float32bits(v)
		data = append(data, byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24))
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestRead compares windows of random arrays with their coordinates, marks with the tolerance rule,
// and the place with a search through all elements.
func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	limits := metrics.Limits{Atol: 0.005, Rtol: 0.2}
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		shape := tensor.Shape(rapid.SliceOfN(rapid.Int64Range(1, 12), 0, 4).Draw(t, "shape"))
		n := int(shape.Elements())
		ref, npu := make([]float32, n), make([]float32, n)
		for i := range ref {
			ref[i] = float32(i)
			npu[i] = ref[i]
		}
		for range rapid.IntRange(0, 3).Draw(t, "errors") {
			i := rapid.IntRange(0, n-1).Draw(t, "where")
			npu[i] += rapid.SampledFrom([]float32{0.001, 1, 50, float32(math.NaN()), float32(math.Inf(1))}).Draw(t, "by")
		}
		a, b := filepath.Join(dir, fmt.Sprint(run, "a.npy")), filepath.Join(dir, fmt.Sprint(run, "b.npy"))
		write(t, a, shape, npu)
		write(t, b, shape, ref)
		window := [2]int64{rapid.Int64Range(1, 5).Draw(t, "rows"), rapid.Int64Range(1, 5).Draw(t, "columns")}
		w, err := Read(context.Background(), Options{Tensor: a, Reference: b, Window: window, Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		worst, most := 0, -1.0
		for i := range npu {
			d, r := math.Abs(float64(npu[i])-float64(ref[i])), float64(ref[i])
			share := d / (0.005 + float64(0.2*r))
			if d != d || math.IsInf(d, 0) {
				share = math.Inf(1)
			}
			if share > most {
				worst, most = i, share
			}
		}
		if want := shape.Coordinates(int64(worst)); most > 0 && !slices.Equal(w.At, want) {
			t.Fatalf("place %v, want %v", w.At, want)
		}
		seen := false
		for k, row := range w.Rows {
			for c := range row.Values {
				at := slices.Clone(w.First)
				switch len(shape) {
				case 0:
				case 1:
					at[0] = row.Index + int64(c)
				default:
					at[len(at)-2], at[len(at)-1] = row.Index, w.First[len(at)-1]+int64(c)
					if row.Index != w.First[len(at)-2]+int64(k) {
						t.Fatalf("row %d has the index %d, the first is %v", k, row.Index, w.First)
					}
				}
				i := 0
				for axis, x := range at {
					i = i*int(shape[axis]) + int(x)
				}
				seen = seen || slices.Equal(at, w.At)
				if got := row.Values[c].Real; got != float64(npu[i]) && !(got != got && npu[i] != npu[i]) || row.Reference[c].Real != float64(ref[i]) {
					t.Fatalf("element %v is %v and %v, want %v and %v", at, row.Values[c], row.Reference[c], npu[i], ref[i])
				}
				want := Mark("")
				switch d := math.Abs(float64(npu[i]) - float64(ref[i])); {
				case math.IsNaN(d) || math.IsInf(d, 0):
					want = OtherClass
				case d > 0.005+float64(0.2*float64(ref[i])):
					want = Beyond
				}
				if row.Marks[c] != want {
					t.Fatalf("element %v is marked %q, want %q", at, row.Marks[c], want)
				}
			}
		}
		if !seen {
			t.Fatalf("the place %v is not among what is shown", w.At)
		}
	})
}
