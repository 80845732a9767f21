package metrics

import (
	"math"
	"slices"

	"dumptool/internal/compare/metrics/kernel"
	"dumptool/internal/tensor"
)

// codes numbers the values of a floating-point type in rising order: 0 is zero,
// neighbours differ by 1, and x and -x have the codes k and -k. A value that rounds
// beyond the largest finite value has the code after the largest one.
type codes struct {
	tensor.Float
	// table is set for one-byte formats without a tensor.Float: their values are a list.
	table *codeTable
}

// nanCode is the code of every NaN in digests.
const nanCode = math.MaxInt64

// largestFinite returns the code of the largest finite value.
func (c *codes) largestFinite() int64 {
	if c.table != nil {
		return int64(len(c.table.values) - 1 - c.table.zero)
	}
	return c.MaxCode()
}

// round sets dst to the codes of values rounded to nearest, ties to even. Infinities
// get the codes next to the limits, NaN an arbitrary code.
func (c *codes) round(dst []int64, values []float64) {
	dst = dst[:len(values)]
	if c.table != nil {
		for i, x := range values {
			dst[i] = c.table.code(x)
		}
		return
	}
	if c.Mantissa == 52 {
		for i, x := range values {
			dst[i] = orderedCode(math.Float64bits(x))
		}
		return
	}
	form := kernel.NewForm(c.Mantissa, c.MinExp, c.MaxCode())
	form.Round(dst, values)
}

// orderedCode turns the bits of a float (sign and magnitude) into an integer in the order of the values.
func orderedCode(bits uint64) int64 {
	sign := int64(bits) >> 63
	return (int64(bits&^kernel.SignBit) ^ sign) - sign
}

// codeTable holds the finite values of a small format in rising order.
type codeTable struct {
	values []float64
	// steps[i] is the smallest float64 that rounds to a code above the code of
	// values[i].
	steps []float64
	zero  int  // the index of the value with code 0
	below bool // there is a code before the code of values[0]
	// near is a lookup table from magnitudes to codes. The index has the exponent (from
	// first on), the first five bits of the fraction, and whether lower bits are set. Five
	// bits suffice: the middle of two neighbours has at most four.
	near  []int16
	first int64
}

// nearShift drops all bits except the exponent and five bits of the fraction.
const nearShift = 47

// newCodeTable numbers the values of a one-byte format.
func newCodeTable(table *[256]float64) *codeTable {
	l := &codeTable{}
	for _, x := range table {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			l.values = append(l.values, x+0)
		}
	}
	slices.Sort(l.values)
	l.values = slices.Compact(l.values)
	l.zero, _ = slices.BinarySearch(l.values, 0)
	l.below = l.values[0] < 0
	n := len(l.values)
	for i, x := range l.values {
		// After the last value: the next value that the format would have.
		next := 2*x - l.values[max(i-1, 0)]
		if i+1 < n {
			next = l.values[i+1]
		}
		l.steps = append(l.steps, l.upperMidpoint(i-l.zero, (x+next)/2))
	}
	if l.below {
		first := l.values[0] - float64((l.values[1]-l.values[0])/2)
		l.steps = append([]float64{l.upperMidpoint(-l.zero-1, first)}, l.steps...)
	}
	smallest := l.values[slices.IndexFunc(l.values, func(x float64) bool { return x > 0 })]
	l.first = int64(math.Float64bits(smallest/4) >> nearShift)
	last := int64(math.Float64bits(4*l.values[n-1]) >> nearShift)
	for k := l.first; k <= last; k++ {
		for more := range uint64(2) {
			l.near = append(l.near, int16(l.search(math.Float64frombits(uint64(k)<<nearShift|more))))
		}
	}
	return l
}

// upperMidpoint returns the smallest float64 that rounds up at the midpoint of codes k and k+1,
// where ties go to the even code.
func (l *codeTable) upperMidpoint(k int, middle float64) float64 {
	if k&1 != 0 {
		return middle
	}
	return math.Nextafter(middle, math.Inf(1))
}

// code returns the code of the value nearest to x.
func (l *codeTable) code(x float64) int64 {
	bits := math.Float64bits(x)
	magnitude := bits &^ kernel.SignBit
	k := min(max(int64(magnitude>>nearShift)-l.first, 0), int64(len(l.near)/2-1))
	more := 0
	if magnitude&(1<<nearShift-1) != 0 {
		more = 1
	}
	code := int64(l.near[2*int(k)+more])
	if bits < kernel.SignBit {
		return code
	}
	if l.below {
		return -code
	}
	return l.search(x)
}

// search returns the code of any value by binary search.
func (l *codeTable) search(x float64) int64 {
	low, high := 0, len(l.steps)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if l.steps[middle] <= x {
			low = middle + 1
		} else {
			high = middle
		}
	}
	code := int64(low - l.zero)
	if l.below {
		code--
	}
	return code
}
