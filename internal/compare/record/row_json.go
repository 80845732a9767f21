package record

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unique"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// plainRow is a Row without its methods, such as MarshalJSON.
type plainRow Row

// rowJSON is a row in compare.json: the row, and keys that follow from it or have another form there. The numbers of
// a result are null in a row that was not compared.
//
// errors, first_error, ref_value, npu_value and error_ratio are the cells of cpu_vs_npu.csv, after HPAA's replacement
// of non-finite elements; errors_strict and first_error_strict also count pairs of different classes. errors_policy
// and first_error_policy follow the run's NaN policy, which decides the status.
type rowJSON struct {
	*plainRow
	RefFile      nullableText `json:"ref_file"`
	NPUFile      nullableText `json:"npu_file"`
	RefDType     nullableText `json:"dtype_ref"`
	NPUDType     nullableText `json:"dtype_npu"`
	DeclaredType nullableText `json:"dtype_said,omitempty"`
	Error        nullableText `json:"error"`

	Limits       limitsJSON     `json:"limits"`
	Total        *int64         `json:"total"`
	Errors       *int64         `json:"errors"`
	ErrorsStrict *int64         `json:"errors_strict"`
	ErrorsPolicy *int64         `json:"errors_policy"`
	ErrorRatio   metrics.Metric `json:"error_ratio"`
	// FirstError is nil without errors; RefValue and NPUValue are then the values of the first element.
	FirstError  *location      `json:"first_error"`
	RefValue    *metrics.Value `json:"ref_value"`
	NPUValue    *metrics.Value `json:"npu_value"`
	FirstPolicy *elementJSON   `json:"first_error_policy"`
	FirstStrict *elementJSON   `json:"first_error_strict"`
	LastStrict  *elementJSON   `json:"last_error_strict"`
	Metrics     jsonMembers    `json:"metrics"`
	Classes     jsonMembers    `json:"classes"`
	NonFinite   *bool          `json:"nan_inf"`
	CosineZero  nullableText   `json:"cosine_zero"`
	Digests     *digests       `json:"digests"`
	// StatusLimits is the status by limits alone. ReasonsLimits are the reasons of the pair alone, nil if the row has
	// the same reasons.
	StatusLimits  *Status       `json:"status_limits"`
	ReasonsLimits *finding.List `json:"reasons_limits,omitempty"`
	Origin        bool          `json:"origin"`
	// Passed rows have no elements, profiles or histograms.
	Worst   []elementJSON         `json:"worst"`
	Axes    []metrics.AxisProfile `json:"axes"`
	AbsHist *HalfOctaves          `json:"abs_hist"`
	RelHist *HalfOctaves          `json:"rel_hist"`
	Details *details              `json:"details,omitempty"`
}

// details holds further facts of a row that was compared by a shard, for a merge and its reports.
type details struct {
	// NoShape: the compared elements have no shape.
	NoShape bool `json:"no_shape,omitempty"`
	// Classes are the cells of metrics.Classes, the NPU's class first.
	Classes       []int64           `json:"classes,omitempty"`
	Start         *metrics.Element  `json:"start,omitempty"`
	BeyondFirst   *metrics.Element  `json:"beyond_first,omitempty"`
	BeyondLast    *metrics.Element  `json:"beyond_last,omitempty"`
	MismatchFirst *metrics.Element  `json:"mismatch_first,omitempty"`
	MismatchLast  *metrics.Element  `json:"mismatch_last,omitempty"`
	HPAAFirst     *metrics.Element  `json:"hpaa_first,omitempty"`
	HPAALast      *metrics.Element  `json:"hpaa_last,omitempty"`
	Offsets       []int64           `json:"offsets,omitempty"`
	Listed        []metrics.Element `json:"listed,omitempty"`
	Points        []metrics.Point   `json:"points,omitempty"`
	// Zeros are the zeros of the histograms of |d| and |d|/|r|.
	Zeros [2]int64       `json:"zeros"`
	KLD   metrics.Metric `json:"kld"`
}

// limitsJSON are Limits with their sources in one text.
type limitsJSON struct {
	Atol   metrics.Metric `json:"atol"`
	Rtol   metrics.Metric `json:"rtol"`
	Source string         `json:"source"`
}

func limitsOf(l *Limits) limitsJSON {
	return limitsJSON{metrics.NumberOf(l.Atol), metrics.NumberOf(l.Rtol), l.Source()}
}

// limits converts to Limits.
func (j *limitsJSON) limits() Limits {
	l := Limits{Atol: j.Atol.Value(), Rtol: j.Rtol.Value()}
	l.setSource(j.Source)
	return l
}

// location is the position of an element, in C order.
type location struct {
	Offset int64   `json:"offset"`
	Coord  []int64 `json:"coord"`
}

