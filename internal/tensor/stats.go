package tensor

import (
	"fmt"
	"math"

	"dumptool/internal/exact"
)

// Stats describes the elements of a tensor. A non-finite element counts in one of NaN, PosInf and
// NegInf; a complex element counts once: as NaN if a part is NaN, else as +Inf if a part is +Inf,
// else as -Inf.
type Stats struct {
	Count, NaN, PosInf, NegInf int64
	// Saturated counts finite elements at the limits of the type: the largest magnitude of a
	// floating-point type, both bounds of a signed integer, the upper bound of an unsigned integer
	// (zero is common). bool, uint1, undefined bytes and resource handles are not numbers and have
	// no limits.
	Saturated int64
	// HalfTraces counts float32 values of magnitude 65504, 65536 or 98304: the device converts the
	// largest, an infinite and a NaN float16 to these values. Common clip values such as 65500 are
	// not counted.
	HalfTraces int64
	// Extremes are nil without finite elements and for complex types. A zero is never negative. Min
	// and Max of 64-bit integers are rounded to float64.
	Extremes[float64]
	// Norm is the square root of the sum of the squares of the finite elements: nil if Min is nil,
	// and without NewNormAccumulator.
	Norm *float64
	// FirstNonFinite is the first element that is not finite, FirstAtLimit the first element
	// counted in Saturated or HalfTraces; nil for none.
	FirstNonFinite, FirstAtLimit *Element
}

// Extremes are the extremes and the mean of the finite elements, nil if unknown. In documents a
// Number may be infinite or NaN, a float64 may not.
type Extremes[F float64 | Number] struct {
	// Min, Max and Mean are taken over the finite elements.
	Min  *F `json:"min"`
	Max  *F `json:"max"`
	Mean *F `json:"mean"`
}

// Element is an element of a tensor.
type Element struct {
	Index int64   // in the order of storage
	Value float64 // of a complex element, the part that decides its class
}

// NonFinite is the number of elements that are not finite.
func (s *Stats) NonFinite() int64 { return s.NaN + s.PosInf + s.NegInf }

// Highest is the largest element as in numpy.max: NaN if an element is NaN. It is nil for a tensor
// without elements, and for a complex tensor whose largest element is finite.
func (s *Stats) Highest() *float64 { return s.extremeOfAll(s.Max, s.PosInf, 1) }

// Lowest is the smallest element as in numpy.min; see Highest.
func (s *Stats) Lowest() *float64 { return s.extremeOfAll(s.Min, s.NegInf, -1) }

// extremeOfAll returns the extreme of all elements from the extreme of the finite elements and the
// number of infinities of that sign.
func (s *Stats) extremeOfAll(finite *float64, infinities int64, sign int) *float64 {
	switch {
	case s.NaN > 0:
		return new(math.NaN())
	case infinities > 0:
		return new(math.Inf(sign))
	case s.Count > 0 && s.NonFinite() == s.Count:
		return new(math.Inf(-sign))
	}
	return finite
}

// Accumulator gathers the Stats of elements that arrive block by block. The
// same blocks give the same bits on every machine.
type Accumulator struct {
	dec    Decoder
	limits limits

	count                        int64
	counts                       [numClasses]int64
	firstNonFinite, firstAtLimit *Element
	finite                       partial
	huge                         Sum // of values from hugeLimit on, times hugeScale
	squares                      *squares
	// codes counts the codes of types of at most 16 bits, nil for other types. Its counts are not
	// yet in the counts and sums above.
	codes *codeCounter
	// scratch is the memory that addEach decodes into, allocated on first use.
	scratch *scratch
}

type scratch struct {
	decoded [128 * 8]byte
	values  [128]float64
}

// partial summarises the finite elements of a part of a tensor.
type partial struct {
	low, high float64 // low > high without elements
	sum       Sum
}

func (p *partial) merge(q partial) {
	p.low, p.high = min(p.low, q.low), max(p.high, q.high)
	p.sum = p.sum.Merge(q.sum)
}

