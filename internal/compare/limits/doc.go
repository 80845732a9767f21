// Package limits judges one pair by its numbers: tolerances by element type, gates on metrics
// of a whole tensor, policies for NaN, and the result of a row under other limits than it was
// compared with. It reads no files and sees no other rows.
package limits
