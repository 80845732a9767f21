// Package conclude turns compared rows into a report: Options.judgeRounds judges each round, Options.setTotals adds the
// totals. Runs, merged documents, documents that are judged again, recomputed operators and ranks all go through
// these two functions. The package reads documents and baselines, no tensors. Start at Report.
package conclude
