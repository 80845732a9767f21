package overflow

import (
	"encoding/binary"
	"sync"
)

// halfTables counts the codes. There are two tables, used in turn, because an
// increment has to wait for the one before it if both are of the same counter.
type halfTables [2][1 << 16]uint32

// The codes are folded by rows: codes that differ in the low bits only and have
// one exponent.
const (
	rowBits  = 7
	rowSize  = 1 << rowBits
	halfRows = 1 << (16 - rowBits)
)

// halfPool holds tables of zeros: they are too large to be made for every
// tensor.
var halfPool = sync.Pool{New: func() any { return new(halfTables) }}

// add counts the codes of a block.
func (t *halfTables) add(block []byte) {
	even, odd := &t[0], &t[1]
	for ; len(block) >= 8; block = block[8:] {
		four := binary.LittleEndian.Uint64(block)
		even[uint16(four)]++
		odd[uint16(four>>16)]++
		even[uint16(four>>32)]++
		odd[four>>48]++
	}
	for ; len(block) >= 2; block = block[2:] {
		even[binary.LittleEndian.Uint16(block)]++
	}
}

// counted returns how often a code was counted.
func (t *halfTables) counted(code uint16) int64 { return int64(t[0][code]) + int64(t[1][code]) }

// row returns a row of either table.
func (t *halfTables) row(row int) (even, odd *[rowSize]uint32) {
	return (*[rowSize]uint32)(t[0][row<<rowBits:]), (*[rowSize]uint32)(t[1][row<<rowBits:])
}

// empty reports whether no code of a row was counted.
func (t *halfTables) empty(row int) bool {
	even, odd := t.row(row)
	found := uint32(0)
	for i := range even {
		found |= even[i] | odd[i]
	}
	return found == 0
}

// tableRow is what the counters of a row say about the low bits of its codes.
type tableRow struct {
	lowest, highest int   // that occur
	total           int64 // number of elements
	sum             int64 // of the low bits of all elements
	zeros, ones     int64 // elements whose low bits are all zeros, all ones
}

// takeRow returns a row that is not empty and sets its counters to zero.
func (t *halfTables) takeRow(row int) tableRow {
	even, odd := t.row(row)
	var r tableRow
	for low := range even {
		n := int64(even[low]) + int64(odd[low])
		r.total += n
		r.sum += n * int64(low)
	}
	code := uint16(row) << rowBits
	r.zeros, r.ones = t.counted(code), t.counted(code|(rowSize-1))
	for r.highest = rowSize - 1; even[r.highest]|odd[r.highest] == 0; r.highest-- {
	}
	for even[r.lowest]|odd[r.lowest] == 0 {
		r.lowest++
	}
	*even, *odd = [rowSize]uint32{}, [rowSize]uint32{}
	return r
}
