package tensor

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// TestHalves compares float16 that are added up in groups with the same ones added one
// by one: neither has rounding errors.
func TestHalves(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	for round := range 300 {
		block := make([]byte, 2*random.IntN(60_000))
		mask := []uint16{0xffff, 0xbfff, 0x83ff, 0xfbfe}[round%4] // any; below 2; subnormal; no limits
		for i := 0; i < len(block); i += 2 {
			code := uint16(random.Uint32()) & mask
			if round%4 == 0 && round%8 != 0 && code&0x7c00 == 0x7c00 {
				code = 0x8000
			}
			if round%20 == 19 {
				code = 0xfbfe // the sum needs all bits
			}
			binary.LittleEndian.PutUint16(block[i:], code)
		}
		var single [][]byte
		for i := 0; i < len(block); i += 2 {
			single = append(single, block[i:i+2])
		}
		want, got := statsOf(t, Float16, single...), statsOf(t, Float16, block)
		checkStats(t, Float16, want, got)
		if want.Mean != nil && *got.Mean != *want.Mean {
			t.Fatalf("round %d: mean %v, want %v", round, *got.Mean, *want.Mean)
		}
	}
}

// TestFloats compares the sums and bounds of float32 with those made one by one.
func TestFloats(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	for round := range 300 {
		chunk := make([]byte, 4*random.IntN(300))
		var sums [4]Sum
		low, high := float64(math.NaN()), float64(math.NaN())
		for i := 0; i < len(chunk); i += 4 {
			x := float32(random.NormFloat64() * math.Exp(20*random.NormFloat64()))
			binary.LittleEndian.PutUint32(chunk[i:], math.Float32bits(x))
			if i/16 < len(chunk)/16 {
				sums[i/4%4] = sums[i/4%4].Plus(float64(x))
			} else {
				sums[0] = sums[0].Plus(float64(x))
			}
			if !(low <= float64(x)) {
				low = float64(x)
			}
			if !(high >= float64(x)) {
				high = float64(x)
			}
		}
		got, want := scanFloats(chunk), sums[0].Merge(sums[1]).Merge(sums[2].Merge(sums[3]))
		if got.sum != want || len(chunk) > 0 && (got.low != low || got.high != high) {
			t.Fatalf("round %d, %d bytes: %+v, want %v, %v to %v", round, len(chunk), got, want, low, high)
		}
	}
}
