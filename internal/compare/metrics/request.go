package metrics

import (
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/tensor"
)

// Request says what to compute for a pair of tensors.
type Request struct {
	// Shape is the shape of both tensors, in C order.
	Shape tensor.Shape
	// RefDType and NPUDType are the types of the stored elements; packed ones
	// are read unpacked, a byte each.
	RefDType, NPUDType tensor.DType
	Limits             Limits
	// Top is the length of Worst, List that of Listed, Points about the number of sampled
	// points; 0 for none.
	Top, List, Points int
	// LateAxes lets the profiles of axes begin at the first error of each segment, since
	// those of pairs without errors are not shown: AddAxes adds the rest.
	LateAxes bool
	// Noise asks for Result.Noise, nil for none; complex types have none.
	Noise *noise.Request
	// Visit, unless it is nil, gets the stored elements of both sides as they are read, from an
	// offset on: all of a segment in their order.
	Visit func(first int64, ref, npu []byte)
}

// Reader gives the elements of one side by position, tensor.DType.UnitSize
// bytes each, in C order of the request's shape. It reports an error unless dst
// is full.
type Reader interface {
	ReadElements(dst []byte, first int64) error
}

// holder is a Reader that may have elements at hand. Elements returns those, as many as fill
// buf, or reads them into buf; they are valid until the next read.
type holder interface {
	Elements(buf []byte, first int64) ([]byte, error)
}

// elements returns the elements of a reader from first on, as many as fill buf.
func elements(r Reader, buf []byte, first int64) ([]byte, error) {
	if h, ok := r.(holder); ok {
		return h.Elements(buf, first)
	}
	return buf, r.ReadElements(buf, first)
}
