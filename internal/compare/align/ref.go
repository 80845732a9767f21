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

// Ref locates a tensor.
type Ref struct {
	Path  string
	Name  string // of the file; it may differ from the end of Path
	Kind  tensor.Kind
	Index int
	// Member is the name of the tensor in a file with named tensors. Files is the pool that
	// opens the file.
	Member string
	Files  *tensorfile.Pool
	// Raw: the file has elements without a header.
	Raw bool
	// Single: the file has no other tensor.
	Single bool
	// Joined are the pieces on several ranks of a reference, nil for a tensor in one file.
	Joined *Joined
}

// Joined is a tensor in pieces on several ranks.
type Joined struct {
	Shape  tensor.Shape
	Pieces []Piece
}

// Piece is a piece of a joined tensor: its file, and its first position in the tensor.
type Piece struct {
	*Ref
	From []int64
}

// String names the tensor in reports: the file, and the tensor if the file has several.
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

// hasType reports whether the name of a raw file tells its element type.
func (r *Ref) hasType() bool {
	info := filename.Parse(r.Name)
	return info.DType != tensor.Undefined || strings.EqualFold(filepath.Ext(r.Name), ".txt")
}

// Tensor is a tensor in an open file.
type Tensor struct {
	*tensorfile.Tensor
	// Stored is the shape of the stored elements.
	Stored tensor.Shape
	file   *tensorfile.File
	// pieces are the open pieces of a joined tensor; nil for a tensor in one file.
	pieces []*Tensor
	joined *Joined
	// hasFormat: the user gave the format.
	hasFormat bool
}

// Close closes the file, and the files of all pieces.
func (t *Tensor) Close() {
	_ = t.file.Close() // opened for reading
	for _, p := range t.pieces {
		p.Close()
	}
}

// warnings returns the oddities of the file of a tensor, or of the files of its pieces.
func (t *Tensor) warnings(of *Ref) (all []lang.Sentence) {
	for i, p := range t.pieces {
		all = append(all, p.warnings(t.joined.Pieces[i].Ref)...)
	}
	if t.joined != nil {
		return all
	}
	for _, w := range t.file.Warnings {
		all = append(all, lang.Say("%s: %s", filepath.ToSlash(of.Path), w))
	}
	for _, w := range t.Tensor.Warnings {
		all = append(all, lang.Say("%s: %s", of, w))
	}
	return all
}

// File returns the tensor in its file, nil for a joined tensor.
func (v *View) File() *tensorfile.Tensor {
	if v.tensor.joined != nil {
		return nil
	}
	return v.tensor.Tensor
}

// elementReader returns a reader of the stored elements.
func (t *Tensor) elementReader() (layout.Source, error) {
	if t.joined == nil {
		return t.Elements(), nil
	}
	pieces := make([]layout.Piece, len(t.pieces))
	for i, p := range t.pieces {
		pieces[i] = layout.Piece{Source: p.Elements(), Shape: p.Stored, From: t.joined.Pieces[i].From}
	}
	return layout.Join(t.Stored, t.DType.UnitSize(), pieces)
}

// join opens the pieces of a joined tensor. t is the first piece.
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

// isFromDump reports whether the file is a dump, which names the order of axes.
func (t *Tensor) isFromDump() bool { return t.file.Op != nil }

// hasSureOrder reports whether the order of axes is known, from a dump or the user. The name of an
// array in host order may be wrong about it.
func (t *Tensor) hasSureOrder() bool { return t.isFromDump() || t.hasFormat }

// Open opens the file of a tensor and finds the tensor in it. hint has type and shape of a raw
// file, in case its name has none. Stored is not set.
func (r *Ref) Open(version int, hint tensorfile.RawHint) (*Tensor, error) {
	return r.open(tensorfile.Options{Name: r.Name, Version: version, Raw: &hint})
}

func (r *Ref) open(opt tensorfile.Options) (*Tensor, error) {
	f, err := r.Files.Open(r.Path, r.Member, opt)
	if err != nil {
		return nil, err
	}
	t := &Tensor{file: f}
	if t.Tensor, err = r.findTensor(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return t, nil
}

// OpenBytes is Open for a reader of bytes: the type may have no elements of a fixed size.
func (r *Ref) OpenBytes(version int) (*Tensor, error) {
	t, err := r.Open(version, tensorfile.RawHint{DType: tensor.Uint8})
	if err != nil {
		return nil, err
	}
	var unsupported *tensor.UnsupportedType
	if t.Stored, err = t.Tensor.StoredShape(); errors.As(err, &unsupported) {
		t.Stored, err = t.Shape, nil
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// openElements is Open for a reader of elements; with whole all elements will be read.
func (r *Ref) openElements(version int, hint tensorfile.RawHint, whole bool) (*Tensor, error) {
	t, err := r.open(tensorfile.Options{Name: r.Name, Version: version, Raw: &hint, Whole: whole && r.Member == ""})
	if err != nil {
		return nil, err
	}
	if t.Stored, err = t.Tensor.StoredShape(); err == nil && r.Joined != nil {
		err = t.join(r.Joined, version, hint, whole)
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// findTensor returns the tensor in its open file.
func (r *Ref) findTensor(f *tensorfile.File) (*tensorfile.Tensor, error) {
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
func (e *SideError) Error() string { return e.Text().String() }

// Text returns the error in both languages.
func (e *SideError) Text() lang.Text { return lang.Say("%s: %v", lang.Say(e.Side), e.Err).Text() }

// Unwrap returns the error of the side.
func (e *SideError) Unwrap() error { return e.Err }

// dtypeFlags are the flags for the types of raw files, of the reference and of the NPU.
var dtypeFlags = [...]string{"--ref-dtype", "--bin-dtype"}

// rawTypes are the types that raw files usually have.
var rawTypes = []tensor.DType{tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64,
	tensor.Int8, tensor.Uint8, tensor.Int16, tensor.Int32, tensor.Int64}

// hintOf returns the hint that a tensor gives about the raw file on the other side: type and shape, for a device
// layout the original shape.
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

// addFittingTypes adds the types that fit the size of a raw file to an error that arose with the type of the other side.
func addFittingTypes(r *Ref, hint tensorfile.RawHint, flag string, err error) error {
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
