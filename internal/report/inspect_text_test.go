package report

import "testing"

// TestInspectedValues checks how elements are printed.
func TestInspectedValues(t *testing.T) {
	t.Parallel()
	tests := map[float64]string{0: "0", -65504: "-65504", 1 << 52: "4503599627370496", 1 << 63: "9.22337e+18", 0.1: "0.1", 1.0 / 3: "0.333333", 1e-7: "1e-07", -123456.789: "-123457"}
	for v, want := range tests {
		if got := wholeOrSix(&v); got != want {
			t.Errorf("%v prints as %s, want %s", v, got, want)
		}
	}
}
