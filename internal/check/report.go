package check

import (
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/ranks"
	"dumptool/internal/recompute"
	"dumptool/internal/shard"
	"dumptool/internal/tensor"
)

// Schema identifies a Report as a JSON document.
const (
	Schema        = "dumptool/check/2"
	EarlierSchema = "dumptool/check/1" // has the paths in its options, not in argv
)

// Report is the result of Run, and its JSON document.
type Report struct {
	// Schema names the document.
	Schema string `json:"schema"`
	// Paths are the checked paths, as given.
	Paths []string `json:"paths"`
	// Seed is the seed of random signs and samples.
	Seed int64 `json:"seed"`
	// Summary counts the operators.
	Summary Summary `json:"summary"`
	// Orders are the sources of the execution order.
	Orders []dumpdir.Order `json:"order_source"`
	// Graph is the graph that gave attributes, empty for none.
	Graph string `json:"graph_source,omitempty"`
	// Rounds are the rounds with operators.
	Rounds []dumpdir.Coordinates `json:"rounds"`
	// Operators are in the order of the rounds, then of the execution.
	Operators []Operator `json:"operators"`
	// Ranks is the judgement of communication and replicas between ranks, null if not checked.
	Ranks *ranks.Report `json:"ranks"`
	// Unwritten is memory with rows that no operator wrote.
	Unwritten []Unwritten `json:"unwritten,omitempty"`
	// Warnings are oddities, Problems are files and tensors that could not be read.
	Warnings []lang.Sentence `json:"warnings"`
	Problems []Problem       `json:"problems"`
	shard.Origin

	failOn         []string
	require        float64
	otherFiles     []batch.Message
	onlyStatistics bool // the run has statistics only
	// excludedCount counts the operators that the name filters leave out.
	excludedCount int
	// operandBits is set if the products of the run round their factors to 8 bits.
	operandBits lang.Sentence
}

// recheckOptions lists the options that can change the verdict on an operator.
var recheckOptions = []string{"attr", "budget", "fusion", "full", "graph-file", "ir", "seed", "version"}

// RecheckArguments returns the arguments with which an operator is judged as in the report.
func (r *Report) RecheckArguments() []string {
	args := lang.PathArguments(r.Paths)
	for _, word := range r.Argv {
		if name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "="); slices.Contains(recheckOptions, name) {
			args = append(args, word)
		}
	}
	return args
}

// Summary counts the operators of a report.
type Summary struct {
	// Headline states the most important result, HeadlineZH in Chinese.
	Headline   lang.Sentence `json:"headline"`
	HeadlineZH string        `json:"headline_zh"`
	// Counts are the numbers of operators by status.
	Counts map[string]int `json:"counts"`
	// Judged counts the operators that are not undecided, Operators all operators. Share is the judged share of the
	// bytes, 0 to 1.
	Judged    int     `json:"judged"`
	Operators int     `json:"operators"`
	Share     float64 `json:"bytes"`
	// Undecided counts the undecided operators by reason.
	Undecided map[recompute.Reason]int `json:"undecided"`
	// First is the index of the first wrong operator in execution order, null for none.
	First *int `json:"first_wrong"`
}

// Operator is the row of an executed operator.
type Operator struct {
	// Op is the name of the operator, Type its type.
	Op   string `json:"op"`
	Type string `json:"op_type"`
	// At is the round: step, rank, model and execution.
	At dumpdir.Coordinates `json:"at"`
	// File is the dump file, the first of several.
	File string `json:"file"`
	// Script is the line of the user's script, Modules the modules around it.
	Script  string   `json:"script,omitempty"`
	Modules []string `json:"modules,omitempty"`
	// Order is the position in the execution order, -1 if unknown.
	Order int `json:"order"`
	recompute.Verdict
	// Evidence explains the verdict in words, EvidenceZH in Chinese; Facts are its numbers.
	Evidence   lang.Sentence `json:"evidence,omitzero"`
	EvidenceZH string        `json:"evidence_zh,omitempty"`
	Facts      finding.Facts `json:"facts,omitempty"`
	// Fused says whether other operators were merged into it, null if unknown.
	Fused *bool `json:"fused"`
	// Outputs and Inputs are the tensors. FedBy are the indexes of the operators that wrote its inputs, by the data
	// flow; none if it is unknown.
	Outputs []Output `json:"outputs"`
	Inputs  []Tensor `json:"inputs"`
	FedBy   []int    `json:"fed_by,omitempty"`

	size               int64 // bytes of the tensors
	hasGraph           bool  // a graph has the operator
	hasGraphAttributes bool  // a graph gave attributes
}

// Tensor is a tensor of an operator.
type Tensor struct {
	// Index is the position among the inputs or outputs. DType is the type that the NPU rounds to, Shape the shape on
	// the host, Format the stored layout.
	Index  int          `json:"index"`
	DType  string       `json:"dtype"`
	Shape  tensor.Shape `json:"shape"`
	Format string       `json:"format"`
	// Name is the name of an input in msprobe's dump.json, without its own call: input.2, parameters.bias.
	Name string `json:"name,omitempty"`
	// From is the operator whose output stands in for an input that was not dumped.
	From string `json:"from,omitempty"`
}

// Output is an output and how it differs from the computed output.
type Output struct {
	Tensor
	recompute.Output
	// Pictures show the output beside the computed output, for the first wrong operators, in the form of
	// compare.json.
	Pictures *metrics.Pictures `json:"pictures,omitempty"`

	file string // of the tensor
}

// Problem is a file, or a tensor in it, that could not be read.
type Problem struct {
	// File is the file, Err the error. Kind is set for a problem with the folders.
	File string              `json:"file"`
	Err  lang.Sentence       `json:"message"`
	Kind dumpdir.ProblemKind `json:"kind,omitempty"`
}
