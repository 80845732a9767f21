package record

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/finding"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Limits are the limits of a row: an element is good if |d| <= Atol + Rtol*|r|, or by the rule of the run's tolerance
// mode.
type Limits struct {
	Atol, Rtol             float64
	AtolSource, RtolSource string // op_config, command line, profile dtype, ...
}

// Source returns the source of the limits as a text: one source, or the sources of atol and rtol.
func (l *Limits) Source() string {
	if l.AtolSource == l.RtolSource {
		return l.AtolSource
	}
	return "atol " + l.AtolSource + ", rtol " + l.RtolSource
}

// String formats the limits as in reports.
func (l Limits) String() string { return fmt.Sprintf("atol=%g,rtol=%g", l.Atol, l.Rtol) }

// setSource parses the text of Source.
func (l *Limits) setSource(text string) {
	l.AtolSource, l.RtolSource = text, text
	if atol, rtol, ok := strings.Cut(text, ", rtol "); ok && strings.HasPrefix(atol, "atol ") {
		l.AtolSource, l.RtolSource = strings.TrimPrefix(atol, "atol "), rtol
	}
}

// PairVerdict is the verdict on a pair alone: a status with its reasons.
type PairVerdict struct {
	Status  Status
	Reasons finding.List
}

// Set sets the status and adds a reason of high confidence.
func (v *PairVerdict) Set(status Status, code finding.Code, why lang.Sentence) {
	v.Status, v.Reasons = status, append(v.Reasons, finding.Finding{Code: code, Confidence: finding.High, Evidence: why})
}

// Verdict is the judgement of a row from all rows of its round and the data flow between them.
type Verdict struct {
	Status  Status       `json:"status"`
	Reasons finding.List `json:"reasons"`
	// Evidence is nil for a row that was not compared, or whose rounding error is not known.
	Evidence *Evidence `json:"evidence"`
	// Type is the type whose numbers an NPU array of float32 holds, empty for float32 itself and for other arrays.
	Type string `json:"type,omitempty"`
	// Self is the judgement by recomputation from the inputs of the operator, nil without one.
	Self *RecomputedOutput `json:"self"`
	// Downstream: the row fails because an origin damaged its inputs. The origin is the failure.
	Downstream bool `json:"downstream"`
	// Inputs are the indexes of the rows that the operator reads; empty if they are unknown.
	Inputs []int `json:"inputs"`
	// Known: the baseline lists the failure.
	Known bool `json:"known"`
}

// Shift adds the index of the first row of a round to all indexes of rows, which become indexes in the report.
func (v *Verdict) Shift(first int) {
	if v.Evidence != nil {
		v.Evidence.Shift(first)
	}
	for i := range v.Inputs {
		v.Inputs[i] += first
	}
	for i := range v.Reasons {
		v.Reasons[i].Facts = v.Reasons[i].Facts.Shift(first)
	}
}

// Second is the distance of a second reference, of lower precision, from the reference: the root mean square and the
// largest magnitude of the differences.
type Second struct {
	RMS jsonpos.Float `json:"rms"`
	Max jsonpos.Float `json:"max"`
}

