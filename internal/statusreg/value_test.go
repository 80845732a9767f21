package statusreg

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestParseValue(t *testing.T) {
	for _, c := range []struct {
		text string
		want Value
	}{
		{"0", Value{}},
		{"272", Value{272}},
		{"010", Value{10}},
		{"0x110", Value{0x110}},
		{"0X1aF", Value{0x1af}},
		{" \t32\n", Value{32}},
		{"1_000", Value{1000}},
		{"0x_ffff_0000", Value{0xffff0000}},
		{"18446744073709551615", Value{1<<64 - 1}},
		{"18446744073709551616", Value{0, 1}},
		{"340282366920938463463374607431768211456", Value{0, 0, 1}},
		{"0x1000000000000000000000000000000000000000000", Bit(168)},
		{"0x800000000000000000000000000000000000000000", Bit(167)},
		{"0x" + strings.Repeat("f", 64), Value{1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1}},
		{"0x" + strings.Repeat("0", 100) + "7", Value{7}},
	} {
		got, err := ParseValue(c.text)
		if err != nil || got != c.want {
			t.Errorf("ParseValue(%q) = %v, %v; want %v", c.text, got, err, c.want)
		}
	}
}

func TestParseValueErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "is empty"},
		{"  ", "is empty"},
		{"0x", "no digits after 0x"},
		{"1f", "'f' is no decimal digit, hexadecimal numbers start with 0x"},
		{"abc", "hexadecimal numbers start with 0x"},
		{"12z", "'z' is no decimal digit"},
		{"0x1g", "'g' is no hexadecimal digit"},
		{"-1", "'-' is no decimal digit"},
		{"+1", "'+' is no decimal digit"},
		{"272 32", "' ' is no decimal digit"}, // two values, not one
		{"1.5", "'.' is no decimal digit"},
		{"_1", "_ may only stand between digits"},
		{"1_", "_ may only stand between digits"},
		{"1__0", "_ may only stand between digits"},
		{"0x_", "_ may only stand between digits"},
		{"\uff13\uff12", "'\uff13' is no decimal digit"},
		{"0x1" + strings.Repeat("0", 64), "has more than 256 bits"},
		{strings.Repeat("9", 78), "has more than 256 bits"},
	} {
		v, err := ParseValue(c.text)
		var parse *ParseError
		if !errors.As(err, &parse) || parse.Value != c.text || !strings.Contains(err.Error(), c.want) {
			t.Errorf("ParseValue(%q): %v, want an error with %q", c.text, err, c.want)
		}
		if v != (Value{}) {
			t.Errorf("ParseValue(%q) = %v with an error", c.text, v)
		}
	}
}

func TestValueString(t *testing.T) {
	for _, c := range []struct {
		v    Value
		want string
	}{
		{Value{}, "0x0"},
		{Value{272}, "0x110"},
		{Value{0, 1}, "0x10000000000000000"},
		{Value{5, 0, 0xAB}, "0xab00000000000000000000000000000005"},
		{Bit(255), "0x8" + strings.Repeat("0", 63)},
	} {
		if got := c.v.String(); got != c.want {
			t.Errorf("%#v is %s, want %s", c.v, got, c.want)
		}
	}
}

func TestValueBits(t *testing.T) {
	v := Value{1, 1 << 63}
	for n := -1; n <= ValueBits; n++ {
		if got, want := v.HasBit(n), n == 0 || n == 127; got != want {
			t.Errorf("bit %d: %v", n, got)
		}
	}
	if w := (Value{6, 8}).AndNot(Value{2}).Or(Bit(200)).And(Value{^uint64(0), 0, 0, ^uint64(0)}); w != (Value{4, 0, 0, 1 << 8}) {
		t.Errorf("the operations give %v", w)
	}
	var ones []int
	for n := range (Value{5, 1, 0, 1 << 63}).oneBits {
		if ones = append(ones, n); len(ones) == 3 {
			break
		}
	}
	if len(ones) != 3 || ones[0] != 0 || ones[1] != 2 || ones[2] != 64 {
		t.Errorf("the first bits are %v", ones)
	}
}

// TestParseValueBig compares with big numbers in both notations.
func TestParseValueBig(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		v := randomValue(random)
		n, ok := new(big.Int).SetString(v.String(), 0)
		if !ok {
			t.Fatalf("String() = %q", v)
		}
		for _, text := range []string{v.String(), n.String()} {
			if got, err := ParseValue(text); err != nil || got != v {
				t.Fatalf("ParseValue(%q) = %v, %v; want %v", text, got, err, v)
			}
		}
	}
}

// randomValue returns values of all lengths, sparse and dense ones.
func randomValue(random *rand.Rand) Value {
	var v Value
	for i := range 1 + random.IntN(len(v)) {
		if v[i] = random.Uint64(); random.IntN(2) == 0 {
			v[i] &= random.Uint64() & random.Uint64()
		}
	}
	if random.IntN(2) == 0 {
		v = Value{v[0] >> random.IntN(64)}
	}
	return v
}

// And returns the bits that are in both values.
func (v Value) And(w Value) Value { return v.AndNot(v.AndNot(w)) }

// Or returns the bits that are in one of the values.
func (v Value) Or(w Value) Value {
	for i := range v {
		v[i] |= w[i]
	}
	return v
}
