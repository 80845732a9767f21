package noise

import (
	"math"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// MaxGroups is the number of bins of rows, and of channels, that a comparison keeps of each
// pair, independent of the number of pairs.
const MaxGroups = 64

// Request has the options of the collection of one pair.
type Request struct {
	// Shape is the shape of both tensors, in C order.
	Shape tensor.Shape
	Type  Type
	// Ref and NPU are the types of the containers of an input, for InputDifference; Undefined for an output.
	Ref, NPU tensor.DType
	// Mask is the threshold of masks: references up to it are masked; -inf for
	// none.
	Mask float64
	// Groups is the maximum number of bins of rows, and of channels, at least 1.
	Groups int
	// Atol and Rtol are the limits of elements: |d| > Atol+Rtol|r| is beyond them.
	Atol, Rtol float64
}

// Check returns an error if the request is invalid.
func (r *Request) Check() error {
	switch _, ok := r.Shape.Count(); {
	case !ok:
		return lang.Errorf("shape %s has no number of elements", r.Shape)
	case r.Groups < 1:
		return lang.Errorf("%d groups, want at least 1", r.Groups)
	case math.IsNaN(r.Mask) || r.Mask > 0:
		return lang.Errorf("masks up to %v, want a number that is not above 0", r.Mask)
	case !(r.Atol >= 0 && r.Rtol >= 0 && max(r.Atol, r.Rtol) <= math.MaxFloat64):
		return lang.Errorf("limits atol=%v rtol=%v, want finite numbers from 0 on", r.Atol, r.Rtol)
	}
	return r.Type.check()
}

// isMasked reports whether a reference is a mask.
func (r *Request) isMasked(x float64) bool { return x <= r.Mask && r.Mask >= -math.MaxFloat64 }
