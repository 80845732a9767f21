package standard

import (
	"bytes"
	"context"
	"math"
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/tensor"
)

// blockElements is the number of elements of one read.
const blockElements = 1 << 14

// measures has the errors of the NPU, and of the third result if there is one.
type measures struct {
	// compared counts the elements that are finite on all sides, total all elements.
	compared, total int64
	// right, wrong and unclear count the other elements by their outcome.
	right, wrong, unclear int64

	npu, third sideErrors
	// tolerated counts the elements within the tolerance of Mixed.
	tolerated int64
	// different counts unequal elements, for the rule move.
	different int64
}

// sideErrors has the errors of the NPU or the third result against the reference.
type sideErrors struct {
	// sumRelative and maxRelative are the sum and the maximum of the relative errors; relatives counts the elements.
	// L0 to L2 exclude small values.
	sumRelative, maxRelative float64
	relativeCount            int64
	// maxAbs is the largest absolute error, at the reference value of its first occurrence.
	maxAbs, maxAbsReference float64
	sumSquares              float64
	// smallErrors counts the errors among small values.
	smallErrors int64
}

// sides has the elements of a block; third may be nil.
type sides struct{ ref, npu, third []float64 }

// elementPass has the state of one pass over the elements.
type elementPass struct {
	req *Request
	thresholds
	measures
}

// measure computes the errors that the standard and the rule of the request need.
func measure(ctx context.Context, req *Request, t *thresholds, ref, npu, third metrics.Reader) (*measures, error) {
	p := &elementPass{req: req, thresholds: *t}
	r, err := newSource(ref, req.RefDType)
	if err != nil {
		return nil, err
	}
	n, err := newSource(npu, req.NPUDType)
	if err != nil {
		return nil, err
	}
	var x *source
	if third != nil {
		if x, err = newSource(third, req.ThirdDType); err != nil {
			return nil, err
		}
	}
	p.total = req.Total
	for first := int64(0); first < req.Total; first += blockElements {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		count := min(blockElements, req.Total-first)
		var block sides
		if block.ref, err = r.read(first, count); err != nil {
			return nil, err
		}
		if block.npu, err = n.read(first, count); err != nil {
			return nil, err
		}
		if x != nil {
			if block.third, err = x.read(first, count); err != nil {
				return nil, err
			}
		}
		p.add(block, r.stored, n.stored)
	}
	return &p.measures, nil
}

// add adds a block; ref and npu are its stored elements.
func (p *elementPass) add(b sides, ref, npu []byte) {
	if p.req.rule() == move {
		p.addMoved(b, ref, npu)
		return
	}
	b = p.keepFinite(b)
	p.compared += int64(len(b.ref))
	switch {
	case p.req.Name == Eco:
		p.npu.addRelative(b.ref, b.npu)
	case p.req.Name == Mixed:
		p.addTolerance(b.ref, b.npu)
	default:
		p.npu.addLevel(b.ref, b.npu, &p.thresholds)
		p.third.addLevel(b.ref, b.third, &p.thresholds)
	}
}

// addMoved counts unequal elements: by their bytes, or, if the types differ, by their values
// in the NPU's type.
func (p *elementPass) addMoved(b sides, ref, npu []byte) {
	if p.req.hasSameType() {
		if bytes.Equal(ref, npu) {
			return
		}
		unit := len(npu) / len(b.npu)
		for i := range b.npu {
			if !bytes.Equal(ref[i*unit:][:unit], npu[i*unit:][:unit]) {
				p.different++
			}
		}
		return
	}
	p.format.RoundAll(b.ref)
	for i, n := range b.npu {
		if r := b.ref[i]; n != r && (n == n || r == r) {
			p.different++
		}
	}
}

// keepFinite returns the elements that are finite on all sides, and counts the others by their outcome.
func (p *elementPass) keepFinite(b sides) sides {
	kept := 0
	for i, r := range b.ref {
		n, t := b.npu[i], r
		if b.third != nil {
			t = b.third[i]
		}
		if sum := math.Abs(r) + math.Abs(n) + math.Abs(t); !(sum <= math.MaxFloat64) && !isFinite(r, n, t) {
			p.countNonFinite(r, n, t, b.third != nil)
			continue
		}
		if kept < i {
			b.ref[kept], b.npu[kept] = r, n
			if b.third != nil {
				b.third[kept] = t
			}
		}
		kept++
	}
	b.ref, b.npu = b.ref[:kept], b.npu[:kept]
	if b.third != nil {
		b.third = b.third[:kept]
	}
	return b
}

