package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// rowJSON is a row of compare.json. A row that was not compared has null for
// every number.
//
// Errors, FirstError, RefValue, NPUValue and ErrorRatio are the cells of
// cpu_vs_npu.csv, after HPAA's replacement of what is not finite; ErrorsStrict
// and FirstErrorStrict count differences of class too, and ErrorsPolicy and
// FirstErrorPolicy are those of the run's NaN policy, by which the status goes.
type rowJSON struct {
	Op      string        `json:"op"`
	Output  int           `json:"output"`
	Status  Status        `json:"status"`
	Reasons []findingJSON `json:"reasons"`
	// The files, null on a side that is missing.
	RefFile *string `json:"ref_file"`
	NPUFile *string `json:"npu_file"`
	// Shape is the shape that was compared, null when unknown.
	Shape    tensor.Shape `json:"shape"`
	DTypeRef *string      `json:"dtype_ref"`
	DTypeNPU *string      `json:"dtype_npu"`
	Limits   limitsJSON   `json:"limits"`
	// Total is nil in a row that was not compared.
	Total        *int64         `json:"total"`
	Errors       *int64         `json:"errors"`
	ErrorsStrict *int64         `json:"errors_strict"`
	ErrorRatio   metrics.Metric `json:"error_ratio"`
	// FirstError is null when there is no error; the values are then those of
	// the first element.
	FirstError *location       `json:"first_error"`
	RefValue   *metrics.Value  `json:"ref_value"`
	NPUValue   *metrics.Value  `json:"npu_value"`
	Metrics    json.RawMessage `json:"metrics"`
	Classes    classes         `json:"classes"`
	// Order is the place in the execution order.
	Order int `json:"order"`

	OpType string `json:"op_type"`
	NPUOp  string `json:"npu_op"`
	Kind   string `json:"kind"`
	Round  string `json:"round"`
	At
	Script           string          `json:"script,omitempty"`
	Modules          []string        `json:"modules,omitempty"`
	Statistics       *Statistics     `json:"statistics,omitempty"`
	Rule             string          `json:"rule"`
	Notes            []lang.Sentence `json:"notes"`
	Partial          bool            `json:"partial"`
	Forced           bool            `json:"forced"`
	Known            bool            `json:"known"`
	Error            *string         `json:"error"`
	RefShape         tensor.Shape    `json:"ref_shape"`
	NPUShape         tensor.Shape    `json:"npu_shape"`
	NaNInf           *bool           `json:"nan_inf"`
	ErrorsPolicy     *int64          `json:"errors_policy"`
	FirstErrorPolicy *elementJSON    `json:"first_error_policy"`
	FirstErrorStrict *elementJSON    `json:"first_error_strict"`
	LastErrorStrict  *elementJSON    `json:"last_error_strict"`
	// CosineZero is one or both where the cosine is a convention, none where it
	// is not.
	CosineZero *string            `json:"cosine_zero"`
	Digests    *digests           `json:"digests"`
	Joint      []metrics.JointBin `json:"joint"`
	// StatusLimits is the status by limits alone; Origin is set where an independent
	// error begins, Evidence says by what.
	StatusLimits *Status   `json:"status_limits"`
	Type         string    `json:"type,omitempty"`
	Origin       bool      `json:"origin"`
	Downstream   bool      `json:"downstream"`
	Evidence     *Evidence `json:"evidence"`
	// Standard is null without an acceptance standard.
	Standard *Standard `json:"standard"`
	// Worst and Axes are given for rows that did not pass.
	Worst []elementJSON         `json:"worst"`
	Axes  []metrics.AxisProfile `json:"axes"`

	Module string `json:"module"`
	Inputs []int  `json:"inputs"`
	// AbsHist and RelHist count |d| and |d|/|r| of rows that did not pass.
	AbsHist  *HalfOctaves  `json:"abs_hist"`
	RelHist  *HalfOctaves  `json:"rel_hist"`
	Pictures *picturesJSON `json:"pictures"`

	// What the judgement of the round needs beside the numbers: the noise, the reasons
	// that the pair alone gives where they are others, and what its tensors show.
	Noise         *noise.Noise   `json:"noise,omitempty"`
	ReasonsLimits *[]findingJSON `json:"reasons_limits,omitempty"`
	Patterns      []findingJSON  `json:"patterns,omitempty"`
	Uneven        *Unevenness    `json:"uneven,omitempty"`
	Second        *Second        `json:"second,omitempty"`
	Reads         []InputRead    `json:"reads,omitempty"`
	Said          *string        `json:"dtype_said,omitempty"`
	Undiagnosed   *lang.Sentence `json:"undiagnosed,omitempty"`
	Details       *details       `json:"details,omitempty"`
}

