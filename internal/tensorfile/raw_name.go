package tensorfile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/tensor"
)

// Names of raw files, which hold elements and nothing else:
//
//	{op_name}_{input|output}_{i}_shape_{d}_{d}_{Dtype}_{Format}.bin   MindSpore, synchronous dump
//	{dump}.{input|output}.{i}.{d}_{d}.{dtype}.{FORMAT}.bin            msaccucmp, "dumptool convert"
//	{dump}.{input|output}.{i}[.{d}x{d}].{bin|txt}                     "dumptool convert -t txt"
//	{node}[suffix].{bin|txt}                                          HPAA; the suffix is a shape

// RawInfo is what the name of a raw file says about its tensor.
type RawInfo struct {
	// Node is what comes before all else: the operator with its slashes in
	// MindSpore's names, the name of a dump file in those of a conversion.
	Node string
	// Kind and Index are output 0 where the name does not tell them.
	Kind  Kind
	Index int
	// DType is Undefined where the name does not tell it.
	DType tensor.DType
	// Shape is nil where the name does not tell it. A single dimension may be
	// no more than the number of elements.
	Shape tensor.Shape
	// Format is nil where the name does not tell it.
	Format *tensor.Format
	// Numbers are those that a plain name ends with, as in add_1_8_8: they may
	// be a shape, or its last ones may, or they belong to the name.
	Numbers tensor.Shape
	// Err says what part of the name is not understood, so that the elements
	// cannot be read.
	Err error
}

// The endings of raw files, in any letter case.
const (
	binExt = ".bin"
	txtExt = ".txt"
)

// ParseRawName takes the base name of a raw file apart. ok is false when it
// does not end as raw files do, and then all of it is the node.
func ParseRawName(name string) (info RawInfo, ok bool) {
	stem, ext := splitExt(name)
	if ext == "" || stem == "" || strings.ContainsAny(name, "/\x00") {
		return RawInfo{Node: name, Kind: Output}, false
	}
	for _, parse := range []func(string) (RawInfo, bool){parseMindSporeName, parseConvertedName} {
		if info, ok := parse(stem); ok {
			return info, true
		}
	}
	return parsePlainName(stem), true
}

// splitExt splits the ending of a raw file off; ext is in lower case, and empty
// for other names.
func splitExt(name string) (stem, ext string) {
	for _, ext := range []string{binExt, txtExt} {
		if at := len(name) - len(ext); at >= 0 && strings.EqualFold(name[at:], ext) {
			return name[:at], ext
		}
	}
	return name, ""
}

// mindSpore matches greedily: the last _shape_ counts. The format may have
// underscores, an element type has none. A scalar has no dimensions.
var mindSpore = regexp.MustCompile(`(?s)^(.+)_(input|output)_([0-9]+)_shape_((?:[0-9]+_)*)_?([A-Za-z][A-Za-z0-9]*)_([A-Za-z][A-Za-z0-9_]*)$`)

// defaultFormat is MindSpore's word for the order of the host.
const defaultFormat = "DefaultFormat"

func parseMindSporeName(stem string) (RawInfo, bool) {
	m := mindSpore.FindStringSubmatch(stem)
	if m == nil {
		return RawInfo{}, false
	}
	info := RawInfo{Node: strings.ReplaceAll(m[1], "--", "/"), Kind: Kind(m[2])}
	var ok bool
	if info.Index, ok = parseIndex(m[3]); !ok {
		return RawInfo{}, false
	}
	if info.Shape, ok = parseDims(strings.TrimSuffix(m[4], "_"), "_"); !ok {
		return RawInfo{}, false
	}
	info.setType(m[5])
	if strings.EqualFold(m[6], defaultFormat) {
		nd := tensor.ND
		info.Format = &nd
	} else {
		info.setFormat(m[6])
	}
	return info, true
}

func parseConvertedName(stem string) (RawInfo, bool) {
	parts := dumpfmt.SplitParts(stem)
	// isKind reports whether input or output is followed by that many parts.
	isKind := func(more int) bool {
		n := len(parts) - 1 - more
		return n > 0 && (parts[n] == string(Input) || parts[n] == string(Output))
	}
	var info RawInfo
	var n int // of the parts before input or output
	ok := true
	switch {
	case isKind(4):
		n = len(parts) - 5
		info.Shape, ok = parseDims(parts[n+2], "_")
		info.setType(parts[n+3])
		info.setFormat(parts[n+4])
	case isKind(2):
		n = len(parts) - 3
		info.Shape, ok = parseDims(parts[n+2], "x")
	case isKind(1):
		n = len(parts) - 2
	default:
		return RawInfo{}, false
	}
	if !ok {
		return RawInfo{}, false
	}
	if info.Index, ok = parseIndex(parts[n+1]); !ok {
		return RawInfo{}, false
	}
	info.Node, info.Kind = strings.Join(parts[:n], "."), Kind(parts[n])
	return info, info.Node != ""
}

// The forms of a shape at the end of a plain name: add_1x8x8, add(1, 8, 8),
// add_[1,8,8]; and numbers that are perhaps none: add_1_8_8.
var (
	timesSuffix   = regexp.MustCompile(`(?s)^(.+)[_.]([0-9]+(?:x[0-9]+)+)$`)
	bracketSuffix = regexp.MustCompile(`(?s)^(.*[^_.])[_.]?(?:\(([0-9, ]*)\)|\[([0-9, ]*)\])$`)
	numbersSuffix = regexp.MustCompile(`(?s)[^_]((?:_[0-9]+)+)$`)
)

func parsePlainName(stem string) RawInfo {
	info := RawInfo{Node: stem, Kind: Output}
	if m := timesSuffix.FindStringSubmatch(stem); m != nil {
		if shape, ok := parseDims(m[2], "x"); ok {
			info.Node, info.Shape = m[1], shape
		}
	} else if m := bracketSuffix.FindStringSubmatch(stem); m != nil {
		dims := strings.TrimSuffix(strings.ReplaceAll(m[2]+m[3], " ", ""), ",")
		if shape, ok := parseDims(dims, ","); ok {
			info.Node, info.Shape = m[1], shape
		}
	} else if m := numbersSuffix.FindStringSubmatch(stem); m != nil {
		if shape, ok := parseDims(m[1][1:], "_"); ok {
			info.Numbers = shape
		}
	}
	return info
}

func (i *RawInfo) setType(word string) {
	d, ok := tensor.ParseDType(word)
	if !ok {
		i.fail("element type", word)
	}
	i.DType = d
}

func (i *RawInfo) setFormat(word string) {
	f, ok := tensor.ParseFormat(word)
	if !ok {
		i.fail("format", word)
		return
	}
	i.Format = &f
}

func (i *RawInfo) fail(what, word string) {
	if i.Err == nil {
		i.Err = fmt.Errorf("the file name has the unknown %s %q", what, word)
	}
}

// parseIndex reads the index of an input or output.
func parseIndex(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil
}

// parseDims reads dimensions; the empty string is the shape of a scalar.
func parseDims(s, sep string) (tensor.Shape, bool) {
	shape := tensor.Shape{}
	if s == "" {
		return shape, true
	}
	for word := range strings.SplitSeq(s, sep) {
		n, err := strconv.ParseUint(word, 10, 63)
		if err != nil {
			return nil, false
		}
		shape = append(shape, int64(n))
	}
	return shape, true
}
