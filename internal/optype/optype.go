// Package optype has the words for what operators do to the errors of their inputs. Which
// operator does what is in the table of package recompute.
package optype

// Class says what an operator makes of the errors of its inputs.
type Class uint8

// The classes. Unknown bounds least, Move and Lipschitz are exact.
const (
	Unknown    Class = iota
	Move             // elements are copied
	Lipschitz        // |f(x)-f(y)| <= L |x-y|, elementwise, summed over the inputs
	Dequantise       // times a constant
	Multiply
	Divide // also roots and logarithms: amplifies near 0
	Exponential
	Normalise // rows to a spread of 1
	BatchNormalise
	Linear // matrix products and convolutions
	Reduce
	Quantise // integers come out
	Gated    // elements pass where another tensor, the selector, is above a threshold
	Index    // integers that say where something is
)

var classNames = [...]string{
	Unknown: "unknown", Move: "move", Lipschitz: "lipschitz", Dequantise: "dequant", Multiply: "mul", Divide: "div",
	Exponential: "exp", Normalise: "norm", BatchNormalise: "batchnorm", Linear: "linear", Reduce: "reduce", Quantise: "quant",
	Gated: "gated", Index: "index",
}

// String returns the class as compare.json has it.
func (c Class) String() string { return classNames[c] }

// Exact reports whether the error of the inputs bounds that of the output for
// every element.
func (c Class) Exact() bool { return c == Move || c == Lipschitz }

// Type is what is known of an operator by its type.
type Type struct {
	Class Class
	// Factor is L of Lipschitz.
	Factor float64
	// Selects is set where an element is a copy or a constant: nothing is rounded
	// twice. Transcendental functions have errors of their own.
	Selects, Transcendental bool
	// Fitted is set where numbers of its own were fitted to the values, which may be
	// those of an input that is not known.
	Fitted bool
	// Form distinguishes members of a class whose bounds differ.
	Form Form
	// Indices are the outputs that say where something is, a bit each: the lowest one is
	// output 0.
	Indices uint8
	// Gathers is set where an input of integers says which elements of another one come
	// out.
	Gathers bool
	// Random is set where the outputs are drawn.
	Random bool
	// Start is set where nothing is computed: what comes in from outside.
	Start bool
	// Sized: the length of the output depends on the values of the inputs.
	Sized bool
	// Noise is how noise passes through where the class does not say it; see NoiseWay.
	Noise Noise
	// Trait is what sets a function of PyTorch apart from others that pass noise as it does.
	Trait Trait
	// Parameters are the inputs that are parameters of the network, a bit each: the lowest
	// one is input 0.
	Parameters uint8
	// Buffer says which inputs are not read, but only written to.
	Buffer Buffer
}

// IsIndex reports whether an output says where something is.
func (t *Type) IsIndex(output int) bool {
	return output >= 0 && output < 8 && t.Indices>>output&1 == 1
}

// IsParameter reports whether an input is a parameter of the network.
func (t *Type) IsParameter(input int) bool {
	return input >= 0 && input < 8 && t.Parameters>>input&1 == 1
}

// Form is a member of a class with a bound of its own.
type Form uint8

// The forms.
const (
	Plain  Form = iota
	Square      // and other powers, up to the third
	Root        // and 1/x: functions of one number with an error of their own
	Logarithm
	Cumulative
	Sum          // not divided by the number of elements
	RootMeanNorm // the mean is not taken away
	InstanceNorm // over each channel of each image
	GroupNorm    // over channels that are neighbours
	Convolution
	Batched    // a product of two tensors, which no row of one input bounds
	Pooled     // passed back to the largest of each window
	Ordered    // rows in the order of indices
	LogSoftmax // bounded by the largest error of a row only
)
