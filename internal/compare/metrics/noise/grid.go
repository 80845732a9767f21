package noise

import (
	"math"
	"slices"

	"dumptool/internal/compare/metrics/kernel"
	"dumptool/internal/tensor"
)

// NumberGrid shows the type of the numbers in an NPU tensor of float32: tools that convert dumps store float16 and
// bfloat16 as float32. The elements of such a tensor use only the fraction bits of the coarser type, apart from a few
// damaged elements.
type NumberGrid struct {
	// Distinct is the number of different values, at most 64: with fewer values their bits are not significant.
	Distinct int `json:"distinct"`
	// OffFloat16 and OffBFloat16 count the elements that are not numbers of these types.
	OffFloat16  int64 `json:"off_float16,omitempty"`
	OffBFloat16 int64 `json:"off_bfloat16,omitempty"`
	// Subnormal counts the references with 0 < |r| below the normal numbers of float16. Saturated counts the pairs
	// with a reference beyond the range of float16 and an NPU element at the limit, or infinite, of the same sign.
	Subnormal int64 `json:"subnormal,omitempty"`
	Saturated int64 `json:"saturated,omitempty"`
	// These are Lone, RowsOff and OtherRowsRMS of Noise by the units and the rounding of float16 and bfloat16. Lone
	// is 0 if more than 1 % of the elements are not numbers of the type.
	LoneFloat16          int64   `json:"lone_float16,omitempty"`
	LoneBFloat16         int64   `json:"lone_bfloat16,omitempty"`
	RowsOffFloat16       int64   `json:"rows_off_float16,omitempty"`
	RowsOffBFloat16      int64   `json:"rows_off_bfloat16,omitempty"`
	OtherRowsRMSFloat16  float64 `json:"other_rows_rms_float16,omitempty"`
	OtherRowsRMSBFloat16 float64 `json:"other_rows_rms_bfloat16,omitempty"`
}

// The limits of float16.
const (
	halfMax    = tensor.MaxFloat16
	halfNormal = 0x1p-14
)

// add counts a block of pairs; excluded pairs are pairs of 0.
func (g *NumberGrid) add(n, r []float64, rSpan kernel.Span) {
	var of tensor.ValueType
	of.Add(n)
	g.OffFloat16, g.OffBFloat16 = g.OffFloat16+of.OffFloat16, g.OffBFloat16+of.OffBFloat16
	if rSpan.MinAbs < halfNormal {
		for _, x := range r {
			if x != 0 && math.Abs(x) < halfNormal {
				g.Subnormal++
			}
		}
	}
	if rSpan.Special || rSpan.MaxAbs > halfMax {
		for i, x := range r {
			if math.Abs(x) > halfMax && math.Abs(n[i]) == halfMax && math.Signbit(n[i]) == math.Signbit(x) {
				g.Saturated++
			}
		}
	}
}

// merge adds the pairs of another segment.
func (g *NumberGrid) merge(next *NumberGrid) {
	g.OffFloat16, g.OffBFloat16 = g.OffFloat16+next.OffFloat16, g.OffBFloat16+next.OffBFloat16
	g.Subnormal, g.Saturated = g.Subnormal+next.Subnormal, g.Saturated+next.Saturated
}

// countOffGrid returns the number of elements that are not numbers of a type.
func (g *NumberGrid) countOffGrid(d tensor.DType) int64 {
	if d == tensor.BFloat16 {
		return g.OffBFloat16
	}
	return g.OffFloat16
}

// Coarser are the coarser types whose numbers float32 arrays may hold, the coarsest first.
var Coarser = []tensor.DType{tensor.BFloat16, tensor.Float16}

// coarsening converts rounding errors of float32 to rounding errors of a coarser type: factor is the ratio of the
// errors, least the error of the smallest numbers: 0 for a type with the exponents of float32, whose errors contain it.
type coarsening struct{ factor, least float64 }

func coarseningTo(t Type) coarsening {
	c := coarsening{factor: math.Ldexp(1, 23-t.Mantissa)}
	if single, _ := TypeOf(tensor.Float32); t.MinExp > single.MinExp {
		c.least = t.Subnormal() / math.Sqrt(12)
	}
	return c
}

// coarsenings returns the conversions to the coarser types.
func coarsenings() (all []coarsening) {
	for _, d := range Coarser {
		t, _ := TypeOf(d)
		all = append(all, coarseningTo(t))
	}
	return all
}

// rounding returns the rounding error of elements whose rounding error in float32 is x.
func (c coarsening) rounding(x float64) float64 {
	x *= c.factor
	return math.Sqrt(float64(x*x) + float64(c.least*c.least))
}

// HeldType returns the coarser type whose numbers a float32 array holds, judged by the bits of its elements. ok is false
// if more than 1 % of the elements need float32, or there are fewer than 64 different values.
func (n *Noise) HeldType() (d tensor.DType, ok bool) {
	if n.Grid == nil || n.Grid.Distinct < maxDistinct {
		return tensor.Undefined, false
	}
	for _, d := range Coarser {
		if 100*n.Grid.countOffGrid(d) < n.Elements {
			return d, true
		}
	}
	return tensor.Undefined, false
}

// IsOf reports whether at least 99 % of the elements of a float32 array are numbers of float16 or bfloat16, and
// returns the share of the other elements.
func (n *Noise) IsOf(d tensor.DType) (ok bool, off float64) {
	if n.Grid == nil || !slices.Contains(Coarser, d) {
		return false, 0
	}
	off = float64(n.Grid.countOffGrid(d)) / float64(max(n.Elements, 1))
	return off <= 0.01, off
}

// MayHold reports whether a float32 array may hold numbers of a type: all of its elements fit the type, but there are
// too few different values to be sure.
func (n *Noise) MayHold(d tensor.DType) bool {
	return n.Grid != nil && n.Grid.Distinct < maxDistinct && n.Grid.countOffGrid(d) == 0
}

// WithType returns the noise of a float32 array that holds numbers of type d: storing the reference in this type makes
// larger rounding errors. Numbers below the normal ones of d are equally spaced.
func (n *Noise) WithType(d tensor.DType) *Noise {
	t, ok := TypeOf(d)
	if !ok {
		return n
	}
	as := *n
	as.Type = t
	rounding := coarseningTo(t).rounding
	as.Rounding = rounding(n.Rounding)
	for _, g := range []*Groups{&as.Rows, &as.Channels} {
		g.Rounding = slices.Clone(g.Rounding)
		for i, x := range g.Rounding {
			g.Rounding[i] = toFloat32(rounding(float64(x)))
		}
	}
	g := n.Grid
	as.Lone, as.RowsOff, as.OtherRowsRMS = g.LoneBFloat16, g.RowsOffBFloat16, g.OtherRowsRMSBFloat16
	if d == tensor.Float16 {
		as.Lone, as.RowsOff, as.OtherRowsRMS = g.LoneFloat16, g.RowsOffFloat16, g.OtherRowsRMSFloat16
		as.Subnormal = float64(g.Subnormal) / float64(max(n.Count, 1))
	}
	if n.Grid.Distinct < maxDistinct || n.Bits > t.Mantissa {
		as.Bits = t.Mantissa
	}
	return &as
}
