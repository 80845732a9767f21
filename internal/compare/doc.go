// Package compare says whether the tensors of an NPU run agree with those of a
// reference run, and if they do not, which operator went wrong first and why.
//
// It lists both sides, pairs their tensors by name (package pairing), compares
// every pair (package engine), judges the numbers by limits, and looks for the
// cause (package diagnose). The result is a Report; package report prints it.
package compare
