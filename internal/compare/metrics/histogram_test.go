package metrics

import (
	"math"
	"reflect"
	"testing"

	"dumptool/internal/compare/metrics/kernel"
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/tensor"
)

// TestSampledQuotients: quotients of large tensors come only from the blocks of the sample,
// everything else from all elements, for any size of reads.
func TestSampledQuotients(t *testing.T) {
	const count = noise.SampleElements + 300*blockElements + 7
	ref, npu := activations(count)
	want, strata := map[int32]int64{}, noise.NewStrata(count)
	zeros, largest := int64(0), 0.0
	for i := range count {
		r := float64(math.Float32frombits(uint32(ref.data[4*i]) | uint32(ref.data[4*i+1])<<8 | uint32(ref.data[4*i+2])<<16 | uint32(ref.data[4*i+3])<<24))
		n := tensor.Float16To64(uint16(npu.data[2*i]) | uint16(npu.data[2*i+1])<<8)
		rel := 0.0
		if r != 0 {
			rel = math.Abs(n-r) / math.Abs(r)
		}
		largest = max(largest, rel)
		switch {
		case r == 0 || !strata.HasBlock(int64(i)):
		case rel == 0:
			zeros++
		default:
			want[binNumber(kernel.Bin(rel))]++
		}
	}
	req := Request{Shape: tensor.Shape{count}, RefDType: tensor.Float32, NPUDType: tensor.Float16, Limits: hpaaLimits}
	e, err := New(req)
	if err != nil {
		t.Fatal(err)
	}
	for _, blocks := range []int{64, 3} {
		e.readElements, e.segmentElements = blocks*blockElements, int64(5*blocks*blockElements)
		res, err := e.Compare(t.Context(), ref, npu)
		if err != nil {
			t.Fatal(err)
		}
		got, all := map[int32]int64{}, res.AbsHistogram.Zeros
		for _, b := range res.RelHistogram.Bins {
			got[b.Bin] = b.Count
		}
		for _, b := range res.AbsHistogram.Bins {
			all += b.Count
		}
		if res.RelHistogram.Zeros != zeros || !reflect.DeepEqual(got, want) {
			t.Errorf("%d blocks at a time: %d zeros and quotients %v, want %d and %v", blocks, res.RelHistogram.Zeros, got, zeros, want)
		}
		if all != count || res.MaxRel.Value() != largest {
			t.Errorf("%d blocks at a time: differences of %d pairs, want %d; the largest quotient is %v, want %v", blocks, all, int64(count), res.MaxRel.Value(), largest)
		}
	}
}
