package tensor

import (
	"encoding/binary"
	"fmt"
	"math"

	"dumptool/internal/lang"
)

// UnsupportedType is the error for an element type without host elements: its elements have no
// fixed size, or its number has no name.
type UnsupportedType struct {
	DType DType
}

// Error names the type.
func (e *UnsupportedType) Error() string { return e.Text().String() }

// Text is the error in both languages.
func (e *UnsupportedType) Text() lang.Text {
	return lang.Say("tensor: unsupported element type %s", e.DType).Text()
}

// Decoder turns stored elements of one type into little-endian host elements.
type Decoder struct {
	dtype  DType
	decode func(dst, src []byte) // nil if stored and host elements are the same bytes
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

// Identity reports whether host elements are the stored bytes, so that they can be copied.
func (d Decoder) Identity() bool { return d.decode == nil }

// Decode sets dst to the host elements of the elements in src: n*UnitSize() bytes become
// n*Host().Size() bytes. Packed elements must be unpacked, one code per byte; bits above the code
// are ignored. dst and src may be the same slice if both sizes are equal, and must not overlap
// otherwise. It panics if the lengths are inconsistent.
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

// decoders is indexed by DType. nil: elements are stored as host elements, or the type has no host
// type.
var decoders = [len(dtypes)]func(dst, src []byte){
	Bool:         decodeBytes(func(code byte) byte { return min(code, 1) }),
	BFloat16:     decodeBFloat16,
	Int4:         decodeBytes(func(code byte) byte { return byte(int8(code<<4) >> 4) }),
	Uint1:        decodeBytes(func(code byte) byte { return code & 1 }),
	Int2:         decodeBytes(func(code byte) byte { return byte(int8(code<<6) >> 6) }),
	Uint2:        decodeBytes(func(code byte) byte { return code & 3 }),
	Complex32:    decodeFloat16,
	HiFloat8:     decodeFloats(hifloat8Table),
	Float8E5M2:   decodeFloats(e5m2Table),
	Float8E4M3FN: decodeFloats(e4m3fnTable),
	Float8E8M0:   decodeFloats(e8m0Table),
	Float6E3M2:   decodeFloats(e3m2Table),
	Float6E2M3:   decodeFloats(e2m3Table),
	Float4E2M1:   decodeFloats(e2m1Table),
	Float4E1M2:   decodeFloats(e1m2Table),
}

// decodeBytes decodes one-byte codes to one-byte elements through a table.
func decodeBytes(element func(code byte) byte) func(dst, src []byte) {
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

// decodeFloats decodes one-byte codes to float32 through a table.
func decodeFloats(table *floatTable) func(dst, src []byte) {
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

// decodeFloat16 widens float16, and the parts of complex32.
func decodeFloat16(dst, src []byte) {
	for len(src) >= 2 && len(dst) >= 4 {
		part := Float16To32(binary.LittleEndian.Uint16(src))
		binary.LittleEndian.PutUint32(dst, math.Float32bits(part))
		dst, src = dst[4:], src[2:]
	}
}

// halfRow describes the upper six bits of a float16 (sign and exponent): the value is (hidden |
// fraction) x scale.
type halfRow struct {
	hidden uint16 // the leading one, 0 for subnormals
	scale  float64
}

// halfRows converts zeros, subnormals and normal numbers without a branch: real data mixes them at
// random.
var halfRows = func() (rows [64]halfRow) {
	for i := range rows {
		exp := i & 0x1f
		row := halfRow{hidden: 1 << 10, scale: math.Ldexp(1, exp-25)}
		if exp == 0 {
			row = halfRow{scale: math.Ldexp(1, -24)}
		}
		if i >= 32 {
			row.scale = -row.scale
		}
		rows[i] = row
	}
	return rows
}()

const (
	halfExp  = 0x7c00
	halfFrac = 0x03ff
)

// Float16To64 returns the value of an IEEE 754 binary16 number. The conversion
// is exact; a NaN becomes quiet and keeps its sign and payload.
func Float16To64(h uint16) float64 {
	if h&halfExp == halfExp {
		return decodeHalfSpecial(h)
	}
	row := &halfRows[h>>10]
	return float64(int32(h&halfFrac|row.hidden)) * row.scale
}

// Float16To32 is Float16To64 for float32, which holds every float16 too.
func Float16To32(h uint16) float32 { return float32(Float16To64(h)) }

// decodeHalfSpecial converts an infinity or a NaN.
func decodeHalfSpecial(h uint16) float64 {
	bits := uint64(h&0x8000)<<48 | 0x7ff<<52 | uint64(h&halfFrac)<<42
	if h&halfFrac != 0 {
		bits |= 1 << 51
	}
	return math.Float64frombits(bits)
}

// floatTable holds the float32 bits of every code of an 8-bit or narrower
// floating-point format.
type floatTable [256]uint32

// The value tables of the small formats. Bits above the code are ignored. A NaN is quiet, with the
// sign of its code if the format has NaNs of both signs.
var (
	hifloat8Table = newFloatTable(hifloat8)
	e5m2Table     = newFloatTable(float8E5M2)
	e4m3fnTable   = newFloatTable(float8E4M3FN)
	e8m0Table     = newFloatTable(float8E8M0)
	e3m2Table     = newFloatTable(floats[Float6E3M2].decodeCode)
	e2m3Table     = newFloatTable(floats[Float6E2M3].decodeCode)
	e2m1Table     = newFloatTable(floats[Float4E2M1].decodeCode)
	e1m2Table     = newFloatTable(floats[Float4E1M2].decodeCode)
)

func newFloatTable(value func(code byte) float64) *floatTable {
	table := new(floatTable)
	for code := range table {
		table[code] = math.Float32bits(float32(value(byte(code))))
	}
	return table
}

func applySign(value float64, negative bool) float64 {
	if negative {
		return math.Copysign(value, -1)
	}
	return value
}

// float8E5M2 is E5M2 of the OCP 8-bit Floating Point Specification (OFP8) 1.0:
// exponent 31 is an infinity or NaN, as in IEEE 754.
func float8E5M2(code byte) float64 {
	negative := code&0x80 != 0
	switch magnitude := code & 0x7f; {
	case magnitude == 0x7c:
		return applySign(math.Inf(1), negative)
	case magnitude > 0x7c:
		return applySign(math.NaN(), negative)
	}
	return floats[Float8E5M2].decodeCode(code)
}

// float8E4M3FN is E4M3 of the OCP 8-bit Floating Point Specification (OFP8)
// 1.0: no infinities, and only the code of all ones is NaN.
func float8E4M3FN(code byte) float64 {
	if code&0x7f == 0x7f {
		return applySign(math.NaN(), code&0x80 != 0)
	}
	return floats[Float8E4M3FN].decodeCode(code)
}

// float8E8M0 is the scale format E8M0 of the OCP Microscaling Formats (MX)
// specification 1.0: a bare exponent.
func float8E8M0(code byte) float64 {
	if code == 0xff {
		return math.NaN()
	}
	return math.Ldexp(1, int(code)-127)
}

// hifloat8 is HiF8 (arXiv 2409.16626): a sign, a prefix code for the number of
// exponent bits, a sign-magnitude exponent with a hidden leading one, and the
// fraction in the bits that are left.
func hifloat8(code byte) float64 {
	switch code {
	case 0x00:
		return 0
	case 0x80:
		return math.NaN()
	case 0x6f:
		return math.Inf(1)
	case 0xef:
		return math.Inf(-1)
	}
	negative, bits := code&0x80 != 0, int(code&0x7f)
	for _, row := range hifloat8Rows {
		if bits>>row.shift != row.prefix {
			continue
		}
		fracBits := row.shift - row.exp
		fraction := bits & (1<<fracBits - 1)
		exponent := 0
		if row.exp > 0 {
			field := bits >> fracBits & (1<<row.exp - 1)
			hidden := 1 << (row.exp - 1)
			exponent = hidden | field&(hidden-1)
			if field&hidden != 0 {
				exponent = -exponent
			}
		}
		return applySign(math.Ldexp(float64(int(1)<<fracBits+fraction), exponent-fracBits), negative)
	}
	return applySign(math.Ldexp(1, bits-23), negative) // prefix 0000: denormal
}

// hifloat8Rows lists the prefixes of the seven bits below the sign, each with the number of bits
// after it and the number of exponent bits among them.
var hifloat8Rows = []struct{ prefix, shift, exp int }{
	{0b11, 5, 4},
	{0b10, 5, 3},
	{0b01, 5, 2},
	{0b001, 4, 1},
	{0b0001, 3, 0},
}

// packing is the order of elements narrower than a byte. Only the order of uint1 is public (most
// significant bit first, as numpy.unpackbits); for the other types the first element is in the low
// bits.
type packing struct {
	per    int         // elements per byte
	mask   byte        // the bits of one code
	shifts [8]uint8    // shifts[k] is the lowest bit of code k
	codes  [256]uint64 // the codes of a byte, code k in byte k of the word
}

var (
	bitsHighFirst  = newPacking(1, true)
	pairsLowFirst  = newPacking(2, false)
	nibbleLowFirst = newPacking(4, false)
)

// packings is indexed by DType; types that fill whole bytes have none.
var packings = [len(dtypes)]*packing{
	Int4:       nibbleLowFirst,
	Uint1:      bitsHighFirst,
	Int2:       pairsLowFirst,
	Uint2:      pairsLowFirst,
	Float4E2M1: nibbleLowFirst,
	Float4E1M2: nibbleLowFirst,
}

func newPacking(bits int, highFirst bool) *packing {
	p := &packing{per: 8 / bits, mask: 1<<bits - 1}
	for k := range p.per {
		low := k * bits
		if highFirst {
			low = 8 - bits - low
		}
		p.shifts[k] = uint8(low)
	}
	for b := range p.codes {
		for k := range p.per {
			p.codes[b] |= uint64(byte(b)>>p.shifts[k]&p.mask) << (8 * k)
		}
	}
	return p
}

// packingOf returns the packing of the type, nil if its elements fill whole bytes.
func (d DType) packingOf() *packing {
	if d < 0 || int(d) >= len(packings) {
		return nil
	}
	return packings[d]
}

// IsPacked reports whether several elements of the type share a byte.
func (d DType) IsPacked() bool { return d.packingOf() != nil }

// packedPosition returns the packing of d, the byte that holds packed element first
// and the number of the element in that byte.
func packedPosition(d DType, first int64) (p *packing, offset int64, k int) {
	p = d.packingOf()
	if p == nil {
		panic("tensor: elements of type " + d.String() + " are not packed")
	}
	if first < 0 {
		panic("tensor: negative element index")
	}
	return p, first / int64(p.per), int(first % int64(p.per))
}

// Unpack sets dst to the codes of len(dst) packed elements of src, one code per byte, beginning
// with element first of src. Codes are the bare bits: a Decoder extends the sign of an int4. It
// panics if d is not packed or src is too short.
func Unpack(dst, src []byte, d DType, first int64) {
	p, offset, k := packedPosition(d, first)
	src = src[offset:]
	if k > 0 && len(dst) > 0 {
		n := min(p.per-k, len(dst))
		p.unpackByte(dst[:n], src[0], k)
		dst, src = dst[n:], src[1:]
	}
	whole := len(dst) / p.per
	p.unpackBytes(dst[:whole*p.per], src[:whole])
	if rest := dst[whole*p.per:]; len(rest) > 0 {
		p.unpackByte(rest, src[whole], 0)
	}
}

// unpackByte unpacks codes k, k+1, ... of one byte.
func (p *packing) unpackByte(dst []byte, b byte, k int) {
	for i := range dst {
		dst[i] = b >> p.shifts[k+i] & p.mask
	}
}

// unpackBytes unpacks whole bytes.
func (p *packing) unpackBytes(dst, src []byte) {
	switch p.per {
	case 8:
		for len(dst) >= 8 && len(src) >= 1 {
			binary.LittleEndian.PutUint64(dst, p.codes[src[0]])
			dst, src = dst[8:], src[1:]
		}
	case 4:
		for len(dst) >= 8 && len(src) >= 2 {
			binary.LittleEndian.PutUint64(dst, p.codes[src[0]]|p.codes[src[1]]<<32)
			dst, src = dst[8:], src[2:]
		}
	case 2:
		for len(dst) >= 8 && len(src) >= 4 {
			binary.LittleEndian.PutUint64(dst, p.codes[src[0]]|p.codes[src[1]]<<16|
				p.codes[src[2]]<<32|p.codes[src[3]]<<48)
			dst, src = dst[8:], src[4:]
		}
	}
	for i, b := range src {
		p.unpackByte(dst[i*p.per:(i+1)*p.per], b, 0)
	}
}

// Pack is the reverse of Unpack: it stores the codes of src, one per byte, as the first packed
// elements of dst and keeps the other elements of dst. Bits above the code are dropped. It panics
// if d is not packed or dst is too short.
func Pack(dst, src []byte, d DType) {
	p, _, _ := packedPosition(d, 0)
	for len(src) >= p.per {
		var b byte
		for k, code := range src[:p.per] {
			b |= code & p.mask << p.shifts[k&7]
		}
		dst[0] = b
		dst, src = dst[1:], src[p.per:]
	}
	for i, code := range src {
		shift := p.shifts[i]
		dst[0] = dst[0]&^(p.mask<<shift) | code&p.mask<<shift
	}
}
