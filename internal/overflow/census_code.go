package overflow

import (
	"encoding/binary"
	"math"

	"dumptool/internal/tensor"
)

// codeCounter counts elements of a byte or less: how often each code occurs.
type codeCounter struct {
	values  [256]float32
	class   [256]codeClass
	tables  [4][256]uint32 // used in turn, as those of halfCounter
	pending int64          // elements in the tables
	limit   int64          // of pending
	sum     exactSum
	low     float32
	high    float32
}

// codeClass is what a code is evidence of.
type codeClass byte

const (
	ordinary codeClass = iota
	atLimit
	notFinite
)

func newCodeCounter(dec tensor.Decoder) *codeCounter {
	k := &codeCounter{limit: math.MaxUint32, low: float32(math.Inf(1)), high: float32(math.Inf(-1))}
	lowest, highest := k.low, k.high
	for i, x := range codeValues(dec) {
		k.values[i] = float32(x)
		switch {
		case math.IsNaN(x) || math.IsInf(x, 0):
			k.class[i] = notFinite
		default:
			lowest, highest = min(lowest, k.values[i]), max(highest, k.values[i])
		}
	}
	if limitless(dec.DType()) {
		return k
	}
	for i, x := range k.values {
		if x == highest || x == lowest && x < 0 {
			k.class[i] = max(k.class[i], atLimit)
		}
	}
	return k
}

// codeValues returns the values of the codes of a byte.
func codeValues(dec tensor.Decoder) [256]float64 {
	var codes [256]byte
	for i := range codes {
		codes[i] = byte(i)
	}
	decoded := make([]byte, 256*dec.Host().Size())
	dec.Decode(decoded, codes[:])
	var values [256]float64
	tensor.Float64s(values[:], decoded, dec.Host())
	return values
}

func (k *codeCounter) add(c *Census, block []byte) {
	first := c.Count
	for len(block) > 0 {
		n := min(k.limit-k.pending, int64(len(block)))
		k.count(block[:n])
		k.locate(&c.FirstHard, notFinite, block[:n], first)
		k.locate(&c.FirstSuspect, atLimit, block[:n], first)
		block, first = block[n:], first+n
		if k.pending += n; k.pending == k.limit {
			k.fold(c)
		}
	}
}

// count counts the codes of a block.
func (k *codeCounter) count(block []byte) {
	t0, t1, t2, t3 := &k.tables[0], &k.tables[1], &k.tables[2], &k.tables[3]
	for ; len(block) >= 8; block = block[8:] {
		eight := binary.LittleEndian.Uint64(block)
		t0[byte(eight)]++
		t1[byte(eight>>8)]++
		t2[byte(eight>>16)]++
		t3[byte(eight>>24)]++
		t0[byte(eight>>32)]++
		t1[byte(eight>>40)]++
		t2[byte(eight>>48)]++
		t3[eight>>56]++
	}
	for _, code := range block {
		t0[code]++
	}
}

// locate sets spot, unless it is set, to the first element of a class in the
// block that was counted last, if the tables tell that it holds one.
func (k *codeCounter) locate(spot **Spot, class codeClass, block []byte, first int64) {
	if *spot != nil || !k.met(class) {
		return
	}
	for i, code := range block {
		if k.class[code] == class {
			*spot = &Spot{Index: first + int64(i), Value: float64(k.values[code])}
			return
		}
	}
}

// met reports whether codes of a class were counted.
func (k *codeCounter) met(class codeClass) bool {
	for code := range k.class {
		if k.class[code] == class && k.occurred(code) != 0 {
			return true
		}
	}
	return false
}

// occurred returns how often the tables have counted a code.
func (k *codeCounter) occurred(code int) (n int64) {
	for i := range k.tables {
		n += int64(k.tables[i][code])
	}
	return n
}

// fold moves what the tables hold to the census and the sum.
func (k *codeCounter) fold(c *Census) {
	for code, x := range k.values {
		n := k.occurred(code)
		if n == 0 {
			continue
		}
		switch {
		case x != x:
			c.NaN += n
			continue
		case x > math.MaxFloat32:
			c.PosInf += n
			continue
		case x < -math.MaxFloat32:
			c.NegInf += n
			continue
		case k.class[code] == atLimit:
			c.Saturated += n
		}
		k.low, k.high = min(k.low, x), max(k.high, x)
		k.sum.addTimes(x, n)
	}
	k.tables = [4][256]uint32{}
	k.pending = 0
}

func (k *codeCounter) finish(c *Census) {
	k.fold(c)
	if n := c.finite(); n > 0 {
		c.setRange(float64(k.low), float64(k.high))
		c.Mean = k.sum.mean(n)
	}
}
