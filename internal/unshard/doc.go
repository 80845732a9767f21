// Package unshard finds the positions of tensors of many ranks in a reference that is sharded differently. For each
// axis of a tensor the result is a range of the reference, a permutation, or the whole axis. Values decide; names
// only select the candidates.
//
// Locate takes a step of the run and a step of the reference, and returns a Location for each tensor. join merges
// several ranks of a reference into one; locate compares arrays and learns maps, trying the map of one layer first in
// the next; given lists the data and the experts of the reference that each rank has; maps summarises the maps of all
// layers and ranks for the report.
//
// Package ranks judges from the result which ranks have wrong data or experts.
package unshard
