package recompute

import (
	"slices"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/optype"
)

// Class says how the output of a formula is judged.
type Class uint8

// The classes.
const (
	Move      Class = iota // copies
	Exact                  // one rounding
	Plain                  // few roundings
	Divided                // roots and quotients
	Tabled                 // tables of functions
	Norm                   // rows to a spread of 1
	Reduced                // sums and means
	Linear                 // matrix products and convolutions
	Converted              // another element type
	Integral               // integers and flags
	Quantised              // rounded numbers times a scale
)

var classNames = [...]string{"move", "exact", "plain", "divide", "table", "norm", "reduce", "linear", "cast", "integer", "quantise"}

// String is the name of the class.
func (c Class) String() string { return classNames[c] }

// formula is a row of the table: what an operator computes.
type formula struct {
	// name is that of the operator of CANN with this formula, empty for operators of which only
	// the noise is known.
	name  string
	class Class
	// forms are all names of the operator.
	forms []form
	// noise is how noise passes through it, nil where the class says so.
	noise *optype.Type
	// inputs are the names of the inputs in their order; those with ? may be absent, one with
	// * stands for all that follow.
	inputs string
	// cut says what the formula may be cut into.
	cut cutter
	// compute returns the outputs of a cell.
	compute func(c *call) []*Array
	// linear is the product of matrices of a formula that is one, in place of compute; cut says
	// then what pieces there are.
	linear func(p *problem, h Attributes) (*linear, lang.Sentence)
	// attrs are what it depends on, and what they may be where nobody says it.
	attrs []attribute
	// read makes attributes of the formula of those that have other names, or another form, in
	// graphs and calls.
	read func(p *problem, raw Attributes) Attributes
	// open is set where more is possible than the attributes say.
	open bool
	// repeats is set where the operator gives the same if it runs on its own output.
	repeats bool
	// each is set where outputs are computed one at a time.
	each bool
	// steps: several kernels compute the operator, and each rounds to the type of the output.
	steps bool
	// writes is set for operators that write their first input.
	writes bool
	// updates is set for operators whose outputs are the first inputs after a step.
	updates bool
	// states: the outputs after the computed ones are no results, but seeds, offsets of random numbers and
	// memory for later calls.
	states bool
	// sized: the length of an output may follow from the values of the inputs.
	sized bool
	// outputs is how many outputs are computed at most, 0 for one; others are not judged.
	outputs int
	// isOfImages reports whether four axes are images, with their channels second.
	isOfImages bool
	// ofOutput is set where axes count in the shape of the output in place of that of the first
	// input.
	ofOutput bool
}

// operators is the table of all operators, by families.
var operators = slices.Concat(elementwiseOperators, moves, reductions, normOperators, products, attentions, imageOperators, otherOperators,
	functions, lineOperators, losses, indexings, resizes, recurrents, fusedOperators, backwards, optimisers)

// unary returns the row of a function of each element of one input. The first name is also the name of
// the formula.
func unary(names string, class Class, noise *optype.Type, f func(x *Array) *Array) formula {
	return elementwiseRow(names, "x", class, noise, first(f))
}

// binary is a row of a function of each pair of elements of two inputs.
func binary(names string, class Class, noise *optype.Type, f func(x, y *Array) *Array) formula {
	return elementwiseRow(names, "x1 x2", class, noise, both(f))
}

// withNumber is a row of a function of each element and a number, which is an attribute.
func withNumber(names string, class Class, noise *optype.Type, f func(x *Array, n float64) *Array, number attribute) formula {
	row := elementwiseRow(names, "x", class, noise, one(func(c *call) *Array { return f(c.in(0), c.num(number.names[0])) }))
	row.attrs = []attribute{number}
	return row
}

func elementwiseRow(names, inputs string, class Class, noise *optype.Type, compute func(c *call) []*Array) formula {
	name, _, _ := strings.Cut(names, " ")
	return formula{name: name, class: class, noise: noise, inputs: inputs, cut: elementwise, compute: compute, forms: []form{as(names, "")}}
}

// known is a row of operators without a formula.
func known(noise *optype.Type, names string) formula {
	return formula{noise: noise, forms: []form{as(names, "")}}
}

// also is the row with more names.
func (f formula) also(names, inputs string, noise ...*optype.Type) formula {
	f.forms = append(slices.Clip(f.forms), as(names, inputs, noise...))
	return f
}

// idempotent is the row of an operator that gives the same if it runs on its own output.
func (f formula) idempotent() formula {
	f.repeats = true
	return f
}

