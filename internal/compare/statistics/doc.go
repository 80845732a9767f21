// Package statistics judges the rows of a round of which only statistics are known: the
// largest and smallest element, the mean and the norm of each tensor, or a digest.
//
// The differences of these four numbers are lower bounds of the error of a tensor, never
// more. So a row is judged by what it differs beside the noise that its operator may have:
// a level of noise, the root mean square of the differences beside that of the reference,
// is carried from operator to operator. What an operator makes of it is predicted by its
// class (expect.go) and corrected down by what its own numbers show
// (outputs.go). Who feeds whom is found in the reference alone: an input whose statistics
// are those of an earlier output was made by it (inputs.go). What is the same there - a
// copy, a tensor that is read twice - must be the same on the NPU.
//
// A tensor that nobody made must be equal as printed; where it is not, the runs did not
// start alike. What follows from that, from an origin, from other random numbers or from
// another choice among near ties is tainted: there only NaN, zeros, constants and factors of
// ten count.
package statistics
