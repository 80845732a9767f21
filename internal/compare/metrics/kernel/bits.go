package kernel

import "unsafe"

// chunk is how many pairs plain loops add without a look at the lengths of slices.
const chunk = 64

// bitsIn returns the bits of values in their place: a number that is loaded as what it is
// used as is cheaper than one that moves between the two kinds of registers.
func bitsIn(values *[chunk]float64) *[chunk]uint64 { return (*[chunk]uint64)(unsafe.Pointer(values)) }

// sliceBits is bitsIn for a slice.
func sliceBits(values []float64) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}
