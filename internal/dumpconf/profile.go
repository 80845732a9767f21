package dumpconf

import (
	"slices"
	"strings"
)

// Profile is a purpose for which a configuration can be made.
type Profile struct {
	Name   string
	About  Text
	Schema Schema
	Since  Version // the release that can do it; zero for every release
	Fields []Field // in the order of the file
}

// Field is a key of a profile that can be given a value.
type Field struct {
	Key     string  // of the file
	Flag    string  // of a command line, without dashes
	Type    KeyType // TypeString, TypeUint, TypeBool, TypeStrings or TypeUints
	Values  []string
	Default []string // what is written when nothing is given; nil leaves the key out
	// Placeholder says that Default only stands for something that only the
	// user knows.
	Placeholder bool
	About       Text
	// Question is what to ask somebody who gives no values. It is empty for
	// fields that are not worth asking.
	Question Text
}

// many reports whether the field takes a list of values.
func (f *Field) many() bool { return f.Type == TypeStrings || f.Type == TypeUints }

// Split turns what was answered into values: of lists, the pieces between
// commas that are not in brackets. It returns nil for an empty answer.
func (f *Field) Split(answer string) []string {
	answer = strings.TrimSpace(answer)
	switch {
	case answer == "":
		return nil
	case !f.many():
		return []string{answer}
	}
	var out []string
	depth, start := 0, 0
	take := func(end int) {
		if piece := strings.TrimSpace(answer[start:end]); piece != "" {
			out = append(out, piece)
		}
		start = end + 1
	}
	for i := range len(answer) {
		switch answer[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
		case ',':
			if depth == 0 {
				take(i)
			}
		}
	}
	if start < len(answer) {
		take(len(answer))
	}
	return out
}

// Profiles returns all profiles. What they contain in a file for an older
// release is less.
func Profiles() []Profile {
	var out []Profile
	for _, t := range templates() {
		out = append(out, t.profile())
	}
	return out
}

// profile describes the template. The questions are those that the texts have.
func (t *template) profile() Profile {
	p := Profile{Name: t.name, About: text("profile." + t.name), Schema: t.schema, Since: t.since}
	for i := range t.keys {
		if k := &t.keys[i]; !k.fixed {
			f := k.Field
			f.Values, f.Default = slices.Clone(f.Values), slices.Clone(f.Default)
			f.About, f.Question = text("field."+k.topic), textTable()["ask."+k.topic]
			p.Fields = append(p.Fields, f)
		}
	}
	return p
}
