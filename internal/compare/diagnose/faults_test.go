package diagnose

import (
	"math"
	"math/rand/v2"
	"slices"

	"dumptool/internal/finding"
	"dumptool/internal/tensor"
)

// goodPair is a pair without a fault; the tests insert one.
type goodPair struct {
	rng   *rand.Rand
	shape tensor.Shape
	kind  kind
	ref   []float64
	npu   []float64 // without a fault: the reference with rounding noise
	// earlier are the NPU tensors of the preceding operators, in a network.
	earlier [][]float64
}

// fault is a kind of fault.
type fault struct {
	name string
	code finding.Code
	// siblings are codes that may also be found.
	siblings []finding.Code
	// values returns the bad NPU values, or stored the bad elements.
	values func(*goodPair) []float64
	stored func(*goodPair) []byte
	// needs reports whether the fault applies to a tensor; nil for all tensors.
	needs func(*goodPair) bool
	// changesRef is true for faults that need another reference.
	changesRef bool
}

func (f *fault) inject(s *goodPair) memory {
	unit := s.kind.npu.UnitSize()
	if f.stored != nil {
		return memory{f.stored(s), unit}
	}
	return memory{store(s.kind.npu, f.values(s)), unit}
}

// elementwise changes every element independently.
func elementwise(change func(v float64) float64) func(*goodPair) []float64 {
	return func(s *goodPair) []float64 {
		out := slices.Clone(s.npu)
		for i, v := range out {
			out[i] = change(v)
		}
		return out
	}
}

// moved moves the element at from(i) to i.
func moved(from func(s *goodPair, i int) int) func(*goodPair) []float64 {
	return func(s *goodPair) []float64 {
		out := make([]float64, len(s.npu))
		for i := range out {
			out[i] = s.npu[((from(s, i)%len(out))+len(out))%len(out)]
		}
		return out
	}
}

// ordered changes the order of axes: the stored data are the good data, transposed so that
// taking the axes in the given order restores them.
func ordered(axes ...int) func(*goodPair) []float64 {
	return func(s *goodPair) []float64 {
		shape := make(tensor.Shape, len(axes))
		for j, a := range axes {
			shape[a] = s.shape[j]
		}
		out := make([]float64, len(s.npu))
		for i := range out {
			at, from := shape.Coordinates(int64(i)), int64(0)
			for j, a := range axes {
				from = from*s.shape[j] + at[a]
			}
			out[i] = s.npu[from]
		}
		return out
	}
}

// read moves elements: the value at some coordinates is the good value at another offset.
func read(from func(s *goodPair, at []int64) int64) func(*goodPair) []float64 {
	return func(s *goodPair) []float64 {
		out := make([]float64, len(s.npu))
		for i := range out {
			out[i] = s.npu[from(s, s.shape.Coordinates(int64(i)))]
		}
		return out
	}
}

func rank(n int) func(*goodPair) bool {
	return func(s *goodPair) bool { return len(s.shape) == n && distinct(s.shape) > 1 }
}

// distinct counts the axes longer than 1.
func distinct(shape tensor.Shape) (n int) {
	for _, length := range shape {
		if length > 1 {
			n++
		}
	}
	return n
}

// atLeast requires a number of elements other than 0.
func atLeast(n int) func(*goodPair) bool {
	return func(s *goodPair) bool {
		informative := 0
		for _, v := range s.ref {
			if v != 0 {
				informative++
			}
		}
		return informative >= n
	}
}

func isHalf(s *goodPair) bool { return s.kind.npu == tensor.Float16 }

// wideRef reports whether the reference may exceed the range of the NPU's type.
func wideRef(s *goodPair) bool { return isHalf(s) && s.kind.ref == tensor.Float32 }

// swapped reverses the bytes of good elements.
func swapped(s *goodPair) []byte {
	data := store(s.kind.npu, s.npu)
	for element := range slices.Chunk(data, s.kind.npu.UnitSize()) {
		slices.Reverse(element)
	}
	return data
}

