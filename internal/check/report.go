package check

import (
	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/ranks"
	"dumptool/internal/recompute"
	"dumptool/internal/shard"
	"dumptool/internal/tensor"
)

// Schema is that of a Report as a document.
const (
	Schema        = "dumptool/check/2"
	EarlierSchema = "dumptool/check/1" // its options have the paths that argv has now
)

// Report is the result of Run, and the document of it.
type Report struct {
	// Schema names the document.
	Schema string `json:"schema"`
	// Paths are the paths that were checked, as they were given.
	Paths []string `json:"paths"`
	// Seed is that of signs and samples.
	Seed int64 `json:"seed"`
	// Summary counts the operators.
	Summary Summary `json:"summary"`
	// Orders are the sources of the execution order.
	Orders []dumpdir.Order `json:"order_source"`
	// Graph is the graph that gave attributes, empty for none.
	Graph string `json:"graph_source,omitempty"`
	// Rounds are those with operators.
	Rounds []dumpdir.Coordinates `json:"rounds"`
	// Operators are in the order of the rounds, then of the execution.
	Operators []Operator `json:"operators"`
	// Ranks are what the ranks say of each other, null where nothing was checked.
	Ranks *ranks.Report `json:"ranks"`
	// Warnings are oddities, Problems what could not be read.
	Warnings []lang.Sentence `json:"warnings"`
	Problems []Problem       `json:"problems"`
	shard.Origin

	failOn  []string
	require float64
	others  []batch.Message
	tables  bool // there are statistics only
	// unchosen are operators that names leave out.
	unchosen int
	// operandBits says that the products of the run round their factors, zero if they do not.
	operandBits lang.Sentence
}

// Summary counts the operators of a report.
type Summary struct {
	// Headline says the most important thing, HeadlineZH in Chinese.
	Headline   lang.Sentence `json:"headline"`
	HeadlineZH string        `json:"headline_zh"`
	// Counts are the operators by their status.
	Counts map[string]int `json:"counts"`
	// Judged are those of Operators that are not undecided, Share is their share of the bytes.
	Judged    int     `json:"judged"`
	Operators int     `json:"operators"`
	Share     float64 `json:"bytes"`
	// Undecided counts the others by their reason.
	Undecided map[string]int `json:"undecided"`
	// First is the first wrong one in the order, null for none.
	First *int `json:"first_wrong"`
}

// Operator is the row of one execution of an operator.
type Operator struct {
	// Op is the operator, Type its type.
	Op   string `json:"op"`
	Type string `json:"op_type"`
	// At is the round.
	At dumpdir.Coordinates `json:"at"`
	// File is the file, of several the first.
	File string `json:"file"`
	// Script is the line of the user's script, Modules the modules around it.
	Script  string   `json:"script,omitempty"`
	Modules []string `json:"modules,omitempty"`
	// Order is the place in the execution, -1 where that is not known.
	Order int `json:"order"`
	// Status is the verdict, Reason and Extent say what is wrong, or why there is none.
	Status recompute.Status `json:"status"`
	Reason string           `json:"reason,omitempty"`
	Extent recompute.Extent `json:"extent,omitempty"`
	// Confidence says how sure it is.
	Confidence recompute.Confidence `json:"confidence,omitempty"`
	// Evidence says it in words, EvidenceZH in Chinese, Facts are its numbers.
	Evidence   string        `json:"evidence,omitempty"`
	EvidenceZH string        `json:"evidence_zh,omitempty"`
	Facts      finding.Facts `json:"facts,omitempty"`
	// Fused says whether other operators were merged into it, null where nobody knows.
	Fused *bool `json:"fused"`
	// Attributes are those that count, Hypotheses how many values were tried for those that
	// nobody says.
	Attributes map[string]recompute.Attribute `json:"attributes"`
	Hypotheses int                            `json:"hypotheses"`
	// Outputs and Inputs are the tensors.
	Outputs []Output `json:"outputs"`
	Inputs  []Tensor `json:"inputs"`
	// Notes are remarks.
	Notes []recompute.Note `json:"notes,omitempty"`
	// Headroom lists the largest numbers between the inputs and the outputs.
	Headroom []recompute.Inside `json:"headroom,omitempty"`

	size     int64 // of the tensors, in bytes
	singles  bool  // a product of float32
	adds     bool  // the order of its additions may change its outputs
	known    bool  // a graph has the operator
	inGraph  bool  // a graph gave attributes
	evidence lang.Sentence
}

// Tensor is a tensor of an operator.
type Tensor struct {
	// Index is its place, DType the type that the NPU rounds to, Shape that on the host, Format
	// the layout in which it is stored.
	Index  int          `json:"index"`
	DType  string       `json:"dtype"`
	Shape  tensor.Shape `json:"shape"`
	Format string       `json:"format"`
	// From is the operator whose output stands in for an input that was not dumped.
	From string `json:"from,omitempty"`
}

// Output is an output and how it differs from what was computed.
type Output struct {
	Tensor
	// Elements are those of the output, Checked those that were computed again; How says by
	// what way: all, projected or sampled.
	Elements int64  `json:"elements"`
	Checked  int64  `json:"checked"`
	How      string `json:"how"`
	// Bad are the elements beyond the wide bound, Beyond those beyond the narrow one.
	Bad    int64 `json:"bad"`
	Beyond int64 `json:"beyond_narrow"`
	// Worst is the largest error beside the wide bound, RMS the root of the mean of squares.
	Worst tensor.Number `json:"worst_ratio"`
	RMS   tensor.Number `json:"rms_ratio"`
	// Overflow are elements that the inputs really put beyond the type, Skipped those beside
	// NaN and infinities of the inputs.
	Overflow int64 `json:"overflow"`
	Skipped  int64 `json:"skipped"`
	// FirstBad is the first bad element, Elems are those that differ most.
	FirstBad *Element  `json:"first_bad"`
	Elems    []Element `json:"worst"`
	// Chi and MaxZ are those of a projection.
	Chi  float64 `json:"chi,omitempty"`
	MaxZ float64 `json:"max_z,omitempty"`

	file  string // of the tensor
	width float64
}

// Element is an element of an output.
type Element struct {
	// Offset is its number in the order of the shape, Coord are its coordinates; Computed is what
	// it should be, NPU what it is.
	Offset   int64          `json:"offset"`
	Coord    []int64        `json:"coord"`
	Computed *tensor.Number `json:"computed,omitempty"`
	NPU      *tensor.Number `json:"npu,omitempty"`
}

// Problem is a file, or a tensor in it, that could not be read.
type Problem struct {
	// File is the file, Err what is wrong with it, Kind that of a problem of the folders.
	File string              `json:"file"`
	Err  lang.Failure        `json:"message"`
	Kind dumpdir.ProblemKind `json:"kind,omitempty"`
}
