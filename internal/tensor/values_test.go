package tensor

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"math/cmplx"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// hostBytes returns a slice of fixed-size values as little-endian bytes.
func hostBytes(t *testing.T, values any) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := binary.Write(&buf, binary.LittleEndian, values); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestFloat64s(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		h      Host
		values any
		want   []float64
	}{
		{HostBool, []uint8{0, 1, 2, 255}, []float64{0, 1, 1, 1}},
		{HostInt8, []int8{-128, -1, 0, 127}, []float64{-128, -1, 0, 127}},
		{HostUint8, []uint8{0, 128, 255}, []float64{0, 128, 255}},
		{HostInt16, []int16{-32768, -1, 32767}, []float64{-32768, -1, 32767}},
		{HostUint16, []uint16{0, 65535}, []float64{0, 65535}},
		{HostInt32, []int32{math.MinInt32, -1, math.MaxInt32}, []float64{-2147483648, -1, 2147483647}},
		{HostUint32, []uint32{0, math.MaxUint32}, []float64{0, 4294967295}},
		{HostInt64, []int64{math.MinInt64, -1, 1 << 53}, []float64{-0x1p63, -1, 0x1p53}},
		{HostUint64, []uint64{0, 1 << 63}, []float64{0, 0x1p63}},
		{HostFloat16, []uint16{0, 0x8000, 1, 0x3c00, 0xc000, 0x7bff, 0x7c00, 0xfc00, 0x7e00},
			[]float64{0, math.Copysign(0, -1), 0x1p-24, 1, -2, 65504, inf, -inf, nan}},
		{HostFloat32, []float32{0.1, math.MaxFloat32, float32(inf), float32(nan), math.SmallestNonzeroFloat32},
			[]float64{0x1.99999ap-4, 0x1.fffffep127, inf, nan, 0x1p-149}},
		{HostFloat64, []float64{0.1, -inf, nan, math.SmallestNonzeroFloat64},
			[]float64{0.1, -inf, nan, math.SmallestNonzeroFloat64}},
	} {
		src := hostBytes(t, c.values)
		got := make([]float64, len(c.want))
		Float64s(got, src, c.h)
		for i := range got {
			if !sameFloat(got[i], c.want[i]) {
				t.Errorf("%s: %v is %v, want %v", c.h, reflect.ValueOf(c.values).Index(i), got[i], c.want[i])
			}
		}
	}
}

// TestFloat64sRounding checks the integers that float64 cannot hold against
// math/big, which rounds to nearest, ties to even.
func TestFloat64sRounding(t *testing.T) {
	var unsigned []uint64
	for shift := range 64 {
		for _, low := range []uint64{0, 1, 2, 3, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 3072} {
			unsigned = append(unsigned, 1<<shift+low, 1<<shift-low, math.MaxUint64-low)
		}
	}
	signed := make([]int64, len(unsigned))
	for i, x := range unsigned {
		signed[i] = int64(x)
	}
	got := make([]float64, len(unsigned))
	Float64s(got, hostBytes(t, unsigned), HostUint64)
	for i, x := range unsigned {
		if want, _ := new(big.Float).SetUint64(x).Float64(); got[i] != want {
			t.Errorf("uint64 %d is %v, want %v", x, got[i], want)
		}
	}
	Float64s(got, hostBytes(t, signed), HostInt64)
	for i, x := range signed {
		if want, _ := new(big.Float).SetInt64(x).Float64(); got[i] != want {
			t.Errorf("int64 %d is %v, want %v", x, got[i], want)
		}
	}
}

func TestFloat64sEveryFloat16(t *testing.T) {
	got := make([]float64, 1<<16)
	Float64s(got, everyUint16(), HostFloat16)
	for code, x := range got {
		if want := slowHalf(uint16(code)); !sameFloat(x, want) {
			t.Fatalf("%#04x is %v, want %v", code, x, want)
		}
	}
}

func TestComplex128s(t *testing.T) {
	for n := range 70 { // several pieces, and partial ones
		wide := make([]complex128, n)
		narrow := make([]complex64, n)
		for i := range wide {
			wide[i] = complex(float64(i)+0.1, -1/float64(i))
			narrow[i] = complex64(wide[i])
		}
		got := make([]complex128, n)
		Complex128s(got, hostBytes(t, wide), HostComplex128)
		for i := range got {
			if got[i] != wide[i] {
				t.Errorf("complex128 %v is %v", wide[i], got[i])
			}
		}
		Complex128s(got, hostBytes(t, narrow), HostComplex64)
		for i := range got {
			if got[i] != complex128(narrow[i]) {
				t.Errorf("complex64 %v is %v", narrow[i], got[i])
			}
		}
	}
	got := make([]complex128, 1)
	Complex128s(got, hostBytes(t, []float32{float32(math.NaN()), float32(math.Inf(-1))}), HostComplex64)
	if !math.IsNaN(real(got[0])) || !math.IsInf(imag(got[0]), -1) || !cmplx.IsInf(got[0]) {
		t.Errorf("NaN-Inf is %v", got[0])
	}
}

func TestValuesMisuse(t *testing.T) {
	for name, misuse := range map[string]func(){
		"partial element":   func() { Float64s(make([]float64, 1), make([]byte, 9), HostFloat64) },
		"too few elements":  func() { Float64s(make([]float64, 2), make([]byte, 8), HostFloat64) },
		"too many elements": func() { Float64s(make([]float64, 1), make([]byte, 2), HostInt8) },
		"complex as real":   func() { Float64s(make([]float64, 1), make([]byte, 8), HostComplex64) },
		"nothing as real":   func() { Float64s(nil, nil, HostNone) },
		"real as complex":   func() { Complex128s(make([]complex128, 1), make([]byte, 8), HostFloat64) },
		"complex, too few":  func() { Complex128s(make([]complex128, 2), make([]byte, 8), HostComplex64) },
		"codes of 32 bits":  func() { CodeValues(Float32) },
		"codes of nothing":  func() { CodeValues(String) },
		"text of a part":    func() { AppendText(nil, make([]byte, 3), HostInt16) },
	} {
		t.Run(name, func(t *testing.T) { mustPanic(t, misuse) })
	}
}

// TestAppendText compares with the output of numpy.savetxt: testdata/gen.py.
func TestAppendText(t *testing.T) {
	data, err := os.ReadFile("testdata/text.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Host  string
		Hex   string
		Lines []string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	seen := map[Host]bool{}
	for _, c := range cases {
		i := slices.IndexFunc(Hosts(), func(h Host) bool { return h.String() == c.Host })
		if i < 0 {
			t.Fatalf("no host type %s", c.Host)
		}
		h := Hosts()[i]
		seen[h] = true
		src, err := hex.DecodeString(c.Hex)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Split(string(AppendText(nil, src, h)), "\n")
		if want := append(c.Lines, ""); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", h, got, want)
		}
	}
	if len(seen) != len(Hosts()) {
		t.Errorf("the file has %d of %d host types", len(seen), len(Hosts()))
	}
}

// TestAppendTextLong has more elements than are converted at a time.
func TestAppendTextLong(t *testing.T) {
	for _, h := range Hosts() {
		src := randomBytes(300 * h.Size())
		want := []byte("kept ")
		for i := range 300 {
			want = AppendText(want, src[i*h.Size():(i+1)*h.Size()], h)
		}
		if got := AppendText([]byte("kept "), src, h); string(got) != string(want) {
			t.Errorf("%s: 300 elements at once differ from one at a time", h)
		}
	}
}
