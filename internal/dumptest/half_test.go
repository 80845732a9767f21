package dumptest

import (
	"math"
	"testing"

	"dumptool/internal/tensor"
)

func TestHalfOfEveryFloat16(t *testing.T) {
	for h := range 1 << 16 {
		f := tensor.Float16To32(uint16(h))
		got := Half(f)
		if f != f {
			if got&0x7fff != 0x7e00 {
				t.Errorf("Half(NaN) = %#04x", got)
			}
			continue
		}
		if got != uint16(h) {
			t.Errorf("Half(%v) = %#04x, want %#04x", f, got, h)
		}
	}
}

func TestHalfRounds(t *testing.T) {
	// Every finite float16 but the largest, with its neighbour above.
	for h := range uint16(0x7bff) {
		low, high := tensor.Float16To32(h), tensor.Float16To32(h+1)
		middle := (low + high) / 2
		even := h + h&1
		below, above := math.Nextafter32(middle, 0), math.Nextafter32(middle, high)
		if got := [3]uint16{Half(below), Half(middle), Half(above)}; got != [3]uint16{h, even, h + 1} {
			t.Fatalf("around %v: %#04x, want %#04x, %#04x, %#04x", middle, got, h, even, h+1)
		}
		if got := Half(-above); got != 0x8000|(h+1) {
			t.Fatalf("Half(%v) = %#04x", -above, got)
		}
	}
	for f, want := range map[float32]uint16{
		65519: 0x7bff, 65520: 0x7c00, -1e30: 0xfc00, 1e-30: 0, float32(math.Inf(1)): 0x7c00,
	} {
		if got := Half(f); got != want {
			t.Errorf("Half(%v) = %#04x, want %#04x", f, got, want)
		}
	}
}