// Values from hugeLimit on would overflow an ordinary sum: they have their own sum, scaled down.
const (
	hugeLimit = 0x1p+900
	hugeScale = 0x1p-200
)

// NewAccumulator returns an empty accumulator for elements of the type, or an
// *UnsupportedType error if the type has none.
func NewAccumulator(d DType) (*Accumulator, error) {
	dec, err := NewDecoder(d)
	if err != nil {
		return nil, err
	}
	a := &Accumulator{dec: dec, finite: partial{low: math.Inf(1), high: math.Inf(-1)}}
	if d.Bits() <= 16 {
		narrow := narrowTypeOf(dec)
		a.limits, a.codes = narrow.limits, &codeCounter{narrowType: narrow}
	} else {
		a.limits = wideLimits(d)
	}
	return a, nil
}

// NewNormAccumulator is NewAccumulator for Stats with a norm, which costs a second pass over the
// elements.
func NewNormAccumulator(d DType) (*Accumulator, error) {
	a, err := NewAccumulator(d)
	if err != nil {
		return nil, err
	}
	a.squares = new(squares)
	return a, nil
}

// Add adds a block of elements: bytes as they are stored, but packed elements
// unpacked to a byte each (see Unpack). It panics if the block does not hold
// whole elements.
func (a *Accumulator) Add(block []byte) {
	const chunkBytes = 8 << 10 // stays in the nearest cache for a second pass
	unit := a.dec.UnitSize()
	if len(block)%unit != 0 {
		panic(fmt.Sprintf("tensor: %d bytes are not whole elements of %s", len(block), a.dec.DType()))
	}
	if a.squares != nil && !a.dec.Host().Complex() {
		a.decode(block, a.squares.add)
	}
	if a.codes != nil && len(block) >= a.codes.enough {
		a.addCodes(block)
		return
	}
	for len(block) > 0 {
		chunk := block[:min(chunkBytes, len(block))]
		a.addChunk(chunk)
		a.count += int64(len(chunk) / unit)
		block = block[len(chunk):]
	}
}

// addChunk sums a chunk of a type of at least 32 bits in one pass. If its bounds show values that
// are not ordinary, it adds the values one by one.
func (a *Accumulator) addChunk(chunk []byte) {
	var p partial
	switch host := a.dec.Host(); {
	case host == HostInt64 || host == HostUint64:
		a.addWords(chunk)
		return
	case host == HostInt32:
		p = scanInts(chunk, 0)
	case host == HostUint32:
		p = scanInts(chunk, 1<<31)
	case a.dec.DType() == Float32:
		p = scanFloats(chunk)
	default:
		a.addEach(chunk)
		return
	}
	if p.low > -a.limits.quiet && p.high < a.limits.quiet {
		a.finite.merge(p)
		return
	}
	a.addEach(chunk)
}

// addEach adds elements one by one.
func (a *Accumulator) addEach(chunk []byte) {
	_, parts := a.dec.Host().splitParts()
	index := a.count
	a.decode(chunk, func(values []float64) {
		if parts == 2 {
			a.addComplex(values, index)
		} else {
			a.addValues(values, index)
		}
		index += int64(len(values) / parts)
	})
}

// decode calls use with the values of elements in batches; complex elements become two parts.
func (a *Accumulator) decode(chunk []byte, use func(values []float64)) {
	if a.scratch == nil {
		a.scratch = new(scratch)
	}
	host := a.dec.Host()
	part, parts := host.splitParts()
	for len(chunk) > 0 {
		n := min(len(chunk)/a.dec.UnitSize(), len(a.scratch.decoded)/host.Size(), len(a.scratch.values)/parts)
		decoded, values := a.scratch.decoded[:n*host.Size()], a.scratch.values[:n*parts]
		a.dec.Decode(decoded, chunk[:n*a.dec.UnitSize()])
		Float64s(values, decoded, part)
		use(values)
		chunk = chunk[n*a.dec.UnitSize():]
	}
}

