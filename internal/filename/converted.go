package filename

import (
	"slices"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// parseConverted parses the names of tensors that were taken out of a dump, by
// dumptool, msaccucmp, MindSpore or the users of these: {source}, a side and an
// index, and one of the tails of setTail. After the name of a dump any tail will
// do: what it says is then not known.
func parseConverted(stem, _ string) (Info, bool) {
	const longestTail = 4
	var room [usualParts]string
	parts := appendParts(room[:0], stem)
	for i := len(parts) - 2; i > 0 && i >= len(parts)-2-longestTail; i-- {
		kind, ok := parseKind(parts[i])
		if !ok {
			continue
		}
		index, ok := parseIndex(parts[i+1])
		if !ok {
			return Info{}, false
		}
		n := Info{Kind: kind, Index: index, Source: strings.Join(parts[:i], ".")}
		n.Stem = n.Source
		tail := parts[i+2:]
		known := n.setTail(tail)
		if n.setDump(n.Source) {
			return n, true
		}
		if !known || isTimestamp(tail) || n.Source == "" {
			return Info{}, false
		}
		n.OpName = n.Source
		if record, ok := parseRecord(n.Source, ""); ok {
			n.OpType, n.OpName = record.OpType, record.OpName
		}
		return n, true
	}
	return Info{}, false
}

// isTimestamp reports whether what follows {op}.output.{index} makes the name
// that of a Reference of the operator {op}.output rather.
func isTimestamp(tail []string) bool { return len(tail) == 1 && isDigits(tail[0]) }

// setTail sets what follows the index in the name of a converted dump, and
// reports whether it has one of the known forms:
//
//	[shape]  shape.dtype.format  [number.]format[.dtype]
//
// The number is MindSpore's slot, which says nothing that the index does not.
// The second form is that of raw files: a type or format that is not known is an
// error, since nothing else says what the elements are.
func (n *Info) setTail(tail []string) bool {
	if len(tail) == 0 {
		return true
	}
	words := tail
	shape, isShape := parseShape(tail[0])
	if isShape {
		words = tail[1:]
	}
	if typeLast := len(words) == 2 && isDType(words[1]) && !isDType(words[0]); len(words) == 2 && isShape && !typeLast {
		n.Shape = shape
		n.setType(words[0])
		n.setFormat(words[1])
		return n.DType != tensor.Undefined || isWord(words[0]) && isWord(words[1])
	}
	if len(words) > 2 || !allWords(words) {
		return false
	}
	if isShape && (len(words) == 0 || !isDigits(tail[0])) {
		n.Shape = shape
	}
	if len(words) > 0 {
		n.Format, _ = parseFormat(words[0])
	}
	if len(words) > 1 {
		n.DType, _ = tensor.ParseDType(words[1])
	}
	return true
}

// parseReference parses the names of reference tensors, and of the tensors of
// ONNX and other frameworks that are dumped in their form.
func parseReference(stem, _ string) (Info, bool) {
	head, stamp, ok := cutLast(stem, ".")
	at, ok2 := parseNumber(stamp)
	if !ok || !ok2 { // most often
		return Info{}, false
	}
	op, index, ok := cutLast(head, ".")
	i, ok2 := parseIndex(index)
	if !ok || !ok2 || op == "" {
		return Info{}, false
	}
	n := Info{OpName: op, Kind: tensor.Output, Index: i, Timestamp: at}
	if source, kind, ok := cutLast(op, "."); ok {
		if _, ok := parseKind(kind); ok {
			n.Source = source
		}
	}
	return n, true
}

// numberType begins the element types in the names that the first releases of
// MindSpore wrote, as in kNumberTypeFloat32.
const numberType = "kNumberType"

// genericTypes are the element types of MindSpore that do not say how many bits
// an element has.
var genericTypes = []string{"int", "uint", "float"}

func (n *Info) setType(word string) {
	name := word
	if len(word) > len(numberType) && strings.EqualFold(word[:len(numberType)], numberType) {
		name = word[len(numberType):]
	}
	var ok bool
	if n.DType, ok = tensor.ParseDType(name); ok {
		return
	}
	what := "unknown element type"
	if slices.Contains(genericTypes, strings.ToLower(name)) {
		what = "generic element type"
	}
	n.fail(what, word)
}

func (n *Info) setFormat(word string) {
	var ok bool
	if n.Format, ok = parseFormat(word); !ok {
		n.fail("unknown format", word)
	}
}

func (n *Info) fail(what, word string) {
	if n.Err == nil {
		n.Err = lang.Errorf("the file name has the %s %q", what, word)
	}
}

// defaultFormat is MindSpore's word for the order of the host.
const defaultFormat = "DefaultFormat"

func parseFormat(word string) (*tensor.Format, bool) {
	f, ok := tensor.ParseFormat(word)
	if strings.EqualFold(word, defaultFormat) {
		f, ok = tensor.ND, true
	}
	if !ok {
		return nil, false
	}
	return &f, true
}

func allWords(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !isWord(w) })
}

func isDType(word string) bool {
	_, ok := tensor.ParseDType(word)
	return ok
}

// IsShortened reports whether a stem is a bare number, as files have whose own
// names were too long; it names no operator.
func IsShortened(stem string) bool { return isDigits(stem) }

// CutTimestamp returns what is left of an operator's name without a timestamp at
// its end, as in conv1_1624605159829577.
func CutTimestamp(op string) (head string, ok bool) {
	head, stamp, _ := cutLast(op, "_")
	return head, head != "" && len(stamp) >= timestampDigits && isDigits(stamp)
}

// CutOpNumber returns the name of an operator of MindSpore without its number in the
// graph, and another one for one of several of that number: Conv2D of Conv2D-op515 and
// of Conv2D-op515_2. ok is false for a name without one.
func CutOpNumber(op string) (head string, ok bool) {
	numbered, rest := op, trimDigits(op)
	if before, found := strings.CutSuffix(rest, "_"); found && rest != op {
		numbered, rest = before, trimDigits(before)
	}
	head, ok = strings.CutSuffix(rest, "-op")
	if !ok || head == "" || rest == numbered {
		return op, false
	}
	return head, true
}

// maxRank is how many numbers at the end of a name may be a shape.
const maxRank = 8

// ShapeSuffix is a way to read the end of an operator's name as a shape.
type ShapeSuffix struct {
	// Head is what is left of the name.
	Head  string
	Shape tensor.Shape
	// Certain is set for a text that is a shape in any case, such as 1x3x224.
	Certain bool
}

// ShapeSuffixes returns the ways to read the end of an operator's name as a
// shape: _1_3_224, of which only the last numbers may be one, or _1x3x224.
func ShapeSuffixes(op string) []ShapeSuffix {
	var all []ShapeSuffix
	add := func(head string, shape tensor.Shape, certain bool) {
		if head != "" {
			all = append(all, ShapeSuffix{head, shape, certain})
		}
	}
	if head, last, ok := cutLast(op, "_"); ok && strings.Contains(last, "x") {
		if shape, ok := parseDims(last, "x"); ok {
			add(head, shape, true)
		}
	}
	head, shape := op, tensor.Shape{}
	for range maxRank {
		rest, last, ok := cutLast(head, "_")
		dim, isDim := parseDim(last)
		if !ok || !isDim {
			break
		}
		head, shape = rest, append(tensor.Shape{dim}, shape...)
		add(head, shape, false)
	}
	return all
}
