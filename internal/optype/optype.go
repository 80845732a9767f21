// Package optype has the vocabulary for what operators do to errors of their inputs. The table of package recompute
// maps operator names to these types. The packages of internal/compare bound the error of outputs with them.
package optype

// Class says how an operator propagates errors of its inputs.
type Class uint8

// Classes. Unknown gives no bound, Move and Lipschitz give exact bounds.
const (
	Unknown    Class = iota
	Move             // elements are copied
	Lipschitz        // |f(x)-f(y)| <= L |x-y|, elementwise, summed over the inputs
	Dequantise       // product with a constant
	Multiply
	Divide // also roots and logarithms: amplifies near 0
	Exponential
	Normalise // rows are normalised to a standard deviation of 1
	BatchNormalise
	Linear // matrix products and convolutions
	Reduce
	Quantise // the output is quantised to integers
	Gated    // elements pass where another tensor, the selector, is above a threshold
	Index    // the output has indices
)

var classNames = [...]string{
	Unknown: "unknown", Move: "move", Lipschitz: "lipschitz", Dequantise: "dequant", Multiply: "mul", Divide: "div",
	Exponential: "exp", Normalise: "norm", BatchNormalise: "batchnorm", Linear: "linear", Reduce: "reduce", Quantise: "quant",
	Gated: "gated", Index: "index",
}

// String returns the name in compare.json.
func (c Class) String() string { return classNames[c] }

// Exact reports whether the error of the inputs bounds the error of each element of the output.
func (c Class) Exact() bool { return c == Move || c == Lipschitz }

// Type describes an operator type.
type Type struct {
	Class Class
	// Factor is L of class Lipschitz.
	Factor float64
	// Selects: each output element is a copy or a constant, without rounding. Transcendental: the function has an
	// error of its own.
	Selects, Transcendental bool
	// Fitted: constants of the formula were fitted to the values; they may stand for an unknown input.
	Fitted bool
	// Form distinguishes members of a class with different bounds.
	Form Form
	// Indices has a bit for each output that contains indices; bit 0 is output 0.
	Indices uint8
	// Gathers: an input of integers selects the elements of another input.
	Gathers bool
	// Random: the outputs are random.
	Random bool
	// Start: nothing is computed; the output comes from outside.
	Start bool
	// Sized: the length of the output depends on the values of the inputs.
	Sized bool
	// Noise is the noise propagation if the class does not determine it; see NoiseWay.
	Noise Noise
	// Trait distinguishes functions of PyTorch with equal noise propagation.
	Trait Trait
	// Parameters has a bit for each input with a parameter of the network; bit 0 is input 0.
	Parameters uint8
	// Buffer says which inputs are only written to.
	Buffer Buffer
}

// IsIndex reports whether an output contains indices.
func (t *Type) IsIndex(output int) bool {
	return output >= 0 && output < 8 && t.Indices>>output&1 == 1
}

// IsParameter reports whether an input is a parameter of the network.
func (t *Type) IsParameter(input int) bool {
	return input >= 0 && input < 8 && t.Parameters>>input&1 == 1
}

// Form is a member of a class with a bound of its own.
type Form uint8

// Forms.
const (
	Plain  Form = iota
	Square      // and other powers, up to the third
	Root        // and 1/x: elementwise functions with an error of their own
	Logarithm
	Cumulative
	Sum          // not divided by the number of elements
	RootMeanNorm // the mean is not subtracted
	InstanceNorm // over each channel of each image
	GroupNorm    // over groups of neighbouring channels
	Convolution
	Batched    // a product of two activations: no row of one input bounds it
	Pooled     // gradient of a pooling: passed to the largest element of each window
	Ordered    // rows in the order of indices
	LogSoftmax // bounded by the largest error of a row only
)
