// Package ranks judges a run of many ranks. It needs no reference: what one rank sent another one
// received, a sum can be added up again, and replicas are equal.
//
//   - groups, infer: which ranks communicate with each other, from the dump or from values
//   - events: the calls of all members of a group that belong together
//   - collective, copies, reduction, splits, explain: what each member should hold, and why it
//     holds something else
//   - replicas, twice, numbers: equal weights, equal results of equal inputs, NaN
//   - misplaced: wrong data and wrong experts, by a reference
//   - judge, clock, matrix: all findings in the order of cause, and what each may have damaged
//
// Findings of others about single operators, from check or from compare, are Options.Others.
// Package trace opens the run; package unshard says where its tensors lie in a reference.
package ranks