// addValues adds real elements.
func (a *Accumulator) addValues(values []float64, index int64) {
	p := a.finite
	for i, x := range values {
		if !(math.Abs(x) < a.limits.quiet) {
			if c := a.limits.classOf(x); c != ordinary {
				a.countSpecial(c, Element{index + int64(i), x})
				if c < atLimit {
					continue
				}
			}
		}
		if x < p.low {
			p.low = x
		}
		if x > p.high {
			p.high = x
		}
		if math.Abs(x) < hugeLimit {
			p.sum = p.sum.Plus(x)
		} else {
			a.huge = a.huge.Plus(float64(x * hugeScale))
		}
	}
	a.finite = p
}

// addComplex adds complex elements, given as real and imaginary parts.
func (a *Accumulator) addComplex(parts []float64, index int64) {
	for ; len(parts) >= 2; parts, index = parts[2:], index+1 {
		x, y := parts[0], parts[1]
		if math.Abs(x) < a.limits.quiet && math.Abs(y) < a.limits.quiet {
			continue
		}
		c, other := a.limits.classOf(x), a.limits.classOf(y)
		if other < c {
			c, x = other, y
		}
		if c != ordinary {
			a.countSpecial(c, Element{index, x})
		}
	}
}

// countSpecial counts an element that is not ordinary, in its class.
func (a *Accumulator) countSpecial(c class, e Element) {
	a.counts[c]++
	first := &a.firstAtLimit
	if c < atLimit {
		first = &a.firstNonFinite
	}
	if *first == nil {
		*first = &e
	}
}

// Stats returns the statistics of all elements added before.
func (a *Accumulator) Stats() Stats {
	if a.codes != nil {
		a.foldCodes()
	}
	s := Stats{
		Count: a.count, NaN: a.counts[nan], PosInf: a.counts[posInf], NegInf: a.counts[negInf],
		Saturated: a.counts[atLimit], HalfTraces: a.counts[halfTrace],
		FirstNonFinite: a.firstNonFinite, FirstAtLimit: a.firstAtLimit,
	}
	finite := s.Count - s.NonFinite()
	if finite == 0 || a.dec.Host().Complex() {
		return s
	}
	low, high := a.finite.low+0, a.finite.high+0 // -0 + 0 is 0
	// Rounding must not carry the mean beyond the bounds.
	mean := float64(a.huge.DivideBy(finite)/hugeScale) + a.finite.sum.DivideBy(finite)
	mean = min(max(mean, low), high)
	s.Min, s.Max, s.Mean = &low, &high, &mean
	if a.squares != nil {
		norm := a.squares.norm()
		s.Norm = &norm
	}
	return s
}

// class is the class in which an element is counted. A complex element has the lower class of its
// parts.
type class uint8

const (
	nan class = iota
	posInf
	negInf
	atLimit
	halfTrace
	ordinary
	numClasses
)

// limits describes the values of a type, or of the parts of a complex type, that are not ordinary.
type limits struct {
	low, high float64 // the smallest and the largest number of the type; equal if only one of them is a limit, NaN for none
	traces    bool    // values may be float16 values that the device converted
	quiet     float64 // values below this magnitude are ordinary, and their sums do not overflow
}

// Limits returns the values at the limits of a type, as counted in Stats.Saturated: low and high
// are equal if there is one only, NaN for none.
func Limits(d DType) (low, high float64) {
	dec, err := NewDecoder(d)
	if err != nil {
		return math.NaN(), math.NaN()
	}
	if d.Bits() > 16 {
		l := wideLimits(d)
		return l.low, l.high
	}
	l := narrowTypeOf(dec).limits
	return l.low, l.high
}

