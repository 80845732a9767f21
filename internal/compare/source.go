package compare

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"dumptool/internal/compare/engine"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// place is where a tensor is.
type place struct {
	path  string
	name  string // the name that the file goes by
	kind  tensorfile.Kind
	index int
	// raw is set for files that hold elements and nothing else.
	raw bool
	// single is set when the file has no other tensor.
	single bool
}

// String names the tensor in reports: the file, and the tensor where the file
// has several.
func (p *place) String() string {
	if p == nil {
		return ""
	}
	path := filepath.ToSlash(p.path)
	if p.single {
		return path
	}
	return fmt.Sprintf("%s:%s:%d", path, p.kind, p.index)
}

// opened is a tensor whose file is open.
type opened struct {
	file *tensorfile.File
	t    *tensorfile.Tensor
	// shape is that of the stored elements.
	shape tensor.Shape
}

func (o *opened) Close() error { return o.file.Close() }

// told reports whether the name of a raw file tells its element type.
func (p *place) told() bool {
	info, _ := tensorfile.ParseRawName(p.name)
	return info.DType != tensor.Undefined || strings.EqualFold(filepath.Ext(p.name), ".txt")
}

// open opens the file of a tensor. hint says what a raw file holds where its
// name does not.
func (p *place) open(version int, hint tensorfile.RawHint) (*opened, error) {
	o, err := p.openFile(version, hint)
	if err != nil {
		return nil, err
	}
	if o.shape, err = o.t.Stored(); err != nil {
		_ = o.Close() // only read
		return nil, err
	}
	return o, nil
}

// openBytes is open for a tensor of which only the bytes are of interest: its
// elements may be of a type without elements of a fixed size.
func (p *place) openBytes(version int, hint tensorfile.RawHint) (*opened, error) {
	o, err := p.openFile(version, hint)
	if err != nil {
		return nil, err
	}
	var unsupported *tensor.UnsupportedType
	if o.shape, err = o.t.Stored(); errors.As(err, &unsupported) {
		o.shape, err = o.t.Shape, nil
	}
	if err != nil {
		_ = o.Close() // only read
		return nil, err
	}
	return o, nil
}

// openFile finds the tensor in its file; its shape is not known yet.
func (p *place) openFile(version int, hint tensorfile.RawHint) (*opened, error) {
	var f *tensorfile.File
	var err error
	if p.raw {
		f, err = tensorfile.OpenRaw(p.path, p.name, hint)
	} else {
		f, err = tensorfile.Open(p.path, dumpfmt.Options{Version: version})
	}
	if err != nil {
		return nil, err
	}
	o := &opened{file: f}
	if o.t, err = p.find(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return o, nil
}

// find returns the tensor in its open file.
func (p *place) find(f *tensorfile.File) (*tensorfile.Tensor, error) {
	if p.single && len(f.Tensors) == 1 {
		return &f.Tensors[0], nil
	}
	for i := range f.Tensors {
		if t := &f.Tensors[i]; t.Kind == p.kind && t.Index == p.index {
			return t, nil
		}
	}
	return nil, fmt.Errorf("the file has no %s %d any more", p.kind, p.index)
}

// dtypeFlags are the flags that tell the types of raw files, of the reference
// and of the NPU.
var dtypeFlags = [...]string{"--ref-dtype", "--bin-dtype"}

// rawTypes are the types that raw files usually have.
var rawTypes = []tensor.DType{tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64,
	tensor.Int8, tensor.Uint8, tensor.Int16, tensor.Int32, tensor.Int64}

// withTypes adds to the error of a raw file whose type was taken from the other
// side the types by which it has the right size.
func withTypes(v *view, flag string, err error) error {
	n, ok := v.hint.Shape.Count()
	if !v.place.raw || v.place.told() || v.hint.Shape == nil || !ok {
		return err
	}
	info, statError := os.Stat(v.place.path)
	if need, ok := v.hint.DType.Bytes(n); statError != nil || ok && need == info.Size() {
		return err
	}
	var fit []string
	for _, d := range rawTypes {
		if need, ok := d.Bytes(n); ok && need == info.Size() {
			fit = append(fit, d.String())
		}
	}
	if len(fit) == 0 {
		return err
	}
	return fmt.Errorf("%w, the size of %s (%s)", err, strings.Join(fit, " or "), flag)
}

// view is how the elements of a tensor are read: through a plan, or as they are
// stored.
type view struct {
	place *place
	hint  tensorfile.RawHint
	dtype tensor.DType
	shape tensor.Shape
	plan  *layout.Plan // nil for the stored elements
	// then changes the axes of the plan's result, nil for no change.
	then *layout.Plan
}

// reader returns the elements of the view from an open file.
func (v *view) reader(o *opened, buffers [2]*layout.Buffers) (engine.Reader, error) {
	var src layout.Source = o.t.Elements()
	for i, plan := range []*layout.Plan{v.plan, v.then} {
		if plan == nil || plan.Copies() {
			continue
		}
		r, err := plan.Reader(src, v.dtype.UnitSize(), buffers[i])
		if err != nil {
			return nil, err
		}
		src = r
	}
	return src, nil
}

// opener opens pairs, and keeps the memory of conversions for the next pair.
type opener struct {
	version int
	buffers sync.Pool // of *[4]layout.Buffers: two for each side
}

// readers are both sides of a pair, open for one goroutine.
type readers struct {
	ref, npu engine.Reader
	files    []*opened
	opener   *opener
	buffers  *[4]layout.Buffers
}

// expect says which elements will be read, in order.
func (r *readers) expect(first, end int64) {
	for _, side := range []engine.Reader{r.ref, r.npu} {
		if converted, ok := side.(*layout.Reader); ok {
			converted.Expect(first, end)
		}
	}
}

// Close closes the files; the readers must not be used any more.
func (r *readers) Close() {
	for _, f := range r.files {
		_ = f.Close() // only read
	}
	r.opener.buffers.Put(r.buffers)
}

// open opens both sides of a pair.
func (o *opener) open(s *settled) (*readers, error) {
	r := &readers{opener: o}
	if kept, ok := o.buffers.Get().(*[4]layout.Buffers); ok {
		r.buffers = kept
	} else {
		r.buffers = new([4]layout.Buffers)
	}
	for i, side := range []struct {
		name string
		view *view
		to   *engine.Reader
	}{{"reference", &s.ref, &r.ref}, {"NPU", &s.npu, &r.npu}} {
		file, err := side.view.place.open(o.version, side.view.hint)
		if err == nil {
			r.files = append(r.files, file)
			*side.to, err = side.view.reader(file, [2]*layout.Buffers{&r.buffers[2*i], &r.buffers[2*i+1]})
		}
		if err != nil {
			r.Close()
			return nil, &sideError{side.name, side.view.place.path, err}
		}
	}
	return r, nil
}
