// Package limits judges one pair by its numbers: tolerances by element type, gates on metrics
// of a whole tensor, policies for NaN, and what a row is by other limits than it was compared
// with. It sees neither files nor other rows.
package limits
