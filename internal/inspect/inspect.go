// Package inspect describes what is in dump files and .npy arrays: the operator,
// every tensor's description and, if asked for, statistics of its elements. It
// reads files and prints nothing.
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
	"dumptool/internal/opdebug"
	"dumptool/internal/store"
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

// Schema is that of a File as a document.
const Schema = "dumptool/inspect/1"

// File is what was found in one file, and the document of it.
type File struct {
	Schema string `json:"schema"`
	// Entry has the path.
	Entry *dumpdir.File `json:"file"`
	// Container is the way the file is built, null when that is unknown.
	Container Known `json:"container"`
	// OpType, OpName and DumpTime (microseconds) are null where neither the file nor its
	// name says.
	OpType   Known `json:"op_type"`
	OpName   Known `json:"op_name"`
	DumpTime Time  `json:"dump_time"`
	// Inputs and Outputs are the tensors of an operator.
	Inputs  []Tensor `json:"inputs"`
	Outputs []Tensor `json:"outputs"`
	// Tensors are all tensors of a file that names its tensors, and Values what it holds
	// besides.
	Tensors []Tensor       `json:"tensors,omitzero"`
	Values  []format.Value `json:"values,omitempty"`
	// OriginalName is the name that the file had once, if that is another one.
	OriginalName string `json:"original_name,omitempty"`
	// Buffers are on-chip buffers, Spaces workspaces.
	Buffers []Blob `json:"buffers,omitempty"`
	Spaces  []Blob `json:"spaces,omitempty"`
	// At says which round the file is of, where that is known; Order is the place of its
	// operator in the execution order.
	At    dumpdir.Coordinates `json:"round,omitzero"`
	Order *int                `json:"order,omitempty"`
	// Script is the line of the script that the operator comes from, as FILE:LINE; empty
	// where it is not known or was not asked for.
	Script string `json:"script,omitempty"`
	// Statistics are what a table says in place of tensors.
	Statistics []Statistics `json:"statistics,omitempty"`
	// Counts are what is in a file that holds no tensors and was given by itself, Side is
	// that for people.
	Counts map[string]int `json:"counts,omitempty"`
	Side   *Side          `json:"-"`
	// MisfitCount counts the lines and fields that do not fit, and were passed over, Misfits
	// are the first of them, where they were asked for.
	MisfitCount int      `json:"misfit_count,omitempty"`
	Misfits     []Misfit `json:"misfits,omitempty"`
	// Warnings are what is odd about the file.
	Warnings []lang.Sentence `json:"warnings,omitempty"`
	// Err says why the file could not be read. Partial is set where that is about a part of
	// it: the rest is there.
	Err     lang.Failure `json:"error,omitempty"`
	Partial bool         `json:"-"`

	// Name is what the file's name says; HasName is false when it is neither that
	// of a dump nor that of a tensor of one.
	Name    filename.Dump `json:"-"`
	HasName bool          `json:"-"`
	// OpDebug is set when the outputs are overflow records.
	OpDebug bool `json:"-"`
	// Sliced is set for a thread's part of an operator (FFTS+).
	Sliced bool `json:"-"`
	// NotDump is set for a file that is no dump and does not claim to be one.
	NotDump bool  `json:"-"`
	why     error // then
}

func newFile(e *dumpdir.File, err error) *File {
	f := &File{Schema: Schema, Entry: e, At: e.Folder.At, Inputs: []Tensor{}, Outputs: []Tensor{}, Err: lang.Failed(err)}
	if e.Name != store.Base(e.Path()) {
		f.OriginalName = e.Name
	}
	return f
}

// Known is a text that documents have as null where it is not known.
type Known string

// MarshalJSON implements json.Marshaler.
func (k Known) MarshalJSON() ([]byte, error) {
	if k == "" {
		return []byte("null"), nil
	}
	return jsonpos.Marshal(string(k), ""), nil
}

// Time is a time in microseconds, which documents have as null where it is not known.
type Time uint64

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	if t == 0 {
		return []byte("null"), nil
	}
	return strconv.AppendUint(nil, uint64(t), 10), nil
}

// Shape is a shape, which documents have as [] where none was recorded.
type Shape tensor.Shape

// MarshalJSON implements json.Marshaler.
func (s Shape) MarshalJSON() ([]byte, error) {
	return []byte("[" + tensor.Shape(s).Join(",") + "]"), nil
}

