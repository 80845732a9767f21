package tensor

import "dumptool/internal/exact"

// Sum is a sum with the rounding errors of its additions kept beside it, as
// accurate as a sum in twice the precision (Ogita, Rump and Oishi, "Accurate
// Sum and Dot Product", Sum2). The zero value is the empty sum.
type Sum struct{ Value, Rest float64 }

// Plus returns the sum with x added. x and the sum must be finite.
func (s Sum) Plus(x float64) Sum {
	sum := s.Value + x
	part := sum - s.Value
	return Sum{sum, s.Rest + ((s.Value - (sum - part)) + (x - part))}
}

// Merge returns the sum with those of t's terms added.
func (s Sum) Merge(t Sum) Sum {
	s = s.Plus(t.Value)
	s.Rest += t.Rest
	return s
}

// Total returns the sum rounded to float64.
func (s Sum) Total() float64 { return s.Value + s.Rest }

// Over returns the sum divided by n, which must be from 1 to 2^53: the quotient
// of the rounded sum, corrected by what both roundings cut off.
func (s Sum) Over(n int64) float64 {
	total := Sum{Value: s.Value}.Plus(s.Rest)
	quotient := total.Value / float64(n)
	remainder := exact.Remainder(total.Value, quotient, float64(n)) + total.Rest
	return quotient + remainder/float64(n)
}
