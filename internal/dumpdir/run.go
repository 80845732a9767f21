// Package dumpdir opens what a user names as one side of a comparison, or as the
// folder to look into, as a Run: who wrote it, its rounds (rank, step, graph,
// model), the operators of each round in execution order with their tensors, who
// feeds whom, and what is wrong with the tree.
//
// Open lists. It decides by the names of folders and files, and reads only the
// small files beside the dumps: mapping.csv, execution orders, tables of
// statistics and the keys of dump.json. ReadHeaders opens the files whose tensors
// only they themselves list. No tensor data is read.
//
//	run, err := dumpdir.Open(ctx, []string{dir}, dumpdir.Options{})
//	for _, round := range run.Rounds {
//		for _, op := range round.Ops { ... op.Tensors ... }
//	}
//
// The producers are a table, a file each: adding one takes a file that says which
// folders it writes, what their names stand for, and which side files it leaves,
// and a line in producers. The sources of the execution order are a table too.
//
// PairRounds says which rounds of two runs belong together. Which operators inside
// them do is up to compare/pair.
package dumpdir

import (
	"strings"

	"dumptool/internal/format"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/lang"
	"dumptool/internal/shard"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Run is what one path, or several, holds.
type Run struct {
	// Paths are those that were given.
	Paths []string
	// Single is set when the only path is a file, which then has to hold tensors.
	Single bool
	// Producers are those that wrote folders of the run, in the order of the table.
	Producers []Producer
	// Rounds are sorted by their coordinates. A round has operators.
	Rounds []*Round
	// Files are all files, in the order of their paths.
	Files []*File
	// Records are the files of overflow records, with the round that their folders
	// name.
	Records []Record
	// Problems are what is wrong with the tree; they stop nothing.
	Problems []Problem
	// Warnings are oddities of mapping.csv files, BadMappings the paths of those that
	// could not be read.
	Warnings    []lang.Sentence
	BadMappings []string
	// NotChosen counts the files that Choose dropped.
	NotChosen int

	folders   []*Folder
	sources   Sources
	known     knownCoordinates
	inventory shard.Inventory
}

// Listing identifies the files that were listed.
func (r *Run) Listing() string { return r.inventory.String() }

// Forget drops the files and operators of a run, which take nearly all of its memory,
// for those who have taken what they need of them. Rounds keep their coordinates,
// orders and flows.
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
	// Ops are the operators in execution order, in natural order of their names
	// where that is not known.
	Ops []*Op
	// Order says where the order comes from.
	Order Order
	// Flow says who feeds whom.
	Flow Flow
	// Calls are all calls of msprobe's dump.json in their order, those without
	// tensors too, and Header is what it says of all; nil without one.
	Calls  []*Call
	Header msprobe.Header
	// Software is what made the dumps, where a file beside them says it.
	Software []Software

	folders []*Folder // that hold the tensors
	side    Sources   // those in the run
	sources Sources   // side and those that were given
}

// Op is one execution of an operator.
type Op struct {
	// Name is the operator as the names of its files have it; see Header.
	Name string
	Type string // empty when unknown
	// Header is the name in the header of the dump, empty until ReadHeaders.
	Header string
	// Origins are the results of the user's model that outputs stand for; nil until
	// ReadHeaders, and where the dump names none.
	Origins []Origin
	// Timestamp is when the first of its tensors was dumped, in microseconds; 0
	// when unknown.
	Timestamp uint64
	// Task is the task id; HasTask is set where names have it.
	Task    uint64
	HasTask bool
	// Execution counts the executions of an operator of a round from 1, by their
	// timestamps; 0 for one that ran once.
	Execution int
	// Place is the place in the execution order, from 0; operators that run at the
	// same time share one. Those that the source of the order does not know come
	// last.
	Place   int
	Tensors []Tensor
	// Call is what msprobe knows of the operator, nil for others.
	Call *Call

	ids []uint64 // of ATB's operators and those around them
	seq int64    // the number that torch.utils.dumper gave it, from 1; 0 for none
}

// Origin is the result of the user's model that an output stands for.
type Origin struct {
	Index int // of the output
	// Op is the operator of the model, and Output its output.
	Op     string
	Output int
}