// Row is one output of an operator: the facts of its pair, which depend only on the pair and the options, and the
// verdict on it. Fields with a tag have the same value in compare.json; rowJSON has the other keys.
type Row struct {
	// Op is the name of the operator in the reference, or on the NPU if the reference lacks the operator.
	Op string `json:"op"`
	// NPUOp is the name of the operator on the NPU if it differs.
	NPUOp  string `json:"npu_op"`
	OpType string `json:"op_type"` // empty if unknown
	Kind   string `json:"kind"`    // "output", or "input" if inputs are compared
	Output int    `json:"output"`  // index of the output
	// Round is the name of the round in Report.Rounds, empty if there is only one.
	Round string `json:"round"`
	// RoundCoordinates are the coordinates of the round.
	RoundCoordinates
	// Script is the line of the user's script that called the operator, as FILE:LINE. Modules are the modules around
	// the call, the outermost first. Both are empty if unknown.
	Script  string   `json:"script,omitempty"`
	Modules []string `json:"modules,omitempty"`

	// Pair is the verdict on the pair alone: its status by limits, or the reason why it was not
	// compared.
	Pair PairVerdict `json:"-"`
	// Verdict is the verdict on the row by all rows of its round; zero before they are judged.
	Verdict
	// Notes say how the pair was made comparable, and other facts about it: squeezed, forced, converted NC1HWC0 to
	// NCHW, empty, ...
	Notes []lang.Sentence `json:"notes"`
	// Warnings are oddities of the files of the pair, each with its file: unused bytes, elements
	// that were never written, a contradiction to msprobe's dump.json.
	Warnings []lang.Sentence `json:"warnings,omitempty"`
	// Partial: not all elements were compared. Forced: the shapes differ, but the elements were compared in their
	// order. By limits a partial row is PARTIAL at best, a forced row WARN.
	Partial bool `json:"partial"`
	Forced  bool `json:"forced"`

	// RefFile and NPUFile are empty for a missing side. A file with several tensors is followed by the tensor:
	// FILE:output:1.
	RefFile string `json:"-"`
	NPUFile string `json:"-"`
	// RefPath and NPUPath are the paths of the files alone.
	RefPath string `json:"-"`
	NPUPath string `json:"-"`
	// Near is, for a row without a partner, the most similar name among the operators of the other side without a
	// partner.
	Near string `json:"near,omitempty"`
	// Key is the round of the row in a baseline: its name among all rounds of the NPU's run, compared or not.
	Key string `json:"-"`
	// Rule is the pairing rule that made the pair.
	Rule string `json:"rule"`
	// PairedBy is the rule if it pairs names that differ, empty for other rules.
	PairedBy string `json:"paired_by,omitempty"`
	// Part is the part of the reference that the NPU tensor is compared with, nil for the whole tensor. Rows of one
	// role share it.
	Part *Part `json:"part,omitempty"`
	// Argument is the first non-tensor argument of the operator's call that differs, nil for none.
	Argument *Argument `json:"argument,omitempty"`
	// Common is the part of an axis that was compared if its lengths differ, else nil.
	Common *CommonPart `json:"common,omitempty"`
	// Masked is the error of an origin without the positions that a mask of its operator excludes, nil
	// without such a mask.
	Masked *MaskedError `json:"masked,omitempty"`
	// Tokens compares log probabilities at the positions that a mask counts, nil for other tensors.
	Tokens *metrics.Tokens `json:"tokens,omitempty"`
	// Shape is the shape that was compared. RefShape and NPUShape are the shapes of the sides in host order, nil if
	// they were not read.
	Shape    tensor.Shape `json:"shape"`
	RefShape tensor.Shape `json:"ref_shape"`
	NPUShape tensor.Shape `json:"npu_shape"`
	RefDType tensor.DType `json:"-"`
	NPUDType tensor.DType `json:"-"`
	// DeclaredType is the type of the NPU tensor according to its file name or dump.json, if the file
	// stores it as float32; Undefined if unknown.
	DeclaredType tensor.DType `json:"-"`
	// Order is the position of the row in the execution order, from 0; rows without a position have the largest.
	Order int `json:"order"`

	Limits Limits `json:"-"`
	// Result is nil for a pair that was not compared. A result that was read from compare.json has only the parts
	// that reports need.
	Result *metrics.Result `json:"-"`
	// Noise compares the differences with rounding, nil if it is not known.
	Noise *noise.Noise `json:"noise,omitempty"`
	// Patterns are the known faults of the tensors of a failing pair, the most specific first. Uneven is the axis
	// along which the errors are uneven, nil if they are even.
	Patterns finding.List `json:"patterns,omitempty"`
	Uneven   *Unevenness  `json:"uneven,omitempty"`
	// Second is the error of a second reference, nil without one.
	Second *Second `json:"second,omitempty"`
	// Reads has the inputs of the operator that the other side lacks, if they were read to find
	// their producers. Only one row of an operator has them.
	Reads []InputRead `json:"reads,omitempty"`
	// Undiagnosed is the reason why the tensors could not be inspected for the cause.
	Undiagnosed lang.Sentence `json:"undiagnosed,omitzero"`
	// Statistics has the statistics that were compared if elements are missing, else nil.
	Statistics *Statistics `json:"statistics,omitempty"`
	// Errors is the number of errors under the NaN policy of the run, which decides the status.
	Errors int64 `json:"-"`
	// First is the first element of Errors, nil without errors.
	First *metrics.Element `json:"-"`
	// Standard is the result of the acceptance standard of the run, nil without one.
	Standard *Standard `json:"standard"`
	// Err is the reason of the status Error. Transport: object storage did not answer, so that
	// another run may compare the row.
	Err       error `json:"-"`
	Transport bool  `json:"transport,omitempty"`
	// Module is the full name of the operator with the modules around it, separated by slashes, empty if unknown.
	Module string `json:"module"`
	// Pictures is the data of plots and charts, nil for most rows.
	Pictures *metrics.Pictures `json:"pictures"`
}

