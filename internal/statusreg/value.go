package statusreg

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// ValueBits is how many bits a Value has. The longest register, AIC_ERROR,
// has 176.
const ValueBits = 64 * valueWords

const valueWords = 4

// Value is the content of a register in words of 64 bits, the low word first.
// Values can be compared with ==; Value{272} is the number 272.
type Value [valueWords]uint64

// Bit returns the value that has only bit n; n is 0 to ValueBits-1.
func Bit(n int) Value {
	var v Value
	v[n/64] = 1 << (n % 64)
	return v
}

// Has reports whether bit n is set.
func (v Value) Has(n int) bool {
	return n >= 0 && n < ValueBits && v[n/64]>>(n%64)&1 == 1
}

// IsZero reports whether no bit is set.
func (v Value) IsZero() bool { return v == Value{} }

// AndNot returns the bits of v that are not in w.
func (v Value) AndNot(w Value) Value {
	for i := range v {
		v[i] &^= w[i]
	}
	return v
}

// String returns the value in hexadecimal: 0x110, and 0x0 for zero.
func (v Value) String() string {
	top := valueWords - 1
	for top > 0 && v[top] == 0 {
		top--
	}
	var b strings.Builder
	b.WriteString("0x" + strconv.FormatUint(v[top], 16))
	for i := top - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "%016x", v[i])
	}
	return b.String()
}

// ParseError reports a text that is no value.
type ParseError struct {
	Text string
	Msg  string // what is wrong, and what was wanted
}

// Error quotes the text.
func (e *ParseError) Error() string {
	return fmt.Sprintf("statusreg: value %q: %s", e.Text, e.Msg)
}

// ParseValue reads a value of up to ValueBits bits: decimal digits, or
// hexadecimal ones after 0x. Underscores may stand between digits and white
// space around the value. Leading zeros do not make a number octal.
func ParseValue(text string) (Value, error) {
	v, msg := parseValue(strings.TrimSpace(text))
	if msg != "" {
		return Value{}, &ParseError{text, msg}
	}
	return v, nil
}

// parseValue reads a value without white space and returns what is wrong.
func parseValue(text string) (v Value, msg string) {
	digits, base, kind := text, 10, "decimal"
	if len(text) >= 2 && strings.EqualFold(text[:2], "0x") {
		digits, base, kind = text[2:], 16, "hexadecimal"
	}
	switch {
	case text == "":
		return Value{}, "is empty, wanted a decimal or 0x hexadecimal number"
	case digits == "":
		return Value{}, "no digits after 0x"
	case strings.HasSuffix(digits, "_"), base == 10 && digits[0] == '_', strings.Contains(digits, "__"):
		return Value{}, "_ may only stand between digits"
	}
	digits = strings.ReplaceAll(digits, "_", "")
	for _, c := range digits {
		d := digit(c)
		if d < base {
			continue
		}
		msg := fmt.Sprintf("%q is no %s digit", c, kind)
		if d < 16 {
			msg += ", hexadecimal numbers start with 0x"
		}
		return Value{}, msg
	}
	number, _ := new(big.Int).SetString(digits, base)
	if number.BitLen() > ValueBits {
		return Value{}, fmt.Sprintf("has more than %d bits", ValueBits)
	}
	for i, b := range slices.Backward(number.FillBytes(make([]byte, ValueBits/8))) {
		low := ValueBits/8 - 1 - i
		v[low/8] |= uint64(b) << (low % 8 * 8)
	}
	return v, ""
}

// digit returns the value of a hexadecimal digit, 16 for other characters.
func digit(c rune) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return 16
}
