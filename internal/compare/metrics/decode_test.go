package metrics

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dumptool/internal/compare/metrics/kernel"
	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
)

func TestExceeded(t *testing.T) {
	for count := 1; count < 12; count++ {
		for at := range count {
			abs, r := make([]float64, count), slices.Repeat([]float64{-1}, count)
			for _, c := range []struct {
				abs  float64
				want bool
			}{{0.75, false}, {math.Nextafter(0.75, 1), true}, {nan, true}, {inf, true}} {
				abs[at] = c.abs
				if got := (Limits{0.25, 0.5, IsClose}).areExceeded(abs, r); got != c.want {
					t.Errorf("%v at %d of %d: exceeded %v", c.abs, at, count, got)
				}
			}
		}
	}
}

// TestRounding compares the rounding to codes with a plain loop and, where Go has the
// conversion, with Go.
func TestRounding(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	values := []float64{0, math.Copysign(0, -1), inf, -inf, 65519.999, 65520, 0x1p-24, 0x1p-25, 0x1.8p-25, -0x1p-14, math.MaxFloat64, 5e-324}
	for range 3000 {
		values = append(values, math.Ldexp(random.NormFloat64(), random.IntN(300)-150))
	}
	for d := range tensor.Float4E1M2 + 1 {
		form := codesOf(d)
		if form.Mantissa == 0 || form.Mantissa == 52 {
			continue
		}
		got, want := make([]int64, len(values)), make([]int64, len(values))
		form.round(got, values)
		for i := range values { // one value is no group
			form.round(want[i:i+1], values[i:i+1])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", d, diff)
		}
	}
	form := codesOf(tensor.Float32)
	got := make([]int64, len(values))
	form.round(got, values)
	for i, x := range values {
		bits := math.Float32bits(float32(x))
		want := int64(bits &^ (1 << 31))
		if bits>>31 != 0 {
			want = -want
		}
		if got[i] != want {
			t.Errorf("%v has code %d, want %d", x, got[i], want)
		}
	}
}

func TestDecoding(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for _, d := range []tensor.DType{tensor.Float16, tensor.BFloat16, tensor.Float32} {
		number, err := newNumber(d)
		if err != nil {
			t.Fatal(err)
		}
		src := make([]byte, 4<<16)
		for i := range 1 << 16 {
			binary.LittleEndian.PutUint32(src[4*i:], random.Uint32())
			if number.size == 2 {
				binary.LittleEndian.PutUint16(src[2*i:], uint16(i))
			}
		}
		src = src[:number.size<<16]
		for _, count := range []int{1 << 16, 7, 3} {
			values, codes := make([]float64, count), make([]int64, count)
			got := number.values(values, src[:count*number.size], nil)
			want := kernel.SpanOf(values)
			if got.Special != want.Special || !got.Special && got != want {
				t.Errorf("%s: span %v of %d values, want %v", d, got, count, want)
			}
			number.storedCodes(codes, src[:count*number.size])
			for i, x := range values {
				want := slowDecode(t, d, src[i*number.size:][:number.size])
				if x != want.re && want.class != NaN || math.IsNaN(x) != (want.class == NaN) {
					t.Fatalf("%s: element %d is %v, want %v", d, i, x, want.re)
				}
				var code [1]int64
				number.codes.round(code[:], []float64{x})
				if want.class != NaN && codes[i] != code[0] {
					t.Fatalf("%s: %v has code %d, want %d", d, x, codes[i], code[0])
				}
			}
		}
	}
}

func TestDigest(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	for count := 1; count < 40; count++ {
		n, r := make([]int64, count), make([]int64, count)
		var want kernel.Digests
		for i := range n {
			n[i], r[i] = random.Int64N(1<<33)-1<<32, random.Int64N(1<<33)-1<<32
			want.N += kernel.Hash(n[i])
			want.R += kernel.Hash(r[i])
			want.SumDistance += distance(n[i], r[i])
			want.MaxDistance = max(want.MaxDistance, distance(n[i], r[i]))
		}
		if got := kernel.Digest(n, r); got != want {
			t.Errorf("%d: %+v, want %+v", count, got, want)
		}
		// The sums of hashes do not depend on the order, but on every element.
		slices.Reverse(n)
		reversed := kernel.Digest(n, r)
		n[count-1]++
		if reversed.N != want.N || kernel.Digest(n, r).N == want.N {
			t.Errorf("%d: sum %x, reversed %x", count, want.N, reversed.N)
		}
	}
}

// FuzzCompare compares arbitrary bytes of all types with the slow references.
func FuzzCompare(f *testing.F) {
	f.Add(uint8(2), uint8(1), uint8(0), []byte("\x00\x3c\x00\x7c\xff\x7f"), []byte("\x00\x00\x80\x3f\x00\x00\x80\x7f\x01\x00\x00\x00"))
	f.Add(uint8(12), uint8(12), uint8(1), make([]byte, 16), slices.Repeat([]byte{0x7f, 0xef}, 8))
	f.Add(uint8(33), uint8(17), uint8(2), []byte{0x6f, 0x80, 1}, make([]byte, 48))
	f.Fuzz(func(t *testing.T, npuType, refType, mode uint8, npuData, refData []byte) {
		types := decodable()
		req := Request{
			RefDType: types[int(refType)%len(types)], NPUDType: types[int(npuType)%len(types)],
			Limits: Limits{0.25, 0.5, Mode(mode % 3)}, Top: 3, List: 3, Points: 3,
		}
		req = narrowed(t, req)
		ref, npu := memory{refData, req.RefDType.UnitSize()}, memory{npuData, req.NPUDType.UnitSize()}
		count := min(len(ref.data)/ref.size, len(npu.data)/npu.size, 100)
		req.Shape = tensor.Shape{int64(count)}
		got, err := Compare(t.Context(), req, ref, npu)
		if err != nil {
			t.Fatal(err)
		}
		checkSlowly(t, req, ref, npu, got)
	})
}

// TestHalves: the vector unit rounds float32 to float16 as codes.round does, for
// every float16, the middles between them, and their neighbours.
func TestHalves(t *testing.T) {
	half, err := newNumber(tensor.Float16)
	if err != nil {
		t.Fatal(err)
	}
	var values []float32
	for bits := range uint32(0x7c00) {
		a, b := tensor.Float16To32(uint16(bits)), tensor.Float16To32(uint16(bits+1))
		if bits+1 == 0x7c00 {
			b = 65536 // the value that float16 would have there
		}
		middle := a + (b-a)/2
		for _, x := range []float32{a, middle, math.Nextafter32(middle, 0), math.Nextafter32(middle, 1e9)} {
			values = append(values, x, -x)
		}
	}
	values = append(values, 1e9, -1e9, math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)), math.SmallestNonzeroFloat32, 1e-40, 0)
	src := make([]byte, 0, 4*len(values))
	wide := make([]float64, len(values))
	for i, x := range values {
		src = binary.LittleEndian.AppendUint32(src, math.Float32bits(x))
		wide[i] = float64(x)
	}
	want, got := make([]int64, len(values)), make([]int64, len(values))
	half.codes.round(want, wide)
	kernel.Float16Codes(got, src)
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%v has code %d, want %d", values[i], got[i], want[i])
		}
	}
}
