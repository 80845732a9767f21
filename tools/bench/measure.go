package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sample is a measured run of a process.
type sample struct {
	wall time.Duration
	peak int64 // peak memory in bytes, 0 if unknown
}

// measure runs a process to its end. It has no terminal, and its messages become part of an error.
//
// Linux counts the peak memory of a process from the memory of its parent, so this program must stay small: another
// process generates the trees.
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

// command returns a process to be interrupted when ctx ends, so that it can remove its temporary files.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// median returns the median of at least one value.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// ratios divides the times of a job by the times of another job in the same rounds.
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

// Targets.
const (
	plainTarget   = 0.8 // as a multiple of cp -r
	formatTarget  = 1.1 // as a multiple of cp -r
	scanTarget    = 1.5 // as a multiple of cat
	inspectTarget = 1.5 // as a multiple of cat
	compareTarget = 3.5 // as a multiple of cat
	importTarget  = 3.0 // as a multiple of cat, which does not write
	// containerTarget is a multiple of .npy: equal speed, with a margin for noise.
	containerTarget = 1.1
	memoryTarget    = 256 << 20
	pairTarget      = 8 << 10 // bytes per pair of many small pairs
	versionTarget   = 15 * time.Millisecond
	binaryTarget    = 30 << 20
)

// result is a line of the report.
type result struct {
	job, measured, target string
	verdict               string
	note                  string
}

const (
	fine   = "ok"
	missed = "MISSED"
)

func verdict(ok bool) string {
	if ok {
		return fine
	}
	return missed
}

// speedResult compares the times of a job with the times of another job.
func speedResult(job string, samples []sample, yardstick string, other []sample, target float64) result {
	all := ratios(samples, other)
	m := median(all)
	return result{
		job: job, measured: fmt.Sprintf("%.2f x %s", m, yardstick), target: fmt.Sprintf("<= %g x", target), verdict: verdict(m <= target),
		note: fmt.Sprintf("%.2f to %.2f in %d runs; %.2f s, %s %.2f s",
			slices.Min(all), slices.Max(all), len(all), median(seconds(samples)), yardstick, median(seconds(other))),
	}
}

// memoryResult compares the peak memory of a job with its target.
func memoryResult(job string, samples []sample, target int64) result {
	r := result{job: job + ", peak memory", target: "<= " + mib(target)}
	top := peak(samples)
	if top == 0 {
		r.measured, r.verdict = "not known", "-"
		return r
	}
	r.measured, r.verdict = mib(top), verdict(top <= target)
	if top <= leastPeak() {
		r.measured = "<= " + r.measured
	}
	return r
}

// mib formats a size in MiB, with one decimal unless it is 0.
func mib(bytes int64) string {
	return strconv.FormatFloat(math.Round(float64(bytes)/(1<<20)*10)/10, 'f', -1, 64) + " MiB"
}

// printResults prints the table of all results.
func printResults(w io.Writer, results []result) error {
	rows := [][5]string{{"JOB", "MEASURED", "TARGET", "", "DETAILS"}}
	for _, r := range results {
		rows = append(rows, [...]string{r.job, r.measured, r.target, r.verdict, r.note})
	}
	var width [5]int
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len(cell))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		line := fmt.Sprintf("%-*s  %*s  %*s  %-*s  %s", width[0], row[0], width[1], row[1], width[2], row[2], width[3], row[3], row[4])
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}
