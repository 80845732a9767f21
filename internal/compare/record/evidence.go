package record

import (
	"dumptool/internal/compare/metrics"
	"dumptool/internal/finding"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// Evidence is what a verdict by evidence says of a row: the error of the tensor
// beside what the errors of its inputs and rounding explain. See package verdict
// for the numbers.
type Evidence struct {
	// Class is that of the operator.
	Class string `json:"class"`
	// Level is 2 for an origin, 1 for an error that the operator may have amplified,
	// 0 for none of these.
	Level int `json:"level"`
	// Kind is what is seen of an error that nothing explains.
	Kind string `json:"kind"`
	// RMS is the root mean square of the differences, RefRMS that of the reference,
	// Rounding that of storing the reference in the NPU's type.
	RMS      jsonpos.Float `json:"rms"`
	RefRMS   jsonpos.Float `json:"ref_rms"`
	Rounding jsonpos.Float `json:"rounding"`
	// Expected is what is explained: Propagated from the inputs and Own by rounding.
	Expected   jsonpos.Float `json:"expected"`
	Propagated jsonpos.Float `json:"propagated"`
	Own        jsonpos.Float `json:"own"`
	// Score is RMS/Expected; Rows, Channels and Peak are that of the worst row,
	// channel and element. ScaleZ is the significance of a common factor.
	Score    jsonpos.Float `json:"score"`
	Rows     jsonpos.Float `json:"rows"`
	Channels jsonpos.Float `json:"channels"`
	Peak     jsonpos.Float `json:"peak"`
	ScaleZ   jsonpos.Float `json:"scale_z"`
	// Noise is the error beside that of a second reference, 0 where there is none.
	Noise jsonpos.Float `json:"noise"`
	// Damaged is set where the row depends on an origin and its error is more than
	// rounding.
	Damaged bool `json:"damaged"`
	// BiasOfInputs is set where the means of the differences of the inputs explain at
	// least half of that of the row.
	BiasOfInputs bool `json:"bias_of_inputs"`
	// Power is the smallest root mean square error, beside that of the reference, that
	// would have made the row an origin, null where nothing says it; Judged is set where
	// that is small enough to say something of the operator.
	Power  metrics.Metric `json:"power"`
	Judged bool           `json:"judged"`
	// Start is set where nobody made the tensor: an input or a parameter.
	Start bool `json:"start,omitempty"`
	// LeftOut counts the elements that were not judged, since what selects them is within
	// its own error, HF32 is set where a product of float32 is judged by inputs of 11 bits.
	LeftOut int64 `json:"left_out,omitempty"`
	HF32    bool  `json:"hf32,omitempty"`
	// Lambda is the noise that a tensor of which only statistics are known may have, beside
	// its size; Expected is what was expected before they were seen.
	Lambda jsonpos.Float `json:"lambda,omitempty"`
	// Rules are the names of the rules that decided: of docs/verdict.md, in their order.
	Rules []string `json:"rules,omitempty"`
	// FedBy are the origins that the row depends on, as indexes into the rows.
	FedBy []int `json:"fed_by"`
}

// MostPower is the power from which a row is not judged: only an error that large would
// have been seen.
const MostPower = 0.3

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
	case row.Self.IsWrong() && (byLimits == Pass || byLimits == Fail):
		return Warn // the reference agrees
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
	return float64(e.Expected / e.RefRMS)
}

// originJSON is an origin in the summary of compare.json.
type originJSON struct {
	Row        string             `json:"row"`
	Reason     finding.Code       `json:"reason"`
	Confidence finding.Confidence `json:"confidence"`
	Kind       string             `json:"kind"`
	Score      jsonpos.Float      `json:"score"`
	FedBy      []string           `json:"fed_by"`
	// Of a row that is judged by statistics: where the tensor stands in its call, what its
	// numbers look like, and why it is one.
	Tensor  string        `json:"tensor,omitempty"`
	Pattern string        `json:"pattern,omitempty"`
	Why     lang.Sentence `json:"why,omitzero"`
}

// origins are the origins of the summary.
func (r *Report) originsJSON() []originJSON {
	all := make([]originJSON, 0, len(r.Origins))
	for _, i := range r.Origins {
		if i < 0 || i >= r.Len() {
			continue
		}
		row := r.Row(i)
		o := originJSON{Row: row.Name(), FedBy: []string{}}
		if len(row.Reasons) > 0 {
			o.Reason, o.Confidence = row.Reasons[0].Code, row.Reasons[0].Confidence
		}
		if e := row.Evidence; e != nil {
			o.Kind, o.Score, o.FedBy = e.Kind, e.Score, r.names(e.FedBy)
		}
		if s := row.Statistics; s != nil && len(row.Reasons) > 0 {
			if o.Reason == finding.StartedApart {
				continue // among the starts
			}
			o.Row, o.Tensor, o.Pattern, o.Why = r.operatorOf(i), s.Place(row), o.Kind, row.Reasons[0].Evidence
		}
		all = append(all, o)
	}
	return all
}

// firstBad names the first bad row: of statistics the operator, since the inputs of one
// have other names there.
func (r *Report) firstBad() *string {
	name := r.found(r.Findings.FirstBad)
	if name == nil || r.Row(r.Findings.FirstBad).Statistics == nil || r.Verdict != "statistics" {
		return name
	}
	if row := r.Row(r.Findings.FirstBad); row.Kind != "output" {
		return &row.Op
	}
	op := r.operatorOf(r.Findings.FirstBad)
	return &op
}

// operatorOf names the operator of a row, and the output where it has several.
func (r *Report) operatorOf(i int) string {
	row := r.Row(i)
	for k := max(0, i-operatorRows); k < min(r.Len(), i+operatorRows); k++ {
		if other := r.Row(k); k != i && other.Op == row.Op && other.Round == row.Round && other.Kind == row.Kind {
			return row.Name()
		}
	}
	return row.Op
}

// operatorRows is how far the rows of an operator may be apart that are looked at.
const operatorRows = 64
