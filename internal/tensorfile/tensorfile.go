// Package tensorfile opens any supported file - a dump in one of its
// containers, a .npy array, or a raw file whose name or user says what is in
// it - as a list of tensors, and reads their elements in blocks. What is done
// with them is up to the caller.
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
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
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
	// Address is where the tensor lay in the memory of the device, 0 where its file does not
	// say.
	Address uint64
	// Warnings are what is odd about the tensor alone.
	Warnings []lang.Sentence
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
	Values []format.Value
	// Warnings are what is odd about the file.
	Warnings []lang.Sentence

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
	// Only is the tensor that is listed, the zero value for all.
	Only Selector
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
	f.check(f.file)
	f.check(f.linked)
	if err := f.keep(opt.Only); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// check lets a tensor that is read whole fail where the file, or the linked one, is a member
// of an archive whose checksum does not fit.
func (f *File) check(from store.Source) {
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
		if shape, err := t.Stored(); err == nil {
			need, _ = t.DType.Bytes(shape.Elements())
		}
		t.Data = format.Checked(t.Data, need, verify)
	}
	if f.Op == nil {
		return
	}
	for _, blobs := range [][]dumpfmt.Blob{f.Op.Buffers, f.Op.Spaces} {
		for i := range blobs {
			if b := &blobs[i]; b.Data != nil {
				b.Data = format.Checked(b.Data, b.Size, verify)
			}
		}
	}
}

// openRegular opens a file that is no pipe, which would block, and no folder.
func openRegular(path string) (store.Source, error) {
	if !store.Remote(path) {
		if file, err := store.Open(path); err == nil {
			if err = checkRegular(store.Mode(file)); err != nil {
				_ = file.Close() // only read
				return nil, err
			}
			return file, nil
		}
	}
	info, err := store.Stat(path) // says better what is wrong
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

// heads are buffers of headBytes that nobody reads into.
var heads = sync.Pool{New: func() any { return new([headBytes]byte) }}

func (f *File) read(src *source) error {
	room := heads.Get().(*[headBytes]byte)
	defer heads.Put(room)
	head := room[:min(headBytes, src.size)]
	if n, err := f.file.ReadAt(head, 0); n < len(head) && lang.IsLocated(err) {
		return err
	} else if n < len(head) {
		return lang.Errorf("read %d bytes, want %d: %w", n, len(head), err)
	}
	for _, c := range containers {
		if !c.is(head, src) {
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

// AllWarnings are those of the file, then those of its tensors, each with its tensor.
func (f *File) AllWarnings() []lang.Sentence {
	all := slices.Clip(f.Warnings)
	for i := range f.Tensors {
		for _, w := range f.Tensors[i].Warnings {
			all = append(all, lang.Sayf("%s: %s", "%s：%s", f.Tensors[i].String(), w))
		}
	}
	return all
}

// mostWarnings is how many warnings about files a result lists.
const mostWarnings = 10

// FirstWarnings are the first warnings about files, each once, and how many there are more.
func FirstWarnings(all []lang.Sentence) (first []lang.Sentence) {
	seen := map[string]bool{}
	for _, w := range all {
		text := w.String()
		if !seen[text] && len(seen) < mostWarnings {
			first = append(first, w)
		}
		seen[text] = true
	}
	if more := len(seen) - len(first); more > 0 {
		first = append(first, lang.Sayf("%d more warnings about files", "另有 %d 条关于文件的警告", more))
	}
	return first
}

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
		return nil, lang.Errorf("shape %v has too many elements", t.Shape)
	}
	if need, ok := t.DType.Bytes(n); !ok || need > t.Size {
		return nil, lang.Errorf("%v elements of %s need %d bytes, found %d", t.Shape, t.DType, need, t.Size)
	}
	return t.Shape, nil
}

// Verify compares what the tensor was read from with its checksum, where it has one, for those
// who have used all of its elements and may have left out padding.
func (t *Tensor) Verify() error { return guard.Do(func() error { return format.Verify(t.Data) }) }

// Elements reads the stored elements of a tensor by position, packed ones
// unpacked to a byte each. It is a layout.Source; it serves one goroutine.
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

// Stats returns the statistics of the stored elements of a shape, of which Stored
// has checked that the file holds them. The elements are read in blocks into buf,
// which grows. The error may be a *tensor.UnsupportedType.
func (t *Tensor) Stats(ctx context.Context, shape tensor.Shape, buf *[]byte) (*tensor.Stats, error) {
	return t.stats(ctx, shape, buf, tensor.NewAccumulator)
}

// StatsAndNorm is Stats with the norm too, which takes longer.
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

// ReadElements fills dst with the elements from first on. What panics in a reader of
// a format is an error here, whatever reads the elements.
func (e *Elements) ReadElements(dst []byte, first int64) error {
	return guard.Do(func() error { return e.readElements(dst, first) })
}

func (e *Elements) readElements(dst []byte, first int64) error {
	if !e.t.DType.Packed() {
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

// read fills dst with stored bytes, or says where the file ends.
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

// named makes the read function of a container that names its tensors.
func named(open func(r io.ReaderAt, size int64) (*format.Contents, error)) func(*File, *source) error {
	return func(f *File, src *source) error {
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
	named := Tensor{Tensor: t.Tensor, Kind: tensor.Output, Name: t.Name, Path: t.Path, Operator: t.Operator, Details: &t.Details, Origin: t.Origin, Warnings: t.Warnings, Err: t.Err}
	if t.Operator != nil {
		named.Kind, named.Index = t.Operator.Kind, t.Operator.Index
	}
	return named
}

// IsUnnamed reports whether the file holds one tensor that it does not name, so that
// the name of the file is all that there is.
func (f *File) IsUnnamed() bool {
	return !f.Named || len(f.Tensors) == 1 && f.Tensors[0].Name == ""
}

// IsNamed reports whether the first bytes of the file at path are those of a file that
// names its tensors, whatever its own name is: PyTorch's weights are called .bin too.
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
	src, named := &source{file: file, size: file.Size(), name: store.Base(path)}, false
	err = guard.Do(func() error {
		named = slices.ContainsFunc(containers, func(c *Container) bool { return c.Named && c.is(head, src) })
		return nil
	})
	return err == nil && named
}