// elementJSON is a pair of elements.
type elementJSON struct {
	location
	Ref metrics.Value  `json:"ref"`
	NPU metrics.Value  `json:"npu"`
	Abs metrics.Metric `json:"abs"`
	Rel metrics.Metric `json:"rel"`
}

// digests are checksums: the CRC-32C of the stored elements, and sums that do not depend on the order of the
// elements.
type digests struct {
	RefCRC hex32 `json:"ref_crc32c"`
	NPUCRC hex32 `json:"npu_crc32c"`
	RefSum hex64 `json:"ref_sum"`
	NPUSum hex64 `json:"npu_sum"`
}

// cosineZeros are the words for metrics.Zero: one or both if the cosine is a convention, else none.
var cosineZeros = []nullableText{metrics.NoneZero: "none", metrics.OneZero: "one", metrics.BothZero: "both"}

// MarshalJSON implements json.Marshaler. It omits the worst elements and the profiles of axes of a passed row.
func (r *Row) MarshalJSON() ([]byte, error) { return marshal(newRowJSON(r, r.Status != Pass), "") }

// Detail is a row whose JSON always has the worst elements and the profiles of axes.
type Detail struct{ *Row }

// MarshalJSON implements json.Marshaler.
func (d Detail) MarshalJSON() ([]byte, error) { return marshal(newRowJSON(d.Row, true), "") }

// detailedRow returns a row with all details, for a document of a part of a run.
func detailedRow(r *Row) *rowJSON {
	f, res := newRowJSON(r, true), cmp.Or(r.Result, new(metrics.Result))
	f.Limits = limitsOf(&r.Limits)
	f.Details = &details{
		Zeros: [2]int64{res.AbsHistogram.Zeros, res.RelHistogram.Zeros}, KLD: res.KLD, NoShape: r.Result != nil && r.Shape == nil, Start: res.Start,
		BeyondFirst: res.Beyond.First, BeyondLast: res.Beyond.Last, MismatchFirst: res.Mismatch.First, MismatchLast: res.Mismatch.Last,
		HPAAFirst: res.HPAA.First, HPAALast: res.HPAA.Last, Offsets: res.ErrorOffsets, Listed: res.Listed, Points: res.Points,
	}
	if r.Result != nil {
		for _, cells := range res.Classes {
			f.Details.Classes = append(f.Details.Classes, cells[:]...)
		}
	}
	return f
}

// newRowJSON returns a row as in compare.json, with elements, profiles and histograms if detail is set.
func newRowJSON(r *Row, detail bool) *rowJSON {
	row := plainRow(*r)
	row.Notes, row.Inputs = copyList(r.Notes), copyList(r.Inputs) // never null
	f := &rowJSON{
		plainRow: &row, RefFile: nullableText(r.RefFile), NPUFile: nullableText(r.NPUFile), RefDType: dtypeName(r.RefDType), NPUDType: dtypeName(r.NPUDType), DeclaredType: dtypeName(r.DeclaredType),
		Metrics: metricsOf(r.Result), Classes: classesOf(r.Result), Origin: r.IsOrigin(), Worst: []elementJSON{}, Axes: []metrics.AxisProfile{},
	}
	if r.Err != nil {
		f.Error = nullableText(r.Err.Error())
	}
	if r.IsJudged() {
		f.StatusLimits = &r.Pair.Status
	}
	if !slices.EqualFunc(r.Pair.Reasons, r.Reasons, finding.Finding.Equal) {
		f.ReasonsLimits = &r.Pair.Reasons
	}
	if r.Result == nil {
		return f
	}
	f.putResult(r.Result)
	if detail {
		for i := range r.Result.Worst {
			f.Worst = append(f.Worst, *f.element(&r.Result.Worst[i]))
		}
		f.Axes = append(f.Axes, FoldAxes(r.Result.Axes)...)
		f.AbsHist, f.RelHist = HalfOctavesOf(r.Result.AbsHistogram), HalfOctavesOf(r.Result.RelHistogram)
	}
	return f
}

// putResult sets the keys of a compared row.
func (f *rowJSON) putResult(result *metrics.Result) {
	r, cells := f.plainRow, &result.HPAA
	if r.Shape == nil {
		r.Shape = tensor.Shape{}
	}
	f.Limits = limitsOf(&r.Limits)
	f.Total, f.Errors, f.ErrorsStrict, f.ErrorsPolicy = &result.Total, &cells.Count, new(result.StrictErrors()), &r.Errors
	f.ErrorRatio, f.NonFinite = metrics.NumberOf(Share(cells.Count, result.Total)), &cells.NonFinite
	shown := result.Start
	if cells.First != nil {
		shown = cells.First
		f.FirstError = f.locate(shown)
	}
	if shown != nil {
		f.RefValue, f.NPUValue = &shown.Ref, &shown.NPU
	}
	f.FirstPolicy, f.FirstStrict, f.LastStrict = f.element(r.First), f.element(FirstStrict(result)), f.element(lastStrict(result))
	f.CosineZero = cosineZeros[min(result.CosineZero, metrics.BothZero)]
	f.Digests = &digests{hex32(result.RefCRC), hex32(result.NPUCRC), hex64(result.RefSum), hex64(result.NPUSum)}
}

