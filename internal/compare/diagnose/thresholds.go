package diagnose

// Thresholds are the limits of the rules about the place of an error.
type Thresholds struct {
	// Noise is how far an error exceeds the distance of two references where it is an origin; NoiseGrowth is
	// the same beside the excess of the inputs. IntegerNoise is the rounding error of integers.
	Noise, NoiseGrowth, IntegerNoise float64
	// TooManyOrigins is the share of the rows, and FewOrigins the number, from which on a graph does not
	// fit the data.
	TooManyOrigins float64
	FewOrigins     int
	// ApartCosine is the cosine below which two tensors have nothing in common.
	ApartCosine float64
	// Sure and SureShare are the score and the share of the values from which on the error of known inputs
	// is no propagation.
	Sure, SureShare float64
	// Usual is how far an error that is carried over may exceed the median of tensors of its name.
	Usual float64
	// Excess: a reader of differing rows would differ by more than this factor of what it does.
	Excess float64
	// Passed is the largest factor between the relative errors of an output and of its worst input.
	Passed float64
}

// DefaultThresholds are the thresholds in use. They were set on simulated networks.
var DefaultThresholds = Thresholds{
	Noise: 6, NoiseGrowth: 3, IntegerNoise: 0.3, TooManyOrigins: 0.1, FewOrigins: 5,
	ApartCosine: 0.9, Sure: 8, SureShare: 0.1, Usual: 4, Excess: 10, Passed: 8,
}

var limits = &DefaultThresholds
