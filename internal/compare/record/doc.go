// Package record holds what a comparison found: rows, findings and the report
// of a run, as they are kept in compare.json.
//
// A Report is written by Write and read by Read. Baselines and later judgements
// use the same types, so that a run can be concluded and judged again without
// its tensors.
package record
