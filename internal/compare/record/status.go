package record

import "slices"

// Status is the outcome of a row.
type Status string

// The outcomes. Shape, dtype and ambiguous rows were not compared.
const (
	Pass Status = "PASS"
	Warn Status = "WARN"
	Fail Status = "FAIL"
	// Rounding is beyond the limits, by no more than rounding explains.
	Rounding      Status = "ROUNDING"
	ShapeMismatch Status = "SHAPE_MISMATCH"
	DTypeMismatch Status = "DTYPE_MISMATCH"
	Ambiguous     Status = "AMBIGUOUS"
	UnmatchedRef  Status = "UNMATCHED_REF"
	UnmatchedNPU  Status = "UNMATCHED_NPU"
	Skip          Status = "SKIP"
	Partial       Status = "PARTIAL"
	Error         Status = "ERROR"
)

// Statuses lists all outcomes, in the order of summaries.
func Statuses() []Status { return slices.Clone(statuses) }

var statuses = []Status{Pass, Warn, Fail, ShapeMismatch, DTypeMismatch, Ambiguous, Error, Partial, Skip, UnmatchedRef, UnmatchedNPU, Rounding}

// Bad reports whether a status is an accuracy failure, which a baseline may list.
func (s Status) Bad() bool {
	return s == Fail || s == ShapeMismatch || s == DTypeMismatch || s == Ambiguous
}

// Passes reports whether a compared row is no failure.
func (s Status) Passes() bool { return s == Pass || s == Rounding || s == Warn || s == Partial }
