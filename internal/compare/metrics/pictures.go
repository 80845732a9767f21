package metrics

import (
	"cmp"
	"context"
	"math"
	"slices"

	"dumptool/internal/compare/metrics/noise"
)

const (
	// maxSampledErrors is the maximum number of sampled errors; the worst worstSampled by |d|
	// and by |d|/|r| come on top. maxPoints is the maximum number of values from which
	// quartiles are computed. A pair needs less than half a MiB.
	maxSampledErrors, worstSampled, maxPoints = 12000, 64, 4096
	// Marks is the number of runs of elements in ErrorSample.NonFinite.
	Marks = 1024
)

// Pictures holds the data of the plots of a pair, as in compare.json, where lists of bytes are in
// base64. An error is, as in HPAA's table, an element beyond the limits after HPAA's replacement
// of non-finite values.
type Pictures struct {
	// Total is the number of elements, Errors the number of errors; RefStats and NPUStats are
	// copies of Result.Ref and Result.NPU. The result of the row has these in compare.json.
	Total    int64     `json:"-"`
	Errors   int64     `json:"-"`
	RefStats SideStats `json:"-"`
	NPUStats SideStats `json:"-"`
	// OfSample is the number of elements that were counted for Values, Joint and ULP, and Diff
	// counts every Every-th error. Both are 0 if all were counted.
	OfSample int64 `json:"sampled,omitempty"`
	Every    int64 `json:"every,omitempty"`
	// Values counts the finite elements of both sides.
	Values SideBins `json:"values"`
	// Joint counts the pairs that are finite on both sides by both values; nil without values.
	Joint *Density `json:"joint"`
	// Maps show the differences over the last two axes, and over the third-last and the
	// second-last; axes of one position are left out.
	Maps []Map `json:"maps"`
	// ULP counts these pairs by their distance in ulps of the NPU's type: element 0 counts
	// distance 0, then follow 1, 2 to 3, 4 to 7 and so on.
	ULP []int64 `json:"ulp"`
	// Window has the values around the largest difference, nil for a tensor without elements.
	Window *Window   `json:"window,omitempty"`
	Diff   ErrorBins `json:"diff_hist"`
	// Sample is nil in documents without plots.
	Sample *ErrorSample `json:"errors"`
}

// SampledError is an error: its offset in C order, |d|, and |d|/|r|, which is NaN
// where r is 0.
type SampledError struct {
	Offset   int64
	Abs, Rel float64
}

// Keep packs the sampled errors if errors is true, and drops them otherwise.
func (p *Pictures) Keep(errors bool) {
	if !errors {
		p.Sample = nil
		return
	}
	p.Sample.pack()
}

// Edges are the outer edges of bins, undefined if there are no bins.
type Edges struct {
	Low  Metric `json:"lo"`
	High Metric `json:"hi"`
}

// Edges returns the outer edges of the grid.
func (g *Grid) Edges() Edges {
	return Edges{NumberIf(g.Low, g.Count > 0), NumberIf(g.High, g.Count > 0)}
}

// ErrorBins counts the finite errors by |d| and by |d|/|r|.
type ErrorBins struct {
	Abs Bins `json:"abs"`
	Rel Bins `json:"rel"`
}

// Bins are counts of values in a grid.
type Bins struct {
	Edges
	Log    bool    `json:"log"`
	Counts []int64 `json:"counts"`
}

// NewBins returns empty bins.
func NewBins(g Grid) Bins { return Bins{g.Edges(), g.Log, make([]int64, g.Count)} }

// Grid returns the grid of the bins.
func (b *Bins) Grid() Grid { return Grid{b.Low.Value(), b.High.Value(), b.Log, len(b.Counts)} }

// SideBins are counts of the values of both sides in one grid.
type SideBins struct {
	Edges
	Ref []int64 `json:"ref"`
	NPU []int64 `json:"npu"`
	// Inner counts the values in a narrow range that holds nearly all values; nil if the values fill
	// the whole range.
	Inner *SideBins `json:"inner"`
}

// NewSideBins returns empty bins.
func NewSideBins(g Grid) SideBins {
	return SideBins{Edges: g.Edges(), Ref: make([]int64, g.Count), NPU: make([]int64, g.Count)}
}

// Grid returns the grid of the bins.
func (s *SideBins) Grid() Grid {
	return Grid{Low: s.Low.Value(), High: s.High.Value(), Count: len(s.Ref)}
}

// PictureRequest has the options of pictures: the limits of the number of bins, and whether
// the histograms of a large tensor may be computed from the sample of noise.Strata.
type PictureRequest struct {
	Bins   BinLimits
	Sample bool
}