func isFinite(values ...float64) bool {
	return !slices.ContainsFunc(values, func(x float64) bool { return math.IsInf(x, 0) || x != x })
}

// countNonFinite counts an element with a non-finite side.
func (p *elementPass) countNonFinite(ref, npu, third float64, hasThird bool) {
	g, n, t := metrics.ClassOf(ref), metrics.ClassOf(npu), metrics.ClassOf(third)
	// The NPU's type may hold only an infinity where a more precise reference holds
	// a finite number.
	if g == metrics.Finite && n != metrics.Finite {
		g = metrics.ClassOf(p.format.Round(ref))
	}
	switch outcomeOf(g, n, t, hasThird) {
	case right:
		p.right++
	case wrong:
		p.wrong++
	case unclear:
		p.unclear++
	}
}

// outcome is the result for an element with a non-finite side.
type outcome uint8

const (
	right outcome = iota
	wrong
	// unclear: all three sides differ; a person must decide.
	unclear
)

// outcomeOf judges an NPU element by its class and the classes of the reference and the third
// result.
func outcomeOf(ref, npu, third metrics.Class, hasThird bool) outcome {
	switch {
	case npu == ref, hasThird && npu == third:
		return right
	case !hasThird, third == ref:
		return wrong
	}
	return unclear
}

// addRelative adds relative errors.
func (e *sideErrors) addRelative(ref, side []float64) {
	sum, largest := 0.0, e.maxRelative
	for i, r := range ref {
		rel := math.Abs(side[i]-r) / (math.Abs(r) + relativeFloor)
		sum += rel
		largest = max(largest, rel)
	}
	e.sumRelative, e.maxRelative, e.relativeCount = e.sumRelative+sum, largest, e.relativeCount+int64(len(ref))
}

// addTolerance counts the elements within the tolerance, and updates the largest error.
func (p *elementPass) addTolerance(ref, npu []float64) {
	tolerance, tolerated := p.tolerance, int64(0)
	for i, r := range ref {
		d, a := math.Abs(npu[i]-r), math.Abs(r)
		if d <= tolerance+float64(tolerance*a) {
			tolerated++
		}
		if d > p.npu.maxAbs {
			p.npu.maxAbs, p.npu.maxAbsReference = d, r
		}
	}
	p.tolerated += tolerated
}

// addLevel adds the errors for L0 to L2.
func (e *sideErrors) addLevel(ref, side []float64, t *thresholds) {
	sum, squares, largest := 0.0, 0.0, e.maxRelative
	count, failed := int64(0), int64(0)
	for i, r := range ref {
		d, a := math.Abs(side[i]-r), math.Abs(r)
		squares += float64(d * d)
		if a < t.small {
			if d > t.smallError {
				failed++
			}
			continue
		}
		rel := d / (a + relativeFloor)
		sum += rel
		largest = max(largest, rel)
		count++
	}
	e.sumRelative, e.sumSquares, e.maxRelative = e.sumRelative+sum, e.sumSquares+squares, largest
	e.relativeCount, e.smallErrors = e.relativeCount+count, e.smallErrors+failed
}

// source reads the elements of a side.
type source struct {
	reader  metrics.Reader
	decoder tensor.Decoder
	stored  []byte // the last block
	buffer  []byte
	host    []byte
	values  []float64
}

func newSource(from metrics.Reader, d tensor.DType) (*source, error) {
	decoder, err := tensor.NewDecoder(d)
	if err != nil {
		return nil, err
	}
	return &source{reader: from, decoder: decoder, buffer: make([]byte, blockElements*decoder.UnitSize()),
		host: make([]byte, blockElements*decoder.Host().Size()), values: make([]float64, blockElements)}, nil
}

// read returns elements, valid until the next call.
func (s *source) read(first, count int64) ([]float64, error) {
	s.stored = s.buffer[:count*int64(s.decoder.UnitSize())]
	if err := s.reader.ReadElements(s.stored, first); err != nil {
		return nil, err
	}
	host, values := s.host[:count*int64(s.decoder.Host().Size())], s.values[:count]
	s.decoder.Decode(host, s.stored)
	tensor.Float64s(values, host, s.decoder.Host())
	return values, nil
}
