package find

import (
	"encoding/json"
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/graph"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Options says where and how to search. The zero value searches nothing.
type Options struct {
	// Paths lists the folders. IR lists graph files that replace the graphs found there.
	Paths, IR []string
	// Rounds selects graphs and files by rank, step, graph and model.
	Rounds dumpdir.Selection
	// Up and Down are the numbers of levels of producers and consumers to show.
	Up, Down int
	// Stack includes the call stacks. All includes results of low confidence and of every stage of
	// matching.
	Stack, All bool
	// NoFiles omits the dumps.
	NoFiles bool
	// Limit is the largest number of operators, 0 for all.
	Limit int
	// Workers is the number of ranks searched concurrently; 0 means GOMAXPROCS.
	Workers int
	// Observe is called for every finished rank.
	Observe func(batch.Event)
}

// Schema is the schema of an Answer document.
const Schema = "dumptool/find/1"

// SearchResult is the result of a search, and its document.
type SearchResult struct {
	Schema string `json:"schema"`
	// Query is the text of the query.
	Query string `json:"query"`
	// Kind is the kind of the query, detected if it was not given.
	Kind Kind `json:"kind"`
	// Results lists operators and parameters, best matches first.
	Results []Result `json:"results"`
	// More is the number of results beyond the limit.
	More int `json:"more"`
	// Graphs is the number of searched graphs.
	Graphs int `json:"-"`
	// Unreadable lists files that could not be read.
	Unreadable []Unreadable `json:"unreadable"`
	// Notes lists oddities of the graphs. If nothing was found, the last hints notes suggest other
	// queries.
	Notes []lang.Sentence `json:"notes"`

	hints  int
	paths  []string
	chosen map[string]bool
}

// Unreadable is a file that could not be read completely.
type Unreadable struct {
	// Path is the file, Error the error.
	Path  string        `json:"path"`
	Error lang.Sentence `json:"error"`
	// Offset is the byte where the file is damaged, null if unknown.
	Offset *int64 `json:"offset"`
}

// Confidence is the confidence in a match.
type Confidence string

// Values of Confidence.
const (
	High   Confidence = "high"
	Medium Confidence = "medium"
	Low    Confidence = "low"
)

// Match is the way in which a result matches the query.
type Match string

// The matches, in the order of an answer.
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
	MatchUp       Match = "up"   // a producer of a match
	MatchDown     Match = "down" // a consumer of a match
)

// matchOrder is the order of matches in an answer.
var matchOrder = []Match{MatchLine, MatchFused, MatchBackward, MatchStack, MatchBlock, MatchParam, MatchName, MatchType, MatchScope, MatchPart, MatchID, MatchNode, MatchOrder, MatchFile, MatchUp, MatchDown}

// compare orders matches.
func (m Match) compare(other Match) int {
	return slices.Index(matchOrder, m) - slices.Index(matchOrder, other)
}

// Result is an *Operator or a *Parameter.
type Result interface {
	// Position returns the place of the result.
	Position() *TreePosition
	// tensors returns the dumps that a query selects.
	tensors() []*dumpdir.File
}

// TreePosition is the place of a result in a tree.
type TreePosition struct {
	// Match is the way in which the result matches the query, Confidence the confidence in it.
	Match      Match      `json:"match"`
	Confidence Confidence `json:"confidence"`
	// Rank is the rank, Graph the number of the graph, and IR the file of the graph; null if
	// unknown.
	Rank  *int                 `json:"rank"`
	Graph *int                 `json:"graph"`
	IR    jsonpos.NullableText `json:"ir"`
}

// GraphNode is an operator in its graph file.
type GraphNode struct {
	// Node is the name in the graph, Subgraph the subgraph of the file.
	Node     jsonpos.NullableText `json:"node"`
	Subgraph string               `json:"subgraph"`
}

// Position implements Result.
func (p *TreePosition) Position() *TreePosition { return p }

