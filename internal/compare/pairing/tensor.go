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
	// FileOp is the name of the operator in the file name. It may be another
	// one than the header's; the tensor then goes by both.
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
	// shape at the end of a name from other numbers; see Options.Shapes for
	// shapes that the name does not tell.
	Shape    tensor.Shape
	HasShape bool
}

// Name returns the name that the operator goes by: the exact one of the header
// where it is that of the file, else the file's.
func (t *Tensor) Name() string {
	if t.Op == "" || t.disagree() {
		return t.FileOp
	}
	return t.Op
}

// disagree reports whether the header and the file name two operators. A file
// name that is a bare number stands for one that was too long, and names none.
func (t *Tensor) disagree() bool {
	return t.Op != "" && t.FileOp != "" && !sameNormalised(t.Op, t.FileOp) && !isDigits(t.Stem)
}

// names returns the known names of the operator, the best first.
func (t *Tensor) names() []string {
	switch {
	case t.disagree():
		return []string{t.FileOp, t.Op}
	case t.Op == "" || t.Op == t.FileOp:
		return []string{t.Name()}
	case t.FileOp == "":
		return []string{t.Op}
	}
	return []string{t.Op, t.FileOp}
}

// distinctNames returns the names of the operator that are not the same as
// file names have them, the best first.
func (t *Tensor) distinctNames() []string {
	if t.disagree() {
		return []string{t.FileOp, t.Op}
	}
	return []string{t.Name()}
}

// rename gives t another name, and no other one.
func (t *Tensor) rename(op string) { t.Op, t.FileOp = op, "" }

// special are the characters that file names have _ for.
const special = `/.:\ `

// sameNormalised reports whether two names are equal as file names have them.
func sameNormalised(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	plain := func(c byte) byte {
		if strings.IndexByte(special, c) >= 0 {
			return '_'
		}
		return c
	}
	for i := range len(a) {
		if a[i] != b[i] && plain(a[i]) != plain(b[i]) {
			return false
		}
	}
	return true
}

// Normalise returns name as file names have it: _ for / . : \ and blanks.
func Normalise(name string) string {
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
