package recompute

import (
	"slices"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/optype"
)

// Class says how exactly a healthy operator computes, and thereby how its output is judged.
type Class uint8

// The classes, from exact to loosely bounded.
const (
	Move      Class = iota // copies of elements
	Exact                  // rounded once
	Plain                  // rounded a few times
	Divided                // roots and quotients
	Tabled                 // functions computed by tables
	Norm                   // normalisation of rows
	Reduced                // sums and means
	Linear                 // matrix products and convolutions
	Converted              // conversions between element types
	Integral               // integers and flags
	Quantised              // rounded numbers times a scale
)

var classNames = [...]string{"move", "exact", "plain", "divide", "table", "norm", "reduce", "linear", "cast", "integer", "quantise"}

func (c Class) String() string { return classNames[c] }

// formula is a row of the table: an operator, all its names, and what it computes.
type formula struct {
	// name is the CANN type of the operator. It is empty for operators without a formula: for these only the noise is
	// known.
	name  string
	class Class
	// forms are the names of the operator, grouped by the order of inputs.
	forms []nameGroup
	// noise says how noise passes through the operator, nil for the noise of its class.
	noise *optype.Type
	// inputs are the names of the inputs in order: NAME? may be absent, NAME* stands for all further inputs.
	inputs string
	// cut says how the formula may be cut into cells.
	cut cutter
	// compute returns the outputs of a cell.
	compute func(c *call) []*Array
	// linear replaces compute for matrix products; cut then says which parts of the product can be exported (PieceOf).
	linear func(p *problem, h Attributes) (*linear, lang.Sentence)
	// attrs are the attributes of the formula with the possible values of unknown ones.
	attrs []attribute
	// read derives the attributes of the formula from the attributes of graphs and calls that have other names or
	// forms.
	read func(p *problem, raw Attributes) Attributes
	// open: the operator may compute something else than any choice of the attributes.
	open bool
	// isIdempotent: the operator is idempotent, f(f(x)) = f(x), so that an overwritten input does no harm.
	isIdempotent bool
	// hasSeparateOutputs: outputs are computed one at a time.
	hasSeparateOutputs bool
	// hasSteps: the operator consists of several kernels, and each may round to the type of the output.
	hasSteps bool
	// overwritesInput: the operator overwrites its first input.
	overwritesInput bool
	// updatesInputs: the outputs are the first inputs after an update, as in optimisers.
	updatesInputs bool
	// hasStates: further outputs are no results, but seeds, offsets of random numbers and memory for later calls.
	hasStates bool
	// hasDynamicLength: the length of an output may depend on the values of the inputs.
	hasDynamicLength bool
	// outputs is the number of outputs that are computed, 0 for one. Further outputs are not judged.
	outputs int
	// isOfImages: an input of four axes is a batch of images with the channels on the second axis.
	isOfImages bool
	// axisOfOutput: the attribute axis refers to the shape of the output, not of the first input.
	axisOfOutput bool
}

// operators is the table of all operators, in groups of similar operators.
var operators = slices.Concat(elementwiseOperators, moves, reductions, normOperators, products, attentions, imageOperators, otherOperators,
	functions, lineOperators, losses, marginLosses, statistics, creations, indexings, resizes, recurrents, fusedOperators, backwards, optimisers)

// unary returns the row of a function of each element of one input. The first name is also the name of
// the formula.
func unary(names string, class Class, noise *optype.Type, f func(x *Array) *Array) formula {
	return elementwiseRow(names, "x", class, noise, unaryFormula(f))
}

// binary returns the row of a function of each pair of elements of two inputs.
func binary(names string, class Class, noise *optype.Type, f func(x, y *Array) *Array) formula {
	return elementwiseRow(names, "x1 x2", class, noise, binaryFormula(f))
}

// unaryWithNumber returns the row of a function of each element and a number, which is an attribute.
func unaryWithNumber(names string, class Class, noise *optype.Type, f func(x *Array, n float64) *Array, number attribute) formula {
	row := elementwiseRow(names, "x", class, noise, oneOutput(func(c *call) *Array { return f(c.input(0), c.numberAttribute(number.names[0])) }))
	row.attrs = []attribute{number}
	return row
}

