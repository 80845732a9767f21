package tensor

// Kind says on which side of an operator a tensor is.
type Kind string

// The kinds, as they appear in file names.
const (
	Input  Kind = "input"
	Output Kind = "output"
)
