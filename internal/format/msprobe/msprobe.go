// Package msprobe reads the files that Ascend's msprobe writes beside the tensors of a run:
// dump.json or debug.json with the calls of the framework's functions and modules in execution
// order and their inputs and outputs; stack.json with their lines in the script; construct.json
// with the modules around them. The tensors are separate files.
//
// The form is from the sources of msprobe (core/data_dump). The files are written by Python's json,
// which has NaN, Infinity and -Infinity.
package msprobe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// The names of the files, and of the folder with the tensors.
const (
	DumpName      = "dump.json"
	DebugName     = "debug.json"
	StackName     = "stack.json"
	ConstructName = "construct.json"
	TensorFolder  = "dump_tensor_data"
)

// Two of the tasks of a dump; there are others.
const (
	TensorTask     = "tensor"
	StatisticsTask = "statistics"
)

// HeadBytes is the number of leading bytes that show whether a file is a dump.json.
const HeadBytes = 4 << 10

// IsDump reports whether a file begins like a dump.json, whatever its name: an object with a task
// and a level before its data.
func IsDump(head []byte) bool {
	in := json.NewDecoder(bytes.NewReader(head))
	has := make(map[string]bool)
	for depth, isKey := 0, false; ; {
		t, err := in.Token()
		if err != nil {
			return false
		}
		switch delimiter, _ := t.(json.Delim); {
		case depth == 0 && delimiter != '{':
			return false
		case delimiter == '{' || delimiter == '[':
			depth++
			if depth > 1 && has["data"] {
				return has["task"] && has["level"]
			}
		case delimiter != 0:
			depth--
		case depth == 1 && isKey:
			has[t.(string)] = true
			isKey = false
			continue
		}
		isKey = depth == 1
	}
}

// SideName returns the name of a file beside a renamed dump.json. Both names have the same
// addition, as in dump (1).json and stack (1).json.
func SideName(list, name string) string {
	const dump = "dump"
	if list == DumpName || list == DebugName {
		return name
	}
	i := strings.LastIndex(list, dump)
	if i < 0 {
		return name
	}
	stem, _ := strings.CutSuffix(name, ".json")
	return list[:i] + stem + list[i+len(dump):]
}

// Header is the part of dump.json about all calls.
type Header struct {
	Task      string // tensor, statistics, ...
	Level     string // L0, L1, L2, mix, debug; empty if the file does not record it
	Framework string // pytorch, mindspore, mindtorch; empty if the file does not record it
}

// Entry is a call of a function or module, or the gradients of a module's parameters.
type Entry struct {
	// API is the name of the call, such as Functional.relu.0.forward.
	API string
	// Leaves are the values of the call: inputs, parameters, outputs, gradients of parameters.
	Leaves []Leaf
}

// Leaf is a value of a call: a tensor, another value, or None.
type Leaf struct {
	// Name is the name of the value in a run, such as Functional.relu.0.forward.input.0.
	Name string
	Kind tensor.Kind
	// Index is the position among the outermost values of the kind: named arguments come after
	// positional ones. Path is the position or key, followed by the positions or keys inside that
	// value, joined by dots.
	Index int
	Path  string
	// Tensor is nil if the value is not a tensor. Value is nil for a tensor and for None.
	Tensor *Tensor
	Value  *Value
	// P2P is set for the tensor of one of several sends and receives in a call.
	P2P *P2P
}

// P2P is a send or receive of batch_isend_irecv.
type P2P struct {
	Op        string // isend or irecv
	Peer, Tag int    // the other rank, and the tag
}

// Tensor describes a tensor.
type Tensor struct {
	Type  string // type in the framework, such as torch.Tensor
	DType string // in the spelling of the framework: torch.float16, Float16
	Shape tensor.Shape
	// Max, Min, Mean and Norm are statistics of the elements, or of the absolute values of complex
	// elements.
	Max, Min, Mean, Norm Number
	// Finite are the extremes of the finite elements, which newer writers add if Max or Min is not
	// finite; nil for none.
	Finite *Extremes
	// Digest is the CRC-32 of the elements in 8 hexadecimal digits, or another sum as 0x and 16
	// digits; empty for none.
	Digest string
	// RequiresGrad is nil if the file does not record it.
	RequiresGrad *bool
	// DataName is the file with the elements, empty for none. It comes from the file and may hold
	// any text.
	DataName string
	// Odd describes the first invalid member of the tensor, which was left out; empty for none.
	Odd lang.Sentence
}

