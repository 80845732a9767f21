package record

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unique"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/finding"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// rowForm is a row with what its object in compare.json has in another form: numbers of its
// result, which are null where it was not compared, and texts that are null where they are
// empty.
//
// errors, first_error, ref_value, npu_value and error_ratio are the cells of
// cpu_vs_npu.csv, after HPAA's replacement of what is not finite; errors_strict
// and first_error_strict count differences of class too, and errors_policy and
// first_error_policy are those of the run's NaN policy, by which the status goes.
type rowForm struct {
	*Row
	// result is that of the row, an empty one where it was not compared.
	result  *metrics.Result
	shape   tensor.Shape
	limits  limitsJSON
	metrics metricsJSON
	classes classes
	// The numbers are nil in a row that was not compared.
	total, errors, errorsStrict, errorsPolicy *int64
	ratio                                     metrics.Metric
	// firstError is nil when there is no error; the values are then those of the first
	// element.
	firstError                     *location
	refValue, npuValue             *metrics.Value
	firstPolicy, firstStrict, last *elementJSON
	nonFinite                      *bool
	cosineZero                     string
	digests                        *digests
	err                            string
	// statusLimits is the status by limits alone, reasonsLimits are the reasons that the
	// pair alone gives where they are others.
	statusLimits  *Status
	reasonsLimits *finding.List
	origin        bool
	// The elements and profiles are given for rows that did not pass.
	worst    []elementJSON
	axes     []metrics.AxisProfile
	abs, rel *HalfOctaves
	pictures *picturesJSON
	details
}

// details are what a merge needs of a row whose tensors were compared by a shard, and
// what reports of a run take from its memory, beside numbers that the row has.
type details struct {
	// noShape is set where elements were compared that are in no shape.
	noShape bool
	// cells are all of metrics.Classes, the NPU's class first.
	cells []int64
	// zeros are those of the histograms of |d| and |d|/|r|, nil in a row without details.
	zeros *[2]int64
}

// limitsJSON are Limits with their source in one text.
type limitsJSON struct {
	Atol   metrics.Metric `json:"atol"`
	Rtol   metrics.Metric `json:"rtol"`
	Source string         `json:"source"`
}

func limitsOf(l *Limits) limitsJSON {
	return limitsJSON{metrics.NumberOf(l.Atol), metrics.NumberOf(l.Rtol), l.Source()}
}

// limits are the limits that were written.
func (j *limitsJSON) limits() Limits {
	l := Limits{Atol: j.Atol.Value(), Rtol: j.Rtol.Value()}
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
	location
	Ref metrics.Value  `json:"ref"`
	NPU metrics.Value  `json:"npu"`
	Abs metrics.Metric `json:"abs"`
	Rel metrics.Metric `json:"rel"`
}

// digests are check sums: the CRC-32C of the elements as they are stored, and sums that do
// not depend on their order.
type digests struct {
	RefCRC hex32 `json:"ref_crc32c"`
	NPUCRC hex32 `json:"npu_crc32c"`
	RefSum hex64 `json:"ref_sum"`
	NPUSum hex64 `json:"npu_sum"`
}

// cosineZeros are the words for metrics.Zero: one or both where the cosine is a convention,
// none where it is not.
var cosineZeros = []string{metrics.NoneZero: "none", metrics.OneZero: "one", metrics.BothZero: "both"}

// MarshalJSON implements json.Marshaler. A row that passed is without its worst
// elements and the profiles of its axes.
func (r *Row) MarshalJSON() ([]byte, error) {
	return r.object().MarshalJSON()
}

func (r *Row) object() object {
	f := newForm()
	f.fill(r, r.Status != Pass)
	return f.members(false)
}

// newForm is the form of no row yet. Rows fill it in one after another: its members are where
// they were.
func newForm() *rowForm {
	return &rowForm{Row: new(Row), result: new(metrics.Result), classes: newClasses()}
}

// Detail is a row whose JSON has the worst elements and the profiles of the
// axes, whatever its status is.
type Detail struct{ *Row }

// MarshalJSON implements json.Marshaler.
func (d Detail) MarshalJSON() ([]byte, error) {
	f := newForm()
	f.fill(d.Row, true)
	return f.members(false).MarshalJSON()
}

// fillWhole fills in all that is known of a row.
func (f *rowForm) fillWhole(r *Row) {
	f.fill(r, true)
	f.limits, f.noShape = limitsOf(&r.Limits), r.Compared() && r.Shape == nil
	f.zeros = &[2]int64{f.result.AbsHistogram.Zeros, f.result.RelHistogram.Zeros}
	if r.Compared() {
		for _, cells := range f.result.Classes {
			f.cells = append(f.cells, cells[:]...)
		}
	}
}

