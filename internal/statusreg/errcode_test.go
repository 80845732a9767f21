package statusreg

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestAssembleErrcode(t *testing.T) {
	for _, c := range []struct {
		words [4]uint64
		want  Value
	}{
		{[4]uint64{}, Value{}},
		{[4]uint64{0, 0x8000}, Bit(79)},
		{[4]uint64{1 << 23}, Bit(23)},
		{[4]uint64{0, 1 << 63}, Bit(127)},
		{[4]uint64{0, 0, 1}, Bit(128)},
		{[4]uint64{0, 0, 1 << 16}, Bit(144)},
		{[4]uint64{0, 0, 1 << 32}, Bit(145)},
		{[4]uint64{0, 0, 1 << 43}, Bit(156)},
		{[4]uint64{0, 0, 1 << 62}, Bit(175)},
		{[4]uint64{3, 5, 1<<62 | 1<<32 | 1<<16 | 1}, Value{3, 5}.Or(Bit(128)).Or(Bit(144)).Or(Bit(145)).Or(Bit(175))},
		// Undocumented bits are kept, above the register.
		{[4]uint64{0, 0, 1 << 63}, Bit(176)},
		{[4]uint64{0, 0, 1 << 17}, Bit(177)},
		{[4]uint64{0, 0, 1 << 31}, Bit(191)},
		{[4]uint64{0, 0, 0, 1}, Bit(192)},
	} {
		w := c.words
		if got := AssembleErrcode(w[0], w[1], w[2], w[3]); got != c.want {
			t.Errorf("AssembleErrcode(%x) = %v, want %v", w, got, c.want)
		}
	}
}

// TestAssembleErrcodeKeepsAll: different bits of the words go to different places.
func TestAssembleErrcodeKeepsAll(t *testing.T) {
	var all Value
	for n := range ValueBits {
		w := Bit(n)
		v := AssembleErrcode(w[0], w[1], w[2], w[3])
		if v.IsZero() || !v.And(all).IsZero() {
			t.Errorf("bit %d of the words goes to %v", n, v)
		}
		all = all.Or(v)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		a := randomValue(random)
		var want Value
		for n := range a.oneBits {
			b := Bit(n)
			want = want.Or(AssembleErrcode(b[0], b[1], b[2], b[3]))
		}
		if got := AssembleErrcode(a[0], a[1], a[2], a[3]); got != want {
			t.Fatalf("AssembleErrcode(%v) = %v, want %v", a, got, want)
		}
	}
}

func TestParseErrcode(t *testing.T) {
	for _, c := range []struct {
		text string
		want Value
	}{
		{"errcode:(0, 0x8000, 0)", Bit(79)},
		{"errcode:(0,32768,0)", Bit(79)},
		{"ErrCode : ( 8 , 0 , 0x1 )", Bit(3).Or(Bit(128))},
		{"errcode=(0, 0, 0, 0)", Value{}},
		{"(0, 0, 0, 2)", Bit(193)},
		{" errcode(1, 0, 0) ", Bit(0)},
		{"errcode:(18446744073709551615, 0, 0)", Value{1<<64 - 1}},
	} {
		got, err := ParseErrcode(c.text)
		if err != nil || got != c.want {
			t.Errorf("ParseErrcode(%q) = %v, %v; want %v", c.text, got, err, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"", "wanted errcode:(a, b, c)"},
		{"272", "wanted errcode:(a, b, c)"},
		{"errcode:(1, 2, 3", "wanted errcode:(a, b, c)"},
		{"error:(1, 2, 3)", "wanted errcode:(a, b, c)"},
		{"errcode:(1, 2)", "number of words is 2, wanted 3 or 4"},
		{"errcode:()", "number of words is 1, wanted 3 or 4"},
		{"errcode:(1, 2, 3, 4, 5)", "number of words is 5, wanted 3 or 4"},
		{"errcode:(1, 2, x)", "word 2: 'x' is no decimal digit"},
		{"errcode:(1, , 3)", "word 1: is empty"},
		{"errcode:(0x10000000000000000, 0, 0)", "word 0: has more than 64 bits"},
	} {
		v, err := ParseErrcode(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) || v != (Value{}) {
			t.Errorf("ParseErrcode(%q) = %v, %v; want an error with %q", c.text, v, err, c.want)
		}
	}
}
