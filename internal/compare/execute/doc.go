// Package execute compares the pairs of a plan over a pool of workers and fills in their rows:
// shapes, metrics, noise, patterns, the status by limits. A row depends on its pair and the
// options only. Start at executor.compare in pair.go. Nothing is judged across rows here.
package execute
