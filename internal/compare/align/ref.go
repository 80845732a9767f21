package align

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Ref says where a tensor is.
type Ref struct {
	Path  string
	Name  string // the name that the file goes by
	Kind  tensor.Kind
	Index int
	// Member is the name of the tensor in a file that names its tensors, Files the
	// pool that opens it.
	Member string
	Files  *tensorfile.Pool
	// Raw is set for files that hold elements and nothing else.
	Raw bool
	// Single is set when the file has no other tensor.
	Single bool
	// Joined is what a reference of several ranks has for it, nil for a tensor of one file.
	Joined *Joined
}

// Joined is a tensor that several ranks have pieces of.
type Joined struct {
	Shape  tensor.Shape
	Pieces []Piece
}

// Piece is where a piece is, and where it lies in the joined tensor.
type Piece struct {
	*Ref
	From []int64
}

// String names the tensor in reports: the file, and the tensor where the file
// has several.
func (r *Ref) String() string {
	if r == nil {
		return ""
	}
	path := filepath.ToSlash(r.Path)
	switch {
	case r.Member != "":
		return path + ":" + r.Member
	case r.Single:
		return path
	}
	return fmt.Sprintf("%s:%s:%d", path, r.Kind, r.Index)
}

// hasType reports whether the name of a raw file has its element type.
func (r *Ref) hasType() bool {
	info := filename.Parse(r.Name)
	return info.DType != tensor.Undefined || strings.EqualFold(filepath.Ext(r.Name), ".txt")
}

// Tensor is a tensor whose file is open.
type Tensor struct {
	*tensorfile.Tensor
	// Stored is the shape of the stored elements.
	Stored tensor.Shape
	file   *tensorfile.File
	// pieces are those of a joined tensor, the first of them this one; nil for others.
	pieces []*Tensor
	joined *Joined
	// hasFormat is set when the user says what the format is.
	hasFormat bool
}

// Close closes the file, or those of all pieces.
func (t *Tensor) Close() {
	_ = t.file.Close() // only read
	for _, p := range t.pieces {
		p.Close()
	}
}

// warnings are what is odd about the file of a tensor, or about those of its pieces.
func (t *Tensor) warnings(of *Ref) (all []lang.Sentence) {
	for i, p := range t.pieces {
		all = append(all, p.warnings(t.joined.Pieces[i].Ref)...)
	}
	if t.joined != nil {
		return all
	}
	for _, w := range t.file.Warnings {
		all = append(all, lang.Sayf("%s: %s", "%s：%s", filepath.ToSlash(of.Path), w))
	}
	for _, w := range t.Tensor.Warnings {
		all = append(all, lang.Sayf("%s: %s", "%s：%s", of, w))
	}
	return all
}

// File is the tensor of the file, nil for one that is joined of several.
func (v *View) File() *tensorfile.Tensor {
	if v.tensor.joined != nil {
		return nil
	}
	return v.tensor.Tensor
}

// source reads the stored elements.
func (t *Tensor) source() (layout.Source, error) {
	if t.joined == nil {
		return t.Elements(), nil
	}
	pieces := make([]layout.Piece, len(t.pieces))
	for i, p := range t.pieces {
		pieces[i] = layout.Piece{Source: p.Elements(), Shape: p.Stored, From: t.joined.Pieces[i].From}
	}
	return layout.Join(t.Stored, t.DType.UnitSize(), pieces)
}

// join opens the pieces of a joined tensor, of which t is the file of the first.
func (t *Tensor) join(of *Joined, version int, hint tensorfile.RawHint, whole bool) error {
	t.joined = of
	for _, p := range of.Pieces {
		one, err := p.openElements(version, hint, whole)
		if err != nil {
			return safefile.WithPath(p.Path, err)
		}
		t.pieces = append(t.pieces, one)
		if one.DType != t.DType || !layout.IsHost(one.Format) {
			return lang.Errorf("%s: %s in %s, a piece of a tensor of %s in host order", p.Path, one.DType, one.Format, t.DType)
		}
	}
	joined := *t.Tensor
	joined.Shape = of.Shape
	t.Tensor, t.Stored = &joined, of.Shape
	return nil
}

