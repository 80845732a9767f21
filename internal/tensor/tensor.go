package tensor

import "io"

// Tensor describes one tensor of a file and gives access to its stored bytes.
// Nothing is read before Data is used.
type Tensor struct {
	DType  DType
	Format Format // primary format
	C0     int64  // channel block size from a packed format word, 0 when it carries none
	Groups int64  // sub-format: groups of a grouped convolution; 0 and 1 mean none
	Shape  Shape  // as stored, device order; empty when none was recorded
	// OriginalShape is the host shape in the original format's axis order,
	// empty when none was recorded.
	OriginalShape Shape
	// OriginalFormat is the axis order of OriginalShape where the file
	// records it, nil where it does not.
	OriginalFormat *Format
	// Size is the number of stored bytes as the descriptor says.
	Size int64
	// Data reads the stored bytes, from 0 to Size. Its Outer method gives the
	// file and the offset in it.
	Data *io.SectionReader
}

// Holds reports whether the stored bytes suffice for the elements of a shape.
func (t *Tensor) Holds(shape Shape) bool {
	n, ok := shape.Count()
	if !ok {
		return false
	}
	need, ok := t.DType.Bytes(n)
	return ok && need <= t.Size
}
