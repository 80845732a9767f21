package jsonpos

import (
	"iter"

	"dumptool/internal/lang"
)

// Kind says what a value is.
type Kind uint8

// The kinds of values. Invalid stands where a value is missing or unreadable; a
// Problem then says why.
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
	{EN: "nothing", ZH: "空"}, {EN: "null", ZH: " null"}, {EN: "a boolean", ZH: "布尔值"}, {EN: "a number", ZH: "数字"},
	{EN: "a string", ZH: "字符串"}, {EN: "an array", ZH: "数组"}, {EN: "an object", ZH: "对象"},
}

// String names the kind with its article, for messages.
func (k Kind) String() string { return kindNames[k].EN }

// Text names the kind in both languages.
func (k Kind) Text() lang.Text { return kindNames[k] }

// Value is a JSON value and the bytes of the text it was read from.
type Value struct {
	Kind       Kind
	Start, End int      // byte range, quotes and brackets included
	Text       string   // of a string: decoded; of numbers and booleans: as JSON writes them
	Members    []Member // of an object, in file order; duplicates are kept
	Elems      []*Value // of an array
}

// Member is a key of an object with its value.
type Member struct {
	Key              string
	KeyStart, KeyEnd int // byte range, quotes included
	Value            *Value
}

// Get returns the member that counts under a key: the last one. It returns
// nil when there is none, or when v is no object.
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

// IsTrue reports whether v is the boolean true.
func (v *Value) IsTrue() bool { return v != nil && v.Kind == Bool && v.Text == "true" }

// Repeated returns the members of an object whose key stands before, each behind the
// last of those before it.
func (v *Value) Repeated() iter.Seq2[*Member, *Member] {
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
