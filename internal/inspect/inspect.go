// Package inspect describes dump files and .npy arrays: the operator, the description of every
// tensor and, on request, statistics of its elements. It reads files and prints nothing.
package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/filename"
	"dumptool/internal/format"
	"dumptool/internal/guard"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/opdebug"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Options says how files are inspected.
type Options struct {
	// Stats requests statistics, which read every tensor once.
	Stats bool
	// Script requests the script lines of operators, from the graphs of MindSpore and the stacks of
	// msprobe.
	Script bool
	// Misfits requests the list of skipped lines and fields, which otherwise are only counted.
	Misfits bool
	// Version forces the container: 1, 2, or 0 to detect it.
	Version int
	// Rounds and Ops select parts of a run; their zero values select everything.
	Rounds dumpdir.Selection
	Ops    *dumpdir.NameSet
	// Only selects files of folders by absolute path; nil selects all.
	Only map[string]bool
	// Workers is the number of files read concurrently; 0 means one per CPU.
	Workers int
}

// Schema is the schema of a File document.
const Schema = "dumptool/inspect/1"

// File is the contents of one file, and its document.
type File struct {
	Schema string `json:"schema"`
	// Entry has the path.
	Entry *dumpdir.File `json:"file"`
	// Container is the file format, null if unknown.
	Container jsonpos.NullableText `json:"container"`
	// OpType, OpName and DumpTime (microseconds) are null if neither the file nor its name has
	// them.
	OpType   jsonpos.NullableText `json:"op_type"`
	OpName   jsonpos.NullableText `json:"op_name"`
	DumpTime Time                 `json:"dump_time"`
	// Inputs and Outputs list the tensors of an operator.
	Inputs  []Tensor `json:"inputs"`
	Outputs []Tensor `json:"outputs"`
	// Tensors lists all tensors of a file with named tensors, and Values its other contents.
	Tensors []Tensor       `json:"tensors,omitzero"`
	Values  []format.Value `json:"values,omitempty"`
	// OriginalName is the original name of a renamed file.
	OriginalName string `json:"original_name,omitempty"`
	// Buffers lists on-chip buffers, Spaces workspaces.
	Buffers []Blob `json:"buffers,omitempty"`
	Spaces  []Blob `json:"spaces,omitempty"`
	// At is the round of the file, if known; Order is the position of its operator in the execution
	// order.
	At    dumpdir.Coordinates `json:"round,omitzero"`
	Order *int                `json:"order,omitempty"`
	// Script is the script line of the operator, as FILE:LINE; empty if unknown or not requested.
	Script string `json:"script,omitempty"`
	// Statistics lists rows of a statistics table instead of tensors.
	Statistics []Statistics `json:"statistics,omitempty"`
	// Counts summarises a file without tensors that was given by itself; Side is the summary for
	// people.
	Counts map[string]int `json:"counts,omitempty"`
	Side   *Side          `json:"-"`
	// MisfitCount counts the skipped lines and fields; Misfits lists the
	// first ones, if requested.
	MisfitCount int      `json:"misfit_count,omitempty"`
	Misfits     []Misfit `json:"misfits,omitempty"`
	// Warnings lists oddities of the file.
	Warnings []lang.Sentence `json:"warnings,omitempty"`
	// Err is the read error of the file. Partial: the error concerns a part of the file; the rest
	// is valid.
	Err     lang.Failure `json:"error,omitempty"`
	Partial bool         `json:"-"`

	// Name is the parsed file name; HasName is false if it has the form of neither a dump nor one
	// of its tensors.
	Name    filename.Dump `json:"-"`
	HasName bool          `json:"-"`
	// OpDebug: the outputs are overflow records.
	OpDebug bool `json:"-"`
	// Sliced: the file holds a thread's part of an operator (FFTS+).
	Sliced bool `json:"-"`
	// NotDump: the file is no dump and does not claim to be one.
	NotDump bool  `json:"-"`
	why     error // reason of NotDump
}

func newFile(e *dumpdir.File, err error) *File {
	f := &File{Schema: Schema, Entry: e, At: e.Folder.At, Inputs: []Tensor{}, Outputs: []Tensor{}, Err: lang.AsFailure(err)}
	if e.Name != store.Base(e.Path()) {
		f.OriginalName = e.Name
	}
	return f
}

// Time is a time in microseconds that is null in documents if unknown.
type Time uint64

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	if t == 0 {
		return []byte("null"), nil
	}
	return strconv.AppendUint(nil, uint64(t), 10), nil
}

// Shape is a shape that is [] in documents if none was recorded.
type Shape tensor.Shape

// MarshalJSON implements json.Marshaler.
func (s Shape) MarshalJSON() ([]byte, error) {
	return []byte("[" + tensor.Shape(s).Join(",") + "]"), nil
}

