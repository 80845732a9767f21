package tensor

// Kind says on which side of an operator a tensor is.
type Kind string

// The kinds, as they appear in file names. Those of parameters and of their gradients
// are msprobe's.
const (
	Input     Kind = "input"
	Output    Kind = "output"
	Parameter Kind = "parameter"
	Gradient  Kind = "gradient" // of a parameter
)

// IsInput reports whether the operator reads the tensor.
func (k Kind) IsInput() bool { return k == Input || k == Parameter }