// locate returns the position of an element.
func (f *rowJSON) locate(e *metrics.Element) *location {
	return &location{e.Offset, Coordinates(f.Shape, e.Offset)}
}

// element returns a pair of elements as in JSON, nil for nil.
func (f *rowJSON) element(e *metrics.Element) *elementJSON {
	if e == nil {
		return nil
	}
	return &elementJSON{*f.locate(e), e.Ref, e.NPU, definedUnlessNaN(e.Abs), definedUnlessNaN(e.Rel)}
}

// element converts a pair of elements that was read.
func (j *elementJSON) element() *metrics.Element {
	if j == nil {
		return nil
	}
	return &metrics.Element{Offset: j.Offset, Ref: j.Ref, NPU: j.NPU, Abs: j.Abs.OrNaN(), Rel: j.Rel.OrNaN()}
}

// toRow converts a row that was read.
func (f *rowJSON) toRow() (_ Row, err error) {
	r := (*Row)(f.plainRow)
	if err := f.check(); err != nil {
		return *r, err
	}
	r.Op = unique.Make(r.Op).Value() // many rounds have the same operators
	r.RefFile, r.NPUFile, r.Pair = string(f.RefFile), string(f.NPUFile), PairVerdict{r.Status, r.Reasons}
	r.RefDType, r.NPUDType, r.DeclaredType = f.RefDType.dtype(), f.NPUDType.dtype(), f.DeclaredType.dtype()
	if f.Error != "" {
		r.Err = errors.New(string(f.Error))
	}
	if f.StatusLimits != nil {
		r.Pair.Status = *f.StatusLimits
	}
	if f.ReasonsLimits != nil {
		r.Pair.Reasons = *f.ReasonsLimits
	}
	if f.Details != nil || f.Total != nil {
		r.Limits = f.Limits.limits()
	}
	if f.Total == nil {
		r.Pictures = nil
		return *r, nil
	}
	if r.Result, err = f.toResult(); err != nil {
		return *r, err
	}
	if err := f.typeElements(); err != nil {
		return *r, err
	}
	if x := r.Tokens; x != nil && x.Map != nil {
		d := pictureReader{}
		if d.checkMap(x.Map, 2); d.err != nil {
			return *r, lang.Errorf("tokens: %w", d.err)
		}
	}
	return *r, completePictures(r.Pictures, r.Result, len(f.Shape))
}

// toResult converts the result of a compared row.
func (f *rowJSON) toResult() (res *metrics.Result, err error) {
	r := f.plainRow
	res = &metrics.Result{Total: *f.Total, RefDType: r.RefDType, NPUDType: r.NPUDType, Complex: r.RefDType.Host().Complex() || r.NPUDType.Host().Complex(), Axes: f.Axes}
	if err := setMetrics(res, f.Metrics); err != nil {
		return nil, err
	}
	if err := setClasses(res, f.Classes); err != nil {
		return nil, err
	}
	if f.ErrorsPolicy != nil {
		r.Errors = *f.ErrorsPolicy
	}
	res.HPAA.Count, res.Beyond.Count = *f.Errors, *f.ErrorsStrict-res.Mismatch.Count
	res.HPAA.NonFinite = f.NonFinite != nil && *f.NonFinite
	res.CosineZero = metrics.Zero(max(0, slices.Index(cosineZeros, f.CosineZero)))
	if res.AbsHistogram, err = f.AbsHist.histogram(); err != nil {
		return nil, lang.Errorf("abs_hist: %w", err)
	}
	if res.RelHistogram, err = f.RelHist.histogram(); err != nil {
		return nil, lang.Errorf("rel_hist: %w", err)
	}
	if d := f.Digests; d != nil {
		res.RefCRC, res.NPUCRC, res.RefSum, res.NPUSum = uint32(d.RefCRC), uint32(d.NPUCRC), uint64(d.RefSum), uint64(d.NPUSum)
	}
	r.First = f.FirstPolicy.element()
	for i := range f.Worst {
		res.Worst = append(res.Worst, *f.Worst[i].element())
	}
	if f.Details != nil {
		return res, f.setDetails(res)
	}
	shown := &metrics.Element{Abs: math.NaN(), Rel: math.NaN()}
	if f.RefValue != nil && f.NPUValue != nil {
		shown.Ref, shown.NPU, res.Start = *f.RefValue, *f.NPUValue, shown
	}
	if f.FirstError != nil {
		shown.Offset = f.FirstError.Offset
		res.HPAA.First, res.Start = shown, nil
	}
	res.Beyond.First, res.Beyond.Last = f.FirstStrict.element(), f.LastStrict.element()
	return res, nil
}