// flipped flips one high bit of a few elements.
func flipped(s *goodPair) []byte {
	data := store(s.kind.npu, s.npu)
	unit := s.kind.npu.UnitSize()
	step := len(s.npu) / min(40, 1+len(s.npu)/2000)
	for i := 7; i < len(s.npu); i += step {
		for i < len(s.npu)-1 && (math.Abs(s.ref[i]) < 0.5 || math.Abs(s.ref[i]) > 1.9) {
			i++
		}
		data[i*unit+unit-1] ^= 1 << (2 + s.rng.IntN(4)) // of the exponent
	}
	return data
}

func faults() []fault {
	return []fault{
		{name: "zero", code: finding.ZeroOutput, siblings: []finding.Code{finding.Underflow}, values: elementwise(func(float64) float64 { return 0 })},
		{name: "constant", code: finding.ConstOutput, values: elementwise(func(float64) float64 { return 17 })},
		{name: "negated", code: finding.Negated, values: elementwise(func(v float64) float64 { return -v })},
		{name: "half", code: finding.Scale, values: elementwise(func(v float64) float64 { return v / 2 })},
		{name: "double", code: finding.Scale, values: elementwise(func(v float64) float64 { return v * 2 })},
		{name: "1/256", code: finding.Scale, values: elementwise(func(v float64) float64 { return v / 256 })},
		{name: "attention", code: finding.Scale, values: elementwise(func(v float64) float64 { return v / 8 })},
		{name: "offset", code: finding.Offset, siblings: []finding.Code{finding.Scale}, values: elementwise(func(v float64) float64 { return v + 11 })},
		{name: "zero tail", code: finding.ZeroTail, needs: atLeast(64), values: func(s *goodPair) []float64 {
			out := slices.Clone(s.npu)
			clear(out[len(out)-max(32, len(out)/8):])
			return out
		}},
		{name: "half zero", code: finding.ZeroTail, needs: atLeast(64), values: func(s *goodPair) []float64 {
			out := slices.Clone(s.npu)
			clear(out[len(out)/2:])
			return out
		}},
		{name: "garbage tail", code: finding.Tail, needs: atLeast(100), values: func(s *goodPair) []float64 {
			out := slices.Clone(s.npu)
			for i := len(out) * 3 / 4; i < len(out); i++ {
				out[i] = 40 * s.rng.NormFloat64()
			}
			return out
		}},
		{name: "NaN tail", code: finding.NPUNaN, siblings: []finding.Code{finding.Tail}, needs: atLeast(100), values: func(s *goodPair) []float64 {
			out := slices.Clone(s.npu)
			for i := len(out) * 3 / 4; i < len(out); i++ {
				out[i] = math.NaN()
			}
			return out
		}},
		{name: "every 16th", code: finding.Stride, siblings: []finding.Code{finding.Bias}, needs: atLeast(512), values: func(s *goodPair) []float64 {
			out := slices.Clone(s.npu)
			for i := 3; i < len(out); i += 16 {
				out[i] += 30 + 10*s.rng.Float64()
			}
			return out
		}},
		{name: "shift 1", code: finding.Shift, needs: atLeast(40), values: moved(func(_ *goodPair, i int) int { return i + 1 })},
		{name: "shift -8", code: finding.Shift, needs: atLeast(40), values: moved(func(_ *goodPair, i int) int { return i - 8 })},
		{name: "shift a row", code: finding.Shift,
			needs:  func(s *goodPair) bool { return len(s.ref) > 4*int(s.shape[len(s.shape)-1]) },
			values: moved(func(s *goodPair, i int) int { return i + int(s.shape[len(s.shape)-1]) })},
		{name: "transposed", code: finding.Layout, needs: rank(2), values: ordered(1, 0)},
		{name: "NHWC as NCHW", code: finding.Layout, needs: rank(4), values: ordered(0, 3, 1, 2)},
		{name: "NCHW as NHWC", code: finding.Layout, needs: rank(4), values: ordered(0, 2, 3, 1)},
		{name: "HWCN as NCHW", code: finding.Layout, needs: rank(4), values: ordered(3, 2, 0, 1)},
		{name: "swapped last", code: finding.Layout, needs: rank(3), values: ordered(0, 2, 1)},
		{name: "NDHWC as NCDHW", code: finding.Layout, needs: rank(5), values: ordered(0, 4, 1, 2, 3)},
		{name: "C order read as Fortran order", code: finding.Layout, needs: func(s *goodPair) bool { return distinct(s.shape) > 1 }, values: read(func(s *goodPair, at []int64) (from int64) {
			for a, i := range slices.Backward(at) {
				from = from*s.shape[a] + i
			}
			return from
		})},
		// Pairs of neighbours that lie in two halves of each line.
		{name: "halves", code: finding.Permuted, needs: func(s *goodPair) bool { n := s.shape[len(s.shape)-1]; return n >= 8 && n%2 == 0 }, values: moved(func(s *goodPair, i int) int {
			n := int(s.shape[len(s.shape)-1])
			at := i % n
			return i - at + at%(n/2)*2 + at/(n/2)
		})},
		{name: "bytes swapped", code: finding.Endian, stored: swapped, needs: func(s *goodPair) bool { return s.kind.npu.UnitSize() > 1 }},
		{name: "bfloat16 as float16", code: finding.DTypeMisread, needs: isHalf, stored: func(s *goodPair) []byte { return store(tensor.BFloat16, s.npu) }},
		{name: "int32 as float32", changesRef: true, code: finding.DTypeMisread, needs: func(s *goodPair) bool { return s.kind.npu == tensor.Float32 },
			stored: func(s *goodPair) []byte {
				for i := range s.ref {
					s.ref[i] = math.Round(100 * s.ref[i])
				}
				return store(tensor.Int32, s.ref)
			}},
		{name: "a bit", code: finding.BitFlip, siblings: []finding.Code{finding.NPUNaN, finding.Stride}, needs: atLeast(100), stored: flipped},
		{name: "overflow", changesRef: true, code: finding.OverflowFP16, siblings: []finding.Code{finding.Tail, finding.Stride}, needs: wideRef, values: func(s *goodPair) []float64 {
			for i := range s.ref { // parts of the reference are large
				if i%3 == 0 {
					s.ref[i] *= 40000
					s.npu[i] *= 40000
				}
			}
			s.ref[0], s.npu[0] = 90000, 90000
			return s.npu
		}},
		{name: "clipped", changesRef: true, code: finding.Saturation, siblings: []finding.Code{finding.OverflowFP16}, needs: wideRef, values: func(s *goodPair) []float64 {
			out := slices.Clone(s.npu)
			for i := range s.ref {
				if i%7 == 0 {
					s.ref[i] *= 40000
					out[i] = math.Max(-65504, math.Min(65504, s.ref[i]))
				}
			}
			s.ref[0], out[0] = 1e5, 65504
			return out
		}},
		{name: "NaN here and there", code: finding.NPUNaN, siblings: []finding.Code{finding.Tail, finding.Stride}, values: func(s *goodPair) []float64 {
			out := slices.Clone(s.npu)
			for k := range 1 + len(out)/50 {
				out[(k*47+5)%len(out)] = math.NaN()
			}
			return out
		}},
		{name: "truncated", code: finding.Bias, needs: atLeast(2000), values: func(s *goodPair) []float64 {
			out := slices.Clone(s.npu)
			for i, v := range out { // a random third of each sum is lost
				if s.rng.IntN(3) == 0 {
					out[i] = v - math.Abs(v)*s.rng.Float64()
				}
			}
			return out
		}},
	}
}