// wideLimits returns the limits of a type of more than 16 bits.
func wideLimits(d DType) limits {
	var high float64
	switch host := d.Host(); {
	case d == Resource: // a handle is no number
		return limits{low: math.NaN(), high: math.NaN(), quiet: math.Inf(1)}
	case d == Complex32:
		high = MaxFloat16
	case d == Float32 || d == Complex64:
		return limits{low: -math.MaxFloat32, high: math.MaxFloat32, traces: true, quiet: MaxFloat16}
	case d == Float64 || d == Complex128:
		return limits{low: -math.MaxFloat64, high: math.MaxFloat64, quiet: hugeLimit}
	case host == HostUint32 || host == HostUint64:
		high = math.Ldexp(1, d.Bits()) - 1
		return limits{low: high, high: high, quiet: high}
	default:
		high = math.Ldexp(1, d.Bits()-1) - 1
		return limits{low: -high - 1, high: high, quiet: high}
	}
	return limits{low: -high, high: high, quiet: high}
}

// isQuiet reports whether x and all values of lower magnitude are ordinary.
func (l *limits) isQuiet(x float32) bool { return math.Abs(float64(x)) < l.quiet }

// classOf returns the class of a value.
func (l *limits) classOf(x float64) class {
	switch magnitude := math.Abs(x); {
	case x != x:
		return nan
	case x > math.MaxFloat64:
		return posInf
	case x < -math.MaxFloat64:
		return negInf
	case x == l.high || x == l.low:
		return atLimit
	case l.traces && (magnitude == MaxFloat16 || magnitude == 65536 || magnitude == 98304):
		return halfTrace
	}
	return ordinary
}

// Squares of values from hugeRoot on would overflow an ordinary sum: they have their own sum, of
// scaled values.
const (
	hugeRoot  = 0x1p+450
	rootScale = 0x1p-600
)

// squares are the sums of the squares of finite values.
type squares struct {
	sum  Sum // sum of squares of values below hugeRoot
	huge Sum // sum of the larger squares, times rootScale
}

// add adds the squares of the finite values. The conversions force rounding of each product, so
// that no machine fuses it with the addition.
func (s *squares) add(values []float64) {
	for _, x := range values {
		switch {
		case math.Abs(x) < hugeRoot:
			s.sum = s.sum.Plus(float64(x * x))
		case x-x == 0:
			x *= rootScale
			s.huge = s.huge.Plus(float64(x * x))
		}
	}
}

// norm is the square root of the sum of all squares.
func (s *squares) norm() float64 {
	if s.huge == (Sum{}) {
		return math.Sqrt(s.sum.Total())
	}
	small := math.Sqrt(s.sum.Total()) * rootScale
	return math.Sqrt(s.huge.Total()+float64(small*small)) / rootScale
}

// Sum is a compensated sum: the rounding errors of its additions are summed in Rest, so that it is
// as accurate as a sum in twice the precision (Ogita, Rump and Oishi, "Accurate Sum and Dot
// Product", Sum2). The zero value is the empty sum.
type Sum struct{ Value, Rest float64 }

// Plus returns the sum with x added. x and the sum must be finite.
func (s Sum) Plus(x float64) Sum {
	sum := s.Value + x
	part := sum - s.Value
	return Sum{sum, s.Rest + ((s.Value - (sum - part)) + (x - part))}
}

// Merge returns the sum of the terms of both sums.
func (s Sum) Merge(t Sum) Sum {
	s = s.Plus(t.Value)
	s.Rest += t.Rest
	return s
}

// Total returns the sum rounded to float64.
func (s Sum) Total() float64 { return s.Value + s.Rest }

// DivideBy returns the sum divided by n, from 1 to 2^53: the quotient of the rounded sum, corrected by
// the rounding errors of the sum and of the quotient.
func (s Sum) DivideBy(n int64) float64 {
	total := Sum{Value: s.Value}.Plus(s.Rest)
	quotient := total.Value / float64(n)
	remainder := exact.Remainder(total.Value, quotient, float64(n)) + total.Rest
	return quotient + remainder/float64(n)
}
