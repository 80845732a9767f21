package pair

import (
	"iter"

	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/tensor"
)

// Tensor is what pairing knows of a tensor.
type Tensor struct {
	// ID is the caller's, from 0; results name tensors by it.
	ID int
	// Op is the exact name of the operator, as a dump's header has it; empty
	// where only the file name has one.
	Op string
	// FileOp is the name of the operator in the file name. It may be another
	// one than the header's; the tensor then goes by both.
	FileOp string
	OpType string // empty when unknown
	Kind   tensor.Kind
	Index  int
	// Timestamp is 0 when unknown.
	Timestamp uint64
	// Call is what a value of a call of msprobe has in common with its partner, empty
	// unless both sides are of msprobe; see Calls.
	Call string
	// Recorded is what a tensor of torch.utils.dumper has in common with its partner,
	// empty unless both sides are of that; see MatchRecorded.
	Recorded string
	// Path is the name in parts of a tensor whose file says what it belongs to, nil for
	// others: it may be chosen by a group that it is in.
	Path []string
	// Slice is the thread of a sliced operator that wrote this piece of a tensor;
	// empty for whole ones.
	Slice string
	// Origin is the result of the user's model that the header of a dump names, nil
	// where it names none.
	Origin *dumpdir.Origin
	// Stem is the name of the file without its extension and what a converter
	// added to it.
	Stem string
	// Shape is that of the tensor by its name, nil where that has none. It only
	// serves to recognise a shape at the end of an operator's name; see
	// Options.Shapes for shapes that names do not have.
	Shape tensor.Shape
}

// NewTensor returns the tensor that a file's name describes; the caller adds ID
// and what the file says, such as Op, and for a dump Kind and Index.
func NewTensor(n *filename.Info) Tensor {
	t := Tensor{FileOp: n.OpName, OpType: n.OpType, Kind: n.Kind, Index: n.Index, Timestamp: n.Timestamp, Slice: n.Slice, Stem: n.Stem}
	if n.Grammar != filename.Plain { // where it belongs to the name, until rule suffix finds that it is the tensor's
		t.Shape = n.Shape
	}
	return t
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
	return t.Op != "" && t.FileOp != "" && !filename.SameNormalised(t.Op, t.FileOp) && !filename.IsShortened(t.Stem)
}

// Names returns the known names of the operator, the best first.
func (t *Tensor) Names() []string {
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

// in returns the name of a set that the operator has, or a group of the file that the
// tensor is in.
func (t *Tensor) in(set *dumpdir.NameSet) (text string, ok bool) {
	if set == nil {
		return "", false
	}
	if text, ok = set.Match(t.Names()...); ok || t.Path == nil {
		return text, ok
	}
	return set.MatchPath(t.Path)
}

// distinctNames returns the names of the operator that are not the same as
// file names have them, the best first.
func (t *Tensor) distinctNames() []string {
	if t.disagree() {
		return []string{t.FileOp, t.Op}
	}
	return []string{t.Name()}
}

// renamed returns t with another name, and no other one.
func (t *Tensor) renamed(op string) *Tensor {
	alias := *t
	alias.Op, alias.FileOp = op, ""
	return &alias
}

// Names are those of the tensors' operators.
func Names(sides ...[]Tensor) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for _, tensors := range sides {
			for i := range tensors {
				if !yield(tensors[i].Names()) {
					return
				}
			}
		}
	}
}

// key is what two tensors have in common that are partners by some rule.
type key struct {
	name  string
	kind  tensor.Kind
	index int
}

// keys are the keys of a tensor: of its names, and of what is left of them
// without an end that may be a shape. A shortened name is the partner of a whole
// one only: two names that differ in what was cut are two names.
type keys struct {
	whole     []key
	shortened []shortened
}

// shortened is the key of a name without a shape, if it is one.
type shortened struct {
	key
	shape tensor.Shape
	// certain is set for a text that is a shape in any case, such as 1x3x224.
	certain bool
}

// every yields all keys.
func (k *keys) every(yield func(key) bool) {
	for _, whole := range k.whole {
		if !yield(whole) {
			return
		}
	}
	for _, s := range k.shortened {
		if !yield(s.key) {
			return
		}
	}
}

// add adds the key of a name, unless it is empty.
func (k *keys) add(t *Tensor, name string) {
	if name != "" {
		k.whole = append(k.whole, key{name, t.Kind, t.Index})
	}
}

func stemKeys(t *Tensor) (k keys) {
	if !filename.IsShortened(t.Stem) {
		k.add(t, t.Stem)
	}
	return k
}

// bothKeys are keys of operators with two names: partners that have both come
// before those that have one of them.
func bothKeys(t *Tensor) (k keys) {
	if t.disagree() {
		k.add(t, t.FileOp+"\x00"+t.Op)
	}
	return k
}

func nameKeys(t *Tensor) keys {
	return eachName(t, func(name string) string { return name })
}

func normalisedKeys(t *Tensor) keys { return eachName(t, filename.Normalise) }

// typedKeys are keys of operators with a known type.
func typedKeys(t *Tensor) keys {
	if t.OpType == "" {
		return keys{}
	}
	return eachName(t, func(name string) string { return filename.Normalise(name) + "\x00" + t.OpType })
}

// eachName are keys of the distinct names of a tensor.
func eachName(t *Tensor, as func(name string) string) (k keys) {
	for _, name := range t.distinctNames() {
		k.add(t, as(name))
	}
	return k
}

func suffixKeys(t *Tensor) keys {
	k := normalisedKeys(t)
	for _, whole := range k.whole {
		if head, ok := filename.CutTimestamp(whole.name); ok {
			k.add(t, head)
		}
	}
	for _, whole := range k.whole {
		for _, s := range filename.ShapeSuffixes(whole.name) {
			k.shortened = append(k.shortened, shortened{key{s.Head, whole.kind, whole.index}, s.Shape, s.Certain})
		}
	}
	return k
}
