// Package align brings the two tensors of a pair into one order of axes and one
// shape: it opens both files, once, and returns views of their elements that can
// be compared one by one, or says why there are none.
package align
