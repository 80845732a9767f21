package hdf5

// Types of messages of an object header.
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
	shared bool // the data is the place of the message
	data   cursor
}

// object is what an object header says.
type object struct {
	addr     int64
	messages []message
}

// maxMessages is the most messages of an object: the most that version 1 has.
const maxMessages = 1 << 16

// first returns the data of the first message of a kind, nil where there is none.
func (o *object) first(kind int) *message {
	for i := range o.messages {
		if o.messages[i].kind == kind {
			return &o.messages[i]
		}
	}
	return nil
}

// header reads an object header in one of its two versions.
type header struct {
	f    *file
	o    *object
	seen map[int64]bool // blocks of messages, by address
	todo []block
}

// block is a part of a header that has messages.
type block struct{ addr, size int64 }

// object reads the object header at an address.
func (f *file) object(addr int64) (*object, error) {
	first, err := f.at(addr, 4)
	if err != nil {
		return nil, err
	}
	h := &header{f: f, o: &object{addr: addr}}
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
	c, err := h.f.cursor(addr, 16)
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
		c, err := h.f.cursor(h.todo[i].addr, h.todo[i].size)
		if err != nil {
			return err
		}
		for ; count > 0 && c.left() >= 8; count-- {
			kind, size, flags := c.u16(), c.u16(), c.u8()
			c.skip(3)
			if err := h.add(kind, flags, c.part(size)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *header) readNew(addr int64) error {
	c, err := h.f.cursor(addr, min(64, h.f.size-h.f.base-addr))
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
		return broken(c.here(), "an object header of %d bytes in a file of %d bytes", size, h.f.size)
	}
	if c, err = h.f.verified(addr, start+size+4, "OHDR"); err != nil {
		return err
	}
	c.skip(int(start) - len("OHDR"))
	tracked := flags&4 != 0
	if err := h.newMessages(c, tracked); err != nil {
		return err
	}
	for i := 0; i < len(h.todo); i++ {
		c, err := h.f.verified(h.todo[i].addr, h.todo[i].size, "OCHK")
		if err != nil {
			return err
		}
		if err := h.newMessages(c, tracked); err != nil {
			return err
		}
	}
	return nil
}

// newMessages reads the messages of a block of version 2. What is left at the end is
// a gap.
func (h *header) newMessages(c *cursor, tracked bool) error {
	head := 4
	if tracked {
		head = 6
	}
	for c.left() >= head {
		kind, size, flags := c.u8(), c.u16(), c.u8()
		c.skip(head - 4)
		if err := h.add(kind, flags, c.part(size)); err != nil {
			return err
		}
	}
	return nil
}

// add adds a message, or notes the block that it continues in.
func (h *header) add(kind, flags int, data *cursor) error {
	if data.err != nil {
		return data.err
	}
	switch kind {
	case msgContinuation:
		at := data.here()
		b := block{data.address(), data.length()}
		if data.err != nil {
			return data.err
		}
		if h.seen[b.addr] {
			return broken(at, "the object header comes to the block at address 0x%x again", b.addr)
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

// parse returns the data of a message, which may be that of another object.
func (f *file) parse(m *message) (*cursor, error) {
	c := m.data
	if !m.shared {
		return &c, nil
	}
	return f.shared(&c, m.kind)
}

// shared returns the data of a message of another object, whose place c has.
func (f *file) shared(c *cursor, kind int) (*cursor, error) {
	at := c.here()
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
	o, err := f.object(addr)
	if err != nil {
		return nil, err
	}
	if m := o.first(kind); m != nil && !m.shared {
		data := m.data
		return &data, nil
	}
	return nil, broken(at, "the object at address 0x%x has no message of type 0x%x, which is shared with it", addr, kind)
}
