package tensorfile

import (
	"cmp"
	"io"
	"path/filepath"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/format"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

// RawHint describes the tensor of a raw file beyond its name, usually from the tensor that it is
// compared with. Zero values are unknown.
type RawHint struct {
	DType tensor.DType
	// Shape is a shape in host order.
	Shape tensor.Shape
	// Format is the order of Shape.
	Format *tensor.Format
	// Layout is the order of the elements, nil for Format.
	Layout *tensor.Format
}

// readRaw reads a file of elements without a header as one tensor. The hint supplies what the
// file name does not say. A file whose name ends in .txt is a text of numbers, read as float64.
//
// The size of the file must be the size of the shape; only a file of a synchronous dump of
// MindSpore may be larger. Without any shape the whole file is one dimension. If the name has a
// device layout, the tensor has the shape in the name, and the hint's shape is the original shape.
func readRaw(f *File, src *containerInput) error {
	info := filename.Parse(src.name)
	if info.Err != nil {
		return info.Err
	}
	t, data := tensor.Tensor{Size: src.size}, io.ReaderAt(src.file)
	if strings.EqualFold(filepath.Ext(src.name), ".txt") {
		info.DType = tensor.Float64
		var err error
		if data, t.Size, err = readText(src.file, src.size, maxNumbers); err != nil {
			return err
		}
	}
	raw := rawTensor{info: info}
	if src.opt.Raw != nil {
		raw.hint = *src.opt.Raw
	}
	if isSync(&info) {
		resolveScalar(&raw.info, t.Size)
	}
	f.warnFormat(&info)
	if err := raw.describe(&t); err != nil {
		return err
	}
	if need, _ := t.DType.Bytes(t.Shape.Elements()); need < t.Size {
		f.Warnings = append(f.Warnings, lang.Say("%v elements of %s need %d bytes, found %d: only the first are used", t.Shape, t.DType, need, t.Size))
	}
	t.Data = io.NewSectionReader(data, 0, t.Size)
	f.Tensors = []Tensor{{Kind: cmp.Or(info.Kind, tensor.Output), Index: info.Index, Tensor: format.Tensor{Tensor: t}}}
	return nil
}

// rawTensor is the description of a raw file by its name and a hint.
type rawTensor struct {
	info filename.Info
	hint RawHint
}

// describe sets type, format and shapes of t, whose size is set.
func (r rawTensor) describe(t *tensor.Tensor) error {
	t.DType = r.info.DType
	if t.DType == tensor.Undefined {
		t.DType = r.hint.DType
	}
	if t.DType == tensor.Undefined {
		return lang.Errorf("the element type of the raw file is unknown: its name does not contain it")
	}
	all, ok := t.DType.Elements(t.Size)
	if !ok {
		return &tensor.UnsupportedType{DType: t.DType}
	}
	t.Format = r.chooseFormat()
	t.Shape = r.chooseShape(all)
	if !layout.IsHost(t.Format) {
		t.OriginalShape, t.OriginalFormat = r.hint.Shape, r.hint.Format
	}
	n, ok := t.Shape.Count()
	need, fits := t.DType.Bytes(n)
	if !ok || !fits {
		return lang.Errorf("shape %v has too many elements", t.Shape)
	}
	if need > t.Size || need < t.Size && (n == 0 || !isSync(&r.info)) {
		return lang.Errorf("%v elements of %s need %d bytes, found %d", t.Shape, t.DType, need, t.Size)
	}
	return nil
}

func (r rawTensor) chooseFormat() tensor.Format {
	switch {
	case r.info.Format != nil:
		return *r.info.Format
	case r.hint.Layout != nil:
		return *r.hint.Layout
	case r.hint.Format != nil:
		return *r.hint.Format
	}
	return tensor.ND
}

// chooseShape chooses the shape of a file with room for all elements.
func (r rawTensor) chooseShape(all int64) tensor.Shape {
	hint := r.hint.Shape
	if !layout.IsHost(r.chooseFormat()) {
		hint = nil // the hint's shape is the host shape
	}
	switch name := r.info.Shape; {
	case len(name) == 1 && hint != nil:
		if n, ok := hint.Count(); ok && n == name[0] {
			return hint
		}
		return name
	case name != nil:
		return name
	case hint != nil:
		return hint
	}
	// Try the trailing numbers of the name as a shape, longest first.
	for i := range r.info.Numbers {
		if n, ok := r.info.Numbers[i:].Count(); ok && n == all {
			return r.info.Numbers[i:]
		}
	}
	return tensor.Shape{all}
}
