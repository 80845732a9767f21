package torch

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"dumptool/internal/pickle"
)

// maxText is how many bytes of a value are kept as text.
const maxText = 200

// shorten cuts a text that is too long.
func shorten(s string) string {
	if len(s) <= maxText {
		return s
	}
	cut := maxText
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}

// repr writes a value as Python does, shortened where it is long.
func repr(v any) string {
	var b strings.Builder
	appendRepr(&b, v)
	return shorten(b.String())
}

// appendRepr appends the beginning of a value's text, more than maxText of it where
// there is more.
func appendRepr(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		b.WriteString(map[bool]string{false: "False", true: "True"}[v])
	case int64, *big.Int:
		fmt.Fprint(b, v)
	case float64:
		b.WriteString(floatRepr(v))
	case string:
		b.WriteString(quote(v[:min(len(v), 4*maxText)], strconv.IsPrint))
	case []byte:
		b.WriteByte('b')
		latin := make([]rune, min(len(v), maxText+1))
		for i := range latin {
			latin[i] = rune(v[i])
		}
		b.WriteString(quote(string(latin), func(r rune) bool { return r >= ' ' && r < 0x7f }))
	case *pickle.Sequence:
		sequenceRepr(b, v)
	case *constant:
		b.WriteString(v.text)
	case *pickle.Name:
		b.WriteString(v.String())
	default:
		b.WriteString("...")
	}
}

// sequenceRepr appends a list or tuple; sets, which are in no order, are shown as
// lists.
func sequenceRepr(b *strings.Builder, s *pickle.Sequence) {
	begin, end := "[", "]"
	if s.Kind == pickle.Tuple {
		begin, end = "(", ")"
		if len(s.Items) == 1 {
			end = ",)"
		}
	}
	b.WriteString(begin)
	for i, item := range s.Items {
		if b.Len() > maxText {
			return
		}
		if i > 0 {
			b.WriteString(", ")
		}
		appendRepr(b, item)
	}
	b.WriteString(end)
}

// floatRepr writes a float as Python does: with a point or an exponent, and the
// latter of two digits at least from 1e16 on and below 1e-4.
func floatRepr(v float64) string {
	switch {
	case v != v:
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// quote writes a text in single quotes, or in double ones if only single ones are in
// it.
func quote(s string, printable func(rune) bool) string {
	mark := '\''
	if strings.ContainsRune(s, '\'') && !strings.ContainsRune(s, '"') {
		mark = '"'
	}
	var b strings.Builder
	b.WriteRune(mark)
	for _, r := range s {
		switch {
		case r == mark || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case printable(r):
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteRune(mark)
	return b.String()
}