// Tensor is one tensor of an operator, or a file that holds several.
type Tensor struct {
	// Kind is empty for all tensors of a file that has to be opened to list them,
	// until ReadHeaders does.
	Kind  tensor.Kind
	Index int
	// Slice is the thread that wrote this piece; ATB's inputs after the execution
	// have the slice after.
	Slice string
	// File holds the tensor, or the table with its statistics.
	File *File
	// Member is the name of the tensor in a file that names its tensors.
	Member string
	// Operator and Path are what such a file says that the tensor belongs to, and its
	// name in parts, Device where it was then; nil and empty where it does not say.
	Operator *format.Operator
	Path     []string
	Device   string
	// Statistics are those of a table, nil for none.
	Statistics *Statistics
	// Leaf is the tensor as msprobe has it, nil for others.
	Leaf *msprobe.Leaf
	// Table is set where File is a table of statistics: the elements are not there.
	Table bool
}

// below is the part of the name of a tensor that comes after the operator that its
// file says that it belongs to, empty where it does not say.
func (t *Tensor) below() string {
	if t.Operator == nil {
		return ""
	}
	at := 0
	for range 2 { // names within the name have no slashes
		if i := strings.IndexByte(t.Member[at+1:], '/'); i >= 0 {
			at += i + 1
		}
	}
	return t.Member[at:]
}

// Whole reports whether the tensor stands for all tensors of its file.
func (t *Tensor) Whole() bool { return t.Kind == "" }

// File is a file of a run.
type File struct {
	Folder *Folder
	// Name is the name of the file that every decision goes by: the original one
	// where mapping.csv has it. It comes from a file and may hold anything.
	Name string
	Size int64 // in bytes
	Role Role
	// Only is the tensor that the path names, as reports have it, the zero value for all.
	Only tensorfile.Selector
	// Err says why the file cannot be looked at.
	Err error

	path string // where it is, empty for that of the folder
}

// Path is where the file is.
func (f *File) Path() string {
	if f.path == "" {
		return f.Folder.Path
	}
	return f.path
}

// MarshalText implements encoding.TextMarshaler: the path.
func (f *File) MarshalText() ([]byte, error) { return []byte(f.Path()), nil }

// Given reports whether the file itself was given, and not a folder above it.
func (f *File) Given() bool { return f.path == "" }

// Root is the path that was given and below which the file lies: what a file names
// another one by must not lead out of it.
func (f *File) Root() string {
	top := f.Folder
	for top.parent != nil {
		top = top.parent
	}
	return top.Path
}

// Role says what a file is for.
type Role uint8

// The roles.
const (
	// Unknown files show only by their content whether they hold tensors.
	Unknown Role = iota
	// Tensors are dumps, arrays and other files that hold tensors.
	Tensors
	// Product files were converted from a file of the run: they hold nothing new.
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
	// Dir is the folder below the path that was given, with slashes; . for that
	// path itself.
	Dir      string
	Producer Producer
	// At is what the path says, At.Folder what no other coordinate stands for.
	At Coordinates

	producer *producer
	parent   *Folder
	files    []*File
	start    string // the time at which the dump began
	op       string // that the folders below the round name, with slashes
	side     bool   // holds no tensors
	list     *File  // dump.json of msprobe, nil for none
	listed   bool   // it has been looked for
}

// given reports whether the folder stands for a file that was given.
func (f *Folder) given() bool { return len(f.files) == 1 && f.files[0].path == "" }

// Record is a file of overflow records.
type Record struct {
	File *File
	At   Coordinates
}

// ProblemKind says what is wrong.
type ProblemKind string

// The kinds of problems.
const (
	Unreadable  ProblemKind = "unreadable"   // a file or folder
	Cut         ProblemKind = "cut"          // a file is shorter than it says, or empty
	MissingRank ProblemKind = "missing rank" // between the ranks that are there
	MissingStep ProblemKind = "missing step" // that other ranks have
	Empty       ProblemKind = "empty"        // a rank or step without tensors
	Repeated    ProblemKind = "repeated"     // a round that several start times hold
	BadSide     ProblemKind = "side file"    // that cannot be used
	LinkedDir   ProblemKind = "linked folder"
	NoElements  ProblemKind = "no elements" // of tensors of which statistics are known
	Contradicts ProblemKind = "contradicts" // a file is not what dump.json says
)

// Problem is something wrong with a run.
type Problem struct {
	// Kind is the kind of the problem.
	Kind ProblemKind `json:"kind"`
	// Path is the file or folder, empty for what is missing.
	Path string `json:"path,omitempty"`
	// At is the round that it is about.
	At Coordinates `json:"round,omitzero"`
	// Err says what is wrong.
	Err lang.Failure `json:"message"`
}

// Error returns the path and what is wrong.
func (p *Problem) Error() string {
	if p.Path == "" {
		return p.Err.Error()
	}
	return p.Path + ": " + p.Err.Error()
}

// Unwrap returns what is wrong.
func (p *Problem) Unwrap() error { return p.Err }
