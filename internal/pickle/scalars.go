package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxLong is how many bytes an integer may have, and maxDigits how many digits.
const (
	maxLong   = 512
	maxDigits = 1200
	maxShown  = 100
)

// shorten returns s cut to what fits a message.
func shorten(s string) string {
	if len(s) > maxShown {
		return s[:maxShown] + "..."
	}
	return s
}

// parseInt reads a decimal integer; 00 and 01 are the booleans of protocol 0.
func parseInt(s string) (any, error) {
	switch s {
	case "00":
		return false, nil
	case "01":
		return true, nil
	}
	return parseLong(s)
}

func parseLong(s string) (any, error) {
	s = strings.TrimSuffix(s, "L")
	v, ok := new(big.Int), false
	if len(s) <= maxDigits && strings.Trim(s, "0123456789+-") == "" {
		v, ok = v.SetString(s, 10)
	}
	if !ok {
		return nil, fmt.Errorf("%q, want a decimal integer of %d digits at most", shorten(s), maxDigits)
	}
	return small(v), nil
}

// small returns v as an int64 if it fits.
func small(v *big.Int) any {
	if v.IsInt64() {
		return v.Int64()
	}
	return v
}

// decodeLong reads a little-endian two's complement integer.
func decodeLong(b []byte) (any, error) {
	if len(b) > maxLong {
		return nil, fmt.Errorf("an integer of %d bytes, want %d at most", len(b), maxLong)
	}
	big1 := slices.Clone(b)
	slices.Reverse(big1)
	v := new(big.Int).SetBytes(big1)
	if len(b) > 0 && b[len(b)-1] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return small(v), nil
}

func parseFloat(s string) (any, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("%q, want a float", shorten(s))
	}
	return v, nil
}

func binFloat(m *machine) error {
	b, err := m.bytes(8)
	if err != nil {
		return err
	}
	m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	return nil
}

func asText(b []byte) (any, error)  { return string(b), nil }
func asBytes(b []byte) (any, error) { return slices.Clone(b), nil }

func asUTF8(b []byte) (any, error) {
	if !utf8.Valid(b) {
		return nil, errors.New("a str that is not UTF-8")
	}
	return string(b), nil
}

// parseString reads the repr of a str of Python 2.
func parseString(s string) (any, error) {
	s = strings.TrimSpace(s)
	if len(s) < 2 || s[0] != s[len(s)-1] || s[0] != '\'' && s[0] != '"' {
		return nil, fmt.Errorf("%q, want a text in quotes", shorten(s))
	}
	s = s[1 : len(s)-1]
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for s != "" {
		if s[0] != '\\' {
			b.WriteByte(s[0])
			s = s[1:]
			continue
		}
		c, n := unescape(s)
		if n == 0 {
			return nil, fmt.Errorf("escape %q, want one of a str's repr", shorten(s))
		}
		b.WriteByte(c)
		s = s[n:]
	}
	return b.String(), nil
}

// unescape returns the byte that the escape at the start of s stands for, and
// how long the escape is; 0 if it is none.
func unescape(s string) (byte, int) {
	if len(s) < 2 {
		return 0, 0
	}
	const letters, bytes = `\'"nrtabfv`, "\\'\"\n\r\t\a\b\f\v"
	if i := strings.IndexByte(letters, s[1]); i >= 0 {
		return bytes[i], 2
	}
	if s[1] == 'x' && len(s) >= 4 {
		if v, err := strconv.ParseUint(s[2:4], 16, 8); err == nil {
			return byte(v), 4
		}
		return 0, 0
	}
	n := 1
	for n < len(s) && n < 4 && '0' <= s[n] && s[n] <= '7' {
		n++
	}
	v, err := strconv.ParseUint(s[1:n], 8, 8)
	if err != nil {
		return 0, 0
	}
	return byte(v), n
}

// parseUnicode reads the raw-unicode-escape text of protocol 0: latin-1 with
// \uXXXX and \UXXXXXXXX for the rest.
func parseUnicode(s string) (any, error) {
	var b strings.Builder
	for s != "" {
		n := 0
		if len(s) > 1 && s[0] == '\\' {
			n = map[byte]int{'u': 6, 'U': 10}[s[1]]
		}
		if n == 0 {
			b.WriteRune(rune(s[0]))
			s = s[1:]
			continue
		}
		r, err := strconv.ParseUint(s[min(2, len(s)):min(n, len(s))], 16, 32)
		if err != nil || len(s) < n || r > math.MaxInt32 || !utf8.ValidRune(rune(r)) {
			return nil, fmt.Errorf("escape %q, want the number of a character", shorten(s[:min(n, len(s))]))
		}
		b.WriteRune(rune(r))
		s = s[n:]
	}
	return b.String(), nil
}
