package diagnose

import (
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// testRegrouped tests for positions of one axis in another order: interleaved pairs instead of two halves (rotary
// embeddings), regrouped heads, gates side by side instead of interleaved.
func testRegrouped(p *pair) lang.Sentence {
	if p.result == nil || p.errors < 4 || !p.mayBePermuted() {
		return lang.Sentence{}
	}
	_, evidence := p.findPermutation(listRegroupings(p.request.Shape))
	return evidence
}

// The longest axis that is tried, and the lengths of the blocks within which positions change places.
const maxRegrouped = 1 << 16

var regroupedBlocks = []int64{128, 64, 32, 16, 96, 80, 192, 256}

// listRegroupings lists the orders in which the positions of one axis, or of each block of it, are transposed: position
// i*parts + j of the reference is position j*(length/parts) + i of the NPU.
func listRegroupings(shape tensor.Shape) (all []order) {
	strides := shape.Strides()
	for axis := len(shape) - 1; axis >= 0; axis-- {
		n := shape[axis]
		if n > maxRegrouped {
			continue
		}
		for _, block := range append([]int64{n}, regroupedBlocks...) {
			if block > n || n%block != 0 {
				continue
			}
			for _, parts := range listPartCounts(block, block == n) {
				all = append(all, newRegrouping(shape, strides, axis, block, parts))
			}
		}
	}
	return all
}

// listPartCounts lists the numbers of parts of a block: for a whole axis all divisors up to 128 and their complementary
// divisors, for blocks within an axis 2 and half of the length.
func listPartCounts(block int64, whole bool) (all []int64) {
	if !whole {
		if block%2 == 0 {
			return []int64{2, block / 2}
		}
		return nil
	}
	const most = 128
	for parts := int64(2); parts <= min(most, block/2); parts++ {
		if block%parts == 0 {
			all = append(all, parts, block/parts)
		}
	}
	return all
}

// newRegrouping returns the order of an axis whose blocks are regrouped.
func newRegrouping(shape tensor.Shape, strides []int64, axis int, block, parts int64) order {
	o := order{text: lang.Say("the same numbers in another order: position i*%d + j of each %d of axis %d is at j*%d + i on the NPU", parts, block, axis, block/parts)}
	for k, n := range shape {
		if k != axis {
			o.shape, o.weights = append(o.shape, n), append(o.weights, strides[k])
			continue
		}
		o.shape = append(o.shape, n/block, parts, block/parts)
		o.weights = append(o.weights, strides[k]*block, strides[k], strides[k]*parts)
	}
	return o
}
