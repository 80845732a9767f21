//go:build !purego

package kernel

import "testing"

// vectorTests are the tests of the loops that the processor's vectors do.
var vectorTests = map[string]func(*testing.T){
	"heads": TestHeads, "noise": TestNoiseHeads, "numbers": TestNumbers, "fold": TestFold,
	"merge": TestMergeAll, "relatives": TestRelativeHeads, "decoders": TestDecoders,
	"codes": TestCodes, "counts": TestCounts, "pairs": TestHalfPairs, "axes": TestAddPairs, "relate": TestRelate, "crc": TestUpdateCRC, "spans": TestSpecialSpans, "from": TestIndexFrom,
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
