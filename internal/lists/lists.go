// Package lists has loops over slices that the standard library lacks. All results are nil if there is nothing in them.
package lists

// Map returns the result of f for each element.
func Map[E, R any](all []E, f func(E) R) (results []R) {
	for _, e := range all {
		results = append(results, f(e))
	}
	return results
}

// Filter returns the elements that satisfy keep, in a new slice.
func Filter[E any](all []E, keep func(E) bool) (kept []E) {
	for _, e := range all {
		if keep(e) {
			kept = append(kept, e)
		}
	}
	return kept
}

// Count returns the number of elements that satisfy is.
func Count[E any](all []E, is func(E) bool) int {
	n := 0
	for _, e := range all {
		if is(e) {
			n++
		}
	}
	return n
}
