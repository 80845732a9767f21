package tensor

import "encoding/binary"

// packing says how elements narrower than a byte share one. The order of the
// elements in a byte is stated here and nowhere else. Only that of uint1 (most
// significant bit first, as numpy.unpackbits) is public; the others fill a
// byte from its low bits.
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

// packing returns how elements of the type are packed, nil when each fills
// whole bytes.
func (d DType) packing() *packing {
	if d < 0 || int(d) >= len(packings) {
		return nil
	}
	return packings[d]
}

// Packed reports whether several elements of the type share a byte.
func (d DType) Packed() bool { return d.packing() != nil }

// locate returns the packing of d, the byte that holds packed element first
// and the number of the element in that byte.
func locate(d DType, first int64) (p *packing, offset int64, k int) {
	p = d.packing()
	if p == nil {
		panic("tensor: elements of type " + d.String() + " are not packed")
	}
	if first < 0 {
		panic("tensor: negative element index")
	}
	return p, first / int64(p.per), int(first % int64(p.per))
}

// Unpack sets dst to the codes of len(dst) packed elements of src, one code
// per byte, beginning with element first of src. Codes are the bare bits: the
// sign of an int4 is left to a Decoder. It panics if d is not packed or src is
// too short.
func Unpack(dst, src []byte, d DType, first int64) {
	p, offset, k := locate(d, first)
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

// Pack is the reverse of Unpack: it stores the codes of src, one per byte, as
// the packed elements first, first+1, ... of dst and leaves the other elements
// of dst as they are. Bits of a code that the type does not have are dropped.
// It panics if d is not packed or dst is too short.
func Pack(dst, src []byte, d DType, first int64) {
	p, offset, k := locate(d, first)
	dst = dst[offset:]
	if k > 0 && len(src) > 0 {
		n := min(p.per-k, len(src))
		p.packByte(&dst[0], src[:n], k)
		dst, src = dst[1:], src[n:]
	}
	for len(src) >= p.per {
		var b byte
		for k, code := range src[:p.per] {
			b |= code & p.mask << p.shifts[k&7]
		}
		dst[0] = b
		dst, src = dst[1:], src[p.per:]
	}
	if len(src) > 0 {
		p.packByte(&dst[0], src, 0)
	}
}

// packByte replaces codes k, k+1, ... of one byte.
func (p *packing) packByte(b *byte, src []byte, k int) {
	for i, code := range src {
		shift := p.shifts[k+i]
		*b = *b&^(p.mask<<shift) | code&p.mask<<shift
	}
}