// Tensor is one tensor of a file.
type Tensor struct {
	// NameInFile is the name in a file with named tensors, else null.
	NameInFile *string `json:"name,omitempty"`
	// Node is the operator of a named tensor. Seq numbers the execution of Node among the
	// executions of all operators, Round among the executions of Node.
	Node  string `json:"node,omitempty"`
	Seq   *int64 `json:"seq,omitempty"`
	Round *int   `json:"round,omitempty"`
	// KindInFile is the kind of a named tensor, or of a tensor in a table.
	KindInFile tensor.Kind `json:"kind,omitempty"`
	Kind       tensor.Kind `json:"-"`
	// Index is the number among the tensors of the same kind, from 0.
	Index int `json:"index"`
	// DType is the type of the elements.
	DType string `json:"dtype"`
	// Format is the layout.
	Format *tensor.Format `json:"format,omitempty"`
	// Shape is the shape as stored, OriginalShape the shape on the host.
	Shape         Shape        `json:"shape"`
	OriginalShape tensor.Shape `json:"original_shape,omitzero"`
	// Groups is the number of groups of a grouped convolution.
	Groups *int64 `json:"groups,omitempty"`
	// Size is the number of stored bytes.
	Size int64 `json:"size"`
	// OriginalFormat is the axis order of OriginalShape, C0 the channel block.
	OriginalFormat *tensor.Format `json:"original_format,omitempty"`
	C0             int64          `json:"c0,omitempty"`
	// Slice is the shape of the thread's part in a file of one thread.
	Slice tensor.Shape `json:"slice,omitempty"`
	// Record is the overflow record in the output of an OpDebug file.
	Record *opdebug.Record `json:"record,omitempty"`
	// Details are further properties in files with named tensors.
	format.Details
	// Stats covers all stored elements, including the padding of device layouts; nil if not
	// requested.
	Stats *Stats `json:"stats,omitempty"`
	// Err says why the tensor cannot be used.
	Err lang.Failure `json:"error,omitempty"`

	typeName string // element type with its storage type
}

// Stats summarises elements. The extremes are null without finite elements, and for complex
// elements.
type Stats struct {
	tensor.Extremes[tensor.Number]
	// NaN counts the NaN elements, Inf the infinite elements, PosInf and NegInf the infinite
	// elements of each sign; null if a table lacks them.
	NaN    *int64 `json:"nan"`
	Inf    *int64 `json:"inf"`
	PosInf *int64 `json:"pos_inf"`
	NegInf *int64 `json:"neg_inf"`
}

func newStats(s *tensor.Stats) *Stats {
	if s == nil {
		return nil
	}
	return &Stats{tensor.Extremes[tensor.Number]{Min: (*tensor.Number)(s.Min), Max: (*tensor.Number)(s.Max), Mean: (*tensor.Number)(s.Mean)}, &s.NaN, new(s.PosInf + s.NegInf), &s.PosInf, &s.NegInf}
}

// Name returns the name in a file with named tensors, else empty.
func (t *Tensor) Name() string {
	if t.NameInFile == nil {
		return ""
	}
	return *t.NameInFile
}

// Label returns the name of the tensor in messages; empty for a table row without a tensor.
func (t *Tensor) Label() string {
	if t.Kind == "" {
		return ""
	}
	return tensorfile.Label(t.Name(), t.Kind, t.Index)
}

// TypeName returns the element type with its storage type.
func (t *Tensor) TypeName() string { return cmp.Or(t.typeName, t.DType) }

// Blob is an on-chip buffer (type 0: L1) or a workspace (type 0: a log).
type Blob struct {
	// Index is the number among the buffers or spaces.
	Index int `json:"index"`
	// Type is the number of the kind, Size the size in bytes.
	Type int32 `json:"type"`
	Size int64 `json:"size"`
	// Err says why the bytes cannot be read.
	Err lang.Failure `json:"error,omitempty"`
}

func newBlobs(all []dumpfmt.Blob) (blobs []Blob) {
	for i, b := range all {
		blobs = append(blobs, Blob{i, b.Type, b.Size, lang.AsFailure(b.Err)})
	}
	return blobs
}

// Misfit is a line or field that does not fit.
type Misfit struct {
	// Line is the line in the file, from 1, Offset the byte where the line begins; null if unknown.
	Line   *int   `json:"line"`
	Offset *int64 `json:"offset"`
	// Found is the found text, Wanted describes the wanted one.
	Found  string        `json:"found"`
	Wanted lang.Sentence `json:"wanted"`
}

// Failed reports whether the file or a part of it cannot be used.
func (f *File) Failed() bool { return f.Err != nil || len(f.Failures()) > 0 }

// Failure is the error of one part of a file, such as output 0.
type Failure struct {
	Part string
	Err  error
}