// Tensor is one tensor of a file.
type Tensor struct {
	// NameInFile is the name in a file that names its tensors, else null.
	NameInFile *string `json:"name,omitempty"`
	// Node is the operator that such a tensor belongs to, Seq the number of its execution
	// among those of all operators, Round among those of this one.
	Node  string `json:"node,omitempty"`
	Seq   *int64 `json:"seq,omitempty"`
	Round *int   `json:"round,omitempty"`
	// KindInFile is the kind of such a tensor, and of one of a table.
	KindInFile tensor.Kind `json:"kind,omitempty"`
	Kind       tensor.Kind `json:"-"`
	// Index is the number among those of the kind, from 0.
	Index int `json:"index"`
	// DType is the type of the elements, TorchDType as PyTorch names it.
	DType      string `json:"dtype"`
	TorchDType string `json:"torch_dtype,omitempty"`
	// Format is the layout.
	Format *tensor.Format `json:"format,omitempty"`
	// Shape is that of the elements as they are stored, OriginalShape that on the host.
	Shape         Shape        `json:"shape"`
	OriginalShape tensor.Shape `json:"original_shape,omitzero"`
	// Groups are those of a grouped convolution.
	Groups *int64 `json:"groups,omitempty"`
	// Strides and Offset count elements of the storage that the tensor is a part of.
	Strides []int64 `json:"strides,omitzero"`
	Offset  *int64  `json:"offset,omitempty"`
	// Size is the number of stored bytes.
	Size int64 `json:"size"`
	// OriginalFormat is the axis order of OriginalShape, C0 the channel block.
	OriginalFormat *tensor.Format `json:"original_format,omitempty"`
	C0             int64          `json:"c0,omitempty"`
	// Slice is the shape of the thread's part in a file of one thread.
	Slice tensor.Shape `json:"slice,omitempty"`
	// Record is the overflow record that the output of an OpDebug file holds.
	Record *opdebug.Record `json:"record,omitempty"`
	// RequiresGrad, Device, Quant and Attrs are what else a file says that names its
	// tensors.
	RequiresGrad *bool         `json:"requires_grad,omitempty"`
	Device       string        `json:"device,omitempty"`
	Quant        *format.Quant `json:"quant,omitempty"`
	Attrs        format.Attrs  `json:"attrs,omitempty"`
	// Stats are those of all stored elements, the padding of device layouts
	// included; nil when they were not asked for.
	Stats *Stats `json:"stats,omitempty"`
	// Err says why the tensor cannot be used.
	Err lang.Failure `json:"error,omitempty"`

	typeName string // what it is stored as too
}

// Stats says what elements hold. The numbers are null without finite elements, and for
// complex ones.
type Stats struct {
	// Min, Max and Mean are those of the finite elements.
	Min  *tensor.Number `json:"min"`
	Max  *tensor.Number `json:"max"`
	Mean *tensor.Number `json:"mean"`
	// NaN counts the elements that are NaN, Inf the infinite ones, PosInf and NegInf those
	// of each sign; null where statistics do not say it.
	NaN    *int64 `json:"nan"`
	Inf    *int64 `json:"inf"`
	PosInf *int64 `json:"pos_inf"`
	NegInf *int64 `json:"neg_inf"`
}

func newStats(s *tensor.Stats) *Stats {
	if s == nil {
		return nil
	}
	return &Stats{(*tensor.Number)(s.Min), (*tensor.Number)(s.Max), (*tensor.Number)(s.Mean), &s.NaN, new(s.PosInf + s.NegInf), &s.PosInf, &s.NegInf}
}

// Name is the name in a file that names its tensors, else empty.
func (t *Tensor) Name() string {
	if t.NameInFile == nil {
		return ""
	}
	return *t.NameInFile
}

// Label names the tensor as messages do; empty for that of a table that names only
// operators.
func (t *Tensor) Label() string {
	if t.Kind == "" {
		return ""
	}
	return tensorfile.Label(t.Name(), t.Kind, t.Index)
}

// TypeName names the element type, and what it is stored as.
func (t *Tensor) TypeName() string { return cmp.Or(t.typeName, t.DType) }

// Blob is an on-chip buffer (type 0: L1) or a workspace (type 0: a log).
type Blob struct {
	// Index is the number among the buffers, or the spaces.
	Index int `json:"index"`
	// Type is the number of its kind, Size the number of bytes.
	Type int32 `json:"type"`
	Size int64 `json:"size"`
	// Err says why the bytes cannot be read.
	Err lang.Failure `json:"error,omitempty"`
}

