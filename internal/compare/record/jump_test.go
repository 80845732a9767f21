package record_test

import (
	"testing"

	"dumptool/internal/compare/record"
)

// TestJumpOfOrigin: a jump is named only if a fault begins there.
func TestJumpOfOrigin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first   int
		origins []int
		want    int
	}{
		"healthy":    {first: 1, origins: []int{1, 2}, want: -1},
		"no fault":   {first: -1, want: -1},
		"first bad":  {first: 3, want: 3},
		"one origin": {first: -1, origins: []int{0, 3}, want: 3},
	} {
		f := record.NoFindings()
		f.FirstBad, f.Origins, f.LargestJump = c.first, c.origins, 3
		if got := f.JumpOfOrigin(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if none := record.NoFindings(); none.JumpOfOrigin() != -1 {
		t.Error("a jump of no row")
	}
}
