package main

import (
	"cmp"
	"encoding/csv"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/sidefile"
)

// list is a flag that may be given several times, or whose value may have several
// elements.
type list[T any] struct {
	to   *T
	read func(texts []string) (T, error)
	// commas stand between elements of a value.
	commas bool
	// kind is what help calls a value that its usage does not name.
	kind  string
	given bool
	texts []string
	known []string
}

// Set implements pflag.Value. The first value takes the place of the default.
func (l *list[T]) Set(text string) error {
	elements := []string{text}
	if l.commas {
		var err error
		if elements, err = csv.NewReader(strings.NewReader(text)).Read(); err != nil && text != "" {
			return err
		}
	}
	if l.given {
		elements = slices.Concat(l.texts, elements)
	}
	l.given = true
	return l.Replace(elements)
}

// Replace implements pflag.SliceValue.
func (l *list[T]) Replace(texts []string) error {
	read, err := l.read(texts)
	if err == nil {
		*l.to, l.texts = read, texts
	}
	return err
}

// Append implements pflag.SliceValue.
func (l *list[T]) Append(text string) error { return l.Replace(slices.Concat(l.texts, []string{text})) }

// GetSlice implements pflag.SliceValue.
func (l *list[T]) GetSlice() []string { return l.texts }

// String implements pflag.Value, in the form of pflag's own lists.
func (l *list[T]) String() string {
	if len(l.texts) == 0 {
		return ""
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(l.texts) // to memory
	w.Flush()
	return "[" + strings.TrimSuffix(b.String(), "\n") + "]"
}

// Type implements pflag.Value.
func (l *list[T]) Type() string { return cmp.Or(l.kind, "stringSlice") }

// values are those that the shell completes.
func (l *list[T]) values() []string { return l.known }

// texts are any texts.
func texts(to *[]string) *list[[]string] {
	return &list[[]string]{to: to, texts: *to, read: func(texts []string) ([]string, error) { return texts, nil }}
}

// several are texts that may stand in one value with commas between them.
func several(to *[]string, known []string) *list[[]string] {
	l := texts(to)
	l.commas, l.known = true, known
	return l
}

// each are elements that are read one by one, with commas between them. Empty ones are
// none.
func each[E any](to *[]E, known, byDefault []string, read func(string) (E, error)) *list[[]E] {
	l := &list[[]E]{to: to, known: known, commas: true, read: func(texts []string) (all []E, err error) {
		for _, text := range texts {
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			e, err := read(text)
			if err != nil {
				return nil, &valueError{element: text, err: err}
			}
			all = append(all, e)
		}
		return all, nil
	}}
	_ = l.Replace(byDefault) // of the program itself
	return l
}

// choices are several of some values.
func choices[S ~string](to *[]S, known, byDefault []S) *list[[]S] {
	return each(to, names(known), names(byDefault), choice(new(S), known).read)
}

// nameLists are names with commas between them, or in the form of a list of Python.
func nameLists(to *[]string) *list[[]string] {
	return &list[[]string]{to: to, read: func(texts []string) ([]string, error) {
		names, err := sidefile.ParseList(texts...)
		if err != nil {
			return nil, &valueError{err: err, alone: true}
		}
		return names, nil
	}}
}

// nameSet is a set of operators by their names and patterns of them, nil for none.
func nameSet(to **dumpdir.NameSet) *list[*dumpdir.NameSet] {
	return &list[*dumpdir.NameSet]{to: to, read: func(texts []string) (*dumpdir.NameSet, error) { return namesOf(texts) }}
}

// namesOf makes a set of lists of names, and of more; nil for none.
func namesOf(lists []string, more ...string) (*dumpdir.NameSet, error) {
	if len(lists)+len(more) == 0 {
		return nil, nil
	}
	names, err := sidefile.ParseList(lists...)
	var set *dumpdir.NameSet
	if err == nil {
		set, err = dumpdir.NewNameSet(append(names, more...))
	}
	if err != nil {
		return nil, &valueError{err: err, alone: true}
	}
	return set, nil
}

// byKey are values of operators, OP=VALUE, by their names. parse reads one of them.
func byKey[V any](to *map[string]V, parse func(text string) (key string, v V, err error)) *list[map[string]V] {
	return &list[map[string]V]{to: to, read: func(texts []string) (map[string]V, error) {
		all := map[string]V{}
		for _, text := range texts {
			key, v, err := parse(text)
			if err != nil {
				return nil, &valueError{element: text, err: err}
			}
			all[key] = v
		}
		return all, nil
	}}
}
