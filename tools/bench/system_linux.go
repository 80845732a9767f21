package main

import (
	"os"
	"syscall"
)

// peakMemory returns the peak memory of an ended process, in bytes.
func peakMemory(p *os.ProcessState) int64 {
	if usage, ok := p.SysUsage().(*syscall.Rusage); ok {
		return int64(usage.Maxrss) * 1024 //nolint:unconvert // 32 bits wide on some machines
	}
	return 0
}

// leastPeak returns the smallest peakMemory of a process started now.
func leastPeak() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return int64(usage.Maxrss) * 1024 //nolint:unconvert // 32 bits wide on some machines
}

// settle waits until written data is on the disk: otherwise the system writes it during the next jobs, for half a
// minute, and takes a part of their CPU time.
func settle() { syscall.Sync() }
