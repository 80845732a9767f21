package dumpconf

import (
	"slices"
	"strings"

	"dumptool/internal/statusreg"
)

// Text is a text in English and Chinese.
type Text = statusreg.Text

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

// Split turns what was answered into values: of lists, the pieces between
// commas that are not in brackets. It returns nil for an empty answer.
func (f *Field) Split(answer string) []string {
	answer = strings.TrimSpace(answer)
	switch {
	case answer == "":
		return nil
	case f.Type != TypeStrings && f.Type != TypeUints:
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
	for _, p := range recipes() {
		out = append(out, p.profile())
	}
	return out
}

// recipe is how the file of a profile is made.
type recipe struct {
	name   string
	about  Text
	schema Schema
	since  Version
	listed bool         // has a dump_list
	parts  []ingredient // in the order of the file
	steps  func(m *making) []Text
}

// ingredient is a key that a recipe writes.
type ingredient struct {
	Field
	block  string // the object it belongs to: dump, item, common, e2e or async
	fixed  bool   // not offered: it makes the profile what it is
	joined bool   // written as one string with commas
	named  bool   // written as objects with a name
	// preset replaces Default when that depends on other things.
	preset func(m *making) []string
}

func (r *recipe) profile() Profile {
	p := Profile{Name: r.name, About: r.about, Schema: r.schema, Since: r.since}
	for i := range r.parts {
		if part := &r.parts[i]; !part.fixed {
			f := part.Field
			f.Values, f.Default = slices.Clone(f.Values), slices.Clone(f.Default)
			p.Fields = append(p.Fields, f)
		}
	}
	return p
}

// The objects that keys belong to.
const (
	inDump   = "dump"
	inItem   = "item"
	inCommon = "common"
	inE2E    = "e2e"
	inAsync  = "async"
)

// key is an ingredient without value.
func key(block, name string, t KeyType, en, zh string, values ...string) ingredient {
	return ingredient{block: block, Field: Field{
		Key: name, Flag: strings.ReplaceAll(name, "_", "-"), Type: t, Values: values,
		About: Text{EN: en, ZH: zh},
	}}
}

// with returns an ingredient that has these values when nothing is given, which
// may be an empty list.
func (g ingredient) with(values ...string) ingredient {
	g.Default = append([]string{}, values...)
	return g
}

// always returns an ingredient that is not offered.
func (g ingredient) always(values ...string) ingredient {
	g.fixed = true
	return g.with(values...)
}

// by returns an ingredient whose value depends on other things.
func (g ingredient) by(preset func(m *making) []string) ingredient {
	g.preset = preset
	return g
}

// asking returns an ingredient that is asked for.
func (g ingredient) asking(en, zh string) ingredient {
	g.Question = Text{EN: en, ZH: zh}
	return g
}

// holding returns an ingredient with a placeholder.
func (g ingredient) holding(values ...string) ingredient {
	g.Default, g.Placeholder = values, true
	return g
}

func recipes() []recipe {
	return slices.Concat(aclRecipes(), mindSporeRecipes())
}