// Numbers returns Max, Min, Mean and Norm.
func (t *Tensor) Numbers() [4]Number { return [4]Number{t.Max, t.Min, t.Mean, t.Norm} }

// Extremes are the largest and the smallest of some elements.
type Extremes struct {
	Max, Min Number
}

// Number is a statistic of a tensor.
type Number struct {
	// Kind is Invalid if absent; otherwise Null, Bool, Number or String.
	Kind jsonpos.Kind
	// Int: the number is written as an integer.
	Int bool
	// Value is the number, or 0 or 1 for a boolean.
	Value float64
	// Text is the string.
	Text string
}

// Value is a value other than a tensor.
type Value struct {
	Type string // such as int
	// Kind is the kind of the value in the file, Text the value as Python's str prints it.
	Kind jsonpos.Kind
	Text string
	// Group are the ranks of a process group, in their order; nil for other values. Groups with the
	// same ranks share the slice.
	Group []int
	// Odd describes the first invalid member of the value, which was left out; empty for none.
	Odd lang.Sentence
}

// NumberOr returns the value if it is a number, otherwise other.
func (l *Leaf) NumberOr(other float64) float64 {
	if l.Value != nil && l.Value.Kind == jsonpos.Number {
		if v, err := strconv.ParseFloat(l.Value.Text, 64); err == nil {
			return v
		}
	}
	return other
}

// IsModule reports whether an API is the call of a module, which contains other calls.
func IsModule(api string) bool {
	return strings.HasPrefix(api, "Module.") || strings.HasPrefix(api, "Cell.")
}

// dtypePrefix is the prefix of PyTorch's types.
const dtypePrefix = "torch."

// ElementType returns the element type, Undefined if unknown.
func (t *Tensor) ElementType() tensor.DType {
	word := strings.TrimPrefix(t.DType, dtypePrefix)
	if strings.HasPrefix(word, "float8_e8m0") {
		word = "float8_e8m0"
	}
	d, _ := tensor.ParseDType(word)
	return d
}

const (
	// maxFile is the maximum size of a file, in bytes.
	maxFile = 1 << 30
	// A value is estimated to need leafMemory bytes besides its name. All values may need
	// memoryFactor times the bytes of the file read so far, plus freeMemory.
	leafMemory   = 256
	memoryFactor = 5
	freeMemory   = 16 << 20
	// maxRank is the maximum number of dimensions.
	maxRank = 32
)

// CutError is the error of a file that is damaged after some complete entries. These entries, for
// which each was called, are valid.
type CutError struct {
	Entries int
	Err     error
}

// Error describes the damage and counts the entries before it.
func (e *CutError) Error() string { return e.Text().String() }

// Text is the error in both languages.
func (e *CutError) Text() lang.Text {
	return lang.Say("%v; the %d whole entries before it are used", e.Err, e.Entries).Text()
}

// Unwrap returns the error of the damage.
func (e *CutError) Unwrap() error { return e.Err }

// Read reads dump.json or debug.json and calls each with every entry in the order of the file, the
// execution order. After a *CutError the entries before the damage are valid; after any other error
// none is. Memory is proportional to the largest entry.
func Read(in io.Reader, each func(*Entry)) (Header, error) {
	r := &reader{Reader: jsonpos.NewReader(in, maxFile), each: each}
	r.Python = true
	err := r.readDocument()
	if err == nil {
		err = r.End()
	}
	switch {
	case err == nil && !r.hasData:
		err = lang.Errorf(`found no "data", wanted an object with an entry for each call`)
	case err == nil && r.header.Task == "":
		err = lang.Errorf(`found no "task", wanted the kind of dump, such as tensor or statistics`)
	case err != nil && r.entries > 0 && r.header.Task != "":
		return r.header, &CutError{r.entries, addOffset(err)}
	case err != nil:
		err = addOffset(err)
	}
	if err != nil {
		return Header{}, err
	}
	return r.header, nil
}

