// Package metrics compares two tensors in one pass over both, in float64 and block by
// block: it counts the classes of their elements and the elements beyond the limits, and
// computes every metric.
//
// Notation: n is an element of the NPU tensor, r the element of the reference at
// the same place, d = n - r. Metrics are over the pairs that are finite on both
// sides unless they say otherwise; elements that are not finite are only counted,
// by class.
//
// A result depends only on the two tensors and the request: blocks have fixed borders
// and their sums merge in a fixed tree, so the result has the same bits for any read
// size and any number of goroutines.
//
// For complex elements |d| and |r| are moduli, and the statistics of a side are over
// moduli. The modulus of an element is at most the largest float64. Sums of products and
// of signed differences (cosine, Pearson, scale, bias, mean and deviation of d) take the
// real and the imaginary parts as separate values. A real side beside a complex one has
// imaginary parts 0.
//
// 64-bit integers enter the sums as float64 values, but two different integers always have
// a difference other than 0. Beside complex elements they are rounded to float64 first.
//
// Sums are plain float64. Metrics over squares are undefined if a magnitude (of n, r or d,
// as the metric needs) reaches 2^400 or all are at most 2^-400. A sum of magnitudes beyond
// the range of float64 is +inf. A |d| beyond it is +inf too, and passes no limits.
//
// The package knows nothing of files, names and verdicts.
package metrics
