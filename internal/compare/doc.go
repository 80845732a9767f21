// Package compare says whether the tensors of an NPU run agree with those of a
// reference run, and if they do not, which operator went wrong first and why.
//
// It lists both sides, pairs their tensors by name (package pair), compares
// every pair (packages align and metrics), judges the numbers by limits, and looks for the
// cause (package diagnose). The result is a Report; package report prints it.
package compare
