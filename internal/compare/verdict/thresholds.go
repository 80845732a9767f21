package verdict

// Thresholds are the limits between rounding and faults. A score is an error divided by
// the expected error; scores of healthy operators were at most 1.04 in exact classes, 1.07 of norms, 0.66
// of products of elements, 1.18 of products of matrices (simulated networks of 17 families).
type Thresholds struct {
	// Exact, Norm, Linear and Unknown are the scores up to which rounding explains the error, by the class of the
	// operator: bounds of every element, of norms, of sums, of any operator.
	Exact, Norm, Linear, Unknown float64
	// LinearSuspect is the score from which on a product of matrices with known inputs is suspected.
	LinearSuspect float64
	// Scaled is the score from which on a common factor counts; ScaleZ is its least distance from 1 in standard
	// deviations.
	Scaled, ScaleZ float64
	// Shaped is the score from which on an error with a form counts.
	Shaped float64
	// Steps is the score from which on quantised numbers that are one step off are a fault.
	Steps float64
	// Local is the least ratio of the score of a row or channel to the score of the whole, LeastLocal its least
	// score. Peak is the least ratio for an element.
	Local, LeastLocal, Peak float64
	// FarCrest is the least ratio of the largest error to the root mean square error in an amplified error with few
	// bad elements: 10^6 rounding errors reach 5.
	FarCrest float64
	// Noise is a score that no amplification reaches: healthy whitening reaches 17.6.
	Noise float64
	// Sure is the score, and SureShare the share of the values (0 to 1), from which on an amplified error is a fault:
	// no weights are so ill-conditioned.
	Sure, SureShare float64
	// Subnormal is the share (0 to 1) of subnormal numbers up to which mantissa bits are judged: subnormal numbers
	// have few.
	Subnormal float64
	// ZeroRow is the least ratio of the root mean square of a row of zeros, in the reference, to its rounding error. It
	// is 7 for two steps between subnormal numbers, which round to 0.
	ZeroRow float64
	// RoughInput is the relative error of an input from which on first-order bounds are multiplied by Rough. Tainted
	// multiplies the bounds if an input is or depends on an origin.
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
