package pair

import (
	"dumptool/internal/filename"
	"dumptool/internal/tensor"
)

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
