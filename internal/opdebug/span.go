package opdebug

import (
	"bytes"
	"fmt"
	"slices"
)

// Span is a piece of a payload.
type Span struct {
	Offset int
	Data   []byte
}

// String returns the offsets of the first and the last byte.
func (s Span) String() string {
	return fmt.Sprintf("0x%x to 0x%x", s.Offset, s.Offset+len(s.Data)-1)
}

// undecoded returns the pieces of payload, from offset pos on, that are not
// zero and that no field of the layouts covers: at most one between two
// neighbouring fields. A piece does not reach across offset cut.
func undecoded(payload []byte, ls []layout, pos, cut int) []Span {
	var covered []Span
	for i := range ls {
		for _, f := range ls[i].fields {
			covered = append(covered, Span{f.offset, payload[f.offset:][:f.words*wordSize]})
		}
	}
	slices.SortFunc(covered, func(a, b Span) int { return a.Offset - b.Offset })
	var out []Span
	for _, c := range covered {
		out = appendNonZero(out, payload, pos, c.Offset)
		pos = c.Offset + len(c.Data)
	}
	cut = min(max(cut, pos), len(payload))
	out = appendNonZero(out, payload, pos, cut)
	return appendNonZero(out, payload, cut, len(payload))
}

// appendNonZero appends what is left of payload[from:to] without the zeros at
// both ends, if anything.
func appendNonZero(out []Span, payload []byte, from, to int) []Span {
	left := bytes.TrimLeft(payload[from:to], "\x00")
	if len(left) == 0 {
		return out
	}
	return append(out, Span{to - len(left), bytes.Clone(bytes.TrimRight(left, "\x00"))})
}
