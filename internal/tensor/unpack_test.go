package tensor

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var packedTypes = []DType{Int4, Uint1, Int2, Uint2, Float4E2M1, Float4E1M2}

// unpackAll unpacks every element of src.
func unpackAll(src []byte, d DType) []byte {
	n, _ := d.Elements(int64(len(src)))
	dst := make([]byte, n)
	Unpack(dst, src, d, 0)
	return dst
}

func TestUnpackOrder(t *testing.T) {
	for _, c := range []struct {
		d   DType
		src []byte
		dst []byte
	}{
		// The example of numpy.unpackbits: [2], [7], [23].
		{Uint1, []byte{2, 7, 23}, []byte{
			0, 0, 0, 0, 0, 0, 1, 0,
			0, 0, 0, 0, 0, 1, 1, 1,
			0, 0, 0, 1, 0, 1, 1, 1,
		}},
		{Uint2, []byte{0b11_10_01_00, 0b00_00_00_11}, []byte{0, 1, 2, 3, 3, 0, 0, 0}},
		{Int2, []byte{0b00_01_10_11}, []byte{3, 2, 1, 0}},
		{Int4, []byte{0x21, 0xf8}, []byte{1, 2, 8, 15}},
		{Float4E2M1, []byte{0x7f}, []byte{15, 7}},
		{Float4E1M2, []byte{0xa0}, []byte{0, 10}},
	} {
		if got := unpackAll(c.src, c.d); !bytes.Equal(got, c.dst) {
			t.Errorf("%s: %x unpacks to %v, want %v", c.d, c.src, got, c.dst)
		}
		packed := make([]byte, len(c.src))
		if Pack(packed, c.dst, c.d); !bytes.Equal(packed, c.src) {
			t.Errorf("%s: %v packs to %x, want %x", c.d, c.dst, packed, c.src)
		}
	}
}

// TestUnpackAnywhere compares any run of elements with the same run of the whole.
func TestUnpackAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(packedTypes).Draw(t, "type")
		src := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "packed")
		whole := unpackAll(src, d)
		first := rapid.IntRange(0, len(whole)).Draw(t, "first")
		end := rapid.IntRange(first, len(whole)).Draw(t, "end")
		got := make([]byte, end-first)
		Unpack(got, src, d, int64(first))
		if !bytes.Equal(got, whole[first:end]) {
			t.Fatalf("elements %d to %d are %v, want %v", first, end, got, whole[first:end])
		}
	})
}

// TestPackPrefix checks that Pack replaces the elements it is given and no
// others, and that it ignores bits that a code does not have.
func TestPackPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(packedTypes).Draw(t, "type")
		packed := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "packed")
		want := unpackAll(packed, d)
		codes := rapid.SliceOfN(rapid.Byte(), 0, len(want)).Draw(t, "codes")
		for i, code := range codes {
			want[i] = code & (1<<d.Bits() - 1)
		}
		Pack(packed, codes, d)
		if got := unpackAll(packed, d); !bytes.Equal(got, want) {
			t.Fatalf("elements are %v, want %v", got, want)
		}
	})
}

// TestUnpackPack checks that packing unpacked elements restores the bytes.
func TestUnpackPack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(packedTypes).Draw(t, "type")
		src := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "packed")
		codes := unpackAll(src, d)
		packed := make([]byte, len(src))
		Pack(packed, codes, d)
		if !bytes.Equal(packed, src) {
			t.Fatalf("packed %x, want %x", packed, src)
		}
	})
}

func TestUnpackMisuse(t *testing.T) {
	one, three := make([]byte, 1), make([]byte, 3)
	for name, misuse := range map[string]func(){
		"not packed":   func() { Unpack(one, one, Int8, 0) },
		"unknown type": func() { Pack(one, one, 99) },
		"negative":     func() { Unpack(one, one, Int4, -1) },
		"short source": func() { Unpack(three, one, Int4, 0) },
		"short end":    func() { Unpack(one, one, Int4, 2) },
		"short target": func() { Pack(one, three, Int4) },
	} {
		t.Run(name, func(t *testing.T) { mustPanic(t, misuse) })
	}
	if slices.ContainsFunc(packedTypes, func(d DType) bool { return !d.IsPacked() }) {
		t.Error("a packed type does not say so")
	}
}

func mustPanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	f()
}
