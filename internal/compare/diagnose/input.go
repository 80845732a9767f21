package diagnose

import (
	"context"
	"fmt"
	"math"
	"math/cmplx"

	"dumptool/internal/compare/engine"
	"dumptool/internal/tensor"
)

// Input is one pair of tensors that did not agree.
type Input struct {
	// Result and Request are what was found and what was asked for. A nil
	// Result means that the shapes kept the pair from being compared: only the
	// axis order is looked at then.
	Result  *engine.Result
	Request engine.Request
	// Ref and NPU give single elements and short runs of them; some thousand
	// elements are read of each.
	Ref, NPU engine.Reader
	// NPUShape is the shape of the NPU tensor where it is not the request's,
	// which is that of the reference then; empty where it is.
	NPUShape tensor.Shape
	// OtherNPUDigests returns the names of the other operators whose NPU tensor
	// has this digest (engine.Result.NPUCRC and NPUSum) and number of elements
	// while their references differ; nil when nobody knows.
	OtherNPUDigests func(crc uint32, sum uint64, count int64) []string
}

// wholeLimit is the number of elements up to which a tensor is read at once.
const wholeLimit = 1 << 16

// side gives the elements of one tensor as numbers.
type side struct {
	reader  engine.Reader
	decoder tensor.Decoder
	count   int64
	whole   []byte // all elements of a small tensor, once they are read
	raw     []byte // buffers of the last read
	host    []byte
	reals   []float64
}

func newSide(reader engine.Reader, dtype tensor.DType, count int64) (*side, error) {
	decoder, err := tensor.NewDecoder(dtype)
	if err != nil {
		return nil, err
	}
	return &side{reader: reader, decoder: decoder, count: count}, nil
}

// bytes returns n elements as they are stored; they hold until the next call.
func (s *side) bytes(first, n int64) ([]byte, error) {
	unit := int64(s.decoder.UnitSize())
	if s.count <= wholeLimit {
		if s.whole == nil {
			whole := make([]byte, s.count*unit)
			if err := s.reader.ReadElements(whole, 0); err != nil {
				return nil, err
			}
			s.whole = whole
		}
		return s.whole[first*unit : (first+n)*unit], nil
	}
	s.raw = resize(s.raw, n*unit)
	return s.raw, s.reader.ReadElements(s.raw, first)
}

// values sets dst to the elements from first on.
func (s *side) values(dst []complex128, first int64) error {
	raw, err := s.bytes(first, int64(len(dst)))
	if err != nil {
		return err
	}
	s.decode(dst, raw, s.decoder)
	return nil
}

// at sets dst to the elements at the offsets.
func (s *side) at(dst []complex128, offsets []int64) error {
	for i, offset := range offsets {
		if err := s.values(dst[i:i+1], offset); err != nil {
			return err
		}
	}
	return nil
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

// pair is what the tests of a pattern look at.
type pair struct {
	ctx      context.Context
	result   *engine.Result
	request  engine.Request
	input    *Input
	npu, ref *side
	format   precision // of the NPU's type, zero for integers
	errors   int64     // of the strict policy
	sampled  *sample
}

func newPair(ctx context.Context, in *Input) (*pair, error) {
	p := &pair{ctx: ctx, result: in.Result, request: in.Request, input: in}
	p.format, _ = precisionOf(in.Request.NPUDType)
	count, ok := in.Request.Shape.Count()
	if !ok {
		return nil, fmt.Errorf("shape %s has no number of elements", in.Request.Shape)
	}
	if in.Result != nil {
		p.errors = in.Result.StrictErrors()
		if in.Result.Total != count {
			return nil, fmt.Errorf("result of %d elements for a shape of %d", in.Result.Total, count)
		}
	}
	var err error
	if p.npu, err = newSide(in.NPU, in.Request.NPUDType, count); err != nil {
		return nil, err
	}
	p.ref, err = newSide(in.Ref, in.Request.RefDType, count)
	return p, err
}

// near reports whether n passes where the reference is r. The limits are those
// of the request, but never less than a few units in the last place of the
// NPU's type: a moved element keeps its rounding error.
func (p *pair) near(n, r complex128) bool {
	if n == r || cmplx.IsNaN(n) && cmplx.IsNaN(r) {
		return true
	}
	d, size := magnitude(n-r), magnitude(r)
	return finite(d) && finite(size) && (d <= p.request.Limits.Of(size) || d <= 2*p.format.epsilon*size)
}

// magnitude is |v|, quickly for real numbers.
func magnitude(v complex128) float64 {
	if imag(v) == 0 {
		return math.Abs(real(v))
	}
	return cmplx.Abs(v)
}

func finite(x float64) bool { return x-x == 0 }
