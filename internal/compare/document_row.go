package compare

import (
	"bytes"
	"encoding/json"
	"fmt"

	"dumptool/internal/compare/engine"
	"dumptool/internal/tensor"
)

// DocumentRow is a row of a Document. A row that was not compared has no
// Metrics, and null for every number.
//
// Errors, FirstError, RefValue, NPUValue and ErrorRatio are the cells of
// cpu_vs_npu.csv, after HPAA's replacement of what is not finite; ErrorsStrict
// and FirstErrorStrict count differences of class too, and ErrorsPolicy and
// FirstErrorPolicy are those of the run's NaN policy, by which the status goes.
//
// Partial and Forced are set whatever the status is: a row of a part of the
// elements cannot be better than PARTIAL by any limits, a forced one not better
// than WARN.
type DocumentRow struct {
	Op      string           `json:"op"`
	Output  int              `json:"output"`
	Status  Status           `json:"status"`
	Reasons []DocumentReason `json:"reasons"`
	// The files, null on a side that is missing.
	RefFile *string `json:"ref_file"`
	NPUFile *string `json:"npu_file"`
	// Shape is the shape that was compared, null when unknown.
	Shape    tensor.Shape   `json:"shape"`
	DTypeRef *string        `json:"dtype_ref"`
	DTypeNPU *string        `json:"dtype_npu"`
	Limits   DocumentLimits `json:"limits"`
	// Total is nil in a row that was not compared.
	Total        *int64 `json:"total"`
	Errors       *int64 `json:"errors"`
	ErrorsStrict *int64 `json:"errors_strict"`
	ErrorRatio   Number `json:"error_ratio"`
	// FirstError is null when there is no error; the values are then those of
	// the first element.
	FirstError *DocumentPlace  `json:"first_error"`
	RefValue   ElementValue    `json:"ref_value"`
	NPUValue   ElementValue    `json:"npu_value"`
	Metrics    *Metrics        `json:"metrics"`
	Classes    DocumentClasses `json:"classes"`
	// Order is the place in the execution order.
	Order int `json:"order"`

	OpType           string           `json:"op_type"`
	NPUOp            string           `json:"npu_op"`
	Kind             string           `json:"kind"`
	Round            string           `json:"round"`
	Rule             string           `json:"rule"`
	Notes            []string         `json:"notes"`
	Partial          bool             `json:"partial"`
	Forced           bool             `json:"forced"`
	Known            bool             `json:"known"`
	Error            *string          `json:"error"`
	RefShape         tensor.Shape     `json:"ref_shape"`
	NPUShape         tensor.Shape     `json:"npu_shape"`
	NaNInf           *bool            `json:"nan_inf"`
	ErrorsPolicy     *int64           `json:"errors_policy"`
	FirstErrorPolicy *DocumentElement `json:"first_error_policy"`
	FirstErrorStrict *DocumentElement `json:"first_error_strict"`
	LastErrorStrict  *DocumentElement `json:"last_error_strict"`
	// CosineZero is one or both where the cosine is a convention, none where it
	// is not.
	CosineZero *string         `json:"cosine_zero"`
	Digests    *Digests        `json:"digests"`
	Joint      []DocumentJoint `json:"joint"`
	// Worst and Axes are given for rows that did not pass.
	Worst []DocumentElement `json:"worst"`
	Axes  []DocumentAxis    `json:"axes"`
}

// DocumentReason is a Reason. The codes of pairs that cannot be compared are
// SHAPE (as many elements in another shape), SIZE_MISMATCH (another number of
// elements, or padding that is not zero) and DTYPE (another element type).
type DocumentReason struct {
	Code       Code       `json:"code"`
	Confidence Confidence `json:"confidence"`
	Evidence   string     `json:"evidence"`
}

// DocumentLimits are Limits with their source in one text.
type DocumentLimits struct {
	Atol   Number `json:"atol"`
	Rtol   Number `json:"rtol"`
	Source string `json:"source"`
}

// DocumentPlace is where an element is, in C order.
type DocumentPlace struct {
	Offset int64   `json:"offset"`
	Coord  []int64 `json:"coord"`
}

// DocumentElement is a pair of elements.
type DocumentElement struct {
	Offset int64        `json:"offset"`
	Coord  []int64      `json:"coord"`
	Ref    ElementValue `json:"ref"`
	NPU    ElementValue `json:"npu"`
	Abs    Number       `json:"abs"`
	Rel    Number       `json:"rel"`
}

// Digests are check sums in hex: the CRC-32C of the elements as they are
// stored, and sums that do not depend on their order.
type Digests struct {
	RefCRC string `json:"ref_crc32c"`
	NPUCRC string `json:"npu_crc32c"`
	RefSum string `json:"ref_sum"`
	NPUSum string `json:"npu_sum"`
}

// Compared reports whether the tensors of the row were compared.
func (d *DocumentRow) Compared() bool { return d.Total != nil }

// MarshalJSON implements json.Marshaler.
func (d DocumentRow) MarshalJSON() ([]byte, error) {
	type plain DocumentRow
	p := plain(d)
	if p.Metrics == nil {
		p.Metrics = &Metrics{} // every key, and null for each
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false) // the encoder around this one may want it
	err := out.Encode(p)
	return b.Bytes(), err
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *DocumentRow) UnmarshalJSON(data []byte) error {
	type plain DocumentRow
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	if p.Total == nil {
		p.Metrics = nil
	}
	*d = DocumentRow(p)
	return nil
}

