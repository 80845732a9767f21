// Package inspect tells what is in dump files and .npy arrays: the operator,
// every tensor's description and, if asked for, statistics of its elements. It
// reads files and prints nothing but their JSON form; text for people is made
// from its results.
package inspect

import (
	"context"
	"errors"
	"strings"
	"sync"

	"dumptool/internal/batch"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Options says how files are inspected.
type Options struct {
	// Stats asks for statistics, for which every tensor is read once.
	Stats bool
	// Version forces the container: 1, 2, or 0 to tell from the content.
	Version int
	// Workers is the number of files read at a time; 0 means one per CPU.
	Workers int
}

// File is what was found in one file.
type File struct {
	Entry tensorfile.Entry
	// Container is the way the file is built, empty when that is unknown.
	Container string
	// Name is what the file's name says; HasName is false when it is not that
	// of a dump.
	Name    dumpfmt.Name
	HasName bool
	// OpType, OpName and DumpTime (microseconds) are empty and 0 where neither
	// the file nor, in its stead, its name tells.
	OpType   string
	OpName   string
	DumpTime uint64
	Inputs   []Tensor
	Outputs  []Tensor
	Buffers  []Blob
	Spaces   []Blob
	// OpDebug is set when the outputs are overflow records.
	OpDebug bool
	// Sliced is set for a thread's part of an operator (FFTS+).
	Sliced   bool
	Warnings []string
	// NotDump is set for a file that is no dump and does not claim to be one.
	NotDump bool
	// Err tells why the file could not be read.
	Err error
}

// Tensor is one tensor of a file. Its Data is nil: the file has been closed.
type Tensor struct {
	tensor.Tensor
	Kind  tensorfile.Kind
	Index int
	// Slice is the shape of the thread's part in a Sliced file.
	Slice tensor.Shape
	// Record is the overflow record that an output of an OpDebug file holds.
	Record *opdebug.Record
	// Stats are those of all stored elements, the padding of device layouts
	// included; nil when they were not asked for.
	Stats *tensor.Summary
	// Err tells why the tensor cannot be used.
	Err error
}

// Blob is an on-chip buffer (type 0: L1) or a workspace (type 0: a log).
type Blob struct {
	Type int32
	Size int64
}

// Failed reports whether the file or any of its tensors cannot be used.
func (f *File) Failed() bool {
	if f.Err != nil {
		return true
	}
	for _, list := range [][]Tensor{f.Inputs, f.Outputs} {
		for i := range list {
			if list[i].Err != nil {
				return true
			}
		}
	}
	return false
}

// Summary counts what a run found.
type Summary struct {
	Files    int // dumps and arrays without a failure
	Failed   int // files with a failure
	NotDumps int // files that are neither dumps nor arrays
}

// Run inspects the files and hands the results to emit in their order. An
// error of emit ends the run and is returned.
func Run(ctx context.Context, opt Options, entries []tensorfile.Entry, observe func(batch.Event), emit func(*File) error) (Summary, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var sum Summary
	var broken error
	workers := sync.Pool{New: func() any { return &worker{opt: opt} }}
	err := batch.Run(ctx, batch.Options{Workers: opt.Workers, Budget: memoryBudget, Observe: observe}, entries,
		opt.cost,
		func(ctx context.Context, e tensorfile.Entry) *File {
			w := workers.Get().(*worker)
			defer workers.Put(w)
			return w.file(ctx, e)
		},
		func(_ int, f *File) {
			// A file that was interrupted half-way is no result.
			if broken != nil || errors.Is(f.Err, context.Canceled) {
				return
			}
			sum.add(f)
			if broken = emit(f); broken != nil {
				cancel()
			}
		})
	if broken != nil {
		return sum, broken
	}
	return sum, err
}

func (s *Summary) add(f *File) {
	switch {
	case f.NotDump:
		s.NotDumps++
	case f.Failed():
		s.Failed++
	default:
		s.Files++
	}
}

// memoryBudget bounds what the workers of a run hold together, in bytes.
const memoryBudget = 96 << 20

// cost estimates the memory that a file takes.
func (o Options) cost(e tensorfile.Entry) int64 {
	const (
		header = 512 << 10
		panels = 8 << 20 // to read an array in Fortran order
	)
	switch {
	case !o.Stats:
		return header
	case isArrayName(e.Name):
		return header + 2*maxBlock + panels
	}
	return header + 2*maxBlock
}

// isArrayName reports whether a file's name claims that it is a .npy array.
func isArrayName(name string) bool { return strings.HasSuffix(name, ".npy") }
