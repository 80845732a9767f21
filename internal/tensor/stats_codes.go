package tensor

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"
)

// narrowType describes the codes of a type of at most 16 bits by their decoded values.
type narrowType struct {
	values []float32 // of the codes, exact
	limits limits
	// nonFinite and atLimit are the ranges of codes that are not ordinary.
	nonFinite, atLimit []codeRange
	// enough is the number of bytes above which counting codes is faster than adding elements one
	// by one.
	enough int
}

type codeRange struct{ first, last uint16 }

// narrowTypes is indexed by DType.
var narrowTypes [len(dtypes)]struct {
	once sync.Once
	narrowType
}

func narrowTypeOf(dec Decoder) *narrowType {
	n := &narrowTypes[dec.DType()]
	n.once.Do(func() { n.fill(dec) })
	return &n.narrowType
}

// CodeValues returns the values of all codes of a type of at most 16 bits, exact in float32: 256
// values for types of at most a byte, otherwise 65536. They are shared and must not be changed. It
// panics for types without elements and for wider types.
func CodeValues(d DType) []float32 {
	dec, err := NewDecoder(d)
	if err != nil || d.Bits() > 16 {
		panic("tensor: values of the codes of " + d.String())
	}
	return narrowTypeOf(dec).values
}

func (n *narrowType) fill(dec Decoder) {
	unit := dec.UnitSize()
	n.values = make([]float32, 1<<(8*unit))
	n.enough = len(n.values) / 4 * unit
	var codes [2 * rowSize]byte
	var values [rowSize]float64
	decoded := make([]byte, rowSize*dec.Host().Size())
	for row := 0; row < len(n.values); row += rowSize {
		for i := range values {
			binary.LittleEndian.PutUint16(codes[i*unit:], uint16(row+i))
		}
		dec.Decode(decoded, codes[:rowSize*unit])
		Float64s(values[:], decoded, dec.Host())
		for i, x := range values {
			n.values[row+i] = float32(x)
		}
	}
	n.limits = narrowLimits(dec.DType(), n.values)
	for code, x := range n.values {
		switch c := n.limits.classOf(float64(x)); {
		case c < atLimit:
			n.nonFinite = appendCode(n.nonFinite, uint16(code))
		case c == atLimit:
			n.atLimit = appendCode(n.atLimit, uint16(code))
		}
	}
}

// narrowLimits returns the limits of a type from the values of its codes.
func narrowLimits(d DType, values []float32) limits {
	l := limits{low: math.Inf(1), high: math.Inf(-1)}
	for _, value := range values {
		if x := float64(value); x-x == 0 {
			l.low, l.high = min(l.low, x), max(l.high, x)
		}
	}
	switch {
	case d == Undefined || d == Bool || d == Uint1: // no numbers
		l.low, l.high = math.NaN(), math.NaN()
	case l.low >= 0:
		l.low = l.high
	}
	l.quiet = min(math.Abs(l.low), l.high)
	return l
}

// appendCode appends a code above all codes of the ranges.
func appendCode(ranges []codeRange, code uint16) []codeRange {
	if n := len(ranges); n > 0 && ranges[n-1].last == code-1 {
		ranges[n-1].last = code
		return ranges
	}
	return append(ranges, codeRange{code, code})
}

// codeCounter counts how often each code occurs.
type codeCounter struct {
	*narrowType
	tables  *codeTables
	counted int64 // elements in the tables
}

// codeTables holds two counters for each code. Increments alternate between them, because an
// increment waits for the previous increment of the same counter.
type codeTables [2][1 << 16]uint32

// rowSize is the number of codes that are folded at a time.
const rowSize = 128

// tablePool holds zeroed tables, which are too large to be allocated for every tensor.
var tablePool = sync.Pool{New: func() any { return new(codeTables) }}

// addCodes counts the codes of a block.
func (a *Accumulator) addCodes(block []byte) {
	c, unit := a.codes, a.dec.UnitSize()
	n := int64(len(block) / unit)
	if c.counted+n > math.MaxUint32 {
		a.foldCodes()
	}
	if c.tables == nil {
		c.tables = tablePool.Get().(*codeTables)
	}
	if unit == 1 {
		c.tables.countBytes(block)
	} else {
		c.tables.countPairs(block)
	}
	c.counted += n
	if a.firstNonFinite == nil && c.tables.hasCodeIn(c.nonFinite) {
		a.firstNonFinite = a.findCode(c.nonFinite, block)
	}
	if a.firstAtLimit == nil && c.tables.hasCodeIn(c.atLimit) {
		a.firstAtLimit = a.findCode(c.atLimit, block)
	}
	a.count += n
}

