package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"
)

// sample is one run of a process.
type sample struct {
	wall time.Duration
	peak int64 // most bytes in memory at a time, 0 where that is not known
}

// measure runs a process to its end. It has no terminal and its messages are
// kept for an error.
//
// Linux counts the peak of a process from that of the one that started it, so
// this program must stay small: it has its trees made by another process.
func measure(ctx context.Context, name string, args ...string) (sample, error) {
	cmd := command(ctx, name, args...)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	start := time.Now()
	err := cmd.Run()
	s := sample{wall: time.Since(start)}
	if err != nil {
		return s, fmt.Errorf("%s: %w\n%s", cmd, err, messages.Bytes())
	}
	s.peak = peakMemory(cmd.ProcessState)
	return s, nil
}

// command is a process that is interrupted when ctx ends, so that it can remove
// its temporary files.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// median returns the middle value, the mean of the two in the middle of an even
// number of them. There must be one.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// ratios divides the times of one job by those that another one took in the
// same rounds.
func ratios(job, base []sample) []float64 {
	out := make([]float64, len(job))
	for i := range job {
		out[i] = job[i].wall.Seconds() / base[i].wall.Seconds()
	}
	return out
}

// seconds returns the times of the samples.
func seconds(samples []sample) []float64 {
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = s.wall.Seconds()
	}
	return out
}

// peak returns the highest peak of the samples.
func peak(samples []sample) int64 {
	var top int64
	for _, s := range samples {
		top = max(top, s.peak)
	}
	return top
}
