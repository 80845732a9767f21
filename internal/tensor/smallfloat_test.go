package tensor

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"
)

// decodeCodes decodes one-byte codes to float32 values.
func decodeCodes(t *testing.T, d DType, codes []byte) []float64 {
	t.Helper()
	dec, err := NewDecoder(d)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, len(codes)*dec.Host().Size())
	dec.Decode(dst, codes)
	values := make([]float64, len(codes))
	Float64s(values, dst, HostFloat32)
	return values
}

func allCodes() []byte {
	codes := make([]byte, 256)
	for i := range codes {
		codes[i] = byte(i)
	}
	return codes
}

func TestFloat8(t *testing.T) {
	f, err := os.Open("testdata/fp8.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 257 || len(rows[0]) != 5 {
		t.Fatalf("%d rows of %d columns", len(rows), len(rows[0]))
	}
	for column, name := range rows[0][1:] {
		d, ok := ParseDType(name)
		if !ok {
			t.Fatalf("no type %s", name)
		}
		got := decodeCodes(t, d, allCodes())
		for code, row := range rows[1:] {
			want, err := strconv.ParseFloat(row[column+1], 64)
			if err != nil || row[0] != strconv.Itoa(code) {
				t.Fatalf("row %v: %v", row, err)
			}
			if !sameFloat(got[code], want) {
				t.Errorf("%s: code %#02x is %v, want %v", name, code, got[code], want)
			}
		}
	}
}

func TestFloat8NaN(t *testing.T) {
	const positive, negative = 0x7fc00000, 0xffc00000
	for _, c := range []struct {
		d    DType
		code byte
		bits uint32
	}{
		{HiFloat8, 0x80, positive}, // the only NaN: its upper bit is no sign
		{Float8E8M0, 0xff, positive},
		{Float8E4M3FN, 0x7f, positive},
		{Float8E4M3FN, 0xff, negative},
		{Float8E5M2, 0x7d, positive},
		{Float8E5M2, 0x7f, positive},
		{Float8E5M2, 0xfe, negative},
	} {
		dec, err := NewDecoder(c.d)
		if err != nil {
			t.Fatal(err)
		}
		dst := make([]byte, 4)
		dec.Decode(dst, []byte{c.code})
		if got := uint32(dst[0]) | uint32(dst[1])<<8 | uint32(dst[2])<<16 | uint32(dst[3])<<24; got != c.bits {
			t.Errorf("%s: code %#02x has bits %#x, want %#x", c.d, c.code, got, c.bits)
		}
	}
}

// TestSmallFloats compares the 6-bit and 4-bit formats with lists of their
// non-negative values.
func TestSmallFloats(t *testing.T) {
	for _, c := range []struct {
		d      DType
		values []float64
	}{
		{Float6E3M2, []float64{
			0, 0.0625, 0.125, 0.1875, 0.25, 0.3125, 0.375, 0.4375,
			0.5, 0.625, 0.75, 0.875, 1, 1.25, 1.5, 1.75,
			2, 2.5, 3, 3.5, 4, 5, 6, 7,
			8, 10, 12, 14, 16, 20, 24, 28,
		}},
		{Float6E2M3, []float64{
			0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875,
			1, 1.125, 1.25, 1.375, 1.5, 1.625, 1.75, 1.875,
			2, 2.25, 2.5, 2.75, 3, 3.25, 3.5, 3.75,
			4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5,
		}},
		{Float4E2M1, []float64{0, 0.5, 1, 1.5, 2, 3, 4, 6}},
		{Float4E1M2, []float64{0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75}},
	} {
		half := len(c.values)
		for code, got := range decodeCodes(t, c.d, allCodes()) {
			want := c.values[code%half]
			if code/half%2 == 1 {
				want = math.Copysign(want, -1)
			}
			// Bits above the format's own are ignored.
			if !sameFloat(got, want) {
				t.Errorf("%s: code %#02x is %v, want %v", c.d, code, got, want)
			}
		}
	}
}

// TestSmallFloatFormula builds the same formats from another direction: the
// distance between neighbours doubles every 2^frac codes.
func TestSmallFloatFormula(t *testing.T) {
	for _, c := range []struct {
		d         DType
		bits      int
		frac      int
		firstStep float64
	}{
		{Float6E3M2, 6, 2, 1.0 / 16},
		{Float6E2M3, 6, 3, 1.0 / 8},
		{Float4E2M1, 4, 1, 1.0 / 2},
		{Float4E1M2, 4, 2, 1.0 / 4},
	} {
		values := decodeCodes(t, c.d, allCodes())
		want, step := 0.0, c.firstStep
		for code := range 1 << (c.bits - 1) {
			if code > 1<<c.frac && code%(1<<c.frac) == 0 {
				step *= 2
			}
			if values[code] != want {
				t.Errorf("%s: code %#02x is %v, want %v", c.d, code, values[code], want)
			}
			want += step
		}
	}
}