func elementwiseRow(names, inputs string, class Class, noise *optype.Type, compute func(c *call) []*Array) formula {
	name, _, _ := strings.Cut(names, " ")
	return formula{name: name, class: class, noise: noise, inputs: inputs, cut: elementwiseCut, compute: compute, forms: []nameGroup{newNameGroup(names, "")}}
}

// noiseRow returns the row of operators without a formula.
func noiseRow(noise *optype.Type, names string) formula {
	return formula{noise: noise, forms: []nameGroup{newNameGroup(names, "")}}
}

// withNames returns the row with further names.
func (f formula) withNames(names, inputs string, noise ...*optype.Type) formula {
	f.forms = append(slices.Clip(f.forms), newNameGroup(names, inputs, noise...))
	return f
}

// idempotent returns the row of an operator with f(f(x)) = f(x).
func (f formula) idempotent() formula {
	f.isIdempotent = true
	return f
}

// unaryFormula returns the computation of a formula of the first input alone.
func unaryFormula(f func(x *Array) *Array) func(c *call) []*Array {
	return func(c *call) []*Array { return []*Array{f(c.input(0))} }
}

// binaryFormula returns the computation of a formula of two inputs.
func binaryFormula(f func(x, y *Array) *Array) func(c *call) []*Array {
	return func(c *call) []*Array { return []*Array{f(c.input(0), c.input(1))} }
}

// oneOutput returns the computation of a formula with one output.
func oneOutput(f func(c *call) *Array) func(c *call) []*Array {
	return func(c *call) []*Array { return []*Array{f(c)} }
}

// Noise of operators whose class does not determine it, or that several rows share.
var (
	unbounded         = &optype.Type{} // several classes in one, or differences of products
	layers            = &optype.Type{Parameters: 1 << 2}
	lipschitz         = &optype.Type{Class: optype.Lipschitz, Factor: 1}
	addition          = &optype.Type{Class: optype.Lipschitz, Factor: 1, Trait: optype.Adds}
	selection         = &optype.Type{Class: optype.Lipschitz, Factor: 1, Selects: true}
	weightedSelection = &optype.Type{Class: optype.Lipschitz, Factor: 1, Selects: true, Parameters: 1<<1 | 1<<2}
	multiplication    = &optype.Type{Class: optype.Multiply}
	division          = &optype.Type{Class: optype.Divide}
	quotients         = &optype.Type{Noise: optype.NoiseQuotient} // with further terms, so that their class is unknown
	powers            = &optype.Type{Class: optype.Multiply, Form: optype.Square}
	roots             = &optype.Type{Class: optype.Divide, Form: optype.Root}
	logarithms        = &optype.Type{Class: optype.Divide, Form: optype.Logarithm}
	exponents         = &optype.Type{Class: optype.Exponential, Transcendental: true}
	gates             = &optype.Type{Class: optype.Gated}
	quantisation      = &optype.Type{Class: optype.Quantise}
	dequantisation    = &optype.Type{Class: optype.Dequantise}
	copies            = &optype.Type{Class: optype.Move}
	gathering         = &optype.Type{Class: optype.Move, Gathers: true}
	scattering        = &optype.Type{Gathers: true}
	embeddings        = &optype.Type{Class: optype.Move, Gathers: true, Parameters: 1<<1 | 1<<2}
	indices           = &optype.Type{Class: optype.Index, Indices: 1 << 0}
	// The length of the output depends on the values of the inputs.
	searchResults  = &optype.Type{Class: optype.Index, Indices: 1 << 0, Sized: true}
	sorting        = &optype.Type{Class: optype.Move, Indices: 1 << 1}
	relocation     = &optype.Type{Class: optype.Move, Indices: 1 << 0}
	extremeValues  = &optype.Type{Class: optype.Move, Indices: 1 << 1, Noise: optype.NoiseLipschitz}
	totals         = &optype.Type{Class: optype.Reduce, Form: optype.Sum}
	spreads        = &optype.Type{Noise: optype.NoiseReduce, Trait: optype.Spreads}
	layerNorms     = &optype.Type{Class: optype.Normalise, Parameters: 1<<1 | 1<<2 | 1<<3}
	rootMeanNorms  = &optype.Type{Class: optype.Normalise, Form: optype.RootMeanNorm, Parameters: 1<<1 | 1<<2}
	groupNorms     = &optype.Type{Class: optype.Normalise, Form: optype.GroupNorm, Parameters: 1<<1 | 1<<2 | 1<<3}
	sumNorms       = &optype.Type{Noise: optype.NoiseNorm, Parameters: 1 << 2}
	instanceNorms  = &optype.Type{Class: optype.Normalise, Form: optype.InstanceNorm, Parameters: 1<<1 | 1<<2 | 1<<3}
	batchNorms     = &optype.Type{Class: optype.BatchNormalise, Parameters: 1<<1 | 1<<2 | 1<<3 | 1<<4}
	matrices       = &optype.Type{Class: optype.Linear}
	weightMatrices = &optype.Type{Class: optype.Linear, Parameters: 1<<1 | 1<<2}
	batches        = &optype.Type{Class: optype.Linear, Form: optype.Batched}
	convolutions   = &optype.Type{Class: optype.Linear, Form: optype.Convolution, Parameters: 1<<1 | 1<<2}
	attentionNoise = &optype.Type{Class: optype.Linear, Form: optype.Batched, Noise: optype.NoiseAttention}
	pooledMeans    = &optype.Type{Class: optype.Reduce}
	halvesProduct  = &optype.Type{Noise: optype.NoiseProduct}
)

