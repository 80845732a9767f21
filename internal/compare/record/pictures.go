package record

import (
	"math"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
)

// maxBins is the largest number of bins of a histogram in a document.
const maxBins = 1000

// completePictures checks pictures that were read, and sets the fields that copy the result of the row.
func completePictures(p *metrics.Pictures, r *metrics.Result, axes int) error {
	if p == nil {
		return nil
	}
	p.Total, p.Errors = r.Total, r.HPAA.Count
	p.RefStats = sideOf(r, func(c *metrics.Classes, class metrics.Class) (n int64) {
		return sumOf(c[0][class], c[1][class], c[2][class], c[3][class])
	})
	p.NPUStats = sideOf(r, func(c *metrics.Classes, class metrics.Class) (n int64) { return sumOf(c[class][:]...) })
	d := pictureReader{total: r.Total}
	d.checkSides("values", &p.Values)
	d.checkBins("diff_hist.abs", &p.Diff.Abs)
	d.checkBins("diff_hist.rel", &p.Diff.Rel)
	if p.Values.Inner != nil {
		d.checkSides("values.inner", p.Values.Inner)
	}
	if p.Joint != nil {
		d.checkDensity("joint", p.Joint)
		if p.Joint.Inner != nil {
			d.checkDensity("joint.inner", p.Joint.Inner)
		}
	}
	if p.OfSample < 0 || p.OfSample > r.Total || p.Every < 0 || (p.OfSample == 0) != (p.Every == 0) {
		d.fail("sampled: %d of %d elements, every %d: want both or none", p.OfSample, r.Total, p.Every)
	}
	d.checkCounts("ulp", metrics.ULPOctaves, p.ULP)
	if len(p.Maps) > 2 {
		d.fail("maps: %d of them, want at most 2", len(p.Maps))
	}
	for i := range p.Maps {
		d.checkMap(&p.Maps[i], axes)
	}
	if p.Window != nil {
		d.checkWindow(p.Window, axes)
	}
	if p.Sample != nil {
		d.checkSample(p.Sample)
	}
	return d.err
}

// sideOf returns the numbers of non-finite elements of a side.
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

// checkCounts checks the length of a list of counts, and the counts.
func (d *pictureReader) checkCounts(name string, most int, all []int64) {
	if len(all) > most {
		d.fail("%s: %d counts, want at most %d", name, len(all), most)
	}
	for _, n := range all {
		if n < 0 {
			d.fail("%s: a count of %d", name, n)
		}
	}
}

func (d *pictureReader) checkEdges(name string, e metrics.Edges, count int) {
	low, high := e.Low.OrNaN(), e.High.OrNaN()
	if count > 0 && (!(low <= high) || math.IsInf(low, 0) || math.IsInf(high, 0) || low == high && count > 1) {
		d.fail("%s: %d bins from %s to %s", name, count, e.Low, e.High)
	}
}

func (d *pictureReader) checkSides(name string, s *metrics.SideBins) {
	d.checkCounts(name+".ref", maxBins, s.Ref)
	d.checkCounts(name+".npu", maxBins, s.NPU)
	if len(s.Ref) != len(s.NPU) {
		d.fail("%s: %d bins of the reference and %d of the NPU", name, len(s.Ref), len(s.NPU))
	}
	d.checkEdges(name, s.Edges, len(s.Ref))
}

func (d *pictureReader) checkBins(name string, b *metrics.Bins) {
	d.checkCounts(name, maxBins, b.Counts)
	d.checkEdges(name, b.Edges, len(b.Counts))
	if low := b.Low.Value(); len(b.Counts) > 0 && (low < 0 || b.Log && low == 0) {
		d.fail("%s: errors from %s on", name, b.Low)
	}
}

func (d *pictureReader) checkDensity(name string, j *metrics.Density) {
	if j.Count < 1 || j.Count > metrics.DensityBins || len(j.Cells) != j.Count*j.Count {
		d.fail("%s: %d cells of %d bins, want at most %d bins", name, len(j.Cells), j.Count, metrics.DensityBins)
	}
	d.checkEdges(name, j.Edges, j.Count)
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

func (d *pictureReader) checkSample(s *metrics.ErrorSample) {
	if s.Every < 1 || s.RunLength < 1 || len(s.NonFinite) != metrics.Marks/8 {
		d.fail("errors: every %d, runs of %d elements in %d bytes", s.Every, s.RunLength, len(s.NonFinite))
	}
	if _, err := s.Unpack(d.total); err != nil {
		d.fail("errors: %v", err)
	}
}

// copyList returns a copy of a list; the copy is never nil.
func copyList[T any](all []T) []T { return append(make([]T, 0, len(all)), all...) }

// foldedBins is the largest number of bins of an axis in a report.
const foldedBins = 64

// FoldAxes merges successive bins of axes that have more bins than a report shows.
func FoldAxes(axes []metrics.AxisProfile) []metrics.AxisProfile {
	var folded []metrics.AxisProfile
	for _, a := range axes {
		if run := (len(a.Bins) + foldedBins - 1) / foldedBins; run > 1 {
			bins := make([]metrics.AxisBin, (len(a.Bins)+run-1)/run)
			for i, bin := range a.Bins {
				sum := &bins[i/run]
				sum.Count += bin.Count
				sum.Errors += bin.Errors
				sum.SumAbs += bin.SumAbs
				sum.SumRel += bin.SumRel
			}
			a.Fold, a.Bins = a.Fold*int64(run), bins
		}
		folded = append(folded, a)
	}
	return folded
}

// HalfOctaves is a histogram of magnitudes with two bins per octave. Zeros counts the zeros, Counts the bins from
// First on. Bin k starts at 2^(k>>1) * (1 + (k&1)/2).
type HalfOctaves struct {
	Zeros  int64   `json:"zeros"`
	First  int32   `json:"first"`
	Counts []int64 `json:"counts"`
}

// joinedBins is the number of bins of a result's histogram that form a bin in compare.json.
const (
	joinedBins = 4
	// firstHalfOctave is the bin of the smallest float64. lastHalfOctave is the bin after infinity, which the ratio
	// of two numbers may be.
	firstHalfOctave, lastHalfOctave = -2 * 1075, 2*1024 + 1
)

// FoldHistogram merges the bins of each octave to two.
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

// HalfOctavesOf folds a histogram, nil without bins.
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

// histogram returns the folded histogram.
func (j *HalfOctaves) histogram() (h metrics.Histogram, err error) {
	if j == nil {
		return h, nil
	}
	if j.First < firstHalfOctave || len(j.Counts) > lastHalfOctave-firstHalfOctave || int(j.First)+len(j.Counts) > lastHalfOctave {
		return h, lang.Errorf("histogram: %d bins from %d on", len(j.Counts), j.First)
	}
	h.Zeros = j.Zeros
	bins := lists.Count(j.Counts, func(n int64) bool { return n > 0 })
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
