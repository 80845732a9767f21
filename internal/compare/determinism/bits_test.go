package determinism

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"dumptool/internal/tensor"
)

// TestBitDrift compares the elements with differing bits, for all types and visited in pieces,
// with a loop over single elements.
func TestBitDrift(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for d := range tensor.DType(64) {
		if d.Host() == tensor.HostNone {
			continue
		}
		unit := d.UnitSize()
		for range 50 {
			left := make([]byte, unit*(1+random.IntN(200)))
			for i := range left {
				left[i] = byte(random.Uint32())
			}
			right := bytes.Clone(left)
			for range random.IntN(5) {
				right[random.IntN(len(right))] ^= 1 << random.IntN(8)
			}
			places := func(left, right []byte) *bitDrift {
				b, piece := newBitDrift(d), 64*unit
				for at := 0; at < len(left); at += piece {
					end := min(at+piece, len(left))
					b.compareBits(int64(at/unit), left[at:end], right[at:end])
				}
				return b
			}
			var where []int64
			mirrored := bytes.Clone(left) // differs in the same elements, in other bits
			for i := 0; i < len(left); i += unit {
				if !bytes.Equal(left[i:i+unit], right[i:i+unit]) {
					where = append(where, int64(i/unit))
					mirrored[i+random.IntN(unit)] ^= byte(1 + random.IntN(255))
				}
			}
			got := places(left, right)
			if got.count != int64(len(where)) || got.count > 0 && got.first != where[0] {
				t.Fatalf("%s: %d elements from %d on, want %d", d, got.count, got.first, where)
			}
			if same := places(left, mirrored).places; same != got.places {
				t.Errorf("%s: the same places have %x and %x", d, got.places, same)
			}
			if len(where) == 0 {
				continue
			}
			one := int(where[len(where)-1]) * unit
			copy(right[one:one+unit], left[one:])
			if fewer := places(left, right).places; fewer == got.places {
				t.Errorf("%s: other places have %x too", d, fewer)
			}
		}
	}
}

// TestBitDriftPlaces: a single differing element gives another hash at each place.
func TestBitDriftPlaces(t *testing.T) {
	for _, d := range []tensor.DType{tensor.Int8, tensor.Float16, tensor.Float32, tensor.Float64, tensor.Complex128} {
		unit, seen := d.UnitSize(), map[uint64]int64{}
		for at := range int64(4096) {
			block := make([]byte, 64*unit)
			block[int(at%64)*unit] = 1
			b := newBitDrift(d)
			if b.compareBits(at/64*64, block, make([]byte, len(block))); b.count != 1 || b.first != at {
				t.Fatalf("%s: %d elements from %d on, want one at %d", d, b.count, b.first, at)
			}
			if other, ok := seen[b.places]; ok {
				t.Fatalf("%s: elements %d and %d have one sum", d, other, at)
			}
			seen[b.places] = at
		}
	}
}
