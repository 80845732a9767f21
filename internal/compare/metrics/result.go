package metrics

import (
	"math"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/tensor"
)

// Class is what kind of number an element is. A complex element is NaN if a
// part is, otherwise infinite if a part is: +inf if one of its infinite parts
// is positive, -inf if not.
type Class uint8

// The classes.
const (
	Finite Class = iota
	PosInf
	NegInf
	NaN
)

// Classes counts pairs by the class of the NPU element, then by the class of the reference
// element.
type Classes [4][4]int64

// Metric is the value of a metric, or nothing where the metric is undefined. It has no more
// bytes than a number: a run keeps some sixty of each pair.
type Metric struct {
	bits uint64 // of the value, minus noNumber
}

// noNumber are the bits of a NaN that is no value.
const noNumber = 0x7ff800000000dead

// NumberOf returns a defined metric.
func NumberOf(x float64) Metric {
	bits := math.Float64bits(x)
	if bits == noNumber {
		bits++ // another NaN
	}
	return Metric{bits - noNumber}
}

// NumberIf returns a metric that is defined if it is.
func NumberIf(x float64, is bool) Metric {
	if !is {
		return Metric{}
	}
	return NumberOf(x)
}

// Defined reports whether there is a value.
func (m Metric) Defined() bool { return m.bits != 0 }

// Value is the value, 0 where there is none.
func (m Metric) Value() float64 {
	if m.bits == 0 {
		return 0
	}
	return math.Float64frombits(m.bits + noNumber)
}

// Equal reports whether two metrics are equal, as NaN is to NaN.
func (m Metric) Equal(o Metric) bool {
	a, b := m.Value(), o.Value()
	return m.Defined() == o.Defined() && (a == b || a != a && b != b)
}

// Extreme is an extreme value and where it is; of equal ones it has
// the lowest offset. The offset means nothing while the value is undefined.
type Extreme struct {
	Metric
	Offset int64
}

// Value is one element with all of its bits.
type Value struct {
	DType tensor.DType
	// Real and Imag are the parts of the element in float64; Imag is 0 for
	// types that are not complex.
	Real, Imag float64
	// Int holds the element where DType is an integer type or bool, in two's
	// complement.
	Int uint64
}

// Element is one pair of elements.
type Element struct {
	Offset   int64 // in C order
	Ref, NPU Value
	// Abs is |d|, +inf where it exceeds the range of float64; NaN when a side is not
	// finite. Rel is |d|/|r|, NaN where r is 0 or a side is not
	// finite.
	Abs, Rel float64
}

// Errors counts the elements that fail a test.
type Errors struct {
	Count int64
	// First and Last are the elements with the lowest and the highest offset,
	// nil when there are none.
	First, Last *Element
	// MaxAbs and MeanAbs are taken over the |d| of these elements, 0 when there
	// are none.
	MaxAbs, MeanAbs float64
}

// SideStats describes the elements of one side. The numbers are over its finite
// elements, undefined when there are none; Std and Var divide by the number of
// elements. The values of complex elements are their moduli.
type SideStats struct {
	Min, Max, Mean, Std, Var, RMS, L2 Metric
	Zeros, NaN, PosInf, NegInf        int64
	// Saturated counts elements at the largest finite magnitude of the type, of
	// integers at either limit; the lower limit of unsigned types and bool do
	// not count. The reference is rounded to the type of the NPU before. Subnormal counts elements that are subnormal in their own
	// type.
	Saturated, Subnormal int64
}

// Of is the same of so many elements as other packages have it.
func (s *SideStats) Of(count int64) *tensor.Stats {
	number := func(m Metric) *float64 {
		if !m.Defined() {
			return nil
		}
		return new(m.Value())
	}
	return &tensor.Stats{Count: count, NaN: s.NaN, PosInf: s.PosInf, NegInf: s.NegInf, Saturated: s.Saturated,
		Min: number(s.Min), Max: number(s.Max), Mean: number(s.Mean), Norm: number(s.L2)}
}

// HPAA are the numbers of HPAA's cpu_vs_npu.csv, computed as its manual says:
// on both sides NaN counts as 0 and an infinity as the largest finite value of
// the NPU's type with its sign. Elements without a replacement (complex) are as
// in the other metrics.
type HPAA struct {
	// NonFinite reports whether the NPU tensor holds a NaN or an infinity.
	NonFinite bool
	// Errors are those beyond the limits after the replacement; the elements in
	// it are the raw ones, their Abs and Rel are after the replacement.
	Errors
	// MaxRel and MeanRel are over the elements whose reference is not 0.
	MaxRel  Extreme
	MeanRel Metric
	// Of the reference.
	Mean, Std, RMS Metric
}

// Zero qualifies cosines of zero vectors, for which the cosine is a
// convention: 1 if both are zero, 0 if one is.
type Zero uint8

// What is zero.
const (
	NoneZero Zero = iota
	OneZero
	BothZero
)

// HistogramBin is a bin of a logarithmic histogram with 8 bins per octave: bin
// k holds the values from 2^(k/8) to 2^((k+1)/8), cut linearly inside the
// octave. Count is never 0.
type HistogramBin struct {
	Bin   int32
	Count int64
}

// Histogram is a logarithmic histogram of magnitudes, its bins in rising order.
type Histogram struct {
	Zeros int64
	Bins  []HistogramBin
}

// AxisBin is one position of an axis, or a run of them.
type AxisBin struct {
	Count, Errors  int64 // pairs, and errors by the strict policy
	SumAbs, SumRel float64
}

