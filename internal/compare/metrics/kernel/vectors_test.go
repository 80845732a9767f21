package kernel

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dumptool/internal/tensor"
)

// sameBits compares values by their bits, including NaN and the sign of zero.
func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// slowSpan is SpanOf by definition.
func slowSpan(values []float64) Span {
	s := Span{Min: inf, Max: -inf, MinAbs: inf}
	for _, x := range values {
		s.Special = s.Special || math.IsNaN(x) || math.IsInf(x, 0)
		s.Min, s.Max = min(s.Min, x+0), max(s.Max, x+0)
		s.MinAbs, s.MaxAbs = min(s.MinAbs, math.Abs(x)), max(s.MaxAbs, math.Abs(x))
	}
	return s
}

// TestDecoders decodes all codes of 16-bit types, and many float32, in blocks of all relevant
// lengths.
func TestDecoders(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 1))
	for _, c := range []struct {
		name   string
		size   int
		decode func([]float64, []byte) Span
		value  func([]byte) float64
	}{
		{"float16", 2, Float16s, func(b []byte) float64 { return tensor.Float16To64(binary.LittleEndian.Uint16(b)) }},
		{"bfloat16", 2, BFloat16s, func(b []byte) float64 {
			return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
		}},
		{"float32", 4, Float32s, func(b []byte) float64 {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}},
	} {
		special := 0
		for code := 0; code < 1<<16; {
			src := make([]byte, c.size*(1+random.IntN(40)))
			values := make([]float64, len(src)/c.size)
			for i := range values {
				at := src[i*c.size:]
				for k := range c.size - 2 {
					at[k] = byte(random.Uint32())
				}
				binary.LittleEndian.PutUint16(at[c.size-2:], uint16(code))
				values[i] = c.value(at)
				code++
			}
			got := make([]float64, len(values))
			span, want := c.decode(got, src), slowSpan(values)
			if !sameBits(got, values) {
				t.Fatalf("%s: %x is %v, want %v", c.name, src, got, values)
			}
			if span.Special != want.Special || !want.Special && span != want {
				t.Fatalf("%s: the span of %v is %+v, want %+v", c.name, values, span, want)
			}
			if want.Special {
				special++
			}
		}
		if special == 0 {
			t.Errorf("%s: no block has a special value", c.name)
		}
	}
}

// slowCode returns the code of x, searched in a table of values rising from 0: nearest magnitude,
// ties to even, with the sign of x.
func slowCode(table []float64, x float64) int64 {
	a := math.Abs(x)
	k, found := slices.BinarySearch(table, a)
	if !found {
		k = min(k, len(table)-1)
		switch below, above := a-table[k-1], table[k]-a; {
		case below < above, below == above && k%2 == 1:
			k--
		}
	}
	if math.Signbit(x) {
		return -int64(k)
	}
	return int64(k)
}

// TestCodes compares the codes of stored and of rounded elements with a search among all values
// of a type.
func TestCodes(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 2))
	var halves, brains []float64
	for code := range uint16(0x7c00) {
		halves = append(halves, tensor.Float16To64(code))
	}
	halves = append(halves, 65536)
	for code := range uint32(0x7f80) {
		brains = append(brains, float64(math.Float32frombits(code<<16)))
	}
	brains = append(brains, 0x1p128)
	half, brain := NewForm(10, -14, 0x7bff), NewForm(7, -126, 0x7f7f)
	for round := range 3000 {
		count := 1 + random.IntN(40)
		values, src16, src32 := make([]float64, count), make([]byte, 2*count), make([]byte, 4*count)
		want16, want32, wantHalf, wantBrain := make([]int64, count), make([]int64, count), make([]int64, count), make([]int64, count)
		for i := range values {
			x := float32(math.Ldexp(random.NormFloat64(), random.IntN(50)-30))
			switch random.IntN(6) {
			case 0: // halfway between float16
				x = float32(tensor.Float16To64(uint16(random.IntN(0x7bff)))+tensor.Float16To64(uint16(random.IntN(0x7bff)))) / 2
			case 1: // halfway between neighbours
				code := random.IntN(0x7bff)
				x = float32((halves[code] + halves[code+1]) / 2)
			case 2:
				x = 0
			}
			if random.IntN(2) == 0 {
				x = -x
			}
			bits := math.Float32bits(x)
			binary.LittleEndian.PutUint32(src32[4*i:], bits)
			binary.LittleEndian.PutUint16(src16[2*i:], uint16(bits))
			values[i] = float64(x)
			want16[i], want32[i] = int64(bits&0x7fff), int64(bits&math.MaxInt32)
			if bits&0x8000 != 0 {
				want16[i] = -want16[i]
			}
			if bits>>31 != 0 {
				want32[i] = -want32[i]
			}
			wantHalf[i], wantBrain[i] = slowCode(halves, float64(x)), slowCode(brains, float64(x))
		}
		check := func(name string, got, want []int64) {
			if !slices.Equal(got, want) {
				t.Fatalf("%d: %s of %v: %v, want %v", round, name, values, got, want)
			}
		}
		got := make([]int64, count)
		Codes16(got, src16)
		check("codes of 16 bits", got, want16)
		Codes32(got, src32)
		check("codes of 32 bits", got, want32)
		half.Round(got, values)
		check("float16", got, wantHalf)
		brain.Round(got, values)
		check("bfloat16", got, wantBrain)
		Float16Codes(got, src32)
		check("float16 of float32", got, wantHalf)
	}
}

