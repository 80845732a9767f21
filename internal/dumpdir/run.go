// Package dumpdir opens files and folders of dumps as a Run: its producers, its rounds (rank, step,
// graph, model), the operators of each round in execution order with their tensors, the data flow,
// and the problems of the tree. No tensor data is read.
//
// Open lists, by the names of folders and files and the small files beside the dumps. ReadHeaders
// opens the files whose names do not give their tensors.
//
//	run, err := dumpdir.Open(ctx, []string{dir}, dumpdir.Options{})
//	for _, round := range run.Rounds {
//		for _, op := range round.Ops { ... op.Tensors ... }
//	}
//
// A new producer needs a file that recognises its folders and reads their names and side files, and
// a line in the table producers. The sources of the execution order are a table, too. PairRounds
// pairs the rounds of two runs; compare/pair pairs their tensors.
package dumpdir

import (
	"path"
	"slices"
	"strings"

	"dumptool/internal/format"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/lang"
	"dumptool/internal/shard"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Run is the content of one path, or of several.
type Run struct {
	// Paths are the paths given to Open.
	Paths []string
	// Single is set if the only path is a file. Then the file must hold tensors.
	Single bool
	// Producers are the producers of the folders, in the order of the table.
	Producers []Producer
	// Rounds are sorted by their coordinates. A round has operators.
	Rounds []*Round
	// Files are all files, in the order of their paths.
	Files []*File
	// Records are the files of overflow records, with the rounds of their folders.
	Records []Record
	// Problems are the problems of the tree. They stop nothing.
	Problems []Problem
	// Warnings are the warnings about mapping.csv files, BadMappings the paths of unreadable ones.
	Warnings    []lang.Sentence
	BadMappings []string
	// NotChosen counts the files that Choose dropped.
	NotChosen int

	folders   []*Folder
	sources   Sources
	known     knownCoordinates
	inventory shard.Inventory
}

// Listing is a digest of the listed files.
func (r *Run) Listing() string { return r.inventory.String() }

// Forget drops the files and operators of a run, which take nearly all of its memory. Rounds keep
// their coordinates, orders and flows.
func (r *Run) Forget() {
	for _, f := range r.folders {
		f.files = nil
	}
	for _, round := range r.Rounds {
		for _, op := range round.Ops {
			op.Tensors = nil
		}
		round.Ops = nil
	}
	r.Files, r.Records = nil, nil
}

// Round is one pass of one network on one device.
type Round struct {
	At Coordinates
	// Ops are the operators in execution order, in natural order of their names if it is
	// unknown.
	Ops []*Op
	// Order is the source of the order.
	Order Order
	// Flow is the data flow between the operators.
	Flow Flow
	// Calls are all calls in msprobe's dump.json in their order, with or without tensors; nil
	// without dump.json. Header is its header.
	Calls  []*Call
	Header msprobe.Header
	// Software are the programs that made the dumps, from files beside them.
	Software []Software

	folders     []*Folder // folders of the tensors
	sideSources Sources   // sources in the run
	sources     Sources   // sources in the run and from SortOperators
}

// Op is one execution of an operator.
type Op struct {
	// Name is the name of the operator in the names of its files; see Header.
	Name string
	Type string // empty when unknown
	// Header is the name in the header of the dump, empty until ReadHeaders.
	Header string
	// Origins are the results of the user's model in the header of the dump; nil for none, and
	// until ReadHeaders.
	Origins []Origin
	Moment
	// Execution counts the executions of an operator in a round from 1, in order of their
	// timestamps; 0 if there is one execution only.
	Execution int
	// Place is the place in the execution order, from 0. Operators that run at the same time share
	// a place. Operators missing in the source of the order come last.
	Place   int
	Tensors []Tensor
	// Call is the call of the operator in dump.json, or its line in the script; nil for none.
	Call *Call
}

// Moment is the time of an execution, by its file names or its rows in tables.
type Moment struct {
	// Timestamp is the time of the dump of the first tensor, in microseconds; 0 if unknown.
	Timestamp uint64
	// Task is the task id; HasTask is set if file names have it.
	Task    uint64
	HasTask bool
	// IDs are the ids of ATB's operator and of the operators around it, outermost first.
	IDs []uint64
	// Seq is the number of the execution in torch.utils.dumper or SGLang, from 1; 0 if unknown.
	Seq int64
}

// Origin is the result of the user's model behind an output.
type Origin struct {
	Index int // of the output
	// Op is the operator of the model, and Output its output.
	Op     string
	Output int
}

// Tensor is one tensor of an operator, or a file with several tensors.
type Tensor struct {
	// Kind is empty for a file that must be opened to list its tensors, until ReadHeaders.
	Kind  tensor.Kind
	Index int
	// Slice is the thread that wrote this piece. ATB's inputs after the execution have the
	// slice "after".
	Slice string
	// File is the file of the tensor, or the table with its statistics.
	File *File
	// Member is the name of the tensor in a file with named tensors.
	Member string
	// Operator is the operator of the tensor in such a file, Path its name in parts, Device its
	// device; nil and empty if the file does not tell.
	Operator *format.Operator
	Path     []string
	Device   string
	// Statistics are the statistics from a table or dump.json, nil for none.
	Statistics *Statistics
	// Leaf is the tensor in msprobe's dump.json, nil for none.
	Leaf *msprobe.Leaf
	// Table is set if File is a table of statistics: there are no elements.
	Table bool
}

// NewTensor returns the tensor of a file that holds it alone. dtype is its element type on the device, shape the shape
// in which an operator reads it, nil for the shape in the file.
func NewTensor(kind tensor.Kind, index int, path string, dtype tensor.DType, shape tensor.Shape) Tensor {
	return Tensor{Kind: kind, Index: index, File: &File{Name: store.Base(path), path: path}, Leaf: &msprobe.Leaf{Tensor: &msprobe.Tensor{DType: dtype.String(), Shape: shape}}}
}

// memberSuffix is the part of Member after the operator, empty if the file does not tell the operator.
func (t *Tensor) memberSuffix() string {
	if t.Operator == nil {
		return ""
	}
	at := 0
	for range 2 { // names of operators have no slashes
		if i := strings.IndexByte(t.Member[at+1:], '/'); i >= 0 {
			at += i + 1
		}
	}
	return t.Member[at:]
}

// IsWholeFile reports whether the tensor stands for all tensors of its file.
func (t *Tensor) IsWholeFile() bool { return t.Kind == "" }

// File is a file of a run.
type File struct {
	Folder *Folder
	// Name is the original name of the file if mapping.csv has it, else its name. All decisions use
	// it. It comes from a file and may hold any bytes.
	Name string
	Size int64 // in bytes
	Role Role
	// Only is the tensor selected by the path, the zero value for all.
	Only tensorfile.Selector
	// Err is the reason why the file is unusable.
	Err error

	path string // empty for the path of the folder
}

// Path is the path of the file.
func (f *File) Path() string {
	if f.path == "" {
		return f.Folder.Path
	}
	return f.path
}

// MarshalText implements encoding.TextMarshaler: the path.
func (f *File) MarshalText() ([]byte, error) { return []byte(f.Path()), nil }

// IsGiven reports whether the file itself was given to Open, not a folder above it.
func (f *File) IsGiven() bool { return f.path == "" }

// Root is the given path above the file. Names of other files in a file must not lead out of it.
func (f *File) Root() string {
	top := f.Folder
	for top.parent != nil {
		top = top.parent
	}
	return top.Path
}

// Role is the role of a file in a run.
type Role uint8

// The roles.
const (
	// Unknown files may hold tensors; only their content tells.
	Unknown Role = iota
	// Tensors are dumps, arrays and other files that hold tensors.
	Tensors
	// Product files were converted from a file of the run and hold nothing new.
	Product
	// Overflow files are overflow records.
	Overflow
	// Table files hold statistics in place of tensors.
	Table
	// Side files are orders, graphs, settings and logs.
	Side
)

// Folder is a folder of a run.
type Folder struct {
	Path string
	// Dir is the path below the given path, with slashes; . for the given path itself.
	Dir      string
	Producer Producer
	// At are the coordinates in the path. At.Folder are the folders without a coordinate.
	At Coordinates

	producer       *producer
	parent         *Folder
	files          []*File
	start          string // the time at which the dump began
	op             string // the operator in the folders below the round, with slashes
	isSideFolder   bool   // holds no tensors
	list           *File  // dump.json of msprobe, nil for none
	isListSearched bool   // list was searched for
}

// isGiven reports whether the folder stands for a file that was given.
func (f *Folder) isGiven() bool { return len(f.files) == 1 && f.files[0].path == "" }

// Record is a file of overflow records.
type Record struct {
	File *File
	At   Coordinates
}

// ProblemKind is the kind of a problem.
type ProblemKind string

// The kinds of problems.
const (
	Unreadable  ProblemKind = "unreadable"   // of a file or folder
	Cut         ProblemKind = "cut"          // the file is empty or shorter than its header says
	MissingRank ProblemKind = "missing rank" // rank missing between other ranks
	MissingStep ProblemKind = "missing step" // step that other ranks have
	Empty       ProblemKind = "empty"        // a rank or step without tensors
	Repeated    ProblemKind = "repeated"     // round with several start times
	BadSide     ProblemKind = "side file"    // an unusable side file
	OtherLists  ProblemKind = "other lists"  // further lists of calls in a folder
	LinkedDir   ProblemKind = "linked folder"
	NoElements  ProblemKind = "no elements" // statistics without a file of elements
	Contradicts ProblemKind = "contradicts" // a file differs from dump.json
)

// Problem is something wrong with a run.
type Problem struct {
	// Kind is the kind of the problem.
	Kind ProblemKind `json:"kind"`
	// Path is the file or folder, empty for a missing one.
	Path string `json:"path,omitempty"`
	// At is the round with the problem.
	At Coordinates `json:"round,omitzero"`
	// Err describes the problem.
	Err lang.Failure `json:"message"`
}

// Error returns the path and the description.
func (p *Problem) Error() string {
	if p.Path == "" {
		return p.Err.Error()
	}
	return p.Path + ": " + p.Err.Error()
}

// Unwrap returns the description.
func (p *Problem) Unwrap() error { return p.Err }

// Lists returns the files of the given folder that hold a dump.json by their content, under any name.
// It looks into the first maxLists files.
func (r *Run) Lists() []*File {
	var files []*File
	for _, f := range r.Files {
		if f.Folder.Dir == "." && path.Ext(f.Name) == ".json" && f.Name != msprobe.DebugName && len(files) < maxLists {
			files = append(files, f)
		}
	}
	return slices.DeleteFunc(files, func(f *File) bool { return !isDumpJSON(f) })
}
