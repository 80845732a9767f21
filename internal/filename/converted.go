package filename

import (
	"slices"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// parseConverted parses the names of tensors converted from a dump, by dumptool, msaccucmp,
// MindSpore or their users: {source}, a side and an index, and one of the tails of setTail. After
// the name of a dump any tail is accepted; an unknown tail has no meaning.
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

// isTimestamp reports whether the tail after {op}.output.{index} is a timestamp. Then the name is a
// Reference of operator {op}.output.
func isTimestamp(tail []string) bool { return len(tail) == 1 && isDigits(tail[0]) }

// setTail parses the part after the index in the name of a converted dump, and reports whether it
// has one of the known forms:
//
//	[shape]  shape.dtype.format  [number.]format[.dtype]
//
// The number is MindSpore's slot, which equals the index. Raw files have the second form: an
// unknown type or format is an error there, because nothing else describes the elements.
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
	if len(words) > 2 || !areWords(words) {
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

// parseReference parses the names of reference tensors, and of tensors of ONNX and other frameworks
// dumped in the same form.
func parseReference(stem, _ string) (Info, bool) {
	head, stamp, ok := cutLastPart(stem, ".")
	at, ok2 := parseNumber(stamp)
	if !ok || !ok2 { // fast path
		return Info{}, false
	}
	op, index, ok := cutLastPart(head, ".")
	i, ok2 := parseIndex(index)
	if !ok || !ok2 || op == "" {
		return Info{}, false
	}
	n := Info{OpName: op, Kind: tensor.Output, Index: i, Timestamp: at}
	if source, kind, ok := cutLastPart(op, "."); ok {
		if _, ok := parseKind(kind); ok {
			n.Source = source
		}
	}
	return n, true
}

// numberType is the prefix of element types in file names of the first releases of MindSpore:
// kNumberTypeFloat32.
const numberType = "kNumberType"

// genericTypes are element types of MindSpore without a number of bits.
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
	n.setError(what, word)
}

func (n *Info) setFormat(word string) {
	var ok bool
	if n.Format, ok = parseFormat(word); !ok {
		n.setError("unknown format", word)
	}
}

func (n *Info) setError(what, word string) {
	if n.Err == nil {
		n.Err = lang.Errorf("the file name has the %s %q", what, word)
	}
}

// defaultFormat is MindSpore's word for host order.
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

func areWords(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !isWord(w) })
}

func isDType(word string) bool {
	_, ok := tensor.ParseDType(word)
	return ok
}

// IsShortened reports whether a stem is a bare number, which replaces a name that was too long and
// names no operator.
func IsShortened(stem string) bool { return isDigits(stem) }

// CutTimestamp returns an operator's name without the timestamp at its end: conv1_1624605159829577
// is conv1.
func CutTimestamp(op string) (head string, ok bool) {
	head, stamp, _ := cutLastPart(op, "_")
	return head, head != "" && len(stamp) >= timestampDigits && isDigits(stamp)
}

// CutOpNumber returns the name of a MindSpore operator without its number in the graph, and without
// the number that distinguishes equal ones: Conv2D for Conv2D-op515 and Conv2D-op515_2. ok is false
// for a name without a number.
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

// maxRank bounds the trailing numbers of a name that may be a shape.
const maxRank = 8

// ShapeSuffix is an interpretation of the end of an operator's name as a shape.
type ShapeSuffix struct {
	// Head is the name before the shape.
	Head  string
	Shape tensor.Shape
	// Certain: the text can only be a shape, such as 1x3x224.
	Certain bool
}

// ShapeSuffixes returns the interpretations of the end of an operator's name as a shape: any number
// of trailing numbers of _1_3_224, or _1x3x224.
func ShapeSuffixes(op string) []ShapeSuffix {
	var all []ShapeSuffix
	add := func(head string, shape tensor.Shape, certain bool) {
		if head != "" {
			all = append(all, ShapeSuffix{head, shape, certain})
		}
	}
	if head, last, ok := cutLastPart(op, "_"); ok && strings.Contains(last, "x") {
		if shape, ok := parseDims(last, "x"); ok {
			add(head, shape, true)
		}
	}
	head, shape := op, tensor.Shape{}
	for range maxRank {
		rest, last, ok := cutLastPart(head, "_")
		dim, isDim := parseDim(last)
		if !ok || !isDim {
			break
		}
		head, shape = rest, append(tensor.Shape{dim}, shape...)
		add(head, shape, false)
	}
	return all
}
