package diagnose

import (
	"cmp"
	"context"
	"math"
	"math/cmplx"
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/exact"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// wholeLimit is the number of elements up to which a tensor is read at once.
const wholeLimit = 1 << 16

// side reads the elements of one tensor as numbers.
type side struct {
	reader  metrics.Reader
	decoder tensor.Decoder
	count   int64
	whole   []byte // all elements of a small tensor, after the first read
	raw     []byte // buffer of the last read
	host    []byte
	reals   []float64
	err     error // of reading; the elements are then invalid
}

func newSide(reader metrics.Reader, dtype tensor.DType, count int64) (*side, error) {
	decoder, err := tensor.NewDecoder(dtype)
	return &side{reader: reader, decoder: decoder, count: count}, err
}

// readBytes returns n stored elements, valid until the next call.
func (s *side) readBytes(first, n int64) []byte {
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

// read reads elements unless an earlier read failed.
func (s *side) read(dst []byte, first int64) {
	if s.err == nil {
		s.err = s.reader.ReadElements(dst, first)
	}
}

// readValues sets dst to the elements from first on.
func (s *side) readValues(dst []complex128, first int64) {
	s.decode(dst, s.readBytes(first, int64(len(dst))), s.decoder)
}

// readElements returns the elements at rising offsets, and their stored bytes. It reads neighbours in one
// call.
func (s *side) readElements(offsets []int64) (values []complex128, stored []byte) {
	stored = make([]byte, 0, len(offsets)*s.decoder.UnitSize())
	for i, n := 0, 0; i < len(offsets); i += n {
		n = 1
		for i+n < len(offsets) && offsets[i+n] == offsets[i]+int64(n) {
			n++
		}
		stored = append(stored, s.readBytes(offsets[i], int64(n))...)
	}
	values = make([]complex128, len(offsets))
	s.decode(values, stored, s.decoder)
	return values, stored
}

// readRun returns n elements from first on, none if n is negative.
func (s *side) readRun(first, n int64) []complex128 {
	if n <= 0 {
		return nil
	}
	values := make([]complex128, n)
	s.readValues(values, first)
	return values
}

// decode decodes stored elements with a decoder.
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

// pair holds two tensors for the tests of the patterns.
type pair struct {
	ctx      context.Context
	result   *metrics.Result
	request  metrics.Request
	tensors  *Tensors
	npu, ref *side
	format   precision // of the NPU's type, zero for integers
	errors   int64     // by the strict policy
	sampled  *sample
	// facts and confidence belong to the pattern under test.
	facts      finding.Facts
	confidence finding.Confidence
}

func newPair(ctx context.Context, in *Tensors) (*pair, error) {
	p := &pair{ctx: ctx, result: in.Result, request: in.Request, tensors: in}
	p.format, _ = precisionOf(in.Request.NPUDType)
	count, ok := in.Request.Shape.Count()
	switch npu, okNPU := p.npuShape().Count(); {
	case !ok:
		return nil, lang.Errorf("shape %s has no number of elements", in.Request.Shape)
	case in.Result != nil && in.Result.Total != count:
		return nil, lang.Errorf("result of %d elements for a shape of %d", in.Result.Total, count)
	case !okNPU || npu != count:
		return nil, lang.Errorf("NPU shape %s of another number of elements than %s", p.npuShape(), p.request.Shape)
	}
	if in.Result != nil {
		p.errors = in.Result.StrictErrors()
	}
	var err, refErr error
	p.npu, err = newSide(in.NPU, in.Request.NPUDType, count)
	p.ref, refErr = newSide(in.Ref, in.Request.RefDType, count)
	return p, cmp.Or(err, refErr)
}

// err returns the error that stops the tests: of reading, or of a canceled
// context.
func (p *pair) err() error { return cmp.Or(p.npu.err, p.ref.err, p.ctx.Err()) }

// isNear reports whether n passes for the reference r, within the limits of the request, but at least a few ulp of the
// NPU's type, since a moved element keeps its rounding error.
func (p *pair) isNear(n, r complex128) bool {
	if n == r || cmplx.IsNaN(n) && cmplx.IsNaN(r) {
		return true
	}
	d, size := magnitude(n-r), magnitude(r)
	return isFinite(d) && isFinite(size) && (p.request.Limits.Passes(d, size) || d <= 2*p.format.epsilon*size)
}

// magnitude returns |v|, with a fast path for real numbers.
func magnitude(v complex128) float64 {
	if imag(v) == 0 {
		return math.Abs(real(v))
	}
	return exact.Hypot(real(v), imag(v))
}

func isFinite(x float64) bool { return x-x == 0 }

const (
	// sampleRuns is the number of runs sampled all over a tensor, each of runLength elements;
	// errorRuns is the number of runs around its first errors. All listed errors are added.
	sampleRuns, errorRuns = 64, 8
	runLength             = 64
	// firstSample is the number of samples that usually suffice to reject a hypothesis.
	firstSample = 64
)

// sample has sampled pairs of elements, by rising offset.
type sample struct {
	offsets []int64
	n, r    []complex128
	stored  []byte // stored elements of the NPU
	// hasErrors: some n do not pass; otherwise no hypothesis is tested. maxAfter is the limit of the sum of
	// |value - want| under a hypothesis that holds.
	hasErrors bool
	maxAfter  float64
	// runs are the first offsets of the runs in the sample, each of length elements.
	runs   []int64
	length int64
}

// sample returns the sample of the pair, read on first use: runs at places that depend only on
// the number of elements, and errors.
func (p *pair) sample() *sample {
	if p.sampled != nil {
		return p.sampled
	}
	s, errors := &sample{runs: []int64{0}, length: p.npu.count}, p.knownErrors()
	if last := p.npu.count - runLength; p.npu.count > sampleRuns*runLength {
		s.runs, s.length = sampleOffsets(last, sampleRuns), runLength
		for _, offset := range errors[:min(errorRuns, len(errors))] {
			s.runs = append(s.runs, max(0, min(offset-runLength/2, last)))
		}
	}
	firsts := slices.Sorted(slices.Values(s.runs))
	s.offsets = make([]int64, 0, int64(len(firsts))*s.length+int64(len(errors)))
	add := func(first, end int64) {
		if n := len(s.offsets); n > 0 {
			first = max(first, s.offsets[n-1]+1)
		}
		for ; first < end; first++ {
			s.offsets = append(s.offsets, first)
		}
	}
	for _, first := range firsts {
		for ; len(errors) > 0 && errors[0] < first; errors = errors[1:] {
			add(errors[0], errors[0]+1)
		}
		add(first, first+s.length)
	}
	for _, offset := range errors {
		add(offset, offset+1)
	}
	s.n, s.stored = p.npu.readElements(s.offsets)
	s.r, _ = p.ref.readElements(s.offsets)
	s.maxAfter = maxRemaining(s.n, s.r)
	for i := 0; i < len(s.n) && !s.hasErrors; i++ {
		s.hasErrors = !p.isNear(s.n[i], s.r[i])
	}
	p.sampled = s
	return s
}

// pairsAt returns pairs at rising offsets, from the sample if it was read; it must contain them.
func (p *pair) pairsAt(offsets []int64) (n, r []complex128) {
	if p.sampled == nil {
		n, _ = p.npu.readElements(offsets)
		r, _ = p.ref.readElements(offsets)
		return n, r
	}
	for _, offset := range offsets {
		i, _ := slices.BinarySearch(p.sampled.offsets, offset)
		n, r = append(n, p.sampled.n[i]), append(r, p.sampled.r[i])
	}
	return n, r
}

// sampleOffsets returns at most size offsets below count, one in each of equal parts, at pseudo-random
// places that do not follow the axes of the tensor.
func sampleOffsets(count, size int64) []int64 {
	if count <= size {
		return firstIntegers(count)
	}
	offsets := make([]int64, size)
	part := count / size
	for i := range offsets {
		at := int64(float64(count) * float64(i) / float64(size))
		offsets[i] = at + int64(splitmix64(uint64(i))%uint64(part))
	}
	return offsets
}

// splitmix64 returns a pseudo-random number (the finalizer of splitmix64).
func splitmix64(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// knownErrors returns the offsets of the errors that the result lists, rising.
func (p *pair) knownErrors() []int64 {
	if p.result == nil {
		return nil
	}
	offsets := slices.Clone(p.result.ErrorOffsets)
	for _, last := range []*metrics.Element{p.result.Beyond.Last, p.result.Mismatch.Last} {
		if last != nil {
			offsets = append(offsets, last.Offset)
		}
	}
	slices.Sort(offsets)
	return slices.Compact(offsets)
}

// remainingShare is the largest share of the differences that may remain under a hypothesis.
const remainingShare = 0.1

// maxRemaining returns the limit of the sum of differences under a hypothesis that holds.
func maxRemaining(n, r []complex128) (sum float64) {
	for i := range n {
		if d := magnitude(n[i] - r[i]); isFinite(d) {
			sum += d
		}
	}
	return sum * remainingShare * 1.001 // 1.001: summing in another order rounds differently
}

// minDistinct is the number of distinct values below which matches may be a single repeated
// coincidence.
const minDistinct = 3

// hypothesisFit measures how well a hypothesis explains a sample: under the hypothesis, value is compared with want
// instead of n with r.
type hypothesisFit struct {
	tried, passed int
	wrong, fixed  int     // samples whose n does not pass; wrong samples that pass under the hypothesis
	better, worse int     // samples that come closer; samples that move away
	before, after float64 // sums of |n - r| and |value - want|
	// A sample is telling if 0 would not pass: where the reference is near 0, nearly every small number passes. telling
	// counts the telling samples, tellingPassed the passing and tellingFixed the fixed ones. values and wants are the
	// first few distinct values of passing telling samples.
	telling, tellingPassed, tellingFixed int
	values, wants                        []complex128
	maxAfter                             float64 // limit of after, 0 for none
}

func (f *hypothesisFit) add(p *pair, n, r, value, want complex128) {
	f.tried++
	good, wrong := p.isNear(value, want), !p.isNear(n, r)
	if good {
		f.passed++
	}
	if wrong {
		f.wrong++
		if good {
			f.fixed++
		}
	}
	if !p.isNear(0, want) {
		f.telling++
		if good {
			f.tellingPassed++
			f.values, f.wants = addDistinct(f.values, value), addDistinct(f.wants, want)
		}
		if good && wrong {
			f.tellingFixed++
		}
	}
	before, after := magnitude(n-r), magnitude(value-want)
	switch {
	case isFinite(before) && isFinite(after):
		f.before += before
		f.after += after
		if after < before {
			f.better++
		} else if after > before {
			f.worse++
		}
	case isFinite(after):
		f.better++
	case isFinite(before):
		f.worse++
	}
}

// isRefuted reports whether too many samples fail, or differ by too much, for the hypothesis to
// hold on a sample of this size.
func (f *hypothesisFit) isRefuted(size int) bool {
	return (f.tried-f.passed)*100 > size || f.maxAfter > 0 && f.after > f.maxAfter
}

// addDistinct adds a value to a list of the first few distinct values.
func addDistinct(values []complex128, v complex128) []complex128 {
	if len(values) >= minDistinct || slices.Contains(values, v) {
		return values
	}
	return append(values, v)
}

// isVaried reports whether both sides have several distinct values.
func (f *hypothesisFit) isVaried() bool {
	return len(f.values) >= minDistinct && len(f.wants) >= minDistinct
}

// isExplained reports whether the hypothesis explains the pair: 99 % of the samples pass, 95 % of the samples
// that were wrong without it, and 95 % of the telling samples (see the field). To exclude hypotheses under which
// everything passes, the samples must come closer by a factor of 10, nine in ten of the samples that change must come
// closer, and the values must vary.
func (f *hypothesisFit) isExplained() bool {
	return f.tried >= 4 && f.passed*100 >= f.tried*99 && f.wrong > 0 && f.fixed*100 >= f.wrong*95 && f.better > 9*f.worse && f.after <= remainingShare*f.before &&
		f.tellingPassed*100 >= f.telling*95 && f.tellingFixed >= minDistinct && f.isVaried()
}

// passText returns the share of passing samples.
func (f *hypothesisFit) passText() lang.Sentence {
	return lang.Say("%d of %d samples pass (>= 99 %%)", f.passed, f.tried)
}

// meanDifferences returns the mean |d| without and with the hypothesis.
func (f *hypothesisFit) meanDifferences() (before, after float64) {
	return f.before / float64(f.tried), f.after / float64(f.tried)
}
