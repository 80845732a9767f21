package metrics

import "dumptool/internal/tensor"

// node is a node of the tree of sums: the sums of a block, or of two nodes.
type node struct {
	pair
	// relative is the sum of |d|/|r|, ulps the sum of the distances in units of the last
	// place. errors and hpaaErrors are the sums of |d| over the errors.
	relative, ulps, errors, hpaaErrors tensor.Sum
	// Of complex elements the moduli of both sides.
	npuModuli, refModuli moment
	// refOnly and npuOnly are the finite elements whose partner is not finite.
	refOnly, npuOnly moment
	// replaced are the reference elements of pairs that are not finite, as HPAA
	// replaces them, and replacedRelative their |d|/|r|.
	replaced         moment
	replacedRelative tensor.Sum
}

// merge adds the node that follows.
func (a *node) merge(b *node) {
	a.pair.merge(&b.pair)
	a.relative = a.relative.Merge(b.relative)
	a.ulps = a.ulps.Merge(b.ulps)
	a.errors = a.errors.Merge(b.errors)
	a.hpaaErrors = a.hpaaErrors.Merge(b.hpaaErrors)
	a.npuModuli.merge(&b.npuModuli)
	a.refModuli.merge(&b.refModuli)
	a.refOnly.merge(&b.refOnly)
	a.npuOnly.merge(&b.npuOnly)
	a.replaced.merge(&b.replaced)
	a.replacedRelative = a.replacedRelative.Merge(b.replacedRelative)
}

// tree joins nodes in their order. Two nodes of 2^k blocks each make one of
// 2^(k+1), as when a binary counter counts up, so that the shape of the tree
// depends on the number of blocks alone.
type tree struct {
	stack []subtree
}

type subtree struct {
	node
	blocks int64
}

// pairs reports whether a subtree and the next one of a number of blocks make one.
func (s *subtree) pairs(blocks int64) bool {
	return s.blocks == blocks && blocks&(blocks-1) == 0
}

// add appends a node that covers a number of blocks.
func (t *tree) add(n *node, blocks int64) {
	last := len(t.stack) - 1
	if last < 0 || !t.stack[last].pairs(blocks) {
		t.stack = append(t.stack, subtree{*n, blocks})
		return
	}
	t.stack[last].merge(n)
	t.stack[last].blocks += blocks
	for ; last > 0 && t.stack[last-1].pairs(t.stack[last].blocks); last-- {
		t.join()
	}
}

// join replaces the last two nodes by one.
func (t *tree) join() {
	k := len(t.stack) - 1
	a, b := &t.stack[k-1], &t.stack[k]
	a.merge(&b.node)
	a.blocks += b.blocks
	t.stack = t.stack[:k]
}

// root joins the remaining nodes, the last ones first.
func (t *tree) root() *node {
	if len(t.stack) == 0 {
		return &node{}
	}
	for len(t.stack) > 1 {
		t.join()
	}
	return &t.stack[0].node
}
