package hdf5

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"dumptool/internal/format"
	"dumptool/internal/tensor"
)

// Types of messages in an object header.
const (
	msgDataspace     = 0x01
	msgLinkInfo      = 0x02
	msgDatatype      = 0x03
	msgOldFill       = 0x04
	msgFill          = 0x05
	msgLink          = 0x06
	msgExternal      = 0x07
	msgLayout        = 0x08
	msgFilters       = 0x0b
	msgAttribute     = 0x0c
	msgContinuation  = 0x10
	msgSymbolTable   = 0x11
	msgAttributeInfo = 0x15
)

// message is a message of an object header.
type message struct {
	kind   int
	shared bool // the data is a reference to a message elsewhere
	data   cursor
}

// objectHeader is a parsed object header.
type objectHeader struct {
	addr     int64
	messages []message
}

// maxMessages bounds the messages of an object: version 1 has no more.
const maxMessages = 1 << 16

// firstMessage returns the first message of a kind, nil for none.
func (o *objectHeader) firstMessage(kind int) *message {
	for i := range o.messages {
		if o.messages[i].kind == kind {
			return &o.messages[i]
		}
	}
	return nil
}

// header parses an object header of either version.
type header struct {
	f    *file
	o    *objectHeader
	seen map[int64]bool // blocks of messages, by address
	todo []block
}

// block is a part of a header with messages.
type block struct{ addr, size int64 }

// parseObject parses the object header at an address.
func (f *file) parseObject(addr int64) (*objectHeader, error) {
	first, err := f.bytesAt(addr, 4)
	if err != nil {
		return nil, err
	}
	h := &header{f: f, o: &objectHeader{addr: addr}}
	if string(first) == "OHDR" {
		err = h.readNew(addr)
	} else {
		err = h.readOld(addr)
	}
	if err != nil {
		return nil, err
	}
	return h.o, nil
}

