package metrics

import (
	"cmp"
	"context"
	"math"
	"slices"
)

const (
	// maxSampledErrors is the most errors that are sampled, to which the worst
	// worstSampled of each kind come; maxPoints is the most values that quartiles are
	// taken from. A pair takes less than half a MiB.
	maxSampledErrors, worstSampled, maxPoints = 12000, 64, 4096
	// Marks is the number of runs of elements in Pictures.NonFinite.
	Marks = 1024
)

// Pictures is what the plots of a pair show. An error is one of HPAA's table: beyond
// the limits after its replacement of what is not finite.
type Pictures struct {
	// Total counts the elements, Errors those that are errors.
	Total, Errors int64
	// Sampled are errors that are finite on both sides, in the order of their offsets:
	// each Every-th one, and those with the largest |d| and |d|/|r|. Packed are the
	// same where they are kept for long.
	Sampled []SampledError
	Packed  *ErrorSample
	Every   int64
	// NonFinite marks runs of RunLength elements that have a pair which is not finite
	// and an error or of different classes; NonFiniteErrors counts these pairs.
	NonFinite       []bool
	RunLength       int64
	NonFiniteErrors int64
	// Undefined counts the finite errors whose reference is 0.
	Undefined int64
	// Abs and Rel count the finite errors by |d| and by |d|/|r|.
	Abs, Rel Bins
	// Values are the finite elements of both sides, Inner those of a narrow range that
	// has nearly all of them, nil where they fill the whole one.
	Values SideBins
	Inner  *SideBins
	// Joint counts the pairs that are finite on both sides by both values,
	// InnerJoint those of the narrow range.
	Joint      Density
	InnerJoint *Density
	// Maps show the differences over the last two axes, and over the two before the
	// last; axes of one position are left out.
	Maps []Map
	// ULP counts these pairs by their distance in units of the last place of the
	// NPU's type: first those of 0, then of 1, of 2 and 3, of 4 to 7 and so on.
	ULP []int64
	// Window are values around the place where the tensors differ most, nil without any.
	Window *Window
	// RefStats and NPUStats are those of the result.
	RefStats, NPUStats SideStats
}

// SampledError is an error: its offset in C order, |d|, and |d|/|r|, which is NaN
// where r is 0.
type SampledError struct {
	Offset   int64
	Abs, Rel float64
}

// Keep packs the sampled errors, or drops them.
func (p *Pictures) Keep(errors bool) {
	if p.Packed = nil; errors {
		packed := PackErrors(p.Sampled)
		p.Packed = &packed
	}
	p.Sampled = nil
}

// Bins are values counted in a grid.
type Bins struct {
	Grid
	Counts []int64
}

// SideBins are the values of both sides counted in one grid.
type SideBins struct {
	Grid
	Ref, NPU []int64
}

// Pictures reads a pair for its plots, twice: for samples and bounds, and to count
// what lies between them. res is the result of the pair, of which the numbers
// without the lists are enough.
func (p *Pool) Pictures(ctx context.Context, req Request, res *Result, limits BinLimits, ref, npu Reader) (*Pictures, error) {
	req.Noise = nil
	e, err := p.New(req)
	if err != nil {
		return nil, err
	}
	g := newGatherer(e, res)
	if err := e.walk(ctx, ref, npu, g.survey); err != nil {
		return nil, err
	}
	g.plan(limits)
	if err := e.walk(ctx, ref, npu, g.count); err != nil {
		return nil, err
	}
	return g.finish(), nil
}

// walk decodes and subtracts a pair block by block.
func (e *Engine) walk(ctx context.Context, ref, npu Reader, visit func(b *block)) error {
	b := e.pool.get(e)
	defer e.pool.buffers.Put(b)
	l := newBlock(e, b, nil)
	for at := int64(0); at < e.total; {
		if err := ctx.Err(); err != nil {
			return err
		}
		count := int(min(int64(e.readElements), e.total-at))
		refRead, npuRead := b.refRead[:count*e.ref.size], b.npuRead[:count*e.npu.size]
		if err := ref.ReadElements(refRead, at); err != nil {
			return &SideError{RefSide, err}
		}
		if err := npu.ReadElements(npuRead, at); err != nil {
			return &SideError{NPUSide, err}
		}
		for i := 0; i < count; i += blockElements {
			l.begin(at+int64(i), min(blockElements, count-i), refRead[i*e.ref.size:], npuRead[i*e.npu.size:])
			l.decode()
			l.subtract()
			visit(&l)
		}
		at += int64(count)
	}
	return nil
}