// countPairs counts codes of two bytes.
func (t *codeTables) countPairs(block []byte) {
	even, odd := &t[0], &t[1]
	for ; len(block) >= 64; block = block[64:] {
		part := (*[64]byte)(block)
		for i := 0; i < len(part); i += 8 {
			four := binary.LittleEndian.Uint64(part[i:])
			even[uint16(four)]++
			odd[uint16(four>>16)]++
			even[uint16(four>>32)]++
			odd[four>>48]++
		}
	}
	for ; len(block) >= 2; block = block[2:] {
		even[binary.LittleEndian.Uint16(block)]++
	}
}

// countBytes counts codes of one byte. Equal codes often follow each other, so increments alternate
// between four counters of each code.
func (t *codeTables) countBytes(block []byte) {
	t0, t1 := (*[256]uint32)(t[0][:]), (*[256]uint32)(t[1][:])
	var t2, t3 [256]uint32
	for ; len(block) >= 4; block = block[4:] {
		four := binary.LittleEndian.Uint32(block)
		t0[byte(four)]++
		t1[byte(four>>8)]++
		t2[byte(four>>16)]++
		t3[four>>24]++
	}
	for _, code := range block {
		t0[code]++
	}
	for code := range t2 {
		t0[code] += t2[code]
		t1[code] += t3[code]
	}
}

// hasCode reports whether a code of [from, to) was counted.
func (t *codeTables) hasCode(from, to int) bool {
	found, even, odd := uint32(0), t[0][from:to], t[1][from:to]
	for ; len(even) >= 8 && len(odd) >= 8; even, odd = even[8:], odd[8:] {
		a, b := (*[8]uint32)(even), (*[8]uint32)(odd)
		found |= a[0] | a[1] | a[2] | a[3] | a[4] | a[5] | a[6] | a[7]
		found |= b[0] | b[1] | b[2] | b[3] | b[4] | b[5] | b[6] | b[7]
	}
	for i, n := range even {
		found |= n | odd[i]
	}
	return found != 0
}

// hasCodeIn reports whether codes of the ranges were counted.
func (t *codeTables) hasCodeIn(ranges []codeRange) bool {
	return slices.ContainsFunc(ranges, func(r codeRange) bool { return t.hasCode(int(r.first), int(r.last)+1) })
}

// findCode returns the first element of a block whose code is in one of the ranges.
func (a *Accumulator) findCode(ranges []codeRange, block []byte) *Element {
	unit := a.dec.UnitSize()
	for i := 0; i < len(block); i += unit {
		code := uint16(block[i])
		if unit == 2 {
			code = binary.LittleEndian.Uint16(block[i:])
		}
		for _, r := range ranges {
			if r.first <= code && code <= r.last {
				return &Element{a.count + int64(i/unit), float64(a.codes.values[code])}
			}
		}
	}
	return nil
}

// foldCodes adds the counts of the tables to the counts and sums of a.
func (a *Accumulator) foldCodes() {
	c := a.codes
	if c.tables == nil {
		return
	}
	for row := 0; row < len(c.values); row += rowSize {
		if c.tables.hasCode(row, row+rowSize) {
			a.addRow(row)
		}
	}
	tablePool.Put(c.tables)
	c.tables, c.counted = nil, 0
}

// addRow adds each code of a row as often as it was counted and clears the counters. All products
// are exact.
func (a *Accumulator) addRow(row int) {
	values := (*[rowSize]float32)(a.codes.values[row:])
	even, odd := (*[rowSize]uint32)(a.codes.tables[0][row:]), (*[rowSize]uint32)(a.codes.tables[1][row:])
	times := func(i int) float64 { return float64(int64(even[i]) + int64(odd[i])) }
	if len(a.codes.values) > 256 && a.limits.isQuiet(values[0]) && a.limits.isQuiet(values[rowSize-1]) {
		// The values of 16-bit codes in a row rise or fall, and are multiples of one
		// power of two: their sum is exact.
		sum := 0.0
		for i := range values {
			sum += float64(float64(values[i]) * times(i))
		}
		first, last := 0, rowSize-1
		for times(first) == 0 {
			first++
		}
		for times(last) == 0 {
			last--
		}
		x, y := float64(values[first]), float64(values[last])
		a.finite.merge(partial{min(x, y), max(x, y), Sum{Value: sum}})
	} else {
		for i := range values {
			if n := times(i); n > 0 {
				a.addTimes(float64(values[i]), n)
			}
		}
	}
	*even, *odd = [rowSize]uint32{}, [rowSize]uint32{}
}

