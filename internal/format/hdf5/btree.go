package hdf5

import "math/bits"

// eachSymbolNode calls visit with the address of every symbol node of a version-1 B-tree, in the order
// of the names.
func (f *file) eachSymbolNode(root int64, visit func(addr int64) error) error {
	w := &walk1{f: f, seen: make(map[int64]bool), visit: visit}
	return w.node(root, none)
}

// walk1 walks a version-1 B-tree of symbol nodes.
type walk1 struct {
	f     *file
	seen  map[int64]bool // addresses of nodes
	visit func(addr int64) error
}

// treeHead parses the head of a node of a version-1 B-tree.
func treeHead(c *cursor, kind int) (level, entries int) {
	c.expect("TREE")
	at := c.offset()
	if k := c.u8(); k != kind {
		c.fail(formatError(at, "B-tree: a node of type %d, want %d", k, kind))
	}
	level, entries = c.u8(), c.u16()
	c.skip(2 * c.f.offsetSize)
	return level, entries
}

// treeHeadSize is the number of bytes that treeHead reads.
func (f *file) treeHeadSize() int64 { return int64(8 + 2*f.offsetSize) }

// node visits the symbol nodes below a node. The node must have level want, unless want is none.
func (w *walk1) node(addr int64, want int) error {
	if err := w.visitOnce(addr); err != nil {
		return err
	}
	size := w.f.treeHeadSize()
	c, err := w.f.cursorAt(addr, size)
	if err != nil {
		return err
	}
	level, n := treeHead(c, 0)
	switch {
	case c.err != nil:
		return c.err
	case want != none && level != want:
		return formatError(c.off, "B-tree: a node of level %d, want %d", level, want)
	}
	if c, err = w.f.cursorAt(addr+size, int64(n*(w.f.lengthSize+w.f.offsetSize))); err != nil {
		return err
	}
	for range n {
		c.skip(w.f.lengthSize)
		child := c.address()
		if level > 0 {
			err = w.node(child, level-1)
		} else if err = w.visitOnce(child); err == nil {
			err = w.visit(child)
		}
		if err != nil {
			return err
		}
	}
	return c.err
}

// visitOnce records a node, and fails if it was visited before.
func (w *walk1) visitOnce(addr int64) error {
	if w.seen[addr] {
		return formatError(-1, "B-tree: the node at address 0x%x occurs twice", addr)
	}
	w.seen[addr] = true
	return nil
}

// tree2 is the header of a version-2 B-tree.
type tree2 struct {
	f          *file
	kind       int
	recordSize int
	depth      int
	root       int64
	rootCount  int
	// levels describe the nodes of each level, leaves first.
	levels []level2
}

// level2 describes the nodes of one level of a version-2 B-tree.
type level2 struct {
	max       int64 // records in a node
	total     int64 // records in a node and all nodes below it
	pointer   int64 // bytes of a reference to a child
	countSize int   // bytes of the record count of a child
	totalSize int   // bytes of the count of all records below a child
}

// maxLevels bounds the levels of a B-tree: more than any number of records needs.
const maxLevels = 16

// readTree2 reads the header of a version-2 B-tree.
func (f *file) readTree2(addr int64) (*tree2, error) {
	c, err := f.verifiedCursor(addr, int64(4+1+1+4+2+2+1+1+f.offsetSize+2+f.lengthSize+4), "BTHD")
	if err != nil {
		return nil, err
	}
	c.version("B-tree header", 0)
	t := &tree2{f: f, kind: c.u8()}
	node := c.size(4)
	t.recordSize, t.depth = c.u16(), c.u16()
	c.skip(2)
	t.root, t.rootCount = c.address(), c.u16()
	switch {
	case c.err != nil:
		return nil, c.err
	case t.recordSize == 0 || node < int64(10+t.recordSize) || t.depth >= maxLevels:
		return nil, formatError(c.off, "B-tree: nodes of %d bytes with records of %d bytes, %d levels deep", node, t.recordSize, t.depth)
	}
	return t, t.setLevels(node, c.off)
}

