// Package unshard finds where the tensors of many ranks lie in a reference that is sharded
// otherwise: each axis of a tensor has a range of the reference, a permutation of it, or all of
// it. The values decide; names only say which tensors to try.
//
//   - Locate runs the steps below for the ranks of a step.
//   - join makes one rank of a reference of several ranks.
//   - locate compares arrays and learns maps. A map that one layer has is tried first in the next.
//   - given notes the data and the experts of the reference that each rank has.
//   - maps sums up the maps of all layers and ranks for the report.
//
// Package ranks concludes which ranks have the wrong data or experts.
package unshard
