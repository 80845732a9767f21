// Package check says which operators of a run computed wrong, from the run alone: each is
// computed again from its own inputs.
package check