// limitsJSON are Limits with their source in one text.
type limitsJSON struct {
	Atol   metrics.Metric `json:"atol"`
	Rtol   metrics.Metric `json:"rtol"`
	Source string         `json:"source"`
}

// limits are the limits that were written.
func (j *limitsJSON) limits() Limits {
	l := Limits{Atol: j.Atol.Value, Rtol: j.Rtol.Value}
	l.setSource(j.Source)
	return l
}

// location is where an element is, in C order.
type location struct {
	Offset int64   `json:"offset"`
	Coord  []int64 `json:"coord"`
}

// elementJSON is a pair of elements.
type elementJSON struct {
	Offset int64          `json:"offset"`
	Coord  []int64        `json:"coord"`
	Ref    metrics.Value  `json:"ref"`
	NPU    metrics.Value  `json:"npu"`
	Abs    metrics.Metric `json:"abs"`
	Rel    metrics.Metric `json:"rel"`
}

// digests are check sums in hex: the CRC-32C of the elements as they are
// stored, and sums that do not depend on their order.
type digests struct {
	RefCRC string `json:"ref_crc32c"`
	NPUCRC string `json:"npu_crc32c"`
	RefSum string `json:"ref_sum"`
	NPUSum string `json:"npu_sum"`
}

// cosineZeros are the words for metrics.Zero.
var cosineZeros = []string{metrics.NoneZero: "none", metrics.OneZero: "one", metrics.BothZero: "both"}

// MarshalJSON implements json.Marshaler. A row that passed is without its worst
// elements and the profiles of its axes.
func (r *Row) MarshalJSON() ([]byte, error) { return r.json().marshal() }

// Detail is a row whose JSON has the worst elements and the profiles of the
// axes, whatever its status is.
type Detail struct{ *Row }

// MarshalJSON implements json.Marshaler.
func (d Detail) MarshalJSON() ([]byte, error) { return d.form(true).marshal() }

// json is the row as compare.json has it.
func (r *Row) json() *rowJSON { return r.form(r.Status != Pass) }

