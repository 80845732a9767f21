//go:build !purego

package kernel

import "testing"

// TestWithoutVectors: a processor that has no AVX2 gets the same from the same binary.
func TestWithoutVectors(t *testing.T) {
	defer func(have bool) { vectors = have }(vectors)
	vectors = false
	for name, test := range map[string]func(*testing.T){
		"heads": TestHeads, "noise": TestNoiseHeads, "numbers": TestNumbers, "fold": TestFold,
		"merge": TestMergeAll, "relatives": TestRelativeHeads, "decoders": TestDecoders,
		"codes": TestCodes, "counts": TestCounts, "spans": TestSpecialSpans, "from": TestIndexFrom,
	} {
		t.Run(name, test)
	}
}
