package diagnose

import (
	"fmt"
	"math"

	"dumptool/internal/compare/engine"
)

// The numbers that tell rounding from damage. They are ours.
const (
	// fewErrors is the share of errors up to which rounding may be uneven.
	fewErrors = 0.01
	// sparse is the share of errors in a bad part of an axis below which it is
	// not the part that is broken, but its smallest elements.
	sparse = 0.25
	// maxRounding bounds what sums of coarse types are taken to be off by.
	maxRounding = 0.1
	// comparably is how much less an input may be off that an operator is
	// cleared by.
	comparably = 10
)

// rounding is the relative error that sums make in the type of the row.
func (s *subject) rounding() float64 {
	format, _ := precisionOf(s.result.NPUDType)
	return format.epsilon * math.Sqrt(assumedSum)
}

// grown is the RED up to which rounding may have grown it.
func (s *subject) grown() float64 {
	return growth*s.numbers.red + math.Min(s.rounding(), maxRounding)
}

// rounded reports whether a row fails by accumulated rounding only: its RED grew
// no more than rounding makes it, all over, out of inputs of which the same is
// true.
func (s *subject) rounded() bool {
	r := s.result
	if s.op.State != Failed || r == nil || r.Mismatch.Count > 0 || !r.RED.Defined || r.RED.Value > s.grown() {
		return false
	}
	if _, float := precisionOf(r.NPUDType); !float || s.outliers() || len(s.jumps()) > 0 {
		return false
	}
	few := errorRatio(r) < fewErrors
	if len(s.inputs.rows) == 0 && !few {
		return false
	}
	for _, row := range s.inputs.rows {
		if in := &s.network.subjects[row]; in.op.State == Failed && !in.noise {
			return false
		}
	}
	for _, f := range s.op.Patterns {
		if specific(f.Code) && f.Code != Stride {
			return false
		}
	}
	return few || !s.broken()
}

// broken reports whether a part of an axis is bad, not only its smallest
// elements.
func (s *subject) broken() bool {
	axes := Uneven(s.result)
	if len(axes) == 0 {
		return false
	}
	u := &axes[0]
	part := float64(u.To-u.From) / float64(u.Size)
	return errorRatio(s.result) >= sparse*part
}

func errorRatio(r *engine.Result) float64 {
	if r.Total == 0 {
		return 0
	}
	return float64(r.StrictErrors()) / float64(r.Total)
}

// damage is how far a tensor is off in relation to its size: the RED, with
// elements that are no numbers off by all of theirs.
func damage(r *engine.Result) float64 {
	if r.Total == 0 {
		return 0
	}
	return math.Sqrt(r.RED.Value*r.RED.Value + float64(r.Mismatch.Count)/float64(r.Total))
}

// specific reports whether a pattern is one that no rounding makes.
func specific(code string) bool { return code != Bias && code != Underflow && code != ModelNaN }

// own are the specific patterns that no bad input shows.
func (s *subject) own() (own []Finding) {
	for _, f := range s.op.Patterns {
		reference, _ := refNonFinite(s.result)
		if !specific(f.Code) && (f.Code != ModelNaN || reference == 0) || s.noise {
			continue
		}
		if !s.inherited(f.Code) {
			own = append(own, f)
		}
	}
	return own
}

// inherited reports whether a bad input shows the pattern too.
func (s *subject) inherited(code string) bool {
	for _, row := range s.inputs.rows {
		in := &s.network.ops[row]
		if in.State != Failed {
			continue
		}
		for _, f := range in.Patterns {
			if family(f.Code) == family(code) {
				return true
			}
		}
	}
	return false
}

// family joins the codes of what operators make of each other.
func family(code string) string {
	switch code {
	case ConstOutput:
		return ZeroOutput
	case OverflowFP16:
		return NPUNaN
	default:
		return code
	}
}

// clears reports whether a bad input is reason enough for the row to be bad: it
// is off comparably, by more than rounding unless the row is off by rounding too.
func (s *subject) clears(in *subject) bool {
	switch {
	case in.op.State != Failed:
		return false
	case in.result == nil:
		return true
	case in.noise:
		return s.noise
	case newNonFinite(in.result) > 0:
		return true
	}
	return damage(in.result)*comparably >= damage(s.result) ||
		errorRatio(in.result)*comparably >= errorRatio(s.result)
}

// inputBad clears an operator that got bad inputs.
func (s *subject) inputBad() []Finding {
	var bad []string
	for _, row := range s.inputs.rows {
		in := &s.network.subjects[row]
		if s.result != nil && !s.clears(in) || in.op.State != Failed {
			continue
		}
		text := rowName(in.op)
		if r := in.result; r != nil {
			text += fmt.Sprintf(" (%d of %d errors, mean relative error %s)", r.StrictErrors(), r.Total, metricText(r.MeanRel))
		}
		bad = append(bad, text)
	}
	if len(bad) == 0 {
		return nil
	}
	return []Finding{{LayerInputBad, s.ours(), "bad input " + someOf(bad) + s.guess()}}
}

// shapeInputBad is inputBad for a row whose shapes differ: the operator before
// is no reason for that unless it is known to be read.
func (s *subject) shapeInputBad() []Finding {
	if s.inputs.inferred {
		return nil
	}
	return s.inputBad()
}
