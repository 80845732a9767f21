package engine

import "dumptool/internal/tensor"

// Mode says how atol and rtol make a limit for one element.
type Mode uint8

// The modes. An element is an error unless the condition holds, so that no NaN
// passes.
const (
	// IsClose: |d| <= atol + rtol*|r|, as numpy.isclose.
	IsClose Mode = iota
	// BothExceeded: |d| <= max(atol, rtol*|r|), an error exceeds both limits.
	BothExceeded
	// EitherExceeded: |d| <= min(atol, rtol*|r|), an error exceeds one of them.
	EitherExceeded
)

// Limits are the limits of the elements of a pair.
type Limits struct {
	Atol, Rtol float64
	Mode       Mode
}

// Request says what to compute for a pair of tensors.
type Request struct {
	// Shape is the shape of both tensors, in C order.
	Shape tensor.Shape
	// RefDType and NPUDType are the types of the stored elements; packed ones
	// are read unpacked, a byte each.
	RefDType, NPUDType tensor.DType
	Limits             Limits
	// Top is the length of Worst and WorstRel, List that of Listed, Points about
	// the number of sampled points; 0 for none.
	Top, List, Points int
}

// Reader gives the elements of one side by position, tensor.DType.UnitSize
// bytes each, in C order of the request's shape. It reports an error unless dst
// is full.
type Reader interface {
	ReadElements(dst []byte, first int64) error
}

// Of returns the largest good |d| where the reference has the magnitude ref.
func (l Limits) Of(ref float64) float64 {
	switch l.Mode {
	case BothExceeded:
		return max(l.Atol, l.Rtol*ref)
	case EitherExceeded:
		return min(l.Atol, l.Rtol*ref)
	default:
		return l.Atol + l.Rtol*ref
	}
}
