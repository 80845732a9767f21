package engine

// node is a node of the tree of sums: those of a leaf or of two nodes.
type node struct {
	pair
	// relative is the sum of |d|/|r|, ulps that of the distances in units of the
	// last place, errors and cellErrors those of |d| of the errors.
	relative, ulps, errors, cellErrors sum
	// Of complex elements the moduli of both sides.
	npuModuli, refModuli moment
	// refOnly and npuOnly are the finite elements that meet one that is not.
	refOnly, npuOnly moment
	// replaced are the reference elements of pairs that are not finite, as HPAA
	// replaces them, and replacedRelative their |d|/|r|.
	replaced         moment
	replacedRelative sum
}

// merge takes in the node that follows.
func (a *node) merge(b *node) {
	a.pair.merge(&b.pair)
	a.relative.merge(b.relative)
	a.ulps.merge(b.ulps)
	a.errors.merge(b.errors)
	a.cellErrors.merge(b.cellErrors)
	a.npuModuli.merge(&b.npuModuli)
	a.refModuli.merge(&b.refModuli)
	a.refOnly.merge(&b.refOnly)
	a.npuOnly.merge(&b.npuOnly)
	a.replaced.merge(&b.replaced)
	a.replacedRelative.merge(b.replacedRelative)
}

// tree joins nodes in their order. Two nodes of 2^k leaves each make one of
// 2^(k+1), as when a binary counter counts up, so that the shape of the tree
// depends on the number of leaves alone.
type tree struct {
	stack []subtree
}

type subtree struct {
	node
	leaves int64
}

// pairs reports whether a subtree and the next one of a number of leaves make one.
func (s *subtree) pairs(leaves int64) bool {
	return s.leaves == leaves && leaves&(leaves-1) == 0
}

// add appends a node that covers a number of leaves.
func (t *tree) add(n *node, leaves int64) {
	last := len(t.stack) - 1
	if last < 0 || !t.stack[last].pairs(leaves) {
		t.stack = append(t.stack, subtree{*n, leaves})
		return
	}
	t.stack[last].merge(n)
	t.stack[last].leaves += leaves
	for ; last > 0 && t.stack[last-1].pairs(t.stack[last].leaves); last-- {
		t.join()
	}
}

// join replaces the last two nodes by one.
func (t *tree) join() {
	k := len(t.stack) - 1
	a, b := &t.stack[k-1], &t.stack[k]
	a.merge(&b.node)
	a.leaves += b.leaves
	t.stack = t.stack[:k]
}

// root joins what is left, the last nodes first.
func (t *tree) root() *node {
	if len(t.stack) == 0 {
		return &node{}
	}
	for len(t.stack) > 1 {
		t.join()
	}
	return &t.stack[0].node
}
