package overflow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"dumptool/internal/tensor"
)

// partSize is the size in bytes of an element, or of a part of a complex one.
func partSize(d tensor.DType) int {
	if d.Host().Complex() {
		return d.UnitSize() / 2
	}
	return d.UnitSize()
}

func appendCode(dst []byte, code uint64, size int) []byte {
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], code)
	return append(dst, word[:size]...)
}

// censusOf returns the census of elements that come in blocks.
func censusOf(t testing.TB, d tensor.DType, blocks ...[]byte) Census {
	t.Helper()
	c, err := newCounter(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks {
		c.add(block)
	}
	return c.census()
}

// TestCensusLimits takes the census of tensors of one element: every code of
// the table above, of complex types as either part.
func TestCensusLimits(t *testing.T) {
	for _, d := range tensor.DTypes() {
		row, listed := censusCodes[d]
		if _, err := newCounter(d); listed != (err == nil) {
			t.Errorf("%s: listed is %t, newCounter returns %v", d, listed, err)
		}
		for _, kind := range []struct {
			codes            []uint64
			want             Census
			hard, suspicious bool
		}{
			{row.nan, Census{NaN: 1}, true, false},
			{row.posInf, Census{PosInf: 1}, true, false},
			{row.negInf, Census{NegInf: 1}, true, false},
			{row.limits, Census{Saturated: 1}, false, !row.weak},
			{row.traces, Census{HalfTraces: 1}, false, true},
			{row.ordinary, Census{}, false, false},
		} {
			want := kind.want
			want.Count, want.WeakLimits = 1, row.weak
			for _, code := range kind.codes {
				element := appendCode(nil, code, partSize(d))
				pair := [][]byte{element}
				if zero := make([]byte, partSize(d)); d.Host().Complex() {
					pair = [][]byte{append(element, zero...), append(zero, element...)}
				}
				for _, block := range pair {
					got := censusOf(t, d, block)
					name := fmt.Sprintf("%s %x", d, block)
					if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Census{}, "Min", "Max", "Mean", "FirstHard", "FirstSuspect")); diff != "" {
						t.Errorf("%s (-want +got):\n%s", name, diff)
					}
					if got.Hard() != kind.hard || got.Suspicious() != kind.suspicious || got.Weak() != (row.weak && want.Saturated > 0) {
						t.Errorf("%s: hard %t, suspicious %t, weak %t", name, got.Hard(), got.Suspicious(), got.Weak())
					}
					if (got.First() != nil) != (want.NaN+want.PosInf+want.NegInf+want.Saturated+want.HalfTraces > 0) {
						t.Errorf("%s: first is %v", name, got.First())
					}
				}
			}
		}
	}
}

func TestCensusUnsupported(t *testing.T) {
	for _, d := range []tensor.DType{tensor.String, tensor.Variant, 99, -1} {
		c, err := newCounter(d)
		var unsupported *tensor.UnsupportedType
		if !errors.As(err, &unsupported) || unsupported.DType != d || c != nil {
			t.Errorf("%s: counter %v, error %v", d, c, err)
		}
	}
}

// sameCensus compares everything exactly, only the mean of float64 within the
// promise of tensor.Stats.
func sameCensus(t interface{ Fatalf(string, ...any) }, d tensor.DType, want, got Census) {
	if d == tensor.Float64 && want.Mean != nil && got.Mean != nil {
		magnitude := max(math.Abs(*want.Min), math.Abs(*want.Max))
		if !(math.Abs(*want.Mean-*got.Mean) <= max(math.Abs(*want.Mean)*0x1p-50, magnitude*0x1p-80)) {
			t.Fatalf("%s: mean %v, want %v", d, *got.Mean, *want.Mean)
		}
		got.Mean = want.Mean
	}
	if d.Host().Complex() {
		for _, spot := range []**Spot{&got.FirstHard, &got.FirstSuspect} {
			if *spot != nil {
				*spot = &Spot{Index: (*spot).Index}
			}
		}
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(sameBits)); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", d, diff)
	}
}

func sameBits(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
}

