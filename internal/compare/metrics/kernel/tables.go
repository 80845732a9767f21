package kernel

import "math"

const (
	// Bins is the number of bins of a histogram. The bin of a magnitude is its exponent and
	// the upper three bits of its fraction; the first eight bins hold zero and the subnormal
	// numbers of float64.
	Bins = 2048 * 8
	// Lanes is the number of counters of a cell, one for each lane, so that an increment
	// need not wait for the previous one.
	Lanes = 1 << laneBits

	laneBits = 2
)

// Bin returns the bin of a magnitude.
func Bin(x float64) uint { return uint(math.Float64bits(x) >> binShift & (Bins - 1)) }

// Tables count pairs by |d| and by |d|/|r|.
type Tables struct {
	Abs, Rel [Bins * Lanes]uint32

	// marks is scratch memory of the assembly, one element for each pair: the index of the
	// pair's counter in Abs in the lower half, in Rel in the upper half.
	marks []uint64
}

// NewTables returns tables for blocks of at most pairs pairs. pairs must be below 2^18, since a
// lane counts them in 16 bits.
func NewTables(pairs int) *Tables {
	// The gap to other arrays keeps equal indexes out of the same set of the
	// cache.
	const apart = 800
	return &Tables{marks: make([]uint64, pairs+apart)[apart:]}
}

// Take returns the count of a cell of a table and sets it to 0.
func Take(table []uint32, cell uint) int64 {
	counters := table[cell*Lanes:][:Lanes]
	total := int64(counters[0]) + int64(counters[1]) + int64(counters[2]) + int64(counters[3])
	clear(counters)
	return total
}

// Drop subtracts pair i of the last counted block from the count of a bin.
func Drop(table []uint32, i int, bin uint) { table[bin*Lanes+uint(i&(Lanes-1))]-- }

// binShift is the number of low bits of a magnitude that its bin ignores.
const binShift = 49
