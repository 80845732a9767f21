package tensor

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"
)

func TestDecodeIdentity(t *testing.T) {
	identity := map[DType]bool{}
	for _, d := range []DType{
		Undefined, Float32, Float16, Float64, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64,
		Complex64, Complex128, QInt8, QInt16, QInt32, QUint8, QUint16, Resource,
	} {
		identity[d] = true
	}
	for _, row := range dtypeRows {
		if row.bits == 0 {
			continue
		}
		dec, err := NewDecoder(row.number)
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		if dec.DType() != row.number || dec.Host().String() != row.host || dec.UnitSize() != (row.bits+7)/8 {
			t.Errorf("%s: decoder of %s, %d bytes to %s", row.name, dec.DType(), dec.UnitSize(), dec.Host())
		}
		if dec.Identity() != identity[row.number] {
			t.Errorf("%s: Identity() = %v", row.name, dec.Identity())
		}
		if !dec.Identity() {
			continue
		}
		src := randomBytes(13 * dec.UnitSize())
		dst := make([]byte, len(src))
		if dec.Decode(dst, src); !bytes.Equal(dst, src) {
			t.Errorf("%s: %x decodes to %x", row.name, src, dst)
		}
	}
}

func TestDecodeUnsupported(t *testing.T) {
	for d, want := range map[DType]string{
		String:       "tensor: unsupported element type string",
		DualSubInt8:  "tensor: unsupported element type dual_sub_int8",
		DualSubUint8: "tensor: unsupported element type dual_sub_uint8",
		StringRef:    "tensor: unsupported element type string_ref",
		Dual:         "tensor: unsupported element type dual",
		Variant:      "tensor: unsupported element type variant",
		99:           "tensor: unsupported element type dtype(99)",
		-5:           "tensor: unsupported element type dtype(-5)",
	} {
		_, err := NewDecoder(d)
		unsupported, ok := errors.AsType[*UnsupportedType](err)
		if !ok || unsupported.DType != d || err.Error() != want {
			t.Errorf("%s: error %v, want %q", d, err, want)
		}
	}
}

// TestDecodeBytes covers the types whose host elements are bytes, for all
// codes, also in place.
func TestDecodeBytes(t *testing.T) {
	for d, want := range map[DType]func(code int) int{
		Bool: func(code int) int {
			if code != 0 {
				return 1
			}
			return 0
		},
		Uint1: func(code int) int { return code % 2 },
		Uint2: func(code int) int { return code % 4 },
		Int2:  func(code int) int { return (code+2)%4 - 2 },
		Int4:  func(code int) int { return (code+8)%16 - 8 },
	} {
		dec, err := NewDecoder(d)
		if err != nil {
			t.Fatal(err)
		}
		codes := allCodes()
		dst := make([]byte, len(codes))
		dec.Decode(dst, codes)
		for code, got := range dst {
			if got != byte(want(code)) {
				t.Errorf("%s: code %#02x is %d, want %d", d, code, int8(got), want(code))
			}
		}
		if dec.Decode(codes, codes); !bytes.Equal(codes, dst) {
			t.Errorf("%s: decoding in place differs", d)
		}
	}
}

// TestDecodeBFloat16 covers all codes, NaN payloads included, and odd lengths.
func TestDecodeBFloat16(t *testing.T) {
	dec, err := NewDecoder(BFloat16)
	if err != nil {
		t.Fatal(err)
	}
	src := everyUint16()
	dst := make([]byte, 2*len(src))
	dec.Decode(dst, src)
	for code := range 1 << 16 {
		if got := binary.LittleEndian.Uint32(dst[4*code:]); got != uint32(code)<<16 {
			t.Fatalf("code %#04x has bits %#08x", code, got)
		}
	}
	for n := range 9 {
		part := make([]byte, 4*n)
		if dec.Decode(part, src[1000:1000+2*n]); !bytes.Equal(part, dst[2000:2000+4*n]) {
			t.Errorf("%d elements decode to %x", n, part)
		}
	}
}

func TestDecodeComplex32(t *testing.T) {
	dec, err := NewDecoder(Complex32)
	if err != nil {
		t.Fatal(err)
	}
	src := everyUint16()
	dst := make([]byte, 2*len(src))
	dec.Decode(dst, src)
	for code := range 1 << 16 {
		got := float64(math.Float32frombits(binary.LittleEndian.Uint32(dst[4*code:])))
		if want := slowHalf(uint16(code)); !sameFloat(got, want) {
			t.Fatalf("part %#04x is %v, want %v", code, got, want)
		}
	}
}

