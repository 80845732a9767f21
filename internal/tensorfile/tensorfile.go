// Package tensorfile opens any supported file - a dump in one of its
// containers, a .npy array, or a raw file whose name or user says what is in
// it - as a list of tensors, and reads their elements in blocks. What is done
// with them is up to the caller.
package tensorfile

import (
	"cmp"
	"errors"
	"fmt"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/filename"
	"dumptool/internal/foreign"
	"dumptool/internal/format"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// Tensor is one tensor of a file.
type Tensor struct {
	tensor.Tensor
	// Kind is output for the array of a .npy or raw file whose name does not say.
	Kind  tensor.Kind
	Index int
	// Name is the one in a file that names its tensors, Path its components from the
	// outside in; empty for tensors of other files, and for the only one of a file
	// that does not name it.
	Name string
	Path []string
	// Operator is what such a tensor belongs to, nil where its file does not say.
	Operator *format.Operator
	// Details are what such a file says besides; nil for others.
	Details *format.Details
	// Origin is the element type that the tensor had before it was stored in a
	// type of the host, as bfloat16 is in float32; Undefined if that is not known
	// or the same.
	Origin tensor.DType
	// Err says why the tensor cannot be used although its file can.
	Err error
}

// String names the tensor as messages do: its name, or such as output 0.
func (t *Tensor) String() string { return Label(t.Name, t.Kind, t.Index) }

// Label names a tensor as messages do: its name in a file that names its tensors,
// or its kind and index.
func Label(name string, kind tensor.Kind, index int) string {
	if name != "" {
		return name
	}
	return fmt.Sprintf("%s %d", kind, index)
}

// File is an open file. Its tensors read from it, so it is closed last.
type File struct {
	Path string
	// Container names the kind of the file, such as npy or binary version 2.
	Container string
	// IsArray is set for an array of the host, which needs a conversion only if
	// its name says that it has a layout of the device.
	IsArray bool
	// Named is set for a file that names its tensors.
	Named bool
	// Op is the operator that a dump describes, nil for other files.
	Op *Operator
	// Tensors are all inputs, then all outputs; of a file that names them they are in
	// its order.
	Tensors []Tensor
	// Values are what a file that names its tensors holds besides.
	Values   []format.Value
	Warnings []string

	file store.Source
	// linked is another file that has the elements, nil for none.
	linked store.Source
	// release gives a file back that a Pool keeps open, nil for others.
	release func()
}

// Options says how a file is opened. The zero value is for a dump or another
// file with a header.
type Options struct {
	// Name is the one that the file goes by; empty for the base name of its path.
	Name string
	// Version forces the container of a dump: 1, 2, or 0 to find out from the content.
	Version int
	// Raw, when not nil, asks for raw files too: files that end as they do and
	// have no header of another kind. It says what their names do not.
	Raw *RawHint
	// Whole says that all of the file will be read.
	Whole bool
}

// Open opens the file at path. The error is one of os or of the package that
// reads the format, a *guard.Panic where that panics; a file of no known kind wraps
// dumpfmt.ErrNotDump.
func Open(path string, opt Options) (*File, error) {
	file, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	if opt.Whole {
		store.Whole(file)
	}
	src := &source{file: file, size: file.Size(), name: cmp.Or(opt.Name, store.Base(path)), opt: opt}
	f := &File{Path: path, file: file}
	if err := guard.Do(func() error { return f.read(src) }); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// openRegular opens a file that is no pipe, which would block, and no folder.
func openRegular(path string) (store.Source, error) {
	info, err := store.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: not a regular file", dumpfmt.ErrNotDump)
	}
	return store.Open(path)
}

func (f *File) read(src *source) error {
	head := make([]byte, min(headBytes, src.size))
	if n, err := f.file.ReadAt(head, 0); n < len(head) {
		return fmt.Errorf("read %d bytes, want %d: %w", n, len(head), err)
	}
	for _, c := range containers {
		if !c.is(head, src) {
			continue
		}
		f.Container = c.Name
		err := c.read(f, src)
		info := filename.Parse(src.name)
		switch {
		case !errors.Is(err, dumpfmt.ErrNotDump) || info.IsDump():
			return err
		case Claims(src.name):
			// Its first bytes may be damaged, and the rest be whole.
			c = ContainerOf(src.name)
			f.Container = c.Name
			if claimed := c.read(f, src); claimed != nil {
				return &claimError{claimed, err}
			}
			return nil
		}
		return &ForeignError{foreign.Of(head), err}
	}
	return dumpfmt.ErrNotDump
}

// claimError is that of a file that is neither a dump nor what its name claims:
// the latter is what it says.
type claimError struct{ claimed, dump error }

func (e *claimError) Error() string   { return e.claimed.Error() }
func (e *claimError) Unwrap() []error { return []error{e.claimed, e.dump} }

// ForeignError is that of a file that is no tensor file, and has no name of one.
type ForeignError struct {
	Kind *foreign.Kind // nil for an unknown one
	// Err says why no reader takes the file.
	Err error
}

// Error says what the file is.
func (e *ForeignError) Error() string { return e.Text().EN }

// Text says what the file is.
func (e *ForeignError) Text() lang.Text {
	if e.Kind == nil {
		return lang.Text{EN: dumpfmt.ErrNotDump.Error() + ", and none of the other files that dumptool knows", ZH: "不是 dump 文件，也不是 dumptool 认识的其他文件"}
	}
	kind := e.Kind.Text()
	return lang.Text{EN: dumpfmt.ErrNotDump.Error() + ", but " + kind.EN, ZH: "不是 dump 文件，而是 " + kind.ZH}
}

// Unwrap returns the errors of the readers.
func (e *ForeignError) Unwrap() error { return e.Err }

// TypeName names the element type and, if it is another one, that of its origin.
func TypeName(stored, origin tensor.DType) string {
	if origin == tensor.Undefined || origin == stored {
		return stored.String()
	}
	return fmt.Sprintf("%s (stored as %s)", origin, stored)
}

// Close closes the file, or gives it back to the Pool that opened it.
func (f *File) Close() error {
	if f.release != nil {
		f.release()
		return nil
	}
	if f.linked != nil {
		return errors.Join(f.file.Close(), f.linked.Close())
	}
	return f.file.Close()
}

// Stored returns the shape of the elements that the tensor's bytes hold.
// Without a recorded shape, and for bytes of undefined type, that is a flat run
// of as many elements as there are. More bytes than the shape needs are fine,
// fewer are an error.
func (t *Tensor) Stored() (tensor.Shape, error) {
	if t.Err != nil {
		return nil, t.Err
	}
	all, ok := t.DType.Elements(t.Size)
	if !ok {
		return nil, &tensor.UnsupportedType{DType: t.DType}
	}
	if t.DType == tensor.Undefined || t.Shape == nil || len(t.Shape) == 0 && all != 1 {
		return tensor.Shape{all}, nil
	}
	n, ok := t.Shape.Count()
	if !ok {
		return nil, fmt.Errorf("shape %v has too many elements", t.Shape)
	}
	if need, ok := t.DType.Bytes(n); !ok || need > t.Size {
		return nil, fmt.Errorf("%v elements of %s need %d bytes, found %d", t.Shape, t.DType, need, t.Size)
	}
	return t.Shape, nil
}
