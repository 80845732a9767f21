// Package diagnose says why a tensor is bad and which operator was the first.
//
// Patterns looks at one failing pair: was the output never written, shifted by
// a row, read as the wrong type? Uneven looks at how the errors spread along
// the axes. Network looks at all operators of a run: an operator with bad
// inputs is not the suspect, one that makes a big error of a small one is.
// A bad input clears an operator only if it is comparably bad: a few elements
// that fail by accumulated rounding explain no tensor of zeros.
//
// The rules that the HPAA manual documents (jumps of the mean relative error
// and of the correlation, uneven axes, NaN on one or both sides) have a high
// confidence where their numbers are documented too; the other rules are ours.
// Every finding tells the numbers it rests on and what they were held against.
//
// Notation: n is an element of the NPU tensor, r the one of the reference at
// the same place, d = n - r. All results are functions of the inputs alone:
// what is sampled is sampled at places that depend on the sizes only.
package diagnose
