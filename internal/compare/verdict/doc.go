// Package verdict knows rounding from faults. It judges a tensor by the error that
// its operator adds, not by the error that it has: what rounding and the errors of
// the inputs may make of it is bounded, exactly for operators such as Relu and Add,
// by the spread of what they normalise for norms, by the relative error in several
// views of the input for products of matrices. An operator whose error exceeds the
// bound, or has a form that rounding does not have, is an origin.
//
// The bounds and limits were found by experiments with simulated networks of all
// families, healthy and faulty ones; ill-conditioned operators were among them.
package verdict
