package record

// Status is the outcome of a row.
type Status string

// The outcomes. Shape, dtype and ambiguous rows were not compared.
const (
	Pass          Status = "PASS"
	Warn          Status = "WARN"
	Fail          Status = "FAIL"
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
func Statuses() []Status {
	return []Status{Pass, Warn, Fail, ShapeMismatch, DTypeMismatch, Ambiguous, Error, Partial, Skip, UnmatchedRef, UnmatchedNPU}
}

// Bad reports whether a status is an accuracy failure, which a baseline may list.
func (s Status) Bad() bool {
	return s == Fail || s == ShapeMismatch || s == DTypeMismatch || s == Ambiguous
}
