// Package ranks judges a run of many ranks without a reference: a receiver should hold what the sender sent, a
// reduction is computed again, and replicas should be equal. It reads a trace.Run and returns a Report.
//
// Start reading at Run.Judge (judge.go).
//   - groups, infer: which ranks communicate with each other, from the dump or from values
//   - events: the matching calls of all members of a group
//   - collective, copies, reduction, splits, explain: the expected output of each member, and the fault that
//     explains another output
//   - replicas, twice, numbers: equal weights, equal results of equal inputs, NaN
//   - misplaced: wrong data and wrong experts, by a reference
//   - judge, clock, matrix: all findings in causal order, and what each may have damaged
//
// Findings of check and compare about single operators come in by Options.Others. Package trace opens the run;
// package unshard finds the positions of its tensors in a reference.
package ranks
