// Package overflow finds the operator that overflowed first: it reads overflow
// records, matches them with the dumps of their operators, and judges the
// tensors.
package overflow
