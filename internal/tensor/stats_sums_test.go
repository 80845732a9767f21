package tensor

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestHalves compares sums of float16 in groups with sums one by one: neither has rounding errors.
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

// TestFloats compares the sums and bounds of float32 with sums and bounds computed one by one.
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

// slowNorm is the norm of the finite values with 2,000 bits.
func slowNorm(values []float64) float64 {
	sum := new(big.Float).SetPrec(2000)
	for _, x := range values {
		if x-x == 0 {
			v := new(big.Float).SetPrec(2000).SetFloat64(x)
			sum.Add(sum, v.Mul(v, v))
		}
	}
	norm, _ := sum.Sqrt(sum).Float64()
	return norm
}

// TestNorm compares norms with a slow sum: with huge values, with non-finite values, in blocks of
// any size.
func TestNorm(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 9))
	for round, scale := range []float64{1, 0x1p-140, 0x1p449, 0x1p451, 0x1p1000} {
		values := make([]float64, 1000)
		block := make([]byte, 8*len(values))
		for i := range values {
			values[i] = random.NormFloat64() * scale * math.Exp2(-float64(random.IntN(20)))
			if i%100 == 0 {
				values[i] = [...]float64{math.Inf(1), math.NaN(), 0, 5}[i/100%4]
			}
			binary.LittleEndian.PutUint64(block[8*i:], math.Float64bits(values[i]))
		}
		want := slowNorm(values)
		for _, cut := range []int{0, 8, 3000 * 8 / 10} {
			a, err := NewNormAccumulator(Float64)
			if err != nil {
				t.Fatal(err)
			}
			a.Add(block[:cut])
			a.Add(block[cut:])
			got := a.Stats().Norm
			if got == nil || !(math.Abs(*got-want) <= 1e-15*want) {
				t.Errorf("round %d, cut at %d: norm %v, want %v", round, cut, got, want)
			}
		}
	}
}

// TestNormOfTypes: types that are counted by codes have the norm of their elements, types without
// order have none, and only NewNormAccumulator computes it.
func TestNormOfTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d     DType
		block []byte
		want  float64
	}{
		{Float16, []byte{0x00, 0x42, 0x00, 0xc4, 0x00, 0x7c}, 5}, // 3, -4, Inf
		{Int8, []byte{3, 0xfc}, 5},
		{Bool, []byte{1, 0, 1, 1, 1}, 2},
		{Int64, []byte{3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0}, 5},
	} {
		for _, times := range []int{1, 100_000} { // as many as are counted by codes
			a, err := NewNormAccumulator(c.d)
			if err != nil {
				t.Fatal(err)
			}
			block := make([]byte, 0, len(c.block)*times)
			for range times {
				block = append(block, c.block...)
			}
			a.Add(block)
			want := c.want * math.Sqrt(float64(times))
			if got := a.Stats().Norm; got == nil || math.Abs(*got-want) > 1e-15*want {
				t.Errorf("%s, %d times: norm %v, want %v", c.d, times, got, want)
			}
		}
		plain, err := NewAccumulator(c.d)
		if err != nil {
			t.Fatal(err)
		}
		plain.Add(c.block)
		if plain.Stats().Norm != nil {
			t.Errorf("%s: a norm that nobody asked for", c.d)
		}
	}
	a, err := NewNormAccumulator(Complex64)
	if err != nil {
		t.Fatal(err)
	}
	a.Add(make([]byte, 16))
	if norm := a.Stats().Norm; norm != nil {
		t.Errorf("complex64: norm %v", *norm)
	}
}

func TestLimits(t *testing.T) {
	for _, test := range []struct {
		dtype     DType
		low, high float64
	}{
		{Float16, -65504, 65504}, {BFloat16, -0x1.fep127, 0x1.fep127}, {Float32, -math.MaxFloat32, math.MaxFloat32},
		{Float64, -math.MaxFloat64, math.MaxFloat64}, {Int8, -128, 127}, {Uint8, 255, 255}, {Int32, math.MinInt32, math.MaxInt32},
	} {
		if low, high := Limits(test.dtype); low != test.low || high != test.high {
			t.Errorf("%s: %v and %v, want %v and %v", test.dtype, low, high, test.low, test.high)
		}
	}
	for _, d := range []DType{Bool, Undefined, String, 99} {
		if low, high := Limits(d); low == low || high == high {
			t.Errorf("%s: %v and %v, want NaN", d, low, high)
		}
	}
}
