package hdf5

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"dumptool/internal/format"
	"dumptool/internal/tensor"
)

// attribute is a named value of an object.
type attribute struct {
	name  string
	value any // as format.Attr has it, or the name of a type that it cannot have
	elementType
	// stored are the descriptions and the data as they are in the file; nil unless
	// they are to be copied.
	stored storedAttribute
}

// storedAttribute are the parts of an attribute in the file.
type storedAttribute struct{ datatype, dataspace, data []byte }

// attributes returns the attributes of an object: those of its header in their
// order, then those of a heap in the order of their names.
func (f *file) attributes(o *object) ([]attribute, error) {
	var all []attribute
	for i := range o.messages {
		m := &o.messages[i]
		switch m.kind {
		case msgAttribute:
			c, err := f.parse(m)
			if err != nil {
				return nil, err
			}
			a, err := f.attribute(c)
			if err != nil {
				return nil, err
			}
			all = append(all, a)
		case msgAttributeInfo:
			dense, err := f.denseAttributes(m.data)
			if err != nil {
				return nil, err
			}
			all = append(all, dense...)
		}
	}
	return all, nil
}

func (f *file) denseAttributes(c cursor) ([]attribute, error) {
	c.version("attribute info", 0)
	if flags := c.u8(); flags&1 != 0 {
		c.skip(2)
	}
	heap, tree := c.address(), c.address()
	if c.err != nil || heap == none {
		return nil, c.err
	}
	var all []attribute
	err := f.eachInHeap(heap, tree, 0, func(c *cursor) error {
		a, err := f.attribute(c)
		all = append(all, a)
		return err
	})
	slices.SortStableFunc(all, func(a, b attribute) int { return cmp.Compare(a.name, b.name) })
	return all, err
}

// attribute reads an attribute message.
func (f *file) attribute(c *cursor) (a attribute, err error) {
	at, version, flags := c.here(), c.u8(), c.u8()
	if version < 1 || version > 3 {
		return a, broken(at, "attribute version %d, want 1 to 3", version)
	}
	sizes := [3]int{c.u16(), c.u16(), c.u16()}
	if version == 3 {
		c.skip(1) // the character set of the name
	}
	var parts [3]*cursor // name, datatype, dataspace
	for i, n := range sizes {
		parts[i] = c.part(n)
		if version == 1 {
			c.pad(n)
		}
	}
	if c.err != nil {
		return a, c.err
	}
	a.name, _, _ = strings.Cut(string(parts[0].b), "\x00")
	if version > 1 && flags&1 != 0 {
		if parts[1], err = f.shared(parts[1], msgDatatype); err != nil {
			return a, err
		}
	}
	stored := storedAttribute{datatype: parts[1].b, dataspace: parts[2].b}
	if a.elementType, err = parts[1].datatype(); err != nil {
		return a, err
	}
	space, err := parts[2].dataspace()
	if err != nil {
		return a, err
	}
	if space.null {
		a.value = "null"
		if f.keep != nil {
			a.stored = stored
		}
		return a, f.hold(int64(attributeMemory + len(a.name)))
	}
	n, err := space.bytes(&a.elementType)
	if err != nil {
		return a, err
	}
	if n > int64(c.left()) {
		return a, broken(c.here(), "attribute %q of %d bytes, want %d", a.name, c.left(), n)
	}
	stored.data = c.take(int(n))
	if err := f.hold(attributeMemory + int64(len(a.name)) + a.valueMemory(n)); err != nil {
		return a, err
	}
	a.value = a.values(stored.data, len(space.shape) > 0)
	if f.keep != nil {
		a.stored = stored
	}
	return a, nil
}

// attributeMemory is what an attribute takes besides its name and its value.
const attributeMemory = 256

// valueMemory is how much values takes of n bytes.
func (t *elementType) valueMemory(n int64) int64 {
	if t.class == classText {
		return 2 * n // with U+FFFD for every byte that is no text
	}
	return 8 * (n / int64(t.size))
}

// values returns stored elements as an attribute has them: a number, a list of them,
// a text, or the name of the type where it is neither.
func (t *elementType) values(data []byte, list bool) any {
	switch {
	case t.class == classText && !list:
		return strings.ToValidUTF8(strings.TrimRight(string(data), "\x00 "), "\ufffd")
	case t.dtype == tensor.Undefined:
		return className(t.class)
	}
	switch t.dtype {
	case tensor.Bool:
		return decode(t, data, list, func(bits uint64) bool { return bits != 0 })
	case tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64:
		return decode(t, data, list, func(bits uint64) uint64 { return bits })
	case tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64:
		unused := 64 - 8*t.size
		return decode(t, data, list, func(bits uint64) int64 { return int64(bits<<unused) >> unused })
	case tensor.Float32:
		return decode(t, data, list, func(bits uint64) float64 { return float64(math.Float32frombits(uint32(bits))) })
	case tensor.Float64:
		return decode(t, data, list, math.Float64frombits)
	}
	return t.dtype.String() // small floats and complex numbers
}

// decode decodes elements of at most 8 bytes, one or a list of them, from their bits.
func decode[T any](t *elementType, data []byte, list bool, value func(bits uint64) T) any {
	values := make([]T, len(data)/t.size)
	for i := range values {
		values[i] = value(t.number(data[i*t.size:][:t.size]))
	}
	if !list {
		return values[0]
	}
	return values
}

// number returns the bytes of an element as a number.
func (t *elementType) number(element []byte) (n uint64) {
	for i, b := range element {
		if t.bigEndian {
			i = t.size - 1 - i
		}
		n |= uint64(b) << (8 * i)
	}
	return n
}

// shownAttrs returns the attributes as they are shown: one list for all links that
// lead to the dataset.
func (d *dataset) shownAttrs() []format.Attr {
	if d.shown == nil && len(d.attrs) > 0 {
		d.shown = make([]format.Attr, len(d.attrs))
		for i, a := range d.attrs {
			d.shown[i] = format.Attr{Name: a.name, Value: a.value}
		}
	}
	return d.shown
}