func (h *header) readOld(addr int64) error {
	c, err := h.f.cursorAt(addr, 16)
	if err != nil {
		return err
	}
	c.version("object header", 1)
	c.skip(1)
	count := c.u16()
	c.skip(4)
	size := c.size(4)
	if c.err != nil {
		return c.err
	}
	h.todo = []block{{addr + 16, size}}
	for i := 0; i < len(h.todo) && count > 0; i++ {
		c, err := h.f.cursorAt(h.todo[i].addr, h.todo[i].size)
		if err != nil {
			return err
		}
		for ; count > 0 && c.remaining() >= 8; count-- {
			kind, size, flags := c.u16(), c.u16(), c.u8()
			c.skip(3)
			if err := h.addMessage(kind, flags, c.substructure(size)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *header) readNew(addr int64) error {
	c, err := h.f.cursorAt(addr, min(64, h.f.size-h.f.base-addr))
	if err != nil {
		return err
	}
	c.expect("OHDR")
	c.version("object header", 2)
	flags := c.u8()
	if flags&0x20 != 0 {
		c.skip(16)
	}
	if flags&0x10 != 0 {
		c.skip(4)
	}
	size := c.size(1 << (flags & 3))
	if c.err != nil {
		return c.err
	}
	start := int64(c.p)
	if size > h.f.size {
		return formatError(c.offset(), "an object header of %d bytes in a file of %d bytes", size, h.f.size)
	}
	if c, err = h.f.verifiedCursor(addr, start+size+4, "OHDR"); err != nil {
		return err
	}
	c.skip(int(start) - len("OHDR"))
	tracked := flags&4 != 0
	if err := h.newMessages(c, tracked); err != nil {
		return err
	}
	for i := 0; i < len(h.todo); i++ {
		c, err := h.f.verifiedCursor(h.todo[i].addr, h.todo[i].size, "OCHK")
		if err != nil {
			return err
		}
		if err := h.newMessages(c, tracked); err != nil {
			return err
		}
	}
	return nil
}

// newMessages parses the messages of a version-2 block. Bytes left at the end are a gap.
func (h *header) newMessages(c *cursor, tracked bool) error {
	head := 4
	if tracked {
		head = 6
	}
	for c.remaining() >= head {
		kind, size, flags := c.u8(), c.u16(), c.u8()
		c.skip(head - 4)
		if err := h.addMessage(kind, flags, c.substructure(size)); err != nil {
			return err
		}
	}
	return nil
}

// addMessage adds a message, or a continuation block to be parsed.
func (h *header) addMessage(kind, flags int, data *cursor) error {
	if data.err != nil {
		return data.err
	}
	switch kind {
	case msgContinuation:
		at := data.offset()
		b := block{data.address(), data.length()}
		if data.err != nil {
			return data.err
		}
		if h.seen[b.addr] {
			return formatError(at, "the object header refers again to the block at address 0x%x", b.addr)
		}
		if h.seen == nil {
			h.seen = make(map[int64]bool)
		}
		h.seen[b.addr] = true
		h.todo = append(h.todo, b)
	case msgDataspace, msgLinkInfo, msgDatatype, msgOldFill, msgFill, msgLink, msgExternal, msgLayout, msgFilters,
		msgAttribute, msgSymbolTable, msgAttributeInfo:
		if len(h.o.messages) == maxMessages {
			return unsupported("an object header with more than %d messages is not supported", maxMessages)
		}
		h.o.messages = append(h.o.messages, message{kind, flags&2 != 0, *data})
	}
	return nil
}

// parse returns the data of a message. The data of a shared message is in another object.
func (f *file) parse(m *message) (*cursor, error) {
	c := m.data
	if !m.shared {
		return &c, nil
	}
	return f.sharedMessage(&c, m.kind)
}

// sharedMessage returns the data of a message in another object, to which c refers.
func (f *file) sharedMessage(c *cursor, kind int) (*cursor, error) {
	at := c.offset()
	version, where := c.u8(), c.u8()
	if version == 1 {
		c.skip(6)
	}
	if version == 3 && where == 1 {
		return nil, unsupported("a message in the heap of shared messages is not supported; rewrite the file with h5repack")
	}
	addr := c.address()
	if c.err != nil {
		return nil, c.err
	}
	o, err := f.parseObject(addr)
	if err != nil {
		return nil, err
	}
	if m := o.firstMessage(kind); m != nil && !m.shared {
		data := m.data
		return &data, nil
	}
	return nil, formatError(at, "the object at address 0x%x has no message of type 0x%x, which is shared with it", addr, kind)
}

// attribute is a named value of an object.
type attribute struct {
	name  string
	value any // value as in format.Attr, or the name of an unsupported type
	elementType
	// stored are the encoded parts; empty unless the attribute is to be copied.
	stored storedAttribute
}

// storedAttribute are the encoded parts of an attribute.
type storedAttribute struct{ datatype, dataspace, data []byte }

// readAttributes returns the attributes of an object: first from its header, in their order, then from
// a heap, sorted by name.
func (f *file) readAttributes(o *objectHeader) ([]attribute, error) {
	var all []attribute
	for i := range o.messages {
		m := &o.messages[i]
		switch m.kind {
		case msgAttribute:
			c, err := f.parse(m)
			if err != nil {
				return nil, err
			}
			a, err := f.readAttribute(c)
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
		a, err := f.readAttribute(c)
		all = append(all, a)
		return err
	})
	slices.SortStableFunc(all, func(a, b attribute) int { return cmp.Compare(a.name, b.name) })
	return all, err
}

// readAttribute parses an attribute message.
func (f *file) readAttribute(c *cursor) (a attribute, err error) {
	at, version, flags := c.offset(), c.u8(), c.u8()
	if version < 1 || version > 3 {
		return a, formatError(at, "attribute version %d, want 1 to 3", version)
	}
	sizes := [3]int{c.u16(), c.u16(), c.u16()}
	if version == 3 {
		c.skip(1) // character set of the name
	}
	var parts [3]*cursor // name, datatype, dataspace
	for i, n := range sizes {
		parts[i] = c.substructure(n)
		if version == 1 {
			c.pad(n)
		}
	}
	if c.err != nil {
		return a, c.err
	}
	a.name, _, _ = strings.Cut(string(parts[0].b), "\x00")
	if version > 1 && flags&1 != 0 {
		if parts[1], err = f.sharedMessage(parts[1], msgDatatype); err != nil {
			return a, err
		}
	}
	stored := storedAttribute{datatype: parts[1].b, dataspace: parts[2].b}
	if a.elementType, err = parts[1].readDatatype(); err != nil {
		return a, err
	}
	space, err := parts[2].readDataspace()
	if err != nil {
		return a, err
	}
	if space.null {
		a.value = "null"
		if f.keep != nil {
			a.stored = stored
		}
		return a, f.countHeld(int64(attributeMemory + len(a.name)))
	}
	n, err := space.bytes(&a.elementType)
	if err != nil {
		return a, err
	}
	if n > int64(c.remaining()) {
		return a, formatError(c.offset(), "attribute %q of %d bytes, want %d", a.name, c.remaining(), n)
	}
	stored.data = c.nextBytes(int(n))
	if err := f.countHeld(attributeMemory + int64(len(a.name)) + a.valueMemory(n)); err != nil {
		return a, err
	}
	a.value = a.decodeValues(stored.data, len(space.shape) > 0)
	if f.keep != nil {
		a.stored = stored
	}
	return a, nil
}

// attributeMemory is the memory of an attribute besides name and value, in bytes.
const attributeMemory = 256

// valueMemory returns the memory of values of n encoded bytes.
func (t *elementType) valueMemory(n int64) int64 {
	if t.class == classText {
		return 2 * n // U+FFFD may replace every byte
	}
	return 8 * (n / int64(t.size))
}

// decodeValues decodes elements as an attribute value: a number, a list of numbers, a text, or the name
// of any other type.
func (t *elementType) decodeValues(data []byte, list bool) any {
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

// decode decodes elements of at most 8 bytes, a list or a single one, from their bits.
func decode[T any](t *elementType, data []byte, list bool, value func(bits uint64) T) any {
	values := make([]T, len(data)/t.size)
	for i := range values {
		values[i] = value(t.decodeNumber(data[i*t.size:][:t.size]))
	}
	if !list {
		return values[0]
	}
	return values
}

// decodeNumber returns the bytes of an element as an integer.
func (t *elementType) decodeNumber(element []byte) (n uint64) {
	for i, b := range element {
		if t.bigEndian {
			i = t.size - 1 - i
		}
		n |= uint64(b) << (8 * i)
	}
	return n
}

// shownAttrs returns the attributes in the form of format.Attr, one list for all links to the
// dataset.
func (d *dataset) shownAttrs() []format.Attr {
	if d.shownAttributes == nil && len(d.attrs) > 0 {
		d.shownAttributes = make([]format.Attr, len(d.attrs))
		for i, a := range d.attrs {
			d.shownAttributes[i] = format.Attr{Name: a.name, Value: a.value}
		}
	}
	return d.shownAttributes
}
