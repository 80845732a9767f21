// Package jsonpos reads JSON (RFC 8259) and records the place of every key and value. It is the
// project's only such reader, for two kinds of text.
//
// Parse is for small hand-written files. Text that is not JSON is read as well as possible: each
// deviation becomes a Problem with its place, its usual cause and, if there is one right answer,
// the edit that repairs it, and reading continues. The Document converts offsets to lines and
// columns.
//
// Reader is for files written by programs, of any size. It accepts only JSON, one value at a time:
// it walks into objects and arrays, skips unwanted values, and reads single values whole, as a
// Value with places or into a Go value. Its errors name the place, the found and the wanted text.
//
// Both keep repeated keys (see Value.Repeated) and the text of numbers, and bound nesting and the
// number of values. Callers interpret the values.
package jsonpos

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"dumptool/internal/lang"
)

// Limits; reading stops at a limit with a problem.
const (
	MaxDepth    = 64      // levels of brackets
	MaxValues   = 1 << 20 // values in the document
	MaxProblems = 100     // listed problems
)

// Document is a parsed text.
type Document struct {
	Root     *Value // nil without any value
	Problems []Problem
	// More: there are more problems than Problems lists.
	More bool

	src    []byte
	damage int // offset behind which everything is uncertain, -1 for none
}

// Valid reports whether the text is JSON.
func (d *Document) Valid() bool { return len(d.Problems) == 0 }

// Damage returns the place of the first problem of quotes or brackets, behind which the document
// may differ from the intended one; false if there is none.
func (d *Document) Damage() (offset int, damaged bool) { return d.damage, d.damage >= 0 }

// Parse parses a text. It never fails: Problems lists the errors. Text in UTF-16 and binary data
// are not read; see FromUTF16.
//
// Reading continues behind a problem of quotes or brackets, but later problems are not listed.
// Problems have edits only if all edits together turn the text into JSON that reads the same.
func Parse(src []byte) *Document {
	d := &Document{src: src, damage: -1}
	if p := encodingProblem(src); p != nil {
		d.Problems = []Problem{*p}
		return d
	}
	p := parse(src)
	d.Root, d.Problems, d.More = p.root, p.problems, p.hasMore
	d.conclude()
	return d
}

// Source returns the parsed text.
func (d *Document) Source() []byte { return d.src }

// Position returns the line and column of a byte offset, both from 1. Columns are characters, not
// counting a byte order mark.
func (d *Document) Position(offset int) (line, column int) { return d.Cursor().Position(offset) }

// Cursor finds positions in one pass if queried in ascending order.
type Cursor struct {
	src          []byte
	offset       int
	line, column int
}

// Cursor returns a cursor at the start of the text.
func (d *Document) Cursor() *Cursor { return &Cursor{d.src, 0, 1, 1} }

// Position is like Document.Position.
func (c *Cursor) Position(offset int) (line, column int) {
	offset = min(max(offset, 0), len(c.src))
	if offset < c.offset || c.offset < len(bom) {
		*c = Cursor{c.src, 0, 1, 1}
	}
	text := c.src[c.offset:offset]
	if c.offset == 0 {
		text = bytes.TrimPrefix(text, []byte(bom))
	}
	c.offset = offset
	c.line, c.column = advance(c.line, c.column, text)
	return c.line, c.column
}

// Kind is the kind of a value.
type Kind uint8

// Kinds of values. Invalid is a missing or unreadable value, for which there is a Problem.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]lang.Text{
	{EN: "nothing"}, {EN: "null"}, {EN: "a boolean"}, {EN: "jsonpos¦a number"},
	{EN: "a string"}, {EN: "an array"}, {EN: "an object"},
}

// String returns the kind with its article, for messages.
func (k Kind) String() string { return kindNames[k].String() }

// Text returns the kind in both languages.
func (k Kind) Text() lang.Text { return kindNames[k] }

// Value is a JSON value with its byte range.
type Value struct {
	Kind       Kind
	Start, End int      // byte range, quotes and brackets included
	Text       string   // decoded string; number or boolean as in JSON
	Members    []Member // of an object, in file order; duplicates are kept
	Elems      []*Value // of an array
}

// Member is a key of an object with its value.
type Member struct {
	Key              string
	KeyStart, KeyEnd int // byte range, quotes included
	Value            *Value
}

// Get returns the last member with a key, which is the valid one; nil if there is none, or if v is no object.
func (v *Value) Get(key string) *Member {
	if v == nil {
		return nil
	}
	for i := len(v.Members) - 1; i >= 0; i-- {
		if v.Members[i].Key == key {
			return &v.Members[i]
		}
	}
	return nil
}

// EachRepeated yields each member whose key occurred before, preceded by the previous member with that
// key.
func (v *Value) EachRepeated() iter.Seq2[*Member, *Member] {
	return func(yield func(before, again *Member) bool) {
		seen := make(map[string]*Member, min(len(v.Members), 16))
		for i := range v.Members {
			m := &v.Members[i]
			if before := seen[m.Key]; before != nil && !yield(before, m) {
				return
			}
			seen[m.Key] = m
		}
	}
}

// bom is the byte order mark in UTF-8.
const bom = "\xef\xbb\xbf"

// encodingProblem returns the problem of a text that cannot be read as UTF-8.
func encodingProblem(src []byte) *Problem {
	if text, ok := FromUTF16(src); ok {
		p := &Problem{Cause: UTF16, Length: len(src), Message: lang.Say("the file is UTF-16; save it as UTF-8 without a byte order mark")}
		p.replace(string(text))
		return p
	}
	if i := bytes.IndexByte(src, 0); i >= 0 {
		return &Problem{Cause: Binary, Offset: i, Length: 1, Message: lang.Say("the file holds zero bytes and is no text")}
	}
	return nil
}

