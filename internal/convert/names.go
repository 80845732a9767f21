package convert

import (
	"fmt"
	"path/filepath"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/tensor"
)

// product is a tensor that is ready to be written: what names and headers say
// about it.
type product struct {
	kind  string
	index int
	shape tensor.Shape
	// format is what the elements are in; converted says whether they were
	// brought there by a conversion.
	format    tensor.Format
	converted bool
	// dtype is the name of the element type of a .bin file.
	dtype string
}

// outputName is the name of the output file of a tensor. base is the name of
// the dump, opName the full operator name in its header, possibly empty.
//
// The names are those of the msaccucmp tool: the shape is part of the name of a
// converted tensor, a .bin name also has its element type and format, and
// MindSpore's form has the format.
func outputName(t Type, base, opName string, p product) string {
	stem := fmt.Sprintf("%s.%s.%d", base, p.kind, p.index)
	switch {
	case t == Bin:
		shape := p.shape
		if !p.converted {
			shape = tensor.Shape{p.shape.Elements()}
		}
		return fmt.Sprintf("%s.%s.%s.%s.bin", stem, shape.Join("_"), p.dtype, p.format)
	case t == MSNpy:
		return fmt.Sprintf("%s.%s.%d.%s.npy", mindSporeBase(base, opName), p.kind, p.index, p.format)
	case p.converted:
		return fmt.Sprintf("%s.%s.%s", stem, p.shape.Join("x"), t)
	}
	return stem + "." + string(t)
}

// arrayName is the name of the output file of an array; base is the array's
// name without its ending.
func arrayName(t Type, base string, p product) string {
	switch {
	case t == Bin && len(p.shape) == 0:
		return fmt.Sprintf("%s.%s.bin", base, p.dtype)
	case t == Bin:
		return fmt.Sprintf("%s.%s.%s.bin", base, p.shape.Join("_"), p.dtype)
	case t == Txt || t == Pt:
		return base + "." + string(t)
	}
	return base + ".npy"
}

// rawName is the name of the host file of raw elements; base is their name without
// its ending.
func rawName(t Type, base string, p product) string {
	if p.converted {
		base += "." + p.shape.Join("x")
	}
	return base + "." + string(t)
}

// mindSporeBase replaces the operator's name in a dump name of five parts by the
// last component of its full name.
func mindSporeBase(base, opName string) string {
	parts := strings.Split(base, ".")
	last := opName[strings.LastIndex(opName, "/")+1:]
	if len(parts) != 5 || last == "" {
		return base
	}
	parts[1] = filename.Safe(last)
	return strings.Join(parts, ".")
}

// withoutExt is a name without its extension.
func withoutExt(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }
