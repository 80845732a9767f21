package engine

import (
	"context"
	"hash/crc32"
	"math"
	"slices"
	"sync"
)

// The flags of an element that is an error.
const (
	beyondError   = 1 << iota // beyond the limits
	mismatchError             // of different classes
	cellError                 // beyond the limits after HPAA's replacement

	strictError = beyondError | mismatchError
)

// Pool keeps the room that segments are worked on in, for engines that come one
// after the other. It is safe for use by several goroutines.
type Pool struct {
	workers sync.Pool
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{} }

// worker is the room that a segment is worked on in. Arrays of values hold one
// leaf, those of parts both parts of complex elements in turn.
type worker struct {
	e         *Engine
	ref, npu  []byte // as read
	host      []byte // room for decoding
	part      *Part
	n, r, d   []float64 // values, moduli of complex elements, and differences
	abs, rel  []float64 // |d| and |d|/|r|
	other     []float64
	spread    [2][]float64
	scaled    [4][]float64
	nParts    []float64
	rParts    []float64
	dParts    []float64
	nCodes    []int64 // of parts
	rCodes    []int64
	nExact    []uint64 // 64-bit integers
	rExact    []uint64
	ulps      []uint64
	flags     []uint8
	positions []int32 // of the pairs of finite elements where there are others
	specials  []special

	tables tables
}

// stagger is the distance of arrays of a leaf in elements, so that equal indexes
// of them do not fall in one set of the cache.
const stagger = 40

func newWorker() *worker {
	const parts = 2 * leafElements
	floats := make([]float64, 8*leafElements+7*parts+15*stagger)
	room := func(count int) []float64 {
		part := floats[:count:count]
		floats = floats[count+stagger:]
		return part
	}
	w := &worker{
		host: make([]byte, 16*leafElements),
		n:    room(leafElements), r: room(leafElements), d: room(leafElements),
		abs: room(leafElements), rel: room(leafElements), other: room(leafElements),
		spread: [2][]float64{room(leafElements), room(leafElements)},
		nParts: room(parts), rParts: room(parts), dParts: room(parts),
		nCodes: make([]int64, parts), rCodes: make([]int64, parts),
		nExact: make([]uint64, leafElements), rExact: make([]uint64, leafElements),
		ulps:      make([]uint64, leafElements),
		flags:     make([]uint8, leafElements),
		tables:    tables{marks: make([]uint64, leafElements+20*stagger)[20*stagger:][:leafElements]},
		positions: make([]int32, leafElements),
	}
	for i := range w.scaled {
		w.scaled[i] = room(parts)
	}
	return w
}

// get returns a worker for an engine.
func (p *Pool) get(e *Engine) *worker {
	w, ok := p.workers.Get().(*worker)
	if !ok {
		w = newWorker()
	}
	w.e = e
	count := int(min(int64(e.readElements), e.total))
	w.ref = slices.Grow(w.ref[:0], count*e.ref.size)
	w.npu = slices.Grow(w.npu[:0], count*e.npu.size)
	return w
}

// put takes back a worker whose segment is finished.
func (p *Pool) put(w *worker) {
	w.e = nil
	p.workers.Put(w)
}

// run computes the part of a segment.
func (w *worker) run(ctx context.Context, segment int64, ref, npu Reader) (*Part, error) {
	e := w.e
	first := segment * e.segmentElements
	end := min(first+e.segmentElements, e.total)
	p := &Part{segment: segment, elements: end - first, axes: newAxisSums(e.axes), minRef: math.Inf(1)}
	p.worst.limit, p.worstRel.limit = e.request.Top, e.request.Top
	if e.every > 0 {
		p.points = make([]Point, 0, p.elements/e.every+1)
	}
	w.part = p
	w.tables.absRange, w.tables.relRange = emptyRange(), emptyRange()
	var sums tree
	for at := first; at < end; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		count := int(min(int64(e.readElements), end-at))
		refBytes, npuBytes := w.ref[:count*e.ref.size], w.npu[:count*e.npu.size]
		if err := ref.ReadElements(refBytes, at); err != nil {
			return nil, &SideError{RefSide, err}
		}
		if err := npu.ReadElements(npuBytes, at); err != nil {
			return nil, &SideError{NPUSide, err}
		}
		p.refCRC = crc32.Update(p.refCRC, castagnoli(), refBytes)
		p.npuCRC = crc32.Update(p.npuCRC, castagnoli(), npuBytes)
		for i := 0; i < count; i += leafElements {
			k := min(leafElements, count-i)
			l := leaf{
				worker: w, first: at + int64(i), count: k,
				ref: refBytes[i*e.ref.size : (i+k)*e.ref.size],
				npu: npuBytes[i*e.npu.size : (i+k)*e.npu.size],
			}
			l.compute()
			sums.add(&l.node, 1)
			p.leaves++
		}
		at += int64(count)
	}
	p.sums = sums.root()
	w.finish()
	return p, nil
}

// finish moves what is gathered in the worker to the part.
func (w *worker) finish() {
	p := w.part
	w.part = nil
	t := &w.tables
	p.absHistogram, p.joint = t.joint.take(t.absRange)
	p.relHistogram = t.rel.take(t.relRange)
	p.worst.trim()
	p.worstRel.trim()
}
