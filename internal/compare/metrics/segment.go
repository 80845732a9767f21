package metrics

import (
	"context"
	"iter"
	"slices"
	"sync"

	"dumptool/internal/compare/metrics/kernel"
	"dumptool/internal/lang"
)

// Pool keeps buffers for the next engines. It is safe for concurrent use.
type Pool struct {
	buffers  sync.Pool // of *buffers
	partials sync.Pool // of *Partial
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{} }

// buffers is the scratch memory for a segment: arrays for a block, and the tables
// that count its pairs.
type buffers struct {
	refRead, npuRead []byte // stored elements
	host             []byte // scratch of decoders
	n, r             side
	d                []float64    // differences; two for each complex element, real and imaginary part
	abs, rel         []float64    // |d| and |d|/|r|
	spread           [2][]float64 // abs and rel by place in the block
	scratch          [4][]float64 // each as long as the parts of a complex block
	zeros            []float64
	ulps             []uint64
	flags            []uint8
	positions        []int32
	nonFinite        []nonFinite
	histograms       histograms
}

// side is one side of a block.
type side struct {
	number *number
	stored []byte
	values []float64 // moduli for complex elements
	parts  []float64 // real and imaginary parts of complex elements, alternating
	codes  []int64   // in the NPU's type; two for each complex element
	exact  []uint64  // 64-bit integers
	span   kernel.Span
}

// arrayGap is the gap between the arrays of a block, in elements, so that equal indexes do not
// fall in one set of the cache.
const arrayGap = 40

func newBuffers() *buffers {
	const parts = 2 * blockElements
	floats := make([]float64, 7*blockElements+7*parts+16*arrayGap)
	array := func(count int) []float64 {
		part := floats[:count:count]
		floats = floats[count+arrayGap:]
		return part
	}
	newSide := func() side {
		return side{
			values: array(blockElements), parts: array(parts),
			codes: make([]int64, parts), exact: make([]uint64, blockElements),
		}
	}
	b := &buffers{
		host: make([]byte, 16*blockElements),
		n:    newSide(), r: newSide(),
		d: array(parts), abs: array(blockElements), rel: array(blockElements),
		spread:     [2][]float64{array(blockElements), array(blockElements)},
		zeros:      array(blockElements),
		ulps:       make([]uint64, blockElements),
		flags:      make([]uint8, blockElements),
		positions:  make([]int32, blockElements),
		histograms: histograms{tables: kernel.NewTables(blockElements), abs: emptyRange(), rel: emptyRange()},
	}
	for i := range b.scratch {
		b.scratch[i] = array(parts)
	}
	return b
}

// get returns buffers for an engine.
func (p *Pool) get(e *Engine) *buffers {
	b, ok := p.buffers.Get().(*buffers)
	if !ok {
		b = newBuffers()
	}
	count := int(min(int64(e.readElements), e.total))
	b.refRead = slices.Grow(b.refRead[:0], count*e.ref.size)
	b.npuRead = slices.Grow(b.npuRead[:0], count*e.npu.size)
	b.n.number, b.r.number = e.npu, e.ref
	return b
}

// Run computes the partial result of a segment. It may be called concurrently, with
// different readers. Errors of readers are returned as SideErrors.
func (e *Engine) Run(ctx context.Context, segment int64, ref, npu Reader) (*Partial, error) {
	if segment < 0 || segment >= e.Segments() {
		return nil, lang.Errorf("segment %d of %d", segment, e.Segments())
	}
	b := e.pool.get(e)
	p := e.newPartial(segment)
	if err := b.processSegment(ctx, e, p, ref, npu); err != nil {
		return nil, err // the tables are half-filled: the buffers do not go back to the pool
	}
	e.pool.buffers.Put(b)
	return p, nil
}