// addTimes adds a value n times.
func (a *Accumulator) addTimes(x, n float64) {
	class := a.limits.classOf(x)
	a.counts[class] += int64(n)
	if class >= atLimit {
		a.finite.merge(partial{x, x, Sum{Value: float64(x * n)}})
	}
}

// sortableFloat maps the codes of float32 to integers in the order of their values,
// NaN beyond the infinities, and back.
func sortableFloat(code int32) int32 { return code ^ code>>31&math.MaxInt32 }

// scanFloats sums float32 in four alternating sums, so that an addition does not wait for the
// previous one.
func scanFloats(chunk []byte) partial {
	low, high := int32(math.MaxInt32), int32(math.MinInt32)
	var s0, s1, s2, s3 Sum
	for ; len(chunk) >= 16; chunk = chunk[16:] {
		a, b := binary.LittleEndian.Uint32(chunk), binary.LittleEndian.Uint32(chunk[4:])
		c, d := binary.LittleEndian.Uint32(chunk[8:]), binary.LittleEndian.Uint32(chunk[12:])
		s0 = s0.Plus(float64(math.Float32frombits(a)))
		s1 = s1.Plus(float64(math.Float32frombits(b)))
		s2 = s2.Plus(float64(math.Float32frombits(c)))
		s3 = s3.Plus(float64(math.Float32frombits(d)))
		p, q, r, s := sortableFloat(int32(a)), sortableFloat(int32(b)), sortableFloat(int32(c)), sortableFloat(int32(d))
		low, high = min(low, p, q, r, s), max(high, p, q, r, s)
	}
	for ; len(chunk) >= 4; chunk = chunk[4:] {
		code := binary.LittleEndian.Uint32(chunk)
		s0 = s0.Plus(float64(math.Float32frombits(code)))
		low, high = min(low, sortableFloat(int32(code))), max(high, sortableFloat(int32(code)))
	}
	value := func(key int32) float64 { return float64(math.Float32frombits(uint32(sortableFloat(key)))) }
	return partial{value(low), value(high), s0.Merge(s1).Merge(s2.Merge(s3))}
}

// scanInts sums 32-bit integers. Unsigned integers are flipped in the first bit and read as signed,
// which subtracts half the range.
func scanInts(chunk []byte, flip uint32) partial {
	low, high, sum := int64(math.MaxInt32), int64(math.MinInt32), int64(0)
	for rest := chunk; len(rest) >= 4; rest = rest[4:] {
		x := int64(int32(binary.LittleEndian.Uint32(rest) ^ flip))
		sum += x
		low, high = min(low, x), max(high, x)
	}
	half := int64(flip)
	sum += int64(len(chunk)/4) * half
	return partial{float64(low + half), float64(high + half), Sum{Value: float64(sum)}}
}

// addWords adds 64-bit integers, with the upper and the lower halves summed apart because float64
// cannot hold them. Unsigned integers are flipped as in scanInts.
func (a *Accumulator) addWords(chunk []byte) {
	flip := uint64(0)
	if a.dec.Host() == HostUint64 {
		flip = 1 << 63
	}
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	var upper, lower int64
	for rest := chunk; len(rest) >= 8; rest = rest[8:] {
		x := int64(binary.LittleEndian.Uint64(rest) ^ flip)
		upper += x >> 32
		lower += int64(uint32(x))
		low, high = min(low, x), max(high, x)
	}
	value := func(x int64) float64 {
		if flip != 0 {
			return float64(uint64(x) ^ flip)
		}
		return float64(x)
	}
	sum := Sum{Value: float64(float64(upper) * (1 << 32))}.Plus(float64(lower))
	sum = sum.Plus(float64(float64(len(chunk)/8) * float64(flip)))
	a.finite.merge(partial{value(low), value(high), sum})
	if !(value(low) <= a.limits.low && flip == 0 || value(high) >= a.limits.high) {
		return
	}
	for i := 0; i < len(chunk); i += 8 {
		if x := int64(binary.LittleEndian.Uint64(chunk[i:]) ^ flip); x == math.MaxInt64 || x == math.MinInt64 && flip == 0 {
			a.countSpecial(atLimit, Element{a.count + int64(i/8), value(x)})
		}
	}
}
