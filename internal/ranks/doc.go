// Package ranks judges a run of many ranks by what it says itself: what one rank sent
// another received, what was summed can be summed again, and what must be equal is. It
// finds the groups that communicate, makes events of the calls of their members,
// computes what each member ought to hold, and sets replicas of weights and activations
// beside each other. What is wrong is named by rank, operator and kind, in the order of
// cause.
//
// What single operators ought to compute from their inputs is package recompute's.
// Where a tensor lies in a reference that is sharded otherwise, locate says.
package ranks
