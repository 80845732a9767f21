// Package conclude makes a report of rows: it judges each round (Options.judgeRounds) and sums
// up (Options.sumUp). Runs, merges of documents, judgements of a document, recomputed operators
// and ranks all end in these two functions. It reads documents and baselines, no tensors.
package conclude
