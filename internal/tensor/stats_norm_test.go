package tensor

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

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

// TestNorm compares norms with those of a slow sum: with huge values, with others that are
// not finite, and whatever the blocks are.
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

// TestNormOfTypes: types that are counted by codes have the norm of their elements, those
// without order none, and nobody has one who did not ask.
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
