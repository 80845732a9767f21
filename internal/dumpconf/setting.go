package dumpconf

import (
	"strconv"
	"strings"

	"dumptool/internal/dumpconf/jsonpos"
)

// spot is a place in the text with its JSON path.
type spot struct {
	path       string
	start, end int
}

// Setting is a key, or an element of an array, as a configuration has it.
type Setting[T any] struct {
	Path  string          // like dump.dump_list[0].layer
	Key   *jsonpos.Member // nil when absent, and for elements
	Node  *jsonpos.Value  // nil when absent
	Value T               // of the right type only
	OK    bool            // the value has the right type
}

// Present reports whether the key is there, with whatever value.
func (s Setting[T]) Present() bool { return s.Node != nil }

// keySpot is the place of the key, or of the element.
func (s Setting[T]) keySpot() spot {
	if s.Key == nil {
		return s.valueSpot()
	}
	return spot{s.Path, s.Key.KeyStart, s.Key.KeyEnd}
}

// valueSpot is the place of the value.
func (s Setting[T]) valueSpot() spot {
	if s.Node == nil {
		return spot{path: s.Path}
	}
	return spot{s.Path, s.Node.Start, s.Node.End}
}

// Object is an object of a configuration.
type Object struct {
	Path  string
	Key   *jsonpos.Member // nil for the top level and for elements
	Node  *jsonpos.Value  // nil when absent or no object
	table *keyTable
}

// Present reports whether the object is there.
func (o Object) Present() bool { return o.Node != nil }

// keySpot is the place that stands for what an object lacks: its key, or its
// opening bracket.
func (o Object) keySpot() spot {
	switch {
	case o.Key != nil:
		return spot{o.Path, o.Key.KeyStart, o.Key.KeyEnd}
	case o.Node != nil:
		return spot{o.Path, o.Node.Start, min(o.Node.Start+1, o.Node.End)}
	default:
		return spot{path: o.Path}
	}
}

// insertion returns the edit that adds a member as the first of the object,
// laid out like the one that follows. It returns nil for empty objects.
func (o Object) insertion(src []byte, name, value string) []jsonpos.Edit {
	if o.Node == nil || len(o.Node.Members) == 0 || o.Node.Get(name) != nil {
		return nil
	}
	first := o.Node.Members[0].KeyStart
	gap := string(src[min(o.Node.Start+1, first):first])
	if strings.Trim(gap, " \t\r\n") != "" {
		gap = ""
	}
	if gap == "" {
		gap = " "
	}
	text := jsonpos.Quote(name) + ": " + jsonpos.Quote(value) + "," + gap
	return []jsonpos.Edit{{Offset: first, Text: text}}
}

// part is the place of n bytes at an offset of a string's value. When the
// string is not written as it reads, it is the whole string.
func part(s Setting[string], offset, n int) spot {
	p := s.valueSpot()
	if p.end-p.start == len(s.Value)+2 {
		p.start += 1 + offset
		p.end = p.start + n
	}
	return p
}

// join appends a key to a path.
func join(path, key string) string {
	if !isSimple(key) {
		return path + "[" + jsonpos.Quote(shorten(key)) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func isSimple(key string) bool {
	for i := range len(key) {
		c := key[i]
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return key != "" && len(key) <= longestShown
}

// longestShown is how much of a value a message shows, in characters.
const longestShown = 60

func shorten(s string) string {
	n := 0
	for i := range s {
		if n == longestShown {
			return s[:i] + "..."
		}
		n++
	}
	return s
}

// show quotes a value for a message.
func show(s string) string { return strconv.Quote(shorten(s)) }

// list joins values for a message.
func list(values []string) string { return strings.Join(values, ", ") }
