package engine

import (
	"encoding/binary"
	"math"
	"sync"

	"dumptool/internal/tensor"
)

// measured is values for real elements, which are not empty, with their span.
func (n *number) measured(dst []float64, src, buffer []byte) span {
	out := emptySpan()
	done, special := 0, false
	switch n.dtype {
	case tensor.Float16:
		done, special = float16sHead(dst, src, &out)
	case tensor.BFloat16:
		done, special = bfloat16sHead(dst, src, &out)
	case tensor.Float32:
		done, special = float32sHead(dst, src, &out)
	}
	n.values(dst[done:], src[done*n.size:], buffer)
	if done == 0 {
		return spanOf(dst)
	}
	return newSpan(&out, special, dst[done:])
}

// values sets dst to the values of the elements in src, to the parts of complex
// ones. buffer is room for host elements.
func (n *number) values(dst []float64, src, buffer []byte) {
	switch {
	case n.table != nil:
		for i, code := range src[:len(dst)] {
			dst[i] = n.table[code]
		}
	case n.dtype == tensor.Float16:
		decodeFloat16(dst, src)
	case n.dtype == tensor.BFloat16:
		decodeBFloat16(dst, src)
	case n.dtype == tensor.Float32:
		decodeFloat32(dst, src)
	case n.complex:
		host := n.decoder.Host()
		part := tensor.HostFloat32
		if host == tensor.HostComplex128 {
			part = tensor.HostFloat64
		}
		buffer = buffer[:len(src)/n.size*host.Size()]
		n.decoder.Decode(buffer, src)
		tensor.Float64s(dst, buffer, part)
	default:
		tensor.Float64s(dst, src, n.decoder.Host())
	}
}

// parts sets dst to both parts of the elements in src; real elements have the
// imaginary part 0.
func (n *number) parts(dst []float64, src, buffer []byte) {
	if n.complex {
		n.values(dst, src, buffer)
		return
	}
	count := len(dst) / 2
	n.values(dst[:count], src, buffer)
	for i := count - 1; i >= 0; i-- {
		dst[2*i], dst[2*i+1] = dst[i], 0
	}
}

// float16Values holds the values of all float16 codes.
var float16Values = sync.OnceValue(func() *[1 << 16]float32 {
	values := new([1 << 16]float32)
	for code := range values {
		values[code] = tensor.Float16To32(uint16(code))
	}
	return values
})

func decodeFloat16(dst []float64, src []byte) {
	if len(dst) == 0 {
		return
	}
	table := float16Values()
	for len(dst) >= 4 && len(src) >= 8 {
		four := binary.LittleEndian.Uint64(src)
		dst[0] = float64(table[uint16(four)])
		dst[1] = float64(table[uint16(four>>16)])
		dst[2] = float64(table[uint16(four>>32)])
		dst[3] = float64(table[uint16(four>>48)])
		dst, src = dst[4:], src[8:]
	}
	for i := range dst {
		dst[i] = float64(table[binary.LittleEndian.Uint16(src[2*i:])])
	}
}

func decodeBFloat16(dst []float64, src []byte) {
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
}

func decodeFloat32(dst []float64, src []byte) {
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
}

// integers sets dst to the integers in src, in two's complement of 64 bits.
// values are their float64 values. It does nothing for other types.
func (n *number) integers(dst []uint64, src []byte, values []float64) {
	if !n.integer {
		return
	}
	if n.bits == 64 {
		for i := range dst {
			dst[i] = binary.LittleEndian.Uint64(src[8*i:])
		}
		return
	}
	for i, x := range values[:len(dst)] {
		dst[i] = uint64(int64(x))
	}
}

// storedCodes sets dst to the codes of the elements in src where they can be
// read from their bits, and reports whether they can. A NaN has any code.
func (n *number) storedCodes(dst []int64, src []byte) bool {
	switch n.dtype {
	case tensor.Float16, tensor.BFloat16:
		for i := codes16Head(dst, src); i < len(dst); i++ {
			code := int64(int16(binary.LittleEndian.Uint16(src[2*i:])))
			sign := code >> 63
			dst[i] = (code&0x7fff ^ sign) - sign
		}
	case tensor.Float32:
		for i := codes32Head(dst, src); i < len(dst); i++ {
			code := int64(int32(binary.LittleEndian.Uint32(src[4*i:])))
			sign := code >> 63
			dst[i] = (code&0x7fffffff ^ sign) - sign
		}
	default:
		if n.codeOf == nil {
			return false
		}
		for i, b := range src[:len(dst)] {
			dst[i] = n.codeOf[b]
		}
	}
	return true
}

// complexClass returns the class of a complex element.
func complexClass(re, im float64) Class {
	a, b := classOf(re), classOf(im)
	switch {
	case a == NaN || b == NaN:
		return NaN
	case a == PosInf || b == PosInf:
		return PosInf
	case a == NegInf || b == NegInf:
		return NegInf
	}
	return Finite
}

// classOf returns the class of a real value.
func classOf(x float64) Class {
	switch {
	case x > math.MaxFloat64:
		return PosInf
	case x < -math.MaxFloat64:
		return NegInf
	case x != x:
		return NaN
	}
	return Finite
}
