// Package trace opens the dump of a run of many ranks: the calls of every rank in every step, their tensors, and what
// each communication sends and receives. It determines the order of the calls of a rank, reads elements, and compares
// tensors by digests. Start reading at Open and the types in run.go.
//
// A trace contains no judgement. Package ranks judges a trace without a reference; package unshard finds the
// positions of its tensors in a reference.
package trace