// newPartial returns the empty result of a segment. It reuses the memory of a used one, except
// the lists that went to its Result.
func (e *Engine) newPartial(segment int64) *Partial {
	first := segment * e.segmentElements
	p, ok := e.pool.partials.Get().(*Partial)
	if !ok {
		p = new(Partial)
	}
	*p = Partial{
		segment: segment, elements: min(first+e.segmentElements, e.total) - first,
		axes:   p.axes.reset(e.axes),
		listed: p.listed[:0], mismatched: p.mismatched[:0], tree: tree{p.tree.stack[:0]},
		worst: ranking{limit: e.request.Top, entries: p.worst.entries[:0]},
		noise: e.newNoise(p.noise), lists: p.lists, errorOffsets: p.lists.errorOffsets[:0],
	}
	if p.axesFrom = first; e.request.LateAxes {
		p.axesFrom += p.elements
	}
	if e.pointDistance > 0 {
		p.points = make([]Point, 0, p.elements/e.pointDistance+1)
	}
	return p
}

// processSegment reads a segment and adds it to its partial result.
func (b *buffers) processSegment(ctx context.Context, e *Engine, p *Partial, ref, npu Reader) error {
	first := p.segment * e.segmentElements
	if err := b.add(ctx, e, p, &p.tree, Range{first, first + p.elements}, ref, npu); err != nil {
		return err
	}
	p.sums = p.tree.root()
	b.histograms.drainInto(p)
	if p.axesFrom > first {
		p.withoutAxes = []Range{{first, p.axesFrom}}
	}
	return nil
}

// add reads a range of elements and adds them to a partial result, block by block.
func (b *buffers) add(ctx context.Context, e *Engine, p *Partial, sums *tree, of Range, ref, npu Reader) error {
	return b.walk(ctx, e, p, ref, npu, of.runs(e.readElements), func(l *block) {
		l.checksum()
		l.compute()
		sums.add(&l.sums, 1)
		p.blocks++
	})
}

// walk reads runs of a pair in order and calls visit with each block, not yet decoded. Every
// loop over the elements of a pair uses this function.
func (b *buffers) walk(ctx context.Context, e *Engine, p *Partial, ref, npu Reader, runs iter.Seq2[int64, int], visit func(*block)) error {
	l := block{buffers: b, e: e, part: p}
	for at, count := range runs {
		if err := ctx.Err(); err != nil {
			return err
		}
		refRead, err := elements(ref, b.refRead[:count*e.ref.size], at)
		if err != nil {
			return &SideError{RefSide, err}
		}
		npuRead, err := elements(npu, b.npuRead[:count*e.npu.size], at)
		if err != nil {
			return &SideError{NPUSide, err}
		}
		if e.request.Visit != nil {
			e.request.Visit(at, refRead, npuRead)
		}
		for i := 0; i < count; i += blockElements {
			l.reset(at+int64(i), min(blockElements, count-i), refRead[i*e.ref.size:], npuRead[i*e.npu.size:])
			visit(&l)
		}
	}
	return nil
}

// walk calls visit with decoded blocks; no partial result is computed.
func (e *Engine) walk(ctx context.Context, ref, npu Reader, runs iter.Seq2[int64, int], visit func(*block)) error {
	b, part := e.pool.get(e), e.newPartial(0)
	err := b.walk(ctx, e, part, ref, npu, runs, func(l *block) {
		if l.first%SegmentElements == 0 { // before 32-bit counters overflow
			b.histograms.drainInto(part)
		}
		l.decode()
		visit(l)
	})
	if err != nil {
		return err
	}
	b.histograms.drainInto(part)
	clear(b.flags)
	e.pool.buffers.Put(b)
	e.pool.partials.Put(part)
	return nil
}

// runs cuts a range into runs of at most most elements.
func (r Range) runs(most int) iter.Seq2[int64, int] {
	return func(yield func(int64, int) bool) {
		for at := r.First; at < r.End; at += int64(most) {
			if !yield(at, int(min(int64(most), r.End-at))) {
				return
			}
		}
	}
}
