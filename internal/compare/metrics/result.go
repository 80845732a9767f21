package metrics

import (
	"math"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/tensor"
)

// Class is the kind of number an element is. A complex element is NaN if a part is NaN,
// otherwise infinite if a part is infinite: +inf if one of its infinite parts is positive,
// else -inf.
type Class uint8

// The classes.
const (
	Finite Class = iota
	PosInf
	NegInf
	NaN
)

// Classes counts pairs: the first index is the class of the NPU element, the second the
// class of the reference element.
type Classes [4][4]int64

// Metric is the value of a metric, or undefined. It is as small as a float64, since a run
// keeps some sixty metrics of each pair.
type Metric struct {
	bits uint64 // of the value, minus noNumber: 0 if undefined
}

// noNumber are the bits of one NaN, which is reserved for undefined metrics.
const noNumber = 0x7ff800000000dead

// NumberOf returns a defined metric.
func NumberOf(x float64) Metric {
	bits := math.Float64bits(x)
	if bits == noNumber {
		bits++ // another NaN
	}
	return Metric{bits - noNumber}
}

// NumberIf returns x as a metric if is is true, else an undefined one.
func NumberIf(x float64, is bool) Metric {
	if !is {
		return Metric{}
	}
	return NumberOf(x)
}

// IsDefined reports whether the metric has a value.
func (m Metric) IsDefined() bool { return m.bits != 0 }

// Value returns the value, 0 if undefined.
func (m Metric) Value() float64 {
	if m.bits == 0 {
		return 0
	}
	return math.Float64frombits(m.bits + noNumber)
}

// Equal reports whether two metrics are equal; two NaN are equal.
func (m Metric) Equal(o Metric) bool {
	a, b := m.Value(), o.Value()
	return m.IsDefined() == o.IsDefined() && (a == b || a != a && b != b)
}

// Extreme is an extreme value and the lowest offset where it occurs. Offset is meaningless
// while the value is undefined.
type Extreme struct {
	Metric
	Offset int64
}

// Value is one element in full precision.
type Value struct {
	DType tensor.DType
	// Real and Imag are the parts of the element in float64; Imag is 0 for
	// types that are not complex.
	Real, Imag float64
	// Int is the element, in two's complement, if DType is an integer type or bool.
	Int uint64
}

// Element is one pair of elements.
type Element struct {
	Offset   int64 // in C order
	Ref, NPU Value
	// Abs is |d|, +inf if it exceeds the range of float64, NaN if a side is not finite. Rel is
	// |d|/|r|, NaN if r is 0 or a side is not finite.
	Abs, Rel float64
}

// Errors has the elements that fail a test.
type Errors struct {
	Count int64
	// First and Last are the failing elements with the lowest and the highest offset, nil
	// without any.
	First, Last *Element
	// MaxAbs and MeanAbs are the maximum and the mean of |d| over the failing elements, 0
	// without any.
	MaxAbs, MeanAbs float64
}

// SideStats are statistics of one side over its finite elements, undefined if there are
// none. Std and Var divide by the number of elements. The values of complex elements are
// their moduli.
type SideStats struct {
	Min, Max, Mean, Std, Var, RMS, L2 Metric
	Zeros, NaN, PosInf, NegInf        int64
	// Saturated counts elements at the largest finite magnitude of the type; of integers at
	// either limit, but not at the lower limit of unsigned types and bool. The reference is
	// first rounded to the NPU's type. Subnormal counts elements that are subnormal in their
	// own type.
	Saturated, Subnormal int64
}

// ToStats converts the statistics of count elements to tensor.Stats.
func (s *SideStats) ToStats(count int64) *tensor.Stats {
	number := func(m Metric) *float64 {
		if !m.IsDefined() {
			return nil
		}
		return new(m.Value())
	}
	return &tensor.Stats{Count: count, NaN: s.NaN, PosInf: s.PosInf, NegInf: s.NegInf, Saturated: s.Saturated,
		Extremes: tensor.Extremes[float64]{Min: number(s.Min), Max: number(s.Max), Mean: number(s.Mean)}, Norm: number(s.L2)}
}