func (r *Row) form(detail bool) *rowJSON {
	result := r.Result
	j := &rowJSON{Op: r.Op, Output: r.Output, Status: r.Status, Reasons: findingsJSON(r.Reasons),
		RefFile: optional(r.RefFile), NPUFile: optional(r.NPUFile), Shape: r.Shape, Order: r.Order,
		DTypeRef: dtypeName(r.RefDType), DTypeNPU: dtypeName(r.NPUDType),
		OpType: r.OpType, NPUOp: r.NPUOp, Kind: r.Kind, Round: r.Round, At: r.At, Script: r.Script, Modules: r.Modules, Statistics: r.Statistics, Rule: r.Rule, Notes: list(r.Notes),
		Partial: r.Partial, Forced: r.Forced, Known: r.Known,
		RefShape: r.RefShape, NPUShape: r.NPUShape, Metrics: appendMetrics(nil, result),
		Joint: []metrics.JointBin{}, Worst: []elementJSON{}, Axes: []metrics.AxisProfile{},
		Module: r.Module, Inputs: list(r.Inputs), Pictures: picturesOf(r.Pictures)}
	if r.Err != nil {
		j.Error = optional(r.Err.Error())
	}
	j.Evidence, j.Standard = r.Evidence, r.Standard
	j.Type, j.Origin, j.Downstream = r.Type, r.IsOrigin(), r.Downstream
	if r.Judged() {
		j.StatusLimits = &r.Pair.Status
	}
	if result != nil {
		j.putResult(r, result)
		if detail {
			j.putDetail(result)
		}
	}
	j.Noise, j.Uneven, j.Second, j.Reads, j.Said = r.Noise, r.Uneven, r.Second, r.Reads, dtypeName(r.Said)
	if !slices.EqualFunc(r.Pair.Reasons, r.Reasons, Finding.equal) {
		own := findingsJSON(r.Pair.Reasons)
		j.ReasonsLimits = &own
	}
	if len(r.Patterns) > 0 {
		j.Patterns = findingsJSON(r.Patterns)
	}
	if !r.Undiagnosed.IsZero() {
		j.Undiagnosed = &r.Undiagnosed
	}
	return j
}

// whole is the row with all that is known of it.
func (r *Row) whole() *rowJSON {
	j := r.form(true)
	j.Limits = limitsJSON{NumberOf(r.Limits.Atol), NumberOf(r.Limits.Rtol), r.Limits.Source()}
	j.Details = new(details)
	if r.Result != nil {
		j.Details.NoShape = r.Shape == nil
		j.Details.take(r.Result)
	}
	return j
}

func (j *rowJSON) marshal() ([]byte, error) {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false) // the encoder around this one may want it
	err := out.Encode(j)
	return b.Bytes(), err
}

// putResult fills in what a comparison found.
func (j *rowJSON) putResult(r *Row, result *metrics.Result) {
	cells, strict, policy := &result.HPAA, result.StrictErrors(), r.Errors
	if j.Shape == nil {
		j.Shape = tensor.Shape{}
	}
	j.Limits = limitsJSON{NumberOf(r.Limits.Atol), NumberOf(r.Limits.Rtol), r.Limits.Source()}
	j.Total, j.Errors, j.ErrorsStrict, j.ErrorsPolicy = &result.Total, &cells.Count, &strict, &policy
	j.ErrorRatio = NumberOf(Share(cells.Count, result.Total))
	j.NaNInf = &cells.NonFinite
	shown := result.Start
	if cells.First != nil {
		shown = cells.First
		j.FirstError = &location{shown.Offset, Coordinates(r.Shape, shown.Offset)}
	}
	if shown != nil {
		j.RefValue, j.NPUValue = &shown.Ref, &shown.NPU
	}
	j.FirstErrorPolicy = j.element(r.First)
	j.FirstErrorStrict = j.element(FirstStrict(result))
	j.LastErrorStrict = j.element(lastStrict(result))
	j.Classes.put(result)
	j.CosineZero = &cosineZeros[min(result.CosineZero, metrics.BothZero)]
	j.Digests = &digests{fmt.Sprintf("%08x", result.RefCRC), fmt.Sprintf("%08x", result.NPUCRC),
		fmt.Sprintf("%016x", result.RefSum), fmt.Sprintf("%016x", result.NPUSum)}
	j.Joint = list(result.Joint)
}

// putDetail fills in the worst elements and the profiles of the axes.
func (j *rowJSON) putDetail(result *metrics.Result) {
	for i := range result.Worst {
		j.Worst = append(j.Worst, *j.element(&result.Worst[i]))
	}
	j.Axes = list(FoldAxes(result.Axes))
	j.AbsHist, j.RelHist = HalfOctavesOf(result.AbsHistogram), HalfOctavesOf(result.RelHistogram)
}

