package metrics

import (
	"encoding/binary"
	"math"
	"math/bits"

	"dumptool/internal/tensor"
)

// Packed is a result in as few bytes as its numbers have: that of a tiny pair in
// a sixth of the struct. A run keeps the results of all its pairs packed and reads
// one at a time. It is for the memory of one run; no file has it.
type Packed string

// Pack packs a result; none is empty.
func (r *Result) Pack() Packed {
	if r == nil {
		return ""
	}
	c := codec{data: make([]byte, 0, 512)}
	c.numbers(r)
	c.lists(r)
	if len(c.data) == 0 {
		c.data = append(c.data, 0)
	}
	return Packed(c.data)
}

// Unpack returns a new copy of the result, nil for none.
func (p Packed) Unpack() *Result {
	r, c := p.numbers()
	if r != nil {
		c.lists(r)
	}
	return r
}

// Numbers is Unpack without the lists of elements, bins and points, which take
// most of the time.
func (p Packed) Numbers() *Result {
	r, _ := p.numbers()
	return r
}

func (p Packed) numbers() (*Result, *codec) {
	if p == "" {
		return nil, nil
	}
	r, c := new(Result), &codec{unpacking: true, packed: p}
	c.numbers(r)
	return r, c
}

// codec packs or unpacks a result: the same methods do both, as each of them
// either reads the number that it is given or sets it. Of a number that others
// give away, or nearly, only the distance from what they say is packed. A number
// is a word. Each word has a code of four bits, and the bytes that it needs; two
// codes share a byte. The zeros at the end have nothing.
type codec struct {
	unpacking bool
	data      []byte // what was packed
	codes     int    // where in data the codes of two words are
	packed    Packed // what is to unpack, from at on
	at        int
	code      byte // the second of two codes to unpack
	second    bool // the next code is the second of two
	zeros     int  // words of 0 that are to pack, or unpacked already
	defined   bool // whether the last metric was
	ref, npu  tensor.DType
	finite    int64 // pairs that are finite on both sides
}

// The codes of words. Up to 8 they are the number of the word's bytes.
const (
	codeOne   = 9  // a word that is 1
	codeZeros = 10 // two words of 0; each code above it stands for twice as many
	codeMax   = 15
)

// word packs or unpacks a word.
func (c *codec) word(word uint64) uint64 {
	switch {
	case c.unpacking:
		return c.next()
	case word == 0:
		c.zeros++
		return word
	}
	for code := byte(codeMax); c.zeros > 0; code-- {
		for n := 2 << (code - codeZeros); code >= codeZeros && c.zeros >= n; c.zeros -= n {
			c.put(code)
		}
		if code < codeZeros {
			c.put(0)
			c.zeros--
		}
	}
	if word == 1 {
		c.put(codeOne)
		return word
	}
	length := (bits.Len64(word) + 7) / 8
	c.put(byte(length))
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], word)
	c.data = append(c.data, b[:length]...)
	return word
}

// put packs a code.
func (c *codec) put(code byte) {
	if c.second {
		c.data[c.codes] |= code << 4
	} else {
		c.codes = len(c.data)
		c.data = append(c.data, code)
	}
	c.second = !c.second
}

// next unpacks a word.
func (c *codec) next() (word uint64) {
	if c.zeros > 0 {
		c.zeros--
		return 0
	}
	code := c.code
	switch {
	case c.second:
	case c.at == len(c.packed):
		return 0
	default:
		code, c.code = c.packed[c.at]&15, c.packed[c.at]>>4
		c.at++
	}
	c.second = !c.second
	switch {
	case code == codeOne:
		return 1
	case code >= codeZeros:
		c.zeros = 2<<(code-codeZeros) - 1
		return 0
	}
	for i, b := range []byte(c.packed[c.at : c.at+int(code)]) {
		word |= uint64(b) << (8 * i)
	}
	c.at += int(code)
	return word
}

func whole[T ~int | ~int32 | ~int64](c *codec, n *T) {
	x := int64(*n)
	w := c.word(uint64(x<<1) ^ uint64(x>>63))
	*n = T(int64(w>>1) ^ -int64(w&1))
}

func (c *codec) counts(all ...*int64) {
	for _, n := range all {
		whole(c, n)
	}
}

// nearTo packs or unpacks a whole number that is near another one.
func nearTo[T ~int | ~int32 | ~int64](c *codec, n *T, guess T) {
	d := *n - guess
	whole(c, &d)
	*n = guess + d
}

// floats has the bytes of a float64 in reverse: those of most types end in zeros.
func (c *codec) floats(all ...*float64) {
	for _, x := range all {
		*x = math.Float64frombits(bits.ReverseBytes64(c.word(bits.ReverseBytes64(math.Float64bits(*x)))))
	}
}

// guessed packs or unpacks a float64 that is a guess but for its last bits.
func (c *codec) guessed(x *float64, guess float64) {
	if math.IsNaN(guess) { // of one kind, whatever made it
		guess = math.NaN()
	}
	n := int64(math.Float64bits(*x))
	nearTo(c, &n, int64(math.Float64bits(guess)))
	*x = math.Float64frombits(uint64(n))
}

