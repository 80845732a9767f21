package record

import (
	"slices"

	"dumptool/internal/finding"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// Self is the judgement of an output by recomputation from the inputs of its operator, as the
// NPU read them. No reference has a part in it.
type Self struct {
	// Status is ok, low, wrong, misfit, undecided or crashed; Reason is the code of the fault, or of
	// the reason for undecided.
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	// Bad counts the elements beyond the bound.
	Bad      int64 `json:"bad"`
	Elements int64 `json:"elements"`
	// Width is the ratio of the bound for any unit of an NPU and the bound for a unit that
	// computes in float32. The larger it is, the less a LOW says.
	Width jsonpos.Float `json:"width,omitzero"`
	// Beyond counts the elements beyond the bound for a unit that computes in float32. Adds: the order
	// of additions may change the output.
	Beyond int64 `json:"-"`
	Adds   bool  `json:"-"`
	// Why is the reason as a sentence.
	Why finding.List `json:"why,omitempty"`
}

// The statuses of Self.
const (
	selfOK    = "ok"
	selfLow   = "low"
	selfWrong = "wrong"
	// selfCrashed is the status of an operator whose recomputation panicked.
	selfCrashed = "crashed"
	// reasonRandom is the reason for which an operator that draws its output is undecided.
	reasonRandom = "RANDOM"
)

var selfStatuses = []string{selfOK, selfLow, selfWrong, "misfit", "undecided", selfCrashed}

// mostWidth is the width up to which a LOW says that an operator computes right.
const mostWidth = 32

// IsWrong reports whether recomputation contradicts the output.
func (s *Self) IsWrong() bool { return s != nil && s.Status == selfWrong }

// IsCrashed reports whether the program has a bug at the operator.
func (s *Self) IsCrashed() bool { return s != nil && s.Status == selfCrashed }

// IsRight reports whether it does.
func (s *Self) IsRight() bool {
	return s != nil && (s.Status == selfOK || s.Status == selfLow && s.Width <= mostWidth)
}

// Confidence is how sure it is that an operator which is right is so.
func (s *Self) Confidence() finding.Confidence {
	if s.Status == selfLow {
		return finding.Medium
	}
	return finding.High
}

// IsRandom reports whether the operator draws its output.
func (s *Self) IsRandom() bool { return s != nil && s.Reason == reasonRandom }

// check refuses what no check can find.
func (s *Self) check() error {
	switch {
	case s == nil:
	case !slices.Contains(selfStatuses, s.Status):
		return lang.Errorf("self is %q, want one of %s", excerpt([]byte(s.Status)), selfStatuses)
	case s.IsWrong() && len(s.Why) == 0:
		return lang.Errorf("self is wrong, and nothing says why")
	}
	return nil
}

// OutputAt names an output of the run of an NPU: its file, its operator and its number.
type OutputAt struct {
	File, Op string
	Output   int
}

// OnNPU names the output of the row on the NPU's side.
func (r *Row) OnNPU() OutputAt { return OutputAt{r.NPUPath, r.NPUName(), r.Output} }

// NPUName is the name of the operator on the NPU's side.
func (r *Row) NPUName() string {
	if r.NPUOp != "" {
		return r.NPUOp
	}
	return r.Op
}
