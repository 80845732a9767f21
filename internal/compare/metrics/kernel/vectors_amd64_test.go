//go:build !purego

package kernel

import (
	"math"
	"testing"
)

// vectorTests are the tests of the loops that the processor's vectors do.
var vectorTests = map[string]func(*testing.T){
	"heads": TestHeads, "noise": TestNoiseHeads, "numbers": TestNumbers, "fold": TestFold,
	"merge": TestMergeAll, "relatives": TestRelativeHeads, "decoders": TestDecoders,
	"codes": TestCodes, "counts": TestCounts, "pairs": TestHalfPairs, "axes": TestAddPairs, "relate": TestRelate, "steps": TestSumRowSteps,
	"crc": TestUpdateCRC, "spans": TestSpecialSpans, "from": TestIndexFrom,
}

// TestWithoutVectors: a processor that has no AVX2 gets the same from the same binary.
func TestWithoutVectors(t *testing.T) {
	defer func(a, b, c bool) { vectors, wide, carryless = a, b, c }(vectors, wide, carryless)
	vectors, wide, carryless = false, false, false
	for name, test := range vectorTests {
		t.Run(name, test)
	}
}

// TestWithoutWide: a processor that has no AVX-512 gets the same from the same binary.
func TestWithoutWide(t *testing.T) {
	defer func(a, b bool) { wide, carryless = a, b }(wide, carryless)
	wide, carryless = false, false
	for name, test := range vectorTests {
		t.Run(name, test)
	}
}

// TestWideCounts: pairs that are alike are counted as they are read, by AVX-512 alone.
func TestWideCounts(t *testing.T) {
	n, r := make([]float64, 64), make([]float64, 64)
	for _, count := range []int{16, 64} {
		_, span, d, ok := HalfPairs(n[:count], r[:count], make([]byte, 2*count), make([]byte, 4*count))
		want := Small{NZeros: int64(count), RZeros: int64(count)}
		if !wide {
			want = Small{}
		}
		if !ok || d.Counted != wide || d.Small != want || wide && span.NotZero != math.Inf(1) {
			t.Errorf("%d zeros: %v, %+v, %+v", count, ok, span, d)
		}
	}
}
