package tensorfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// Selector selects a tensor of a file. The zero value selects all.
type Selector struct {
	// Kind and Index select a tensor without a name, Name selects a tensor by its name.
	Kind  tensor.Kind
	Index int
	Name  string
}

// selectorKinds are the kinds that may follow a path, with an index or, for parameters, a name.
var selectorKinds = [...]tensor.Kind{tensor.Input, tensor.Output, tensor.Parameter, tensor.Gradient}

// Split splits the name of a tensor in a report: FILE, FILE:output:1, FILE:parameter:weight, or
// FILE:NAME for a file with named tensors. The file is the whole name if that path exists, else the
// longest prefix that is a file; it may lie in an archive, RUN.zip!FILE. If no prefix exists, the
// error is about the whole name.
func Split(name string) (path string, selector Selector, err error) {
	_, first := store.Stat(name)
	if first == nil {
		return name, selector, nil
	}
	for i := strings.LastIndexByte(name, ':'); i > 0; i = strings.LastIndexByte(name[:i], ':') {
		if info, err := store.Stat(name[:i]); err != nil || info.IsDir() {
			continue
		}
		return name[:i], parseSelector(name[i+1:]), nil
	}
	return "", selector, first
}

func parseSelector(text string) Selector {
	word, which, ok := strings.Cut(text, ":")
	for _, kind := range selectorKinds {
		if !ok || word != string(kind) {
			continue
		}
		if k, err := strconv.Atoi(which); err == nil && k >= 0 {
			return Selector{Kind: kind, Index: k}
		}
		if kind == tensor.Parameter && which != "" {
			return Selector{Name: which}
		}
	}
	return Selector{Name: text}
}

// IsZero reports whether s selects all tensors.
func (s Selector) IsZero() bool { return s == Selector{} }

// Has reports whether s selects t.
func (s Selector) Has(t *Tensor) bool {
	switch {
	case s.IsZero():
		return true
	case s.Name != "":
		return t.Name == s.Name
	}
	return t.Name == "" && t.Kind == s.Kind && t.Index == s.Index
}

func (s Selector) String() string {
	if s.Name != "" {
		return s.Name
	}
	return fmt.Sprintf("%s:%d", s.Kind, s.Index)
}

// Find returns the tensor of a kind and an index.
func (f *File) Find(kind tensor.Kind, index int) (*Tensor, error) {
	i := slices.IndexFunc(f.Tensors, func(t Tensor) bool { return t.Kind == kind && t.Index == index })
	if i < 0 {
		return nil, lang.Errorf("the file has no %s %d any more", kind, index)
	}
	return &f.Tensors[i], nil
}

// FindOrOnly is Find, but returns the only tensor of a file for any kind and index.
func (f *File) FindOrOnly(kind tensor.Kind, index int) (*Tensor, error) {
	if len(f.Tensors) == 1 {
		return &f.Tensors[0], nil
	}
	return f.Find(kind, index)
}

// keepSelected drops all tensors but the selected one. A single tensor without a name is kept for
// any selector unless the file is a dump.
func (f *File) keepSelected(s Selector) error {
	if s.IsZero() || len(f.Tensors) == 1 && f.Op == nil && f.Tensors[0].Name == "" {
		return nil
	}
	for i := range f.Tensors {
		if s.Has(&f.Tensors[i]) {
			f.Tensors = f.Tensors[i : i+1]
			return nil
		}
	}
	var names []string
	for i := range f.Tensors {
		names = append(names, f.Tensors[i].String())
	}
	return lang.Errorf("the file has no tensor %q, only %s", s.String(), lang.FirstNames(names))
}
