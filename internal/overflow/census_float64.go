package overflow

import (
	"encoding/binary"
	"math"

	"dumptool/internal/tensor"
)

// float64Counter counts float64: the numbers are those of tensor.Stats, which
// does not tell where something stands out.
type float64Counter struct{ stats *tensor.Stats }

const float64Chunk = 8 << 10 // bytes: both passes find them in the nearest cache

func newFloat64Counter() *float64Counter {
	return &float64Counter{stats: tensor.NewStats(tensor.HostFloat64)}
}

func (f *float64Counter) add(c *Census, block []byte) {
	first := c.Count
	for len(block) > 0 {
		n := min(float64Chunk, len(block))
		f.stats.Add(block[:n])
		c.noteFloat64s(block[:n], first)
		block, first = block[n:], first+int64(n/8)
	}
}

// noteFloat64s counts elements at the limits and remembers the first ones that
// stand out.
func (c *Census) noteFloat64s(chunk []byte, first int64) {
	for i := 0; i+8 <= len(chunk); i += 8 {
		x := math.Float64frombits(binary.LittleEndian.Uint64(chunk[i:]))
		if math.Abs(x) < math.MaxFloat64 {
			continue
		}
		spot := &c.FirstHard
		if math.Abs(x) == math.MaxFloat64 {
			c.Saturated++
			spot = &c.FirstSuspect
		}
		if *spot == nil {
			*spot = &Spot{Index: first + int64(i/8), Value: x}
		}
	}
}

func (f *float64Counter) finish(c *Census) {
	sum := f.stats.Summary()
	c.NaN, c.PosInf, c.NegInf = sum.NaN, sum.PosInf, sum.NegInf
	if sum.Mean != nil {
		c.setRange(*sum.Min, *sum.Max)
		c.Mean = sum.Mean
	}
}
