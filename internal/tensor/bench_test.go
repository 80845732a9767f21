package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const benchElements = 1 << 16

func randomBytes(n int) []byte {
	data := make([]byte, n)
	chacha := rand.NewChaCha8([32]byte{1})
	chacha.Read(data)
	return data
}

// BenchmarkDecode reports the speed in bytes of output.
func BenchmarkDecode(b *testing.B) {
	for _, d := range []DType{Float32, BFloat16, Complex32, Bool, Int4, HiFloat8, Float4E2M1} {
		b.Run(d.String(), func(b *testing.B) {
			dec, err := NewDecoder(d)
			if err != nil {
				b.Fatal(err)
			}
			src := randomBytes(benchElements * dec.UnitSize())
			dst := make([]byte, benchElements*dec.Host().Size())
			b.SetBytes(int64(len(dst)))
			b.ReportAllocs()
			for b.Loop() {
				dec.Decode(dst, src)
			}
		})
	}
}

// BenchmarkUnpack reports the speed in codes.
func BenchmarkUnpack(b *testing.B) {
	for _, d := range []DType{Uint1, Uint2, Int4} {
		b.Run(d.String(), func(b *testing.B) {
			src := randomBytes(benchElements * d.Bits() / 8)
			dst := make([]byte, benchElements)
			b.SetBytes(benchElements)
			b.ReportAllocs()
			for b.Loop() {
				Unpack(dst, src, d, 0)
			}
		})
	}
}

// BenchmarkPack reports the speed in codes.
func BenchmarkPack(b *testing.B) {
	for _, d := range []DType{Uint1, Uint2, Int4} {
		b.Run(d.String(), func(b *testing.B) {
			src := randomBytes(benchElements)
			dst := make([]byte, benchElements*d.Bits()/8)
			b.SetBytes(benchElements)
			b.ReportAllocs()
			for b.Loop() {
				Pack(dst, src, d)
			}
		})
	}
}

// BenchmarkFloat64s reports the speed in bytes of host elements.
func BenchmarkFloat64s(b *testing.B) {
	for _, h := range []Host{HostBool, HostInt8, HostUint16, HostInt32, HostUint64, HostFloat16, HostFloat32, HostFloat64} {
		b.Run(h.String(), func(b *testing.B) {
			src := randomBytes(benchElements * h.Size())
			dst := make([]float64, benchElements)
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				Float64s(dst, src, h)
			}
		})
	}
}

// BenchmarkStats reports the speed on random numbers, in blocks of 256 KiB.
func BenchmarkStats(b *testing.B) {
	for _, d := range []DType{Float16, BFloat16, Float32, Float64, Float8E4M3FN, Int8, Int16, Int32, Uint64, Complex32, Complex64} {
		for _, size := range []int{64 * d.UnitSize(), 16 << 18} {
			b.Run(fmt.Sprintf("%s/%d", d, size), func(b *testing.B) {
				data := benchData(d, size)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					statsOf(b, d, slices.Collect(slices.Chunk(data, 1<<18))...)
				}
			})
		}
	}
}

// benchData returns normally distributed numbers, and any integers.
func benchData(d DType, size int) []byte {
	random := rand.New(rand.NewPCG(3, 1))
	var block []byte
	for len(block) < size {
		switch x := random.NormFloat64(); d {
		case BFloat16, Float16, Complex32:
			block = binary.LittleEndian.AppendUint16(block, uint16(math.Float32bits(float32(x))>>16))
		case Float32, Complex64:
			block = binary.LittleEndian.AppendUint32(block, math.Float32bits(float32(x)))
		case Float64:
			block = binary.LittleEndian.AppendUint64(block, math.Float64bits(x))
		default:
			block = binary.LittleEndian.AppendUint64(block, random.Uint64())
		}
	}
	return block[:size]
}

// BenchmarkText reports the speed in bytes of text.
func BenchmarkText(b *testing.B) {
	for _, h := range []Host{HostInt8, HostFloat16, HostFloat32, HostComplex64} {
		b.Run(h.String(), func(b *testing.B) {
			src := randomBytes(1 << 10 * h.Size())
			dst := AppendText(nil, src, h)
			b.SetBytes(int64(len(dst)))
			b.ReportAllocs()
			for b.Loop() {
				dst = AppendText(dst[:0], src, h)
			}
		})
	}
}
