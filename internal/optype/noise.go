package optype

// Noise says how the noise of an operator's inputs bounds the noise of its output if no elements are known, only the
// magnitudes of the tensors.
type Noise uint8

// Kinds of noise propagation. NoiseUnknown: not known, as for modules that contain modules.
const (
	NoiseUnknown   Noise = iota
	NoiseMove            // elements are copied
	NoiseLipschitz       // absolute noise adds up
	NoiseFunction        // a smooth function, with an error of its own
	NoiseProduct         // relative noise adds up
	NoiseQuotient        // also roots and logarithms: amplifies near 0
	NoiseExponent        // absolute noise becomes relative
	NoiseNorm            // rows are normalised to a standard deviation of 1
	NoiseSums            // sums of products: matrix products and convolutions
	NoiseReduce          // sums and means
	NoiseLoss            // one number computed from many
	NoiseRanks           // communication
	NoiseAttention       // several products and an exponential fused
	NoiseRandom          // random output
	NoiseGarbage         // uninitialised output
)

var noiseNames = [...]string{
	NoiseUnknown: "unknown", NoiseMove: "move", NoiseLipschitz: "lipschitz", NoiseFunction: "function", NoiseProduct: "mul",
	NoiseQuotient: "div", NoiseExponent: "exp", NoiseNorm: "norm", NoiseSums: "linear", NoiseReduce: "reduce", NoiseLoss: "loss",
	NoiseRanks: "communication", NoiseAttention: "attention", NoiseRandom: "random", NoiseGarbage: "uninitialised",
}

// String returns the name in compare.json.
func (n Noise) String() string { return noiseNames[n] }

// noiseOf maps classes to noise propagation.
var noiseOf = [...]Noise{
	Move: NoiseMove, Lipschitz: NoiseLipschitz, Dequantise: NoiseProduct, Multiply: NoiseProduct, Divide: NoiseQuotient,
	Exponential: NoiseExponent, Normalise: NoiseNorm, BatchNormalise: NoiseNorm, Linear: NoiseSums, Reduce: NoiseReduce,
	Quantise: NoiseUnknown, Gated: NoiseUnknown, Index: NoiseUnknown,
}

// NoiseWay returns how operators of the type propagate noise: as the type says, else as its class does.
func (t *Type) NoiseWay() Noise {
	switch {
	case t.Random:
		return NoiseRandom
	case t.Noise != NoiseUnknown:
		return t.Noise
	case t.Class == Lipschitz && t.Transcendental:
		return NoiseFunction
	}
	return noiseOf[t.Class]
}

// Trait distinguishes functions of PyTorch with equal noise propagation.
type Trait uint8

// The traits.
const (
	NoTrait   Trait = iota
	Adds            // additions and subtractions of all elements
	Picks           // the largest element of each window
	KeepsMean       // a norm that does not subtract the mean
	Spreads         // a norm, a deviation or a product of many numbers
	AddsRanks       // a sum over ranks
)

// Buffer says which inputs of an operator are only written to: their former content does not matter.
type Buffer uint8

// Kinds of buffers.
const (
	NoInput        Buffer = iota
	FirstInput            // input 0
	FirstOfSeveral        // input 0, if there are others
	FirstTimesBeta        // input 0, if the argument beta is 0
	AllInputs             // only their shapes matter
)

// Ignores reports whether an operator does not read an input; inputs is their number. beta is the argument of that
// name, 1 if there is none.
func (b Buffer) Ignores(input, inputs int, beta float64) bool {
	return b == AllInputs || input == 0 && (b == FirstInput || b == FirstOfSeveral && inputs > 1 || b == FirstTimesBeta && beta == 0)
}
