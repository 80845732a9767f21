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

// settle waits until what was written is on the disk: the system writes it while jobs run
// otherwise, for half a minute, and takes a part of their processors.
func settle() { syscall.Sync() }
