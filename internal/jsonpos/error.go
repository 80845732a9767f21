package jsonpos

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Error says where a text is not what was wanted.
type Error struct {
	Path         string // of the value, like graph[0].op[3].name; empty for the document
	Offset       int64  // in bytes
	Line, Column int    // counted from 1, columns are characters
	Found        string
	Wanted       string
}

// Error names the place, what was found and what was wanted.
func (e *Error) Error() string {
	path := ""
	if e.Path != "" {
		path = e.Path + ", "
	}
	return fmt.Sprintf("%sline %d, column %d: found %s, wanted %s", path, e.Line, e.Column, e.Found, e.Wanted)
}

// JoinPath appends a key to a path. Keys that are no plain words stand in brackets.
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

// Shorten cuts a text to so many characters, with an ellipsis behind.
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

func pathText(steps []step) string {
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

// excerpt is a piece of a file for a message.
func excerpt(text []byte) string {
	const most = 40 // characters
	return printable([]byte(Shorten(string(text[:min(len(text), utf8.UTFMax*(most+1))]), most)))
}

// advance returns the position behind a text that starts at a position.
func advance(line, column int, text []byte) (int, int) {
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		line += bytes.Count(text, []byte{'\n'})
		column, text = 1, text[i+1:]
	}
	return line, column + utf8.RuneCount(text)
}
