// Package check finds the operators of a run that computed wrong results, without a reference: it computes each
// operator again from its own dumped inputs (package recompute) and compares the outputs.
//
// Run takes an opened run and returns a Report with a row for each operator. Start reading at Run and
// execution.judge.
//
// An execution opens the tensors of an operator and binds them to a formula: call.go binds calls of PyTorch and
// MindSpore by their arguments, backward.go binds backward calls, execution.go CANN operators. producers.go and
// contradiction.go look for inputs that changed after the operator read them, peers.go compares equal operators with
// each other, and ranks.go adds the judgement of communication and replicas (package ranks). RecomputeOperators
// serves a comparison.
package check
