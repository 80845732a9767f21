package hdf5

import (
	"bytes"
	"slices"
	"strings"
)

type linkKind byte

// The kinds; users of the library may define others.
const (
	hardLink     linkKind = 0
	softLink     linkKind = 1
	externalLink linkKind = 64
)

// link is a member of a group.
type link struct {
	name   string
	kind   linkKind
	addr   int64  // object of a hard link
	target string // path of a soft link
}

// maxName is the maximum length of a link name: a link message has no room for more.
const maxName = 1<<16 - 32

// readGroup returns the links of a group in the order of their names, none for another object. Their
// memory is counted by countHeld.
func (f *file) readGroup(o *objectHeader) ([]link, error) {
	l := &lister{f: f}
	for i := range o.messages {
		m := &o.messages[i]
		c := m.data
		var err error
		switch m.kind {
		case msgSymbolTable:
			err = l.addSymbols(&c)
		case msgLink:
			err = l.addMessage(&c)
		case msgLinkInfo:
			err = l.addDense(&c)
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(l.links, func(a, b link) int { return strings.Compare(a.name, b.name) })
	return l.links, nil
}

// lister collects the links of a group.
type lister struct {
	f     *file
	links []link
}

func (l *lister) add(k link) error {
	l.links = append(l.links, k)
	return l.f.countHeld(int64(64 + len(k.name) + len(k.target)))
}

// addMessage adds the link of a link message.
func (l *lister) addMessage(c *cursor) error {
	c.version("link message", 1)
	flags := c.u8()
	k := link{addr: none}
	if flags&8 != 0 {
		k.kind = linkKind(c.u8())
	}
	if flags&4 != 0 {
		c.skip(8)
	}
	if flags&16 != 0 {
		c.skip(1)
	}
	at, n := c.offset(), c.size(1<<(flags&3))
	if n > maxName {
		return formatError(at, "a link whose name has %d bytes, want at most %d", n, maxName)
	}
	k.name = string(c.nextBytes(int(n)))
	switch k.kind {
	case hardLink:
		k.addr = c.address()
	case softLink:
		k.target = string(c.nextBytes(c.u16()))
	}
	if c.err != nil {
		return c.err
	}
	return l.add(k)
}

// addDense adds the links of a fractal heap, listed by a B-tree.
func (l *lister) addDense(c *cursor) error {
	c.version("link info", 0)
	flags := c.u8()
	if flags&1 != 0 {
		c.skip(8)
	}
	heap, tree := c.address(), c.address()
	if c.err != nil || heap == none {
		return c.err
	}
	const hash = 4 // bytes of a record before the id
	return l.f.eachInHeap(heap, tree, hash, l.addMessage)
}

// addSymbols adds the links of a symbol table: a B-tree of nodes, with names in a local heap.
func (l *lister) addSymbols(c *cursor) error {
	tree, addr := c.address(), c.address()
	if c.err != nil {
		return c.err
	}
	heap, err := l.f.readLocalHeap(addr)
	if err != nil {
		return err
	}
	return l.f.eachSymbolNode(tree, func(node int64) error { return l.addNode(node, heap) })
}

// addNode adds the links of a symbol node.
func (l *lister) addNode(addr int64, heap *localHeap) error {
	f := l.f
	c, err := f.cursorAt(addr, 8)
	if err != nil {
		return err
	}
	c.expect("SNOD")
	c.skip(2)
	n := c.u16()
	if c.err != nil {
		return c.err
	}
	if c, err = f.cursorAt(addr+8, int64(n*(f.lengthSize+f.offsetSize+24))); err != nil {
		return err
	}
	for range n {
		name, k := c.length(), link{addr: c.address()}
		cache := c.u32()
		c.skip(4)
		scratch := c.substructure(16)
		if c.err != nil {
			return c.err
		}
		if k.name, err = heap.text(name); err != nil {
			return err
		}
		if cache == 2 {
			k.kind = softLink
			if k.target, err = heap.text(scratch.size(4)); err != nil {
				return err
			}
		}
		if err := l.add(k); err != nil {
			return err
		}
	}
	return nil
}

// localHeap holds the names of a symbol table.
type localHeap struct {
	f          *file
	addr, size int64 // of the names
}

func (f *file) readLocalHeap(addr int64) (*localHeap, error) {
	c, err := f.cursorAt(addr, int64(8+2*f.lengthSize+f.offsetSize))
	if err != nil {
		return nil, err
	}
	c.expect("HEAP")
	c.skip(4)
	h := &localHeap{f: f, size: c.length()}
	c.length()
	h.addr = c.address()
	if c.err != nil {
		return nil, c.err
	}
	_, err = f.fileOffset(h.addr, h.size)
	return h, err
}

// text returns the text at an offset in the heap.
func (h *localHeap) text(at int64) (string, error) {
	const step = 64 // most names are shorter
	var name []byte
	for off := at; off < h.size && len(name) <= maxName; {
		b, err := h.f.bytesAt(h.addr+off, min(step, h.size-off))
		if err != nil {
			return "", err
		}
		if n := bytes.IndexByte(b, 0); n >= 0 {
			return string(append(name, b[:n]...)), nil
		}
		name = append(name, b...)
		off += int64(len(b))
	}
	return "", formatError(h.f.base+h.addr, "heap: a name at %d has no end in the local heap of %d bytes", at, h.size)
}