// Pictures computes the data of the plots of a pair. It reads both tensors twice: the first
// pass finds ranges and samples, from which the bins of the second pass are chosen. res is the
// result of the pair; its lists may be missing.
func (p *Pool) Pictures(ctx context.Context, req Request, res *Result, how PictureRequest, ref, npu Reader) (*Pictures, error) {
	req.Noise = nil
	e, err := p.New(req)
	if err != nil {
		return nil, err
	}
	g := newGatherer(e, res)
	if how.Sample {
		if g.strata = noise.NewStrata(e.total); !g.strata.IsComplete() {
			g.OfSample, g.Every = noise.SampleElements, g.Sample.Every
		}
	}
	if err := e.walk(ctx, ref, npu, Range{0, e.total}.runs(e.readElements), g.surveyBlock); err != nil {
		return nil, err
	}
	g.chooseBins(how.Bins)
	if err := e.walk(ctx, ref, npu, g.strata.Runs(e.total, e.readElements), g.countBlock); err != nil {
		return nil, err
	}
	return g.buildPictures(), nil
}

// gatherer computes the pictures of a pair.
type gatherer struct {
	*Pictures
	strata             noise.Strata // the blocks that are counted
	values, inner      *sideCounter
	abs, rel           *binner
	maps               []*mapper
	points             []float64 // finite values of both sides
	every              int64     // distance of the sampled elements behind points
	finite, next       int64     // number of errors finite on both sides so far; index of the next one to sample
	counted            int64     // number of errors behind Abs and Rel
	bounds, ratios     bounds    // of |d| and |d|/|r| of the counted errors
	worst, worstRatios ranking
	found              foundErrors // of the current block
	special            []int32     // positions of its pairs with a non-finite side
	nonFiniteErrors    []int64     // offsets of special pairs that are errors
	column             []float64
}

// foundErrors are the errors of a block that are finite on both sides: positions, |d|, and
// |d|/|r|, which is NaN if r is 0.
type foundErrors struct {
	count    int
	at       [blockElements]int32
	abs, rel [blockElements]float64
}

func newGatherer(e *Engine, res *Result) *gatherer {
	p := &Pictures{
		Total: e.total, Errors: res.HPAA.Count, RefStats: res.Ref, NPUStats: res.NPU, Maps: []Map{}, ULP: []int64{},
		Sample: &ErrorSample{
			Every: max((res.HPAA.Count+maxSampledErrors-1)/maxSampledErrors, 1), RunLength: max((e.total+Marks-1)/Marks, 1), NonFinite: make([]byte, Marks/8),
			Errors: make([]SampledError, 0, min(res.HPAA.Count, maxSampledErrors)),
		},
	}
	g := &gatherer{
		Pictures: p, every: max((2*e.total+maxPoints-1)/maxPoints, 1),
		worst: ranking{limit: worstSampled}, worstRatios: ranking{limit: worstSampled},
		maps: newMappers(e.request.Shape, e.total),
	}
	p.Window = newWindow(e.request.Shape, e.total, worstPlace(res))
	if e.total > 0 {
		p.ULP = make([]int64, ULPOctaves)
	}
	return g
}

// worstPlace returns the offset of the largest difference, 0 if nothing differs.
func worstPlace(res *Result) int64 {
	switch {
	case len(res.Worst) > 0:
		return res.Worst[0].Offset
	case res.MaxAbs.IsDefined():
		return res.MaxAbs.Offset
	}
	return 0
}

// surveyBlock adds a block to the samples and bounds.
func (g *gatherer) surveyBlock(b *block) {
	for at := (b.first + g.every - 1) / g.every * g.every; at < b.first+int64(b.count); at += g.every {
		for _, x := range []float64{b.r.values[at-b.first], b.n.values[at-b.first]} {
			if ClassOf(x) == Finite {
				g.points = append(g.points, x)
			}
		}
	}
	g.Window.add(b)
	g.findDifferences(b)
	g.addMaps(b)
	if g.strata.HasBlock(b.first) {
		b.countULP(g.ULP, g.special)
	}
	for _, offset := range g.nonFiniteErrors {
		g.Sample.addNonFinite(offset)
	}
	f := &g.found
	abs, rel := f.abs[:f.count], f.rel[:f.count]
	sample := func(k int) SampledError { return SampledError{b.first + int64(f.at[k]), abs[k], rel[k]} }
	for ; g.next < g.finite+int64(len(abs)) && len(g.Sample.Errors) < maxSampledErrors; g.next += g.Sample.Every {
		g.Sample.Errors = append(g.Sample.Errors, sample(int(g.next-g.finite)))
	}
	g.finite += int64(len(abs))
	if g.OfSample == 0 {
		g.bound(abs, rel)
		g.worst.addErrors(abs, sample)
		g.worstRatios.addErrors(rel, sample)
	}
}

