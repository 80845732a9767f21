//go:build !linux

package main

import "os"

// peakMemory is 0, not known: systems count in different units, or not at all.
func peakMemory(*os.ProcessState) int64 { return 0 }

// leastPeak returns what peakMemory returns at least.
func leastPeak() int64 { return 0 }

// settle does nothing: systems differ in how it is asked for.
func settle() {}
