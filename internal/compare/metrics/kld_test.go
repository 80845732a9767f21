package metrics

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"dumptool/internal/tensor"
)

// slowKLD follows msaccucmp's definition step by step.
func slowKLD(npu, ref []float64) float64 {
	share := func(v []float64) []float64 {
		low, high := math.Inf(1), math.Inf(-1)
		for _, x := range v {
			low, high = min(low, x), max(high, x)
		}
		out, sum := make([]float64, len(v)), 0.0
		for i, x := range v {
			out[i] = max((x-low)/(high-low), 1.1920928955078125e-07)
			sum += out[i]
		}
		for i := range out {
			out[i] /= sum
		}
		return out
	}
	p, q := share(npu), share(ref)
	total := 0.0
	for i := range p {
		total += p[i] * math.Log(p[i]/q[i])
	}
	return total
}

func kldOf(t *testing.T, d tensor.DType, npu, ref []float64) Metric {
	t.Helper()
	req := Request{Shape: tensor.Shape{int64(len(ref))}, RefDType: d, NPUDType: d}
	a, b := store(d, ref...), store(d, npu...)
	res, err := Compare(context.Background(), req, a, b)
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewPool().KLD(context.Background(), req, res, a, b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestKLDFixtures(t *testing.T) {
	tests := []struct {
		npu, ref []float64
		want     float64 // NaN for undefined; msaccucmp computes it in float32
	}{
		{[]float64{1, 2, 3, 4.5}, []float64{1, 2, 3, 4}, 0.002961},
		{[]float64{1, -2, 3}, []float64{-1, 2, -3}, 9.982507},
		{[]float64{1, 2, 30}, []float64{1, 2, 30}, 0},
		{[]float64{0, 0, 0, 0}, []float64{1, 2, 3, 4}, 3.668468},
		{[]float64{1, 2, 3, 4}, []float64{0, 0, 0, 0}, 0.374889},
		{[]float64{5, 5, 5, 5}, []float64{7, 7, 7, 7}, 0},
		{[]float64{1, nan}, []float64{1, 2}, nan},
		{[]float64{1, 2}, []float64{inf, 2}, nan},
		{nil, nil, nan},
	}
	for _, tt := range tests {
		m := kldOf(t, tensor.Float32, tt.npu, tt.ref)
		if m.IsDefined() == math.IsNaN(tt.want) || m.IsDefined() && math.Abs(m.Value()-tt.want) > 1e-6 {
			t.Errorf("%v beside %v: %+v, want %v", tt.npu, tt.ref, m, tt.want)
		}
	}
}

func TestKLDBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{2, 1000, kldBlock - 1, kldBlock, kldBlock + 1, 2*kldBlock + 3} {
		for _, d := range []tensor.DType{tensor.Float32, tensor.Int32} {
			npu, ref := make([]float64, n), make([]float64, n)
			for i := range ref {
				ref[i] = math.Round(1000 * rng.Float64())
				npu[i] = ref[i] + math.Round(30*rng.Float64())
			}
			ref[0], ref[n-1] = -5, 2000
			npu[0], npu[n-1] = -6, 2002
			m, want := kldOf(t, d, npu, ref), slowKLD(npu, ref)
			if !m.IsDefined() || math.Abs(m.Value()-want) > 1e-12*(1+want) {
				t.Errorf("%d of %s: %+v, want %v", n, d, m, want)
			}
		}
	}
}
