// Package noise measures how large the differences of a pair of tensors are beside
// what rounding alone makes of it, and how they spread over rows, channels, signs
// and magnitudes. A verdict by evidence needs both: see package verdict.
//
// All sums are over d = n-r of the pairs that count: finite on both sides, not
// masked, and not saturated.
package noise

import "dumptool/internal/tensor"

// Noise is what is known of a pair.
type Noise struct {
	Type     Type
	Shape    tensor.Shape
	Elements int64 // of the tensor
	Count    int64 // pairs that count

	// Of the reference: root mean square, mean, standard deviation, largest
	// magnitude.
	RefRMS, RefMean, RefStd, RefMax float64
	// Of the differences: root mean square, mean, largest magnitude, and the
	// magnitude of the reference where that is.
	RMS, Mean, Max, RefAtMax float64
	// Rounding is the root mean square of the errors of storing the reference in
	// the type: sqrt(mean ulp(r)^2 / 12); 0 for integers.
	Rounding float64
	// P90 is the magnitude that nine of ten differences do not exceed: the lower
	// edge of its bin, of which an octave has 8.
	P90 float64

	// Scale is s = sum dr / sum rr, Residual the root mean square of d - sr.
	Scale, Residual float64
	// ScaleBySign is the share of sum dd that a scale for each sign of r explains,
	// TowardZero |mean of d sign(r)| / RMS.
	ScaleBySign, TowardZero float64
	// MaxRelative and MaxAbsolute are the largest over the octaves of |r|: of
	// sqrt(sum dd / sum rr) and of sqrt(sum dd / count).
	MaxRelative, MaxAbsolute float64
	// View is the relative error as the least favourable linear map sees it, at
	// most 1000 (1e9 where the reference is 0 and d is not).
	View float64
	// GroupScale and GroupMean are the shares of sum dd that a scale, and a mean, of
	// each group explain; the larger of those of rows and channels.
	GroupScale, GroupMean float64

	// Subnormal is the share of the pairs with 0 < |r| below the normal numbers of
	// the type, Bits the mantissa bits that the NPU's elements use, Constant
	// whether they are all the same.
	Subnormal float64
	Bits      int
	Constant  bool
	// Softmax reports whether the reference looks like the result of one: elements
	// from 0 to 1, and rows that sum to 1.
	Softmax bool

	// NonFinite counts NPU elements that are not finite while the reference is not
	// the same, without saturation; Overflows pairs whose reference is beyond the range
	// of the type and saturated, without masks.
	NonFinite, Overflows int64

	// Rows are the positions of all axes but the last. Channels are those of axis 1
	// of tensors of 4 and more axes, of the last one of others.
	Rows, Channels Groups

	Probe Probe
}

// Groups are numbers of the rows or channels of a tensor. Neighbours may share a
// bin.
type Groups struct {
	Count, Size int64 // groups of the tensor, and elements of each
	Fold        int64 // groups in a bin, a power of two
	// Of each bin: root mean square, standard deviation and largest magnitude of
	// the reference; root mean square, mean and largest magnitude of the
	// differences; root mean square rounding error.
	RefRMS, RefStd, RefMax, RMS, Mean, Max, Rounding []float32
	// The largest RMS/RefStd and RefRMS/RefStd of the groups of a bin, at most 1e9. Of a
	// reference of 0 Inverse is 0, and Relative is 1e9 where there is a difference.
	Relative, Inverse []float32
}
