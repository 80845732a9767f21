package trace

import (
	"cmp"
	"errors"
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Window is the number of elements of every member that are compared at a time.
const Window = 1 << 18

// Values has the elements of an open tensor.
type Values struct {
	// DType is the type in which the elements are stored.
	DType tensor.DType

	shape   tensor.Shape
	source  layout.Source
	decoder tensor.Decoder
	close   func() error
}

// NewValues makes Values that read elements of a type from a source.
func NewValues(source layout.Source, d tensor.DType, shape tensor.Shape, closer func() error) (*Values, error) {
	decoder, err := tensor.NewDecoder(d)
	if err != nil {
		return nil, err
	}
	return &Values{DType: d, shape: shape, source: source, decoder: decoder, close: closer}, nil
}

// load returns n host elements of a tensor from first on, valid until the next call.
func (f *Files) load(v *Values, first, n int64) ([]byte, error) {
	f.stored = Resize(f.stored, n*int64(v.decoder.UnitSize()))
	if err := v.source.ReadElements(f.stored, first); err != nil {
		return nil, err
	}
	if v.decoder.Identity() {
		return f.stored, nil
	}
	f.host = Resize(f.host, n*int64(v.decoder.Host().Size()))
	v.decoder.Decode(f.host, f.stored)
	return f.host, nil
}

// maxOpen limits the open files.
const maxOpen = 64

// Files caches recently used tensors as open files. It serves one goroutine.
type Files struct {
	pool *tensorfile.Pool
	open []*openFile // the last one was used last
	// Version is the version of the dump container, 0 for the version in the file.
	Version int

	stored, host     []byte // buffers for elements
	bufferA, bufferB []byte // buffers for compared elements
}

type openFile struct {
	tensor *Tensor
	values *Values
}

// Close closes all files.
func (f *Files) Close() {
	for _, o := range f.open {
		_ = o.values.close() // only read
	}
	f.open = nil
}

// values opens a tensor.
func (f *Files) values(t *Tensor) (*Values, error) {
	if t.Data != nil {
		return t.Data, nil
	}
	if i := slices.IndexFunc(f.open, func(o *openFile) bool { return o.tensor == t }); i >= 0 {
		o := f.open[i]
		f.open = append(slices.Delete(f.open, i, i+1), o)
		return o.values, nil
	}
	if t.File == nil {
		return nil, lang.Errorf("%s: only its digest was dumped", t.Name)
	}
	v, err := f.openTensor(t)
	if err != nil {
		return nil, err
	}
	if n, found := t.Elements(), v.shape.Elements(); found != n {
		_ = v.close()
		return nil, &ReadError{t, lang.Errorf("found %d elements, want the %d of shape %v", found, n, t.Shape)}
	}
	if len(f.open) == maxOpen {
		_ = f.open[0].values.close()
		f.open = slices.Delete(f.open, 0, 1)
	}
	f.open = append(f.open, &openFile{t, v})
	return v, nil
}

// StoredType returns the type in which the elements of a tensor are stored.
func (f *Files) StoredType(t *Tensor) (tensor.DType, error) {
	v, err := f.values(t)
	if err != nil {
		return tensor.Undefined, err
	}
	return v.DType, nil
}

// openTensor opens a tensor of one file, or the pieces of a joined tensor.
func (f *Files) openTensor(t *Tensor) (*Values, error) {
	switch {
	case t.Data != nil:
		return t.Data, nil
	case t.Pieces != nil:
		return f.openJoined(t)
	}
	v, err := f.openFile(t.File)
	if err != nil {
		return nil, &ReadError{t, err}
	}
	return v, nil
}

// DescribeAll reads the types and shapes of all tensors whose description is only in their files. Tensors that cannot
// be opened have no elements afterwards.
func (f *Files) DescribeAll(steps []*Step) (errs []error) {
	for _, s := range steps {
		for c := range s.AllCalls() {
			for _, t := range slices.Concat(c.In, c.Params, c.Out) {
				if t.Shape != nil || t.File == nil || t.Data != nil {
					continue
				}
				if err := f.describe(t); err != nil {
					errs = append(errs, err)
				}
			}
		}
	}
	return errs
}

// describe reads the type and shape of a tensor from its file, if they are unknown. A tensor that cannot be opened
// has no elements afterwards; an element type without numbers is no error.
func (f *Files) describe(t *Tensor) error {
	v, err := f.openFile(t.File)
	if err != nil {
		of := *t
		t.File, t.Shape = nil, tensor.Shape{}
		var unsupported *tensor.UnsupportedType
		if errors.As(err, &unsupported) {
			return nil
		}
		return &ReadError{&of, err}
	}
	defer func() { _ = v.close() }() // only read
	t.Shape = v.shape
	if t.DType == tensor.Undefined {
		t.DType = v.DType
	}
	return nil
}

// ReadError says why a tensor cannot be read.
type ReadError struct {
	Tensor *Tensor
	Err    error
}

// Error names the file and the tensor.
func (e *ReadError) Error() string { return e.Text().String() }

// Text returns the error in both languages.
func (e *ReadError) Text() lang.Text {
	return lang.Say("%s: %s: %v", e.Path(), e.Tensor.Name, e.Err).Text()
}

// Path returns the file of the tensor, or its name if it has no file.
func (e *ReadError) Path() string {
	if e.Tensor.File == nil {
		return e.Tensor.Name
	}
	return e.Tensor.File.File.Path()
}

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// openFile opens the tensor of a file in host order. Layouts of the device are read unconverted: ranks have equal
// layouts.
func (f *Files) openFile(of *dumpdir.Tensor) (*Values, error) {
	if of.File.Err != nil {
		return nil, of.File.Err
	}
	if f.pool == nil {
		f.pool = new(tensorfile.Pool)
	}
	file, err := f.pool.Open(of.File.Path(), of.Member, tensorfile.Options{Name: of.File.Name, Version: f.Version})
	if err != nil {
		return nil, err
	}
	t, err := file.FindOrOnly(of.Kind, of.Index)
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	shape, err := t.StoredShape()
	var v *Values
	if err == nil {
		v, err = NewValues(t.Elements(), t.DType, shape, file.Close)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return v, nil
}

// eachBlock calls piece for successive blocks of n elements of the concatenated tensors, beginning at element first. piece
// gets the host elements, their type, and the number of elements in earlier blocks.
func (f *Files) eachBlock(joined []*Tensor, first, n int64, piece func(host []byte, h tensor.Host, done int64) error) error {
	var done int64
	for _, t := range joined {
		size := t.Elements()
		if first >= size {
			first -= size
			continue
		}
		for first < size && done < n {
			v, err := f.values(t)
			if err != nil {
				return err
			}
			some := min(Window, size-first, n-done)
			host, err := f.load(v, first, some)
			if err != nil {
				return &ReadError{t, err}
			}
			if err := piece(host, v.decoder.Host(), done); err != nil {
				return err
			}
			first, done = first+some, done+some
		}
		if done == n {
			return nil
		}
		first = 0
	}
	return nil
}

// Floats fills dst with the values of concatenated tensors from first on.
func (f *Files) Floats(dst []float64, joined []*Tensor, first int64) error {
	return f.eachBlock(joined, first, int64(len(dst)), func(host []byte, h tensor.Host, done int64) error {
		if h.Complex() {
			return &tensor.UnsupportedType{DType: h.DType()}
		}
		tensor.Float64s(dst[done:done+int64(len(host)/h.Size())], host, h)
		return nil
	})
}

// Windows calls f with the values of two tensors of the same shape, window by window, until it returns false.
func (f *Files) Windows(a, b *Tensor, piece func(x, y []float64, first bool) bool) error {
	n := a.Elements()
	x, y := make([]float64, min(n, Window)), make([]float64, min(n, Window))
	for from := int64(0); from < n; from += Window {
		x, y = x[:min(Window, n-from)], y[:min(Window, n-from)]
		if err := cmp.Or(f.Floats(x, []*Tensor{a}, from), f.Floats(y, []*Tensor{b}, from)); err != nil {
			return err
		}
		if !piece(x, y, from == 0) {
			break
		}
	}
	return nil
}

// Bytes returns the n host elements from first on of concatenated tensors, and their size in bytes; it reuses or
// grows dst.
func (f *Files) Bytes(dst []byte, joined []*Tensor, first, n int64) (all []byte, size int, err error) {
	all = dst[:0]
	err = f.eachBlock(joined, first, n, func(host []byte, h tensor.Host, _ int64) error {
		if size != 0 && size != h.Size() {
			return lang.Errorf("%s: elements of %d and of %d bytes", joined[0].Name, size, h.Size())
		}
		size = h.Size()
		all = append(all, host...)
		return nil
	})
	return all, size, err
}

// Piece is a tensor of one rank of the reference, and its position in the joined tensor.
type Piece struct {
	Of   *Tensor
	From []int64
}

// openJoined opens all pieces of a tensor.
func (f *Files) openJoined(t *Tensor) (*Values, error) {
	var open []*Values
	closer := func() (err error) {
		for _, v := range open {
			err = cmp.Or(err, v.close())
		}
		return err
	}
	pieces := make([]layout.Piece, len(t.Pieces))
	for i, p := range t.Pieces {
		v, err := f.openTensor(p.Of)
		if err == nil {
			open = append(open, v)
			if v.DType != open[0].DType {
				err = &ReadError{p.Of, lang.Errorf("elements of %s, but of %s on another rank", v.DType, open[0].DType)}
			}
		}
		if err != nil {
			_ = closer()
			return nil, err
		}
		pieces[i] = layout.Piece{Source: v.source, Shape: p.Of.Shape, From: p.From}
	}
	source, err := layout.Join(t.Shape, open[0].DType.UnitSize(), pieces)
	var v *Values
	if err == nil {
		v, err = NewValues(source, open[0].DType, t.Shape, closer)
	}
	if err != nil {
		_ = closer()
		return nil, &ReadError{t, err}
	}
	return v, nil
}

// Resize returns a slice of n elements, reusing s. The elements are undefined.
func Resize[T any](s []T, n int64) []T { return slices.Grow(s[:0], int(n))[:n] }
