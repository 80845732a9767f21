package hdf5

// symbolNodes calls visit with the address of every symbol node of a B-tree of
// version 1, in the order of the names.
func (f *file) symbolNodes(root int64, visit func(addr int64) error) error {
	w := &walk1{f: f, seen: make(map[int64]bool), visit: visit}
	return w.node(root, none)
}

// walk1 goes through a B-tree of version 1 that lists symbol nodes.
type walk1 struct {
	f     *file
	seen  map[int64]bool // addresses of nodes
	visit func(addr int64) error
}

// treeHead is what a node of a B-tree of version 1 begins with.
func treeHead(c *cursor, kind int) (level, entries int) {
	c.expect("TREE")
	at := c.here()
	if k := c.u8(); k != kind {
		c.fail(broken(at, "B-tree: a node of type %d, want %d", k, kind))
	}
	level, entries = c.u8(), c.u16()
	c.skip(2 * c.f.offsetSize)
	return level, entries
}

// treeHeadSize is the number of bytes that treeHead reads.
func (f *file) treeHeadSize() int64 { return int64(8 + 2*f.offsetSize) }

// node visits what is below a node of a level, none for any.
func (w *walk1) node(addr int64, want int) error {
	if err := w.once(addr); err != nil {
		return err
	}
	size := w.f.treeHeadSize()
	c, err := w.f.cursor(addr, size)
	if err != nil {
		return err
	}
	level, n := treeHead(c, 0)
	switch {
	case c.err != nil:
		return c.err
	case want != none && level != want:
		return broken(c.off, "B-tree: a node of level %d, want %d", level, want)
	}
	if c, err = w.f.cursor(addr+size, int64(n*(w.f.lengthSize+w.f.offsetSize))); err != nil {
		return err
	}
	for range n {
		c.skip(w.f.lengthSize)
		child := c.address()
		if level > 0 {
			err = w.node(child, level-1)
		} else if err = w.once(child); err == nil {
			err = w.visit(child)
		}
		if err != nil {
			return err
		}
	}
	return c.err
}

// once notes a node, and refuses one that was there before.
func (w *walk1) once(addr int64) error {
	if w.seen[addr] {
		return broken(-1, "B-tree: the node at address 0x%x is there twice", addr)
	}
	w.seen[addr] = true
	return nil
}
