// Package format defines the common result of the readers of files with named tensors: .pt, .npz,
// .safetensors and HDF5. The readers are the packages below it.
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

// Contents is the content of a file.
type Contents struct {
	// Tensors are in the order of the file, including unusable ones.
	Tensors []Tensor
	// Values are the contents of the file other than tensors, such as the number of an epoch.
	Values []Value
	// Warnings are oddities of the file that do not affect the tensors.
	Warnings []lang.Sentence
}

// Tensor is a tensor with its name in the file. Its Format is ND. Data are the elements as
// little-endian bytes in C order of Shape, whatever the form in the file; several goroutines may
// read Data.
type Tensor struct {
	tensor.Tensor
	// Path are the components of the name, from the outside in: keys of nested dicts, groups of
	// HDF5. They come from the file and may hold any bytes. Path is empty for a single tensor
	// without a name.
	Path []string
	// Name is the path as in messages.
	Name string
	// Operator is the operator of the tensor, nil if the file does not record it.
	Operator *Operator
	// Origin is the element type before the tensor was stored in another type; Undefined if unknown
	// or equal.
	Origin tensor.DType
	Details
	// Warnings are oddities that do not affect the elements.
	Warnings []lang.Sentence
	// Err is the reason why the tensor cannot be used.
	Err error
}

// Operator is an execution of an operator, with the role of a tensor in it.
type Operator struct {
	Name string
	// Seq is the number of the execution among all operators, Round its number among the executions
	// of this operator, from 0.
	Seq   int64
	Round int
	Kind  tensor.Kind
	// Index is the number of the tensor among the tensors of its kind.
	Index int
}

// Details are further facts of a file about a tensor, for display only, as in documents.
type Details struct {
	// TorchDType is PyTorch's name of the type, such as Half; empty if the file does not record it.
	TorchDType string `json:"torch_dtype,omitempty"`
	// Strides and Offset count elements of the storage that the tensor is a view of; nil if the
	// file has none.
	Strides []int64 `json:"strides,omitzero"`
	Offset  *int64  `json:"offset,omitempty"`
	// RequiresGrad is nil if the file does not record it.
	RequiresGrad *bool `json:"requires_grad,omitempty"`
	// Device is the device of the tensor when it was saved, such as npu:0.
	Device string `json:"device,omitempty"`
	// Quant is the quantisation of stored integers, nil for none.
	Quant *Quant `json:"quant,omitempty"`
	// Attrs are further attributes, in the order of the file.
	Attrs Attrs `json:"attrs,omitempty"`
}

// Quant is a quantisation: number = Scale * (stored - ZeroPoint).
type Quant struct {
	// Scale and ZeroPoint: number = Scale * (stored - ZeroPoint).
	Scale     tensor.Number `json:"scale"`
	ZeroPoint int64         `json:"zero_point"`
}

// Attr is a name with a value: bool, int64, uint64, float64, string, or a list of one of these
// types.
type Attr struct {
	Name  string
	Value any
}

// Attrs are attributes; in JSON they are an object.
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

// Value is a value in a file that is not a tensor.
type Value struct {
	// Name is the name in the file.
	Name string `json:"name"`
	// Type is the type in the words of the file, such as int.
	Type string `json:"type"`
	// Text is the value, shortened if it is long.
	Text string `json:"value"`
}

// NotRead is the Text of values that are listed without reading them.
const NotRead = "(not read)"

// checkedReader is data with a checksum.
type checkedReader struct {
	*io.SectionReader
	left   atomic.Int64 // bytes that are still unread
	verify func() error
}

// NewCheckedReader returns data with a checksum: verify compares it once need bytes have been read. If it
// differs, that read and all later reads fail.
func NewCheckedReader(data *io.SectionReader, need int64, verify func() error) *io.SectionReader {
	c := &checkedReader{SectionReader: data, verify: verify}
	c.left.Store(need)
	return io.NewSectionReader(c, 0, data.Size())
}

// ReadAt implements io.ReaderAt.
func (c *checkedReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.SectionReader.ReadAt(p, off)
	if c.left.Add(-int64(n)) <= 0 {
		if failed := c.verify(); failed != nil {
			return 0, failed
		}
	}
	return n, err
}

// Outer returns the data without the check.
func (c *checkedReader) Outer() (r io.ReaderAt, off, n int64) { return c.SectionReader, 0, c.Size() }