// smoothNoise returns the noise of a function of one number with a derivative of at most slope.
func smoothNoise(slope float64) *optype.Type {
	return &optype.Type{Class: optype.Lipschitz, Factor: slope, Transcendental: true}
}

// noiseOfClass is the noise of the formulas of a class. Classes Plain and Tabled have formulas of every kind.
var noiseOfClass = [...]*optype.Type{Move: copies, Exact: lipschitz, Plain: unbounded, Divided: division, Tabled: unbounded, Norm: {Class: optype.Normalise},
	Reduced: {Class: optype.Reduce}, Linear: matrices, Converted: copies, Integral: quantisation, Quantised: quantisation}

// noiseOf returns how noise passes through the operators of a form.
func (f *formula) noiseOf(group *nameGroup) *optype.Type {
	switch {
	case group.noise != nil:
		return group.noise
	case f.noise != nil:
		return f.noise
	}
	return noiseOfClass[f.class]
}

// formulaOf returns the row with a name, nil if there is none.
func formulaOf(name string) *formula {
	for i := range operators {
		if name != "" && operators[i].name == name {
			return &operators[i]
		}
	}
	return nil
}

// findMissing returns the reason if a required input or an output is absent, and the name of the input.
func (f *formula) findMissing(op *Operator) (r Reason, name string) {
	for k, spec := range strings.Fields(f.inputs) {
		switch {
		case strings.HasSuffix(spec, "?"):
		case op.input(k) == nil, strings.HasSuffix(spec, "*") && slices.Contains(op.Inputs[k:], nil):
			return NoInputs, strings.TrimSuffix(spec, "*")
		}
	}
	if len(op.Outputs) == 0 || slices.Contains(op.Outputs, nil) {
		return NoOutputs, ""
	}
	return NoReason, ""
}

// judgedOutputs returns the outputs that the formula computes, up to the first output missing in the dump. A formula
// with one output for each part of an input needs every output.
func (f *formula) judgedOutputs(outputs []*Tensor) []*Tensor {
	n := slices.Index(outputs, nil)
	switch {
	case f.hasSeparateOutputs && n >= 0:
		return nil
	case f.hasSeparateOutputs:
		return outputs
	case n < 0:
		n = len(outputs)
	}
	return outputs[:min(n, max(1, f.outputs))]
}
