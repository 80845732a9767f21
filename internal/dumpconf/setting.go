package dumpconf

import (
	"strconv"
	"strings"

	"dumptool/internal/jsonpos"
)

// span is a place in the text with its JSON path.
type span struct {
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

// anySetting is a setting of any type.
type anySetting interface {
	Present() bool
	where() string
	keySpan() span
}

func (s Setting[T]) where() string { return s.Path }

// Present reports whether the key is there, with whatever value.
func (s Setting[T]) Present() bool { return s.Node != nil }

// isEmpty reports whether the value is an empty string or array.
func (s Setting[T]) isEmpty() bool { return s.OK && s.Node.Text == "" && len(s.Node.Elems) == 0 }

// isFilled reports whether the value is an array with elements.
func (s Setting[T]) isFilled() bool { return s.OK && len(s.Node.Elems) > 0 }

// lacks reports whether the key is not there or empty.
func (s Setting[T]) lacks() bool { return !s.Present() || s.isEmpty() }

// misread reports whether the value is of the wrong type.
func (s Setting[T]) misread() bool { return s.Present() && !s.OK }

// keySpan is the place of the key, or of the element.
func (s Setting[T]) keySpan() span {
	if s.Key == nil {
		return s.valueSpan()
	}
	return span{s.Path, s.Key.KeyStart, s.Key.KeyEnd}
}

// valueSpan is the place of the value.
func (s Setting[T]) valueSpan() span {
	if s.Node == nil {
		return span{path: s.Path}
	}
	return span{s.Path, s.Node.Start, s.Node.End}
}

// spanIn is the place of the value, or where it is missing that of its object.
func (s Setting[T]) spanIn(o Object) span {
	if s.Present() {
		return s.valueSpan()
	}
	return o.keySpan()
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

// isFilled reports whether the object is there and has members.
func (o Object) isFilled() bool { return o.Present() && len(o.Node.Members) > 0 }

// having returns those of the keys that are there.
func (o Object) having(names ...string) []Setting[struct{}] {
	var out []Setting[struct{}]
	for _, name := range names {
		if s := lookup[struct{}](o, name); s.Present() {
			out = append(out, s)
		}
	}
	return out
}

// keySpan is the place that stands for what an object lacks: its key, or its
// opening bracket.
func (o Object) keySpan() span {
	switch {
	case o.Key != nil:
		return span{o.Path, o.Key.KeyStart, o.Key.KeyEnd}
	case o.Node != nil:
		return span{o.Path, o.Node.Start, min(o.Node.Start+1, o.Node.End)}
	default:
		return span{path: o.Path}
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
func part(s Setting[string], offset, n int) span {
	p := s.valueSpan()
	if p.end-p.start == len(s.Value)+2 {
		p.start += 1 + offset
		p.end = p.start + n
	}
	return p
}

// longestShown is how much of a value a message shows, in characters.
const longestShown = 60

func shorten(s string) string { return jsonpos.Shorten(s, longestShown) }

// show quotes a value for a message.
func show(s string) string { return strconv.Quote(shorten(s)) }

// list joins values for a message.
func list(values []string) string { return strings.Join(values, ", ") }
