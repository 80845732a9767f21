// Package filename parses the names of dump files. Parse splits a name by the first matching
// grammar of a table, so that every command interprets a file in the same way. ParseFolder does so
// for the folders of a dump tree. The package opens no file.
package filename

import (
	"math"
	"path"
	"strconv"
	"strings"

	"dumptool/internal/tensor"
)

// Grammar is the form of a name.
type Grammar int

// The grammars, in the order in which Parse tries them.
const (
	// None is the grammar of a text that cannot be the base name of a file.
	None Grammar = iota
	DumpFile
	Record
	Converted
	Reference
	Sync
	ATB
	SGLang
	InLayout
	Plain
)

// grammars has a row for each Grammar that Parse tries.
var grammars = [...]struct {
	grammar Grammar
	// form describes the grammar to users, with optional parts in [ ].
	form  string
	parse func(stem, ext string) (Info, bool)
}{
	{DumpFile, dumpForm, parseDumpFile},
	{Record, "Opdebug.Node_OpDebug.{2 to 7 numbers}", parseRecord},
	{Converted, "{source}.{input|output}.{index}[.{tail}].{ext}", parseConverted},
	{Reference, "{op}.{index}.{timestamp}.{ext}", parseReference},
	{Sync, "{op}_{input|output}_{index}_shape_[{d}_...]{Dtype}_{Format}[.{shape}].{ext}", parseSync},
	{ATB, "{intensor|outtensor}{index}[_{parameter}].{ext}", parseATB},
	{SGLang, "name={op}___step={step}___rank={rank}___dump_index={number}[___{key}={value}].pt", parseSGLang},
	{InLayout, "{op}.{layout}[.{dtype}].{ext}", parseInLayout},
	{Plain, "{op}[{shape}].{ext}", parsePlain},
}

// Info are the fields of a name. Missing fields are zero.
type Info struct {
	Grammar Grammar
	// Ext is the extension in lower case, such as .npy; empty if it is not the extension of a
	// tensor file.
	Ext string
	// Stem is the name without extension, and for a converted dump the Source.
	Stem string
	// Source is the name of the file that this one was converted from; files without an extension
	// have none. A Reference, and an array with a name of grammar Sync, may be converted too and
	// have a Source.
	Source string
	// Dump are the fields of the dump name, if HasDump: of this file or of its Source.
	Dump    Dump
	HasDump bool
	OpType  string
	// OpName is the operator: with slashes in grammar Sync, the whole stem in grammars ATB and
	// Plain.
	OpName string
	// Kind is empty for dumps, which have many tensors. Names without a kind are outputs.
	Kind      tensor.Kind
	Index     int
	Timestamp uint64
	// Rank and Step are coordinates in names of grammar SGLang. Sequence numbers the dumps of a round from 1, 0 if unknown.
	Rank, Step string
	Sequence   int
	// Slice is the thread that wrote this piece of a tensor.
	Slice string
	DType tensor.DType
	// Shape is nil if the name has none. A shape of one dimension may be the number of elements. In
	// a Plain name the shape is part of OpName too.
	Shape tensor.Shape
	// Numbers are the trailing numbers of a Plain name, as in add_1_8_8: all or the last few may be
	// a shape, or they belong to the name.
	Numbers tensor.Shape
	// Format is nil if the name has none.
	Format *tensor.Format
	// UnknownFormat is the unknown word in place of a format; the elements can be read
	// nevertheless.
	UnknownFormat string
	// Err is set if the name of a raw file has an unknown type or format, so that the elements
	// cannot be read.
	Err error
}

// endings maps the extensions of tensor files to the container (of package tensorfile) that the
// extension claims. Other extensions of files converted from dumps map to the empty text.
var endings = map[string]string{
	".npy":         "npy",
	".h5":          "hdf5",
	".hdf5":        "hdf5",
	".pt":          "pt",
	".pth":         "pt",
	".npz":         "npz",
	".safetensors": "safetensors",
	".bin":         "raw",
	".txt":         "raw",
	".raw":         "",
	".pb":          "",
	".quant":       "",
	".json":        "",
}

// Container returns the container that the ending of a name or path claims, empty for none.
func Container(name string) string {
	return endings[strings.ToLower(path.Ext(name))]
}

// Parse parses the base name of a file. Every name has a grammar: Plain if no other matches.
func Parse(base string) Info {
	if base == "" || strings.IndexByte(base, '/') >= 0 || strings.IndexByte(base, 0) >= 0 {
		return Info{}
	}
	stem, ext := splitExt(base)
	for _, row := range grammars {
		if info, ok := row.parse(stem, ext); ok {
			info.Grammar, info.Ext = row.grammar, ext
			if info.Stem == "" {
				info.Stem = stem
			}
			if ext == "" {
				info.Source = ""
			}
			return info
		}
	}
	return Info{} // Plain matches every name
}

