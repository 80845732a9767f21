// Package execute compares the pairs of a plan with a pool of workers and fills in their rows: shapes, metrics,
// noise, patterns, the status by limits. A row depends only on its pair and the options; rows are judged together in
// package conclude. Start at executor.compare in pair.go.
package execute
