package kernel

import (
	"encoding/binary"
	"math"

	"dumptool/internal/tensor"
)

// Float16s sets dst to the values of float16 elements and returns their span.
func Float16s(dst []float64, src []byte) Span {
	table := (*[1 << 16]float32)(tensor.CodeValues(tensor.Float16))
	for i := range dst {
		dst[i] = float64(table[binary.LittleEndian.Uint16(src[2*i:])])
	}
	return SpanOf(dst)
}

// BFloat16s sets dst to the values of bfloat16 elements and returns their span.
func BFloat16s(dst []float64, src []byte) Span {
	all := dst
	for len(dst) >= 4 && len(src) >= 8 {
		four := binary.LittleEndian.Uint64(src)
		dst[0] = float64(math.Float32frombits(uint32(four) << 16))
		dst[1] = float64(math.Float32frombits(uint32(four) & 0xffff0000))
		dst[2] = float64(math.Float32frombits(uint32(four>>32) << 16))
		dst[3] = float64(math.Float32frombits(uint32(four>>32) & 0xffff0000))
		dst, src = dst[4:], src[8:]
	}
	for i := range dst {
		dst[i] = float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16))
	}
	return SpanOf(all)
}

// Float32s sets dst to the values of float32 elements and returns their span.
func Float32s(dst []float64, src []byte) Span {
	all := dst
	for len(dst) >= 4 && len(src) >= 16 {
		dst[0] = float64(math.Float32frombits(binary.LittleEndian.Uint32(src)))
		dst[1] = float64(math.Float32frombits(binary.LittleEndian.Uint32(src[4:])))
		dst[2] = float64(math.Float32frombits(binary.LittleEndian.Uint32(src[8:])))
		dst[3] = float64(math.Float32frombits(binary.LittleEndian.Uint32(src[12:])))
		dst, src = dst[4:], src[16:]
	}
	for i := range dst {
		dst[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:])))
	}
	return SpanOf(all)
}
