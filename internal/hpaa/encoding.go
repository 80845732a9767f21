package hpaa

import (
	"encoding/binary"
	"slices"
	"strings"

	"dumptool/internal/lang"
)

// Encoding is the storage format of a piece's bytes.
type Encoding string

// The encodings. Digits are hexadecimal, in either case; blanks, tabs, line ends and commas
// separate numbers.
const (
	// Auto is detected from the size and the head of the file; it must be unambiguous.
	Auto Encoding = "auto"
	// Bin is raw bytes.
	Bin Encoding = "bin"
	// Hex is two digits per byte in memory order, with or without separators between bytes.
	Hex Encoding = "hex"
	// Hex0x is Hex with 0x before every byte.
	Hex0x Encoding = "hex0x"
	// Words16, Words32 and Words64 are numbers of that many bits with all digits, most significant
	// first, with or without 0x; in memory they are little-endian.
	Words16 Encoding = "words16"
	Words32 Encoding = "words32"
	Words64 Encoding = "words64"
	// Npy is an array file of numpy.
	Npy Encoding = "npy"
)

// Encodings lists all encodings.
var Encodings = []Encoding{Auto, Bin, Hex, Hex0x, Words16, Words32, Words64, Npy}

// ParseEncoding returns the encoding with a name, ignoring case.
func ParseEncoding(name string) (Encoding, error) {
	e := Encoding(strings.ToLower(name))
	if slices.Contains(Encodings, e) {
		return e, nil
	}
	names := make([]string, len(Encodings))
	for i, known := range Encodings {
		names[i] = string(known)
	}
	if similar := lang.Nearest(name, names); similar != "" {
		return "", lang.Errorf("no encoding %q, did you mean %s?", name, similar)
	}
	return "", lang.Errorf("no encoding %q, want one of %s", name, strings.Join(names, ", "))
}

// textForms maps text encodings to the form of their numbers.
var textForms = map[Encoding]*textForm{
	Hex:     {bytes: 1},
	Hex0x:   {bytes: 1, prefix: prefixRequired},
	Words16: {bytes: 2, prefix: prefixOptional},
	Words32: {bytes: 4, prefix: prefixOptional},
	Words64: {bytes: 8, prefix: prefixOptional},
}

// prefix says whether numbers begin with 0x.
type prefix uint8

const (
	prefixForbidden prefix = iota
	prefixOptional
	prefixRequired
)

// textForm is the form of the numbers in a text.
type textForm struct {
	bytes  int // per number; twice as many digits
	prefix prefix
}

// maxLength returns the largest number of characters of a number.
func (t *textForm) maxLength() int { return 2*t.bytes + 2 }

// notHex marks the elements of hexPairs that are no byte.
const notHex = 1 << 8

// hexPairs maps two digits to a byte. The index is the first digit plus 256 times the second, as a
// little-endian load reads them. Other pairs are notHex.
var hexPairs = func() *[1 << 16]uint16 {
	const digits = "0123456789abcdef0123456789ABCDEF"
	table := new([1 << 16]uint16)
	for i := range table {
		table[i] = notHex
	}
	for hi := range digits {
		for lo := range digits {
			table[int(digits[hi])|int(digits[lo])<<8] = uint16(hi&15<<4 | lo&15)
		}
	}
	return table
}()

// separators marks the characters between numbers.
var separators = [256]bool{' ': true, '\t': true, '\r': true, '\n': true, ',': true, '\v': true, '\f': true}

// textError is the error of a character that does not fit the encoding.
type textError struct {
	at   int // index in the text
	want lang.Sentence
}

// decode decodes numbers of src to dst until either is exhausted, and returns the number of bytes
// used of each. A number that may continue behind src is not decoded unless last is set.
func (t *textForm) decode(dst, src []byte, last bool) (written, read int, bad *textError) {
	if t.bytes == 1 && t.prefix == prefixForbidden {
		return decodePairs(dst, src, last)
	}
	return t.decodeNumbers(dst, src, last)
}

