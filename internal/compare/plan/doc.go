// Package plan pairs the tensors of two runs: New lists both sides, pairs their rounds (ranks, steps, graphs) and
// their tensors, and sorts the pairs by execution order. It reads headers and a few samples, no tensor data. Tensors
// of ranks that are sharded differently from the reference are located in the reference here (unshard*.go). A Planner
// is the state of the work, a Plan the result. Start at New and Planner.pairTensors.
package plan
