// Package tensorfile opens any supported file - a dump in one of its containers, a .npy array, or a
// raw file described by its name or the user - as a list of tensors, and reads their elements in
// blocks. Callers decide how to use them.
package tensorfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"sync"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/filename"
	"dumptool/internal/foreign"
	"dumptool/internal/format"
	"dumptool/internal/format/torch"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// Tensor is one tensor of a file.
type Tensor struct {
	// Tensor has no name, operator and details in files without names of tensors. Its error
	// concerns the tensor alone: the file can be used.
	format.Tensor
	// Kind is output for the array of a .npy or raw file whose name has no kind.
	Kind  tensor.Kind
	Index int
	// Address of the tensor in device memory, 0 if the file does not record it.
	Address uint64
}

// String names the tensor as in messages: its name, or for example "output 0".
func (t *Tensor) String() string { return Label(t.Name, t.Kind, t.Index) }

// Label names a tensor as in messages: its name if it has one, else its kind and index.
func Label(name string, kind tensor.Kind, index int) string {
	if name != "" {
		return name
	}
	return fmt.Sprintf("%s %d", kind, index)
}

// File is an open file. Its tensors read from it: close it last.
type File struct {
	Path string
	// Container is the kind of the file, such as npy or binary version 2.
	Container string
	// IsArray: the file is a host array, and needs a conversion only if its name has a device
	// layout.
	IsArray bool
	// Named: the tensors have names in the file.
	Named bool
	// Op is the operator that a dump describes, nil for other files.
	Op *Operator
	// Tensors are all inputs, then all outputs; named tensors are in the order of the file.
	Tensors []Tensor
	// Values are the values other than tensors in a file with named tensors.
	Values []format.Value
	// Warnings are oddities of the file.
	Warnings []lang.Sentence

	file store.Source
	// linked is the file with the elements if the opened file links to it, else nil.
	linked store.Source
	// release returns the file to its Pool, nil without a Pool.
	release func()
}

// Options are the options of Open. The zero value suits a dump or another file with a header.
type Options struct {
	// Name is the name to parse instead of the base name of the path, empty for the latter.
	Name string
	// Version forces the container of a dump: 1, 2, or 0 to detect it.
	Version int
	// Raw, if not nil, accepts raw files too: files with their endings and without the header of
	// another kind. It describes what their names leave out.
	Raw *RawHint
	// Checkpoint: a file of PyTorch may hold objects of any class beside its tensors.
	Checkpoint bool
	// Whole: the caller will read the whole file.
	Whole bool
	// Only is the tensor to list, the zero value for all.
	Only Selector
}

// Open opens the file at path. Errors come from os or from the package that reads the format; a
// panic there is a *guard.Panic; the error of an unknown kind of file wraps dumpfmt.ErrNotDump.
func Open(path string, opt Options) (*File, error) {
	file, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	if opt.Whole {
		store.AnnounceFullRead(file)
	}
	src := &containerInput{file: file, size: file.Size(), name: cmp.Or(opt.Name, store.Base(path)), opt: opt}
	f := &File{Path: path, file: file}
	if err := guard.Do(func() error { return f.read(src) }); err != nil {
		_ = f.Close()
		return nil, err
	}
	f.addChecksum(f.file)
	f.addChecksum(f.linked)
	if err := f.keepSelected(opt.Only); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// addChecksum makes reading a whole tensor fail if the file, or the linked file, is a member of an
// archive and its checksum does not match.
func (f *File) addChecksum(from store.Source) {
	verify := store.Verifier(from)
	if verify == nil {
		return
	}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if t.Data == nil {
			continue
		}
		need := t.Size
		if shape, err := t.StoredShape(); err == nil {
			need, _ = t.DType.Bytes(shape.Elements())
		}
		t.Data = format.NewCheckedReader(t.Data, need, verify)
	}
	if f.Op == nil {
		return
	}
	for _, blobs := range [][]dumpfmt.Blob{f.Op.Buffers, f.Op.Spaces} {
		for i := range blobs {
			if b := &blobs[i]; b.Data != nil {
				b.Data = format.NewCheckedReader(b.Data, b.Size, verify)
			}
		}
	}
}

// openRegular opens a file, but no folder and no pipe, which would block.
func openRegular(path string) (store.Source, error) {
	if !store.IsRemote(path) {
		if file, err := store.Open(path); err == nil {
			if err = checkRegular(store.Mode(file)); err != nil {
				_ = file.Close() // only read
				return nil, err
			}
			return file, nil
		}
	}
	info, err := store.Stat(path) // Stat has the better error
	if err == nil {
		err = checkRegular(info.Mode())
	}
	if err != nil {
		return nil, err
	}
	return store.Open(path)
}

func checkRegular(mode fs.FileMode) error {
	switch {
	case mode.IsDir():
		return lang.Errorf("%w, but a folder", dumpfmt.ErrNotDump)
	case !mode.IsRegular():
		return lang.Errorf("%w: not a regular file", dumpfmt.ErrNotDump)
	}
	return nil
}

