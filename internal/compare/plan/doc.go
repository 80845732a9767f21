// Package plan pairs the tensors of two runs: New lists both sides, pairs their rounds (ranks,
// steps, graphs) and their tensors, and puts the pairs in execution order. It reads headers and
// a few samples, no tensor data. What it needs on the way is in a Planner, the result is a
// Plan. Tensors of ranks that are sharded otherwise than the reference get their place in it
// here (unshard*.go). Start at New and Planner.pairTensors.
package plan