// element is a pair of elements in JSON, nil if there is none.
func (j *rowJSON) element(e *metrics.Element) *elementJSON {
	if e == nil {
		return nil
	}
	return &elementJSON{e.Offset, Coordinates(j.Shape, e.Offset), e.Ref, e.NPU, definedUnlessNaN(e.Abs), definedUnlessNaN(e.Rel)}
}

// row makes the row that was written. It refuses what no comparison can find;
// coordinates and what can be computed from the rest are not looked at.
func (j *rowJSON) row() (Row, error) {
	if err := j.check(); err != nil {
		return Row{}, err
	}
	r := Row{Op: j.Op, Output: j.Output, Pair: Judged{Status: j.Status},
		Verdict: Verdict{Status: j.Status, Reasons: findingsOf(j.Reasons), Inputs: j.Inputs, Known: j.Known}, Shape: j.Shape, Order: j.Order,
		OpType: j.OpType, NPUOp: j.NPUOp, Kind: j.Kind, Round: j.Round, At: j.At, Script: j.Script, Modules: j.Modules, Statistics: j.Statistics, Rule: j.Rule, Notes: j.Notes,
		Partial: j.Partial, Forced: j.Forced,
		RefFile: textOf(j.RefFile), NPUFile: textOf(j.NPUFile), RefDType: dtypeOf(j.DTypeRef), NPUDType: dtypeOf(j.DTypeNPU),
		RefShape: j.RefShape, NPUShape: j.NPUShape, Module: j.Module}
	if j.Error != nil {
		r.Err = errors.New(*j.Error)
	}
	if j.StatusLimits != nil {
		r.Pair.Status = *j.StatusLimits
	}
	r.Pair.Reasons = r.Reasons
	if j.ReasonsLimits != nil {
		r.Pair.Reasons = findingsOf(*j.ReasonsLimits)
	}
	r.Noise, r.Patterns, r.Uneven, r.Second, r.Reads, r.Said = j.Noise, findingsOf(j.Patterns), j.Uneven, j.Second, j.Reads, dtypeOf(j.Said)
	if j.Undiagnosed != nil {
		r.Undiagnosed = *j.Undiagnosed
	}
	if j.Details != nil {
		r.Limits = j.Limits.limits()
	}
	r.Type, r.Downstream, r.Evidence, r.Standard = j.Type, j.Downstream, j.Evidence, j.Standard
	if j.Total == nil {
		return r, nil
	}
	var err error
	if r.Result, err = j.takeResult(&r); err != nil {
		return Row{}, err
	}
	if d := j.Details; d != nil {
		if err := d.set(r.Result); err != nil {
			return Row{}, err
		}
		if d.NoShape {
			r.Shape = nil
		}
	}
	if err := r.typeElements(); err != nil {
		return Row{}, err
	}
	if r.Pictures, err = j.Pictures.pictures(r.Result, len(j.Shape)); err != nil {
		return Row{}, err
	}
	return r, nil
}

// takeResult makes the result of a row that was compared.
func (j *rowJSON) takeResult(r *Row) (*metrics.Result, error) {
	r.Limits = j.Limits.limits()
	result := &metrics.Result{Total: *j.Total, RefDType: r.RefDType, NPUDType: r.NPUDType}
	result.Complex = r.RefDType.Host().Complex() || r.NPUDType.Host().Complex()
	if j.ErrorsPolicy != nil {
		r.Errors = *j.ErrorsPolicy
	}
	if err := j.Classes.take(result); err != nil {
		return nil, err
	}
	result.Beyond.Count = *j.ErrorsStrict - result.Mismatch.Count
	if result.Beyond.Count < 0 {
		return nil, fmt.Errorf("class_mismatch is %d, of %d strict errors", result.Mismatch.Count, *j.ErrorsStrict)
	}
	result.HPAA.Count = *j.Errors
	if err := setMetrics(result, j.Metrics); err != nil {
		return nil, err
	}
	result.HPAA.NonFinite = j.NaNInf != nil && *j.NaNInf
	result.CosineZero = metrics.Zero(max(0, slices.Index(cosineZeros, textOf(j.CosineZero))))
	result.Joint, result.Axes = j.Joint, j.Axes
	if err := j.takeHistograms(result); err != nil {
		return nil, err
	}
	if err := j.takeDigests(result); err != nil {
		return nil, err
	}
	j.takeElements(r, result)
	return result, nil
}

