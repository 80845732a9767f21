package verdict

// Thresholds are the limits between rounding and faults. A score is an error divided by
// the expected error; scores of healthy operators were at most 1.04 in exact classes, 1.07 of norms, 0.66
// of products of elements, 1.18 of products of matrices (simulated networks of 17 families).
type Thresholds struct {
	// Exact, Norm, Linear and Unknown are the scores up to which rounding is assumed, by the class of the
	// operator: bounds of every element, of norms, of sums, of any operator.
	Exact, Norm, Linear, Unknown float64
	// LinearSuspect is the score from which on a product of matrices with known inputs is suspected.
	LinearSuspect float64
	// Scaled is the score from which on a common factor counts; ScaleZ is how many standard deviations
	// it has to be from 1.
	Scaled, ScaleZ float64
	// Shaped is the score from which on an error counts that has a form.
	Shaped float64
	// Steps is the score of quantised numbers that are one step off.
	Steps float64
	// Local is by how much a row or channel has to exceed the score of the whole, at least LeastLocal; Peak
	// is the same of an element.
	Local, LeastLocal, Peak float64
	// FarCrest is how far an element of an amplified error has to stand out of its rms: 10^6 rounding
	// errors reach 5.
	FarCrest float64
	// Noise is the score that no amplification reaches: healthy whitening reaches 17.6.
	Noise float64
	// Sure and SureShare are the score and the share of the values from which on an amplified error is a
	// fault: no weights are so ill-conditioned.
	Sure, SureShare float64
	// Subnormal is the share of numbers below the normal ones, which have few bits, up to which bits count.
	Subnormal float64
	// RoughInput is the relative error of an input from which on bounds of the first order are multiplied
	// by Rough. Tainted multiplies the bounds behind an origin.
	RoughInput, Rough, Tainted float64
}

// DefaultThresholds are the thresholds in use.
var DefaultThresholds = Thresholds{
	Exact: 1.6, Norm: 2, Linear: 2.5, Unknown: 4, LinearSuspect: 1.8,
	Scaled: 0.6, ScaleZ: 20, Shaped: 1.6, Steps: 4,
	Local: 6, LeastLocal: 5, Peak: 2, FarCrest: 20, Noise: 32, Sure: 8, SureShare: 0.1,
	Subnormal: 0.1, RoughInput: 0.2, Rough: 4, Tainted: 1.5,
}

var limits = &DefaultThresholds

// fewElements is the size of a group below which its error is one of chance.
const fewElements = 8