// fill fills in what a row has in another form, in place of the row before.
func (f *rowForm) fill(r *Row, detail bool) {
	clear(f.classes)
	*f.Row, *f.result = *r, metrics.Result{}
	*f = rowForm{Row: f.Row, result: f.result, shape: r.Shape, metrics: metricsJSON{Result: r.Result}, classes: f.classes, pictures: picturesOf(r.Pictures), origin: r.IsOrigin()}
	if r.Err != nil {
		f.err = r.Err.Error()
	}
	if r.Judged() {
		f.statusLimits = &r.Pair.Status
	}
	if !slices.EqualFunc(r.Pair.Reasons, r.Reasons, finding.Finding.Equal) {
		f.reasonsLimits = (*finding.List)(&r.Pair.Reasons)
	}
	if r.Result == nil {
		return
	}
	*f.result = *r.Result
	f.putResult()
	if detail {
		for i := range r.Result.Worst {
			f.worst = append(f.worst, *f.element(&r.Result.Worst[i]))
		}
		f.axes = FoldAxes(r.Result.Axes)
		f.abs, f.rel = HalfOctavesOf(r.Result.AbsHistogram), HalfOctavesOf(r.Result.RelHistogram)
	}
}

// putResult fills in what a comparison found.
func (f *rowForm) putResult() {
	result, cells, strict := f.result, &f.result.HPAA, f.result.StrictErrors()
	if f.shape == nil {
		f.shape = tensor.Shape{}
	}
	f.limits = limitsOf(&f.Limits)
	f.total, f.errors, f.errorsStrict, f.errorsPolicy = &result.Total, &cells.Count, &strict, &f.Errors
	f.ratio, f.nonFinite = metrics.NumberOf(Share(cells.Count, result.Total)), &cells.NonFinite
	shown := result.Start
	if cells.First != nil {
		shown = cells.First
		f.firstError = f.locate(shown)
	}
	if shown != nil {
		f.refValue, f.npuValue = &shown.Ref, &shown.NPU
	}
	f.firstPolicy, f.firstStrict, f.last = f.element(f.First), f.element(FirstStrict(result)), f.element(lastStrict(result))
	f.classes.put(result)
	f.cosineZero = cosineZeros[min(result.CosineZero, metrics.BothZero)]
	f.digests = &digests{hex32(result.RefCRC), hex32(result.NPUCRC), hex64(result.RefSum), hex64(result.NPUSum)}
}

func (f *rowForm) locate(e *metrics.Element) *location {
	return &location{e.Offset, Coordinates(f.shape, e.Offset)}
}

// element is a pair of elements in JSON, nil if there is none.
func (f *rowForm) element(e *metrics.Element) *elementJSON {
	if e == nil {
		return nil
	}
	return &elementJSON{*f.locate(e), e.Ref, e.NPU, definedUnlessNaN(e.Abs), definedUnlessNaN(e.Rel)}
}

// element is the pair of elements that was written.
func (j *elementJSON) element() *metrics.Element {
	if j == nil {
		return nil
	}
	return &metrics.Element{Offset: j.Offset, Ref: j.Ref, NPU: j.NPU, Abs: j.Abs.OrNaN(), Rel: j.Rel.OrNaN()}
}

// newRow is the form of a row that is to be read.
func newRow() *rowForm {
	f := newForm()
	f.metrics.Result = f.result
	return f
}

// finish completes a row that was read.
func (f *rowForm) finish() error {
	if err := f.check(); err != nil {
		return err
	}
	r := f.Row
	r.Op = unique.Make(r.Op).Value() // many rounds have the same operators
	r.Shape, r.Pair = f.shape, Judged{r.Status, r.Reasons}
	if f.err != "" {
		r.Err = errors.New(f.err)
	}
	if f.statusLimits != nil {
		r.Pair.Status = *f.statusLimits
	}
	if f.reasonsLimits != nil {
		r.Pair.Reasons = *f.reasonsLimits
	}
	if f.zeros != nil || f.total != nil {
		r.Limits = f.limits.limits()
	}
	if f.total == nil {
		return nil
	}
	r.Result = f.result
	if err := f.takeResult(); err != nil {
		return err
	}
	if err := f.typeElements(); err != nil {
		return err
	}
	var err error
	r.Pictures, err = f.pictures.pictures(r.Result, len(f.shape))
	return err
}

