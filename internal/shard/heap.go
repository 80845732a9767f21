package shard

// sink puts element i of a heap, which has changed and does not come before what it
// was, in its place, so that the one before all others is the first.
func sink[T any](heap []T, i int, before func(a, b T) bool) {
	for {
		least := i
		for _, child := range []int{2*i + 1, 2*i + 2} {
			if child < len(heap) && before(heap[child], heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}
