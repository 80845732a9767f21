package record

import (
	"math"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/lang"
)

// picturesJSON are the pictures of a row in compare.json. Lists of bytes are in
// base64.
type picturesJSON struct {
	// Sampled is the number of elements that values, joint and ulp are of, Every that of
	// errors of which diff_hist has one: both are left out where they are of all.
	Sampled int64           `json:"sampled,omitempty"`
	Every   int64           `json:"every,omitempty"`
	Values  sidesJSON       `json:"values"`
	Joint   *densityJSON    `json:"joint"`
	Maps    []metrics.Map   `json:"maps"`
	ULP     []int64         `json:"ulp"`
	Window  *metrics.Window `json:"window,omitempty"`
	Diff    errorBinsJSON   `json:"diff_hist"`
	// Errors is null but for rows with plots.
	Errors *sampleJSON `json:"errors"`
}

// sidesJSON are the values of both sides in bins of one width.
type sidesJSON struct {
	gridJSON
	Ref []int64 `json:"ref"`
	NPU []int64 `json:"npu"`
	// Inner is a narrow range with nearly all values, null where there is none.
	Inner *sidesJSON `json:"inner"`
}

// gridJSON are the outer edges of bins, null where there are none.
type gridJSON struct {
	Low  metrics.Metric `json:"lo"`
	High metrics.Metric `json:"hi"`
}

// densityJSON are pairs by the values of both sides.
type densityJSON struct {
	gridJSON
	Bins  int    `json:"n"`
	Max   int64  `json:"max"`
	Cells []byte `json:"cells"`
	// Inner is that of the narrow range.
	Inner *densityJSON `json:"inner"`
}

// errorBinsJSON are the error elements by |d| and by |d|/|r|.
type errorBinsJSON struct {
	Abs binsJSON `json:"abs"`
	Rel binsJSON `json:"rel"`
}

type binsJSON struct {
	gridJSON
	Log    bool    `json:"log"`
	Counts []int64 `json:"counts"`
}

// sampleJSON are sampled errors, and those that are not finite by runs of elements.
type sampleJSON struct {
	Every     int64  `json:"every"`
	Undefined int64  `json:"undefined"`
	Offsets   []byte `json:"offsets"`
	Abs       []byte `json:"abs"`
	Rel       []byte `json:"rel"`
	NonFinite int64  `json:"non_finite"`
	RunLength int64  `json:"run_length"`
	Runs      []byte `json:"runs"` // a bit each, the lowest first
}

func gridOf(g metrics.Grid) gridJSON {
	if g.Count == 0 {
		return gridJSON{}
	}
	return gridJSON{metrics.NumberOf(g.Low), metrics.NumberOf(g.High)}
}

func sidesOf(s *metrics.SideBins) *sidesJSON {
	if s == nil {
		return nil
	}
	return &sidesJSON{gridJSON: gridOf(s.Grid), Ref: list(s.Ref), NPU: list(s.NPU)}
}

func densityOf(d *metrics.Density) *densityJSON {
	if d == nil || d.Count == 0 {
		return nil
	}
	return &densityJSON{gridJSON: gridJSON{metrics.NumberOf(d.Low), metrics.NumberOf(d.High)}, Bins: d.Count, Max: d.Max, Cells: d.Cells}
}

func binsOf(b *metrics.Bins) binsJSON {
	return binsJSON{gridOf(b.Grid), b.Log, list(b.Counts)}
}

// picturesOf are pictures in JSON.
func picturesOf(p *metrics.Pictures) *picturesJSON {
	if p == nil {
		return nil
	}
	j := &picturesJSON{Values: *sidesOf(&p.Values), Joint: densityOf(&p.Joint), Maps: list(p.Maps), ULP: list(p.ULP), Window: p.Window, Diff: errorBinsJSON{binsOf(&p.Abs), binsOf(&p.Rel)}}
	if p.OfSample > 0 {
		j.Sampled, j.Every = p.OfSample, p.Every
	}
	j.Values.Inner = sidesOf(p.Inner)
	if j.Joint != nil {
		j.Joint.Inner = densityOf(p.InnerJoint)
	}
	if s := p.Packed; s != nil {
		j.Errors = &sampleJSON{Every: p.Every, Undefined: p.Undefined, Offsets: list(s.Offsets), Abs: list(s.Abs), Rel: list(s.Rel),
			NonFinite: p.NonFiniteErrors, RunLength: p.RunLength, Runs: make([]byte, metrics.Marks/8)}
		for i, marked := range p.NonFinite {
			if marked {
				j.Errors.Runs[i/8] |= 1 << (i % 8)
			}
		}
	}
	return j
}

