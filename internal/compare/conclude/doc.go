// Package conclude turns rows into a report: it judges each round (Options.judgeRounds) and sums
// up (Options.sumUp). Runs, merged documents, judgements of documents, recomputed operators
// and ranks all go through these two functions. It reads documents and baselines, no tensors.
package conclude
