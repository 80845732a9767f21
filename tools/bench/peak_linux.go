package main

import (
	"os"
	"syscall"
)

// peakMemory returns the most bytes that an ended process had in memory.
func peakMemory(p *os.ProcessState) int64 {
	if usage, ok := p.SysUsage().(*syscall.Rusage); ok {
		return int64(usage.Maxrss) * 1024 //nolint:unconvert // 32 bits wide on some machines
	}
	return 0
}

// leastPeak returns what peakMemory returns at least, for a process started now.
func leastPeak() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return int64(usage.Maxrss) * 1024 //nolint:unconvert // 32 bits wide on some machines
}
