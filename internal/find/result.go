package find

import (
	"encoding/json"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/graph"
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

// Answer is what was found.
type Answer struct {
	Query string
	// Kind is what the query was taken for.
	Kind    Kind
	Results []Result
	// More is how many results are beyond the limit.
	More int
	// Graphs is how many graphs were looked into.
	Graphs     int
	Unreadable []Unreadable
	Notes      []lang.Sentence
	// Hints say what may be meant where nothing was found.
	Hints []lang.Sentence

	paths  []string
	chosen map[string]bool
}

// Unreadable is a file that could not be read, or only in part.
type Unreadable struct {
	Path   string `json:"path"`
	Error  string `json:"error"`
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

// Result is an operator or a parameter.
type Result struct {
	// Operator is nil for a parameter, Param for an operator.
	Operator *Operator
	Param    *Parameter
}

// Place is where in a tree something was found.
type Place struct {
	Match      Match      `json:"match"`
	Confidence Confidence `json:"confidence"`
	Rank       *int       `json:"rank"`
	Graph      *int       `json:"graph"`
	IR         *string    `json:"ir"` // the file with the graph
}

// Operator is an operator that was found. What is not known is nil.
type Operator struct {
	Place
	IRLine     *int     `json:"ir_line"`
	Node       *string  `json:"node"`
	Subgraph   string   `json:"subgraph"`
	OpType     string   `json:"op_type"`
	OpName     *string  `json:"op_name"`
	Order      *int     `json:"order"`
	OrderTotal *int     `json:"order_total"`
	Source     *string  `json:"source"`
	SourceVia  *string  `json:"source_via"`
	Code       *string  `json:"code"`
	Files      []string `json:"files"`
	Ambiguous  []string `json:"ambiguous_files"`
	Statistics []string `json:"statistics"`
	Inputs     []Input  `json:"inputs"`
	Outputs    []Output `json:"outputs"`
	Stack      []Frame  `json:"stack,omitempty"`
	// NotDumped is set where others of the tree have dumps, and this one has none.
	NotDumped bool `json:"-"`
	// Level is how many operators lie between a producer or consumer and what was
	// found, from 1.
	Level int `json:"level,omitempty"`
	// IO and Index are those of the file that was asked for.
	IO    *string `json:"-"`
	Index *int    `json:"-"`
	// Rows are what tables of statistics say, for people.
	Rows []Row `json:"-"`

	dumps []*dumpdir.File
}

// Slot is an input or output of an operator, with what the graph says of its tensor.
type Slot struct {
	Index  int          `json:"index"`
	DType  *string      `json:"dtype"`
	Format *string      `json:"format"`
	Shape  tensor.Shape `json:"shape"`
}

// newSlot is a slot of a type.
func newSlot(index int, t *graph.TensorType) Slot {
	return Slot{index, text(t.DType), text(t.Format), t.Shape}
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

// Link is an end of an edge: an operator, and the number of its output or input.
type Link struct {
	Name  string
	Index int
}

// Frame is a line of a call stack.
type Frame struct {
	File    string  `json:"file"`
	Line    int32   `json:"line"`
	LineEnd int32   `json:"line_end"`
	Code    *string `json:"code"`
	Library bool    `json:"library"`
	Kind    string  `json:"kind"`
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
	Param     string     `json:"param"`
	Number    *int       `json:"number"`
	Files     []string   `json:"files"`
	Consumers []Consumer `json:"consumers"`

	dumps []*dumpdir.File
}

// Consumer is an operator that reads a parameter.
type Consumer struct {
	Node     *string  `json:"node"`
	Subgraph string   `json:"subgraph"`
	OpName   *string  `json:"op_name"`
	Input    int      `json:"input"`
	Via      []string `json:"via"`
	Files    []string `json:"files"`
}

// Place returns where a result was found.
func (r *Result) Place() *Place {
	if r.Operator != nil {
		return &r.Operator.Place
	}
	return &r.Param.Place
}

// viaName is the name of a way to a script line, nil for none.
func viaName(v graph.Via) *string {
	if v == graph.ViaNone {
		return nil
	}
	s := string(v)
	return &s
}

// MarshalJSON implements json.Marshaler: a name and a number.
func (l Link) MarshalJSON() ([]byte, error) { return json.Marshal([]any{l.Name, l.Index}) }