// gatherer gathers the pictures of a pair.
type gatherer struct {
	*Pictures
	values, inner      *sideCounter
	abs, rel           *binner
	maps               []*mapper
	points             []float64 // finite values of both sides
	every              int64     // the distance of the elements that they are of
	finite             int64     // errors that are finite on both sides
	bounds, ratios     bounds    // of |d| and |d|/|r| of those
	worst, worstRatios ranking
	found              []SampledError // of a block
	special            []int32        // positions in it of pairs that are not finite
	odd                []int64        // offsets of those that are errors
	column             []float64
}

func newGatherer(e *Engine, res *Result) *gatherer {
	p := &Pictures{
		Total: e.total, Errors: res.HPAA.Count, Every: max((res.HPAA.Count+maxSampledErrors-1)/maxSampledErrors, 1),
		NonFinite: make([]bool, Marks), RunLength: max((e.total+Marks-1)/Marks, 1),
		RefStats: res.Ref, NPUStats: res.NPU,
	}
	p.Sampled = make([]SampledError, 0, min(p.Errors, maxSampledErrors))
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

// worstPlace is the offset of the elements that differ most, 0 where none differ.
func worstPlace(res *Result) int64 {
	switch {
	case len(res.Worst) > 0:
		return res.Worst[0].Offset
	case res.MaxAbs.Defined():
		return res.MaxAbs.Offset
	}
	return 0
}

// survey adds a block to the samples and bounds.
func (g *gatherer) survey(b *block) {
	for at := (b.first + g.every - 1) / g.every * g.every; at < b.first+int64(b.count); at += g.every {
		for _, x := range []float64{b.r.values[at-b.first], b.n.values[at-b.first]} {
			if ClassOf(x) == Finite {
				g.points = append(g.points, x)
			}
		}
	}
	g.find(b)
	g.addMaps(b)
	b.countULP(g.ULP, g.special)
	for _, offset := range g.odd {
		g.NonFiniteErrors++
		g.NonFinite[offset/g.RunLength] = true
	}
	for _, x := range g.found {
		if g.finite%g.Every == 0 && len(g.Sampled) < maxSampledErrors {
			g.Sampled = append(g.Sampled, x)
		}
		g.finite++
		g.bounds.add(x.Abs, x.Abs)
		l := location{offset: x.Offset, abs: x.Abs, rel: x.Rel}
		if x.Abs >= g.worst.floor {
			g.worst.add(x.Abs, l)
		}
		if math.IsNaN(x.Rel) {
			g.Undefined++
			continue
		}
		g.ratios.add(x.Rel, x.Rel)
		if x.Rel >= g.worstRatios.floor {
			g.worstRatios.add(x.Rel, l)
		}
	}
}

// find sets the errors of a block. Pairs that are not finite become equal ones.
func (g *gatherer) find(b *block) {
	g.found, g.odd, g.special = g.found[:0], g.odd[:0], g.special[:0]
	if b.n.span.Special || b.r.span.Special {
		g.separate(b)
	}
	limits := b.e.request.Limits
	if !limits.exceeded(b.abs, b.r.values) {
		return
	}
	for i, abs := range b.abs {
		ref := math.Abs(b.r.values[i])
		infinite := abs > math.MaxFloat64
		if !infinite && limits.Passes(abs, ref) || infinite && b.passesAt(i, abs, ref) {
			continue
		}
		rel := math.NaN()
		switch {
		case ref == 0:
		case infinite:
			rel = b.relativeAt(i, abs, ref)
		default:
			rel = abs / ref
		}
		g.found = append(g.found, SampledError{b.first + int64(i), abs, rel})
	}
}

// separate finds the pairs that are not finite on both sides.
func (g *gatherer) separate(b *block) {
	for i := range b.abs {
		if !b.e.complex && ClassOf(b.n.values[i]) == Finite && ClassOf(b.r.values[i]) == Finite {
			continue
		}
		cn, cr := b.classes(i)
		if cn == Finite && cr == Finite {
			continue
		}
		g.special = append(g.special, int32(i))
		if cn != cr || !b.e.complex && b.failsReplaced(i) {
			g.odd = append(g.odd, b.first+int64(i))
		}
		b.abs[i], b.n.values[i], b.r.values[i] = 0, 0, 0
	}
}

// failsReplaced reports whether a pair is an error after HPAA's replacement.
func (b *block) failsReplaced(i int) bool {
	n, r := b.e.replacement(b.n.values[i]), b.e.replacement(b.r.values[i])
	return !b.passesAt(i, math.Abs(n-r), math.Abs(r))
}

// plan chooses the bins.
func (g *gatherer) plan(limits BinLimits) {
	slices.Sort(g.points)
	var values bounds
	for _, s := range []*SideStats{&g.RefStats, &g.NPUStats} {
		if s.Min.Defined() {
			values.add(s.Min.Value(), s.Max.Value())
		}
	}
	count := 2*g.Total - g.RefStats.nonFinite() - g.NPUStats.nonFinite()
	g.values = newSideCounter(limits.newGrid(values.min, values.max, count, g.points, false))
	if low, high, ok := narrow(g.points, values.min, values.max); ok {
		g.inner = newSideCounter(limits.newGrid(low, high, count, g.points, false))
	}
	g.Abs.Grid = g.errorGrid(limits, g.bounds, g.finite, func(x SampledError) float64 { return x.Abs })
	g.Rel.Grid = g.errorGrid(limits, g.ratios, g.finite-g.Undefined, func(x SampledError) float64 { return x.Rel })
	g.abs, g.rel = newBinner(g.Abs.Grid), newBinner(g.Rel.Grid)
	g.Abs.Counts, g.Rel.Counts = make([]int64, g.Abs.Count), make([]int64, g.Rel.Count)
}

func (s *SideStats) nonFinite() int64 { return s.NaN + s.PosInf + s.NegInf }

// logFactor is how much larger than the median the largest error is where the bins
// have one width in log10.
const logFactor = 1000

// errorGrid chooses the bins of n errors by a measure, which is NaN where it is not
// defined. What is not finite has no bin.
func (g *gatherer) errorGrid(limits BinLimits, b bounds, n int64, of func(SampledError) float64) Grid {
	g.column = g.column[:0]
	for i, every := 0, (len(g.Sampled)+maxPoints-1)/maxPoints; i < len(g.Sampled); i += every {
		if x := of(g.Sampled[i]); ClassOf(x) == Finite {
			g.column = append(g.column, x)
		}
	}
	slices.Sort(g.column)
	high := min(b.max, math.MaxFloat64)
	low := min(b.min, high)
	log := len(g.column) > 0 && low > 0 && high/logFactor > g.column[len(g.column)/2]
	return limits.newGrid(low, high, n, g.column, log)
}

// count counts a block.
func (g *gatherer) count(b *block) {
	g.Window.add(b)
	g.values.add(b)
	g.inner.add(b)
	if g.finite <= int64(len(g.Sampled)) { // all of them are at hand
		return
	}
	g.find(b)
	g.countErrors(g.found)
}

// countErrors counts errors.
func (g *gatherer) countErrors(errors []SampledError) {
	if len(errors) == 0 {
		return
	}
	g.column = g.column[:0]
	for _, x := range errors {
		g.column = append(g.column, min(x.Abs, math.MaxFloat64))
	}
	g.abs.add(g.Abs.Counts, g.column)
	if g.rel == nil {
		return
	}
	g.column = g.column[:0]
	for _, x := range errors {
		g.column = append(g.column, min(x.Rel, math.MaxFloat64))
	}
	g.rel.add(g.Rel.Counts, g.column)
}

// finish adds the worst errors to the sampled ones, and turns counts into pictures.
func (g *gatherer) finish() *Pictures {
	if g.finite <= int64(len(g.Sampled)) {
		for errors := range slices.Chunk(g.Sampled, blockElements) {
			g.countErrors(errors)
		}
	}
	for _, entries := range [][]ranked{g.worst.entries, g.worstRatios.entries} {
		for i := range entries {
			g.Sampled = append(g.Sampled, SampledError{entries[i].offset, entries[i].abs, entries[i].rel})
		}
	}
	slices.SortFunc(g.Sampled, func(a, b SampledError) int { return cmp.Compare(a.Offset, b.Offset) })
	g.Sampled = slices.CompactFunc(g.Sampled, func(a, b SampledError) bool { return a.Offset == b.Offset })
	g.Values, g.Joint = g.values.SideBins, g.values.density()
	if g.inner != nil {
		joint := g.inner.density()
		g.Inner, g.InnerJoint = &g.inner.SideBins, &joint
	}
	for _, m := range g.maps {
		g.Maps = append(g.Maps, m.finish())
	}
	for n := len(g.ULP); n > 1 && g.ULP[n-1] == 0; n-- {
		g.ULP = g.ULP[:n-1]
	}
	if g.Window != nil {
		g.Window.offsets = nil
	}
	return g.Pictures
}