// maxBins is the most bins of a histogram in a document.
const maxBins = 1000

// pictures are the pictures that were written, of a row with a result.
func (j *picturesJSON) pictures(r *metrics.Result, axes int) (*metrics.Pictures, error) {
	if j == nil {
		return nil, nil
	}
	d := pictureReader{total: r.Total}
	p := &metrics.Pictures{Total: r.Total, Errors: r.HPAA.Count, OfSample: j.Sampled, Every: max(j.Every, 1), ULP: j.ULP, Maps: j.Maps, Window: j.Window,
		RefStats: sideOf(r, func(c *metrics.Classes, class metrics.Class) (n int64) {
			return sumOf(c[0][class], c[1][class], c[2][class], c[3][class])
		}),
		NPUStats: sideOf(r, func(c *metrics.Classes, class metrics.Class) (n int64) { return sumOf(c[class][:]...) })}
	p.Values = d.sides("values", &j.Values)
	p.Abs, p.Rel = d.bins("diff_hist.abs", &j.Diff.Abs), d.bins("diff_hist.rel", &j.Diff.Rel)
	if x := j.Values.Inner; x != nil {
		inner := d.sides("values.inner", x)
		p.Inner = &inner
	}
	if x := j.Joint; x != nil {
		p.Joint = d.density("joint", x)
		if x.Inner != nil {
			inner := d.density("joint.inner", x.Inner)
			p.InnerJoint = &inner
		}
	}
	if j.Sampled < 0 || j.Sampled > r.Total || j.Every < 0 || (j.Sampled == 0) != (j.Every == 0) {
		d.fail("sampled: %d of %d elements, every %d: want both or none", j.Sampled, r.Total, j.Every)
	}
	d.counts("ulp", metrics.ULPOctaves, j.ULP)
	if len(j.Maps) > 2 {
		d.fail("maps: %d of them, want at most 2", len(j.Maps))
	}
	for i := range j.Maps {
		d.checkMap(&j.Maps[i], axes)
	}
	if j.Window != nil {
		d.checkWindow(j.Window, axes)
	}
	if j.Errors != nil {
		d.sample(j.Errors, p)
	}
	return p, d.err
}

// sideOf are the numbers of elements of a side that are not finite.
func sideOf(r *metrics.Result, of func(c *metrics.Classes, class metrics.Class) int64) metrics.SideStats {
	return metrics.SideStats{NaN: of(&r.Classes, metrics.NaN), PosInf: of(&r.Classes, metrics.PosInf), NegInf: of(&r.Classes, metrics.NegInf)}
}

func sumOf(all ...int64) (sum int64) {
	for _, n := range all {
		sum += n
	}
	return sum
}

// pictureReader checks pictures, and keeps the first error.
type pictureReader struct {
	total int64
	err   error
}

func (d *pictureReader) fail(format string, args ...any) {
	if d.err == nil {
		d.err = lang.Errorf("pictures.%w", lang.Errorf(format, args...))
	}
}

// counts checks numbers of elements, of which there are at most some.
func (d *pictureReader) counts(name string, most int, all []int64) {
	if len(all) > most {
		d.fail("%s: %d counts, want at most %d", name, len(all), most)
	}
	for _, n := range all {
		if n < 0 {
			d.fail("%s: a count of %d", name, n)
		}
	}
}

// grid reads the grid of some bins.
func (d *pictureReader) grid(name string, j gridJSON, count int) metrics.Grid {
	if count == 0 {
		return metrics.Grid{}
	}
	low, high := j.Low.OrNaN(), j.High.OrNaN()
	if !(low <= high) || math.IsInf(low, 0) || math.IsInf(high, 0) || low == high && count > 1 {
		d.fail("%s: %d bins from %s to %s", name, count, j.Low, j.High)
	}
	return metrics.Grid{Low: low, High: high, Count: count}
}

func (d *pictureReader) sides(name string, j *sidesJSON) metrics.SideBins {
	d.counts(name+".ref", maxBins, j.Ref)
	d.counts(name+".npu", maxBins, j.NPU)
	if len(j.Ref) != len(j.NPU) {
		d.fail("%s: %d bins of the reference and %d of the NPU", name, len(j.Ref), len(j.NPU))
	}
	return metrics.SideBins{Grid: d.grid(name, j.gridJSON, len(j.Ref)), Ref: j.Ref, NPU: j.NPU}
}

