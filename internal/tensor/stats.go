package tensor

import "math"

// Stats gathers statistics over host elements that arrive block by block. The
// same elements give the same result however they are cut into blocks; merged
// parts give a result that depends on the parts and their order only.
type Stats struct {
	host                       Host
	count, nan, posInf, negInf int64
	low, high                  float64 // of the finite values, if any
	sum, huge                  total
}

// Summary is the result of Stats. Every element of Count is either counted in
// one of NaN, PosInf and NegInf or finite. Min, Max and Mean are those of the
// finite values in float64, nil when there are none and for complex elements.
//
// An int64 or uint64 beyond 2^53 enters as the nearest float64, so Min and Max
// are good to 16 digits and Mean to an error of 2^-53 of the mean magnitude.
//
// A complex element is NaN if a part is, otherwise +Inf if a part is,
// otherwise -Inf if a part is.
type Summary struct {
	Count, NaN, PosInf, NegInf int64
	Min, Max, Mean             *float64
}

// total is a sum with its rounding error kept beside it (Ogita, Rump and
// Oishi, "Accurate Sum and Dot Product", Sum2): as accurate as a sum in twice
// the precision.
type total struct{ value, rest float64 }

func (t total) plus(x float64) total {
	sum := t.value + x
	part := sum - t.value
	return total{sum, t.rest + ((t.value - (sum - part)) + (x - part))}
}

// Values from hugeLimit on would overflow an ordinary sum: they are added
// apart, scaled down.
const (
	hugeLimit = 0x1p+900
	hugeScale = 0x1p-200
)

// NewStats returns empty statistics over elements of h.
func NewStats(h Host) *Stats {
	return &Stats{host: h, low: math.Inf(1), high: math.Inf(-1)}
}

// Add takes in a block of little-endian host elements. It panics if the block
// does not hold whole elements.
func (s *Stats) Add(block []byte) {
	n := mustCount(len(block), s.host)
	s.count += int64(n)
	if s.host.Complex() {
		s.addComplex(block, n)
		return
	}
	var values [512]float64
	size := s.host.Size()
	for n > 0 {
		k := min(n, len(values))
		Float64s(values[:k], block[:k*size], s.host)
		s.addValues(values[:k])
		block, n = block[k*size:], n-k
	}
}

func (s *Stats) addValues(values []float64) {
	low, high, sum := s.low, s.high, s.sum
	for _, x := range values {
		if !(math.Abs(x) < hugeLimit) {
			if !s.addSpecial(x) {
				continue
			}
		} else {
			sum = sum.plus(x)
		}
		if x < low {
			low = x
		}
		if x > high {
			high = x
		}
	}
	s.low, s.high, s.sum = low, high, sum
}

// addSpecial takes in a value that is huge or not finite and reports whether
// it is finite.
func (s *Stats) addSpecial(x float64) bool {
	switch {
	case math.IsNaN(x):
		s.nan++
	case x > math.MaxFloat64:
		s.posInf++
	case x < -math.MaxFloat64:
		s.negInf++
	default:
		s.huge = s.huge.plus(x * hugeScale)
		return true
	}
	return false
}

func (s *Stats) addComplex(block []byte, n int) {
	var values [256]complex128
	size := s.host.Size()
	for n > 0 {
		k := min(n, len(values))
		Complex128s(values[:k], block[:k*size], s.host)
		for _, z := range values[:k] {
			re, im := real(z), imag(z)
			switch {
			case math.IsNaN(re) || math.IsNaN(im):
				s.nan++
			case math.IsInf(re, 1) || math.IsInf(im, 1):
				s.posInf++
			case math.IsInf(re, -1) || math.IsInf(im, -1):
				s.negInf++
			}
		}
		block, n = block[k*size:], n-k
	}
}

// Merge takes in the elements that t has seen, as if they came after those of
// s. Both must be over the same host type.
func (s *Stats) Merge(t *Stats) {
	if s.host != t.host {
		panic("tensor: merging statistics of " + s.host.String() + " and " + t.host.String())
	}
	s.count += t.count
	s.nan += t.nan
	s.posInf += t.posInf
	s.negInf += t.negInf
	s.low = min(s.low, t.low)
	s.high = max(s.high, t.high)
	s.sum = s.sum.merged(t.sum)
	s.huge = s.huge.merged(t.huge)
}

func (t total) merged(u total) total {
	t = t.plus(u.value)
	t.rest += u.rest
	return t
}

// Summary returns the statistics of what was added so far.
func (s *Stats) Summary() Summary {
	sum := Summary{Count: s.count, NaN: s.nan, PosInf: s.posInf, NegInf: s.negInf}
	finite := s.count - s.nan - s.posInf - s.negInf
	if finite == 0 || s.host.Complex() {
		return sum
	}
	low, high, mean := s.low, s.high, s.mean(float64(finite))
	sum.Min, sum.Max, sum.Mean = &low, &high, &mean
	return sum
}

// mean returns the mean of the finite values, which rounding must not carry
// beyond the smallest and the largest of them.
func (s *Stats) mean(finite float64) float64 {
	huge := (s.huge.value + s.huge.rest) / finite / hugeScale
	mean := huge + (s.sum.value+s.sum.rest)/finite
	return min(max(mean, s.low), s.high)
}