// NewDocumentRow makes the document's form of a row.
func NewDocumentRow(r *Row) DocumentRow {
	d := DocumentRow{Op: r.Op, Output: r.Output, Status: r.Status, Reasons: make([]DocumentReason, len(r.Reasons)),
		RefFile: optional(r.RefFile), NPUFile: optional(r.NPUFile), Shape: r.Shape, Order: r.Order,
		OpType: r.OpType, NPUOp: r.NPUOp, Kind: r.Kind, Round: r.Round, Rule: r.Rule, Notes: list(r.Notes),
		Partial: r.Partial, Forced: r.Forced, Known: r.Known,
		RefShape: r.RefShape, NPUShape: r.NPUShape,
		Joint: []DocumentJoint{}, Worst: []DocumentElement{}, Axes: []DocumentAxis{}}
	for i, reason := range r.Reasons {
		d.Reasons[i] = DocumentReason(reason)
	}
	if r.RefDType != tensor.Undefined {
		d.DTypeRef = optional(r.RefDType.String())
	}
	if r.NPUDType != tensor.Undefined {
		d.DTypeNPU = optional(r.NPUDType.String())
	}
	if r.Err != nil {
		d.Error = optional(r.Err.Error())
	}
	if r.Result != nil {
		d.setResult(r)
	}
	return d
}

// setResult fills in what a comparison found.
func (d *DocumentRow) setResult(r *Row) {
	result := r.Result
	cells, strict, judged := result.HPAA, result.StrictErrors(), r.Errors
	if d.Shape == nil {
		d.Shape = tensor.Shape{}
	}
	d.Limits = DocumentLimits{NumberOf(r.Limits.Atol), NumberOf(r.Limits.Rtol), r.Limits.LimitSource()}
	d.Total, d.Errors, d.ErrorsStrict, d.ErrorsPolicy = &result.Total, &cells.Count, &strict, &judged
	d.ErrorRatio = NumberOf(ratio(cells.Count, result.Total))
	d.NaNInf = &cells.NonFinite
	shown := result.Start
	if cells.First != nil {
		shown = cells.First
		d.FirstError = &DocumentPlace{shown.Offset, Coordinates(r.Shape, shown.Offset)}
	}
	if shown != nil {
		d.RefValue, d.NPUValue = ElementValueOf(shown.Ref), ElementValueOf(shown.NPU)
	}
	d.FirstErrorPolicy = d.element(r.First)
	d.FirstErrorStrict = d.element(FirstStrict(result))
	d.LastErrorStrict = d.element(lastStrict(result))
	d.Metrics, d.Classes = metricsOf(result), classesOf(result)
	zero := [...]string{engine.NoneZero: "none", engine.OneZero: "one", engine.BothZero: "both"}[min(result.CosineZero, engine.BothZero)]
	d.CosineZero = &zero
	d.Digests = &Digests{fmt.Sprintf("%08x", result.RefCRC), fmt.Sprintf("%08x", result.NPUCRC),
		fmt.Sprintf("%016x", result.RefSum), fmt.Sprintf("%016x", result.NPUSum)}
	for _, bin := range result.Joint {
		d.Joint = append(d.Joint, DocumentJoint(bin))
	}
	if r.Status != Pass {
		d.AddDetail(r)
	}
}

// AddDetail adds the worst elements and the profiles of the axes to a row that
// was made without them.
func (d *DocumentRow) AddDetail(r *Row) {
	if r.Result == nil || len(d.Worst)+len(d.Axes) > 0 {
		return
	}
	for i := range r.Result.Worst {
		d.Worst = append(d.Worst, *d.element(&r.Result.Worst[i]))
	}
	for i := range r.Result.Axes {
		d.Axes = append(d.Axes, axisOf(&r.Result.Axes[i]))
	}
}

// element makes the document's form of a pair of elements, nil if there is none.
func (d *DocumentRow) element(e *engine.Element) *DocumentElement {
	if e == nil {
		return nil
	}
	return &DocumentElement{e.Offset, Coordinates(d.Shape, e.Offset), ElementValueOf(e.Ref), ElementValueOf(e.NPU),
		definedUnlessNaN(e.Abs), definedUnlessNaN(e.Rel)}
}

// FirstStrict is the first element that is an error under the strict policy, nil
// if there is none.
func FirstStrict(r *engine.Result) *engine.Element {
	a, b := r.Beyond.First, r.Mismatch.First
	if a == nil || b != nil && b.Offset < a.Offset {
		return b
	}
	return a
}

// lastStrict is the last such element.
func lastStrict(r *engine.Result) *engine.Element {
	a, b := r.Beyond.Last, r.Mismatch.Last
	if a == nil || b != nil && b.Offset > a.Offset {
		return b
	}
	return a
}

// Coordinates are those of an element in a shape; one that the shape does not
// have is at its offset in a flat run.
func Coordinates(s tensor.Shape, offset int64) []int64 {
	if n, ok := s.Count(); !ok || offset < 0 || offset >= n {
		return []int64{offset}
	}
	return s.Coordinates(offset)
}

// optional is nil for an empty text.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// definedUnlessNaN is a difference, which is NaN where it is undefined.
func definedUnlessNaN(x float64) Number { return Number{Value: zeroIfNaN(x), Defined: x == x} }

// zeroIfNaN makes equal what is undefined.
func zeroIfNaN(x float64) float64 {
	if x != x {
		return 0
	}
	return x
}