// bound adds errors to the bounds and counts of Abs and Rel.
func (g *gatherer) bound(abs, rel []float64) {
	g.counted += int64(len(abs))
	g.bounds.span(abs)
	g.Sample.Undefined += g.ratios.span(rel)
}

// eachSampled calls visit with |d| and |d|/|r| of the sampled errors, a chunk at a time.
func (g *gatherer) eachSampled(visit func(abs, rel []float64)) {
	f := &g.found
	for errors := range slices.Chunk(g.Sample.Errors, blockElements) {
		for i, x := range errors {
			f.abs[i], f.rel[i] = x.Abs, x.Rel
		}
		visit(f.abs[:len(errors)], f.rel[:len(errors)])
	}
}

// span adds values to the bounds, and returns the number of NaN.
func (b *bounds) span(values []float64) (undefined int64) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, x := range values {
		if x < low {
			low = x
		}
		if x > high {
			high = x
		}
		if x != x {
			undefined++
		}
	}
	if low <= high {
		b.add(low, high)
	}
	return undefined
}

// addErrors adds errors by their scores.
func (r *ranking) addErrors(scores []float64, of func(k int) SampledError) {
	for k, score := range scores {
		if score >= r.floor {
			x := of(k)
			r.add(score, location{offset: x.Offset, abs: x.Abs, rel: x.Rel})
		}
	}
}

// findDifferences computes differences and errors of a block. Pairs with a non-finite side are
// treated as equal.
func (g *gatherer) findDifferences(b *block) {
	g.nonFiniteErrors, g.special = g.nonFiniteErrors[:0], g.special[:0]
	b.failed = true // errors come in runs: also flag them in the next block
	if !b.e.direct {
		b.subtract()
	}
	if b.n.span.Special || b.r.span.Special {
		g.zeroNonFinite(b)
	}
	b.computeDifferences()
	flags, f := b.flags[:b.count], &g.found
	switch f.count = 0; {
	case b.equal:
		clear(flags)
	case !b.marked || b.extent.maxAbs > math.MaxFloat64:
		b.errors.Count = 0
		for i, abs := range b.abs {
			if flags[i] = 0; !b.e.request.Limits.Passes(abs, math.Abs(b.r.values[i])) {
				flags[i] = beyondError
				b.errors.Count++
			}
		}
	}
	if b.errors.Count == 0 {
		return
	}
	abs, rel := b.abs[:len(flags)], b.rel[:len(flags)]
	k := 0
	for i, flag := range flags {
		at := k & (blockElements - 1) // k < blockElements: the mask removes bounds checks
		f.at[at], f.abs[at], f.rel[at] = int32(i), abs[i], rel[i]
		k += int(flag & beyondError)
	}
	f.count = k
	for k, i := range f.at[:k] {
		if !b.extent.undefined {
			break
		}
		if b.r.values[i] == 0 {
			f.rel[k] = math.NaN()
		}
	}
}

// zeroNonFinite finds the pairs with a non-finite side and sets their values to 0.
func (g *gatherer) zeroNonFinite(b *block) {
	for i := range b.count {
		if !b.e.complex && ClassOf(b.n.values[i]) == Finite && ClassOf(b.r.values[i]) == Finite {
			continue
		}
		cn, cr := b.classes(i)
		if cn == Finite && cr == Finite {
			continue
		}
		g.special = append(g.special, int32(i))
		n, r := b.e.replacement(b.n.values[i]), b.e.replacement(b.r.values[i]) // as HPAA does
		if cn != cr || !b.e.complex && !b.e.request.Limits.Passes(math.Abs(n-r), math.Abs(r)) {
			g.nonFiniteErrors = append(g.nonFiniteErrors, b.first+int64(i))
		}
		b.abs[i], b.n.values[i], b.r.values[i] = 0, 0, 0
	}
	b.n.truncate(b.count)
	b.r.truncate(b.count)
}

