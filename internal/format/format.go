// Package format is what readers of files that name their tensors return: .pt,
// .npz, .safetensors and HDF5. The readers are the packages below it.
package format

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

// Contents is what a file holds.
type Contents struct {
	// Tensors are in the order of the file, those that cannot be used among them.
	Tensors []Tensor
	// Values are what the file holds besides tensors, such as the number of an
	// epoch.
	Values []Value
	// Warnings are oddities of the file that take nothing away from the tensors.
	Warnings []lang.Sentence
}

// Tensor is a tensor with the name that the file gives it. Its Format is ND, its
// Data the elements as little-endian bytes in C order of Shape, however the file
// stores them; Data may be read by several goroutines.
type Tensor struct {
	tensor.Tensor
	// Path are the components of the name, from the outside in: the keys of nested
	// dicts, groups of HDF5. They come from the file and may hold anything. Empty
	// for the only tensor of a file that does not name it.
	Path []string
	// Name is the path as messages have it.
	Name string
	// Operator is what the tensor belongs to, nil where the file does not say.
	Operator *Operator
	// Origin is the element type that the tensor had before it was stored in
	// another one; Undefined if that is not known or the same.
	Origin tensor.DType
	Details
	// Warnings are oddities that take nothing away from the tensor.
	Warnings []lang.Sentence
	// Err says why the tensor cannot be used.
	Err error
}

// Operator is an execution of an operator, and what a tensor is to it.
type Operator struct {
	Name string
	// Seq is the number of the execution among those of all operators, Round its
	// number among those of this one, from 0.
	Seq   int64
	Round int
	Kind  tensor.Kind
	// Index is the number of the tensor among those of its kind.
	Index int
}

// Details are what a file says about a tensor besides its elements, for those who
// look into it. Nothing is decided by them.
type Details struct {
	// TorchDType is the type as PyTorch names it, such as Half; empty where the file
	// does not say.
	TorchDType string
	// Strides and Offset count elements of the storage that the tensor is a part of;
	// nil where the file has none.
	Strides []int64
	Offset  *int64
	// RequiresGrad is nil where the file does not say.
	RequiresGrad *bool
	// Device is where the tensor was when it was saved, such as npu:0.
	Device string
	// Quant says how stored integers stand for numbers, nil for those that do not.
	Quant *Quant
	// Attrs are what else is noted, in the order of the file.
	Attrs Attrs
}

// Quant is a quantisation: number = Scale * (stored - ZeroPoint).
type Quant struct {
	// Scale and ZeroPoint are those of the formula number = Scale * (stored - ZeroPoint).
	Scale     tensor.Number `json:"scale"`
	ZeroPoint int64         `json:"zero_point"`
}

// Attr is a name with a value: bool, int64, uint64, float64, string, or a list of
// one of them.
type Attr struct {
	Name  string
	Value any
}

// Attrs are attributes, in documents the members of an object.
type Attrs []Attr

// MarshalJSON implements json.Marshaler.
func (a Attrs) MarshalJSON() ([]byte, error) {
	b := []byte("{")
	for i, attr := range a {
		name, err := json.Marshal(attr.Name)
		if err != nil {
			return nil, err
		}
		value := attr.Value
		switch v := value.(type) {
		case float64:
			value = tensor.Number(v)
		case []float64:
			all := make([]tensor.Number, len(v))
			for i, x := range v {
				all[i] = tensor.Number(x)
			}
			value = all
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), text...)
	}
	return append(b, '}'), nil
}

// Value is something in a file that is no tensor.
type Value struct {
	// Name is the name in the file.
	Name string `json:"name"`
	// Type is what the file calls it, such as int.
	Type string `json:"type"`
	// Text is the value, shortened where it is long.
	Text string `json:"value"`
}

// checked is data that has to fit a checksum.
type checked struct {
	*io.SectionReader
	left   atomic.Int64 // bytes that have not been read
	verify func() error
}