// splitExt splits off the extension of a tensor file, in any letter case; ext is in lower case.
func splitExt(base string) (stem, ext string) {
	dot := strings.LastIndexByte(base, '.')
	if dot <= 0 {
		return base, ""
	}
	ext = strings.ToLower(base[dot:])
	if _, known := endings[ext]; !known {
		return base, ""
	}
	return base[:dot], ext
}

// IsDump reports whether the name is a dump name.
func (n *Info) IsDump() bool { return n.Grammar == DumpFile }

// IsOpDebug reports whether the name belongs to an overflow record, or to a file converted from
// one.
func (n *Info) IsOpDebug() bool {
	return strings.EqualFold(n.OpType, OpDebugType) && strings.EqualFold(n.OpName, OpDebugName)
}

// Fields of names: each function parses s and reports whether it is valid.

func parseKind(s string) (tensor.Kind, bool) {
	k := tensor.Kind(s)
	return k, k == tensor.Input || k == tensor.Output
}

// parseIndex reads the index of an input or output.
func parseIndex(s string) (int, bool) {
	if !isDigits(s) { // errors of ParseUint take memory
		return 0, false
	}
	v, err := strconv.ParseUint(s, 10, 31)
	return int(v), err == nil
}

// parseNumber parses a number of at most 64 bits, such as a timestamp.
func parseNumber(s string) (uint64, bool) {
	if !isDigits(s) {
		return 0, false
	}
	v, err := strconv.ParseUint(s, 10, 64)
	return v, err == nil
}

// parseShape parses 1x3x224, 1_3_224, 7, and the empty text of a scalar.
func parseShape(s string) (tensor.Shape, bool) {
	if strings.Contains(s, "x") {
		return parseDims(s, "x")
	}
	return parseDims(s, "_")
}

// parseDims parses dimensions; the empty text is the shape of a scalar.
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

// parseDim parses a dimension; see parsePrinted.
func parseDim(s string) (int64, bool) {
	v, ok := parsePrinted(s)
	return int64(v), ok && v <= math.MaxInt64
}

// parsePrinted parses a decimal number in the form that writers print: no sign, no leading zero, at
// most 64 bits.
func parsePrinted(s string) (uint64, bool) {
	if s != "0" && strings.HasPrefix(s, "0") {
		return 0, false
	}
	return parseNumber(s)
}

func isDigits(s string) bool { return s != "" && trimDigits(s) == "" }

// trimDigits returns s without its trailing digits.
func trimDigits(s string) string {
	for s != "" && '0' <= s[len(s)-1] && s[len(s)-1] <= '9' {
		s = s[:len(s)-1]
	}
	return s
}

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

