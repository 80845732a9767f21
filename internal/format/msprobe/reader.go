package msprobe

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/tensor"
)

const (
	// maxFile is how large a file may be, in bytes.
	maxFile = 1 << 30
	// A value is taken to need leafMemory besides its name. All of them may need
	// memoryFactor times the bytes of the file up to there, and freeMemory.
	leafMemory   = 256
	memoryFactor = 5
	freeMemory   = 16 << 20
	// maxRank is how many dimensions a tensor may have.
	maxRank = 32
)

// CutError is the error of a file that is damaged behind whole entries: those, which
// each was called with, are good.
type CutError struct {
	Entries int
	Err     error
}

// Error says what is wrong and how many entries stand before it.
func (e *CutError) Error() string {
	return fmt.Sprintf("%v; the %d whole entries before it are used", e.Err, e.Entries)
}

// Unwrap returns what is wrong.
func (e *CutError) Unwrap() error { return e.Err }

// Read reads dump.json or debug.json, and calls each with every entry in the order of
// the file, which is that of the execution. A *CutError leaves those before the damage
// good; with any other error nothing of the file is. Memory is that of the largest
// entry.
func Read(in io.Reader, each func(*Entry)) (Header, error) {
	r := &reader{Reader: jsonpos.NewReader(in, maxFile), each: each}
	r.Python = true
	err := r.document()
	if err == nil {
		err = r.End()
	}
	switch {
	case err == nil && !r.hasData:
		err = errors.New(`found no "data", wanted an object with an entry for each call`)
	case err == nil && r.header.Task == "":
		err = errors.New(`found no "task", wanted what was dumped, such as tensor or statistics`)
	case err != nil && r.entries > 0 && r.header.Task != "":
		return r.header, &CutError{r.entries, placed(err)}
	case err != nil:
		err = placed(err)
	}
	if err != nil {
		return Header{}, err
	}
	return r.header, nil
}

// placed adds the offset to an error.
func placed(err error) error {
	var at *jsonpos.Error
	if errors.As(err, &at) {
		return fmt.Errorf("offset %d: %w", at.Offset, err)
	}
	return err
}

type reader struct {
	*jsonpos.Reader
	each    func(*Entry)
	header  Header
	hasData bool
	entries int
	leaves  int
	memory  int64 // of the leaves
	// words are texts that occur again and again, groups ranks that do.
	words  map[string]string
	groups map[string][]int
}

func (r *reader) document() error {
	return r.Object(func(key string) error {
		switch key {
		case "task":
			return r.text(&r.header.Task)
		case "level":
			return r.text(&r.header.Level)
		case "framework":
			return r.text(&r.header.Framework)
		case "data":
			r.hasData = true
			return r.Object(r.entry)
		}
		return r.Skip()
	})
}

// text reads a text, or null for none.
func (r *reader) text(to *string) error {
	switch r.Kind() {
	case jsonpos.Null:
		return r.Skip()
	case jsonpos.String:
		_, text, err := r.Scalar()
		*to = text
		return err
	}
	return r.Unexpected("a text")
}

// word reads a text of which there are few different ones.
func (r *reader) word(to *string) error {
	var text string
	if err := r.text(&text); err != nil {
		return err
	}
	if same, ok := r.words[text]; ok {
		*to = same
		return nil
	}
	if r.words == nil {
		r.words = make(map[string]string)
	}
	if len(r.words) < 1000 { // a file that is no dump may have any number of them
		r.words[text] = text
	}
	*to = text
	return nil
}

// sameGroup returns the ranks of a group, those of the first that had them.
func (r *reader) sameGroup(key string, ranks []int) []int {
	if same, ok := r.groups[key]; ok {
		return same
	}
	if r.groups == nil {
		r.groups = make(map[string][]int)
	}
	r.groups[key] = ranks
	r.memory += int64(len(key) + 8*len(ranks))
	return ranks
}

// sections are the members of an entry with values, in the order in which the values
// count: what kind those are, and what stands for it in their names.
var sections = []section{
	{"input_args", tensor.Input, "input"},
	{"input", tensor.Input, "input"},
	{"input_kwargs", tensor.Input, "input"},
	{"parameters", tensor.Parameter, "parameters"},
	{"output", tensor.Output, "output"},
}

type section struct {
	key  string
	kind tensor.Kind
	word string
}

// The ends of the names of entries that have no such members.
const (
	gradients = ".parameters_grad"
	debugEnd  = ".debug"
	debugGrad = ".debug_grad"
)

// entry reads what was called and what with.
func (r *reader) entry(api string) error {
	e := &Entry{API: api}
	var err error
	switch head, _, _ := strings.Cut(api, gradients); {
	case len(head) < len(api):
		err = r.gradients(e)
	case strings.HasSuffix(api, debugEnd), strings.HasSuffix(api, debugGrad):
		err = r.value(&place{entry: e, kind: tensor.Output, name: api})
	default:
		err = r.call(e)
	}
	if err != nil {
		return err
	}
	r.entries++
	r.each(e)
	return nil
}

func (r *reader) call(e *Entry) error {
	sectionOf := make([]int, 0, 16)
	err := r.Object(func(key string) error {
		if key == "is_recompute" {
			kind, text, err := r.Scalar()
			e.Recomputed = kind == jsonpos.Bool && text == "true"
			return err
		}
		i := slices.IndexFunc(sections, func(s section) bool { return s.key == key })
		if i < 0 || r.Kind() == jsonpos.Null {
			return r.Skip()
		}
		s := &sections[i]
		err := r.value(&place{entry: e, kind: s.kind, name: e.API + "." + s.word})
		for len(sectionOf) < len(e.Leaves) {
			sectionOf = append(sectionOf, i)
		}
		return err
	})
	if err != nil {
		return err
	}
	if !slices.IsSorted(sectionOf) {
		sortLeaves(e.Leaves, sectionOf)
	}
	number(e.Leaves)
	return nil
}

// sortLeaves sorts leaves by their sections.
func sortLeaves(leaves []Leaf, sectionOf []int) {
	order := make([]int, len(leaves))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sectionOf[a], sectionOf[b]) })
	sorted := make([]Leaf, len(leaves))
	for i, from := range order {
		sorted[i] = leaves[from]
	}
	copy(leaves, sorted)
}

// number gives values their index: those with a number have it, those with a name the
// next ones.
func number(leaves []Leaf) {
	next := map[tensor.Kind]int{}
	named := map[string]int{}
	for i := range leaves {
		l := &leaves[i]
		first, _, _ := strings.Cut(l.Path, ".")
		n, err := strconv.ParseUint(first, 10, 31)
		if err == nil {
			l.Index = int(n)
			next[l.Kind] = max(next[l.Kind], l.Index+1)
			continue
		}
		key := string(l.Kind) + "." + first
		at, ok := named[key]
		if !ok {
			at = next[l.Kind]
			named[key] = at
			next[l.Kind]++
		}
		l.Index = at
	}
}

// gradients reads the gradients of parameters, each in a list of its own.
func (r *reader) gradients(e *Entry) error {
	err := r.Object(func(parameter string) error {
		at := &place{entry: e, kind: tensor.Gradient, name: e.API, path: parameter}
		if r.Kind() != jsonpos.Array {
			return r.value(at)
		}
		first := len(e.Leaves)
		if err := r.value(at); err != nil {
			return err
		}
		if len(e.Leaves) == first+1 { // the only one has no number
			l := &e.Leaves[first]
			l.Path = strings.TrimSuffix(l.Path, ".0")
			l.setName(e.API)
		}
		return nil
	})
	number(e.Leaves)
	return err
}