// Checked is data whose checksum verify compares. As soon as need bytes of it have been read
// it does: the last read and all others fail when the checksum does not fit.
func Checked(data *io.SectionReader, need int64, verify func() error) *io.SectionReader {
	c := &checked{SectionReader: data, verify: verify}
	c.left.Store(need)
	return io.NewSectionReader(c, 0, data.Size())
}

// ReadAt implements io.ReaderAt.
func (c *checked) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.SectionReader.ReadAt(p, off)
	if c.left.Add(-int64(n)) <= 0 {
		if failed := c.verify(); failed != nil {
			return 0, failed
		}
	}
	return n, err
}

// Outer is the data itself, where it is checked.
func (c *checked) Outer() (r io.ReaderAt, off, n int64) { return c.SectionReader, 0, c.Size() }

// Verify compares data with its checksums, for those who have used all of it without reading
// all: padding between elements counts too.
func Verify(data *io.SectionReader) error {
	if data == nil {
		return nil
	}
	outer, _, _ := data.Outer()
	if c, ok := outer.(*checked); ok {
		if err := c.verify(); err != nil {
			return err
		}
		return Verify(c.SectionReader)
	}
	return nil
}

// View says where the elements of a tensor are among stored ones. The caller has
// checked that they are there: element [i...] is number Offset + sum(i*Strides).
type View struct {
	// Stored are the stored elements.
	Stored io.ReaderAt
	// DType is of a whole number of bytes.
	DType tensor.DType
	// BigEndian is set when they are stored most significant byte first.
	BigEndian bool
	Shape     tensor.Shape
	// Strides count elements, from 0 on, an axis each.
	Strides []int64
	// Offset is the element that the first one of the tensor is.
	Offset int64
	// Negate and Conjugate are what is done to the elements: float or complex ones,
	// or complex ones.
	Negate, Conjugate bool
}

// Dense reports whether the elements are stored one after another in C order.
func (v *View) Dense() bool {
	if v.Shape.Elements() == 0 {
		return true
	}
	next := int64(1)
	for i := len(v.Shape) - 1; i >= 0; i-- {
		n := v.Shape[i]
		if n > 1 && v.Strides[i] != next {
			return false
		}
		next *= n
	}
	return true
}

// Section returns the stored bytes if they are those of Data, so that they can be
// copied as they are; ok is false when they are not. Its Outer is the file itself
// where Stored is a section of it.
func (v *View) Section() (data *io.SectionReader, ok bool) {
	if !v.Dense() || v.word() > 1 || v.Negate || v.Conjugate {
		return nil, false
	}
	file, off := v.Stored, v.Offset*v.unit()
	for {
		s, ok := file.(*io.SectionReader)
		if !ok {
			return io.NewSectionReader(file, off, v.size()), true
		}
		outer, base, _ := s.Outer()
		file, off = outer, off+base
	}
}

// Data returns the elements as little-endian bytes in C order. What is stored so is
// read directly. Other elements are gathered, for which the reader keeps at most
// some 5 MiB until it has read the last one, and should be read from front to back.
// It may be used by several goroutines through its ReadAt.
func (v View) Data() *io.SectionReader {
	if data, ok := v.Section(); ok {
		return data
	}
	r := &byteReader{open: v.source, unit: v.unit(), size: v.size()}
	return io.NewSectionReader(r, 0, r.size)
}

func (v *View) unit() int64 { return int64(v.DType.UnitSize()) }
func (v *View) size() int64 { return v.Shape.Elements() * v.unit() }

// word is the size of the words whose bytes are to be swapped, 1 for none: a
// complex element is two of them.
func (v *View) word() int {
	switch {
	case !v.BigEndian:
		return 1
	case v.complex():
		return v.DType.UnitSize() / 2
	}
	return v.DType.UnitSize()
}

func (v *View) complex() bool { return v.DType.Host().Complex() }

// source returns a reader of the elements in C order.
func (v *View) source() (layout.Source, error) {
	src := &elements{r: v.Stored, first: v.Offset, unit: v.unit(), word: v.word(), flip: v.signs()}
	if v.Dense() {
		return src, nil
	}
	// The stride of an axis of one position may be anything.
	strides := slices.Clone(v.Strides)
	for i, n := range v.Shape {
		if n == 1 {
			strides[i] = 0
		}
	}
	plan, err := layout.Strided(v.Shape, strides)
	if err != nil {
		return nil, err
	}
	return plan.Reader(src, int(v.unit()), new(layout.Buffers))
}