func everyUint16() []byte {
	var data []byte
	for code := range 1 << 16 {
		data = binary.LittleEndian.AppendUint16(data, uint16(code))
	}
	return data
}

func TestDecodeMisuse(t *testing.T) {
	dec, err := NewDecoder(BFloat16)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]int{{4, 4}, {8, 2}, {4, 3}, {0, 2}, {6, 3}} {
		mustPanic(t, func() { dec.Decode(make([]byte, size[0]), make([]byte, size[1])) })
	}
}

// FuzzDecode checks that any bytes of any type decode, and that they decode
// to the same however they are cut.
func FuzzDecode(f *testing.F) {
	for _, row := range dtypeRows {
		f.Add(int32(row.number), []byte("0123456789abcdef0123456789ABCDEF"), 1)
	}
	f.Fuzz(func(t *testing.T, number int32, data []byte, cut int) {
		d := DType(number)
		dec, err := NewDecoder(d)
		if err != nil {
			if d.Bits() != 0 {
				t.Fatal(err)
			}
			return
		}
		count, _ := d.Elements(int64(len(data)))
		units := data
		if d.IsPacked() {
			units = unpackAll(data, d)
		}
		unit, size := dec.UnitSize(), dec.Host().Size()
		n := int(count)
		units = units[:n*unit]
		whole := make([]byte, n*size)
		dec.Decode(whole, units)
		parts := make([]byte, n*size)
		k := 0
		if cut > 0 {
			k = cut % (n + 1)
		}
		dec.Decode(parts[:k*size], units[:k*unit])
		dec.Decode(parts[k*size:], units[k*unit:])
		if !bytes.Equal(parts, whole) {
			t.Fatalf("cut at element %d of %d: %x, want %x", k, n, parts, whole)
		}
	})
}

// slowHalf is the definition of IEEE 754 binary16, by math.Ldexp.
func slowHalf(h uint16) float64 {
	sign, exponent, fraction := h>>15, int(h>>10)%32, float64(h%1024)
	var magnitude float64
	switch {
	case exponent == 31 && fraction == 0:
		magnitude = math.Inf(1)
	case exponent == 31:
		return math.NaN()
	case exponent == 0:
		magnitude = math.Ldexp(fraction/1024, -14)
	default:
		magnitude = math.Ldexp(1+fraction/1024, exponent-15)
	}
	if sign == 1 {
		return -magnitude
	}
	return magnitude
}

// sameFloat reports whether a and b are the same value: NaN equals NaN, and
// the zeros differ.
func sameFloat(a, b float64) bool {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.IsNaN(a) && math.IsNaN(b)
	}
	return math.Float64bits(a) == math.Float64bits(b)
}

func TestFloat16(t *testing.T) {
	for code := range 1 << 16 {
		h := uint16(code)
		want := slowHalf(h)
		if got := Float16To64(h); !sameFloat(got, want) {
			t.Errorf("Float16To64(%#04x) = %v, want %v", h, got, want)
		}
		if got := Float16To32(h); !sameFloat(float64(got), want) {
			t.Errorf("Float16To32(%#04x) = %v, want %v", h, got, want)
		}
	}
}

func TestFloat16NaN(t *testing.T) {
	for _, c := range []struct {
		h  uint16
		f3 uint32
		f6 uint64
	}{
		{0x7e00, 0x7fc00000, 0x7ff8000000000000},
		{0xfe01, 0xffc02000, 0xfff8040000000000},
		{0x7c01, 0x7fc02000, 0x7ff8040000000000}, // signalling: made quiet
		{0xffff, 0xffffe000, 0xfffffc0000000000},
	} {
		if got := math.Float32bits(Float16To32(c.h)); got != c.f3 {
			t.Errorf("Float16To32(%#04x) has bits %#x, want %#x", c.h, got, c.f3)
		}
		if got := math.Float64bits(Float16To64(c.h)); got != c.f6 {
			t.Errorf("Float16To64(%#04x) has bits %#x, want %#x", c.h, got, c.f6)
		}
	}
}
