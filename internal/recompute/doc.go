// Package recompute says what an operator should have computed: it takes the inputs and
// outputs of one execution, computes the outputs again in float64 and judges the
// difference by bounds of its own, without any reference run.
//
// An operator is a row of the table in table_*.go: all its names, how noise passes through it
// for comparisons with a reference, and its formula, which is written once over arrays of
// triples: the value, and what a healthy NPU may be off in two ways of computing. The narrow way has
// float32 inside, the wide one float16 and tables of functions. What an operator of that
// formula may be cut into, and what it takes its attributes from, are columns of the row.
package recompute