// signs returns the bits that negating and conjugating flips in 16 bytes of
// elements, nil for none.
func (v *View) signs() *[2]uint64 {
	if !v.Negate && !v.Conjugate {
		return nil
	}
	var b [16]byte
	size, part := len(b), int(v.unit())
	if v.complex() {
		part /= 2
	}
	for at, imaginary := part-1, false; at < size; at += part {
		if v.Negate != (v.Conjugate && imaginary) {
			b[at] = 0x80
		}
		imaginary = v.complex() && !imaginary
	}
	return &[2]uint64{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])}
}

// elements reads the stored elements as little-endian ones, in the order in which
// they are stored.
type elements struct {
	r     io.ReaderAt
	first int64      // the element that comes first
	unit  int64      // bytes of an element
	word  int        // bytes of the words to swap in it
	flip  *[2]uint64 // bits to flip in 16 bytes of elements, nil for none
}

// ReadElements implements layout.Source.
func (e *elements) ReadElements(dst []byte, first int64) error {
	if err := ReadFull(e.r, dst, (e.first+first)*e.unit); err != nil {
		return err
	}
	swap(dst, e.word)
	if e.flip != nil {
		flip(dst, *e.flip)
	}
	return nil
}

// ReadFull fills p from offset off. Data that ends early is io.ErrUnexpectedEOF.
func ReadFull(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	switch {
	case n == len(p):
		return nil
	case err == nil || err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}

// swap reverses the bytes of every word in b.
func swap(b []byte, word int) {
	order := binary.LittleEndian
	switch word {
	case 2:
		for ; len(b) >= 2; b = b[2:] {
			order.PutUint16(b, bits.ReverseBytes16(order.Uint16(b)))
		}
	case 4:
		for ; len(b) >= 4; b = b[4:] {
			order.PutUint32(b, bits.ReverseBytes32(order.Uint32(b)))
		}
	case 8:
		for ; len(b) >= 8; b = b[8:] {
			order.PutUint64(b, bits.ReverseBytes64(order.Uint64(b)))
		}
	}
}

// flip flips the same bits in every 16 bytes of b.
func flip(b []byte, signs [2]uint64) {
	order := binary.LittleEndian
	for ; len(b) >= 16; b = b[16:] {
		order.PutUint64(b, order.Uint64(b)^signs[0])
		order.PutUint64(b[8:], order.Uint64(b[8:])^signs[1])
	}
	for i := range b {
		b[i] ^= byte(signs[i/8] >> (i % 8 * 8))
	}
}

// byteReader reads any bytes of elements that can only be read whole.
type byteReader struct {
	open       func() (layout.Source, error)
	unit, size int64

	mu  sync.Mutex
	src layout.Source // nil until it is needed, and after its last element
}

// ReadAt reads whole elements into p, and goes through a buffer where p begins
// or ends within one.
func (r *byteReader) ReadAt(p []byte, off int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at >= r.size {
			return n, io.EOF
		}
		first, within := at/r.unit, at%r.unit
		if whole := min(int64(len(p)-n), r.size-at) / r.unit * r.unit; within == 0 && whole > 0 {
			if err := r.read(p[n:n+int(whole)], first); err != nil {
				return n, err
			}
			n += int(whole)
			continue
		}
		var buf [16]byte // of the largest element
		element := buf[:r.unit]
		if err := r.read(element, first); err != nil {
			return n, err
		}
		n += copy(p[n:], element[within:])
	}
	return n, nil
}

func (r *byteReader) read(dst []byte, first int64) error {
	if r.src == nil {
		var err error
		if r.src, err = r.open(); err != nil {
			return err
		}
	}
	err := r.src.ReadElements(dst, first)
	if first*r.unit+int64(len(dst)) == r.size {
		r.src = nil
	}
	return err
}