// first is a formula of the first input alone.
func first(f func(x *Array) *Array) func(c *call) []*Array {
	return func(c *call) []*Array { return []*Array{f(c.in(0))} }
}

// both is a formula of two inputs.
func both(f func(x, y *Array) *Array) func(c *call) []*Array {
	return func(c *call) []*Array { return []*Array{f(c.in(0), c.in(1))} }
}

// one is a formula of one output.
func one(f func(c *call) *Array) func(c *call) []*Array {
	return func(c *call) []*Array { return []*Array{f(c)} }
}

// The noise of operators, where the class of the formula does not say it or several rows have it.
var (
	unbounded      = &optype.Type{} // several classes in one, or differences of products
	lipschitz      = &optype.Type{Class: optype.Lipschitz, Factor: 1}
	addition       = &optype.Type{Class: optype.Lipschitz, Factor: 1, Trait: optype.Adds}
	selects        = &optype.Type{Class: optype.Lipschitz, Factor: 1, Selects: true}
	weightedSelect = &optype.Type{Class: optype.Lipschitz, Factor: 1, Selects: true, Parameters: 1<<1 | 1<<2}
	multiplication = &optype.Type{Class: optype.Multiply}
	division       = &optype.Type{Class: optype.Divide}
	powers         = &optype.Type{Class: optype.Multiply, Form: optype.Square}
	roots          = &optype.Type{Class: optype.Divide, Form: optype.Root}
	logarithms     = &optype.Type{Class: optype.Divide, Form: optype.Logarithm}
	exponents      = &optype.Type{Class: optype.Exponential, Transcendental: true}
	gates          = &optype.Type{Class: optype.Gated}
	quantises      = &optype.Type{Class: optype.Quantise}
	dequantises    = &optype.Type{Class: optype.Dequantise}
	copies         = &optype.Type{Class: optype.Move}
	gathers        = &optype.Type{Class: optype.Move, Gathers: true}
	scatters       = &optype.Type{Gathers: true}
	embeddings     = &optype.Type{Class: optype.Move, Gathers: true, Parameters: 1<<1 | 1<<2}
	indices        = &optype.Type{Class: optype.Index, Indices: 1 << 0}
	// Outputs whose length depends on the values of the inputs.
	foundPlaces    = &optype.Type{Class: optype.Index, Indices: 1 << 0, Sized: true}
	sorts          = &optype.Type{Class: optype.Move, Indices: 1 << 1}
	placed         = &optype.Type{Class: optype.Move, Indices: 1 << 0}
	extremal       = &optype.Type{Class: optype.Move, Indices: 1 << 1, Noise: optype.NoiseLipschitz}
	totals         = &optype.Type{Class: optype.Reduce, Form: optype.Sum}
	spreads        = &optype.Type{Noise: optype.NoiseReduce, Trait: optype.Spreads}
	layerNorms     = &optype.Type{Class: optype.Normalise, Parameters: 1<<1 | 1<<2 | 1<<3}
	rootMeanNorms  = &optype.Type{Class: optype.Normalise, Form: optype.RootMeanNorm, Parameters: 1<<1 | 1<<2}
	groupNorms     = &optype.Type{Class: optype.Normalise, Form: optype.GroupNorm, Parameters: 1<<1 | 1<<2}
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

// smooth is the noise of functions of one number that are nowhere steeper than a slope.
func smooth(slope float64) *optype.Type {
	return &optype.Type{Class: optype.Lipschitz, Factor: slope, Transcendental: true}
}

// noiseOfClass is the noise of formulas of one class. Plain and Tabled have every kind.
var noiseOfClass = [...]*optype.Type{Move: copies, Exact: lipschitz, Plain: unbounded, Divided: division, Tabled: unbounded, Norm: {Class: optype.Normalise},
	Reduced: {Class: optype.Reduce}, Linear: matrices, Converted: copies, Integral: quantises, Quantised: quantises}

// noiseOf is how noise passes through the operators of a form.
func (f *formula) noiseOf(as *form) *optype.Type {
	switch {
	case as.noise != nil:
		return as.noise
	case f.noise != nil:
		return f.noise
	}
	return noiseOfClass[f.class]
}

// formulaOf finds a row by its name, nil for none.
func formulaOf(name string) *formula {
	for i := range operators {
		if name != "" && operators[i].name == name {
			return &operators[i]
		}
	}
	return nil
}
