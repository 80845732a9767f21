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
// Integers of 64 bits count by their float64 values, but two that differ have a difference
// that is not 0. Beside complex elements they are rounded before.
//
// Sums are plain float64: metrics over squares are undefined where magnitudes, of n, r or
// d as the metric needs them, reach 2^400 or all are at most 2^-400. A sum of magnitudes
// beyond the range of float64 is +inf, and so is |d|, which then passes by no limits.
//
// The package knows nothing of files, names and verdicts.
package metrics
