package overflow

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"dumptool/internal/tensor"
)

// benchTypes has one type of each way of counting, or two.
var benchTypes = []tensor.DType{
	tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64, tensor.Float8E4M3FN, tensor.Int8,
	tensor.Int16, tensor.Int32, tensor.Uint64, tensor.Complex32, tensor.Complex64,
}

// BenchmarkCensus reports the speed on random numbers, in blocks of 256 KiB.
func BenchmarkCensus(b *testing.B) {
	for _, d := range benchTypes {
		b.Run(d.String(), func(b *testing.B) { benchmarkCensus(b, d, benchBlock(d, 1<<18)) })
	}
	relu := benchBlock(tensor.Float16, 1<<18)
	for i := 1; i < len(relu); i += 2 {
		if relu[i] >= 0x80 {
			relu[i-1], relu[i] = 0, 0
		}
	}
	b.Run("float16 relu", func(b *testing.B) { benchmarkCensus(b, tensor.Float16, relu) })
	bits := randomBlock(1 << 18)
	b.Run("float16 any", func(b *testing.B) { benchmarkCensus(b, tensor.Float16, bits) })
	b.Run("float32 any", func(b *testing.B) { benchmarkCensus(b, tensor.Float32, bits) })
	ones := make([]byte, 1<<18)
	for i := range ones {
		ones[i] = 0xff
	}
	b.Run("float16 NaN", func(b *testing.B) { benchmarkCensus(b, tensor.Float16, ones) })
	b.Run("float32 NaN", func(b *testing.B) { benchmarkCensus(b, tensor.Float32, ones) })
	b.Run("float32 zero", func(b *testing.B) { benchmarkCensus(b, tensor.Float32, make([]byte, 1<<18)) })
}

// BenchmarkCensusSmall reports what a tensor costs that has hardly any elements.
func BenchmarkCensusSmall(b *testing.B) {
	for _, d := range benchTypes {
		block := benchBlock(d, 64*d.UnitSize())
		b.Run(d.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				censusOf(b, d, block)
			}
		})
	}
}

// benchmarkCensus counts a tensor of sixteen equal blocks.
func benchmarkCensus(b *testing.B, d tensor.DType, block []byte) {
	b.Helper()
	const blocks = 16
	b.SetBytes(int64(blocks * len(block)))
	b.ReportAllocs()
	for b.Loop() {
		c, err := newCounter(d)
		if err != nil {
			b.Fatal(err)
		}
		for range blocks {
			c.add(block)
		}
		c.census()
	}
}

// benchBlock returns normally distributed numbers, and any integers.
func benchBlock(d tensor.DType, size int) []byte {
	random := rand.New(rand.NewPCG(3, 1))
	var block []byte
	for len(block) < size {
		x := random.NormFloat64()
		switch d {
		case tensor.Float16, tensor.Complex32:
			block = binary.LittleEndian.AppendUint16(block, roughHalf(x))
		case tensor.BFloat16:
			block = binary.LittleEndian.AppendUint16(block, uint16(math.Float32bits(float32(x))>>16))
		case tensor.Float32, tensor.Complex64:
			block = binary.LittleEndian.AppendUint32(block, math.Float32bits(float32(x)))
		case tensor.Float64:
			block = binary.LittleEndian.AppendUint64(block, math.Float64bits(x))
		default:
			block = binary.LittleEndian.AppendUint64(block, random.Uint64())
		}
	}
	return block[:size]
}

// roughHalf returns a float16 near x.
func roughHalf(x float64) uint16 {
	magnitude := uint16(0)
	if fraction, exponent := math.Frexp(math.Abs(x)); exponent > -14 {
		magnitude = uint16(exponent+14)<<10 | uint16((2*fraction-1)*1024)
	}
	if x < 0 {
		magnitude |= 0x8000
	}
	return magnitude
}
