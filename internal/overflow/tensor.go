package overflow

import (
	"errors"
	"fmt"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Tensor is one tensor of an operator and what it holds.
type Tensor struct {
	Kind     tensor.Kind
	Index    int
	Name     string // in a file that names its tensors, else empty
	DType    tensor.DType
	Format   tensor.Format
	Shape    tensor.Shape // as stored
	Original tensor.Shape
	Size     int64
	// Stats is nil when the tensor could not be read; Err says why.
	Stats *tensor.Stats
	Err   error
	// Statistics are those of a table, where the elements are not there: Stats are
	// as good as they allow then. Nil for a tensor that was read.
	Statistics *dumpdir.Statistics

	file     *dumpdir.File
	unopened bool // the file could not be opened
}

// Bad reports whether the tensor holds what an overflow leaves behind: NaN,
// infinities, or values at the limit of a floating-point type. What conversions
// from float16 may leave in float32 (65504, 65536) is often an ordinary constant,
// such as a loss scale, and proves nothing by itself.
func (t *Tensor) Bad() bool {
	return t.Stats != nil && (t.Stats.NonFinite() > 0 || t.Stats.Saturated > 0 && !weakLimits(t.DType))
}

// FirstBad returns the first element that makes the tensor bad: one that is not
// finite, or else one at the limit of the type; nil when the tensor is not bad.
func (t *Tensor) FirstBad() *tensor.Element {
	switch {
	case !t.Bad():
		return nil
	case t.Stats.FirstNonFinite != nil:
		return t.Stats.FirstNonFinite
	}
	return t.Stats.FirstAtLimit
}

// weakLimits reports whether ordinary elements lie at the limits of the type, so
// that they prove little: integers, and floating-point types of six bits and
// fewer, whose scale is chosen so that they do.
func weakLimits(d tensor.DType) bool {
	switch d {
	case tensor.Float6E3M2, tensor.Float6E2M3, tensor.Float4E2M1, tensor.Float4E1M2:
		return true
	}
	return d.Host() != tensor.HostFloat16 && d.Host() != tensor.HostFloat32 && d.Host() != tensor.HostFloat64 && !d.Host().Complex()
}

// NotNumeric reports whether elements of the tensor's type cannot overflow, such
// as strings: not to read them is no loss.
func (t *Tensor) NotNumeric() bool {
	var unsupported *tensor.UnsupportedType
	_, named := tensor.ParseDType(t.DType.String())
	return errors.As(t.Err, &unsupported) && named
}

// isCut reports whether a tensor cannot be read because its file is damaged.
func isCut(err error) bool {
	_, ok := errors.AsType[*dumpfmt.FormatError](err)
	return ok
}

// tensorProblems lists the tensors that could not be read, but those that are a
// problem of the run already.
func tensorProblems(tensors []Tensor) []Problem {
	var all []Problem
	for i := range tensors {
		t := &tensors[i]
		switch {
		case t.Err == nil || t.NotNumeric() || errors.Is(t.Err, tensorfile.ErrNoData) || t.file.Err != nil || t.file.Size == 0:
		case t.unopened:
			all = append(all, Problem{File: t.file.Path(), Err: t.Err})
		case !isCut(t.Err):
			all = append(all, Problem{File: t.file.Path(), Err: tensorError(t.Name, t.Kind, t.Index, t.Err)})
		}
	}
	return all
}

func tensorError(name string, kind tensor.Kind, index int, err error) error {
	return fmt.Errorf("%s: %w", tensorfile.Label(name, kind, index), err)
}
