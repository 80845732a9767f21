package record

// Evidence is what a verdict by evidence says of a row: the error of the tensor
// beside what the errors of its inputs and rounding explain. See package verdict
// for the numbers.
type Evidence struct {
	// Class is that of the operator, Kind what is seen of an error that nothing
	// explains.
	Class, Kind string
	// Level is 2 for an origin, 1 for an error that the operator may have amplified,
	// 0 for none of these.
	Level int
	// RMS is the root mean square of the differences, RefRMS that of the reference,
	// Rounding that of storing the reference in the NPU's type.
	RMS, RefRMS, Rounding float64
	// Expected is what is explained: Propagated from the inputs and Own by rounding.
	Expected, Propagated, Own float64
	// Score is RMS/Expected; Rows, Channels and Peak are that of the worst row,
	// channel and element. ScaleZ is the significance of a common factor.
	Score, Rows, Channels, Peak, ScaleZ float64
	// Noise is the error beside that of a second reference, 0 where there is none.
	Noise float64
	// Damaged is set where the row depends on an origin and its error is more than
	// rounding.
	Damaged bool
	// BiasOfInputs is set where the means of the differences of the inputs explain at
	// least half of that of the row.
	BiasOfInputs bool
	// FedBy are the origins that the row depends on, as indexes into the rows.
	FedBy []int
}

// The levels of evidence.
const (
	NoOrigin = iota
	SuspectedOrigin
	IsOrigin
)

// Status is that of a row with evidence and a status by limits. A gate that
// does not hold fails by any rule. What was compared only in part, or flat, is no
// better than that.
func (e *Evidence) Status(byLimits Status, row *Row, gate bool) Status {
	switch {
	case e.Level == IsOrigin, gate:
		return Fail
	case len(e.FedBy) > 0 && (e.Damaged || byLimits == Fail):
		return Fail
	case byLimits == Fail && row.Partial:
		return Partial
	case byLimits == Fail && (e.Level == SuspectedOrigin || row.Forced):
		return Warn
	case byLimits == Fail:
		return Rounding
	case byLimits == Pass && e.Level == SuspectedOrigin:
		return Warn
	}
	return byLimits
}

// Shift moves the rows of the evidence to their places in a report.
func (e *Evidence) Shift(first int) {
	for k := range e.FedBy {
		e.FedBy[k] += first
	}
}

// Relative is what is explained beside the size of the reference, as RED is the error
// beside it.
func (e *Evidence) Relative() float64 {
	if e.RefRMS == 0 {
		return 0
	}
	return e.Expected / e.RefRMS
}
