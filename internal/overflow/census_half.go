package overflow

import (
	"encoding/binary"
	"math"
)

// halfCounter counts float16 and bfloat16: how often each of the 65536 codes
// occurs, from which everything else follows at the end.
type halfCounter struct {
	format halfFormat
	tables *halfTables
	// used says which rows of the tables may hold anything but zeros.
	used    [halfRows]bool
	pending int64 // elements in the tables
	limit   int64 // of pending
	sum     exactSum
	low     float64
	high    float64
}

// halfFormat describes a floating-point format of 16 bits.
type halfFormat struct {
	frac, bias int
	max        uint16 // the largest finite number
	value      func(code uint16) float64
}

func bfloat16(code uint16) float64 { return float64(math.Float32frombits(uint32(code) << 16)) }

func newHalfCounter(f halfFormat) *halfCounter {
	return &halfCounter{
		format: f, tables: halfPool.Get().(*halfTables), limit: math.MaxUint32,
		low: math.Inf(1), high: math.Inf(-1),
	}
}

func (h *halfCounter) add(c *Census, block []byte) {
	first := c.Count
	for len(block) > 0 {
		n := min(h.limit-h.pending, int64(len(block)/2))
		h.tables.add(block[:2*n])
		h.use(block[:2*n])
		h.locate(c, block[:2*n], first)
		block, first = block[2*n:], first+n
		if h.pending += n; h.pending == h.limit {
			h.fold(c)
		}
	}
}

// smallBlock is the size of blocks, in bytes, in which looking for the rows in
// use costs less than folding them all.
const smallBlock = 8 << 10

// use marks the rows that a block may have changed.
func (h *halfCounter) use(block []byte) {
	if len(block) > smallBlock {
		for i := range h.used {
			h.used[i] = true
		}
		return
	}
	for ; len(block) >= 2; block = block[2:] {
		h.used[binary.LittleEndian.Uint16(block)>>rowBits] = true
	}
}

// locate looks for the first elements that stand out in the block that was
// added last, if the tables tell that it holds them.
func (h *halfCounter) locate(c *Census, block []byte, first int64) {
	const negative = 0x8000
	largest := h.format.max
	if c.FirstHard == nil && (h.met(largest+1, 0x7fff) || h.met(negative|(largest+1), 0xffff)) {
		c.FirstHard = h.find(block, first, largest+1, 0x7fff)
	}
	if c.FirstSuspect == nil && h.tables.counted(largest)+h.tables.counted(negative|largest) > 0 {
		c.FirstSuspect = h.find(block, first, largest, largest)
	}
}

// met reports whether codes of the rows from one code to another were counted.
func (h *halfCounter) met(from, to uint16) bool {
	for row := from >> rowBits; row <= to>>rowBits; row++ {
		if h.used[row] && !h.tables.empty(int(row)) {
			return true
		}
	}
	return false
}

// find returns the first element of a magnitude from one to another.
func (h *halfCounter) find(block []byte, first int64, from, to uint16) *Spot {
	for i := 0; i+2 <= len(block); i += 2 {
		code := binary.LittleEndian.Uint16(block[i:])
		if magnitude := code & 0x7fff; from <= magnitude && magnitude <= to {
			return &Spot{Index: first + int64(i/2), Value: h.format.value(code)}
		}
	}
	return nil
}

// fold moves what the tables hold to the census and the sum.
func (h *halfCounter) fold(c *Census) {
	for row := range h.used {
		if !h.used[row] || h.tables.empty(row) {
			continue
		}
		r := h.tables.takeRow(row)
		if code := uint16(row)<<rowBits | (rowSize - 1); code&0x7fff > h.format.max {
			h.foldSpecial(c, row, r)
		} else {
			h.foldFinite(c, row, r)
		}
	}
	clear(h.used[:])
	h.pending = 0
}

// foldFinite takes in a row of finite values.
func (h *halfCounter) foldFinite(c *Census, row int, r tableRow) {
	code := row << rowBits
	for _, low := range []int{r.lowest, r.highest} {
		x := h.format.value(uint16(code | low))
		h.low, h.high = min(h.low, x), max(h.high, x)
	}
	if last := code&0x7fff | (rowSize - 1); last == int(h.format.max) {
		c.Saturated += r.ones
	}
	base, exponent := code&(1<<h.format.frac-1), code&0x7fff>>h.format.frac
	if exponent == 0 {
		exponent = 1
	} else {
		base |= 1 << h.format.frac
	}
	mantissas := r.sum + r.total*int64(base)
	if code&0x8000 != 0 {
		mantissas = -mantissas
	}
	h.sum.add(mantissas, exponent-h.format.bias-h.format.frac)
}

// foldSpecial takes in a row of NaN, of which one may be infinite.
func (h *halfCounter) foldSpecial(c *Census, row int, r tableRow) {
	switch code := uint16(row) << rowBits; code {
	case h.format.max + 1:
		c.PosInf += r.zeros
		r.total -= r.zeros
	case 0x8000 | (h.format.max + 1):
		c.NegInf += r.zeros
		r.total -= r.zeros
	}
	c.NaN += r.total
}

func (h *halfCounter) finish(c *Census) {
	h.fold(c)
	halfPool.Put(h.tables)
	h.tables = nil
	if n := c.finite(); n > 0 {
		c.setRange(h.low, h.high)
		c.Mean = h.sum.mean(n)
	}
}
