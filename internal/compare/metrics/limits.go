package metrics

import (
	"math"

	"dumptool/internal/compare/metrics/kernel"
	"dumptool/internal/lang"
)

// Mode says how atol and rtol combine to the limit of an element.
type Mode uint8

// The modes. An element is an error unless the condition holds, so NaN never
// passes.
const (
	// IsClose: |d| <= atol + rtol*|r|, as numpy.isclose.
	IsClose Mode = iota
	// BothExceeded: |d| <= max(atol, rtol*|r|), an error exceeds both limits.
	BothExceeded
	// EitherExceeded: |d| <= min(atol, rtol*|r|), an error exceeds either limit.
	EitherExceeded
)

// Limits are the tolerances of the elements of a pair.
type Limits struct {
	Atol, Rtol float64
	Mode       Mode
}

// check reports invalid limits.
func (l Limits) check() error {
	if !(l.Atol >= 0 && l.Rtol >= 0 && max(l.Atol, l.Rtol) <= math.MaxFloat64) {
		return lang.Errorf("limits atol=%v rtol=%v, want finite numbers from 0 on", l.Atol, l.Rtol)
	}
	if l.Mode > EitherExceeded {
		return lang.Errorf("tolerance mode %d, want %d to %d", l.Mode, IsClose, EitherExceeded)
	}
	return nil
}

// PassesElement reports whether a pair of elements passes; a pair with a non-finite side
// never does.
func (l Limits) PassesElement(e *Element) bool {
	return l.Passes(e.Abs, magnitude(e.Ref.Real, e.Ref.Imag))
}

// limit returns the largest |d| that passes for a reference of magnitude ref.
// The product is rounded before the addition, so that no machine fuses the two.
func (l Limits) limit(ref float64) float64 {
	relative := float64(l.Rtol * ref)
	switch l.Mode {
	case BothExceeded:
		return max(l.Atol, relative)
	case EitherExceeded:
		return min(l.Atol, relative)
	}
	return l.Atol + relative
}

// Passes reports whether |d| passes for a reference of magnitude |r|. All code that applies
// limits calls it. Neither NaN nor a difference beyond the range of float64 passes.
func (l Limits) Passes(abs, ref float64) bool { return abs <= min(l.limit(ref), math.MaxFloat64) }

// areExceeded reports whether any element does not pass.
func (l Limits) areExceeded(abs, r []float64) bool { return l.findFirstBeyond(abs, r) < len(abs) }

// findFirstBeyond returns the index of the first element that does not pass, len(abs) if all do.
func (l Limits) findFirstBeyond(abs, r []float64) int {
	if l.Mode == IsClose {
		return kernel.FindFirstBeyond(abs, r, l.Atol, l.Rtol)
	}
	for i, a := range abs {
		if !l.Passes(a, math.Abs(r[i])) {
			return i
		}
	}
	return len(abs)
}
