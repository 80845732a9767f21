package metrics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dumptool/internal/tensor"
)

// TestEndsOfRange compares tensors of the largest and smallest float64 with the slow references,
// also as parts of complex numbers and beside integers: a result in the range of float64 is
// not infinite.
func TestEndsOfRange(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 11))
	sign := func() float64 { return float64(2*random.IntN(2) - 1) }
	near := func(exp int) float64 { return sign() * math.Ldexp(1+random.Float64(), exp) }
	for name, value := range map[string]func() float64{
		"largest":      func() float64 { return math.MaxFloat64 },
		"both ends":    func() float64 { return sign() * math.MaxFloat64 },
		"1.8e308":      func() float64 { return near(1023) },
		"tiny":         func() float64 { return near(-1030) },
		"all sizes":    func() float64 { return near(random.IntN(2046) - 1022) },
		"huge or tiny": func() float64 { return near([]int{1023, -1022}[random.IntN(2)]) },
		"with zeros":   func() float64 { return []float64{0, near(1023), near(1000), 1}[random.IntN(4)] },
		"with infinities": func() float64 {
			return []float64{near(1023), near(1022), math.Inf(int(sign())), math.NaN()}[min(random.IntN(9)/2, 3)]
		},
		"from 1e120": func() float64 { return near(398 + random.IntN(4)) },
	} {
		for _, count := range []int{1, 2, 150, blockElements + 100} {
			for mode := range EitherExceeded + 1 {
				if count > blockElements && mode != IsClose {
					continue
				}
				n, r := make([]float64, count), make([]float64, count)
				for i := range n {
					n[i], r[i] = value(), value()
					if random.IntN(3) == 0 {
						n[i] = r[i] * (1 - random.Float64()/100)
					}
				}
				limits := Limits{[]float64{0.25, 1e300, 0}[random.IntN(3)], []float64{0.5, 1.5, 3}[random.IntN(3)], mode}
				t.Run(fmt.Sprintf("%s %d %v", name, count, limits), func(t *testing.T) {
					checkValues(t, tensor.Float64, limits, n, r)
					npu, ref := store(tensor.Float64, n...), store(tensor.Float64, r...)
					checkStored(t, tensor.Float64, tensor.Int8, limits, store(tensor.Int8, n...), ref)
					npu.size, ref.size = 16, 16
					checkStored(t, tensor.Complex128, tensor.Complex128, limits, npu, ref)
				})
			}
		}
	}
}

// TestEndsOfLimits has limits, shares of limits and ratios beyond the range of
// float64, at both ends.
func TestEndsOfLimits(t *testing.T) {
	for name, c := range map[string]struct {
		dtype  tensor.DType
		limits Limits
		n, r   []float64
	}{
		"limit times margin":      {tensor.Float64, Limits{0, 1e154, BothExceeded}, []float64{-4.7e31, 3.5e207}, []float64{2e-323, 5e-324}},
		"limit by a small margin": {tensor.Float64, Limits{0, 1e-200, IsClose}, []float64{1 + 0x1p-52, 2e200, 1e-150}, []float64{1, 1e200, 1e150}},
		"large limits":            {tensor.Float64, Limits{1e-300, 4.5e307, IsClose}, []float64{2e300, 1.5e300}, []float64{1e300, 1e300}},
		"ratio 0, rtol 0":         {tensor.Complex128, Limits{1e-17, 0, EitherExceeded}, []float64{0, 1e15}, []float64{1e-323, 1e15}},
		"|d| beside 0":            {tensor.Complex128, Limits{0.25, 0.5, IsClose}, []float64{1.7e308, 1.7e308, 1, 1}, []float64{0, 0, 1e10, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			npu, ref := store(tensor.Float64, c.n...), store(tensor.Float64, c.r...)
			npu.size, ref.size = c.dtype.UnitSize(), c.dtype.UnitSize()
			checkStored(t, c.dtype, c.dtype, c.limits, npu, ref)
		})
	}
}