// Verify compares data with its checksums. It is for callers that have read all elements and
// skipped the padding between them.
func Verify(data *io.SectionReader) error {
	if data == nil {
		return nil
	}
	outer, _, _ := data.Outer()
	if c, ok := outer.(*checkedReader); ok {
		if err := c.verify(); err != nil {
			return err
		}
		return Verify(c.SectionReader)
	}
	return nil
}

// View describes a tensor as a view of stored elements. The caller has checked the bounds: element
// [i...] is number Offset + sum(i*Strides).
type View struct {
	// Stored are the stored elements.
	Stored io.ReaderAt
	// DType has a size of whole bytes.
	DType tensor.DType
	// BigEndian: the most significant byte is stored first.
	BigEndian bool
	Shape     tensor.Shape
	// Strides count elements, at least 0, one for each axis.
	Strides []int64
	// Offset is the stored index of the first element.
	Offset int64
	// Negate (float and complex) and Conjugate (complex) change the elements.
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

// Section returns the stored bytes if Data needs no conversion, else ok is false. Outer of the
// result is the file itself even if Stored is a section of it.
func (v *View) Section() (data *io.SectionReader, ok bool) {
	if !v.Dense() || v.swapSize() > 1 || v.Negate || v.Conjugate {
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

// Data returns the elements as little-endian bytes in C order. Elements stored in this form are
// read directly. Other elements are gathered in at most about 5 MiB of memory, which is kept until
// the last element is read, and should be read from front to back. Several goroutines may use its
// ReadAt.
func (v View) Data() *io.SectionReader {
	if data, ok := v.Section(); ok {
		return data
	}
	r := &byteReader{open: v.newSource, unit: v.unit(), size: v.size()}
	return io.NewSectionReader(r, 0, r.size)
}

func (v *View) unit() int64 { return int64(v.DType.UnitSize()) }
func (v *View) size() int64 { return v.Shape.Elements() * v.unit() }

// swapSize returns the size of the words whose bytes are swapped, 1 for none: a complex element has two
// words.
func (v *View) swapSize() int {
	switch {
	case !v.BigEndian:
		return 1
	case v.isComplex():
		return v.DType.UnitSize() / 2
	}
	return v.DType.UnitSize()
}

func (v *View) isComplex() bool { return v.DType.Host().Complex() }

// newSource returns a reader of the elements in C order.
func (v *View) newSource() (layout.Source, error) {
	src := &elements{r: v.Stored, first: v.Offset, unit: v.unit(), word: v.swapSize(), flip: v.signMasks()}
	if v.Dense() {
		return src, nil
	}
	// The stride of an axis of one position has no meaning.
	strides := slices.Clone(v.Strides)
	for i, n := range v.Shape {
		if n == 1 {
			strides[i] = 0
		}
	}
	plan, err := layout.PlanStrided(v.Shape, strides)
	if err != nil {
		return nil, err
	}
	return plan.Reader(src, int(v.unit()), new(layout.Buffers))
}

// signMasks returns the sign bits that Negate and Conjugate flip in 16 bytes of elements, nil for none.
func (v *View) signMasks() *[2]uint64 {
	if !v.Negate && !v.Conjugate {
		return nil
	}
	var b [16]byte
	size, part := len(b), int(v.unit())
	if v.isComplex() {
		part /= 2
	}
	for at, imaginary := part-1, false; at < size; at += part {
		if v.Negate != (v.Conjugate && imaginary) {
			b[at] = 0x80
		}
		imaginary = v.isComplex() && !imaginary
	}
	return &[2]uint64{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])}
}

// elements reads the stored elements in their order and converts them to little-endian.
type elements struct {
	r     io.ReaderAt
	first int64      // index of the first element
	unit  int64      // bytes of an element
	word  int        // bytes of the words to swap
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

// ReadFull fills p from offset off. An early end is io.ErrUnexpectedEOF.
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

// byteReader reads any byte range from a source of whole elements.
type byteReader struct {
	open       func() (layout.Source, error)
	unit, size int64

	mu  sync.Mutex
	src layout.Source // opened on demand, nil after the last element
}

// ReadAt reads whole elements into p, and copies partial elements at both ends through a buffer.
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
		var buf [16]byte // size of the largest element
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