// takeElements sets the elements of a result.
func (j *rowJSON) takeElements(r *Row, result *metrics.Result) {
	shown := &metrics.Element{Abs: math.NaN(), Rel: math.NaN()}
	if j.RefValue != nil && j.NPUValue != nil {
		shown.Ref, shown.NPU, result.Start = *j.RefValue, *j.NPUValue, shown
	}
	if j.FirstError != nil {
		shown.Offset = j.FirstError.Offset
		result.HPAA.First, result.Start = shown, nil
	}
	r.First, result.Beyond.First, result.Beyond.Last = j.FirstErrorPolicy.element(), j.FirstErrorStrict.element(), j.LastErrorStrict.element()
	for i := range j.Worst {
		result.Worst = append(result.Worst, *j.Worst[i].element())
	}
}

// element is the pair of elements that was written.
func (j *elementJSON) element() *metrics.Element {
	if j == nil {
		return nil
	}
	return &metrics.Element{Offset: j.Offset, Ref: j.Ref, NPU: j.NPU, Abs: j.Abs.OrNaN(), Rel: j.Rel.OrNaN()}
}

// typeElements gives the elements of a result that was read their types, and reports those
// that the tensors do not have.
func (r *Row) typeElements() (err error) {
	res := r.Result
	all := []*metrics.Element{r.First, res.Start, res.Beyond.First, res.Beyond.Last, res.Mismatch.First, res.Mismatch.Last, res.HPAA.First, res.HPAA.Last}
	for _, list := range [][]metrics.Element{res.Worst, res.Listed, res.WorstRel} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	for _, e := range all {
		if e == nil {
			continue
		}
		if e.Offset < 0 || e.Offset >= res.Total {
			return fmt.Errorf("element %d, of %d elements", e.Offset, res.Total)
		}
		if e.Ref, err = e.Ref.As(r.RefDType); err == nil {
			e.NPU, err = e.NPU.As(r.NPUDType)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeHistograms sets the histograms of a result.
func (j *rowJSON) takeHistograms(result *metrics.Result) (err error) {
	if result.AbsHistogram, err = j.AbsHist.histogram(result.Total); err != nil {
		return fmt.Errorf("abs_hist: %w", err)
	}
	if result.RelHistogram, err = j.RelHist.histogram(result.Total); err != nil {
		return fmt.Errorf("rel_hist: %w", err)
	}
	return nil
}

// takeDigests sets the check sums of a result.
func (j *rowJSON) takeDigests(result *metrics.Result) error {
	if j.Digests == nil {
		return nil
	}
	var failed error
	number := func(text string, bits int) uint64 {
		n, err := strconv.ParseUint(text, 16, bits)
		if err != nil {
			failed = fmt.Errorf("digest %q is no number of %d bits in hex", excerpt([]byte(text)), bits)
		}
		return n
	}
	result.RefCRC, result.NPUCRC = uint32(number(j.Digests.RefCRC, 32)), uint32(number(j.Digests.NPUCRC, 32))
	result.RefSum, result.NPUSum = number(j.Digests.RefSum, 64), number(j.Digests.NPUSum, 64)
	return failed
}

// optional is nil for an empty text.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// textOf is an optional text, empty where there is none.
func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// dtypeName is the name of an element type, nil where there is none.
func dtypeName(d tensor.DType) *string {
	if d == tensor.Undefined {
		return nil
	}
	return optional(d.String())
}

// dtypeOf is the element type of a name, Undefined where it is missing or
// unknown.
func dtypeOf(name *string) tensor.DType {
	d, _ := tensor.ParseDType(textOf(name))
	return d
}