// HPAA has the numbers of HPAA's cpu_vs_npu.csv, computed as its manual says: on both sides
// NaN counts as 0 and an infinity as the largest finite value of the NPU's type with its
// sign. Complex elements are not replaced: they count as in the other metrics.
type HPAA struct {
	// NonFinite reports whether the NPU tensor holds a NaN or an infinity.
	NonFinite bool
	// Errors are the elements beyond the limits after the replacement. First and Last have the
	// original elements, with Abs and Rel after the replacement.
	Errors
	// MaxRel and MeanRel are over the elements whose reference is not 0.
	MaxRel  Extreme
	MeanRel Metric
	// Mean, Std and RMS are of the reference.
	Mean, Std, RMS Metric
}

// Zero qualifies the cosine of zero vectors, which is a convention: 1 if both vectors are
// zero, 0 if one is.
type Zero uint8

// The values of Zero.
const (
	NoneZero Zero = iota
	OneZero
	BothZero
)

// HistogramBin is a bin of a logarithmic histogram with 8 bins per octave, equally wide
// within an octave: bin k starts at 2^(k>>3) * (1 + (k&7)/8). Count is never 0.
type HistogramBin struct {
	Bin   int32
	Count int64
}

// Histogram is a logarithmic histogram of magnitudes, its bins in rising order.
type Histogram struct {
	Zeros int64
	Bins  []HistogramBin
}

// AxisBin has the differences at one position of an axis, or at a run of positions.
type AxisBin struct {
	Count, Errors  int64 // pairs, and errors by the strict policy
	SumAbs, SumRel float64
}

// AxisProfile shows how the differences spread along one axis.
type AxisProfile struct {
	Axis int   `json:"axis"`
	Size int64 `json:"size"`
	// Fold is the number of positions in a bin; the last bin may have fewer. Axes of
	// more than 1024 positions are folded to at most 1024 bins.
	Fold int64     `json:"fold"`
	Bins []AxisBin `json:"bins"`
}

// Range has the elements from First to End, End excluded, in C order.
type Range struct{ First, End int64 }

// Point is a sampled pair.
type Point struct {
	Offset   int64
	Ref, NPU float64
}

// Quantiles are read from a histogram: at most 6.1 % off.
type Quantiles struct {
	P50, P90, P95, P99, P999 Metric
}

