package metrics

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// drawJoint draws a joint histogram as takeJoint makes it: different bins with bounds.
func drawJoint(t *rapid.T) []JointBin {
	var bins []JointBin
	for range rapid.IntRange(0, 40).Draw(t, "bins") {
		b := JointBin{Abs: rapid.Int32Range(-67, 64).Draw(t, "abs"), Ref: rapid.Int32Range(-67, 63).Draw(t, "ref"), Count: rapid.Int64Range(1, 1e6).Draw(t, "count")}
		bound := func(group int32, zero string) (low, high float64, g int32) {
			if rapid.IntRange(0, 5).Draw(t, zero) == 0 {
				return 0, 0, ZeroBin
			}
			low = math.Ldexp(rapid.Float64Range(1, 2).Draw(t, "low"), int(group)*16)
			return low, low * rapid.Float64Range(1, 1000).Draw(t, "wide"), group
		}
		b.MinAbs, b.MaxAbs, b.Abs = bound(b.Abs, "no d")
		b.MinRef, b.MaxRef, b.Ref = bound(b.Ref, "no r")
		bins = append(bins, b)
	}
	return mergedJoint(bins)
}

// TestFoldJoint checks that a folded histogram has few bins, counts the same pairs, bounds
// the errors by any limits no closer than the histogram, and folds to itself.
func TestFoldJoint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bins := drawJoint(t)
		folded := FoldJoint(bins)
		if len(folded) > mostFolded || len(folded) > len(bins) {
			t.Fatalf("%d bins of %d", len(folded), len(bins))
		}
		for again := range 2 {
			if next := FoldJoint(folded); len(next) != len(folded) {
				t.Fatalf("folded %d times more: %d bins of %d", again+1, len(next), len(folded))
			} else {
				for i := range next {
					if next[i] != folded[i] {
						t.Fatalf("bin %d folds from %v to %v", i, folded[i], next[i])
					}
				}
			}
		}
		l := Limits{Atol: math.Ldexp(1, rapid.IntRange(-60, 60).Draw(t, "atol")), Rtol: math.Ldexp(1, rapid.IntRange(-30, 5).Draw(t, "rtol")), Mode: Mode(rapid.IntRange(0, 2).Draw(t, "mode"))}
		errors := func(bins []JointBin) (least, most, all int64) {
			for _, b := range bins {
				if !(0 <= b.MinAbs && b.MinAbs <= b.MaxAbs && 0 <= b.MinRef && b.MinRef <= b.MaxRef) {
					t.Fatalf("bounds of %v", b)
				}
				all += b.Count
				if !l.Passes(b.MaxAbs, b.MinRef) {
					most += b.Count
				}
				if !l.Passes(b.MinAbs, b.MaxRef) {
					least += b.Count
				}
			}
			return least, most, all
		}
		least, most, all := errors(bins)
		fewer, more, same := errors(folded)
		if all != same || fewer > least || more < most {
			t.Fatalf("%d to %d errors of %d, folded %d to %d of %d", least, most, all, fewer, more, same)
		}
		zeros := func(bins []JointBin) (n int64, largest float64) { // of r = 0, which have a use of their own
			for _, b := range bins {
				if b.Ref == ZeroBin && b.Abs != ZeroBin {
					n, largest = n+b.Count, max(largest, b.MaxAbs)
				}
			}
			return n, largest
		}
		n, largest := zeros(bins)
		if got, reach := zeros(folded); got != n || reach < largest || reach > largest*1.01 {
			t.Fatalf("%d pairs of r = 0 up to %g, folded %d up to %g", n, largest, got, reach)
		}
	})
}

// TestShort checks numbers of three digits beside others.
func TestShort(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ x, below, above float64 }{
		{0, 0, 0}, {1, 1, 1}, {1.234, 1.23, 1.24}, {0.9999, 0.999, 1}, {9.991e-5, 9.99e-5, 1e-4}, {100.1, 100, 101},
		{5e-324, 5e-324, 5e-324}, {math.MaxFloat64, 1.79e308, math.MaxFloat64}, {math.Inf(1), math.Inf(1), math.Inf(1)},
	} {
		if below, above := shortBelow(tt.x), shortAbove(tt.x); below != tt.below || above != tt.above {
			t.Errorf("%g is between %g and %g, want %g and %g", tt.x, below, above, tt.below, tt.above)
		}
	}
}
