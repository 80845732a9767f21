package pairing

import (
	"strings"

	"dumptool/internal/tensor"
)

// Kind tells an operator's inputs from its outputs.
type Kind string

// The kinds.
const (
	Input  Kind = "input"
	Output Kind = "output"
)

// Tensor is what pairing knows of a tensor.
type Tensor struct {
	// ID is the caller's, from 0; results name tensors by it.
	ID int
	// Op is the exact name of the operator, as a dump's header has it; empty
	// where only the file name tells.
	Op string
	// FileOp is the name of the operator in the file name.
	FileOp string
	OpType string // empty when unknown
	Kind   Kind
	Index  int
	// Timestamp is 0 when unknown.
	Timestamp uint64
	// Slice tells apart the pieces of a tensor that the threads of a sliced
	// operator wrote; empty for whole ones.
	Slice string
	// Round is the folder of the file below the folder of its side: a step, a
	// card. A tensor that is in several is paired in each.
	Round string
	// Stem is the name of the file without its extension and what a converter
	// added to it.
	Stem string
	// Shape, where HasShape, is that of the tensor. It is only used to tell a
	// shape at the end of a name from other numbers.
	Shape    tensor.Shape
	HasShape bool
}

// Name returns the best known name of the operator.
func (t *Tensor) Name() string {
	if t.Op != "" {
		return t.Op
	}
	return t.FileOp
}

// names returns the known names of the operator, the best first.
func (t *Tensor) names() []string {
	if t.Op == "" || t.Op == t.FileOp {
		return []string{t.Name()}
	}
	if t.FileOp == "" {
		return []string{t.Op}
	}
	return []string{t.Op, t.FileOp}
}

// Normalise returns name as file names have it: _ for / . : \ and blanks.
func Normalise(name string) string {
	const special = `/.:\ `
	if !strings.ContainsAny(name, special) {
		return name
	}
	b := []byte(name)
	for i, c := range b {
		if strings.IndexByte(special, c) >= 0 {
			b[i] = '_'
		}
	}
	return string(b)
}

// nameIndex finds a number by a name: as it is written, else normalised.
type nameIndex struct {
	exact, loose map[string]int
}

// conflict is the number of a normalised name that several names share.
const conflict = -1

// add gives name the number i, unless it has one, and reports which it has.
func (x *nameIndex) add(name string, i int) (number int, added bool) {
	if old, found := x.exact[name]; found {
		return old, false
	}
	if x.exact == nil {
		x.exact, x.loose = make(map[string]int), make(map[string]int)
	}
	x.exact[name] = i
	loose := Normalise(name)
	if _, found := x.loose[loose]; found {
		i = conflict
	}
	x.loose[loose] = i
	return x.exact[name], true
}

// find returns the number of the first of names that has one; exact names
// count before normalised ones.
func (x *nameIndex) find(names ...string) (int, bool) {
	for _, name := range names {
		if i, ok := x.exact[name]; ok {
			return i, true
		}
	}
	for _, name := range names {
		if i, ok := x.loose[Normalise(name)]; ok && i != conflict && name != "" {
			return i, true
		}
	}
	return 0, false
}
