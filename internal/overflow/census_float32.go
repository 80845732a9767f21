package overflow

import (
	"encoding/binary"
	"math"
)

// float32Counter counts float32. Every element is added to the sum; chunks of
// elements are looked at one by one only if they hold a new minimum or maximum
// or something that stands out, which is tested for two elements at a time.
type float32Counter struct {
	// buckets holds, for every sign and exponent, the number of elements in the
	// bits from bucketOne on and the sum of their fractions below. There are
	// four, used in turn, as the tables of halfCounter are.
	buckets [4][512]uint64
	pending int // elements in the buckets
	sum     exactSum
	// low and high are the codes of minimum and maximum as sortable gives them;
	// low > high before the first finite element.
	low, high int32
	quiet     quietRange
}

const (
	fraction32  = 1<<23 - 1
	infinity32  = 0xff << 23
	magnitude32 = 1<<31 - 1
	largest32   = infinity32 - 1

	// Codes of what a float16 may have become.
	trace65504 = 0x477fe000
	trace65536 = 0x47800000
	trace98304 = 0x47c00000

	bucketOne   = 1 << 42
	bucketLimit = 1 << 19 // elements whose fractions are sure to stay below bucketOne

	chunk32 = 8 << 10 // bytes
)

func newFloat32Counter() *float32Counter {
	return &float32Counter{low: math.MaxInt32, high: math.MinInt32}
}

// sortable maps the codes of float32 to integers in the order of their values,
// and back.
func sortable(code int32) int32 { return code ^ code>>31&magnitude32 }

func (f *float32Counter) add(c *Census, block []byte) {
	first := c.Count
	for len(block) > 0 {
		n := min(chunk32, len(block))
		f.addFractions(block[:n])
		if !f.quiet.holds(block[:n]) {
			f.inspect(c, block[:n], first)
			f.quiet = quietBetween(f.low, f.high)
		}
		block, first = block[n:], first+int64(n/4)
	}
}

// addFractions adds a chunk to the buckets.
func (f *float32Counter) addFractions(chunk []byte) {
	n := len(chunk) / 4
	if f.pending+n > bucketLimit {
		f.fold()
	}
	f.pending += n
	b0, b1, b2, b3 := &f.buckets[0], &f.buckets[1], &f.buckets[2], &f.buckets[3]
	for i := 0; i+16 <= len(chunk); i += 16 {
		four := chunk[i : i+16 : i+16]
		two := binary.LittleEndian.Uint64(four)
		b0[uint32(two)>>23] += bucketOne + two&fraction32
		b1[two>>55] += bucketOne + two>>32&fraction32
		two = binary.LittleEndian.Uint64(four[8:])
		b2[uint32(two)>>23] += bucketOne + two&fraction32
		b3[two>>55] += bucketOne + two>>32&fraction32
	}
	for rest := chunk[len(chunk)&^15:]; len(rest) >= 4; rest = rest[4:] {
		code := binary.LittleEndian.Uint32(rest)
		b0[code>>23] += bucketOne + uint64(code&fraction32)
	}
}

// fold moves what the buckets hold to the sum. Those of infinities and NaN are
// dropped.
func (f *float32Counter) fold() {
	for i := range f.buckets {
		for b, held := range f.buckets[i] {
			exponent := b & 0xff
			if held == 0 || exponent == 0xff {
				continue
			}
			mantissas := int64(held % bucketOne)
			if exponent == 0 {
				exponent = 1
			} else {
				mantissas += int64(held/bucketOne) << 23
			}
			if b > 0xff {
				mantissas = -mantissas
			}
			f.sum.add(mantissas, exponent-1+lowestExponent)
		}
		clear(f.buckets[i][:])
	}
	f.pending = 0
}

// inspect looks at the elements of a chunk one by one.
func (f *float32Counter) inspect(c *Census, chunk []byte, first int64) {
	var nan, posInf, negInf, saturated, traces int64
	low, high := f.low, f.high
	for rest := chunk; len(rest) >= 4; rest = rest[4:] {
		code := binary.LittleEndian.Uint32(rest)
		if magnitude := code & magnitude32; magnitude >= trace65504 {
			switch {
			case magnitude > infinity32:
				nan++
				continue
			case code == infinity32:
				posInf++
				continue
			case magnitude == infinity32:
				negInf++
				continue
			case magnitude == largest32:
				saturated++
			case trace32(magnitude):
				traces++
			}
		}
		key := sortable(int32(code))
		low, high = min(low, key), max(high, key)
	}
	f.low, f.high = low, high
	c.NaN, c.PosInf, c.NegInf = c.NaN+nan, c.PosInf+posInf, c.NegInf+negInf
	c.Saturated, c.HalfTraces = c.Saturated+saturated, c.HalfTraces+traces
	if c.FirstHard == nil && c.Hard() {
		c.FirstHard = find32(chunk, first, func(magnitude uint32) bool { return magnitude >= infinity32 })
	}
	if c.FirstSuspect == nil && saturated+traces > 0 {
		c.FirstSuspect = find32(chunk, first, func(magnitude uint32) bool { return magnitude == largest32 || trace32(magnitude) })
	}
}

// trace32 reports whether a float32 of that magnitude counts in
// Census.HalfTraces.
func trace32(magnitude uint32) bool {
	return magnitude == trace65504 || magnitude == trace65536 || magnitude == trace98304
}

// find32 returns the first element of a magnitude that is looked for.
func find32(chunk []byte, first int64, is func(magnitude uint32) bool) *Spot {
	for i := 0; i+4 <= len(chunk); i += 4 {
		if code := binary.LittleEndian.Uint32(chunk[i:]); is(code & magnitude32) {
			return &Spot{Index: first + int64(i/4), Value: float64(math.Float32frombits(code))}
		}
	}
	return nil
}

func (f *float32Counter) finish(c *Census) {
	f.fold()
	if n := c.finite(); n > 0 {
		low, high := math.Float32frombits(uint32(sortable(f.low))), math.Float32frombits(uint32(sortable(f.high)))
		c.setRange(float64(low), float64(high))
		c.Mean = f.sum.mean(n)
	}
}
