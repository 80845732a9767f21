package filename

import (
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// The forms of a shape at the end of a plain name: add_1x8x8, add(1, 8, 8),
// add_[1,8,8]; and numbers that are perhaps none: add_1_8_8.
var (
	timesSuffix   = lang.Pattern(`(?s)^.+[_.]([0-9]+(?:x[0-9]+)+)$`)
	bracketSuffix = lang.Pattern(`(?s)[^_.][_.]?(?:\(([0-9, ]*)\)|\[([0-9, ]*)\])$`)
	numbersSuffix = lang.Pattern(`(?s)[^_]((?:_[0-9]+)+)$`)
)

// parsePlain parses the names of output 0 of an operator, as the HPAA tools and
// users write them. It fits every name.
func parsePlain(stem, _ string) (Info, bool) {
	n := Info{OpName: stem, Kind: tensor.Output}
	switch last := stem[len(stem)-1]; {
	case last == ')' || last == ']':
		if m := bracketSuffix().FindStringSubmatch(stem); m != nil {
			dims := strings.TrimSuffix(strings.ReplaceAll(m[1]+m[2], " ", ""), ",")
			n.Shape, _ = parseDims(dims, ",")
		}
	case last < '0' || last > '9':
	default:
		if m := timesSuffix().FindStringSubmatch(stem); m != nil {
			n.Shape, _ = parseDims(m[1], "x")
		} else if m := numbersSuffix().FindStringSubmatch(stem); m != nil {
			n.Numbers, _ = parseDims(m[1][1:], "_")
		}
	}
	return n, true
}

// parseInLayout parses the names of output 0 of an operator with the layout in
// which a device has it, such as conv1.NC1HWC0.npy. Layouts are written as devices
// write them, so that no name of an operator is taken for one.
func parseInLayout(stem, ext string) (n Info, ok bool) {
	op, word, _ := cutLast(stem, ".")
	if d, isType := tensor.ParseDType(word); isType {
		n.DType = d
		op, word, _ = cutLast(op, ".")
	}
	format, ok := tensor.ParseFormat(word)
	ok = ok && format.String() == word && (strings.HasPrefix(word, "FRACTAL_") || strings.Contains(word, "C0"))
	n.OpName, n.Kind, n.Format = op, tensor.Output, &format
	return n, ok && op != "" && ext != ""
}