func (c *codec) flag(x *bool) {
	word := uint64(0)
	if *x {
		word = 1
	}
	*x = c.word(word) == 1
}

// has packs or unpacks whether a metric is defined: most often it is if the one
// before it is.
func (c *codec) has(m *Metric) {
	differs := m.Defined != c.defined
	c.flag(&differs)
	c.defined = c.defined != differs
	m.Defined = c.defined
}

func (c *codec) metrics(all ...*Metric) {
	for _, m := range all {
		c.has(m)
		c.floats(&m.Value)
	}
}

// metric packs or unpacks a metric that is a guess but for its last bits.
func (c *codec) metric(m *Metric, guess float64) {
	if c.has(m); m.Defined {
		c.guessed(&m.Value, guess)
	} else {
		c.floats(&m.Value)
	}
}

// share packs or unpacks a metric that is a share of a number of elements.
func (c *codec) share(m *Metric, of int64) {
	part := int64(math.Round(m.Value * float64(of)))
	c.counts(&part)
	c.metric(m, float64(part)/float64(of))
}

func (c *codec) extremes(all ...*Extreme) {
	for _, e := range all {
		c.metrics(&e.Metric)
		c.counts(&e.Offset)
	}
}

// list packs or unpacks a list; an empty one is not a missing one.
func list[T any](c *codec, all *[]T, each func(*T)) {
	length := uint64(0)
	if *all != nil {
		length = uint64(len(*all)) + 1
	}
	if length = c.word(length); c.unpacking && length > 0 {
		*all = make([]T, length-1)
	}
	for i := range *all {
		each(&(*all)[i])
	}
}

// numbers and lists pack or unpack all fields of a result, as the methods below do
// those of its parts.
func (c *codec) numbers(r *Result) {
	whole(c, &r.RefDType)
	nearTo(c, &r.NPUDType, r.RefDType)
	c.ref, c.npu = r.RefDType, r.NPUDType
	c.counts(&r.Total, &r.RelUndefined, &r.Overflowed, &r.Underflowed,
		&r.SaturatedBoth, &r.SaturatedErrors, &r.WrappedErrors, &r.ZeroTail)
	nearTo(c, &r.Classes[Finite][Finite], r.Total)
	for i := range r.Classes {
		for k := range r.Classes[i] {
			if i+k > 0 {
				c.counts(&r.Classes[i][k])
			}
		}
	}
	c.finite = r.BothFinite()
	c.counts(&r.AbsHistogram.Zeros)
	nearTo(c, &r.RelHistogram.Zeros, r.AbsHistogram.Zeros)
	nearTo(c, &r.BiasCount, r.BothFinite()-r.AbsHistogram.Zeros)
	nearTo(c, &r.Differ, r.BiasCount)
	c.flag(&r.Complex)
	c.pointers(&r.Start)
	c.errors(&r.Beyond)
	c.errors(&r.Mismatch)
	r.CosineZero = Zero(c.word(uint64(r.CosineZero)))
	r.RefCRC, r.NPUCRC = uint32(c.word(uint64(r.RefCRC))), uint32(c.word(uint64(r.NPUCRC)))
	r.RefSum, r.NPUSum = c.word(r.RefSum), c.word(r.NPUSum)
	c.extremes(&r.MaxAbs, &r.MaxRel, &r.ULPMax)
	c.metrics(&r.MeanAbs, &r.MSE, &r.MeanRel, &r.Diff1, &r.ULPMean, &r.MeanD, &r.KLD)
	c.metric(&r.Scale, 1)
	c.metrics(&r.Margin, &r.MinRtol, &r.MinAtol)
	for _, q := range []*Quantiles{&r.AbsQuantiles, &r.RelQuantiles} {
		c.metrics(&q.P50, &q.P90, &q.P95, &q.P99, &q.P999)
	}
	c.sides(r)
	c.derived(r)
	c.hpaa(r)
}

// sides has the statistics of both sides: those of the NPU's values follow from
// the reference's, the mean and the mean square of the difference, and the scale.
func (c *codec) sides(r *Result) {
	c.metrics(&r.Ref.Mean, &r.Ref.Var)
	c.side(&r.Ref)
	c.metric(&r.NPU.Mean, r.Ref.Mean.Value+r.MeanD.Value)
	c.metric(&r.NPU.Var, r.MSE.Value+float64(square(r.Ref.RMS.Value)*(2*r.Scale.Value-1))-square(r.NPU.Mean.Value))
	c.side(&r.NPU)
}

// square is x*x, rounded before it is added to anything.
func square(x float64) float64 { return float64(x * x) }

