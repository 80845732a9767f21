package jsonpos

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"dumptool/internal/lang"
)

// Cause is the usual cause of a deviation from JSON.
type Cause int

// Causes.
const (
	Unexpected     Cause = iota // a character that begins nothing
	TrailingComma               // a comma before a closing bracket
	ExtraComma                  // a comma without an item before it
	MissingComma                // two members or values in a row
	MissingColon                // a key without a colon
	MissingValue                // a colon without a value
	Comment                     // #, // or /* */
	SingleQuotes                // 'text'
	FullWidth                   // punctuation or space of a Chinese input method
	UnquotedKey                 // {key: 1}
	UnquotedValue               // {"key": word}
	PythonConstant              // True, False, None, and similar words of other languages
	NotANumber                  // NaN, Infinity
	BadNumber                   // 01, +1, 0x10, 1.
	BadEscape                   // a backslash that starts no escape sequence
	ControlChar                 // a raw tab or other control character
	BadUTF8                     // bytes that are no UTF-8
	OpenString                  // a string without closing quote
	WrongBracket                // a closing bracket that does not fit
	Truncated                   // the text is cut off
	ExtraData                   // something after the end
	ByteOrderMark               // UTF-8 with a byte order mark
	UTF16                       // UTF-16, with or without byte order mark
	Binary                      // no text at all
	TooDeep                     // nesting beyond MaxDepth
	TooMany                     // more values than MaxValues
	Empty                       // no value at all
)

// Problem is a deviation from JSON.
type Problem struct {
	Cause          Cause
	Offset, Length int // in bytes; length 0 is a place between two bytes
	Message        lang.Sentence
	Edits          []Edit // the repair; empty if it is ambiguous
	// Repaired is the line with the missing quote added; empty if its place is unknown.
	Repaired string
}

func (p *Problem) edit(offset, length int, text string) {
	p.Edits = append(p.Edits, Edit{offset, length, text})
}

// replace adds an edit that replaces the problem's text.
func (p *Problem) replace(text string) { p.edit(p.Offset, p.Length, text) }

// Edit replaces Length bytes at Offset by Text.
type Edit struct {
	Offset, Length int
	Text           string
}

// End returns the offset behind the replaced bytes.
func (e Edit) End() int { return e.Offset + e.Length }

// conclude drops the problems behind the first problem that makes the rest guesswork. It keeps edits only if they
// certainly restore the intended text together.
func (d *Document) conclude() {
	if d.Root != nil && len(d.Problems) > 0 {
		d.cutCascade()
	}
	if len(d.Problems) > 0 && !d.isRepairable() {
		for i := range d.Problems {
			d.Problems[i].Edits = nil
		}
	}
}

// cutCascade drops the problems behind the first problem of quotes or brackets. An unpaired quote makes its whole
// line doubtful.
func (d *Document) cutCascade() {
	i := slices.IndexFunc(d.Problems, func(p Problem) bool { return slices.Contains(fatalCauses, p.Cause) })
	if i < 0 {
		return
	}
	cut := d.Problems[i]
	d.damage, d.More = cut.Offset, d.More || i+1 < len(d.Problems)
	d.Problems = slices.Clip(d.Problems[:i+1])
	if line := bytes.LastIndexByte(d.src[:cut.Offset], '\n') + 1; cut.Cause == OpenString {
		before := slices.DeleteFunc(d.Problems[:i], func(p Problem) bool { return p.Offset >= line })
		d.Problems, d.More = append(before, cut), d.More || len(before) < i
	}
}

// fatalCauses lists the causes that make all later places uncertain.
var fatalCauses = []Cause{OpenString, WrongBracket, Truncated, ExtraData, Unexpected, TooDeep, TooMany}

// isRepairable reports whether all problems have a certain repair, and all repairs together give JSON with the same
// values.
func (d *Document) isRepairable() bool {
	var edits []Edit
	for _, p := range d.Problems {
		if !p.isCertain(d.src) {
			return false
		}
		edits = append(edits, p.Edits...)
	}
	if d.More || d.Root == nil {
		return false
	}
	p := parse(Apply(d.src, edits))
	return len(p.problems) == 0 && isEqual(d.Root, p.root)
}

var (
	identifier = lang.Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)
	plainText  = lang.Pattern(`^"([\pL\pN_./|$~%@+-]+( [\pL\pN_./|$~%@+-]+)*)?"$`)
)

// isCertain reports whether the problem's edits are certainly the intended text.
func (p Problem) isCertain(src []byte) bool {
	if len(p.Edits) == 0 {
		return false
	}
	text, repair := src[p.Offset:p.Offset+p.Length], p.Edits[0].Text
	switch p.Cause {
	case TrailingComma, ByteOrderMark:
		return true
	case FullWidth:
		return !strings.HasPrefix(repair, `"`) || plainText().MatchString(repair)
	case SingleQuotes:
		return plainText().MatchString(repair)
	case PythonConstant:
		return string(text) == "True" || string(text) == "False" || string(text) == "None"
	case UnquotedKey:
		return identifier().Match(text)
	case MissingComma:
		return p.Length == 0 // not a replacement
	case Comment:
		return startsComment(src, p.Offset) && bytes.Count(text, []byte(`"`))%2 == 0
	default:
		return false
	}
}

// isEqual reports whether two values are equal.
func isEqual(v, w *Value) bool {
	if v == nil || w == nil {
		return v == w
	}
	if v.Kind != w.Kind || v.Kind == Invalid || v.Text != w.Text {
		return false
	}
	return slices.EqualFunc(v.Elems, w.Elems, isEqual) &&
		slices.EqualFunc(v.Members, w.Members, func(a, b Member) bool { return a.Key == b.Key && isEqual(a.Value, b.Value) })
}

// Apply applies edits. Of overlapping edits the largest is applied, of equally large edits the
// first.
func Apply(src []byte, edits []Edit) []byte {
	edits = withoutOverlaps(edits)
	if len(edits) == 0 {
		return src
	}
	var out bytes.Buffer
	pos := 0
	for _, e := range edits {
		out.Write(src[pos:e.Offset])
		out.WriteString(e.Text)
		pos = e.End()
	}
	out.Write(src[pos:])
	return out.Bytes()
}

// withoutOverlaps returns edits that do not overlap, in file order.
func withoutOverlaps(edits []Edit) []Edit {
	edits = slices.Clone(edits)
	slices.SortFunc(edits, func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Length, b.Length), cmp.Compare(a.Text, b.Text))
	})
	var out []Edit
	for _, e := range edits {
		n := len(out)
		switch {
		case n > 0 && e == out[n-1]:
		case n == 0 || e.Offset >= out[n-1].End():
			out = append(out, e)
		case e.Length > out[n-1].Length && (n == 1 || e.Offset >= out[n-2].End()):
			out[n-1] = e
		}
	}
	return out
}
