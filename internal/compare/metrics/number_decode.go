package metrics

import (
	"encoding/binary"

	"dumptool/internal/compare/metrics/kernel"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Decode returns the values of stored elements. Complex types are an error.
func Decode(d tensor.DType, src []byte) ([]float64, error) {
	n, err := newNumber(d)
	if err != nil {
		return nil, err
	}
	if n.complex {
		return nil, lang.Errorf("%s has no real values", d)
	}
	dst := make([]float64, len(src)/n.size)
	n.values(dst, src, nil)
	return dst, nil
}

// values sets dst to the values of the elements in src, of complex elements to both parts,
// and returns their span. buffer is scratch memory for host elements.
func (n *number) values(dst []float64, src, buffer []byte) kernel.Span {
	switch {
	case n.dtype == tensor.Float16:
		return kernel.Float16s(dst, src)
	case n.dtype == tensor.BFloat16:
		return kernel.BFloat16s(dst, src)
	case n.dtype == tensor.Float32:
		return kernel.Float32s(dst, src)
	case n.table != nil:
		for i, code := range src[:len(dst)] {
			dst[i] = n.table[code]
		}
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
	return kernel.SpanOf(dst)
}

// decodeParts sets dst to both parts of the elements in src; real elements have the
// imaginary part 0.
func (n *number) decodeParts(dst []float64, src, buffer []byte) {
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

// integers sets dst to the integers in src, in two's complement of 64 bits. values are
// their float64 values. It does nothing if the type is not an integer type.
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

// storedCodes sets dst to codes computed directly from the stored bits, and reports
// whether the type allows that. A NaN gets an arbitrary code.
func (n *number) storedCodes(dst []int64, src []byte) bool {
	switch n.dtype {
	case tensor.Float16, tensor.BFloat16:
		kernel.Codes16(dst, src)
	case tensor.Float32:
		kernel.Codes32(dst, src)
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
