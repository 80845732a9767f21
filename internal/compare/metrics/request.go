package metrics

import (
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/tensor"
)

// Request has the tensors and options of a comparison.
type Request struct {
	// Shape is the shape of both tensors, in C order.
	Shape tensor.Shape
	// RefDType and NPUDType are the types of the stored elements; packed types are read
	// unpacked, one byte for each element.
	RefDType, NPUDType tensor.DType
	Limits             Limits
	// Top is the maximum length of Result.Worst, List of Result.Listed; Points is the approximate
	// number of sampled points. 0 for none.
	Top, List, Points int
	// LateAxes starts the profiles of axes at the first error of each segment, since profiles of
	// pairs without errors are not shown. AddAxes adds the elements before it.
	LateAxes bool
	// Noise requests Result.Noise, nil for none. It is an error for complex types.
	Noise *noise.Request
	// Visit, if not nil, is called with the stored elements of both sides after each read, first
	// is their offset; the calls for a segment are in order.
	Visit func(first int64, ref, npu []byte)
}

// Reader reads the elements of one side by offset, tensor.DType.UnitSize bytes each, in C
// order of the request's shape. It returns an error unless it fills dst.
type Reader interface {
	ReadElements(dst []byte, first int64) error
}

// bufferedReader is a Reader that may already have the elements in memory. Elements returns len(buf) bytes of elements, or
// reads them into buf. The bytes are valid until the next read.
type bufferedReader interface {
	Elements(buf []byte, first int64) ([]byte, error)
}

// elements returns len(buf) bytes of elements from first on.
func elements(r Reader, buf []byte, first int64) ([]byte, error) {
	if h, ok := r.(bufferedReader); ok {
		return h.Elements(buf, first)
	}
	return buf, r.ReadElements(buf, first)
}
