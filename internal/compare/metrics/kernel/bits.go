package kernel

import "unsafe"

// chunk is the number of pairs in a block of the plain loops; fixed, to avoid bounds checks.
const chunk = 64

// bitsOf reinterprets values as their bits without copying. Loading a number into the right
// kind of register is cheaper than moving it between integer and floating-point registers.
func bitsOf(values *[chunk]float64) *[chunk]uint64 { return (*[chunk]uint64)(unsafe.Pointer(values)) }

// sliceBits is bitsOf for a slice.
func sliceBits(values []float64) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}