func newBlobs(all []dumpfmt.Blob) (blobs []Blob) {
	for i, b := range all {
		blobs = append(blobs, Blob{i, b.Type, b.Size, lang.Failed(b.Err)})
	}
	return blobs
}

// Misfit is a line or field that does not fit.
type Misfit struct {
	// Line is that of the file, from 1, Offset the byte where it begins; null where it is
	// not known.
	Line   *int   `json:"line"`
	Offset *int64 `json:"offset"`
	// Found is what is there, Wanted what belongs there.
	Found  string `json:"found"`
	Wanted string `json:"wanted"`
}

// Failed reports whether the file or anything in it cannot be used.
func (f *File) Failed() bool { return f.Err != nil || len(f.Failures()) > 0 }

// Failure is what is wrong with one part of a file, such as output 0.
type Failure struct {
	Part string
	Err  error
}

// Failures lists the tensors, buffers and spaces that cannot be used.
func (f *File) Failures() []Failure {
	if f.Err != nil && !f.Partial { // that of all that is in it
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
	case f.Tensors != nil && len(f.Tensors) == 0:
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

// Messages are what is to be said about the file.
func (f *File) Messages() []batch.Message {
	path := f.Entry.Path()
	if f.NotDump {
		return []batch.Message{batch.Debug("neither a dump nor an array", "file", path, "why", f.why)}
	}
	var all []batch.Message
	for _, w := range f.Warnings {
		all = append(all, batch.Warnf("%s: %s", "%s: %s", path, w))
	}
	switch {
	case f.Partial:
		all = append(all, batch.Errorf("%s: %v", "%s: %v", path, f.Err))
	case f.Err != nil:
		all = append(all, dumpdir.UnreadMessages(path, f.Err)...)
	}
	for _, failure := range f.Failures() {
		all = append(all, batch.Errorf("%s: %s: %v", "%s: %s: %v", path, failure.Part, failure.Err))
	}
	return all
}

// Outcome is how the inspection of a run ended.
func (s *Summary) Outcome(run *dumpdir.Run) batch.Outcome {
	o, total := s.ended(run), s.Files+s.Failed
	if total > 0 && s.NotDumps > 0 {
		o.Messages = append(o.Messages, batch.Infof("left out %s, neither dump nor array", "已略过 %s，不是 dump 或数组", lang.CountText(s.NotDumps, "file", "个文件")))
	}
	return o
}

func (s *Summary) ended(run *dumpdir.Run) batch.Outcome {
	switch total := s.Files + s.Failed; {
	case s.Failed == 1 && total == 1:
		return batch.Outcomef(batch.Incomplete, "the file could not be read completely", "文件未能完整读取").AsShown()
	case s.Failed > 0:
		return batch.Outcomef(batch.Incomplete, "%d of %d files could not be read completely", "%[2]d 个文件中 %[1]d 个未能完整读取", s.Failed, total)
	case total == 0 && run.NotChosen > 0:
		return batch.Outcomef(batch.Nothing, "none of the %s is of the rounds and operators that are chosen", "%s均不属于所选的轮次和算子", lang.CountText(run.NotChosen, "file", "个文件"))
	case total == 0 && s.Empty > 0:
		return batch.Outcomef(batch.Nothing, "no tensor in it", "其中没有张量")
	case total == 0 && s.NotDumps == 0:
		return batch.Outcomef(batch.Nothing, "no file found", "没有文件")
	case total == 0:
		o := batch.Outcomef(batch.Nothing, "no dump found among %s", "%s中没有 dump", lang.CountText(s.NotDumps, "file", "个文件"))
		o.Messages = run.OtherFiles()
		return o
	}
	return batch.Outcome{}
}

// Statistics are what a table says about a tensor of an operator.
type Statistics struct {
	// Op is the name of the operator.
	Op string `json:"op_name"`
	// Tensor has no kind where the table names only the operator.
	Tensor
	// Norm is the square root of the sum of the squares, Digest that of the bytes.
	Norm   *tensor.Number `json:"norm,omitempty"`
	Digest string         `json:"digest,omitempty"`
}

func newStatistics(op *dumpdir.Op, t *dumpdir.Tensor) Statistics {
	s := t.Statistics
	if s == nil {
		s = &dumpdir.Statistics{}
	}
	number := func(what dumpdir.Statistic) *tensor.Number { return (*tensor.Number)(s.Number(what)) }
	stats := &Stats{Min: number(dumpdir.Min), Max: number(dumpdir.Max), Mean: number(dumpdir.Mean),
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
