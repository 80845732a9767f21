package metrics

import "dumptool/internal/tensor"

// node is a node of the tree of sums: the sums of a block, or of two nodes.
type node struct {
	pair
	// relative is the sum of |d|/|r|, ulps the sum of the distances in ulps. errors and
	// hpaaErrors are sums of |d| over the errors.
	relative, ulps, errors, hpaaErrors tensor.Sum
	// npuModuli and refModuli are moments of the moduli of complex elements.
	npuModuli, refModuli moment
	// refOnly and npuOnly are the moments of finite elements beside a non-finite one.
	refOnly, npuOnly moment
	// HPAA replaces non-finite numbers by finite ones. For the pairs with such a number, replaced is the moment of the
	// references after this, replacedRelative the sum of |d|/|r|.
	replaced         moment
	replacedRelative tensor.Sum
}

// merge adds the next node.
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

// tree merges nodes in order. Like the digits of a binary counter, two subtrees of 2^k
// blocks merge to one of 2^(k+1), so the shape of the tree depends only on the number
// of blocks.
type tree struct {
	stack []subtree
}

type subtree struct {
	node
	blocks int64
}

// mergesWith reports whether the subtree merges with a following subtree of the given number of blocks.
func (s *subtree) mergesWith(blocks int64) bool {
	return s.blocks == blocks && blocks&(blocks-1) == 0
}

// add appends a node that covers blocks blocks.
func (t *tree) add(n *node, blocks int64) {
	last := len(t.stack) - 1
	if last < 0 || !t.stack[last].mergesWith(blocks) {
		t.stack = append(t.stack, subtree{*n, blocks})
		return
	}
	t.stack[last].merge(n)
	t.stack[last].blocks += blocks
	for ; last > 0 && t.stack[last-1].mergesWith(t.stack[last].blocks); last-- {
		t.join()
	}
}

// join merges the last two subtrees.
func (t *tree) join() {
	k := len(t.stack) - 1
	a, b := &t.stack[k-1], &t.stack[k]
	a.merge(&b.node)
	a.blocks += b.blocks
	t.stack = t.stack[:k]
}

// root merges the remaining subtrees, starting with the last two.
func (t *tree) root() *node {
	if len(t.stack) == 0 {
		return &node{}
	}
	for len(t.stack) > 1 {
		t.join()
	}
	return &t.stack[0].node
}
