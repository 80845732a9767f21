package overflow

import (
	"errors"
	"fmt"
	"math"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Tensor is one tensor of an operator and what it holds.
type Tensor struct {
	// Kind and Index say which tensor it is.
	Kind  tensor.Kind `json:"kind"`
	Index int         `json:"index"`
	// DType is the type of the elements, Format the layout.
	DType  string `json:"dtype"`
	Format string `json:"format"`
	// Shape is that of the elements as they are stored, flat where the file has none
	// that fits; Original is that on the host.
	Shape    tensor.Shape `json:"shape"`
	Original tensor.Shape `json:"original_shape"`
	// Stats is nil when the tensor could not be read; Fault says why.
	*Stats
	// Bad is set where the tensor holds what an overflow leaves behind: NaN,
	// infinities, or values at the limit of a floating-point type. What conversions
	// from float16 may leave in float32 (65504, 65536) is often an ordinary constant,
	// such as a loss scale, and proves nothing by itself.
	Bad bool `json:"bad"`
	// FromStatistics is set where a table of statistics is all that there is: Stats are
	// as good as it allows then.
	FromStatistics bool `json:"from_statistics,omitempty"`
	// Unwritten is set for a tensor that would be bad, but whose elements nobody has
	// written, or nobody reads.
	Unwritten bool `json:"unwritten,omitempty"`
	Fault

	name     string // in a file that names its tensors, else empty
	err      error
	file     *dumpdir.File
	unopened bool // the file could not be opened
}

// Stats says what a tensor holds, as tensor.Stats does. Numbers that a table of
// statistics does not have are nil.
type Stats struct {
	// Count is the number of elements, NaN, PosInf and NegInf are those of them that are
	// NaN or infinite, Saturated those at a limit of the type, HalfTraces what conversions
	// from float16 may leave of those.
	Count      *int64 `json:"count,omitempty"`
	NaN        *int64 `json:"nan,omitempty"`
	PosInf     *int64 `json:"pos_inf,omitempty"`
	NegInf     *int64 `json:"neg_inf,omitempty"`
	Saturated  *int64 `json:"saturated,omitempty"`
	HalfTraces int64  `json:"half_traces,omitempty"`
	// Min, Max and Mean are those of the finite elements.
	Min  *float64 `json:"min"`
	Max  *float64 `json:"max"`
	Mean *float64 `json:"mean"`
	// FirstBad is the first element that makes the tensor bad: one that is not finite,
	// or else one at the limit of the type; nil when it is not bad, or not known.
	FirstBad *Element `json:"first_bad"`
	// BadStatistic is the statistic of a table that shows that the tensor is bad.
	BadStatistic *tensor.Number `json:"bad_statistic,omitempty"`
}

// Element is an element of a tensor and where it is.
type Element struct {
	// Index is the number in the order of storage, Coord are the coordinates in the shape.
	Index int64   `json:"index"`
	Coord []int64 `json:"coord"`
	// Value is the element.
	Value tensor.Number `json:"value"`
}

// newTensor is a tensor without what it holds.
func newTensor(kind tensor.Kind, index int, d tensor.DType, f tensor.Format, shape, original tensor.Shape) Tensor {
	return Tensor{Kind: kind, Index: index, DType: d.String(), Format: f.String(),
		Shape: append(tensor.Shape{}, shape...), Original: append(tensor.Shape{}, original...)}
}

// fail notes why the tensor could not be read.
func (t *Tensor) fail(err error) { t.err, t.Fault = err, faultOf(err) }

// holds notes what the tensor of the type holds.
func (t *Tensor) holds(s *tensor.Stats, d tensor.DType, shape tensor.Shape) {
	t.Stats = &Stats{Count: &s.Count, NaN: &s.NaN, PosInf: &s.PosInf, NegInf: &s.NegInf, Saturated: &s.Saturated, HalfTraces: s.HalfTraces,
		Min: s.Min, Max: s.Max, Mean: s.Mean}
	if n, ok := shape.Count(); shape == nil || !ok || n != s.Count {
		t.Shape = tensor.Shape{s.Count}
	}
	t.Bad = isBad(s, d)
	first := s.FirstNonFinite
	if first == nil {
		first = s.FirstAtLimit
	}
	if t.Bad && first != nil {
		t.FirstBad = &Element{Index: first.Index, Coord: t.coordinates(first.Index), Value: tensor.Number(first.Value)}
	}
}

// isBad reports whether elements of a type show an overflow.
func isBad(s *tensor.Stats, d tensor.DType) bool {
	return s.NonFinite() > 0 || s.Saturated > 0 && !weakLimits(d)
}

// showsNaN reports whether elements are NaN.
func (t *Tensor) showsNaN() bool {
	return t.NaN != nil && *t.NaN > 0 || t.BadStatistic != nil && math.IsNaN(float64(*t.BadStatistic))
}

// excuse keeps what happens to lie in memory that nobody has written to, or that the
// operator does not read, from being bad.
func (t *Tensor) excuse(s *dumpdir.Statistics) {
	if t.Bad && s != nil && (s.Spot.Unread || s.Spot.Unwritten) {
		t.Bad, t.FirstBad, t.Unwritten = false, nil, true
	}
}

// coordinates are those of an element in the stored shape.
func (t *Tensor) coordinates(index int64) []int64 {
	if n, ok := t.Shape.Count(); !ok || index >= n {
		return []int64{index}
	}
	return t.Shape.Coordinates(index)
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
	_, named := tensor.ParseDType(t.DType)
	return errors.As(t.err, &unsupported) && named
}

// tensorProblems lists the tensors that could not be read, but those that are a
// problem of the run already.
func tensorProblems(tensors []Tensor) []Problem {
	var all []Problem
	for i := range tensors {
		t := &tensors[i]
		_, isCut := errors.AsType[*dumpfmt.FormatError](t.err) // its file is damaged
		switch {
		case t.err == nil || t.NotNumeric() || errors.Is(t.err, tensorfile.ErrNoData) || t.file.Err != nil || t.file.Size == 0:
		case t.unopened:
			all = append(all, newProblem(t.file.Path(), t.err))
		case !isCut:
			all = append(all, newProblem(t.file.Path(), tensorError(t.name, t.Kind, t.Index, t.err)))
		}
	}
	return all
}

func tensorError(name string, kind tensor.Kind, index int, err error) error {
	return fmt.Errorf("%s: %w", tensorfile.Label(name, kind, index), err)
}
