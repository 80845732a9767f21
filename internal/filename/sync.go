package filename

import (
	"strings"

	"dumptool/internal/tensor"
)

// FileOp is the name of the operator as names of the grammar Sync have it.
func (n *Info) FileOp() string { return strings.ReplaceAll(n.OpName, "/", "--") }

// parseSync parses the names of MindSpore's synchronous dumps, in which -- stands
// for the / of an operator's name: op_output_0_shape_1_3_Float32_NCHW. The last
// _shape_ counts. A scalar has no dimensions, or the one dimension 0: only the
// size of the file tells it from an empty tensor. What was converted from such a
// file to another layout has its new shape at the end: ..._NC1HWC0.1x3x8x8.npy.
func parseSync(stem, ext string) (Info, bool) {
	const word = "_shape_"
	at := strings.LastIndex(stem, word)
	if at < 0 {
		return Info{}, false
	}
	head, index, _ := cutLast(stem[:at], "_")
	op, kindWord, _ := cutLast(head, "_")
	i, ok := parseIndex(index)
	kind, ok2 := parseKind(kindWord)
	if !ok || !ok2 || op == "" {
		return Info{}, false
	}
	n := Info{OpName: strings.ReplaceAll(op, "--", "/"), Kind: kind, Index: i, Shape: tensor.Shape{}}
	if name, ok := CutOpNumber(n.OpName); ok {
		n.OpType = name[strings.LastIndexByte(name, '/')+1:]
	}
	rest := stem[at+len(word):]
	for {
		digits, after, found := strings.Cut(rest, "_")
		dim, isDim := parseDim(digits)
		if !found || !isDim {
			break
		}
		n.Shape = append(n.Shape, dim)
		rest = after
	}
	if len(n.Shape) == 0 {
		rest = strings.TrimPrefix(rest, "_")
	}
	dtype, format, _ := strings.Cut(rest, "_")
	format, tail, isConverted := strings.Cut(format, ".")
	n.setType(dtype)
	if n.Format, ok = parseFormat(format); !ok {
		n.UnknownFormat = format
	}
	if ext != ".bin" {
		n.Source = strings.TrimSuffix(stem, "."+tail) + ".bin"
	}
	if isConverted {
		n.Format, n.UnknownFormat = nil, ""
		n.Shape, ok = parseShape(tail)
	} else {
		ok = true
	}
	return n, ok && isWord(dtype) && isWord(format)
}
