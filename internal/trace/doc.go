// Package trace is a run of many ranks as its dump has it: the calls of every rank in every step,
// their tensors, and what each communication sends and receives. It says in which order the calls
// of a rank were made, reads elements, and compares tensors by digests.
//
// A trace judges nothing. Package ranks judges a trace by itself; package unshard finds where its
// tensors lie in a reference.
package trace
