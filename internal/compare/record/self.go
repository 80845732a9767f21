package record

import (
	"slices"

	"dumptool/internal/finding"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// RecomputedOutput is the judgement of an output by recomputing its operator from the inputs that the NPU read,
// without the reference.
type RecomputedOutput struct {
	// Status is ok, low, wrong, misfit, undecided or crashed. Reason is the code of the fault, or the reason for
	// undecided.
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	// Bad counts the elements beyond the bound.
	Bad      int64 `json:"bad"`
	Elements int64 `json:"elements"`
	// Width is the ratio of the bound for any unit of an NPU to the bound for a unit that computes in float32. The
	// larger it is, the less significant is LOW.
	Width jsonpos.Float `json:"width,omitzero"`
	// Beyond counts the elements beyond the bound for a unit that computes in float32. Adds: the order
	// of additions may change the output.
	Beyond int64 `json:"-"`
	Adds   bool  `json:"-"`
	// Worst is the largest error as a multiple of the bound for any unit.
	Worst float64 `json:"-"`
	// Attributes are the attributes with which the operator was computed, as text, without the types that operands
	// were rounded to.
	Attributes string `json:"-"`
	// BothRight: the reference's operator computes the right result from its own inputs, too, with the same attributes.
	BothRight bool `json:"both_right,omitempty"`
	// OtherArguments: the reference's operator computes the right result from its own inputs with other attributes.
	OtherArguments bool `json:"other_arguments,omitempty"`
	// Why is the reason as a finding.
	Why finding.List `json:"why,omitempty"`
}

// The statuses of Self.
const (
	selfOK    = "ok"
	selfLow   = "low"
	selfWrong = "wrong"
	// selfMisfit is the status of an operator whose output no attributes explain.
	selfMisfit = "misfit"
	// selfCrashed is the status of an operator whose recomputation panicked.
	selfCrashed = "crashed"
)

var selfStatuses = []string{selfOK, selfLow, selfWrong, selfMisfit, "undecided", selfCrashed}

// maxWidth is the maximum width of the error bounds, in roundings of the output, at which LOW counts as right.
const maxWidth = 32

// IsWrong reports whether recomputation contradicts the output.
func (s *RecomputedOutput) IsWrong() bool { return s != nil && s.Status == selfWrong }

// IsMisfit reports whether no attributes explain the output.
func (s *RecomputedOutput) IsMisfit() bool { return s != nil && s.Status == selfMisfit }

// IsCrashed reports whether recomputing the operator panicked: a bug of this program.
func (s *RecomputedOutput) IsCrashed() bool { return s != nil && s.Status == selfCrashed }

// IsRight reports whether recomputation confirms the output.
func (s *RecomputedOutput) IsRight() bool {
	return s != nil && (s.Status == selfOK || s.Status == selfLow && s.Width <= maxWidth)
}

// IsWithinBounds reports whether the output was computed again and is not wrong, however wide the bounds are.
func (s *RecomputedOutput) IsWithinBounds() bool {
	return s != nil && (s.Status == selfOK || s.Status == selfLow)
}

// Confidence returns the confidence in IsRight.
func (s *RecomputedOutput) Confidence() finding.Confidence {
	if s.Status == selfLow {
		return finding.Medium
	}
	return finding.High
}

// check reports values that no check produces.
func (s *RecomputedOutput) check() error {
	switch {
	case s == nil:
	case !slices.Contains(selfStatuses, s.Status):
		return lang.Errorf("self is %q, want one of %s", excerpt([]byte(s.Status)), selfStatuses)
	case s.IsWrong() && len(s.Why) == 0:
		return lang.Errorf("self is wrong, but no reason is given")
	}
	return nil
}

// OutputKey identifies an output of an NPU run: its file, its operator and its index.
type OutputKey struct {
	File, Op string
	Output   int
}

// NPUOutput identifies the output of the row on the NPU.
func (r *Row) NPUOutput() OutputKey { return OutputKey{r.NPUPath, r.NPUName(), r.Output} }

// ReferenceOutput identifies the output of the row in the reference.
func (r *Row) ReferenceOutput() OutputKey { return OutputKey{r.RefPath, r.Op, r.Output} }

// NPUName returns the name of the operator on the NPU.
func (r *Row) NPUName() string {
	if r.NPUOp != "" {
		return r.NPUOp
	}
	return r.Op
}
