package metrics

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/tensor"
)

// BenchmarkRun computes one segment, in memory, with values typical of a network.
func BenchmarkRun(b *testing.B) {
	for _, pair := range [][2]tensor.DType{
		{tensor.Float32, tensor.Float16},
		{tensor.Float32, tensor.Float32},
		{tensor.Float16, tensor.Float16},
		{tensor.Float32, tensor.BFloat16},
		{tensor.BFloat16, tensor.BFloat16},
		{tensor.Float64, tensor.Float64},
		{tensor.Int32, tensor.Int32},
		{tensor.Int64, tensor.Int64},
		{tensor.Float32, tensor.Int8},
		{tensor.Complex64, tensor.Complex64},
		{tensor.Float32, tensor.Float8E4M3FN},
	} {
		b.Run(pair[0].String()+"-"+pair[1].String(), func(b *testing.B) {
			ref, npu := benchPair(pair[0], pair[1], SegmentElements)
			e, err := New(Request{
				Shape: tensor.Shape{64, 64, 32, 32}, RefDType: pair[0], NPUDType: pair[1],
				Limits: hpaaLimits, Top: 16, List: 128, Points: 2000,
			})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(ref.data) + len(npu.data)))
			for b.Loop() {
				if _, err := e.Run(b.Context(), 0, ref, npu); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/SegmentElements, "ns/pair")
		})
	}
}

// BenchmarkNoise computes one segment with and without its noise.
func BenchmarkNoise(b *testing.B) {
	for _, shape := range []tensor.Shape{{64, 64, 32, 32}, {64, 256, 16, 16}, {4096, 1024}, {1024, 4096}, {32, 131072}, {65536, 64}} {
		for _, pair := range [][2]tensor.DType{{tensor.Float32, tensor.Float16}, {tensor.Float16, tensor.Float16}} {
			ref, npu := benchPair(pair[0], pair[1], SegmentElements)
			typ, _ := noise.TypeOf(pair[1])
			for _, req := range []*noise.Request{nil, {Shape: shape, Type: typ, Mask: math.Inf(-1), Groups: 256}} {
				b.Run(fmt.Sprintf("%s-%s%v/%v", pair[0], pair[1], shape, req != nil), func(b *testing.B) {
					e, err := New(Request{
						Shape: shape, RefDType: pair[0], NPUDType: pair[1],
						Limits: hpaaLimits, Top: 16, List: 128, Points: 2000, Noise: req,
					})
					if err != nil {
						b.Fatal(err)
					}
					for b.Loop() {
						p, err := e.Run(b.Context(), 0, ref, npu)
						if err != nil {
							b.Fatal(err)
						}
						e.pool.partials.Put(p)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/SegmentElements, "ns/pair")
				})
			}
		}
	}
}

// BenchmarkSmall compares a pair of 1000 elements in the buffers of a pool.
func BenchmarkSmall(b *testing.B) {
	ref, npu := benchPair(tensor.Float32, tensor.Float16, 1000)
	pool := NewPool()
	for b.Loop() {
		e, err := pool.New(Request{
			Shape: tensor.Shape{1000}, RefDType: tensor.Float32, NPUDType: tensor.Float16,
			Limits: hpaaLimits, Top: 16, List: 128, Points: 2000,
		})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := e.Compare(b.Context(), ref, npu); err != nil {
			b.Fatal(err)
		}
	}
}

// benchPair returns normal values, rounded to one type, and the same values with small errors,
// rounded to the other.
func benchPair(refType, npuType tensor.DType, count int) (ref, npu memory) {
	random := rand.New(rand.NewPCG(1, 2))
	ref.size, npu.size = refType.UnitSize(), npuType.UnitSize()
	for range count {
		x := random.NormFloat64()
		ref.data = appendElement(ref.data, refType, x)
		npu.data = appendElement(npu.data, npuType, x*(1+random.NormFloat64()*1e-4))
	}
	return ref, npu
}

// appendElement stores a value rounded to a type; integers are scaled up.
func appendElement(dst []byte, d tensor.DType, x float64) []byte {
	switch d {
	case tensor.Float16:
		var code [1]int64
		form := codesOf(d)
		form.round(code[:], []float64{math.Abs(x)})
		return binary.LittleEndian.AppendUint16(dst, uint16(code[0])|uint16(math.Float64bits(x)>>48&0x8000))
	case tensor.BFloat16:
		return binary.LittleEndian.AppendUint16(dst, uint16(math.Float32bits(float32(x))>>16))
	case tensor.Float32:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(x)))
	case tensor.Float64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	case tensor.Int32:
		return binary.LittleEndian.AppendUint32(dst, uint32(int32(x*1e6)))
	case tensor.Int64:
		return binary.LittleEndian.AppendUint64(dst, uint64(int64(x*1e15)))
	case tensor.Complex64:
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(x)))
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(x*x)))
	}
	return append(dst, byte(int8(x*16))&^0x80)
}