func (d *pictureReader) bins(name string, j *binsJSON) metrics.Bins {
	d.counts(name, maxBins, j.Counts)
	g := d.grid(name, j.gridJSON, len(j.Counts))
	g.Log = j.Log
	if len(j.Counts) > 0 && (g.Low < 0 || g.Log && g.Low == 0) {
		d.fail("%s: errors from %s on", name, j.Low)
	}
	return metrics.Bins{Grid: g, Counts: j.Counts}
}

func (d *pictureReader) density(name string, j *densityJSON) metrics.Density {
	if j.Bins < 1 || j.Bins > metrics.DensityBins || len(j.Cells) != j.Bins*j.Bins {
		d.fail("%s: %d cells of %d bins, want at most %d bins", name, len(j.Cells), j.Bins, metrics.DensityBins)
		return metrics.Density{}
	}
	g := d.grid(name, j.gridJSON, j.Bins)
	return metrics.Density{Low: g.Low, High: g.High, Count: j.Bins, Max: j.Max, Cells: j.Cells}
}

func (d *pictureReader) checkMap(j *metrics.Map, axes int) {
	switch {
	case j.RowAxis < 0 || j.RowAxis >= axes || j.ColumnAxis < j.RowAxis || j.ColumnAxis >= axes:
		d.fail("maps: axes %d and %d of %d", j.RowAxis, j.ColumnAxis, axes)
	case j.Rows < 1 || j.Rows > metrics.MapRows || j.Columns < 1 || j.Columns > metrics.MapColumns:
		d.fail("maps: %d rows and %d columns, want at most %d and %d", j.Rows, j.Columns, metrics.MapRows, metrics.MapColumns)
	case len(j.Mean) != j.Rows*j.Columns || len(j.Errors) != j.Rows*j.Columns:
		d.fail("maps: %d and %d cells, want %d", len(j.Mean), len(j.Errors), j.Rows*j.Columns)
	case j.RowFold < 1 || j.ColumnFold < 1:
		d.fail("maps: cells of %d and %d positions", j.RowFold, j.ColumnFold)
	case !(j.LogLow <= j.LogHigh):
		d.fail("maps: log10 of means from %g to %g", j.LogLow, j.LogHigh)
	}
}

func (d *pictureReader) checkWindow(j *metrics.Window, axes int) {
	least, most := j.Rows*j.Columns, j.Rows*j.Columns
	if j.RowAxis == j.ColumnAxis { // the last line may be shorter
		least -= j.Columns - 1
	}
	switch {
	case j.RowAxis < 0 || j.ColumnAxis < j.RowAxis || j.ColumnAxis >= max(axes, 1):
		d.fail("window: axes %d and %d of %d", j.RowAxis, j.ColumnAxis, axes)
	case min(j.Rows, j.Columns) < 1 || max(j.Rows, j.Columns) > metrics.WindowSize:
		d.fail("window: %d rows and %d columns, want 1 to %d", j.Rows, j.Columns, metrics.WindowSize)
	case len(j.Ref) < least || len(j.Ref) > most || len(j.NPU) != len(j.Ref):
		d.fail("window: %d values of the reference and %d of the NPU, want %d", len(j.Ref), len(j.NPU), most)
	}
}

func (d *pictureReader) sample(j *sampleJSON, p *metrics.Pictures) {
	if j.Every < 1 || j.RunLength < 1 || len(j.Runs) != metrics.Marks/8 {
		d.fail("errors: every %d, runs of %d elements in %d bytes", j.Every, j.RunLength, len(j.Runs))
		return
	}
	p.Packed = &metrics.ErrorSample{Offsets: j.Offsets, Abs: j.Abs, Rel: j.Rel}
	if _, err := p.Packed.Unpack(d.total); err != nil {
		d.fail("errors: %v", err)
	}
	p.Every, p.Undefined, p.NonFiniteErrors, p.RunLength = j.Every, j.Undefined, j.NonFinite, j.RunLength
	p.NonFinite = make([]bool, metrics.Marks)
	for i := range p.NonFinite {
		p.NonFinite[i] = j.Runs[i/8]>>(i%8)&1 == 1
	}
}

