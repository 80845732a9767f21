// Package limits judges single pairs by their numbers: tolerances by element type, gates on metrics of a whole
// tensor, policies for NaN, and the result of a compared row under other limits. It reads no files and no other rows.
// Start at Verdict.Judge.
package limits
