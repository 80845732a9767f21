package diagnose

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/cmplx"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/exact"
	"dumptool/internal/tensor"
)

const (
	// wholeLimit is the number of elements up to which a tensor is read at once.
	wholeLimit = 1 << 16
	// chunk is the number of elements of a larger one that are read for those that are
	// near each other, on average within so many bytes. Few are read one by one.
	chunk, nearBytes, fewOffsets = 1 << 14, 8 << 10, 256
)

// side gives the elements of one tensor as numbers.
type side struct {
	reader  metrics.Reader
	decoder tensor.Decoder
	count   int64
	whole   []byte // all elements of a small tensor, once they are read
	raw     []byte // buffers of the last read
	host    []byte
	reals   []float64
	err     error // of reading; the elements are of no use then
}

func newSide(reader metrics.Reader, dtype tensor.DType, count int64) (*side, error) {
	decoder, err := tensor.NewDecoder(dtype)
	return &side{reader: reader, decoder: decoder, count: count}, err
}

// bytes returns n elements as they are stored; they are valid until the next call.
func (s *side) bytes(first, n int64) []byte {
	unit := int64(s.decoder.UnitSize())
	if s.count <= wholeLimit {
		if s.whole == nil {
			s.whole = make([]byte, s.count*unit)
			s.read(s.whole, 0)
		}
		return s.whole[first*unit : (first+n)*unit]
	}
	s.raw = resize(s.raw, n*unit)
	s.read(s.raw, first)
	return s.raw
}

// read reads elements unless reading has failed.
func (s *side) read(dst []byte, first int64) {
	if s.err == nil {
		s.err = s.reader.ReadElements(dst, first)
	}
}

// values sets dst to the elements from first on.
func (s *side) values(dst []complex128, first int64) {
	s.decode(dst, s.bytes(first, int64(len(dst))), s.decoder)
}

// at returns the elements at the offsets. Where many are near each other, all between
// them is read too, which takes less time than as many reads.
func (s *side) at(offsets []int64) []complex128 {
	values := make([]complex128, len(offsets))
	unit := int64(s.decoder.UnitSize())
	if s.count > wholeLimit && len(offsets) > fewOffsets && int64(len(offsets))*nearBytes >= s.count*unit {
		gathered := make([]byte, 0, int64(len(offsets))*unit)
		for i := 0; i < len(offsets); {
			first := offsets[i] / chunk * chunk
			raw := s.bytes(first, min(chunk, s.count-first))
			for ; i < len(offsets) && offsets[i]/chunk*chunk == first; i++ {
				gathered = append(gathered, raw[(offsets[i]-first)*unit:][:unit]...)
			}
		}
		s.decode(values, gathered, s.decoder)
		return values
	}
	for i, offset := range offsets {
		s.values(values[i:i+1], offset)
	}
	return values
}

// run returns n elements from first on, none if n is negative.
func (s *side) run(first, n int64) []complex128 {
	if n <= 0 {
		return nil
	}
	values := make([]complex128, n)
	s.values(values, first)
	return values
}

// decode sets dst to what the stored elements are to the decoder.
func (s *side) decode(dst []complex128, raw []byte, decoder tensor.Decoder) {
	host := decoder.Host()
	s.host = resize(s.host, int64(len(dst)*host.Size()))
	decoder.Decode(s.host, raw)
	if host.Complex() {
		tensor.Complex128s(dst, s.host, host)
		return
	}
	s.reals = resize(s.reals, int64(len(dst)))
	tensor.Float64s(s.reals, s.host, host)
	for i, v := range s.reals {
		dst[i] = complex(v, 0)
	}
}

func resize[T any](s []T, n int64) []T {
	if int64(cap(s)) < n {
		return make([]T, n)
	}
	return s[:n]
}

// pair is what the tests of the patterns inspect.
type pair struct {
	ctx      context.Context
	result   *metrics.Result
	request  metrics.Request
	tensors  *Tensors
	npu, ref *side
	format   precision // of the NPU's type, zero for integers
	errors   int64     // of the strict policy
	sampled  *sample
	// facts and confidence are those of the pattern that is tested.
	facts      record.Facts
	confidence record.Confidence
}

func newPair(ctx context.Context, in *Tensors) (*pair, error) {
	p := &pair{ctx: ctx, result: in.Result, request: in.Request, tensors: in}
	p.format, _ = precisionOf(in.Request.NPUDType)
	count, ok := in.Request.Shape.Count()
	switch npu, okNPU := p.npuShape().Count(); {
	case !ok:
		return nil, fmt.Errorf("shape %s has no number of elements", in.Request.Shape)
	case in.Result != nil && in.Result.Total != count:
		return nil, fmt.Errorf("result of %d elements for a shape of %d", in.Result.Total, count)
	case !okNPU || npu != count:
		return nil, fmt.Errorf("NPU shape %s of another number of elements than %s", p.npuShape(), p.request.Shape)
	}
	if in.Result != nil {
		p.errors = in.Result.StrictErrors()
	}
	var err, refErr error
	p.npu, err = newSide(in.NPU, in.Request.NPUDType, count)
	p.ref, refErr = newSide(in.Ref, in.Request.RefDType, count)
	return p, cmp.Or(err, refErr)
}

// err is what keeps the tests from their work: of reading, or that nobody waits
// for them any more.
func (p *pair) err() error { return cmp.Or(p.npu.err, p.ref.err, p.ctx.Err()) }

// near reports whether n passes where the reference is r. The limits are those
// of the request, but at least a few units in the last place of the NPU's type: a
// moved element keeps its rounding error.
func (p *pair) near(n, r complex128) bool {
	if n == r || cmplx.IsNaN(n) && cmplx.IsNaN(r) {
		return true
	}
	d, size := magnitude(n-r), magnitude(r)
	return finite(d) && finite(size) && (p.request.Limits.Passes(d, size) || d <= 2*p.format.epsilon*size)
}

// magnitude is |v|, quickly for real numbers.
func magnitude(v complex128) float64 {
	if imag(v) == 0 {
		return math.Abs(real(v))
	}
	return exact.Hypot(real(v), imag(v))
}

func finite(x float64) bool { return x-x == 0 }
