package pair

import (
	"iter"

	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/tensor"
)

// Tensor is the name and place of a tensor.
type Tensor struct {
	// ID is chosen by the caller, from 0. Results refer to tensors by ID.
	ID int
	// Op is the exact name of the operator from the header of a dump, empty for none.
	Op string
	// FileOp is the name of the operator in the file name. If it disagrees with Op, the tensor
	// has both names.
	FileOp string
	OpType string // empty when unknown
	Kind   tensor.Kind
	Index  int
	// Timestamp is 0 when unknown.
	Timestamp uint64
	// Call is Calls.Key of a value of a call of msprobe, empty unless both sides come from
	// msprobe.
	Call string
	// AtPlace: only the place of its module gives the call a partner.
	AtPlace bool
	// Recorded is the text that a tensor of torch.utils.dumper shares with its partner, by
	// MatchRecorded; empty unless both sides come from torch.utils.dumper.
	Recorded string
	// Path is the name of a tensor in a file with groups, in parts, so that the user can select it by a group; nil
	// for other files.
	Path []string
	// Slice is the thread of a sliced operator that wrote this piece of a tensor, empty for a
	// whole tensor.
	Slice string
	// Origin is the result of the user's model that the header of a dump names, nil for none.
	Origin *dumpdir.Origin
	// Stem is the name of the file without extension and without the additions of converters.
	Stem string
	// Shape is the shape in the file name, nil for none. It serves to recognise a shape at the
	// end of an operator's name; see Options.Shapes.
	Shape tensor.Shape
}

// NewTensor returns the tensor of a file name. The caller adds the ID, Op from the file, and for a dump Kind and
// Index.
func NewTensor(n *filename.Info) Tensor {
	t := Tensor{FileOp: n.OpName, OpType: n.OpType, Kind: n.Kind, Index: n.Index, Timestamp: n.Timestamp, Slice: n.Slice, Stem: n.Stem}
	if n.Grammar != filename.Plain { // a plain name keeps its end until rule suffix finds that it is a shape
		t.Shape = n.Shape
	}
	return t
}

// Name returns the name of the operator in results: from the header if it agrees with the file name, else from the
// file name.
func (t *Tensor) Name() string {
	if t.Op == "" || t.namesDisagree() {
		return t.FileOp
	}
	return t.Op
}

// namesDisagree reports whether header and file name name different operators. A file name that is a bare number
// replaces a name that was too long.
func (t *Tensor) namesDisagree() bool {
	return t.Op != "" && t.FileOp != "" && !filename.SameNormalised(t.Op, t.FileOp) && !filename.IsShortened(t.Stem)
}

// Names lists the names of the operator, the best first.
func (t *Tensor) Names() []string {
	switch {
	case t.namesDisagree():
		return []string{t.FileOp, t.Op}
	case t.Op == "" || t.Op == t.FileOp:
		return []string{t.Name()}
	case t.FileOp == "":
		return []string{t.Op}
	}
	return []string{t.Op, t.FileOp}
}

// matchingName returns the name in a set that matches the operator, or a group around the tensor.
func (t *Tensor) matchingName(set *dumpdir.NameSet) (text string, ok bool) {
	if set == nil {
		return "", false
	}
	if text, ok = set.Match(t.Names()...); ok || t.Path == nil {
		return text, ok
	}
	return set.MatchPath(t.Path)
}

// distinctNames lists the names of the operator that differ as file names, the best first.
func (t *Tensor) distinctNames() []string {
	if t.namesDisagree() {
		return []string{t.FileOp, t.Op}
	}
	return []string{t.Name()}
}

// withName returns t with another name as its only name.
func (t *Tensor) withName(op string) *Tensor {
	alias := *t
	alias.Op, alias.FileOp = op, ""
	return &alias
}

// Names yields the names of the operators of tensors.
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

// key is a property that partners share.
type key struct {
	name  string
	kind  tensor.Kind
	index int
}

// keys are the keys of a tensor, from its names and from its names without a possible shape at the end. A shortened
// name only matches a whole name: names that differ in the removed text are different names.
type keys struct {
	whole     []key
	shortened []shortenedKey
}

// shortenedKey is the key of a name without a possible shape at its end.
type shortenedKey struct {
	key
	shape tensor.Shape
	// certain: the text can only be a shape, such as 1x3x224.
	certain bool
}

// eachKey yields all keys.
func (k *keys) eachKey(yield func(key) bool) {
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

// bothKeys returns keys of operators with two names. Partners with both names have priority over partners with one of
// the names.
func bothKeys(t *Tensor) (k keys) {
	if t.namesDisagree() {
		k.add(t, t.FileOp+"\x00"+t.Op)
	}
	return k
}

func nameKeys(t *Tensor) keys {
	return keysOfNames(t, func(name string) string { return name })
}

func normalisedKeys(t *Tensor) keys { return keysOfNames(t, filename.Normalise) }

// typedKeys returns keys of name and type, for operators with a known type.
func typedKeys(t *Tensor) keys {
	if t.OpType == "" {
		return keys{}
	}
	return keysOfNames(t, func(name string) string { return filename.Normalise(name) + "\x00" + t.OpType })
}

// keysOfNames makes a key of each distinct name of a tensor.
func keysOfNames(t *Tensor, as func(name string) string) (k keys) {
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
			k.shortened = append(k.shortened, shortenedKey{key{s.Head, whole.kind, whole.index}, s.Shape, s.Certain})
		}
	}
	return k
}
