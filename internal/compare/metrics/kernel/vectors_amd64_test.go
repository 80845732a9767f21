//go:build !purego

package kernel

import "testing"

// TestWithoutVectors: a processor without AVX2 gets the same results from the same binary.
func TestWithoutVectors(t *testing.T) {
	defer func(had bool) { vectors = had }(vectors)
	vectors = false
	for name, test := range map[string]func(*testing.T){
		"heads": TestHeads, "noise": TestNoiseHeads, "counts": TestCounts, "relatives": TestRelativeHeads, "pairs": TestHalfPairs,
	} {
		t.Run(name, test)
	}
}
