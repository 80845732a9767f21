package filename

import (
	"slices"
	"strings"

	"dumptool/internal/tensor"
)

// Grammar is a form of names.
type Grammar int

// The grammars, in the order in which Parse tries them.
const (
	// None is that of a text that is no base name of a file.
	None Grammar = iota
	DumpFile
	Record
	Converted
	Reference
	Sync
	ATB
	InLayout
	Plain
)

// grammars has a row for each Grammar that Parse tries.
var grammars = [...]struct {
	grammar Grammar
	// form is the grammar for readers, [ ] around what may be missing.
	form  string
	parse func(stem, ext string) (Info, bool)
}{
	{DumpFile, dumpForm, parseDumpFile},
	{Record, "Opdebug.Node_OpDebug.{2 to 7 numbers}", parseRecord},
	{Converted, "{source}.{input|output}.{index}[.{tail}].{ext}", parseConverted},
	{Reference, "{op}.{index}.{timestamp}.{ext}", parseReference},
	{Sync, "{op}_{input|output}_{index}_shape_[{d}_...]{Dtype}_{Format}[.{shape}].{ext}", parseSync},
	{ATB, "{intensor|outtensor}{index}[_{parameter}].{ext}", parseATB},
	{InLayout, "{op}.{layout}[.{dtype}].{ext}", parseInLayout},
	{Plain, "{op}[{shape}].{ext}", parsePlain},
}

// Info is what a name says. What it does not say has the zero value.
type Info struct {
	Grammar Grammar
	// Ext is the extension in lower case, such as .npy; empty if it is none of
	// a tensor file.
	Ext string
	// Stem is the name without extension, and for a converted dump the Source.
	Stem string
	// Source is the name of the file from which this one was converted; files
	// without an extension were not. A Reference, and an array with a name of the
	// grammar Sync, have one too where they may be converted tensors as well.
	Source string
	// Dump, where HasDump, is what the name of the dump says: that of this file
	// or of its Source.
	Dump    Dump
	HasDump bool
	OpType  string
	// OpName is the operator. In names of the grammar Sync it has its slashes;
	// of an ATB tensor or a Plain name it is all of the stem.
	OpName string
	// Kind is empty for dumps, which have many tensors. Names that do not say it
	// are those of outputs.
	Kind      tensor.Kind
	Index     int
	Timestamp uint64
	// Slice is the thread that wrote this piece of a tensor.
	Slice string
	DType tensor.DType
	// Shape is nil if the name has none. A shape of one dimension may be the
	// number of the elements. In a Plain name the shape is part of OpName too.
	Shape tensor.Shape
	// Numbers are those that a Plain name ends with, as in add_1_8_8: they, or
	// the last of them, may be a shape, or they belong to the name.
	Numbers tensor.Shape
	// Format is nil if the name has none.
	Format *tensor.Format
	// UnknownFormat is the word of a format that is not known; the elements can be
	// read all the same.
	UnknownFormat string
	// Err is set where the name of a raw file has a type or format that is not
	// known, so that the elements cannot be read.
	Err error
}

// extensions are those of tensor files, and of records that were converted.
var extensions = []string{".npy", ".bin", ".txt", ".raw", ".pt", ".pth", ".npz", ".safetensors", ".h5", ".hdf5", ".pb", ".quant", ".json"}

// Parse takes the base name of a file apart. Any such name has a grammar: one of
// no other form is Plain.
func Parse(base string) Info {
	if base == "" || strings.ContainsAny(base, "/\x00") {
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
	return Info{} // Plain fits everything
}

// splitExt splits the extension of a tensor file off, in any letter case; ext is
// in lower case.
func splitExt(base string) (stem, ext string) {
	dot := strings.LastIndexByte(base, '.')
	if dot <= 0 {
		return base, ""
	}
	ext = strings.ToLower(base[dot:])
	if !slices.Contains(extensions, ext) {
		return base, ""
	}
	return base[:dot], ext
}

// IsDump reports whether the name is that of a dump.
func (n *Info) IsDump() bool { return n.Grammar == DumpFile }

// IsOpDebug reports whether the name is that of an overflow record, or of a file
// that was converted from one.
func (n *Info) IsOpDebug() bool {
	return strings.EqualFold(n.OpType, OpDebugType) && strings.EqualFold(n.OpName, OpDebugName)
}