// SetCall sets the place in the script and the modules of the operator's call.
func (r *Row) SetCall(script string, modules []string) { r.Script, r.Modules = script, modules }

// IsCompared reports whether the tensors of the row were compared.
func (r *Row) IsCompared() bool { return r.Result != nil && (r.Common == nil || r.Common.Counts) }

// Name names the row as op:output:k, followed by the round if it has a name.
func (r *Row) Name() string {
	if r.Round == "" {
		return r.TensorName()
	}
	return r.TensorName() + "@" + r.Round
}

// TensorName names the row as op:output:k, as commands accept it.
func (r *Row) TensorName() string {
	return r.Op + ":" + cmp.Or(r.Kind, "output") + ":" + strconv.Itoa(r.Output)
}

// RowKey identifies a row across runs.
type RowKey struct {
	Op     string `json:"op"`
	Kind   string `json:"kind,omitempty"` // empty for an output
	Output int    `json:"output"`
	Round  string `json:"round,omitempty"`
	// NPUOp is the name of the operator on the NPU if it differs. Nth, from 0, distinguishes
	// rows that are equal in everything else.
	NPUOp string `json:"npu_op,omitempty"`
	Nth   int    `json:"nth,omitempty"`
}

// RowKey returns the key of the row without NPUOp and Nth.
func (r *Row) RowKey() RowKey {
	k := RowKey{Op: r.Op, Kind: r.Kind, Output: r.Output, Round: r.Round}
	if k.Kind == string(tensor.Output) {
		k.Kind = ""
	}
	return k
}

// String names the row as Row.Name does.
func (k RowKey) String() string {
	return (&Row{Op: k.Op, Kind: k.Kind, Output: k.Output, Round: k.Round}).Name()
}

// FirstCode returns the code of the first reason, empty without reasons.
func (r *Row) FirstCode() finding.Code {
	if len(r.Reasons) == 0 {
		return ""
	}
	return r.Reasons[0].Code
}

// FirstStrict returns the first error under the strict policy, nil if there is none.
func FirstStrict(r *metrics.Result) *metrics.Element {
	a, b := r.Beyond.First, r.Mismatch.First
	if a == nil || b != nil && b.Offset < a.Offset {
		return b
	}
	return a
}

// lastStrict returns the last error under the strict policy, nil if there is none.
func lastStrict(r *metrics.Result) *metrics.Element {
	a, b := r.Beyond.Last, r.Mismatch.Last
	if a == nil || b != nil && b.Offset > a.Offset {
		return b
	}
	return a
}

// Coordinates returns the coordinates of the element at an offset; if the shape lacks the element,
// the offset alone.
func Coordinates(s tensor.Shape, offset int64) []int64 {
	if n, ok := s.Count(); !ok || offset < 0 || offset >= n {
		return []int64{offset}
	}
	return s.Coordinates(offset)
}

// IsOrigin reports whether an independent error begins in the row, by evidence.
func (r *Row) IsOrigin() bool { return r.Evidence != nil && r.Evidence.Level == IsOrigin }

// HasErrors reports whether the row is beyond the limits, and so has a file with its errors.
func (r *Row) HasErrors() bool { return r.Pair.Status == Fail }

// IsDrawn reports whether the row gets plots if plots are requested: it fails, by limits or by
// evidence.
func (r *Row) IsDrawn() bool { return r.IsCompared() && (r.HasErrors() || r.Status == Fail) }

// Status is the outcome of a row.
type Status string

// Rows is a value of --fail-on: rows fail if only their common part was compared.
const Rows Status = "ROWS"