func cutLastPart(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// parsePlain parses the names of output 0 of an operator, as in the HPAA tools and by users. It
// accepts every name. A shape may be at the end, as in add_1x8x8, add(1, 8, 8), add_[1,8,8], or
// numbers that may be a shape: add_1_8_8.
func parsePlain(stem, _ string) (Info, bool) {
	n := Info{OpName: stem, Kind: tensor.Output}
	switch last := stem[len(stem)-1]; {
	case last == ')':
		n.Shape = shapeInBrackets(stem, "(")
	case last == ']':
		n.Shape = shapeInBrackets(stem, "[")
	case last < '0' || last > '9':
	default:
		if i := strings.LastIndexAny(stem, "_."); i > 0 && strings.Contains(stem[i:], "x") {
			n.Shape, _ = parseDims(stem[i+1:], "x")
		} else {
			n.Numbers = numbersAtEnd(stem)
		}
	}
	return n, true
}

// shapeInBrackets returns the shape from the last opening bracket to the end of a name, nil for
// none. At most one _ or . may be between name and bracket.
func shapeInBrackets(stem, opening string) tensor.Shape {
	name, dims, found := cutLastPart(stem[:len(stem)-1], opening)
	if n := len(name); n > 0 && strings.IndexByte("_.", name[n-1]) >= 0 {
		name = name[:n-1]
	}
	if !found || name == "" || strings.IndexByte("_.", name[len(name)-1]) >= 0 || strings.Trim(dims, "0123456789, ") != "" {
		return nil
	}
	shape, _ := parseDims(strings.TrimSuffix(strings.ReplaceAll(dims, " ", ""), ","), ",")
	return shape
}

// numbersAtEnd returns the trailing numbers of a name, each after a single _; nil for none, and if
// one cannot be a dimension.
func numbersAtEnd(stem string) tensor.Shape {
	at := len(stem)
	for {
		head := trimDigits(stem[:at])
		if len(head) == at || !strings.HasSuffix(head, "_") {
			break
		}
		at = len(head) - 1
	}
	rest := strings.TrimPrefix(stem[at:], "_")
	if at == 0 || stem[at-1] == '_' { // the first number has no name before it
		_, rest, _ = strings.Cut(rest, "_")
	}
	if rest == "" {
		return nil
	}
	shape, _ := parseDims(rest, "_")
	return shape
}

// parseInLayout parses the names of output 0 of an operator with its device layout, such as
// conv1.NC1HWC0.npy. Layouts must have the letter case that devices write, so that operator names
// do not match.
func parseInLayout(stem, ext string) (n Info, ok bool) {
	if ext == "" || !strings.Contains(stem, "FRACTAL_") && !strings.Contains(stem, "C0") { // fast path
		return n, false
	}
	op, word, _ := cutLastPart(stem, ".")
	if d, isType := tensor.ParseDType(word); isType {
		n.DType = d
		op, word, _ = cutLastPart(op, ".")
	}
	if op == "" || !strings.HasPrefix(word, "FRACTAL_") && !strings.Contains(word, "C0") {
		return n, false
	}
	format, ok := tensor.ParseFormat(word)
	n.OpName, n.Kind, n.Format = op, tensor.Output, &format
	return n, ok && format.String() == word
}

// parseATB parses the names of tensors of the Ascend Transformer Boost library; folders give the
// operator.
func parseATB(stem, _ string) (Info, bool) {
	kind := tensor.Input
	rest, ok := strings.CutPrefix(stem, "intensor")
	if !ok {
		kind = tensor.Output
		rest, ok = strings.CutPrefix(stem, "outtensor")
	}
	number, parameter, named := strings.Cut(rest, "_")
	if !ok || named && parameter == "" {
		return Info{}, false
	}
	index, ok := parseIndex(number)
	return Info{OpName: stem, Kind: kind, Index: index}, ok
}

// FileOp is the name of the operator in file names of grammar Sync.
func (n *Info) FileOp() string { return strings.ReplaceAll(n.OpName, "/", "--") }

// parseSync parses the names of MindSpore's synchronous dumps, in which -- replaces the / of an
// operator's name: op_output_0_shape_1_3_Float32_NCHW. The last _shape_ counts. A scalar has no
// dimensions, or the one dimension 0: only the size of the file distinguishes it from an empty
// tensor. A file converted to another layout has its new shape at the end: ..._NC1HWC0.1x3x8x8.npy.
func parseSync(stem, ext string) (Info, bool) {
	const word = "_shape_"
	at := strings.LastIndex(stem, word)
	if at < 0 {
		return Info{}, false
	}
	head, index, _ := cutLastPart(stem[:at], "_")
	op, kindWord, _ := cutLastPart(head, "_")
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

// FolderKind is the meaning of a folder in a dump tree.
type FolderKind int

// The kinds of folders, after the public documentation of the Ascend toolkit and of MindSpore. A
// number is a device, a model or a step, depending on the folders around it.
const (
	OtherFolder     FolderKind = iota
	NumberFolder               // 0
	TimeFolder                 // start time of a dump: 14 digits
	RankFolder                 // rank_0, rank0
	StepFolder                 // step_0, step0
	GraphFolder                // net_graph_1
	DeviceFolder               // device_0
	IterationFolder            // iteration_0
	ProcessFolder              // proc1234, of a process without a rank
)

// numberedFolders are the folders named by a word and a number, with an optional _ between.
var numberedFolders = [...]struct {
	kind   FolderKind
	prefix string
}{{RankFolder, "rank"}, {StepFolder, "step"}, {DeviceFolder, "device"}, {IterationFolder, "iteration"}, {ProcessFolder, "proc"}}

// Folder are the fields of the name of a folder.
type Folder struct {
	Kind FolderKind
	Name string
	// Value is the number, the net of a graph, or otherwise the name.
	Value string
}

// IsNumber reports whether the name is a number or a time.
func (f Folder) IsNumber() bool { return f.Kind == NumberFolder || f.Kind == TimeFolder }

// ParseFolder parses the base name of a folder.
func ParseFolder(base string) Folder {
	const timeDigits, maxDigits = 14, 18
	switch {
	case !isDigits(base):
	case len(base) == timeDigits:
		return Folder{TimeFolder, base, base}
	case len(base) <= maxDigits:
		return Folder{NumberFolder, base, base}
	}
	for _, f := range numberedFolders {
		if rest, ok := strings.CutPrefix(base, f.prefix); ok && isDigits(strings.TrimPrefix(rest, "_")) {
			return Folder{f.kind, base, strings.TrimPrefix(rest, "_")}
		}
	}
	if net, number, ok := cutLastPart(base, "_graph_"); ok && net != "" && isDigits(number) {
		return Folder{GraphFolder, base, net}
	}
	return Folder{OtherFolder, base, base}
}
