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
	whole, cut []key
}

func wholeKey(t *Tensor, name string) keys {
	if name == "" {
		return keys{}
	}
	return keys{whole: []key{{name, t.Kind, t.Index}}}
}

// stemKeys is rule stem. Stems that are a bare number are the names of files
// whose own names were too long, and say nothing.
func stemKeys(t *Tensor) keys {
	if isDigits(t.Stem) {
		return keys{}
	}
	return wholeKey(t, t.Stem)
}

func nameKeys(t *Tensor) keys       { return wholeKey(t, t.Name()) }
func normalisedKeys(t *Tensor) keys { return wholeKey(t, Normalise(t.Name())) }

// timestampDigits is how many digits a number has at least that is taken for a
// timestamp.
const timestampDigits = 10

// suffixKeys is rule suffix.
func suffixKeys(t *Tensor) keys {
	name := Normalise(t.Name())
	if name == "" {
		return keys{}
	}
	k := wholeKey(t, name)
	if head, stamp, ok := cutLast(name, "_"); ok && head != "" && len(stamp) >= timestampDigits && isDigits(stamp) {
		k.whole = append(k.whole, key{head, t.Kind, t.Index})
	}
	for _, whole := range k.whole {
		for _, head := range withoutShape(whole.name, t) {
			k.cut = append(k.cut, key{head, t.Kind, t.Index})
		}
	}
	return k
}

// maxRank is how many numbers at the end of a name may be a shape.
const maxRank = 8

// withoutShape returns what name may be without a shape at its end: _1_3_224 or
// _1x3x224. The shape must be that of the tensor; where that is not known, two
// numbers are the least that is taken for one, as relu_1 is a name.
func withoutShape(name string, t *Tensor) []string {
	var heads []string
	try := func(head string, shape tensor.Shape) {
		if head != "" && (t.HasShape && shape.Equal(t.Shape) || !t.HasShape && len(shape) > 1) {
			heads = append(heads, head)
		}
	}
	if head, last, ok := cutLast(name, "_"); ok && strings.Contains(last, "x") {
		if shape, ok := parseShape(last); ok {
			try(head, shape)
		}
	}
	head, shape := name, tensor.Shape{}
	for range maxRank {
		rest, last, ok := cutLast(head, "_")
		dim, isDim := parseDim(last)
		if !ok || !isDim {
			break
		}
		head, shape = rest, append(tensor.Shape{dim}, shape...)
		try(head, shape)
	}
	return heads
}
