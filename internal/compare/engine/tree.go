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

func (a *node) merged(b *node) *node {
	return &node{
		pair:             a.pair.merged(b.pair),
		relative:         a.relative.merged(b.relative),
		ulps:             a.ulps.merged(b.ulps),
		errors:           a.errors.merged(b.errors),
		cellErrors:       a.cellErrors.merged(b.cellErrors),
		npuModuli:        a.npuModuli.merged(b.npuModuli),
		refModuli:        a.refModuli.merged(b.refModuli),
		refOnly:          a.refOnly.merged(b.refOnly),
		npuOnly:          a.npuOnly.merged(b.npuOnly),
		replaced:         a.replaced.merged(b.replaced),
		replacedRelative: a.replacedRelative.merged(b.replacedRelative),
	}
}

// tree joins nodes in their order. Two nodes of 2^k leaves each make one of
// 2^(k+1), as when a binary counter counts up, so that the shape of the tree
// depends on the number of leaves alone.
type tree struct {
	stack []subtree
}

type subtree struct {
	node   *node
	leaves int64
}

// add appends a node that covers a number of leaves.
func (t *tree) add(n *node, leaves int64) {
	t.stack = append(t.stack, subtree{n, leaves})
	for len(t.stack) >= 2 {
		a, b := t.stack[len(t.stack)-2], t.stack[len(t.stack)-1]
		if a.leaves != b.leaves || a.leaves&(a.leaves-1) != 0 {
			return
		}
		t.join()
	}
}

// join replaces the last two nodes by one.
func (t *tree) join() {
	k := len(t.stack)
	a, b := t.stack[k-2], t.stack[k-1]
	t.stack = append(t.stack[:k-2], subtree{a.node.merged(b.node), a.leaves + b.leaves})
}

// root joins what is left, the last nodes first.
func (t *tree) root() *node {
	if len(t.stack) == 0 {
		return &node{}
	}
	for len(t.stack) > 1 {
		t.join()
	}
	return t.stack[0].node
}
