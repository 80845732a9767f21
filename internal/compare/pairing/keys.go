package pairing

import (
	"strings"

	"dumptool/internal/tensor"
)

// key is what two tensors share that are a pair by some rule.
type key struct {
	name  string
	kind  Kind
	index int
}

// keys are the keys of a tensor: whole names, and names from which something
// was cut that may be a shape. A cut name is the partner of a whole one only:
// two names that differ in what was cut are two names.
type keys struct {
	whole []key
	cut   []cut
}

// cut is a key of what is left of a name, and what was cut off.
type cut struct {
	key
	shape tensor.Shape
	// marked is set for a text that is a shape in any case, such as 1x3x224.
	marked bool
}

func wholeKey(t *Tensor, name string) keys {
	var k keys
	k.addWhole(t, name)
	return k
}

// addWhole adds the key of a name, unless it is empty.
func (k *keys) addWhole(t *Tensor, name string) {
	if name != "" {
		k.whole = append(k.whole, key{name, t.Kind, t.Index})
	}
}

// stemKeys is rule stem. Stems that are a bare number are the names of files
// whose own names were too long, and say nothing.
func stemKeys(t *Tensor) keys {
	if isDigits(t.Stem) {
		return keys{}
	}
	return wholeKey(t, t.Stem)
}

// bothKeys are keys of operators with two names: partners that have both come
// before those that have one of them.
func bothKeys(t *Tensor) keys {
	if !t.disagree() {
		return keys{}
	}
	return wholeKey(t, t.FileOp+"\x00"+t.Op)
}

func nameKeys(t *Tensor) keys {
	var k keys
	for _, name := range t.distinctNames() {
		k.addWhole(t, name)
	}
	return k
}

func normalisedKeys(t *Tensor) keys {
	var k keys
	for _, name := range t.distinctNames() {
		k.addWhole(t, Normalise(name))
	}
	return k
}

// timestampDigits is how many digits a number has at least that is taken for a
// timestamp.
const timestampDigits = 10

// suffixKeys is rule suffix.
func suffixKeys(t *Tensor) keys {
	k := normalisedKeys(t)
	for _, whole := range k.whole {
		if head, stamp, ok := cutLast(whole.name, "_"); ok && head != "" && len(stamp) >= timestampDigits && isDigits(stamp) {
			k.addWhole(t, head)
		}
	}
	for _, whole := range k.whole {
		k.cut = append(k.cut, withoutShape(whole)...)
	}
	return k
}

// maxRank is how many numbers at the end of a name may be a shape.
const maxRank = 8

// withoutShape returns what a name may be without a shape at its end: _1_3_224
// or _1x3x224. Whether it is one, the tensor tells.
func withoutShape(whole key) []cut {
	var cuts []cut
	add := func(head string, shape tensor.Shape, marked bool) {
		if head != "" {
			cuts = append(cuts, cut{key{head, whole.kind, whole.index}, shape, marked})
		}
	}
	if head, last, ok := cutLast(whole.name, "_"); ok && strings.Contains(last, "x") {
		if shape, ok := parseShape(last); ok {
			add(head, shape, true)
		}
	}
	head, shape := whole.name, tensor.Shape{}
	for range maxRank {
		rest, last, ok := cutLast(head, "_")
		dim, isDim := parseDim(last)
		if !ok || !isDim {
			break
		}
		head, shape = rest, append(tensor.Shape{dim}, shape...)
		add(head, shape, false)
	}
	return cuts
}
