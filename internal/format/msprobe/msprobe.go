// Package msprobe reads what Ascend's msprobe writes beside the tensors of a run:
// dump.json or debug.json with the calls of the framework's functions and modules in
// execution order, each with what went in and came out; stack.json with the lines of
// the script behind them, and construct.json with the modules around them. The
// tensors themselves are files of others.
//
// The form is that of the sources of msprobe (core/data_dump). The files are written
// by Python's json, which has NaN, Infinity and -Infinity.
package msprobe

import (
	"strconv"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/tensor"
)

// The names of the files, and of the folder with the tensors beside them.
const (
	DumpName      = "dump.json"
	DebugName     = "debug.json"
	StackName     = "stack.json"
	ConstructName = "construct.json"
	TensorFolder  = "dump_tensor_data"
)

// The tasks that a dump was made for; there are others.
const (
	TensorTask     = "tensor"
	StatisticsTask = "statistics"
)

// Header is what dump.json says about all calls.
type Header struct {
	Task      string // tensor, statistics, ...
	Level     string // L0, L1, L2, mix, debug; empty where the file does not say
	Framework string // pytorch, mindspore, mindtorch; empty where the file does not say
}

// Entry is a call of a function or module, or the gradients of a module's parameters.
type Entry struct {
	// API names the call, such as Functional.relu.0.forward.
	API string
	// Recomputed is set for a forward call in the backward pass.
	Recomputed bool
	// Leaves are its values: inputs, parameters, outputs, gradients of parameters.
	Leaves []Leaf
}

// Leaf is a value of a call: a tensor, something else, or None.
type Leaf struct {
	// Name is that of the value in a run, such as Functional.relu.0.forward.input.0.
	Name string
	Kind tensor.Kind
	// Index is the place among the values of the kind that are not in one another:
	// arguments with a name come after those without. Path are the place or the key,
	// and those inside it, with dots between.
	Index int
	Path  string
	// Tensor is nil for what is none, Value for a tensor and for None.
	Tensor *Tensor
	Value  *Value
	// P2P is set for the tensor of one of several sends and receives in a call.
	P2P *P2P
}

// P2P is what batch_isend_irecv does with a tensor.
type P2P struct {
	Op        string // isend or irecv
	Peer, Tag int    // the rank that it goes to or comes from
}

// Tensor describes a tensor.
type Tensor struct {
	Type  string // of the framework, such as torch.Tensor
	DType string // as the framework has it: torch.float16, Float16
	Shape tensor.Shape
	// Max, Min, Mean and Norm are those of the elements, of complex ones of their
	// absolute values.
	Max, Min, Mean, Norm Number
	// FiniteMax and FiniteMin are the extremes of the finite elements, which newer writers
	// add where Max or Min is not finite.
	FiniteMax, FiniteMin Number
	// Digest is the CRC-32 of the elements in 8 hexadecimal digits, or 0x with 16 of
	// another sum; empty for none.
	Digest string
	// RequiresGrad is nil where the file does not say.
	RequiresGrad *bool
	// DataName is the file with the elements, empty for none. It comes from the file
	// and may hold anything.
	DataName string
	// Odd says what in the file cannot be said of a tensor, and was left out; empty for
	// nothing.
	Odd string
}

// Numbers are Max, Min, Mean and Norm.
func (t *Tensor) Numbers() [4]Number { return [4]Number{t.Max, t.Min, t.Mean, t.Norm} }

// Number is a statistic of a tensor.
type Number struct {
	// Kind is Invalid for one that is absent; Null, Bool, Number or String.
	Kind jsonpos.Kind
	// Int is set for a number that is written as a whole one.
	Int bool
	// Value is that of a number or, as 0 or 1, of a boolean.
	Value float64
	// Text is that of a string.
	Text string
}

// Value is a value that is no tensor.
type Value struct {
	Type string // such as int
	// Kind is what the value is in the file, and Text what Python's str makes of it.
	Kind jsonpos.Kind
	Text string
	// Group are the ranks of a process group, in their order in it; nil for what is none.
	// Groups of the same ranks share them.
	Group []int
	// Odd says what in the file cannot be said of a value, and was left out; empty for
	// nothing.
	Odd string
}

// NumberOr is the number that a value is, or another one if it is none.
func (l *Leaf) NumberOr(other float64) float64 {
	if l.Value != nil && l.Value.Kind == jsonpos.Number {
		if v, err := strconv.ParseFloat(l.Value.Text, 64); err == nil {
			return v
		}
	}
	return other
}

// IsModule reports whether an API is the call of a module, which other calls are
// inside of.
func IsModule(api string) bool {
	return strings.HasPrefix(api, "Module.") || strings.HasPrefix(api, "Cell.")
}

// dtypePrefix stands before the types of PyTorch.
const dtypePrefix = "torch."

// ElementType is the element type, Undefined for one that is not known.
func (t *Tensor) ElementType() tensor.DType {
	word := strings.TrimPrefix(t.DType, dtypePrefix)
	if strings.HasPrefix(word, "float8_e8m0") {
		word = "float8_e8m0"
	}
	d, _ := tensor.ParseDType(word)
	return d
}