// TestCounts compares counts and digests with loops over their definitions.
func TestCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 3))
	for round := range 2000 {
		count := 1 + random.IntN(40)
		n, r := kernelValues(random, count), kernelValues(random, count)
		limits := []float64{0, 0x1p-14, 0x1p-20, 1}
		nNormal, rNormal := limits[random.IntN(4)], limits[random.IntN(4)]
		var want Small
		codes, others := make([]int64, count), make([]int64, count)
		var digests Digests
		for i, x := range n {
			x, y := math.Abs(x), math.Abs(r[i])
			isSmall := func(small bool) int64 {
				if small {
					return 1
				}
				return 0
			}
			want.NZeros += isSmall(x == 0)
			want.RZeros += isSmall(y == 0)
			want.NSmall += isSmall(x != 0 && x < nNormal)
			want.RSmall += isSmall(y != 0 && y < rNormal)
			want.Under += isSmall(x < nNormal && y >= nNormal)
			codes[i], others[i] = random.Int64N(1<<41)-1<<40, random.Int64N(1<<33)-1<<32
			digests.N += Hash(codes[i])
			digests.R += Hash(others[i])
			apart := uint64(max(codes[i]-others[i], others[i]-codes[i]))
			digests.SumDistance += apart
			digests.MaxDistance = max(digests.MaxDistance, apart)
		}
		if got := CountSmall(n, r, nNormal, rNormal); got != want {
			t.Fatalf("%d: %+v of %v and %v below %v and %v, want %+v", round, got, n, r, nNormal, rNormal, want)
		}
		zeros := int64(0) // zero on both sides
		stored := make([]byte, 2*count)
		for i, x := range r {
			code := uint16(random.IntN(0x900)) | uint16(random.IntN(2))<<15
			r[i] = math.Copysign(math.Max(math.Abs(x), 0x1p-126), x)
			if code&0x7fff == 0 || random.IntN(3) == 0 {
				code, r[i] = code&0x8000, 0
				zeros++
			}
			binary.LittleEndian.PutUint16(stored[2*i:], code)
			n[i] = tensor.Float16To64(code)
		}
		want = CountSmall(n, r, 0x1p-14, 0x1p-126)
		if got := CountBelow(stored, r, zeros); got != want {
			t.Fatalf("%d: %+v of %v and %v below normal numbers, want %+v", round, got, n, r, want)
		}
		if got := Digest(codes, others); got != digests {
			t.Fatalf("%d: %+v of %v and %v, want %+v", round, got, codes, others, digests)
		}

		abs := make([]float64, count)
		for i := range abs {
			abs[i] = 0.5 + float64(0.25*math.Abs(r[i]))
		}
		if FindFirstBeyond(abs, r, 0.5, 0.25) < count {
			t.Fatalf("%d: %v is beyond what it is", round, abs)
		}
		at := random.IntN(count)
		for _, x := range []float64{math.Nextafter(abs[at], inf), inf, nan} {
			abs[at] = x
			if FindFirstBeyond(abs, r, 0.5, 0.25) != at {
				t.Fatalf("%d: %v at %d of %d is not seen", round, x, at, count)
			}
		}
	}
}
