package tensorfile

import (
	"errors"
	"fmt"
	"io"

	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

// RawHint is what is known about the tensor of a raw file besides its name,
// usually from the tensor that it is compared with. Zero values are unknown.
type RawHint struct {
	DType tensor.DType
	// Shape is a shape in host order.
	Shape tensor.Shape
	// Format is the order of Shape.
	Format *tensor.Format
}

// OpenRaw opens a file of elements without a header as one tensor. name is the
// one that the file goes by; what it does not tell comes from the hint. A name
// that ends in .txt is that of a text of numbers, read as float64.
//
// The file must hold just the elements of the shape. Without any shape it is
// all that the file holds, in one dimension. A device layout that the name
// tells keeps the name's shape, and the hint's becomes the original shape.
func OpenRaw(path, name string, hint RawHint) (*File, error) {
	info, _ := ParseRawName(name)
	if info.Err != nil {
		return nil, info.Err
	}
	file, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	f := &File{Path: path, file: file}
	if err := f.readRaw(name, rawTensor{info, hint}); err != nil {
		_ = file.Close()
		return nil, err
	}
	return f, nil
}

func (f *File) readRaw(name string, r rawTensor) error {
	stat, err := f.file.Stat()
	if err != nil {
		return err
	}
	t, data := tensor.Tensor{Size: stat.Size()}, io.ReaderAt(f.file)
	if _, ext := splitExt(name); ext == txtExt {
		r.info.DType = tensor.Float64
		data, t.Size, err = readText(f.file, stat.Size(), maxNumbers)
		if err != nil {
			return err
		}
	}
	if err := r.describe(&t); err != nil {
		return err
	}
	t.Data = io.NewSectionReader(data, 0, t.Size)
	f.Tensors = []Tensor{{Kind: r.info.Kind, Index: r.info.Index, Tensor: t}}
	return nil
}

// rawTensor is what is known about a raw file.
type rawTensor struct {
	info RawInfo
	hint RawHint
}

// describe sets what is known about t, of which the size is set.
func (r rawTensor) describe(t *tensor.Tensor) error {
	t.DType = r.info.DType
	if t.DType == tensor.Undefined {
		t.DType = r.hint.DType
	}
	if t.DType == tensor.Undefined {
		return errors.New("the element type of the raw file is not known: its name does not tell it")
	}
	all, ok := t.DType.Elements(t.Size)
	if !ok {
		return &tensor.UnsupportedType{DType: t.DType}
	}
	t.Format = r.format()
	t.Shape = r.shape(all)
	if !layout.IsHost(t.Format) {
		t.OriginalShape, t.OriginalFormat = r.hint.Shape, r.hint.Format
	}
	n, ok := t.Shape.Count()
	need, fits := t.DType.Bytes(n)
	if !ok || !fits {
		return fmt.Errorf("shape %v has too many elements", t.Shape)
	}
	if need != t.Size {
		return fmt.Errorf("%v elements of %s need %d bytes, found %d", t.Shape, t.DType, need, t.Size)
	}
	return nil
}

func (r rawTensor) format() tensor.Format {
	switch {
	case r.info.Format != nil:
		return *r.info.Format
	case r.hint.Format != nil:
		return *r.hint.Format
	}
	return tensor.ND
}

// shape chooses the shape of a file that has room for all elements.
func (r rawTensor) shape(all int64) tensor.Shape {
	hint := r.hint.Shape
	if !layout.IsHost(r.format()) {
		hint = nil // is the shape of something else
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
	// The longest of the shapes that the name may end with and that fits.
	for i := range r.info.Numbers {
		if n, ok := r.info.Numbers[i:].Count(); ok && n == all {
			return r.info.Numbers[i:]
		}
	}
	return tensor.Shape{all}
}
