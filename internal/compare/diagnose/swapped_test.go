package diagnose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/tensor"
)

// pairedRows compares NPU tensors with references, operator by operator; each row fails.
func pairedRows(t *testing.T, npuType tensor.DType, refs, npus [][]float64) []testRow {
	t.Helper()
	k := kind{npuType, tensor.Float32}
	var rows []testRow
	for i, ref := range refs {
		shape := tensor.Shape{int64(len(ref))}
		result, findings := diagnosed(t, request(shape, k), memory{store(k.ref, ref), 4}, memory{store(k.npu, npus[i]), k.npu.UnitSize()})
		row := rowOf(fmt.Sprintf("conv%d", i), record.Fail, result)
		row.Patterns, row.NPUFile, row.Order = findings, fmt.Sprintf("npu/conv%d.npy", i), i
		rows = append(rows, row)
	}
	return rows
}

// TestSwapped finds two swapped files, rounded and with some noise, and names the other file. It does not need
// ordered rows.
func TestSwapped(t *testing.T) {
	relu := func(x []float64) []float64 {
		out := make([]float64, len(x))
		for i, v := range x {
			out[i] = math.Max(0, v)
		}
		return out
	}
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := 64 << rng.IntN(8)
		refs := [][]float64{normal(rng, n, 1, 0), normal(rng, n, 2, 0.5), normal(rng, n, 1, 0)}
		if seed%2 > 0 {
			refs[1] = relu(refs[0])
		}
		npus := [][]float64{noisy(rng, refs[1]), noisy(rng, refs[0]), normal(rng, n, 1, 0)}
		types := []tensor.DType{tensor.Float16, tensor.BFloat16, tensor.Float32}
		rows := pairedRows(t, types[seed%3], refs, npus)
		for _, isOrdered := range []bool{true, false} {
			all := newNetwork(rows, Network{IsOrdered: isOrdered}).rows
			for i, other := range []string{"conv1", "conv0", ""} {
				found := all[i].patterns()
				is := len(found) > 0 && found[0].Code == finding.Swapped
				if is != (other != "") || is && !strings.Contains(found[0].Evidence.String(), other+":output:0, and the reverse holds: the NPU tensor that belongs here is probably in npu/"+other+".npy") {
					t.Errorf("seed %d, %d elements: conv%d: %v, want %q", seed, n, i, found, other)
				}
			}
		}
	}
}

// TestNotSwapped finds nothing in hundreds of unrelated tensors of one distribution, in masks, and among three
// similar tensors.
func TestNotSwapped(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	var refs, npus [][]float64
	add := func(ref, npu []float64) { refs, npus = append(refs, ref), append(npus, npu) }
	for range 300 {
		add(normal(rng, 256, 1, 0), normal(rng, 256, 1, 0))
	}
	mask := func() []float64 {
		out := make([]float64, 512)
		for _, i := range rng.Perm(512)[:256] {
			out[i] = 1
		}
		return out
	}
	for range 20 {
		add(mask(), mask())
	}
	a, b := normal(rng, 1000, 1, 0), normal(rng, 1000, 2, 0)
	add(a, b)
	add(b, a)
	add(b, a)
	for i, r := range newNetwork(pairedRows(t, tensor.Float16, refs, npus), Network{}).rows {
		if finding.Has(r.patterns(), finding.Swapped) {
			t.Errorf("conv%d: %v", i, r.patterns())
		}
	}
}

// TestSwappedShapes names two tensors that have the shape of each other's reference.
func TestSwappedShapes(t *testing.T) {
	row := func(name string, ref, npu tensor.Shape) testRow {
		r := rowOf(name, record.ShapeMismatch, nil)
		r.RefShape, r.NPUShape = ref, npu
		return r
	}
	rows := []testRow{
		row("a", tensor.Shape{4, 16}, tensor.Shape{2, 32}), row("b", tensor.Shape{2, 32}, tensor.Shape{4, 16}),
		row("c", tensor.Shape{5}, tensor.Shape{6}), row("d", tensor.Shape{6}, tensor.Shape{7}),
		row("e", tensor.Shape{8}, tensor.Shape{9}), row("f", tensor.Shape{9}, tensor.Shape{8}), row("g", tensor.Shape{9}, tensor.Shape{8}),
	}
	for i, r := range newNetwork(rows, Network{}).rows {
		if got, want := finding.Has(r.patterns(), finding.Swapped), i < 2; got != want {
			t.Errorf("%s: %v", rows[i].Op, r.patterns())
		}
	}
}
