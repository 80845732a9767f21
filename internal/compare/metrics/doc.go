// Package metrics compares two tensors in one pass over both, in float64 and block by block: it counts the classes of
// elements and the elements beyond the limits, and computes every metric. Start at Engine.Compare and block.compute.
// It reads no files and gives no verdicts.
//
// Notation: n is an element of the NPU tensor, r the element of the reference at the same place, d = n - r. Metrics
// are over the pairs that are finite on both sides unless they say otherwise.
//
// A result depends only on the tensors and the request: blocks have fixed borders and their sums merge in a fixed
// tree, so that the bits are the same for any read size and any number of goroutines.
//
// Complex elements: |d| and |r| are moduli, at most the largest float64, and so are the statistics of a side. Cosine,
// Pearson, scale, bias, mean and deviation of d take real and imaginary parts as separate values. 64-bit integers
// enter the sums as float64, but two different integers always differ. Metrics over squares are undefined if a
// magnitude reaches 2^400 or all are at most 2^-400. A sum of magnitudes or a |d| beyond the range of float64 is
// +inf.
package metrics