// Operator is a found operator. Unknown properties are nil.
type Operator struct {
	TreePosition
	// IRLine is the operator's line in the file IR.
	IRLine *int `json:"ir_line"`
	GraphNode
	// OpType is the type, OpName the full name.
	OpType string               `json:"op_type"`
	OpName jsonpos.NullableText `json:"op_name"`
	// Order is the position in the execution order, from 1, OrderTotal the length of that order.
	Order      *int `json:"order"`
	OrderTotal *int `json:"order_total"`
	// Source is the line of the script, as FILE:LINE, and Code its text. SourceVia says whose line
	// it is: own, fused, forward or library.
	Source    jsonpos.NullableText `json:"source"`
	SourceVia jsonpos.NullableText `json:"source_via"`
	Code      jsonpos.NullableText `json:"code"`
	// Files lists the dumps. Ambiguous lists dumps that may belong to other operators, Statistics
	// the lines of tables, as FILE#LINE.
	Files      []string `json:"files"`
	Ambiguous  []string `json:"ambiguous_files"`
	Statistics []string `json:"statistics"`
	// Inputs and Outputs list the tensors with the operators at their other ends.
	Inputs  []Input  `json:"inputs"`
	Outputs []Output `json:"outputs"`
	// Stack is the call stack, if requested.
	Stack []Frame `json:"stack,omitempty"`
	// NotDumped: the tree has dumps, but none of this operator.
	NotDumped bool `json:"-"`
	// Level is the distance of a producer or consumer from the match, from 1.
	Level int `json:"level,omitempty"`
	// Rows lists the lines of statistics tables, for people.
	Rows []Row `json:"-"`
	// FileTensor is the tensor in the queried file; nil for other queries.
	*FileTensor

	dumps []*dumpdir.File
}

// FileTensor is the tensor of an operator in a file, by the file's name; nil if the name does not
// say.
type FileTensor struct {
	// IO is input or output, Index its number.
	IO    jsonpos.NullableText `json:"io"`
	Index *int                 `json:"index"`
}

// excludes reports whether the queried file certainly holds another tensor.
func (t *FileTensor) excludes(io string, index int) bool {
	return t != nil && t.IO != "" && (string(t.IO) != io || *t.Index != index)
}

// Slot is an input or output of an operator, with its tensor type from the graph.
type Slot struct {
	// Index is the number of the input or output, from 0.
	Index int `json:"index"`
	// TensorType has the host's shape in Host too if the graph has host types only.
	graph.TensorType
}

// Input is an input of an operator.
type Input struct {
	Slot
	// From lists the operators that feed the input, or param:NAME.
	From []Link `json:"from"`
	// Via lists the nodes between the input and End that only cast or change the layout, for
	// people.
	Via []string `json:"via"`
	End []Link   `json:"-"`
	// Dumped lists the nearest dumped operators above, if no dump has the input itself, and
	// Undumped the operators in between that were not dumped.
	Dumped   []Link   `json:"dumped,omitempty"`
	Undumped []string `json:"undumped,omitempty"`
}

// Output is an output of an operator.
type Output struct {
	Slot
	// To lists the operators that read the output, with the numbers of their inputs.
	To []Link `json:"to"`

	dumped *Link // the first reader with a dump
}

// Link is an end of an edge: an operator with the number of its output or input. JSON has a list of
// both.
type Link struct {
	Name  string
	Index int
}

// Frame is a line of a call stack.
type Frame struct {
	// File is the script, Line its first and LineEnd its last line.
	File    string `json:"file"`
	Line    int32  `json:"line"`
	LineEnd int32  `json:"line_end"`
	// Code is the text of the lines, null if the graph lacks it.
	Code jsonpos.NullableText `json:"code"`
	// Library marks files of the framework.
	Library bool `json:"library"`
	// Kind says which stack it is: own, fused or forward.
	Kind string `json:"kind"`
}

// Row is the line of a statistics table for a tensor.
type Row struct {
	Kind       tensor.Kind
	Index      int
	Statistics *dumpdir.Statistics
}

// Parameter is a found parameter.
type Parameter struct {
	TreePosition
	// Param is the name, Number the number in the graph, null if it has none.
	Param  string `json:"param"`
	Number *int   `json:"number"`
	// Files lists the dumps, Consumers the operators that read the parameter.
	Files     []string   `json:"files"`
	Consumers []Consumer `json:"consumers"`

	dumps []*dumpdir.File
}

// Consumer is an operator that reads a parameter.
type Consumer struct {
	GraphNode
	// OpName is the full name, Input the number of the input.
	OpName jsonpos.NullableText `json:"op_name"`
	Input  int                  `json:"input"`
	// Via lists the operators in between that only cast or change the layout.
	Via []string `json:"via"`
	// Files lists the dumps of the operator.
	Files []string `json:"files"`
}

// MarshalJSON implements json.Marshaler: a name and a number.
func (l Link) MarshalJSON() ([]byte, error) { return json.Marshal([]any{l.Name, l.Index}) }
