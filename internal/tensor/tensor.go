package tensor

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/lang"
)

// Tensor describes one tensor of a file and gives access to its stored bytes. Only Data reads them.
type Tensor struct {
	DType  DType
	Format Format // primary format
	C0     int64  // channel block size from a packed format word, 0 for none
	Groups int64  // sub-format: groups of a grouped convolution; 0 and 1 mean none
	Shape  Shape  // as stored, device order; empty when none was recorded
	// OriginalShape is the host shape in the original format's axis order,
	// empty when none was recorded.
	OriginalShape Shape
	// OriginalFormat is the axis order of OriginalShape, nil if the file does not record it.
	OriginalFormat *Format
	// Size is the number of stored bytes according to the descriptor.
	Size int64
	// Data reads the stored bytes, from 0 to Size. Its Outer method gives the
	// file and the offset in it.
	Data *io.SectionReader
}

// CoversShape reports whether Size is enough for the elements of a shape.
func (t *Tensor) CoversShape(shape Shape) bool {
	n, ok := shape.Count()
	if !ok {
		return false
	}
	need, ok := t.DType.Bytes(n)
	return ok && need <= t.Size
}

// Kind is the role of a tensor of an operator.
type Kind string

// The kinds, as they appear in file names. Only msprobe has parameters and their gradients.
const (
	Input     Kind = "input"
	Output    Kind = "output"
	Parameter Kind = "parameter"
	Gradient  Kind = "gradient" // of a parameter
)

// IsInput reports whether the operator reads the tensor.
func (k Kind) IsInput() bool { return k == Input || k == Parameter }

// Shape holds the dimensions of a tensor, outermost first. An empty shape is a
// scalar for host arrays; in a dump it means that no shape was recorded.
type Shape []int64

// Count returns the number of elements, 1 for an empty shape. ok is false when
// a dimension is negative or the product does not fit in 63 bits.
func (s Shape) Count() (n int64, ok bool) {
	n = 1
	for _, d := range s {
		if d < 0 {
			return 0, false
		}
		if d == 0 {
			n = 0
		}
	}
	if n == 0 {
		return 0, true
	}
	for _, d := range s {
		if n > maxInt64/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}

// Elements returns Count of a shape whose Count is known to be valid.
func (s Shape) Elements() int64 {
	n, _ := s.Count()
	return n
}

// String prints the shape like numpy: (2, 3, 4).
func (s Shape) String() string {
	if len(s) == 1 {
		return fmt.Sprintf("(%d,)", s[0])
	}
	return "(" + s.Join(", ") + ")"
}

// Join prints the dimensions with sep between them, such as 2x3x4.
func (s Shape) Join(sep string) string {
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = strconv.FormatInt(d, 10)
	}
	return strings.Join(parts, sep)
}

// Equal reports whether both shapes have the same dimensions.
func (s Shape) Equal(t Shape) bool { return slices.Equal(s, t) }

// Strides returns the row-major strides of the shape, in elements.
func (s Shape) Strides() []int64 {
	strides := make([]int64, len(s))
	step := int64(1)
	for i := len(s) - 1; i >= 0; i-- {
		strides[i] = step
		step *= s[i]
	}
	return strides
}

// Coordinates returns the index of the element at a row-major offset.
func (s Shape) Coordinates(offset int64) []int64 {
	index := make([]int64, len(s))
	for i := len(s) - 1; i >= 0; i-- {
		index[i] = offset % s[i]
		offset /= s[i]
	}
	return index
}

// Number is a number that may be NaN or infinite: in JSON the strings nan, inf and -inf.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	switch x := float64(n); {
	case math.IsNaN(x):
		return []byte(`"nan"`), nil
	case math.IsInf(x, 1):
		return []byte(`"inf"`), nil
	case math.IsInf(x, -1):
		return []byte(`"-inf"`), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		return json.Unmarshal(data, (*float64)(n))
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !math.IsNaN(x) && !math.IsInf(x, 0) {
		return lang.Errorf("%q is no number, want one, or nan, inf or -inf", text)
	}
	*n = Number(x)
	return nil
}