// chooseBins chooses the bins of the second pass.
func (g *gatherer) chooseBins(limits BinLimits) {
	slices.Sort(g.points)
	var values bounds
	for _, s := range []*SideStats{&g.RefStats, &g.NPUStats} {
		if s.Min.IsDefined() {
			values.add(s.Min.Value(), s.Max.Value())
		}
	}
	count := 2*g.Total - g.RefStats.countNonFinite() - g.NPUStats.countNonFinite()
	if g.OfSample > 0 {
		count = min(count, 2*g.OfSample)
	}
	g.values = newSideCounter(limits.newGrid(values.min, values.max, count, g.points, false))
	if low, high, ok := narrowRange(g.points, values.min, values.max); ok {
		g.inner = newSideCounter(limits.newGrid(low, high, count, g.points, false))
	}
	if g.OfSample > 0 {
		g.eachSampled(g.bound)
	}
	abs := g.errorGrid(limits, g.bounds, g.counted, func(x SampledError) float64 { return x.Abs })
	rel := g.errorGrid(limits, g.ratios, g.counted-g.Sample.Undefined, func(x SampledError) float64 { return x.Rel })
	g.abs, g.rel = newBinner(abs), newBinner(rel)
	g.Diff = ErrorBins{NewBins(abs), NewBins(rel)}
}

func (s *SideStats) countNonFinite() int64 { return s.NaN + s.PosInf + s.NegInf }

// logFactor: bins have equal width in log10 if the largest error exceeds the median by this
// factor.
const logFactor = 1000

// errorGrid chooses the bins of n errors by the measure of, which is NaN if undefined.
// Non-finite values get no bin.
func (g *gatherer) errorGrid(limits BinLimits, b bounds, n int64, of func(SampledError) float64) Grid {
	g.column = g.column[:0]
	for i, every := 0, (len(g.Sample.Errors)+maxPoints-1)/maxPoints; i < len(g.Sample.Errors); i += every {
		if x := of(g.Sample.Errors[i]); ClassOf(x) == Finite {
			g.column = append(g.column, x)
		}
	}
	slices.Sort(g.column)
	high := min(b.max, math.MaxFloat64)
	low := min(b.min, high)
	log := len(g.column) > 0 && low > 0 && high/logFactor > g.column[len(g.column)/2]
	return limits.newGrid(low, high, n, g.column, log)
}

// countBlock is the visitor of the second pass.
func (g *gatherer) countBlock(b *block) {
	g.values.add(b)
	g.inner.add(b)
	if g.usesSampledBins() {
		return
	}
	g.findDifferences(b)
	g.countErrors(g.found.abs[:g.found.count], g.found.rel[:g.found.count])
}

// usesSampledBins reports whether the bins of errors are filled from Sampled: it has all errors,
// or only a sample was requested.
func (g *gatherer) usesSampledBins() bool {
	return g.OfSample > 0 || g.finite <= int64(len(g.Sample.Errors))
}

// countErrors counts errors; it limits their values to the largest float64.
func (g *gatherer) countErrors(abs, rel []float64) {
	for _, values := range [][]float64{abs, rel} {
		for i, x := range values {
			if x > math.MaxFloat64 {
				values[i] = math.MaxFloat64
			}
		}
	}
	g.abs.add(g.Diff.Abs.Counts, abs)
	if g.rel != nil {
		g.rel.add(g.Diff.Rel.Counts, rel)
	}
}

// buildPictures adds the worst errors to the sampled ones, and turns counts into pictures.
func (g *gatherer) buildPictures() *Pictures {
	if g.usesSampledBins() {
		g.eachSampled(g.countErrors)
	}
	for _, entries := range [][]rankedElement{g.worst.entries, g.worstRatios.entries} {
		for i := range entries {
			g.Sample.Errors = append(g.Sample.Errors, SampledError{entries[i].offset, entries[i].abs, entries[i].rel})
		}
	}
	slices.SortFunc(g.Sample.Errors, func(a, b SampledError) int { return cmp.Compare(a.Offset, b.Offset) })
	g.Sample.Errors = slices.CompactFunc(g.Sample.Errors, func(a, b SampledError) bool { return a.Offset == b.Offset })
	g.values.mergePieces()
	g.inner.mergePieces()
	g.Values, g.Joint = g.values.SideBins, g.values.density()
	if g.inner != nil {
		g.Values.Inner, g.Joint.Inner = &g.inner.SideBins, g.inner.density()
	}
	for _, m := range g.maps {
		g.Maps = append(g.Maps, m.buildMap())
	}
	for n := len(g.ULP); n > 1 && g.ULP[n-1] == 0; n-- {
		g.ULP = g.ULP[:n-1]
	}
	if g.Window != nil {
		g.Window.offsets = nil
	}
	return g.Pictures
}
