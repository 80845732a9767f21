//go:build !linux

package main

import "os"

// peakMemory returns 0, unknown: systems count in different units, or not at all.
func peakMemory(*os.ProcessState) int64 { return 0 }

// leastPeak returns 0.
func leastPeak() int64 { return 0 }

// settle does nothing: each system needs another call.
func settle() {}