// codeGenerator draws codes of elements or parts: special ones, any ones, and
// ones that are close to each other.
func codeGenerator(d tensor.DType) *rapid.Generator[uint64] {
	row := censusCodes[d]
	kinds := []*rapid.Generator[uint64]{rapid.Uint64(), rapid.Uint64Range(0x3c00, 0x3c40), rapid.Uint64Range(0xbc00, 0xbc40)}
	for _, codes := range [][]uint64{row.nan, row.posInf, row.negInf, row.limits, row.traces, row.ordinary} {
		if len(codes) > 0 {
			kinds = append(kinds, rapid.SampledFrom(codes))
		}
	}
	return rapid.OneOf(kinds...)
}

// TestCensus compares the census with the slow one, cut into any blocks.
func TestCensus(t *testing.T) {
	for d := range censusCodes {
		t.Run(d.String(), func(t *testing.T) {
			codes := rapid.OneOf(rapid.SliceOf(codeGenerator(d)), rapid.SliceOf(rapid.SampledFrom(censusCodes[d].ordinary)))
			rapid.Check(t, func(rt *rapid.T) {
				var block []byte
				for _, code := range codes.Draw(rt, "codes") {
					block = appendCode(block, code, partSize(d))
				}
				block = block[:len(block)/d.UnitSize()*d.UnitSize()]
				want := slowCensus(t, d, block)
				whole := censusOf(t, d, block)
				sameCensus(rt, d, want, whole)
				cut := d.UnitSize() * rapid.IntRange(0, len(block)/d.UnitSize()).Draw(rt, "cut")
				if diff := cmp.Diff(whole, censusOf(t, d, block[:cut], nil, block[cut:]), cmp.Comparer(sameBits)); diff != "" {
					rt.Fatalf("cut at byte %d (-whole +cut):\n%s", cut, diff)
				}
			})
		})
	}
}

// TestCensusPacked unpacks elements as a reader of files does.
func TestCensusPacked(t *testing.T) {
	for d := range censusCodes {
		if !d.Packed() {
			continue
		}
		stored := randomBlock(1000)
		count, _ := d.Elements(1000)
		block := make([]byte, count)
		tensor.Unpack(block, stored, d, 0)
		want := slowCensus(t, d, block)
		sameCensus(t, d, want, censusOf(t, d, block))
	}
}

func randomBlock(n int) []byte {
	block := make([]byte, n)
	rand.NewChaCha8([32]byte{7}).Read(block)
	return block
}

// TestCensusLong takes the census of tensors that are longer than the chunks of
// every counter, with few and with many elements that stand out, in blocks of
// many sizes.
func TestCensusLong(t *testing.T) {
	for d := range censusCodes {
		t.Run(d.String(), func(t *testing.T) {
			for _, every := range []int{3, 4999} {
				for _, negative := range []uint64{0, 1} {
					block := longBlock(d, every, negative)
					want := slowCensus(t, d, block)
					whole := censusOf(t, d, block)
					sameCensus(t, d, want, whole)
					for _, cut := range []int{7, 2001} {
						got := censusOf(t, d, slices.Collect(slices.Chunk(block, cut*d.UnitSize()))...)
						if diff := cmp.Diff(whole, got, cmp.Comparer(sameBits)); diff != "" {
							t.Fatalf("one of %d special, blocks of %d elements (-whole +cut):\n%s", every, cut, diff)
						}
					}
				}
			}
		})
	}
}

// longBlock returns small numbers with a special one at regular distances. With
// negative, which is 0 or 1, half of the numbers are.
func longBlock(d tensor.DType, every int, negative uint64) (block []byte) {
	row, size := censusCodes[d], partSize(d)
	special := slices.Concat(row.nan, row.posInf, row.negInf, row.limits, row.traces)
	random := rand.New(rand.NewPCG(uint64(d), uint64(every)))
	for i := range 2 * 4500 {
		code := random.Uint64() >> 3 & (1<<(8*size-3) - 1) // no large exponents, no limits
		code |= random.Uint64() & negative << (8*size - 1)
		if i%every == every-1 && len(special) > 0 {
			code = special[random.IntN(len(special))]
		}
		block = appendCode(block, code, size)
	}
	return block
}
