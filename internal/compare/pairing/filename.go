package pairing

import (
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/tensor"
)

// Names of tensor files, after the public documentation of msaccucmp, of
// MindSpore and of the HPAA tools:
//
//	{op}.{index}.{timestamp}.npy                                 reference tensors
//	{op}.npy .bin .txt                                           output 0
//	{dump name}                                                  a dump, see dumpfmt
//	{dump name}.{input|output}.{index}[.tail].npy .bin .txt ...  a converted dump
//	{op}_{input|output}_{index}_shape_{d}_{d}_{Type}_{Format}.bin  MindSpore, early
//
// A tail is a shape (1x3x224, or 1_3_224 in .bin names), an element type and a
// format, in the orders of convertTail.

// FileName is what the name of a tensor file says.
type FileName struct {
	OpType string // empty when the name has none
	OpName string
	// Kind is empty for a dump, which may hold many tensors.
	Kind      Kind
	Index     int
	TaskID    uint64
	HasTask   bool // the name is that of a dump or of a tensor from one
	StreamID  uint64
	HasStream bool
	Timestamp uint64 // 0 when the name has none
	Slice     string // the thread that wrote a piece, empty for whole tensors
	Shape     tensor.Shape
	HasShape  bool
	DType     string // as the name spells it
	Format    string // as the name spells it
	// Stem is the name without extension, for a converted dump the name of
	// the dump.
	Stem string
}

// extensions are those of tensor files.
var extensions = []string{".npy", ".bin", ".txt", ".raw", ".pt", ".pb", ".quant"}

// ParseName takes the base name of a tensor file apart. A name of no known form
// is that of output 0 of an operator of this name. ok is false for what cannot
// be a base name.
//
// Timestamps of more than 64 bits are none.
func ParseName(base string) (n FileName, ok bool) {
	if base == "" || strings.ContainsAny(base, "/\x00") {
		return FileName{}, false
	}
	stem := base
	for _, ext := range extensions {
		if s, found := strings.CutSuffix(base, ext); found && s != "" {
			stem = s
			break
		}
	}
	if stem == base {
		if d, isDump := dumpfmt.ParseName(base); isDump {
			n.setDump(d, base)
			return n, true
		}
	}
	for _, parse := range []func(string) (FileName, bool){parseConverted, parseReference, parseEarly} {
		if n, ok := parse(stem); ok {
			return n, true
		}
	}
	return FileName{OpName: stem, Kind: Output, Stem: stem}, true
}

// Tensor returns the tensor that the name tells of; the caller adds ID, Round
// and what the file tells, such as Op, and for a dump Kind and Index.
func (n *FileName) Tensor() Tensor {
	return Tensor{
		FileOp: n.OpName, OpType: n.OpType, Kind: n.Kind, Index: n.Index, Timestamp: n.Timestamp, Slice: n.Slice,
		Stem: n.Stem, Shape: n.Shape, HasShape: n.HasShape,
	}
}

func (n *FileName) setDump(d dumpfmt.Name, base string) {
	n.OpType, n.OpName, n.Stem = d.OpType, d.OpName, base
	n.TaskID, n.HasTask, n.StreamID, n.HasStream = d.TaskID, true, d.StreamID, d.HasStream
	n.Timestamp = d.Timestamp
	if d.HasThread {
		n.Slice = strconv.FormatUint(d.ThreadID, 10)
	}
}

// parseReference parses {op}.{index}.{timestamp}.
func parseReference(stem string) (FileName, bool) {
	head, stamp, ok := cutLast(stem, ".")
	if !ok {
		return FileName{}, false
	}
	op, index, ok := cutLast(head, ".")
	if !ok || op == "" {
		return FileName{}, false
	}
	i, ok := parseIndex(index)
	at, ok2 := parseNumber(stamp)
	if !ok || !ok2 {
		return FileName{}, false
	}
	return FileName{OpName: op, Kind: Output, Index: i, Timestamp: at, Stem: stem}, true
}