// FromUTF16 converts UTF-16 to UTF-8 without a byte order mark. It accepts text with a mark, and
// text that begins with an ASCII character. It returns false for other texts.
func FromUTF16(src []byte) ([]byte, bool) {
	if len(src) < 2 {
		return nil, false
	}
	order := binary.ByteOrder(binary.LittleEndian)
	switch a, b := src[0], src[1]; {
	case a == 0xff && b == 0xfe:
		src = src[2:]
	case a == 0xfe && b == 0xff:
		order, src = binary.BigEndian, src[2:]
	case a == 0 && b != 0 && b < utf8.RuneSelf && looksLikeUTF16(src, 0):
		order = binary.BigEndian
	case b == 0 && a != 0 && a < utf8.RuneSelf && looksLikeUTF16(src, 1):
	default:
		return nil, false
	}
	units := make([]uint16, 0, len(src)/2)
	for i := 0; i+1 < len(src); i += 2 {
		units = append(units, order.Uint16(src[i:]))
	}
	// A zero would make the result binary: replace it.
	return bytes.ReplaceAll([]byte(string(utf16.Decode(units))), []byte{0}, []byte("\uFFFD")), true
}

// looksLikeUTF16 reports whether most bytes at even or odd offsets are zero, as in mostly ASCII text in UTF-16.
func looksLikeUTF16(src []byte, parity int) bool {
	src = src[:min(len(src), 4096)]
	zero := 0
	for i := parity; i < len(src); i += 2 {
		if src[i] == 0 {
			zero++
		}
	}
	return 2*zero > (len(src)-parity)/2
}

// Error is a deviation of a text from the expected form.
type Error struct {
	Path         string // of the value, like graph[0].op[3].name; empty for the document
	Offset       int64  // in bytes
	Line, Column int    // from 1, columns are characters
	Found        string
	Wanted       string
	Err          error // replaces Found and Wanted
}

// Error names the place, the found and the wanted text.
func (e *Error) Error() string { return e.Text().String() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Text returns the error in both languages.
func (e *Error) Text() lang.Text {
	found, wanted := lang.Say(e.Found), lang.Say(e.Wanted)
	switch {
	case e.Err != nil && e.Path == "":
		return lang.Say("line %d, column %d: %v", e.Line, e.Column, e.Err).Text()
	case e.Err != nil:
		return lang.Say("%s, line %d, column %d: %v", e.Path, e.Line, e.Column, e.Err).Text()
	case e.Path == "":
		return lang.Say("line %d, column %d: found %s, wanted %s", e.Line, e.Column, found, wanted).Text()
	}
	return lang.Say("%s, line %d, column %d: found %s, wanted %s", e.Path, e.Line, e.Column, found, wanted).Text()
}

// JoinPath appends a key to a path. Keys that are no plain words are put in brackets.
func JoinPath(path, key string) string {
	const longest = 60 // characters
	switch {
	case len(key) > longest || !isWord(key):
		return path + "[" + Quote(Shorten(key, longest)) + "]"
	case path == "":
		return key
	default:
		return path + "." + key
	}
}

func isWord(key string) bool {
	for i := range len(key) {
		if c := key[i]; c != '_' && !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return key != ""
}

// Shorten cuts a text to at most most characters and appends an ellipsis if it was longer.
func Shorten(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "..."
		}
		n++
	}
	return s
}

func pathText(steps []pathStep) string {
	path := ""
	for _, s := range steps {
		if s.index >= 0 {
			path += "[" + strconv.Itoa(s.index) + "]"
		} else {
			path = JoinPath(path, s.key)
		}
	}
	return path
}

// excerpt returns the start of a text for a message.
func excerpt(text []byte) string {
	const most = 40 // characters
	return printable([]byte(Shorten(string(text[:min(len(text), utf8.UTFMax*(most+1))]), most)))
}

// advance returns the position behind text, which begins at line and column.
func advance(line, column int, text []byte) (int, int) {
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		line += bytes.Count(text, []byte{'\n'})
		column, text = 1, text[i+1:]
	}
	return line, column + utf8.RuneCount(text)
}

// Marshal returns v as JSON for terminals: on one line if indent is empty, without a final newline and without HTML
// escapes. It panics if v cannot be marshalled.
func Marshal(v any, indent string) []byte { return Visible(marshal(v, indent)) }

// NullableText is a text that is null in documents if it is empty.
type NullableText string

// MarshalJSON implements json.Marshaler.
func (t NullableText) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return Marshal(string(t), ""), nil
}

func marshal(v any, indent string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Visible escapes the characters in a JSON text's strings that a terminal would interpret instead
// of show and that encoding/json does not escape: DEL, C1 control characters, invisible and
// direction-changing characters. The meaning of the text is unchanged.
func Visible(text []byte) []byte {
	var out []byte
	done := 0 // length of the copied text
	for i := 0; i < len(text); {
		if i+8 <= len(text) && isPrintableASCII(binary.LittleEndian.Uint64(text[i:])) {
			i += 8
			continue
		}
		if text[i] < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if isInvisible(r) {
			out = append(out, text[done:i]...)
			if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
				out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

// isPrintableASCII reports whether eight bytes are all below 0x7f.
func isPrintableASCII(eight uint64) bool {
	const each = 0x0101010101010101
	return (eight|(eight+each))&(0x80*each) == 0
}

// isInvisible reports whether a character of a string is invisible. Spaces of all widths are visible.
func isInvisible(r rune) bool {
	return r >= 0x7f && !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r)
}