func addOffset(err error) error {
	if at, ok := errors.AsType[*jsonpos.Error](err); ok {
		return lang.Errorf("offset %d: %w", at.Offset, err)
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
	// words caches repeated texts, groups repeated lists of ranks.
	words  map[string]string
	groups map[string][]int
	// spare are leaves that were read, at most one for each level of nesting.
	spare []*leaf
}

func (r *reader) readDocument() error {
	return r.Object(func(key string) error {
		switch key {
		case "task":
			return r.readText(&r.header.Task)
		case "level":
			return r.readText(&r.header.Level)
		case "framework":
			return r.readText(&r.header.Framework)
		case "data":
			r.hasData = true
			return r.Object(r.readEntry)
		}
		return r.Skip()
	})
}

// readText reads a text; null is the empty text.
func (r *reader) readText(to *string) error {
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

// internedText reads a text with few distinct values, and shares equal ones.
func (r *reader) internedText(to *string) error {
	var text string
	if err := r.readText(&text); err != nil {
		return err
	}
	if same, ok := r.words[text]; ok {
		*to = same
		return nil
	}
	if r.words == nil {
		r.words = make(map[string]string)
	}
	if len(r.words) < 1000 { // a file that is not a dump may have any number of words
		r.words[text] = text
	}
	*to = text
	return nil
}

// internGroup returns the cached ranks of a group.
func (r *reader) internGroup(key string, ranks []int) []int {
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

// sections lists the members of an entry that hold values, in the order in which values are
// counted. Each has the kind of its values and the word in their names.
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

// Parts of the names of entries without sections.
const (
	gradients = ".parameters_grad"
	debugEnd  = ".debug"
	debugGrad = ".debug_grad"
)

// readEntry reads one entry of "data".
func (r *reader) readEntry(api string) error {
	e := &Entry{API: api}
	var err error
	switch head, _, _ := strings.Cut(api, gradients); {
	case len(head) < len(api):
		err = r.readGradients(e)
	case strings.HasSuffix(api, debugEnd), strings.HasSuffix(api, debugGrad):
		err = r.readValue(&valuePath{entry: e, kind: tensor.Output, name: api})
	default:
		err = r.readCall(e)
	}
	if err != nil {
		return err
	}
	r.entries++
	r.each(e)
	return nil
}

func (r *reader) readCall(e *Entry) error {
	sectionOf := make([]int, 0, 16)
	err := r.Object(func(key string) error {
		i := slices.IndexFunc(sections, func(s section) bool { return s.key == key })
		if i < 0 || r.Kind() == jsonpos.Null {
			return r.Skip()
		}
		s := &sections[i]
		err := r.readValue(&valuePath{entry: e, kind: s.kind, name: e.API + "." + s.word})
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
	setIndexes(e.Leaves)
	return nil
}

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

// setIndexes sets the index of values: numbered values keep their number, named values get the next
// ones.
func setIndexes(leaves []Leaf) {
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

// readGradients reads the gradients of parameters, each in a list of its own.
func (r *reader) readGradients(e *Entry) error {
	err := r.Object(func(parameter string) error {
		at := &valuePath{entry: e, kind: tensor.Gradient, name: e.API, path: parameter}
		if r.Kind() != jsonpos.Array {
			return r.readValue(at)
		}
		first := len(e.Leaves)
		if err := r.readValue(at); err != nil {
			return err
		}
		if len(e.Leaves) == first+1 { // a single gradient has no number
			l := &e.Leaves[first]
			l.Path = strings.TrimSuffix(l.Path, ".0")
			l.setName(e.API)
		}
		return nil
	})
	setIndexes(e.Leaves)
	return err
}
