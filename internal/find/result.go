package find

import (
	"encoding/json"
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Options say where and how to look. The zero value looks into nothing.
type Options struct {
	// Paths are the folders, IR the graph files to use instead of those found there.
	Paths, IR []string
	// Rounds chooses graphs and files by their rank, step, graph and model.
	Rounds dumpdir.Selection
	// Up and Down are how many levels of producers and consumers are shown too.
	Up, Down int
	// Stack keeps the call stacks, All what is found with low confidence too, and at
	// every level of matching.
	Stack, All bool
	// NoFiles leaves the dumps out.
	NoFiles bool
	// Limit is the most operators, 0 for all.
	Limit int
	// Workers is how many ranks are looked into at the same time; 0 means GOMAXPROCS.
	Workers int
	// Observe hears of every rank that is done.
	Observe func(batch.Event)
}

// Schema is that of an Answer as a document.
const Schema = "dumptool/find/1"

// Answer is what was found, and the document of it.
type Answer struct {
	Schema string `json:"schema"`
	// Query is what was looked for.
	Query string `json:"query"`
	// Kind is what the query was taken for.
	Kind Kind `json:"kind"`
	// Results are operators and parameters, the best matches first.
	Results []Result `json:"results"`
	// More is how many results are beyond the limit.
	More int `json:"more"`
	// Graphs is how many graphs were looked into.
	Graphs int `json:"-"`
	// Unreadable are files that could not be read.
	Unreadable []Unreadable `json:"unreadable"`
	// Notes are what is odd about the graphs; where nothing was found the last of them,
	// hints in number, say what may be meant.
	Notes []lang.Sentence `json:"notes"`

	hints  int
	paths  []string
	chosen map[string]bool
}

// Unreadable is a file that could not be read, or only in part.
type Unreadable struct {
	// Path is the file, Error what is wrong.
	Path  string        `json:"path"`
	Error lang.Sentence `json:"error"`
	// Offset is the byte at which the file is broken, null where that is not known.
	Offset *int64 `json:"offset"`
}

// Confidence says how sure a match is.
type Confidence string

// The confidences.
const (
	High   Confidence = "high"
	Medium Confidence = "medium"
	Low    Confidence = "low"
)

// Match says in what way a result fits the query.
type Match string

// The matches, in the order in which they are shown.
const (
	MatchLine     Match = "line"
	MatchFused    Match = "fused"
	MatchBackward Match = "backward"
	MatchStack    Match = "stack"
	MatchBlock    Match = "block"
	MatchName     Match = "name"
	MatchType     Match = "type"
	MatchScope    Match = "scope"
	MatchPart     Match = "part"
	MatchID       Match = "id"
	MatchNode     Match = "node"
	MatchOrder    Match = "order"
	MatchFile     Match = "file"
	MatchParam    Match = "param"
	MatchUp       Match = "up"   // a producer of what was found
	MatchDown     Match = "down" // a consumer of it
)

// matchOrder is the order of matches in an answer.
var matchOrder = []Match{MatchLine, MatchFused, MatchBackward, MatchStack, MatchBlock, MatchParam, MatchName, MatchType, MatchScope, MatchPart, MatchID, MatchNode, MatchOrder, MatchFile, MatchUp, MatchDown}

// compare orders matches.
func (m Match) compare(other Match) int {
	return slices.Index(matchOrder, m) - slices.Index(matchOrder, other)
}

// Result is an *Operator or a *Parameter.
type Result interface {
	// Where is where it was found.
	Where() *Place
	// tensors are the dumps that a query asks for.
	tensors() []*dumpdir.File
}

// Place is where in a tree something was found.
type Place struct {
	// Match says in what way the result fits the query, Confidence how sure that is.
	Match      Match      `json:"match"`
	Confidence Confidence `json:"confidence"`
	// Rank, Graph and IR are the rank, the number of the graph and the file with it;
	// null where they are not known.
	Rank  *int    `json:"rank"`
	Graph *int    `json:"graph"`
	IR    *string `json:"ir"`
}

// Where implements Result.
func (p *Place) Where() *Place { return p }

// Operator is an operator that was found. What is not known is nil.
type Operator struct {
	Place
	// IRLine is the line of the file IR with the operator.
	IRLine *int `json:"ir_line"`
	// Node is the name in the graph, in the graph Subgraph of the file.
	Node     *string `json:"node"`
	Subgraph string  `json:"subgraph"`
	// OpType is the type, OpName the full name.
	OpType string  `json:"op_type"`
	OpName *string `json:"op_name"`
	// Order is the place in the execution order, from 1, OrderTotal how many operators
	// that has.
	Order      *int `json:"order"`
	OrderTotal *int `json:"order_total"`
	// Source is the line of the script, as FILE:LINE, and Code what stands there.
	// SourceVia says whose line it is: own, fused, forward or library.
	Source    *string `json:"source"`
	SourceVia *string `json:"source_via"`
	Code      *string `json:"code"`
	// Files are the dumps. Ambiguous are those that may be of other operators too,
	// Statistics the lines of tables, as FILE#LINE.
	Files      []string `json:"files"`
	Ambiguous  []string `json:"ambiguous_files"`
	Statistics []string `json:"statistics"`
	// Inputs and Outputs are the tensors, with who is at their other ends.
	Inputs  []Input  `json:"inputs"`
	Outputs []Output `json:"outputs"`
	// Stack is the call stack, where that is asked for.
	Stack []Frame `json:"stack,omitempty"`
	// NotDumped is set where others of the tree have dumps, and this one has none.
	NotDumped bool `json:"-"`
	// Level is how many operators lie between a producer or consumer and what was
	// found, from 1.
	Level int `json:"level,omitempty"`
	// Rows are what tables of statistics say, for people.
	Rows []Row `json:"-"`
	// FileTensor is what the file that was asked for holds; nil for other queries.
	*FileTensor

	dumps []*dumpdir.File
}

// FileTensor says which tensor of its operator a file holds, by its name; nil where that
// does not say.
type FileTensor struct {
	// IO is input or output, Index the number among those.
	IO    *string `json:"io"`
	Index *int    `json:"index"`
}

// excludes reports whether the file that was asked for is surely that of another tensor.
func (t *FileTensor) excludes(io string, index int) bool {
	return t != nil && t.IO != nil && (*t.IO != io || *t.Index != index)
}

// Slot is an input or output of an operator, with what the graph says of its tensor.
type Slot struct {
	// Index is the number of the input or output, from 0.
	Index int `json:"index"`
	// DType, Format and Shape are null where the graph does not say.
	DType  *string      `json:"dtype"`
	Format *string      `json:"format"`
	Shape  tensor.Shape `json:"shape"`
}

// Input is an input of an operator.
type Input struct {
	Slot
	// From are the operators that feed it, or param:NAME.
	From []Link `json:"from"`
	// Via are the names of nodes that only cast or change the layout, behind End, for
	// people.
	Via []string `json:"via"`
	End []Link   `json:"-"`
	// Dumped are the nearest operators above that were dumped, where no dump has the
	// input itself, and Undumped those between that were not.
	Dumped   []Link   `json:"dumped,omitempty"`
	Undumped []string `json:"undumped,omitempty"`
}

// Output is an output of an operator.
type Output struct {
	Slot
	// To are the operators that read it, with the number of their input.
	To []Link `json:"to"`

	dumped *Link // the first of them of which there is a dump
}

// Link is an end of an edge: an operator, and the number of its output or input. JSON has
// a list of the two.
type Link struct {
	Name  string
	Index int
}

// Frame is a line of a call stack.
type Frame struct {
	// File is the script, Line and LineEnd are the first and the last line.
	File    string `json:"file"`
	Line    int32  `json:"line"`
	LineEnd int32  `json:"line_end"`
	// Code is what stands there, null where the graph does not say.
	Code *string `json:"code"`
	// Library is set for a file of the framework.
	Library bool `json:"library"`
	// Kind says whose stack it is: own, fused or forward.
	Kind string `json:"kind"`
}

// Row is what a table of statistics says about a tensor.
type Row struct {
	Kind       tensor.Kind
	Index      int
	Statistics *dumpdir.Statistics
}

// Parameter is a parameter that was found.
type Parameter struct {
	Place
	// Param is the name, Number that in the graph, null where it has none.
	Param  string `json:"param"`
	Number *int   `json:"number"`
	// Files are the dumps, Consumers the operators that read it.
	Files     []string   `json:"files"`
	Consumers []Consumer `json:"consumers"`

	dumps []*dumpdir.File
}

// Consumer is an operator that reads a parameter.
type Consumer struct {
	// Node is the name in the graph, in the graph Subgraph of the file.
	Node     *string `json:"node"`
	Subgraph string  `json:"subgraph"`
	// OpName is the full name, Input the number of the input.
	OpName *string `json:"op_name"`
	Input  int     `json:"input"`
	// Via are the operators in between that only cast or change the layout.
	Via []string `json:"via"`
	// Files are the dumps of the operator.
	Files []string `json:"files"`
}

// MarshalJSON implements json.Marshaler: a name and a number.
func (l Link) MarshalJSON() ([]byte, error) { return json.Marshal([]any{l.Name, l.Index}) }