// fromDump reports whether the file says which order of axes the tensor has.
func (t *Tensor) fromDump() bool { return t.file.Op != nil }

// sureOrder reports whether the order of the axes is known: a dump or the user
// says it. The name of an array in host order says it, too, but not always right.
func (t *Tensor) sureOrder() bool { return t.fromDump() || t.hasFormat }

// Open opens the file of a tensor and finds the tensor in it. hint says what a
// raw file holds where its name does not. The shape of the stored elements is
// not set.
func (r *Ref) Open(version int, hint tensorfile.RawHint) (*Tensor, error) {
	return r.open(tensorfile.Options{Name: r.Name, Version: version, Raw: &hint})
}

func (r *Ref) open(opt tensorfile.Options) (*Tensor, error) {
	f, err := r.Files.Open(r.Path, r.Member, opt)
	if err != nil {
		return nil, err
	}
	t := &Tensor{file: f}
	if t.Tensor, err = r.find(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return t, nil
}

// OpenBytes is Open for a tensor of which only the bytes are of interest: its
// elements may be of a type without elements of a fixed size.
func (r *Ref) OpenBytes(version int) (*Tensor, error) {
	t, err := r.Open(version, tensorfile.RawHint{DType: tensor.Uint8})
	if err != nil {
		return nil, err
	}
	var unsupported *tensor.UnsupportedType
	if t.Stored, err = t.Tensor.Stored(); errors.As(err, &unsupported) {
		t.Stored, err = t.Shape, nil
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// openElements is Open for a tensor whose elements are wanted, with whole all of them.
func (r *Ref) openElements(version int, hint tensorfile.RawHint, whole bool) (*Tensor, error) {
	t, err := r.open(tensorfile.Options{Name: r.Name, Version: version, Raw: &hint, Whole: whole && r.Member == ""})
	if err != nil {
		return nil, err
	}
	if t.Stored, err = t.Tensor.Stored(); err == nil && r.Joined != nil {
		err = t.join(r.Joined, version, hint, whole)
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// find returns the tensor in its open file.
func (r *Ref) find(f *tensorfile.File) (*tensorfile.Tensor, error) {
	if (r.Single || r.Member != "") && len(f.Tensors) == 1 {
		return &f.Tensors[0], nil
	}
	return f.Find(r.Kind, r.Index)
}

// SideError is an error of one side of a pair.
type SideError struct {
	Side string // "reference" or "NPU"
	Err  error
}

// Error names the side.
func (e *SideError) Error() string { return e.Text().EN }

// Text is the error in both languages.
func (e *SideError) Text() lang.Text { return lang.Say("%s: %v", lang.Say(e.Side), e.Err).Text() }

// Unwrap returns the error of the side.
func (e *SideError) Unwrap() error { return e.Err }

// dtypeFlags are the flags with the types of raw files, of the reference and of
// the NPU.
var dtypeFlags = [...]string{"--ref-dtype", "--bin-dtype"}

// rawTypes are the types that raw files usually have.
var rawTypes = []tensor.DType{tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64,
	tensor.Int8, tensor.Uint8, tensor.Int16, tensor.Int32, tensor.Int64}

// hintOf is what a tensor says about the raw file that it is compared with: a
// device layout says its original shape only.
func hintOf(t *Tensor) tensorfile.RawHint {
	if layout.IsHost(t.Format) {
		return tensorfile.RawHint{DType: t.DType, Shape: t.Stored}
	}
	hint := tensorfile.RawHint{DType: t.DType}
	if len(t.OriginalShape) > 0 {
		hint.Shape, hint.Format = t.OriginalShape, t.OriginalFormat
	}
	return hint
}

// withTypes adds to the error of a raw file whose type was taken from the other
// side the types by which it has the right size.
func withTypes(r *Ref, hint tensorfile.RawHint, flag string, err error) error {
	n, ok := hint.Shape.Count()
	if !r.Raw || r.hasType() || hint.Shape == nil || !ok {
		return err
	}
	info, statError := store.Stat(r.Path)
	if need, ok := hint.DType.Bytes(n); statError != nil || ok && need == info.Size() {
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
	return lang.Errorf("%w, the size of %s (%s)", err, strings.Join(fit, " or "), flag)
}
