package overflow

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	"dumptool/internal/tensor"
)

// intCounter counts integers of 16, 32 and 64 bits. Unsigned ones are treated as
// signed ones after their first bit has been flipped, which subtracts half the
// range.
type intCounter struct {
	width     int   // bits
	flip      int64 // that bit, of unsigned types
	low, high int64 // low > high before the first element
	// sum128 is the sum of all elements, in two's complement.
	sum128 [2]uint64 // upper and lower half
	// Limits of the type.
	lowest, highest intLimit
}

// intLimit is a value that may be the limit of a type.
type intLimit struct {
	value int64
	valid bool
}

func newIntCounter(d tensor.DType) *intCounter {
	k := &intCounter{width: d.Bits(), low: math.MaxInt64, high: math.MinInt64}
	signed := true
	switch d {
	case tensor.Uint16, tensor.QUint16, tensor.Uint32, tensor.Uint64:
		signed = false
		k.flip = -1 << (k.width - 1)
	}
	k.lowest = intLimit{-1 << (k.width - 1), signed && !limitless(d)}
	k.highest = intLimit{1<<(k.width-1) - 1, !limitless(d)}
	return k
}

const intChunk = 8 << 10 // bytes

func (k *intCounter) add(c *Census, block []byte) {
	first := c.Count
	for len(block) > 0 {
		n := min(intChunk, len(block))
		low, high := k.addChunk(block[:n])
		k.low, k.high = min(k.low, low), max(k.high, high)
		if k.lowest.valid && low == k.lowest.value || k.highest.valid && high == k.highest.value {
			k.inspect(c, block[:n], first)
		}
		block, first = block[n:], first+int64(n*8/k.width)
	}
}

// addChunk adds a chunk to the sum and returns the smallest and the largest of
// its elements.
func (k *intCounter) addChunk(chunk []byte) (low, high int64) {
	var sum int64
	switch k.width {
	case 16:
		sum, low, high = range16(chunk, uint16(k.flip))
	case 32:
		sum, low, high = range32(chunk, uint32(k.flip))
	default:
		return k.addWords(chunk)
	}
	k.plus(sum)
	return low, high
}

func (k *intCounter) plus(x int64) {
	upper, lower := k.sum128[0], k.sum128[1]
	lower, carry := bits.Add64(lower, uint64(x), 0)
	upper, _ = bits.Add64(upper, uint64(x>>63), carry)
	k.sum128 = [2]uint64{upper, lower}
}

// range16 returns sum, minimum and maximum of a chunk.
func range16(chunk []byte, flip uint16) (sum, low, high int64) {
	low, high = math.MaxInt16, math.MinInt16
	for ; len(chunk) >= 2; chunk = chunk[2:] {
		x := int64(int16(binary.LittleEndian.Uint16(chunk) ^ flip))
		sum += x
		low, high = min(low, x), max(high, x)
	}
	return sum, low, high
}

// range32 is range16 for elements of 32 bits.
func range32(chunk []byte, flip uint32) (sum, low, high int64) {
	low, high = math.MaxInt32, math.MinInt32
	for ; len(chunk) >= 4; chunk = chunk[4:] {
		x := int64(int32(binary.LittleEndian.Uint32(chunk) ^ flip))
		sum += x
		low, high = min(low, x), max(high, x)
	}
	return sum, low, high
}

// addWords is addChunk for elements of 64 bits.
func (k *intCounter) addWords(chunk []byte) (low, high int64) {
	low, high = math.MaxInt64, math.MinInt64
	upper, lower, carry := k.sum128[0], k.sum128[1], uint64(0)
	for flip := uint64(k.flip); len(chunk) >= 8; chunk = chunk[8:] {
		x := int64(binary.LittleEndian.Uint64(chunk) ^ flip)
		lower, carry = bits.Add64(lower, uint64(x), 0)
		upper, _ = bits.Add64(upper, uint64(x>>63), carry)
		low, high = min(low, x), max(high, x)
	}
	k.sum128 = [2]uint64{upper, lower}
	return low, high
}

// inspect counts the elements of a chunk that are at the limits.
func (k *intCounter) inspect(c *Census, chunk []byte, first int64) {
	size := k.width / 8
	for i := 0; i < len(chunk); i += size {
		x := k.element(chunk[i:])
		if k.lowest.reached(x) || k.highest.reached(x) {
			c.Saturated++
			if c.FirstSuspect == nil {
				c.FirstSuspect = &Spot{Index: first + int64(i/size), Value: k.value(x)}
			}
		}
	}
}

// element returns the first element of a chunk, flipped.
func (k *intCounter) element(chunk []byte) int64 {
	switch k.width {
	case 16:
		return int64(int16(binary.LittleEndian.Uint16(chunk) ^ uint16(k.flip)))
	case 32:
		return int64(int32(binary.LittleEndian.Uint32(chunk) ^ uint32(k.flip)))
	}
	return int64(binary.LittleEndian.Uint64(chunk)) ^ k.flip
}

func (l intLimit) reached(x int64) bool { return l.valid && x == l.value }

// value returns what an element is without the flip.
func (k *intCounter) value(x int64) float64 {
	if k.flip == 0 {
		return float64(x)
	}
	return float64(uint64(x) - uint64(k.flip))
}

func (k *intCounter) finish(c *Census) {
	if c.Count == 0 {
		return
	}
	c.setRange(k.value(k.low), k.value(k.high))
	var sum, term big.Int
	sum.Lsh(big.NewInt(int64(k.sum128[0])), 64)
	sum.Add(&sum, term.SetUint64(k.sum128[1]))
	term.Mul(big.NewInt(k.flip), big.NewInt(c.Count))
	c.Mean = bigMean(sum.Sub(&sum, &term), 0, c.Count)
}
