package record

import (
	"dumptool/internal/compare/metrics"
	"dumptool/internal/finding"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// Evidence is the verdict by evidence on a row: the error of the tensor, compared with the error
// that its inputs and rounding explain. Package verdict computes the numbers.
type Evidence struct {
	// Class is the class of the operator in package optype.
	Class string `json:"class"`
	// Level is 2 for an origin, 1 for an error that the operator may have amplified, else 0.
	Level int `json:"level"`
	// Kind is the form of an error that rounding does not explain.
	Kind string `json:"kind"`
	// RMS is the root mean square of the differences, RefRMS of the reference, and Rounding of
	// the rounding errors of the reference in the NPU's type.
	RMS      jsonpos.Float `json:"rms"`
	RefRMS   jsonpos.Float `json:"ref_rms"`
	Rounding jsonpos.Float `json:"rounding"`
	// Expected is the explained error: Propagated from the inputs and Own by rounding.
	Expected   jsonpos.Float `json:"expected"`
	Propagated jsonpos.Float `json:"propagated"`
	Own        jsonpos.Float `json:"own"`
	// Score is RMS/Expected; Rows, Channels and Peak are the scores of the worst row, channel
	// and element. ScaleZ is the significance of a common factor.
	Score    jsonpos.Float `json:"score"`
	Rows     jsonpos.Float `json:"rows"`
	Channels jsonpos.Float `json:"channels"`
	Peak     jsonpos.Float `json:"peak"`
	ScaleZ   jsonpos.Float `json:"scale_z"`
	// Noise is the ratio of the error to the error of a second reference, 0 without one.
	Noise jsonpos.Float `json:"noise"`
	// Damaged: the row depends on an origin, and its error is larger than rounding.
	Damaged bool `json:"damaged"`
	// BiasOfInputs: the mean differences of the inputs explain at least half of the mean
	// difference of the row.
	BiasOfInputs bool `json:"bias_of_inputs"`
	// Power is the smallest RMS, relative to RefRMS, that would have made the row an origin;
	// null if unknown. Judged: Power is below MostPower, so that the evidence can find faults.
	Power  metrics.Metric `json:"power"`
	Judged bool           `json:"judged"`
	// Start: the tensor has no producer; it is an input or a parameter.
	Start bool `json:"start,omitempty"`
	// LeftOut counts the elements that were not judged, because the error of the selecting
	// tensor may select others. HF32: a float32 product is judged as of inputs with 11 bits.
	LeftOut int64 `json:"left_out,omitempty"`
	HF32    bool  `json:"hf32,omitempty"`
	// Lambda is, for a row judged by statistics, the noise that the tensor may have, relative to
	// its size. Expected is then computed without the statistics of the tensor.
	Lambda jsonpos.Float `json:"lambda,omitempty"`
	// Rules are the names of the rules that decided: of docs/verdict.md, in their order.
	Rules []string `json:"rules,omitempty"`
	// FedBy has the indexes of the origins on which the row depends.
	FedBy []int `json:"fed_by"`
}

// MostPower is the Power from which on a row does not count as judged: the evidence would find
// only larger faults.
const MostPower = 0.3

// The levels of evidence.
const (
	NoOrigin = iota
	SuspectedOrigin
	IsOrigin
)

// Status returns the status of a row with evidence; byLimits is its status by limits, and gate
// reports whether it is beyond a gate, which always fails. Beyond the limits, without a fault by
// evidence, a row is PARTIAL if only a part was compared, WARN if its shapes differ, else ROUNDING.
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

// Relative returns Expected relative to RefRMS, comparable with the metric RED.
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
	// Tensor and the next keys exist for rows judged by statistics: the position of the tensor in its call, the form
	// of the differences, and the reason.
	Tensor  string        `json:"tensor,omitempty"`
	Pattern string        `json:"pattern,omitempty"`
	Why     lang.Sentence `json:"why,omitzero"`
}

// originsJSON returns the origins of the summary.
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
			o.Kind, o.Score, o.FedBy = e.Kind, e.Score, r.rowNames(e.FedBy)
		}
		if s := row.Statistics; s != nil && len(row.Reasons) > 0 {
			if o.Reason == finding.StartedApart {
				continue // the summary lists it in start
			}
			o.Row, o.Tensor, o.Pattern, o.Why = r.operatorOf(i), s.Place(row), o.Kind, row.Reasons[0].Evidence
		}
		all = append(all, o)
	}
	return all
}

// firstBad names the first bad row. With statistics it names the operator only, because the inputs
// of an operator have other names there.
func (r *Report) firstBad() *string {
	name := r.rowName(r.Findings.FirstBad)
	if name == nil || r.Row(r.Findings.FirstBad).Statistics == nil || r.Verdict != "statistics" {
		return name
	}
	if row := r.Row(r.Findings.FirstBad); row.Kind != "output" {
		return &row.Op
	}
	return new(r.operatorOf(r.Findings.FirstBad))
}

// operatorOf names the operator of a row, with the output if the operator has several outputs.
func (r *Report) operatorOf(i int) string {
	row := r.Row(i)
	for k := max(0, i-operatorRows); k < min(r.Len(), i+operatorRows); k++ {
		if other := r.Row(k); k != i && other.Op == row.Op && other.Round == row.Round && other.Kind == row.Kind {
			return row.Name()
		}
	}
	return row.Op
}

// operatorRows is the largest distance at which operatorOf looks for rows of the same operator.
const operatorRows = 64