// setLevels computes the number of records per node of each level, and from it the sizes of the
// counts in nodes.
func (t *tree2) setLevels(node, off int64) error {
	const head = 4 + 1 + 1 + 4 // signature, version, kind, checksum
	record := int64(t.recordSize)
	leaf := level2{max: (node - head) / record}
	leaf.total = leaf.max
	t.levels = []level2{leaf}
	for d := 1; d <= t.depth; d++ {
		below := t.levels[d-1]
		l := level2{countSize: byteSize(leaf.max)}
		if d > 1 {
			l.totalSize = byteSize(below.total)
		}
		l.pointer = int64(t.f.offsetSize + l.countSize + l.totalSize)
		l.max = (node - head - l.pointer) / (record + l.pointer)
		all, ok := multiply(l.max+1, below.total)
		if l.max <= 0 || !ok || all > 1<<62 {
			return formatError(off, "B-tree: nodes of %d bytes with records of %d bytes, %d levels deep", node, record, t.depth)
		}
		l.total = all + l.max
		t.levels = append(t.levels, l)
	}
	return nil
}

// byteSize returns the number of bytes that hold n.
func byteSize(n int64) int { return max(0, bits.Len64(uint64(n))-1)/8 + 1 }

// nodeSize returns the bytes of a node with some number of records.
func (t *tree2) nodeSize(depth, records int) int64 {
	l := &t.levels[depth]
	n := 4 + 1 + 1 + int64(records)*int64(t.recordSize) + 4
	if depth > 0 {
		n += int64(records+1) * l.pointer
	}
	return n
}

// parse checks a node and returns its records; children is the part after them.
func (t *tree2) parse(c *cursor, depth, records int) (recs []byte, children *cursor, err error) {
	signature := "BTLF"
	if depth > 0 {
		signature = "BTIN"
	}
	if err := c.verify(signature); err != nil {
		return nil, nil, err
	}
	c.version("B-tree node", 0)
	at := c.offset()
	if kind := c.u8(); kind != t.kind {
		c.fail(formatError(at, "B-tree: a node of type %d, want %d", kind, t.kind))
	}
	recs = c.nextBytes(records * t.recordSize)
	return recs, c, c.err
}

// child parses a reference to a child of a node.
func (t *tree2) child(c *cursor, depth int) (addr int64, records int, err error) {
	l := &t.levels[depth]
	addr, records = c.address(), int(c.uint(l.countSize))
	c.uint(l.totalSize)
	if limit := t.levels[depth-1].max; c.err == nil && int64(records) > limit {
		c.fail(formatError(c.offset(), "B-tree: a node of %d records, want at most %d", records, limit))
	}
	return addr, records, c.err
}

// visit calls visit with every record in order.
func (t *tree2) visit(visit func(record []byte) error) error {
	if t.root == none || t.rootCount == 0 {
		return nil
	}
	if limit := t.levels[t.depth].max; int64(t.rootCount) > limit {
		return formatError(-1, "B-tree: a root of %d records, want at most %d", t.rootCount, limit)
	}
	return t.eachBelow(t.root, t.rootCount, t.depth, make(map[int64]bool), visit)
}

func (t *tree2) eachBelow(addr int64, records, depth int, seen map[int64]bool, visit func([]byte) error) error {
	if seen[addr] {
		return formatError(-1, "B-tree: the node at address 0x%x occurs twice", addr)
	}
	seen[addr] = true
	c, err := t.f.cursorAt(addr, t.nodeSize(depth, records))
	if err != nil {
		return err
	}
	recs, children, err := t.parse(c, depth, records)
	if err != nil {
		return err
	}
	for i := 0; i <= records; i++ {
		if depth > 0 {
			child, n, err := t.child(children, depth)
			if err != nil {
				return err
			}
			if err := t.eachBelow(child, n, depth-1, seen, visit); err != nil {
				return err
			}
		}
		if i < records {
			if err := visit(recs[i*t.recordSize:][:t.recordSize]); err != nil {
				return err
			}
		}
	}
	return nil
}