// The statuses of rows. Rows with a mismatch of shape or type and ambiguous rows were not compared.
const (
	Pass Status = "PASS"
	Warn Status = "WARN"
	Fail Status = "FAIL"
	// Rounding: the errors exceed the limits, but rounding explains them.
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

// IsBad reports whether a status is an accuracy failure, which a baseline may list.
func (s Status) IsBad() bool {
	return s == Fail || s == ShapeMismatch || s == DTypeMismatch || s == Ambiguous
}

// Passes reports whether a compared row is no failure.
func (s Status) Passes() bool { return s == Pass || s == Rounding || s == Warn || s == Partial }

// Standard is the result of an acceptance standard of single operators for a row. Package standard
// has the rules.
type Standard struct {
	// Name is the name of the standard. Rule is its rule for such tensors: float, move, integer
	// or quantise. Type is the element type of the thresholds.
	Name      string    `json:"name"`
	Rule      string    `json:"rule"`
	Type      string    `json:"type"`
	Status    Status    `json:"status"`
	NonFinite NonFinite `json:"non_finite"`
	Checks    []Check   `json:"checks"`
}

// NonFinite counts the elements that are not finite on some side: right, wrong, and unclear if all three sides
// differ.
type NonFinite struct {
	Right   int64 `json:"right"`
	Wrong   int64 `json:"wrong"`
	Unclear int64 `json:"unclear"`
}

// Check is a number that a standard limits.
type Check struct {
	Name  string        `json:"name"`
	Value jsonpos.Float `json:"value"`
	// Relation is the relation of value and limit that passes: <, <= or >=.
	Relation string        `json:"relation"`
	Limit    jsonpos.Float `json:"limit"`
	// NPU and Third are the errors of both sides, if the value is their ratio.
	NPU   metrics.Metric `json:"npu"`
	Third metrics.Metric `json:"third"`
	Holds bool           `json:"holds"`
}

// IsJudged reports whether the tensors of the row were compared, element by element or
// by statistics.
func (r *Row) IsJudged() bool {
	return r.IsCompared() || r.Statistics != nil && r.RefFile != "" && r.NPUFile != ""
}

// DiffersByStatistics reports whether only the statistics of both tensors are known, and they differ: the errors of
// the elements are unknown.
func (r *Row) DiffersByStatistics() bool {
	return !r.IsCompared() && r.IsJudged() && !r.Statistics.Equal()
}

// IsEmpty reports whether both tensors of the row have no elements.
func (r *Row) IsEmpty() bool {
	if r.IsCompared() {
		return r.Result.Total == 0
	}
	return r.RefShape != nil && r.NPUShape != nil && r.RefShape.Elements() == 0 && r.NPUShape.Elements() == 0
}

// HasNumbers reports whether the comparison of the row could have found a difference: the tensors
// are not empty, and not NaN everywhere.
func (r *Row) HasNumbers() bool {
	switch {
	case !r.IsJudged(), r.IsEmpty():
		return false
	case r.IsCompared():
		return r.Result.Total > r.Result.Classes[metrics.NaN][metrics.NaN]
	}
	return r.Statistics.hasNumbers()
}

// HasSameBits reports whether the tensors were compared and both have the same digests.
func (r *Row) HasSameBits() bool {
	res := r.Result
	return res != nil && (res.RefCRC != 0 || res.RefSum != 0) && r.RefDType == r.NPUDType && res.RefCRC == res.NPUCRC && res.RefSum == res.NPUSum
}

// AxisRange is a run of positions of an axis: [From, To) of Size.
type AxisRange struct {
	Axis int   `json:"axis"`
	Size int64 `json:"size"`
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Unevenness is an axis along which the errors of a pair are clearly uneven, with the bad run of positions.
type Unevenness struct {
	AxisRange
	// Also has the bad runs of other uneven axes: the errors lie in a box.
	Also []AxisRange `json:"also,omitempty"`
	// Half is the ratio of the mean |d| of the worse half and of the better half, Peak the ratio
	// of the worst position and of the median position; infinite if the divisor is 0. RelHalf
	// and RelPeak are the same ratios of |d|/|r|.
	Half    jsonpos.Float `json:"half"`
	Peak    jsonpos.Float `json:"peak"`
	RelHalf jsonpos.Float `json:"rel_half"`
	RelPeak jsonpos.Float `json:"rel_peak"`
	// Counted: the ratios are of error rates, because most errors are NaN or infinite and have
	// no magnitude.
	Counted bool `json:"counted,omitempty"`
}
