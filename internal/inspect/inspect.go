// Package inspect describes what is in dump files and .npy arrays: the operator,
// every tensor's description and, if asked for, statistics of its elements. It
// reads files and prints nothing.
package inspect

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/filename"
	"dumptool/internal/format"
	"dumptool/internal/guard"
	"dumptool/internal/misfit"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Options says how files are inspected.
type Options struct {
	// Stats asks for statistics, for which every tensor is read once.
	Stats bool
	// Script asks for the lines of the script that operators come from, which the graphs
	// of MindSpore have and the stacks of msprobe.
	Script bool
	// Misfits asks for the lines and fields that were passed over; without it they are
	// counted.
	Misfits bool
	// Version forces the container: 1, 2, or 0 to find out from the content.
	Version int
	// Rounds and Ops choose what is shown of a run; their zero values want all.
	Rounds dumpdir.Selection
	Ops    *dumpdir.NameSet
	// Only are the files of folders that are shown, by their absolute paths; nil shows
	// all.
	Only map[string]bool
	// Workers is the number of files read at a time; 0 means one per CPU.
	Workers int
}

// File is what was found in one file.
type File struct {
	Entry *dumpdir.File
	// At says which round the file is of; Order is the place of its operator in the
	// execution order, nil if that is not known.
	At    dumpdir.Coordinates
	Order *int
	// Script is the line of the script that the operator comes from, as FILE:LINE; empty
	// where it is not known or was not asked for.
	Script string
	// Container is the way the file is built, empty when that is unknown.
	Container string
	// Name is what the file's name says; HasName is false when it is neither that
	// of a dump nor that of a tensor of one.
	Name    filename.Dump
	HasName bool
	// OpType, OpName and DumpTime (microseconds) are empty and 0 where neither
	// the file nor its name says.
	OpType   string
	OpName   string
	DumpTime uint64
	Inputs   []Tensor
	Outputs  []Tensor
	// Named is set for a file that names its tensors: they are all of Tensors, and
	// Values what it holds besides.
	Named   bool
	Tensors []Tensor
	Values  []format.Value
	Buffers []Blob
	Spaces  []Blob
	// Statistics are what a table says in place of tensors.
	Statistics []Statistics
	// Side is what is in a file that holds no tensors; nil for others, and for those
	// that were not given by themselves.
	Side *Side
	// Misfits are the lines and fields that do not fit, and were passed over.
	Misfits misfit.List
	// Partial says what of the file could not be read: the rest is there.
	Partial error
	// OpDebug is set when the outputs are overflow records.
	OpDebug bool
	// Sliced is set for a thread's part of an operator (FFTS+).
	Sliced   bool
	Warnings []string
	// NotDump is set for a file that is no dump and does not claim to be one.
	NotDump bool
	why     error // then
	// Err says why the file could not be read.
	Err error
}

// Tensor is one tensor of a file. Its Data is nil: the file has been closed.
type Tensor struct {
	tensor.Tensor
	Kind  tensor.Kind
	Index int
	// Name is the one in a file that names its tensors, Operator what that says that it
	// belongs to, and Details what else it says; empty and nil for others.
	Name     string
	Operator *format.Operator
	Details  *format.Details
	// Origin is the element type before the tensor was stored in DType; Undefined
	// if it is not known or the same.
	Origin tensor.DType
	// Slice is the shape of the thread's part in a Sliced file.
	Slice tensor.Shape
	// Record is the overflow record that an output of an OpDebug file holds.
	Record *opdebug.Record
	// Stats are those of all stored elements, the padding of device layouts
	// included; nil when they were not asked for.
	Stats *tensor.Stats
	// Err says why the tensor cannot be used.
	Err error
}

// Label names the tensor as messages do; empty for that of a table that names only
// operators.
func (t *Tensor) Label() string {
	if t.Kind == "" {
		return ""
	}
	return tensorfile.Label(t.Name, t.Kind, t.Index)
}

// TypeName names the element type, and what it is stored as.
func (t *Tensor) TypeName() string { return tensorfile.TypeName(t.DType, t.Origin) }

// Blob is an on-chip buffer (type 0: L1) or a workspace (type 0: a log). The file
// of its Data has been closed.
type Blob = dumpfmt.Blob

// Failed reports whether the file or anything in it cannot be used.
func (f *File) Failed() bool { return f.Err != nil || f.Partial != nil || len(f.Failures()) > 0 }

// Failure is what is wrong with one part of a file, such as output 0.
type Failure struct {
	Part string
	Err  error
}

// Failures lists the tensors, buffers and spaces that cannot be used.
func (f *File) Failures() []Failure {
	if f.Err != nil { // that of all that is in it
		return nil
	}
	var all []Failure
	add := func(part string, err error) {
		if err != nil {
			all = append(all, Failure{part, err})
		}
	}
	for _, list := range [][]Tensor{f.Inputs, f.Outputs, f.Tensors} {
		for i := range list {
			add(list[i].Label(), list[i].Err)
		}
	}
	for i, b := range f.Buffers {
		add(fmt.Sprintf("buffer %d", i), b.Err)
	}
	for i, b := range f.Spaces {
		add(fmt.Sprintf("space %d", i), b.Err)
	}
	return all
}

// Summary counts what a run found.
type Summary struct {
	Files    int // dumps and arrays without a failure
	Failed   int // files with a failure
	NotDumps int // files that are neither dumps nor arrays
	Empty    int // files that name their tensors and have none
}

// Run inspects the files of a run and hands the results to emit in their order. An
// error of emit ends it and is returned. The operators of the run have no tensors
// afterwards.
func Run(ctx context.Context, opt Options, run *dumpdir.Run, observe func(batch.Event), emit func(*File) error) (Summary, error) {
	var sum Summary
	at := places(run)
	workers := sync.Pool{New: func() any { return &worker{opt: opt, run: run, places: at} }}
	err := batch.RunUntil(ctx, batch.Options{Workers: opt.Workers, Budget: memoryBudget, Observe: observe}, run.Files,
		opt.cost,
		func(ctx context.Context, e *dumpdir.File) *File {
			w := workers.Get().(*worker)
			defer workers.Put(w)
			var f *File
			err := guard.Do(func() error {
				f = w.file(ctx, e)
				return nil
			})
			if err != nil {
				return &File{Entry: e, At: e.Folder.At, Err: err}
			}
			return f
		},
		func(f *File) error {
			if errors.Is(f.Err, context.Canceled) { // interrupted half-way it is no result
				return nil
			}
			sum.add(f)
			return emit(f)
		})
	return sum, err
}

func (s *Summary) add(f *File) {
	switch {
	case f.NotDump:
		s.NotDumps++
	case f.Failed():
		s.Failed++
	case f.Named && len(f.Tensors) == 0:
		s.Empty++
	default:
		s.Files++
	}
}

// memoryBudget bounds what the workers of a run hold together, in bytes.
const memoryBudget = 96 << 20

// cost estimates the memory that a file takes.
func (o Options) cost(e *dumpdir.File) int64 {
	const (
		header = 512 << 10
		panels = 8 << 20 // to read an array in Fortran order
	)
	switch {
	case e.Given() && sideOf(e.Name) >= 0:
		return e.Size
	case !o.Stats:
		return header
	case tensorfile.Claims(e.Name):
		return header + maxBlock + panels
	}
	return header + maxBlock
}
