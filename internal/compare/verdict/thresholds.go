package verdict

// Thresholds are the limits between rounding and faults. A score is an error divided by
// the expected error; scores of healthy operators were at most 1.04 in exact classes, 1.07 of norms, 0.66
// of products of elements, 1.18 of products of matrices (simulated networks of 17 families).
type Thresholds struct {
	// Exact, Norm, Linear and Unknown are the scores up to which rounding explains the error, for four kinds of
	// operators: whose bound holds for every element (copies, activations), norms and elementwise products, sums
	// (matrix products, convolutions), and operators of unknown type.
	Exact, Norm, Linear, Unknown float64
	// LinearSuspect is the score above which a matrix product with known inputs is suspected.
	LinearSuspect float64
	// Scaled is the score above which a common factor counts. ScaleZ is the minimum distance of the factor from 1, in
	// standard deviations.
	Scaled, ScaleZ float64
	// Shaped is the score above which an error in a form that rounding cannot have counts.
	Shaped float64
	// Steps is the score above which quantised numbers that are one step off are a fault.
	Steps float64
	// Local is the minimum ratio of the score of a row or channel to the score of the whole tensor, and LeastLocal
	// the minimum score of the row or channel. Peak is the minimum ratio for an element.
	Local, LeastLocal, Peak float64
	// FarCrest is the least ratio of the largest error to the root mean square error in an amplified error with few
	// bad elements: 10^6 rounding errors reach 5.
	FarCrest float64
	// Noise is a score that no amplification reaches: healthy whitening reaches 17.6.
	Noise float64
	// An amplified error is a fault above the score Sure if the error also exceeds the share SureShare (0 to 1) of
	// the values: no weights are so ill-conditioned.
	Sure, SureShare float64
	// Subnormal is the maximum share (0 to 1) of subnormal numbers in a tensor whose mantissa bits are judged:
	// subnormal numbers have fewer bits.
	Subnormal float64
	// ZeroRow is the least ratio of the root mean square of a row of zeros, in the reference, to its rounding error. It
	// is 7 for two steps between subnormal numbers, which round to 0.
	ZeroRow float64
	// If the relative error of an input exceeds RoughInput, bounds of the first order are multiplied by Rough. If an
	// input is an origin or depends on one, they are multiplied by Tainted.
	RoughInput, Rough, Tainted float64
}

// DefaultThresholds are the thresholds in use.
var DefaultThresholds = Thresholds{
	Exact: 1.6, Norm: 2, Linear: 2.5, Unknown: 4, LinearSuspect: 1.8,
	Scaled: 0.6, ScaleZ: 20, Shaped: 1.6, Steps: 4,
	Local: 6, LeastLocal: 5, Peak: 2, FarCrest: 20, Noise: 32, Sure: 8, SureShare: 0.1,
	Subnormal: 0.1, ZeroRow: 8, RoughInput: 0.2, Rough: 4, Tainted: 1.5,
}

var limits = &DefaultThresholds

// fewElements is the size of a group below which its error varies by chance.
const fewElements = 8
