// Package diagnose says why a tensor is bad and which operator was the first.
//
// It has two halves. Examine inspects the tensors of one failing pair: was the
// output never written, moved by a row, read as the wrong type, and how do the
// errors spread along the axes? Conclude reads no tensors. It judges all rows of a
// run by their metrics, their evidence and the graph: an operator with bad inputs
// is not the suspect, one that makes a big error of a small one is. A bad input
// explains the output only if their errors are comparable: a few elements that
// fail by accumulated rounding do not explain a tensor of zeros.
//
// The rules that the HPAA manual documents (jumps of the mean relative error and
// of the correlation, uneven axes, NaN on one or both sides) have a high
// confidence where their limits are documented too; the other rules are ours.
// The evidence of a finding gives the numbers and their limits.
//
// Notation: n is an element of the NPU tensor, r the element of the reference at
// the same offset, d = n - r. RED is sqrt(sum d^2 / sum r^2). All results are
// functions of the inputs alone: the offsets of a sample depend on sizes only.
package diagnose