// headBuffers are free buffers for the first bytes of a file.
var headBuffers = sync.Pool{New: func() any { return new([headBytes]byte) }}

func (f *File) read(src *containerInput) error {
	room := headBuffers.Get().(*[headBytes]byte)
	defer headBuffers.Put(room)
	head := room[:min(headBytes, src.size)]
	if n, err := f.file.ReadAt(head, 0); n < len(head) && lang.IsLocated(err) {
		return err
	} else if n < len(head) {
		return lang.Errorf("read %d bytes, want %d: %w", n, len(head), err)
	}
	for _, c := range containers {
		if !c.matches(head, src) {
			continue
		}
		f.Container = c.Name
		err := c.read(f, src)
		if !errors.Is(err, dumpfmt.ErrNotDump) {
			return err
		}
		switch info := filename.Parse(src.name); {
		case info.IsDump():
			return err
		case Claims(src.name):
			// The first bytes may be damaged and the rest intact.
			c = ContainerOf(src.name)
			f.Container = c.Name
			if claimed := c.read(f, src); claimed != nil {
				return &claimError{claimed, err}
			}
			return nil
		}
		return &ForeignError{foreign.Identify(head), err}
	}
	return dumpfmt.ErrNotDump
}

// claimError is the error of a file that is neither a dump nor of the container that its name
// claims. Its text is the error of the claimed container.
type claimError struct{ claimed, dump error }

func (e *claimError) Error() string   { return e.claimed.Error() }
func (e *claimError) Unwrap() []error { return []error{e.claimed, e.dump} }

// ForeignError is the error of a file that is not a tensor file and whose name does not claim to
// be.
type ForeignError struct {
	Kind *foreign.Kind // nil if unknown
	// Err is the error of the last reader.
	Err error
}

// Error describes the kind of the file.
func (e *ForeignError) Error() string { return e.Text().String() }

// Text describes the kind of the file.
func (e *ForeignError) Text() lang.Text {
	if e.Kind == nil {
		return lang.Say("%v, nor another kind of file that dumptool reads", dumpfmt.ErrNotDump).Text()
	}
	return lang.Say("%v, but %s", dumpfmt.ErrNotDump, e.Kind).Text()
}

// Unwrap returns the error of the reader.
func (e *ForeignError) Unwrap() error { return e.Err }

// AllWarnings returns the warnings of the file, then the warnings of its tensors with their names.
func (f *File) AllWarnings() []lang.Sentence {
	all := slices.Clip(f.Warnings)
	for i := range f.Tensors {
		for _, w := range f.Tensors[i].Warnings {
			all = append(all, lang.Say("%s: %s", f.Tensors[i].String(), w))
		}
	}
	return all
}

// maxWarnings bounds the warnings about files in a result.
const maxWarnings = 10

// FirstWarnings returns the first distinct warnings about files, and a count of the others.
func FirstWarnings(all []lang.Sentence) (first []lang.Sentence) {
	seen := map[string]bool{}
	for _, w := range all {
		text := w.String()
		if !seen[text] && len(seen) < maxWarnings {
			first = append(first, w)
		}
		seen[text] = true
	}
	if more := len(seen) - len(first); more > 0 {
		first = append(first, lang.Say("%d more warnings about files", more))
	}
	return first
}

// TypeName names the element type and the original type if it differs.
func TypeName(stored, origin tensor.DType) string {
	if origin == tensor.Undefined || origin == stored {
		return stored.String()
	}
	return fmt.Sprintf("%s (stored as %s)", origin, stored)
}

// Close closes the file, or returns it to its Pool.
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

// StoredShape returns the shape of the stored elements. Without a recorded shape, and for bytes of
// undefined type, it is one dimension with all elements. The tensor may have more bytes than the
// shape needs; fewer bytes are an error.
func (t *Tensor) StoredShape() (tensor.Shape, error) {
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
		return nil, lang.Errorf("shape %v has too many elements", t.Shape)
	}
	if need, ok := t.DType.Bytes(n); !ok || need > t.Size {
		return nil, lang.Errorf("%v elements of %s need %d bytes, found %d", t.Shape, t.DType, need, t.Size)
	}
	return t.Shape, nil
}

// Verify compares the data that the tensor was read from with its checksum, if it has one. Call it
// after reading all elements; padding may have been skipped.
func (t *Tensor) Verify() error { return guard.Do(func() error { return format.Verify(t.Data) }) }

// Elements reads the stored elements of a tensor by position, with packed elements unpacked to a
// byte each. It is a layout.Source for one goroutine.
type Elements struct {
	t      *Tensor
	unit   int64
	packed []byte
}

// Elements returns a reader of the stored elements.
func (t *Tensor) Elements() *Elements {
	return &Elements{t: t, unit: int64(t.DType.UnitSize())}
}

