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

// maxLong is how many bytes an integer may have, maxDigits how many digits, and
// maxShown how many bytes of a text are shown in a message.
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
	if s == "00" || s == "01" {
		return s == "01", nil
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
		return nil, fmt.Errorf("found %q, wanted a decimal integer of %d digits at most", shorten(s), maxDigits)
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
		return nil, fmt.Errorf("found an integer of %d bytes, wanted %d at most", len(b), maxLong)
	}
	bigEndian := slices.Clone(b)
	slices.Reverse(bigEndian)
	v := new(big.Int).SetBytes(bigEndian)
	if len(b) > 0 && b[len(b)-1] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return small(v), nil
}

func parseFloat(s string) (any, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("found %q, wanted a float", shorten(s))
	}
	return v, nil
}

// decodeFloat reads a big-endian float64, 0 where there are not enough bytes.
func decodeFloat(b []byte) float64 {
	if len(b) < 8 {
		return 0
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b))
}

func asText(b []byte) (any, error)  { return string(b), nil }
func asBytes(b []byte) (any, error) { return slices.Clone(b), nil }

func asUTF8(b []byte) (any, error) {
	if !utf8.Valid(b) {
		return nil, errors.New("found a str that is not UTF-8")
	}
	return string(b), nil
}

// parseString reads the repr of a str of Python 2, which is bytes.
func parseString(s string) (any, error) {
	s = strings.TrimSpace(s)
	if len(s) < 2 || s[0] != s[len(s)-1] || s[0] != '\'' && s[0] != '"' {
		return nil, fmt.Errorf("found %q, wanted a text in quotes", shorten(s))
	}
	s = s[1 : len(s)-1]
	var b strings.Builder
	for len(s) > 0 {
		switch {
		case s[0] != '\\':
			b.WriteByte(s[0])
			s = s[1:]
		case len(s) > 1 && (s[1] == '\'' || s[1] == '"'):
			b.WriteByte(s[1])
			s = s[2:]
		default:
			r, multibyte, rest, err := strconv.UnquoteChar(s, 0)
			if err != nil || multibyte {
				return nil, fmt.Errorf("found the escape %q, wanted one of a str's repr", shorten(s))
			}
			b.WriteByte(byte(r))
			s = rest
		}
	}
	return b.String(), nil
}

// parseUnicode reads the raw-unicode-escape text of protocol 0: latin-1 with
// \uXXXX and \UXXXXXXXX for the rest; any other backslash is one.
func parseUnicode(s string) (any, error) {
	var b strings.Builder
	for len(s) > 0 {
		if len(s) > 1 && s[0] == '\\' && (s[1] == 'u' || s[1] == 'U') {
			r, _, rest, err := strconv.UnquoteChar(s, 0)
			if err != nil {
				return nil, fmt.Errorf("found the escape %q, wanted the number of a character", shorten(s))
			}
			b.WriteRune(r)
			s = rest
			continue
		}
		b.WriteRune(rune(s[0]))
		s = s[1:]
	}
	return b.String(), nil
}
