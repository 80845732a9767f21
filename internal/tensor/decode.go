package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
)

// UnsupportedType is the error for an element type that has no host elements:
// one without elements of a fixed size, or a number without a name.
type UnsupportedType struct {
	DType DType
}

// Error names the type.
func (e *UnsupportedType) Error() string {
	return fmt.Sprintf("tensor: unsupported element type %s", e.DType)
}

// Decoder turns stored elements of one type into little-endian host elements.
type Decoder struct {
	dtype  DType
	decode func(dst, src []byte) // nil: a host element is the stored element
}

// NewDecoder returns the decoder of the type, or an *UnsupportedType error if
// its elements have no host type.
func NewDecoder(d DType) (Decoder, error) {
	if d.Host() == HostNone {
		return Decoder{}, &UnsupportedType{DType: d}
	}
	return Decoder{dtype: d, decode: decoders[d]}, nil
}

// DType returns the stored element type.
func (d Decoder) DType() DType { return d.dtype }

// Host returns the element type that the decoder produces.
func (d Decoder) Host() Host { return d.dtype.Host() }

// UnitSize returns the size in bytes of one element of Decode's source.
func (d Decoder) UnitSize() int { return d.dtype.UnitSize() }

// Identity reports whether the host elements are the stored bytes as they are,
// so that they can be copied instead of decoded.
func (d Decoder) Identity() bool { return d.decode == nil }

// Decode sets dst to the host elements of the elements in src: n*UnitSize()
// bytes become n*Host().Size() bytes. Packed elements come as Unpack leaves
// them, one code per byte; bits that a code does not have are ignored. dst and
// src may be the same slice if both sizes are equal, and must not overlap
// otherwise. It panics if the lengths do not fit each other.
func (d Decoder) Decode(dst, src []byte) {
	n, size := len(src)/d.UnitSize(), d.Host().Size()
	if len(src) != n*d.UnitSize() || len(dst) != n*size {
		panic(fmt.Sprintf("tensor: decoding %d bytes of %s into %d bytes", len(src), d.dtype, len(dst)))
	}
	if d.decode == nil {
		copy(dst, src)
		return
	}
	d.decode(dst, src)
}

// decoders is indexed by DType. Types without a row are stored as the host
// keeps them, or have no host type.
var decoders = [len(dtypes)]func(dst, src []byte){
	Bool:         byBytes(func(code byte) byte { return min(code, 1) }),
	BFloat16:     decodeBFloat16,
	Int4:         byBytes(func(code byte) byte { return byte(int8(code<<4) >> 4) }),
	Uint1:        byBytes(func(code byte) byte { return code & 1 }),
	Int2:         byBytes(func(code byte) byte { return byte(int8(code<<6) >> 6) }),
	Uint2:        byBytes(func(code byte) byte { return code & 3 }),
	Complex32:    decodeFloat16,
	HiFloat8:     byFloats(hifloat8Table),
	Float8E5M2:   byFloats(e5m2Table),
	Float8E4M3FN: byFloats(e4m3fnTable),
	Float8E8M0:   byFloats(e8m0Table),
	Float6E3M2:   byFloats(e3m2Table),
	Float6E2M3:   byFloats(e2m3Table),
	Float4E2M1:   byFloats(e2m1Table),
	Float4E1M2:   byFloats(e1m2Table),
}

// byBytes decodes one-byte codes to one-byte elements through a table.
func byBytes(element func(code byte) byte) func(dst, src []byte) {
	var table [256]byte
	for code := range table {
		table[code] = element(byte(code))
	}
	return func(dst, src []byte) {
		dst = dst[:len(src)]
		for i, code := range src {
			dst[i] = table[code]
		}
	}
}

// byFloats decodes one-byte codes to float32 through a table.
func byFloats(table *floatTable) func(dst, src []byte) {
	return func(dst, src []byte) {
		for len(src) >= 4 && len(dst) >= 16 {
			binary.LittleEndian.PutUint32(dst, table[src[0]])
			binary.LittleEndian.PutUint32(dst[4:], table[src[1]])
			binary.LittleEndian.PutUint32(dst[8:], table[src[2]])
			binary.LittleEndian.PutUint32(dst[12:], table[src[3]])
			dst, src = dst[16:], src[4:]
		}
		for i, code := range src {
			binary.LittleEndian.PutUint32(dst[4*i:], table[code])
		}
	}
}

// decodeBFloat16 widens bfloat16, the upper half of a float32.
func decodeBFloat16(dst, src []byte) {
	for len(src) >= 8 && len(dst) >= 16 {
		four := binary.LittleEndian.Uint64(src)
		binary.LittleEndian.PutUint64(dst, four&0xffff<<16|four>>16<<48)
		binary.LittleEndian.PutUint64(dst[8:], four>>32&0xffff<<16|four>>48<<48)
		dst, src = dst[16:], src[8:]
	}
	for ; len(src) >= 2; dst, src = dst[4:], src[2:] {
		binary.LittleEndian.PutUint32(dst, uint32(binary.LittleEndian.Uint16(src))<<16)
	}
}

// decodeFloat16 widens float16, the parts of a complex32.
func decodeFloat16(dst, src []byte) {
	for len(src) >= 2 && len(dst) >= 4 {
		part := Float16To32(binary.LittleEndian.Uint16(src))
		binary.LittleEndian.PutUint32(dst, math.Float32bits(part))
		dst, src = dst[4:], src[2:]
	}
}
