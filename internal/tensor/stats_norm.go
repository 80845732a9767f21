package tensor

import "math"

// Squares of values from hugeRoot on would overflow an ordinary sum: they are added
// apart, of values scaled down.
const (
	hugeRoot  = 0x1p+450
	rootScale = 0x1p-600
)

// squares are the sums of the squares of finite values.
type squares struct {
	sum  Sum // of values below hugeRoot
	huge Sum // of the others, times rootScale
}

// add adds the squares of the values that are finite. Conversions keep a product from
// being added without having been rounded, as some machines would do.
func (s *squares) add(values []float64) {
	for _, x := range values {
		switch {
		case math.Abs(x) < hugeRoot:
			s.sum = s.sum.Plus(float64(x * x))
		case x-x == 0:
			x *= rootScale
			s.huge = s.huge.Plus(float64(x * x))
		}
	}
}

// root is the square root of the sum of all squares.
func (s *squares) root() float64 {
	if s.huge == (Sum{}) {
		return math.Sqrt(s.sum.Total())
	}
	small := math.Sqrt(s.sum.Total()) * rootScale
	return math.Sqrt(s.huge.Total()+float64(small*small)) / rootScale
}
