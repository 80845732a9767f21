package filename

import (
	"strconv"
	"strings"

	"dumptool/internal/tensor"
)

// The words of names: each function reports whether s is such a word.

func parseKind(s string) (tensor.Kind, bool) {
	k := tensor.Kind(s)
	return k, k == tensor.Input || k == tensor.Output
}

// parseIndex reads the index of an input or output.
func parseIndex(s string) (int, bool) {
	v, err := strconv.ParseUint(s, 10, 31)
	return int(v), err == nil
}

// parseNumber reads a timestamp; one of more than 64 bits is none.
func parseNumber(s string) (uint64, bool) {
	v, err := strconv.ParseUint(s, 10, 64)
	return v, err == nil
}

// parseShape reads 1x3x224, 1_3_224, 7, and the empty text of a scalar.
func parseShape(s string) (tensor.Shape, bool) {
	if strings.Contains(s, "x") {
		return parseDims(s, "x")
	}
	return parseDims(s, "_")
}

// parseDims reads dimensions; the empty text is the shape of a scalar.
func parseDims(s, sep string) (tensor.Shape, bool) {
	shape := tensor.Shape{}
	if s == "" {
		return shape, true
	}
	for word := range strings.SplitSeq(s, sep) {
		d, ok := parseDim(word)
		if !ok {
			return nil, false
		}
		shape = append(shape, d)
	}
	return shape, true
}

// parseDim reads a dimension as a writer prints it.
func parseDim(s string) (int64, bool) {
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil && isNumber(s)
}

// isNumber reports whether s is a decimal number as a writer prints it: no
// sign, no leading zero, 64 bits at most.
func isNumber(s string) bool {
	_, ok := parseNumber(s)
	return ok && (s == "0" || s[0] >= '1' && s[0] <= '9')
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

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
