// Package plan pairs the tensors of two runs: New lists both sides, pairs their rounds (ranks,
// steps, graphs) and their tensors, and puts the pairs in execution order. It reads headers and
// a few samples, no tensor data. A Planner has the intermediate state, a Plan is the result.
// Tensors of ranks that are sharded differently from the reference are located in the reference
// here (unshard*.go). Start at New and Planner.pairTensors.
package plan
