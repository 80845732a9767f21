package convert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/layout"
	"dumptool/internal/safefile"
	"dumptool/internal/tensorfile"
)

// Summary counts what a run did.
type Summary struct {
	Files    int // dumps that were converted without a failure
	Failed   int // files with a failure
	NotDumps int // files that are no dumps
	Written  int // output files
	Skipped  int // output files that existed and were kept
}

// memoryBudget bounds what the workers of a run hold together, in bytes.
const memoryBudget = 96 << 20

// Run converts the files and hands the results to emit in their order. Then it
// writes the list of failures and the mapping of shortened names. The error is
// the context's, or one of writing these two.
func Run(ctx context.Context, opt Options, in *tensorfile.Listing, observe func(batch.Event), emit func(Result)) (Summary, error) {
	c := &converter{opt: opt, alone: in.Alone()}
	c.workers.New = func() any { return &worker{converter: c} }
	var sum Summary
	var failed []string
	shortened := map[string][]string{} // by folder
	err := batch.Run(ctx, batch.Options{Workers: opt.workers(), Budget: memoryBudget, Observe: observe}, jobs(in.Entries),
		func(j Job) int64 { return c.cost(j) },
		func(ctx context.Context, j Job) Result {
			w := c.workers.Get().(*worker)
			defer c.workers.Put(w)
			return w.file(ctx, j)
		},
		func(_ int, r Result) {
			sum.add(&r)
			if line, ok := failedLine(&r); ok {
				failed = append(failed, line)
			}
			for _, row := range r.Rows {
				if row.Original != "" && row.Err == nil {
					dir, name := filepath.Split(row.Path)
					shortened[dir] = append(shortened[dir], name+","+row.Original)
				}
			}
			emit(r)
		})
	if !in.Alone() {
		err = errors.Join(err, writeFailedList(opt.Out, failed))
	}
	return sum, errors.Join(err, writeMappings(shortened))
}

// Job is one file to convert.
type Job struct {
	tensorfile.Entry
	// Base begins the names of the file's outputs.
	Base string
	// Product is set for an array beside the dump that it was made from.
	Product bool
}

// jobs makes a job of every file. A file whose outputs would have the names of
// an earlier one's fails.
func jobs(entries []tensorfile.Entry) []Job {
	type place struct{ dir, base string }
	seen := map[place]string{}
	present := map[place]bool{}
	for _, e := range entries {
		present[place{e.Dir, e.Name}] = true
	}
	all := make([]Job, len(entries))
	for i, e := range entries {
		all[i] = Job{Entry: e, Base: safeName(e.Name)}
		if e.Err != nil {
			continue
		}
		if m := productName.FindStringSubmatch(e.Name); m != nil && present[place{e.Dir, m[1]}] {
			all[i].Product = true
			continue
		}
		at := place{e.Dir, all[i].Base}
		if first, ok := seen[at]; ok {
			all[i].Err = fmt.Errorf("its outputs would have the same names as those of %s", first)
			continue
		}
		seen[at] = e.Path
	}
	return all
}

// productName is the name of an array that was made from a dump.
var productName = regexp.MustCompile(`^(.+)\.(?:input|output)\.[0-9]+(?:\.[^.]*)?\.npy$`)

// cost estimates the memory that a file takes.
func (c *converter) cost(j Job) int64 {
	const base = 2 << 20
	if c.opt.Target == nil {
		return base
	}
	return base + min(2*j.Size, layout.BufferBytes+maxScratchMemory)
}

func (s *Summary) add(r *Result) {
	switch {
	case r.NotDump:
		s.NotDumps++
	case r.Failed():
		s.Failed++
	default:
		s.Files++
	}
	for _, row := range r.Rows {
		switch {
		case row.Err != nil:
		case row.Skipped:
			s.Skipped++
		default:
			s.Written++
		}
	}
}

// failedListName is the file in the output folder that lists what failed.
const failedListName = "convert_failed_file_list.txt"

// failedLine is the line of a file in the list of failures: its path, then each
// failed tensor as ,input:0 or ,output:0.
func failedLine(r *Result) (string, bool) {
	var line strings.Builder
	line.WriteString(strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(r.Job.Path))
	failed := r.Err != nil && !errors.Is(r.Err, context.Canceled)
	for _, row := range r.Rows {
		// What an interruption cut short has not failed.
		if row.Err != nil && !errors.Is(row.Err, context.Canceled) {
			failed = true
			fmt.Fprintf(&line, ",%s:%d", row.Kind, row.Index)
		}
	}
	return line.String(), failed
}

// writeFailedList writes the list of this run's failures; without any it
// removes the list of an earlier run.
func writeFailedList(out string, lines []string) error {
	path := filepath.Join(out, failedListName)
	if len(lines) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := safefile.MkdirAll(out); err != nil {
		return err
	}
	return safefile.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"))
}

// writeMappings adds lines to the mapping.csv of folders. Lines that are there
// already stay.
func writeMappings(shortened map[string][]string) error {
	var all error
	for dir, lines := range shortened {
		all = errors.Join(all, writeMapping(filepath.Join(dir, tensorfile.MappingName), lines))
	}
	return all
}

func writeMapping(path string, lines []string) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	known, err := dumpfmt.ReadMapping(bytes.NewReader(old))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var added []byte
	slices.Sort(lines)
	for _, line := range lines {
		stored, original, _ := strings.Cut(line, ",")
		if have, ok := known.Original(stored); !ok || have != original {
			added = append(added, line+"\n"...)
		}
	}
	if len(added) == 0 {
		return nil
	}
	if len(old) > 0 && old[len(old)-1] != '\n' {
		added = append([]byte{'\n'}, added...)
	}
	// One write at the end, so that runs at the same time do not lose lines.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(added)
	return errors.Join(err, f.Close())
}