// Blocks reads the first n stored elements of the tensor; see layout.Blocks.
func (t *Tensor) Blocks(ctx context.Context, n int64, buf *[]byte) iter.Seq2[[]byte, error] {
	return layout.Blocks(ctx, t.Elements(), n, t.DType.UnitSize(), buf)
}

// Stats returns the statistics of the stored elements of a shape that Stored returned. The elements
// are read in blocks into buf, which grows. The error may be a *tensor.UnsupportedType.
func (t *Tensor) Stats(ctx context.Context, shape tensor.Shape, buf *[]byte) (*tensor.Stats, error) {
	return t.stats(ctx, shape, buf, tensor.NewAccumulator)
}

// StatsAndNorm is Stats with the norm, and slower.
func (t *Tensor) StatsAndNorm(ctx context.Context, shape tensor.Shape, buf *[]byte) (*tensor.Stats, error) {
	return t.stats(ctx, shape, buf, tensor.NewNormAccumulator)
}

func (t *Tensor) stats(ctx context.Context, shape tensor.Shape, buf *[]byte, accumulator func(tensor.DType) (*tensor.Accumulator, error)) (stats *tensor.Stats, err error) {
	err = guard.Do(func() error {
		elements, err := accumulator(t.DType)
		if err != nil {
			return err
		}
		for block, err := range t.Blocks(ctx, shape.Elements(), buf) {
			if err != nil {
				return err
			}
			elements.Add(block)
		}
		all := elements.Stats()
		stats = &all
		return nil
	})
	return stats, err
}

// ReadElements fills dst with the elements from first on. A panic in the reader of a format is an
// error.
func (e *Elements) ReadElements(dst []byte, first int64) error {
	return guard.Do(func() error { return e.readElements(dst, first) })
}

func (e *Elements) readElements(dst []byte, first int64) error {
	if !e.t.DType.IsPacked() {
		return e.read(dst, first*e.unit)
	}
	n := int64(len(dst))
	per := int64(8 / e.t.DType.Bits())
	from, to := first/per, (first+n+per-1)/per
	e.packed = slices.Grow(e.packed[:0], int(to-from))[:to-from]
	if err := e.read(e.packed, from); err != nil {
		return err
	}
	tensor.Unpack(dst, e.packed, e.t.DType, first-from*per)
	return nil
}

// read fills dst with stored bytes. An unexpected end of the file is an error with the offset.
func (e *Elements) read(dst []byte, off int64) error {
	n, err := e.t.Data.ReadAt(dst, off)
	switch {
	case n == len(dst):
		return nil
	case lang.IsLocated(err):
		return err
	}
	_, at := store.Origin(e.t.Data, off)
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return lang.Errorf("at 0x%x: read %d bytes, want %d: %w", at, n, len(dst), err)
}

// readTorch reads a file of PyTorch.
func readTorch(f *File, src *containerInput) error {
	if src.opt.Checkpoint {
		return namedReader(torch.OpenCheckpoint)(f, src)
	}
	return namedReader(torch.Open)(f, src)
}

// namedReader returns the read function of a container with named tensors.
func namedReader(open func(r io.ReaderAt, size int64) (*format.Contents, error)) func(*File, *containerInput) error {
	return func(f *File, src *containerInput) error {
		contents, err := open(src.file, src.size)
		if err != nil {
			return err
		}
		f.Named, f.Values, f.Warnings = true, contents.Values, contents.Warnings
		f.Tensors = make([]Tensor, len(contents.Tensors))
		for i := range contents.Tensors {
			f.Tensors[i] = namedTensor(&contents.Tensors[i])
		}
		if t := f.Tensors; len(t) == 1 && t[0].Name == "" {
			info := filename.Parse(src.name)
			t[0].Kind, t[0].Index = cmp.Or(info.Kind, tensor.Output), info.Index
		}
		return nil
	}
}

func namedTensor(t *format.Tensor) Tensor {
	named := Tensor{Tensor: *t, Kind: tensor.Output}
	if t.Operator != nil {
		named.Kind, named.Index = t.Operator.Kind, t.Operator.Index
	}
	return named
}

// IsUnnamed reports whether the file has no names of tensors, so that only its own name describes
// them.
func (f *File) IsUnnamed() bool {
	return !f.Named || len(f.Tensors) == 1 && f.Tensors[0].Name == ""
}

// IsNamed reports whether the file at path is a container with named tensors, by its first bytes.
// The name of the file does not count: PyTorch's weights are called .bin too.
func IsNamed(path string) bool {
	file, err := openRegular(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, min(headBytes, file.Size()))
	if n, err := file.ReadAt(head, 0); n < len(head) && err != nil {
		return false
	}
	src, named := &containerInput{file: file, size: file.Size(), name: store.Base(path)}, false
	err = guard.Do(func() error {
		named = slices.ContainsFunc(containers, func(c *Container) bool { return c.Named && c.matches(head, src) })
		return nil
	})
	return err == nil && named
}