// decodePairs decodes bytes of two digits.
func decodePairs(dst, src []byte, last bool) (written, read int, bad *textError) {
	d, s := dst, src
	for {
		written, read := hexGroups(d, s)
		d, s = d[written:], s[read:]
		// Separated bytes, and the remaining digits of a line.
		for len(s) >= 3 && len(d) >= 1 && separators[s[2]] {
			v := hexPairs[uint16(s[0])|uint16(s[1])<<8]
			if v&notHex != 0 {
				break
			}
			d[0] = byte(v)
			d, s = d[1:], s[3:]
		}
		for len(s) >= 2 && len(d) >= 1 {
			v := hexPairs[uint16(s[0])|uint16(s[1])<<8]
			if v&notHex != 0 {
				break
			}
			d[0] = byte(v)
			d, s = d[1:], s[2:]
		}
		switch {
		case len(s) > 0 && separators[s[0]]:
			s = s[1:]
		case len(s) == 0 || len(d) == 0 || len(s) == 1 && !last && isDigit(s[0]):
			return len(dst) - len(d), len(src) - len(s), nil
		default:
			bad = &textError{len(src) - len(s), lang.Say("a hex digit")}
			if isDigit(s[0]) {
				bad = &textError{bad.at + 1, lang.Say("the second digit of a byte")}
			}
			return len(dst) - len(d), len(src) - len(s), bad
		}
	}
}

// decodeNumbers decodes separated numbers.
func (t *textForm) decodeNumbers(dst, src []byte, last bool) (written, read int, bad *textError) {
	d, s := dst, src
	for {
		for t.bytes == 2 && len(s) >= 7 && len(d) >= 2 && separators[s[4]] {
			high, low := hexPairs[uint16(s[0])|uint16(s[1])<<8], hexPairs[uint16(s[2])|uint16(s[3])<<8]
			if (high|low)&notHex != 0 {
				break
			}
			d[0], d[1] = byte(low), byte(high)
			d, s = d[2:], s[5:]
		}
		for len(s) > 0 && separators[s[0]] {
			s = s[1:]
		}
		if len(s) == 0 || len(d) < t.bytes || !last && len(s) <= t.maxLength() {
			return len(dst) - len(d), len(src) - len(s), nil
		}
		number := s
		if t.prefix != prefixForbidden && len(s) >= 2 && s[0] == '0' && s[1]|0x20 == 'x' {
			number = s[2:]
		} else if t.prefix == prefixRequired {
			at := len(src) - len(s)
			if s[0] == '0' {
				at++
			}
			return len(dst) - len(d), len(src) - len(s), &textError{at, lang.Plain("0x")}
		}
		if len(number) < 2*t.bytes {
			return len(dst) - len(d), len(src) - len(s), t.syntaxError(src, number)
		}
		wrong := uint16(0)
		for i := range t.bytes {
			v := hexPairs[uint16(number[2*i])|uint16(number[2*i+1])<<8]
			d[t.bytes-1-i] = byte(v)
			wrong |= v
		}
		rest := number[2*t.bytes:]
		if wrong&notHex != 0 || len(rest) > 0 && !separators[rest[0]] {
			return len(dst) - len(d), len(src) - len(s), t.syntaxError(src, number)
		}
		d, s = d[t.bytes:], rest
	}
}

// syntaxError returns the error of number, which is the tail of src.
func (t *textForm) syntaxError(src, number []byte) *textError {
	n := 0
	for n < len(number) && n < 2*t.bytes && isDigit(number[n]) {
		n++
	}
	want := lang.Say("a hex digit")
	switch {
	case n == 2*t.bytes:
		want = lang.Say("a separator behind %d digits", n)
	case n > 0:
		want = lang.Say("digit %d of %d", n+1, 2*t.bytes)
	}
	return &textError{len(src) - len(number) + n, want}
}

func isDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// hexGroups decodes runs of digits, sixteen at a time, with single line ends between the groups,
// while src has 17 bytes and dst has 8. It stops before anything else.
func hexGroups(dst, src []byte) (written, read int) {
	d, s, pairs := dst, src, hexPairs
	for len(s) >= 17 && len(d) >= 8 {
		if s[0] == '\n' {
			s = s[1:]
		}
		a, b := binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint64(s[8:])
		a0, a1, a2, a3 := pairs[uint16(a)], pairs[uint16(a>>16)], pairs[uint16(a>>32)], pairs[a>>48]
		b0, b1, b2, b3 := pairs[uint16(b)], pairs[uint16(b>>16)], pairs[uint16(b>>32)], pairs[b>>48]
		if (a0|a1|a2|a3|b0|b1|b2|b3)&notHex != 0 {
			break
		}
		low := uint64(a0) | uint64(a1)<<8 | uint64(a2)<<16 | uint64(a3)<<24
		high := uint64(b0) | uint64(b1)<<8 | uint64(b2)<<16 | uint64(b3)<<24
		binary.LittleEndian.PutUint64(d, low|high<<32)
		d, s = d[8:], s[16:]
	}
	return len(dst) - len(d), len(src) - len(s)
}
