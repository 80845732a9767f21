// Package metrics computes what one pair of tensors has to say about their
// agreement: the classes of their elements, the elements beyond the limits, and
// every metric, in one pass over both, in float64 and block by block.
//
// Notation: n is an element of the NPU tensor, r the one of the reference at
// the same place, d = n - r. Metrics are over the pairs that are finite on both
// sides unless they say otherwise; the elements that are not finite are counted
// by class.
//
// A result is a function of the two tensors and the request alone: blocks have
// fixed borders and their sums merge in a fixed tree, so that it has the same
// bits whatever is read at a time and whoever computes it.
//
// Of complex elements |d| and |r| are moduli, and so are the values that the
// statistics of a side are over. The modulus of an element is at most the largest
// float64. Sums of products and of signed differences
// (cosine, Pearson, scale, bias, mean and deviation of d) run over the parts as
// values of their own. A real side has imaginary parts 0.
//
// Differences of integers are exact until they are rounded to float64, also
// those of 64 bits. Beside complex elements such integers are rounded before.
//
// The package knows nothing of files, names and verdicts.
package metrics
