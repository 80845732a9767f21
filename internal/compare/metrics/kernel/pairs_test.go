package kernel

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dumptool/internal/tensor"
)

// TestHalfPairs compares the single pass over pairs with separate loops for its parts.
func TestHalfPairs(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	done := 0
	for round := range 2000 {
		count := 1 + random.IntN(1024)
		if round%6 == 5 {
			count &^= 63
			count += 64
		}
		if round%8 > 0 {
			count = (count + 7) &^ 7
		}
		nStored, rStored := make([]byte, 2*count), make([]byte, 4*count)
		for i := range count {
			code := uint16(random.Uint32())
			x := float32(math.Ldexp(random.NormFloat64(), random.IntN(50)-30))
			switch round % 6 {
			case 0: // with numbers that are not finite in some rounds
				if round%3 > 0 && code&0x7c00 == 0x7c00 {
					code &= 0x83ff
				}
			case 1: // zeros of both signs
				code, x = code&0x8000, float32(math.Copysign(0, x64(random)))
			case 2: // of one sign
				code &= 0x3fff
				x = max(x, 0)
			case 3:
				code, x = code&0xbfff|0x8000, -float32(math.Abs(float64(x)))
			case 4: // beyond float16, and halfway between two
				code &= 0xfbff
				x *= 0x1p30
			case 5: // rounded, with zeros and subnormal numbers
				if x = float32(math.Ldexp(1+random.Float64(), random.IntN(29)-14)) * float32(random.IntN(3)-1); code&1 == 0 {
					x = float32(tensor.Float16To64(code & 0x83ff))
				}
				code = uint16(float16Code(math.Float32bits(max(x, -x)))) | uint16(math.Float32bits(x)>>16&0x8000)
			}
			if round%40 == 7 && i == count/2 {
				x = float32([]float64{math.Inf(1), math.Inf(-1), math.NaN()}[random.IntN(3)])
			}
			binary.LittleEndian.PutUint16(nStored[2*i:], code)
			binary.LittleEndian.PutUint32(rStored[4*i:], math.Float32bits(x))
		}
		wantN, wantR := make([]float64, count), make([]float64, count)
		wantNSpan, wantRSpan := Float16s(wantN, nStored), Float32s(wantR, rStored)
		nCodes, rCodes := make([]int64, count), make([]int64, count)
		Codes16(nCodes, nStored)
		form := NewForm(10, -14, 0x7bff)
		form.Round(rCodes, wantR)
		want := Digest(nCodes, rCodes)
		n, r := make([]float64, count), make([]float64, count)
		sameBits := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
		for name, pairs := range map[string]func(n, r []float64, nStored, rStored []byte, nSpan, rSpan *Span, d *Digests) bool{"vectors": HalfPairs, "plain": halfPairsPlain} {
			var nSpan, rSpan Span
			var got Digests
			if !pairs(n, r, nStored, rStored, &nSpan, &rSpan, &got) {
				continue
			}
			done++
			if rSpan.NotZero != 0 && rSpan.NotZero != Smallest(r) {
				t.Fatalf("%s, round %d, %d pairs: the least magnitude above 0 is %v, want %v", name, round, count, rSpan.NotZero, Smallest(r))
			}
			rSpan.NotZero = 0
			if got != want || nSpan != wantNSpan || rSpan != wantRSpan || !slices.EqualFunc(n, wantN, sameBits) || !slices.EqualFunc(r, wantR, sameBits) {
				t.Fatalf("%s, round %d, %d pairs: %+v, want %+v; spans %+v and %+v, want %+v and %+v", name, round, count, got, want, nSpan, rSpan, wantNSpan, wantRSpan)
			}
		}
	}
	if done < 2000 {
		t.Errorf("only %d blocks were done in one pass", done)
	}
}

// x64 returns a number of any sign.
func x64(random *rand.Rand) float64 { return random.Float64() - 0.5 }

// TestHalfPairsAlike is TestHalfPairs for references close to the midpoint between their
// element and the next float16.
func TestHalfPairsAlike(t *testing.T) {
	t.Parallel()
	nStored, rStored := make([]byte, 2*1024), make([]byte, 4*1024)
	n, r, values := make([]float64, 1024), make([]float64, 1024), make([]float64, 1024)
	nCodes, rCodes := make([]int64, 1024), make([]int64, 1024)
	for sign := range uint16(2) {
		for step := int32(-2); step <= 2; step++ {
			for first := uint16(0); first < 0x7c00; first += 1024 {
				for i := range uint16(1024) {
					code := (first + i) | sign<<15
					middle := math.Float32bits(float32((tensor.Float16To64(code) + tensor.Float16To64(code+1)) / 2))
					if code&0x7fff == 0x7bff {
						middle = math.Float32bits(65520) | uint32(sign)<<31
					}
					binary.LittleEndian.PutUint16(nStored[2*i:], code+i/4&1)
					binary.LittleEndian.PutUint32(rStored[4*i:], middle+uint32(step))
				}
				nSpan, rSpan := Float16s(values, nStored), Float32s(values, rStored)
				Codes16(nCodes, nStored)
				Float16Codes(rCodes, rStored)
				want := Digest(nCodes, rCodes)
				var gotN, gotR Span
				var got Digests
				ok := HalfPairs(n, r, nStored, rStored, &gotN, &gotR, &got)
				gotR.NotZero = 0
				if ok && (got != want || gotN != nSpan || gotR != rSpan) {
					t.Fatalf("from %x on, %d off: %+v, want %+v; spans %+v and %+v, want %+v and %+v", first, step, got, want, gotN, gotR, nSpan, rSpan)
				}
			}
		}
	}
}
