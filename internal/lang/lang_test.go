package lang

import (
	"testing"

	"pgregory.net/rapid"
)

func TestCompareNatural(t *testing.T) {
	sorted := []string{"", "1", "2", "10", "a", "op", "op2", "op02", "op2a", "op10", "op10_1", "op10_2", "op10_10", "op_1", "opa", "op" + "é"}
	// Equal numbers: the shorter rest, then the bytes decide.
	sorted[6], sorted[7] = "op02", "op2"
	for i, a := range sorted {
		for j, b := range sorted {
			got := CompareNatural(a, b)
			if (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%q and %q compare as %d", a, b, got)
			}
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"jobs", "jobs", 0},
		{"jobs", "jbos", 1}, {"otu", "out", 1}, {"ab", "ba", 1}, {"abc", "ca", 3}, {"ca", "abc", 3}, {"abc", "xbc", 1}, {"kitten", "sitting", 3}, {"out", "output", 3},
	}
	for _, tt := range tests {
		if got := Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
	word := rapid.StringMatching(`[ab]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		got := Distance(a, b)
		if got != Distance(b, a) {
			t.Errorf("the distance of %q and %q depends on the direction", a, b)
		}
		if longer := max(len(a), len(b)); got > longer || got < longer-min(len(a), len(b)) || (got == 0) != (a == b) {
			t.Errorf("Distance(%q, %q) = %d is impossible", a, b, got)
		}
	})
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files", 1000: "1000 files"} {
		if got := Count(n, "file"); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