// setDetails sets the fields that only documents of shards have.
func (f *rowJSON) setDetails(res *metrics.Result) error {
	d := f.Details
	if len(d.Classes) != len(res.Classes)*len(res.Classes) {
		return lang.Errorf("details.classes: %d classes of pairs, want %d", len(d.Classes), len(res.Classes)*len(res.Classes))
	}
	for i, n := range d.Classes {
		if n < 0 {
			return lang.Errorf("details.classes: %d pairs of a class", n)
		}
		res.Classes[i/len(res.Classes)][i%len(res.Classes)] = n
	}
	for _, offset := range d.Offsets {
		if offset < 0 || offset >= res.Total {
			return lang.Errorf("%s: offset %d, of %d elements", "details.offsets", offset, res.Total)
		}
	}
	res.AbsHistogram.Zeros, res.RelHistogram.Zeros, res.KLD, res.Start = d.Zeros[0], d.Zeros[1], d.KLD, d.Start
	res.Beyond.First, res.Beyond.Last, res.Mismatch.First, res.Mismatch.Last = d.BeyondFirst, d.BeyondLast, d.MismatchFirst, d.MismatchLast
	res.HPAA.First, res.HPAA.Last, res.ErrorOffsets, res.Listed, res.Points = d.HPAAFirst, d.HPAALast, d.Offsets, d.Listed, d.Points
	if d.NoShape {
		f.Shape = nil
	}
	return nil
}

// typeElements gives the elements of a result that was read their types, and reports elements that the types cannot
// have.
func (f *rowJSON) typeElements() error {
	r, res := f.plainRow, f.Result
	type named struct {
		key string
		*metrics.Element
	}
	start, first, last, hpaa := "ref_value", "first_error_strict", "last_error_strict", "first_error"
	if f.Details != nil {
		start, first, last, hpaa = "details.start", "details.beyond_first", "details.beyond_last", "details.hpaa_first"
	}
	all := []named{{"first_error_policy", r.First}, {start, res.Start}, {first, res.Beyond.First}, {last, res.Beyond.Last}, {hpaa, res.HPAA.First},
		{"details.hpaa_last", res.HPAA.Last}, {"details.mismatch_first", res.Mismatch.First}, {"details.mismatch_last", res.Mismatch.Last}}
	for i := range res.Worst {
		all = append(all, named{"worst", &res.Worst[i]})
	}
	for i := range res.Listed {
		all = append(all, named{"details.listed", &res.Listed[i]})
	}
	for _, e := range all {
		if e.Element == nil {
			continue
		}
		if e.Offset < 0 || e.Offset >= res.Total {
			return lang.Errorf("%s: offset %d, of %d elements", e.key, e.Offset, res.Total)
		}
		var err error
		if e.Ref, err = e.Ref.Convert(r.RefDType); err != nil {
			return lang.Errorf("%s, dtype_ref: %w", e.key, err)
		}
		if e.NPU, err = e.NPU.Convert(r.NPUDType); err != nil {
			return lang.Errorf("%s, dtype_npu: %w", e.key, err)
		}
	}
	return nil
}

// nullableText is a text; the empty text is null in JSON.
type nullableText string

// MarshalJSON implements json.Marshaler.
func (s nullableText) MarshalJSON() ([]byte, error) {
	if s == "" {
		return []byte("null"), nil
	}
	return marshal(string(s), "")
}

// dtypeName returns the name of an element type, empty for Undefined.
func dtypeName(d tensor.DType) nullableText {
	if d == tensor.Undefined {
		return ""
	}
	return nullableText(d.String())
}

// dtype returns the element type with this name, Undefined for an unknown name.
func (s nullableText) dtype() tensor.DType {
	d, _ := tensor.ParseDType(string(s))
	return d
}

// hex32 and hex64 are numbers in hex, with all of their digits.
type (
	hex32 uint32
	hex64 uint64
)

// MarshalText implements encoding.TextMarshaler.
func (h hex32) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%08x", uint32(h)), nil }

// MarshalText implements encoding.TextMarshaler.
func (h hex64) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(h)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *hex32) UnmarshalText(text []byte) error {
	n, err := parseHex(text, 32)
	*h = hex32(n)
	return err
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *hex64) UnmarshalText(text []byte) error {
	n, err := parseHex(text, 64)
	*h = hex64(n)
	return err
}

func parseHex(text []byte, bits int) (uint64, error) {
	n, err := strconv.ParseUint(string(text), 16, bits)
	if err != nil {
		return 0, lang.Errorf("digest %q is no number of %d bits in hex", excerpt(text), bits)
	}
	return n, nil
}
