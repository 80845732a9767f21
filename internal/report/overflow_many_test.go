package report

import (
	"bytes"
	"strings"
	"testing"

	"dumptool/internal/overflow"
	"dumptool/internal/tensor"
)

// TestManyTensors: for hundreds of tensors of one call a terminal shows the bad ones and a count, a
// pipe all; unknown numbers are not printed as 0.
func TestManyTensors(t *testing.T) {
	t.Parallel()
	all := make([]overflow.Tensor, 300)
	none, one := int64(0), int64(1)
	for i := range all {
		all[i] = overflow.Tensor{Kind: tensor.Input, Index: i, DType: "float32", FromStatistics: true, Stats: &overflow.Stats{NaN: &none}}
	}
	all[7].Bad, all[7].Stats = true, &overflow.Stats{PosInf: &one}
	for width, lines := range map[int]int{0: 301, 120: 3} {
		var b bytes.Buffer
		p := Text{Width: width}.printerTo(&b)
		p.printTensors(all)
		if got := strings.Count(b.String(), "\n"); got != lines {
			t.Errorf("width %d: %d lines, want %d:\n%.400s", width, got, lines, b.String())
		}
		if more := strings.Contains(b.String(), "and 299 tensors more"); more != (width > 0) {
			t.Errorf("width %d: %.400s", width, b.String())
		}
		for line := range strings.Lines(b.String()) {
			if fields := strings.Fields(line); fields[0] == "input" && fields[1] == "7" && (fields[3] != "-" || fields[4] != "1") {
				t.Errorf("width %d: %q, want no NaN and one inf", width, line)
			}
		}
	}
}