// Result is the result of the comparison of two tensors.
type Result struct {
	Total    int64 // elements
	Classes  Classes
	Differ   int64 // pairs with different values; -0 equals 0, NaN equals NaN
	Complex  bool  // |d| and |r| are moduli
	RefDType tensor.DType
	NPUDType tensor.DType

	// Start is the element at offset 0, nil for an empty tensor.
	Start *Element
	// Beyond has the elements that are finite on both sides and beyond the limits. Mismatch
	// has the elements of different classes, without MaxAbs and MeanAbs.
	Beyond, Mismatch Errors
	// HPAA are the numbers of cpu_vs_npu.csv.
	HPAA HPAA
	// ErrorOffsets are the first offsets, at most 64, of elements that are
	// beyond the limits or of different classes.
	ErrorOffsets []int64
	// Listed are the first elements, at most Request.List, that are errors by any policy:
	// beyond the limits, of different classes, or beyond the limits after HPAA's replacement.
	Listed []Element
	// Worst are the elements with the largest |d|, worst first; among equal |d| the lower offset
	// first. Elements of different classes come before all others.
	Worst []Element

	MaxAbs                     Extreme
	MeanAbs, MSE, RMSE         Metric
	MaxRel                     Extreme
	MeanRel, AccRel            Metric
	RelUndefined               int64   // pairs with r = 0 and d != 0
	MaxAbsUndefined            float64 // the largest |d| of pairs with r = 0, 0 without any
	RED, Diff1, LinfRel        Metric
	Cosine                     Metric // clamped to [-1, 1]
	CosineRaw                  Metric
	CosineZero                 Zero
	Pearson                    Metric
	SQNR, SNR, PSNR            Metric // decibels
	R1000, R5000               Metric // shares with |d| < |r|/1000 and < |r|/200
	ULPMax                     Extreme
	ULPMean                    Metric // of the NPU's type
	Bias, BiasZ                Metric
	BiasCount                  int64 // number of differing elements, the n of Bias
	MeanD, StdD                Metric
	KLD                        Metric // set by the second pass (Pool.KLD), if there is one
	Scale, ScaleResidual       Metric // s = sum nr/sum rr; sqrt(sum (n-sr)^2/sum r^2)
	Margin                     Metric // largest |d|/limit; +inf where the limit is 0
	MinRtol, MinAtol           Metric // smallest values that pass all pairs beside the other limit
	AbsQuantiles, RelQuantiles Quantiles
	// RelHistogram and RelQuantiles are over a sample of noise.SampleElements elements if the
	// tensor has more: see noise.Strata.
	AbsHistogram, RelHistogram Histogram

	Ref, NPU SideStats
	// Overflowed counts pairs whose NPU element is not finite or saturated while the
	// reference is neither. Underflowed counts pairs whose NPU element is 0 or subnormal
	// while |r| is at least the smallest normal of the NPU's type.
	Overflowed, Underflowed int64
	// SaturatedBoth counts pairs that are saturated at the same limit.
	SaturatedBoth int64
	// SaturatedErrors counts errors whose NPU element is at a limit of its type that the
	// reference is at or beyond. WrappedErrors counts errors whose NPU element equals the
	// reference modulo 2^bits (integers).
	SaturatedErrors, WrappedErrors int64
	// ZeroTail is the length of the run of zeros that the NPU tensor ends with.
	ZeroTail int64

	// Axes leaves out the elements of WithoutAxes: see Request.LateAxes.
	Axes        []AxisProfile
	WithoutAxes []Range
	// RefCRC and NPUCRC are the CRC-32C of the stored elements in C order. RefSum and NPUSum
	// are sums of hashes of the elements, rounded to the NPU's type; they do not depend on the
	// order of the elements.
	RefCRC, NPUCRC uint32
	RefSum, NPUSum uint64

	// Points are the sampled pairs, about Request.Points.
	Points []Point

	// Noise is the result of Request.Noise, nil if squares leave the range of float64. Packed
	// results have none.
	Noise *noise.Noise
}

// Largest returns the largest magnitude.
func (s *SideStats) Largest() float64 {
	return math.Max(math.Abs(s.Min.Value()), math.Abs(s.Max.Value()))
}

// CountBothFinite returns the number of pairs that are finite on both sides.
func (r *Result) CountBothFinite() int64 { return r.Classes[Finite][Finite] }

// Passes reports whether the largest |d| and |d|/|r| prove that all finite pairs pass the
// limits. false proves nothing.
func (r *Result) Passes(l Limits) bool {
	return l.provesPass(extent{maxAbs: r.MaxAbs.Value(), maxRel: r.MaxRel.Value(), undefined: r.RelUndefined > 0})
}

// LacksSquares reports whether metrics over squares, such as cosine, RED and rms, are undefined
// because a magnitude reaches 2^400 or all are at most 2^-400.
func (r *Result) LacksSquares() bool {
	if r.CountBothFinite() > 0 && !(r.RMSE.IsDefined() && r.RED.IsDefined() && r.CosineRaw.IsDefined()) {
		return true
	}
	return r.Ref.Max.IsDefined() != r.Ref.RMS.IsDefined() || r.NPU.Max.IsDefined() != r.NPU.RMS.IsDefined() || r.HPAA.Mean.IsDefined() != r.HPAA.RMS.IsDefined()
}

// StrictErrors returns the number of errors by the strict policy: finite elements
// beyond the limits and all elements of different classes.
func (r *Result) StrictErrors() int64 { return r.Beyond.Count + r.Mismatch.Count }