// parseConverted parses {name}.{input|output}.{index}[.tail].
func parseConverted(stem string) (FileName, bool) {
	const longestTail = 4
	parts := dumpfmt.SplitParts(stem)
	for i := len(parts) - 2; i > 0 && i >= len(parts)-2-longestTail; i-- {
		if parts[i] != string(Input) && parts[i] != string(Output) {
			continue
		}
		n := FileName{Kind: Kind(parts[i])}
		index, ok := parseIndex(parts[i+1])
		if !ok || !n.convertTail(parts[i+2:]) {
			return FileName{}, false
		}
		n.Index = index
		name := strings.Join(parts[:i], ".")
		if d, isDump := dumpfmt.ParseName(name); isDump {
			n.setDump(d, name)
			return n, true
		}
		if tail := parts[i+2:]; len(tail) == 1 && isDigits(tail[0]) {
			return FileName{}, false // {op}.{index}.{timestamp} of an operator called x.output
		}
		n.OpName, n.Stem = name, name
		return n, name != ""
	}
	return FileName{}, false
}

// convertTail sets what follows the index in the name of a converted dump:
//
//	[shape]  shape.dtype.format  [number.]format[.dtype]
//
// The number is MindSpore's slot, which says nothing that the index does not.
func (n *FileName) convertTail(tail []string) bool {
	if len(tail) == 0 {
		return true
	}
	words := tail
	shape, isShape := parseShape(tail[0])
	if isShape {
		words = tail[1:]
	}
	if len(words) > 2 || slices.ContainsFunc(words, func(w string) bool { return !isWord(w) }) {
		return false
	}
	switch {
	case len(words) == 0:
	case len(words) == 2 && isDType(words[0]) && isShape:
		n.DType, n.Format = words[0], words[1]
	default:
		isShape = isShape && !isDigits(tail[0]) // otherwise it is the slot
		n.Format = words[0]
		if len(words) == 2 {
			n.DType = words[1]
		}
	}
	if isShape {
		n.Shape, n.HasShape = shape, true
	}
	return true
}

// parseEarly parses the names of MindSpore before 1.3, where -- stands for the
// / of an operator's name: op_output_0_shape_1_3_Float32_NCHW.
func parseEarly(stem string) (FileName, bool) {
	const word = "_shape_"
	at := strings.LastIndex(stem, word)
	if at < 0 {
		return FileName{}, false
	}
	head, index, ok := cutLast(stem[:at], "_")
	op, kind, ok2 := cutLast(head, "_")
	i, ok3 := parseIndex(index)
	if !ok || !ok2 || !ok3 || op == "" || kind != string(Input) && kind != string(Output) {
		return FileName{}, false
	}
	n := FileName{OpName: strings.ReplaceAll(op, "--", "/"), Kind: Kind(kind), Index: i, Stem: stem, Shape: tensor.Shape{}, HasShape: true}
	rest := stem[at+len(word):]
	for {
		dim, after, found := strings.Cut(rest, "_")
		d, isDim := parseDim(dim)
		if !found || !isDim {
			break
		}
		n.Shape = append(n.Shape, d)
		rest = after
	}
	n.DType, n.Format, ok = strings.Cut(rest, "_")
	return n, ok && isDType(n.DType) && isWord(n.Format)
}

// parseShape parses 1x3x224, 1_3_224, 7, and the empty text of a scalar.
func parseShape(s string) (tensor.Shape, bool) {
	if s == "" {
		return tensor.Shape{}, true
	}
	sep := "_"
	if strings.Contains(s, "x") {
		sep = "x"
	}
	var shape tensor.Shape
	for part := range strings.SplitSeq(s, sep) {
		d, ok := parseDim(part)
		if !ok {
			return nil, false
		}
		shape = append(shape, d)
	}
	return shape, true
}

// parseDim parses a dimension as a writer prints it.
func parseDim(s string) (int64, bool) {
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil && v >= 0 && isDigits(s) && (s == "0" || s[0] != '0')
}

func parseIndex(s string) (int, bool) {
	v, err := strconv.ParseUint(s, 10, 31)
	return int(v), err == nil
}

func parseNumber(s string) (uint64, bool) {
	v, err := strconv.ParseUint(s, 10, 64)
	return v, err == nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// isWord reports whether s can be the name of an element type or a format.
func isWord(s string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

// isDType reports whether s names an element type, of a dump or of numpy.
func isDType(s string) bool {
	if _, ok := tensor.ParseDType(s); ok {
		return true
	}
	return slices.ContainsFunc(tensor.Hosts(), func(h tensor.Host) bool { return strings.EqualFold(h.String(), s) })
}