// derived has the metrics that follow from the others as in result.
func (c *codec) derived(r *Result) {
	ref, npu := &r.Ref, &r.NPU
	largest := max(math.Abs(ref.Min.Value), math.Abs(ref.Max.Value))
	c.metric(&r.RMSE, math.Sqrt(r.MSE.Value))
	c.metric(&r.StdD, math.Sqrt(r.MSE.Value-square(r.MeanD.Value)))
	c.metric(&r.AccRel, r.MeanRel.Value*float64(r.BothFinite()-ref.Zeros))
	c.share(&r.R1000, r.BothFinite())
	c.share(&r.R5000, r.BothFinite())
	c.share(&r.Bias, r.BiasCount)
	c.metric(&r.BiasZ, r.Bias.Value*math.Sqrt(float64(r.BiasCount)))
	c.metric(&r.RED, r.RMSE.Value/ref.RMS.Value)
	c.metric(&r.LinfRel, r.MaxAbs.Value/largest)
	c.metric(&r.CosineRaw, r.Scale.Value*ref.RMS.Value/npu.RMS.Value)
	c.metric(&r.Cosine, r.CosineRaw.Value)
	c.metric(&r.Pearson, (float64(r.CosineRaw.Value*ref.RMS.Value*npu.RMS.Value)-float64(ref.Mean.Value*npu.Mean.Value))/(ref.Std.Value*npu.Std.Value))
	c.metric(&r.ScaleResidual, residual(r.Scale.Value, square(npu.RMS.Value/ref.RMS.Value), square(r.RED.Value)))
	c.metric(&r.SQNR, decibels(ref.RMS.Value, r.RMSE.Value, 0).Value)
	c.metric(&r.SNR, decibels(ref.Std.Value, r.StdD.Value, 0).Value)
	c.metric(&r.PSNR, decibels(largest, r.RMSE.Value, 0).Value)
}

func (c *codec) lists(r *Result) {
	list(c, &r.ErrorOffsets, func(n *int64) { c.counts(n) })
	for _, all := range []*[]Element{&r.Listed, &r.Worst, &r.WorstRel} {
		list(c, all, c.element)
	}
	for _, h := range []*Histogram{&r.AbsHistogram, &r.RelHistogram} {
		list(c, &h.Bins, func(b *HistogramBin) { whole(c, &b.Bin); c.counts(&b.Count) })
	}
	list(c, &r.Joint, c.jointBin)
	list(c, &r.Axes, c.axis)
	list(c, &r.Points, func(p *Point) { c.counts(&p.Offset); c.floats(&p.Ref, &p.NPU) })
}

func (c *codec) element(e *Element) {
	c.counts(&e.Offset)
	c.value(&e.Ref, c.ref)
	c.value(&e.NPU, c.npu)
	c.guessed(&e.Abs, math.Abs(e.NPU.Real-e.Ref.Real))
	c.guessed(&e.Rel, e.Abs/math.Abs(e.Ref.Real))
}

func (c *codec) value(v *Value, dtype tensor.DType) {
	nearTo(c, &v.DType, dtype)
	c.floats(&v.Real, &v.Imag)
	v.Int = c.word(v.Int)
}

// pointers are elements that may be missing.
func (c *codec) pointers(all ...**Element) {
	for _, e := range all {
		has := *e != nil
		if c.flag(&has); !has {
			continue
		}
		if c.unpacking {
			*e = new(Element)
		}
		c.element(*e)
	}
}

func (c *codec) errors(e *Errors) {
	c.counts(&e.Count)
	c.pointers(&e.First, &e.Last)
	c.floats(&e.MaxAbs, &e.MeanAbs)
}

// hpaa has numbers that are those of the other metrics where all are finite.
func (c *codec) hpaa(r *Result) {
	h := &r.HPAA
	c.flag(&h.NonFinite)
	c.errors(&h.Errors)
	c.metric(&h.MaxRel.Metric, r.MaxRel.Value)
	nearTo(c, &h.MaxRel.Offset, r.MaxRel.Offset)
	c.metric(&h.MeanRel, r.MeanRel.Value)
	c.metric(&h.Mean, r.Ref.Mean.Value)
	c.metric(&h.Std, r.Ref.Std.Value)
	c.metric(&h.RMS, r.Ref.RMS.Value)
}

// side has the statistics of a side whose mean and variance are known.
func (c *codec) side(s *SideStats) {
	c.metrics(&s.Min, &s.Max)
	c.counts(&s.Zeros, &s.NaN, &s.PosInf, &s.NegInf, &s.Saturated, &s.Subnormal)
	c.metric(&s.Std, math.Sqrt(s.Var.Value))
	c.metric(&s.RMS, math.Sqrt(s.Var.Value+square(s.Mean.Value)))
	c.metric(&s.L2, s.RMS.Value*math.Sqrt(float64(c.finite)))
}

func (c *codec) jointBin(b *JointBin) {
	whole(c, &b.Abs)
	whole(c, &b.Ref)
	c.counts(&b.Count)
	c.floats(&b.MinAbs, &b.MaxAbs, &b.MinRef, &b.MaxRef)
}

func (c *codec) axis(a *AxisProfile) {
	whole(c, &a.Axis)
	c.counts(&a.Size, &a.Fold)
	list(c, &a.Bins, func(b *AxisBin) { c.counts(&b.Count, &b.Errors); c.floats(&b.SumAbs, &b.SumRel) })
}
