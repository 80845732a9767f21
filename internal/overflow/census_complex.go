package overflow

import (
	"math"

	"dumptool/internal/tensor"
)

// complexCounter counts complex numbers, by both of their parts.
type complexCounter struct {
	dec    tensor.Decoder
	part   tensor.Host // type of a part once it is decoded
	limit  float64     // the largest finite part
	traces bool        // whether parts may be traces of a float16
	quiet  float64     // parts below this magnitude do not stand out
	buffer []byte      // decoded elements
	values [2 * complexChunk]float64
}

const complexChunk = 256 // elements

func newComplexCounter(dec tensor.Decoder) *complexCounter {
	k := &complexCounter{dec: dec, part: tensor.HostFloat32, limit: math.MaxFloat32}
	switch dec.DType() {
	case tensor.Complex32:
		k.limit = 65504
	case tensor.Complex64:
		k.traces = true
	default:
		k.part, k.limit = tensor.HostFloat64, math.MaxFloat64
	}
	k.quiet = k.limit
	if k.traces {
		k.quiet = 65504
	}
	k.buffer = make([]byte, complexChunk*dec.Host().Size())
	return k
}

func (k *complexCounter) add(c *Census, block []byte) {
	first, unit := c.Count, k.dec.UnitSize()
	for len(block) > 0 {
		n := min(complexChunk, len(block)/unit)
		decoded := k.buffer[:n*k.dec.Host().Size()]
		k.dec.Decode(decoded, block[:n*unit])
		tensor.Float64s(k.values[:2*n], decoded, k.part)
		k.addParts(c, k.values[:2*n], first)
		block, first = block[n*unit:], first+int64(n)
	}
}

// addParts counts elements given as real and imaginary parts in turn.
func (k *complexCounter) addParts(c *Census, parts []float64, first int64) {
	for i := 0; i+2 <= len(parts); i += 2 {
		re, im := parts[i], parts[i+1]
		if !(math.Abs(re) < k.quiet && math.Abs(im) < k.quiet) {
			k.note(c, re, im, first+int64(i/2))
		}
	}
}

// note counts an element by the first of the questions that a part answers with
// yes.
func (k *complexCounter) note(c *Census, re, im float64, index int64) {
	for _, q := range [...]struct {
		is    func(x float64) bool
		count *int64
		spot  **Spot
	}{
		{math.IsNaN, &c.NaN, &c.FirstHard},
		{func(x float64) bool { return math.IsInf(x, 1) }, &c.PosInf, &c.FirstHard},
		{func(x float64) bool { return math.IsInf(x, -1) }, &c.NegInf, &c.FirstHard},
		{func(x float64) bool { return math.Abs(x) == k.limit }, &c.Saturated, &c.FirstSuspect},
		{k.trace, &c.HalfTraces, &c.FirstSuspect},
	} {
		x := re
		if !q.is(x) {
			x = im
		}
		if !q.is(x) {
			continue
		}
		*q.count++
		if *q.spot == nil {
			*q.spot = &Spot{Index: index, Value: x}
		}
		return
	}
}

// trace reports whether a part is what a float16 may have become.
func (k *complexCounter) trace(x float64) bool {
	x = math.Abs(x)
	return k.traces && (x == 65504 || x == 65536 || x == 98304)
}

func (*complexCounter) finish(*Census) {}
