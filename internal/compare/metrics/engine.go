package metrics

import (
	"context"
	"slices"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

const (
	// ReadElements is the number of elements of one read.
	ReadElements = 16 * blockElements
	// SegmentElements is the number of elements of a segment: the unit of work
	// of Run. The last segment of a tensor may be shorter.
	SegmentElements = 4096 * blockElements
	// blockElements is the number of elements of a block, the unit that the kernels work
	// on. The arrays of a block fit in the L1 cache.
	blockElements = 1024
)

// SideError is an error of one side of a pair.
type SideError struct {
	Side string // "reference" or "npu"
	Err  error
}

// Error names the side.
func (e *SideError) Error() string { return e.Text().String() }

// Text is the error in both languages.
func (e *SideError) Text() lang.Text {
	return lang.Say("%s tensor: %v", lang.Say(e.Side), e.Err).Text()
}

// Unwrap returns the error of the side.
func (e *SideError) Unwrap() error { return e.Err }

// The sides of a pair, as errors name them.
const (
	RefSide = "reference"
	NPUSide = "npu"
)

// Engine compares one pair of tensors.
type Engine struct {
	request  Request
	total    int64
	ref, npu *number
	complex  bool // a side is complex
	double   bool // a side is of float64 or complex128
	wide     bool // a side has 64-bit integers
	// direct: |d| is |n-r| of the float64 values, and nothing needs d itself.
	direct bool
	// shortCodes: the distance of two codes is their distance in ulps, and codes have
	// less than 40 bits.
	shortCodes    bool
	isHalfPair    bool // the NPU tensor is float16, the reference float32
	axes          *axisPlan
	strata        noise.Strata // the blocks whose |d|/|r| are counted in the histogram
	pointDistance int64        // the distance of sampled points in elements, 0 for none
	// hpaaLow and hpaaHigh replace infinities as HPAA does.
	hpaaLow, hpaaHigh float64
	// refSaturates is the smallest reference that may round to the largest
	// finite magnitude of the NPU's type.
	refSaturates    float64
	segmentElements int64
	readElements    int
	pool            *Pool
}

// New prepares the comparison of a pair. It fails if a type cannot be decoded (a
// SideError), if the number of elements overflows, or if the limits are invalid.
func New(req Request) (*Engine, error) { return NewPool().New(req) }

// New is like the function New; the engine uses the buffers of the pool.
func (p *Pool) New(req Request) (*Engine, error) {
	total, ok := req.Shape.Count()
	if !ok {
		return nil, lang.Errorf("shape %s has no number of elements", req.Shape)
	}
	if err := req.Limits.check(); err != nil {
		return nil, err
	}
	if req.Top < 0 || req.List < 0 || req.Points < 0 {
		return nil, lang.Errorf("top %d, list %d, points %d, want numbers from 0 on", req.Top, req.List, req.Points)
	}
	ref, err := newNumber(req.RefDType)
	if err != nil {
		return nil, &SideError{RefSide, err}
	}
	npu, err := newNumber(req.NPUDType)
	if err != nil {
		return nil, &SideError{NPUSide, err}
	}
	e := &Engine{
		request: req, total: total, ref: ref, npu: npu,
		complex:         ref.complex || npu.complex,
		double:          ref.isDouble() || npu.isDouble(),
		wide:            ref.is64Bit() || npu.is64Bit(),
		axes:            newAxisPlan(req.Shape, total),
		strata:          noise.NewStrata(total),
		hpaaLow:         -npu.high,
		hpaaHigh:        npu.high,
		refSaturates:    npu.minSaturating(),
		segmentElements: SegmentElements,
		readElements:    ReadElements,
		pool:            p,
	}
	if err := e.checkNoise(); err != nil {
		return nil, err
	}
	e.shortCodes = !e.complex && !npu.isDouble() && !npu.is64Bit() && (!npu.integer || ref.integer && !ref.is64Bit())
	e.direct = !e.complex && !e.wide && (!npu.integer || ref.integer)
	e.isHalfPair = req.NPUDType == tensor.Float16 && req.RefDType == tensor.Float32
	if req.Points > 0 {
		e.pointDistance = max(1, total/int64(req.Points))
	}
	return e, nil
}

// checkNoise checks the request for the noise.
func (e *Engine) checkNoise() error {
	req := e.request.Noise
	switch {
	case req == nil:
		return nil
	case e.complex:
		return lang.Errorf("the noise of complex elements cannot be measured")
	case !slices.Equal(req.Shape, e.request.Shape):
		return lang.Errorf("noise of the shape %s, want %s", req.Shape, e.request.Shape)
	}
	return req.Check()
}

// minSaturating returns a magnitude; smaller ones never round to the limits of the type.
func (n *number) minSaturating() float64 {
	if n.integer {
		return n.high - 1
	}
	if n.codes.table == nil {
		return n.high * (1 - n.codes.Epsilon())
	}
	values := n.codes.table.values
	return values[len(values)-2]
}

// Segments returns the number of segments, 0 for an empty tensor.
func (e *Engine) Segments() int64 {
	return (e.total + e.segmentElements - 1) / e.segmentElements
}

// Compare computes all segments of a pair one after the other.
func Compare(ctx context.Context, req Request, ref, npu Reader) (*Result, error) {
	e, err := New(req)
	if err != nil {
		return nil, err
	}
	return e.Compare(ctx, ref, npu)
}

// Compare computes all segments one after the other.
func (e *Engine) Compare(ctx context.Context, ref, npu Reader) (*Result, error) {
	m := e.NewMerger()
	for segment := range e.Segments() {
		part, err := e.Run(ctx, segment, ref, npu)
		if err != nil {
			return nil, err
		}
		if err := m.Add(part); err != nil {
			return nil, err
		}
	}
	return m.Finish(), nil
}

// Merger joins the partial results of a pair.
type Merger struct {
	engine *Engine
	sums   tree
	next   int64
	part   *Partial
}

// NewMerger returns a merger of no partial results.
func (e *Engine) NewMerger() *Merger { return &Merger{engine: e} }

// Add adds a partial result. Partial results must come in the order of their segments;
// the caller must not use them afterwards.
func (m *Merger) Add(p *Partial) error {
	if p.segment != m.next {
		return lang.Errorf("segment %d, want segment %d", p.segment, m.next)
	}
	if m.next++; m.part == nil {
		m.part = p
		return nil
	}
	if m.next == 2 { // a single segment needs no tree
		m.sums.add(m.part.sums, m.part.blocks)
	}
	m.sums.add(p.sums, p.blocks)
	m.part.merge(p, m.engine)
	m.engine.pool.partials.Put(p)
	return nil
}

// Finish returns the result over the added partial results, which should cover all
// segments. It is called once.
func (m *Merger) Finish() *Result {
	if m.part == nil {
		m.part = &Partial{sums: new(node), axes: axisSums{}.reset(m.engine.axes), noise: m.engine.newNoise(nil)}
	}
	sums := m.part.sums
	if m.next > 1 {
		sums = m.sums.root()
	}
	r := m.engine.result(m.part, sums)
	m.engine.pool.partials.Put(m.part)
	return r
}

// newNoise returns a collector for a segment, nil if the request has no noise. It reuses the memory of used unless
// used is nil.
func (e *Engine) newNoise(used *noise.Collector) *noise.Collector {
	if e.request.Noise == nil {
		return nil
	}
	if used == nil {
		return noise.NewCollector(e.request.Noise)
	}
	used.Reset(e.request.Noise)
	return used
}