// Failures lists the tensors, buffers and spaces that cannot be used.
func (f *File) Failures() []Failure {
	if f.Err != nil && !f.Partial { // covers all parts
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

// Summary counts the files of a run.
type Summary struct {
	Files    int // dumps and arrays without a failure
	Failed   int // files with a failure
	NotDumps int // neither dumps nor arrays
	Empty    int // with named tensors, but none present
}

// Run inspects the files of a run and calls emit with the results in file order. An error of emit
// ends Run and is returned. The operators of the run lose their tensors.
func Run(ctx context.Context, opt Options, run *dumpdir.Run, observe func(batch.Event), emit func(*File) error) (Summary, error) {
	var sum Summary
	at := places(run, opt.Stats)
	workers := sync.Pool{New: func() any { return &worker{opt: opt, run: run, places: at} }}
	err := batch.RunUntil(ctx, batch.Options{Workers: store.Waiting(opt.Workers, run.Paths...), Budget: memoryBudget, Observe: observe}, run.Files,
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
				return newFile(e, err)
			}
			return f
		},
		func(f *File) error {
			if errors.Is(f.Err, context.Canceled) { // an interrupted file is no result
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
	case f.Tensors != nil && len(f.Tensors) == 0:
		s.Empty++
	default:
		s.Files++
	}
}

// memoryBudget bounds the memory of all workers of a run, in bytes.
const memoryBudget = 96 << 20

// cost estimates the memory needed for a file, in bytes.
func (o Options) cost(e *dumpdir.File) int64 {
	const (
		header = 512 << 10
		panels = 8 << 20 // to read an array in Fortran order
	)
	switch {
	case e.IsGiven() && sideOf(e.Name) >= 0:
		return e.Size
	case !o.Stats:
		return header
	case tensorfile.Claims(e.Name):
		return header + maxBlock + panels
	}
	return header + maxBlock
}

// Messages returns messages on the file.
func (f *File) Messages() []batch.Message {
	path := f.Entry.Path()
	if f.NotDump {
		return []batch.Message{batch.Debug("neither a dump nor an array", "file", path, "why", f.why)}
	}
	all := lists.Map(f.Warnings, func(w lang.Sentence) batch.Message { return batch.Warnf("%s: %s", path, w) })
	switch {
	case f.Partial:
		all = append(all, batch.Errorf("%s: %v", path, f.Err))
	case f.Err != nil:
		all = append(all, dumpdir.UnreadMessages(path, f.Err)...)
	}
	for _, failure := range f.Failures() {
		all = append(all, batch.Errorf("%s: %s: %v", path, failure.Part, failure.Err))
	}
	return all
}

// Outcome returns the outcome of inspecting a run.
func (s *Summary) Outcome(run *dumpdir.Run) batch.Outcome {
	o, total := s.outcome(run), s.Files+s.Failed
	if total > 0 && s.NotDumps > 0 {
		o.Messages = append(o.Messages, batch.Infof("ignored %s, neither dump nor array", lang.CountText(s.NotDumps, "file")))
	}
	return o
}

func (s *Summary) outcome(run *dumpdir.Run) batch.Outcome {
	switch total := s.Files + s.Failed; {
	case s.Failed == 1 && total == 1:
		return batch.Outcomef(batch.Incomplete, "the file could not be read completely").AsShown()
	case s.Failed > 0:
		return batch.Outcomef(batch.Incomplete, "%d of %d files could not be read completely", s.Failed, total)
	case total == 0 && run.NotChosen > 0:
		return batch.Outcomef(batch.Nothing, "none of the %s belongs to the selected rounds and operators", lang.CountText(run.NotChosen, "file"))
	case total == 0 && s.Empty > 0:
		return batch.Outcomef(batch.Nothing, "no tensor in it")
	case total == 0 && s.NotDumps == 0:
		return batch.Outcomef(batch.Nothing, "no file found")
	case total == 0:
		o := batch.Outcomef(batch.Nothing, "no dump found among %s", lang.CountText(s.NotDumps, "file"))
		o.Messages = run.OtherFiles()
		return o
	}
	return batch.Outcome{}
}

// Statistics is the row of a table for a tensor of an operator.
type Statistics struct {
	// Op is the name of the operator.
	Op string `json:"op_name"`
	// Tensor has no kind if the table names only the operator.
	Tensor
	// Norm is the square root of the sum of squares, Digest the digest of the bytes.
	Norm   *tensor.Number `json:"norm,omitempty"`
	Digest string         `json:"digest,omitempty"`
}

func newStatistics(op *dumpdir.Op, t *dumpdir.Tensor) Statistics {
	s := t.Statistics
	if s == nil {
		s = &dumpdir.Statistics{}
	}
	number := func(what dumpdir.Statistic) *tensor.Number { return (*tensor.Number)(s.Number(what)) }
	stats := &Stats{Extremes: tensor.Extremes[tensor.Number]{Min: number(dumpdir.Min), Max: number(dumpdir.Max), Mean: number(dumpdir.Mean)},
		NaN: s.CountOf(dumpdir.NaNs), PosInf: s.CountOf(dumpdir.PositiveInfs), NegInf: s.CountOf(dumpdir.NegativeInfs)}
	if stats.PosInf != nil && stats.NegInf != nil {
		stats.Inf = new(*stats.PosInf + *stats.NegInf)
	}
	return Statistics{Op: op.Names()[0], Digest: s.Digest, Norm: number(dumpdir.Norm), Tensor: Tensor{
		KindInFile: t.Kind, Kind: t.Kind, Index: t.Index, DType: s.DType.String(), Format: new(s.TensorFormat()),
		Shape: Shape(s.Shape), OriginalShape: tensor.Shape{}, Groups: new(int64), Size: s.Size,
		Stats: stats,
	}}
}
