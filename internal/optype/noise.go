package optype

// Noise says how the noise of the inputs of an operator bounds that of its output where
// no elements are known, only how large the tensors are.
type Noise uint8

// The ways. NoiseUnknown is for whatever is not known: modules with others inside, and
// operators of no other way.
const (
	NoiseUnknown   Noise = iota
	NoiseMove            // elements are copied
	NoiseLipschitz       // absolute noise adds up
	NoiseFunction        // a smooth function, with an error of its own
	NoiseProduct         // relative noise adds up
	NoiseQuotient        // also roots and logarithms: amplifies near 0
	NoiseExponent        // absolute noise becomes relative
	NoiseNorm            // rows to a spread of 1
	NoiseSums            // sums of products: matrices and convolutions
	NoiseReduce          // sums and means
	NoiseLoss            // one number of many
	NoiseRanks           // communication
	NoiseAttention       // several products and an exponent in one
	NoiseRandom          // drawn
	NoiseGarbage         // nobody has written it
)

var noiseNames = [...]string{
	NoiseUnknown: "unknown", NoiseMove: "move", NoiseLipschitz: "lipschitz", NoiseFunction: "function", NoiseProduct: "mul",
	NoiseQuotient: "div", NoiseExponent: "exp", NoiseNorm: "norm", NoiseSums: "linear", NoiseReduce: "reduce", NoiseLoss: "loss",
	NoiseRanks: "communication", NoiseAttention: "attention", NoiseRandom: "random", NoiseGarbage: "uninitialised",
}

// String returns the way as compare.json has it.
func (n Noise) String() string { return noiseNames[n] }

// noiseOf are the ways of the classes.
var noiseOf = [...]Noise{
	Move: NoiseMove, Lipschitz: NoiseLipschitz, Dequantise: NoiseProduct, Multiply: NoiseProduct, Divide: NoiseQuotient,
	Exponential: NoiseExponent, Normalise: NoiseNorm, BatchNormalise: NoiseNorm, Linear: NoiseSums, Reduce: NoiseReduce,
	Quantise: NoiseUnknown, Gated: NoiseUnknown, Index: NoiseUnknown,
}

// NoiseWay is how noise passes through operators of the type: its own way, else that of
// its class.
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

// Trait sets functions of PyTorch apart from others that pass noise as they do.
type Trait uint8

// The traits.
const (
	NoTrait   Trait = iota
	Adds            // also subtracts: no element is left out
	Picks           // the largest of each window comes out
	KeepsMean       // a norm that does not take the mean away
	Spreads         // a norm, a deviation or a product of many numbers
	AddsRanks       // what the ranks have is summed
)

// Buffer says which inputs of an operator are not read, but only written to: whatever they
// hold before is nobody's fault.
type Buffer uint8

// The inputs.
const (
	NoInput        Buffer = iota
	FirstInput            // input 0
	FirstOfSeveral        // input 0, if there are others
	FirstTimesBeta        // input 0, if the argument beta is 0
	AllInputs             // only their shapes matter
)

// Ignores reports whether an operator does not read an input, of so many; beta is its
// argument of that name, 1 if there is none.
func (b Buffer) Ignores(input, inputs int, beta float64) bool {
	return b == AllInputs || input == 0 && (b == FirstInput || b == FirstOfSeveral && inputs > 1 || b == FirstTimesBeta && beta == 0)
}