// list is a copy of a list that is never nil.
func list[T any](all []T) []T { return append(make([]T, 0, len(all)), all...) }

// foldedBins is the most bins of an axis in a report.
const foldedBins = 64

// FoldAxes adds up runs of bins of axes that have more than a report shows.
func FoldAxes(axes []metrics.AxisProfile) []metrics.AxisProfile {
	var folded []metrics.AxisProfile
	for i := range axes {
		folded = append(folded, foldAxis(&axes[i]))
	}
	return folded
}

// foldAxis adds up runs of bins of an axis.
func foldAxis(a *metrics.AxisProfile) metrics.AxisProfile {
	run := (len(a.Bins) + foldedBins - 1) / foldedBins
	if run <= 1 {
		return *a
	}
	f := metrics.AxisProfile{Axis: a.Axis, Size: a.Size, Fold: a.Fold * int64(run), Bins: make([]metrics.AxisBin, 0, (len(a.Bins)+run-1)/run)}
	for i, bin := range a.Bins {
		if i%run == 0 {
			f.Bins = append(f.Bins, metrics.AxisBin{})
		}
		sum := &f.Bins[len(f.Bins)-1]
		sum.Count += bin.Count
		sum.Errors += bin.Errors
		sum.SumAbs += bin.SumAbs
		sum.SumRel += bin.SumRel
	}
	return f
}

// HalfOctaves are magnitudes in bins of half an octave: those that are 0, and the
// counts from bin First on; bin k holds magnitudes from 2^(k/2) up to 2^((k+1)/2),
// cut linearly inside the octave.
type HalfOctaves struct {
	Zeros  int64   `json:"zeros"`
	First  int32   `json:"first"`
	Counts []int64 `json:"counts"`
}

// The bins of a histogram of a result, of which four are one in compare.json.
const (
	joinedBins = 4
	// The bins of the smallest float64, and what is behind that of infinity, which the
	// ratio of two numbers may be.
	firstHalfOctave, lastHalfOctave = -2 * 1075, 2*1024 + 1
)

// FoldHistogram joins the bins of an octave to two.
func FoldHistogram(h metrics.Histogram) metrics.Histogram {
	if len(h.Bins) == 0 {
		return metrics.Histogram{Zeros: h.Zeros}
	}
	span := (h.Bins[len(h.Bins)-1].Bin-h.Bins[0].Bin)/joinedBins + 2
	bins := make([]metrics.HistogramBin, 0, min(len(h.Bins), int(span)))
	for _, b := range h.Bins {
		k := b.Bin &^ (joinedBins - 1)
		if n := len(bins); n > 0 && bins[n-1].Bin == k {
			bins[n-1].Count += b.Count
			continue
		}
		bins = append(bins, metrics.HistogramBin{Bin: k, Count: b.Count})
	}
	return metrics.Histogram{Zeros: h.Zeros, Bins: bins}
}

// HalfOctavesOf folds a histogram, nil where the result is without.
func HalfOctavesOf(h metrics.Histogram) *HalfOctaves {
	if len(h.Bins) == 0 {
		return nil
	}
	h = FoldHistogram(h)
	first, last := h.Bins[0].Bin/joinedBins, h.Bins[len(h.Bins)-1].Bin/joinedBins
	j := &HalfOctaves{Zeros: h.Zeros, First: first, Counts: make([]int64, last-first+1)}
	for _, b := range h.Bins {
		j.Counts[b.Bin/joinedBins-first] = b.Count
	}
	return j
}

// histogram is the histogram that was folded.
func (j *HalfOctaves) histogram() (h metrics.Histogram, err error) {
	if j == nil {
		return h, nil
	}
	if j.First < firstHalfOctave || len(j.Counts) > lastHalfOctave-firstHalfOctave || int(j.First)+len(j.Counts) > lastHalfOctave {
		return h, lang.Errorf("histogram: %d bins from %d on", len(j.Counts), j.First)
	}
	h.Zeros = j.Zeros
	bins := 0
	for _, n := range j.Counts {
		if n > 0 {
			bins++
		}
	}
	if bins > 0 {
		h.Bins = make([]metrics.HistogramBin, 0, bins)
	}
	for i, n := range j.Counts {
		if n > 0 {
			h.Bins = append(h.Bins, metrics.HistogramBin{Bin: joinedBins * (j.First + int32(i)), Count: n})
		}
	}
	return h, nil
}
