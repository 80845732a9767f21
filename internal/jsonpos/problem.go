package jsonpos

import "dumptool/internal/lang"

// Cause is the usual reason why a text is no JSON.
type Cause int

// The causes.
const (
	Unexpected     Cause = iota // a character that starts nothing
	TrailingComma               // a comma before a closing bracket
	ExtraComma                  // a comma with nothing before it
	MissingComma                // two members or values in a row
	MissingColon                // a key without a colon
	MissingValue                // a colon without a value
	Comment                     // #, // or /* */
	SingleQuotes                // 'text'
	FullWidth                   // punctuation or space of a Chinese input method
	UnquotedKey                 // {key: 1}
	UnquotedValue               // {"key": word}
	PythonConstant              // True, False, None, and their like of other languages
	NotANumber                  // NaN, Infinity
	BadNumber                   // 01, +1, 0x10, 1.
	BadEscape                   // a backslash that starts no escape sequence
	ControlChar                 // a raw tab or other control character
	BadUTF8                     // bytes that are no UTF-8
	OpenString                  // a string without closing quote
	WrongBracket                // a closing bracket that does not fit
	Truncated                   // the text ends too early
	ExtraData                   // something after the end
	ByteOrderMark               // UTF-8 with a byte order mark
	UTF16                       // UTF-16, with or without byte order mark
	Binary                      // no text at all
	TooDeep                     // nesting beyond MaxDepth
	TooMany                     // more values than MaxValues
	Empty                       // no value at all
)

// Problem is one deviation from JSON.
type Problem struct {
	Cause          Cause
	Offset, Length int // bytes of the text; a length of 0 is a place between two
	Message        lang.Sentence
	Edits          []Edit // what repairs it; none when there is more than one answer
}

// edit adds an edit to what repairs the problem.
func (p *Problem) edit(offset, length int, text string) {
	p.Edits = append(p.Edits, Edit{offset, length, text})
}

// replace repairs the problem with a text in its place.
func (p *Problem) replace(text string) { p.edit(p.Offset, p.Length, text) }

// Edit replaces Length bytes at Offset by Text.
type Edit struct {
	Offset, Length int
	Text           string
}

// End returns the offset behind the bytes the edit replaces.
func (e Edit) End() int { return e.Offset + e.Length }