// takeResult makes the result of a row that was compared.
func (f *rowForm) takeResult() (err error) {
	r, res := f.Row, f.result
	res.Total, res.RefDType, res.NPUDType, res.HPAA.Count = *f.total, r.RefDType, r.NPUDType, *f.errors
	res.Complex = r.RefDType.Host().Complex() || r.NPUDType.Host().Complex()
	if f.errorsPolicy != nil {
		r.Errors = *f.errorsPolicy
	}
	if err := f.classes.take(res); err != nil {
		return err
	}
	res.Beyond.Count = *f.errorsStrict - res.Mismatch.Count
	res.HPAA.NonFinite = f.nonFinite != nil && *f.nonFinite
	res.CosineZero = metrics.Zero(max(0, slices.Index(cosineZeros, f.cosineZero)))
	res.Axes = f.axes
	if res.AbsHistogram, err = f.abs.histogram(); err != nil {
		return lang.Errorf("abs_hist: %w", err)
	}
	if res.RelHistogram, err = f.rel.histogram(); err != nil {
		return lang.Errorf("rel_hist: %w", err)
	}
	if d := f.digests; d != nil {
		res.RefCRC, res.NPUCRC, res.RefSum, res.NPUSum = uint32(d.RefCRC), uint32(d.NPUCRC), uint64(d.RefSum), uint64(d.NPUSum)
	}
	r.First = f.firstPolicy.element()
	if len(f.worst) > 0 {
		res.Worst = make([]metrics.Element, len(f.worst))
	}
	for i := range f.worst {
		res.Worst[i] = *f.worst[i].element()
	}
	if f.zeros != nil {
		return f.takeDetails()
	}
	shown := &metrics.Element{Abs: math.NaN(), Rel: math.NaN()}
	if f.refValue != nil && f.npuValue != nil {
		shown.Ref, shown.NPU, res.Start = *f.refValue, *f.npuValue, shown
	}
	if f.firstError != nil {
		shown.Offset = f.firstError.Offset
		res.HPAA.First, res.Start = shown, nil
	}
	res.Beyond.First, res.Beyond.Last = f.firstStrict.element(), f.last.element()
	return nil
}

// takeDetails takes what a document has of rows of shards only; the elements are in the
// result already.
func (f *rowForm) takeDetails() error {
	res := f.result
	if len(f.cells) != len(res.Classes)*len(res.Classes) {
		return lang.Errorf("details.classes: %d classes of pairs, want %d", len(f.cells), len(res.Classes)*len(res.Classes))
	}
	for i, n := range f.cells {
		if n < 0 {
			return lang.Errorf("details.classes: %d pairs of a class", n)
		}
		res.Classes[i/len(res.Classes)][i%len(res.Classes)] = n
	}
	for _, offset := range res.ErrorOffsets {
		if offset < 0 || offset >= res.Total {
			return lang.Errorf("%s: offset %d, of %d elements", "details.offsets", offset, res.Total)
		}
	}
	res.AbsHistogram.Zeros, res.RelHistogram.Zeros = f.zeros[0], f.zeros[1]
	if f.noShape {
		f.Shape = nil
	}
	return nil
}

// typeElements gives the elements of a result that was read their types, and reports those
// that the tensors do not have.
func (f *rowForm) typeElements() error {
	r, res := f.Row, f.Row.Result
	type named struct {
		key string
		*metrics.Element
	}
	start, first, last, hpaa := "ref_value", "first_error_strict", "last_error_strict", "first_error"
	if f.zeros != nil {
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
		if e.Ref, err = e.Ref.As(r.RefDType); err != nil {
			return lang.Errorf("%s, dtype_ref: %w", e.key, err)
		}
		if e.NPU, err = e.NPU.As(r.NPUDType); err != nil {
			return lang.Errorf("%s, dtype_npu: %w", e.key, err)
		}
	}
	return nil
}

// optional is a text that is null where it is empty.
type optional string

// MarshalJSON implements json.Marshaler.
func (s optional) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// AppendJSON appends the text to JSON.
func (s optional) AppendJSON(b []byte) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return jsonpos.AppendText(b, string(s))
}

// dtypeName is an element type by its name, null where there is none. A name that is not
// known is read as none.
type dtypeName tensor.DType

// MarshalJSON implements json.Marshaler.
func (d dtypeName) MarshalJSON() ([]byte, error) { return d.AppendJSON(nil), nil }

// AppendJSON appends the name to JSON.
func (d dtypeName) AppendJSON(b []byte) []byte {
	if tensor.DType(d) == tensor.Undefined {
		return append(b, "null"...)
	}
	return jsonpos.AppendText(b, tensor.DType(d).String())
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *dtypeName) UnmarshalText(name []byte) error {
	known, _ := tensor.ParseDType(string(name))
	*d = dtypeName(known)
	return nil
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
