package diagnose

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/tensor"
)

// memory is a tensor in memory.
type memory struct {
	data []byte
	unit int
}

func (m memory) ReadElements(dst []byte, first int64) error {
	at := first * int64(m.unit)
	if at < 0 || at+int64(len(dst)) > int64(len(m.data)) {
		return fmt.Errorf("elements %d.. of %d bytes read beyond %d", first, len(dst), len(m.data))
	}
	copy(dst, m.data[at:])
	return nil
}

// store encodes values as elements of a type, rounded to nearest.
func store(d tensor.DType, values []float64) []byte {
	var data []byte
	for _, v := range values {
		switch d {
		case tensor.Float16:
			data = binary.LittleEndian.AppendUint16(data, half(v))
		case tensor.BFloat16:
			bits := math.Float32bits(float32(v))
			data = binary.LittleEndian.AppendUint16(data, uint16((bits+0x7fff+bits>>16&1)>>16))
		case tensor.Float32:
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
		case tensor.Float64:
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		case tensor.Int8, tensor.Uint8:
			data = append(data, byte(int64(math.Round(v))))
		case tensor.Int16:
			data = binary.LittleEndian.AppendUint16(data, uint16(int64(math.Round(v))))
		case tensor.Int32:
			data = binary.LittleEndian.AppendUint32(data, uint32(int64(math.Round(v))))
		default:
			panic("no encoder for " + d.String())
		}
	}
	return data
}

// half rounds to float16, ties to even.
func half(v float64) uint16 {
	sign := uint16(math.Float64bits(v) >> 48 & 0x8000)
	a := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return 0x7e00
	case a >= 65520:
		return sign | 0x7c00
	case a < 0x1p-14:
		return sign | uint16(math.RoundToEven(a*0x1p24))
	}
	_, e := math.Frexp(a) // a = f * 2^e, f in [0.5, 1)
	m := math.RoundToEven(math.Ldexp(a, 11-e))
	return sign + uint16(e+13)<<10 + uint16(m)
}

// round16 returns a value rounded to float16.
func round16(v float64) float64 { return tensor.Float16To64(half(v)) }

// kind is a pair of types.
type kind struct{ npu, ref tensor.DType }

// request has HPAA's default limits.
func request(shape tensor.Shape, k kind) metrics.Request {
	return metrics.Request{Shape: shape, NPUDType: k.npu, RefDType: k.ref, Limits: metrics.Limits{Atol: 0.005, Rtol: 0.2}}
}

// normal returns n normally distributed numbers.
func normal(rng *rand.Rand, n int, std, mean float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = mean + std*rng.NormFloat64()
	}
	return values
}

// noisy returns the values of the NPU without a fault: off by a few ulp of float16, whatever
// the type.
func noisy(rng *rand.Rand, values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v * (1 + 0x1p-11*rng.NormFloat64())
	}
	return out
}

func count(shape tensor.Shape) int {
	n, _ := shape.Count()
	return int(n)
}

// comparer compares tensors in memory. The engines share their buffers, which are far larger
// than the tensors of these tests.
type comparer struct{ pool *metrics.Pool }

func newComparer() comparer { return comparer{metrics.NewPool()} }

func (c comparer) compare(t *testing.T, req metrics.Request, ref, npu memory) *metrics.Result {
	t.Helper()
	e, err := c.pool.New(req)
	if err != nil {
		t.Fatal(err)
	}
	result, err := e.Compare(t.Context(), ref, npu)
	if err != nil {
		t.Fatal(err)
	}
	return result
}