// AxisProfile shows how the differences spread along one axis.
type AxisProfile struct {
	Axis int   `json:"axis"`
	Size int64 `json:"size"`
	// Fold is the number of positions in a bin; the last bin may have fewer.
	// Axes of more than 1024 positions are folded to at most 1024 bins.
	Fold int64     `json:"fold"`
	Bins []AxisBin `json:"bins"`
}

// Range is the elements from First on up to End, in C order.
type Range struct{ First, End int64 }

// Point is a sampled pair.
type Point struct {
	Offset   int64
	Ref, NPU float64
}

// Quantiles are computed from a histogram: at most 6.1 % off.
type Quantiles struct {
	P50, P90, P95, P99, P999 Metric
}

// Result is everything that is known about a pair of tensors.
type Result struct {
	Total    int64 // elements
	Classes  Classes
	Differ   int64 // pairs whose values differ; -0 equals 0, NaN equals NaN
	Complex  bool  // errors are moduli
	RefDType tensor.DType
	NPUDType tensor.DType

	// Start is the element at offset 0, nil for an empty tensor.
	Start *Element
	// Beyond are the elements that are finite on both sides and beyond the
	// limits, Mismatch those whose classes differ (only counted and placed).
	Beyond, Mismatch Errors
	// HPAA are the numbers of cpu_vs_npu.csv.
	HPAA HPAA
	// ErrorOffsets are the first offsets, at most 64, of elements that are
	// beyond the limits or of different classes.
	ErrorOffsets []int64
	// Listed are the first elements, at most Request.List, that are errors under
	// any policy: beyond the limits, of different classes, or errors after
	// HPAA's replacement.
	Listed []Element
	// Worst are the elements with the largest |d|, worst first; of equal ones the lower
	// offset comes first. Elements of different classes come before all others.
	Worst []Element

	MaxAbs                     Extreme
	MeanAbs, MSE, RMSE         Metric
	MaxRel                     Extreme
	MeanRel, AccRel            Metric
	RelUndefined               int64   // pairs with r = 0 and d != 0
	MaxAbsUndefined            float64 // the largest |d| of them, 0 without any
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
	BiasCount                  int64 // differing elements behind Bias
	MeanD, StdD                Metric
	KLD                        Metric // of the second pass, if there was one
	Scale, ScaleResidual       Metric // s = sum nr/sum rr; sqrt(sum (n-sr)^2/sum r^2)
	Margin                     Metric // largest |d|/limit; +inf where the limit is 0
	MinRtol, MinAtol           Metric // that pass all pairs, the other limit given
	AbsQuantiles, RelQuantiles Quantiles
	// RelHistogram and RelQuantiles are of noise.SampleElements elements where there are
	// more: see noise.Strata.
	AbsHistogram, RelHistogram Histogram

	Ref, NPU SideStats
	// Overflowed counts pairs whose NPU element is not finite or saturated
	// while the reference is neither; Underflowed those whose NPU element is 0
	// or subnormal while |r| is at least the smallest normal of the NPU's type.
	Overflowed, Underflowed int64
	// SaturatedBoth counts pairs that are saturated at the same limit.
	SaturatedBoth int64
	// SaturatedErrors counts errors whose NPU element is the limit of its type
	// on the side of a reference beyond it, WrappedErrors those whose NPU
	// element is the reference modulo 2^bits (integers).
	SaturatedErrors, WrappedErrors int64
	// ZeroTail is the length of the run of zeros that the NPU tensor ends with.
	ZeroTail int64

	// Axes are without the elements of WithoutAxes, which there are by Request.LateAxes.
	Axes        []AxisProfile
	WithoutAxes []Range
	// RefCRC and NPUCRC are the CRC-32C of the elements as they are stored, in C
	// order; RefSum and NPUSum are sums of hashes of the elements, rounded to
	// the NPU's type, which do not depend on the order.
	RefCRC, NPUCRC uint32
	RefSum, NPUSum uint64

	// Points are sampled pairs, when they were asked for.
	Points []Point

	// Noise is what was asked for in Request.Noise, nil where squares leave the
	// range of float64. Packed results are without.
	Noise *noise.Noise
}

// BothFinite is the number of pairs that are finite on both sides.
func (r *Result) BothFinite() int64 { return r.Classes[Finite][Finite] }

// Passes reports whether the largest |d| and |d|/|r| prove that all finite pairs pass limits.
// If it returns false they may pass all the same.
func (r *Result) Passes(l Limits) bool {
	return l.quiet(extent{maxAbs: r.MaxAbs.Value(), maxRel: r.MaxRel.Value(), undefined: r.RelUndefined > 0})
}

// LacksSquares reports whether metrics over squares, such as cosine, RED and rms, are undefined
// since magnitudes reach 2^400, or none is above 2^-400.
func (r *Result) LacksSquares() bool {
	if r.BothFinite() > 0 && !(r.RMSE.Defined() && r.RED.Defined() && r.CosineRaw.Defined()) {
		return true
	}
	return r.Ref.Max.Defined() != r.Ref.RMS.Defined() || r.NPU.Max.Defined() != r.NPU.RMS.Defined() || r.HPAA.Mean.Defined() != r.HPAA.RMS.Defined()
}

// StrictErrors is the number of elements that are errors under the strict
// policy: finite ones beyond the limits and all of different classes.
func (r *Result) StrictErrors() int64 { return r.Beyond.Count + r.Mismatch.Count }
