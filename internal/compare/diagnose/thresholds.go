package diagnose

// Thresholds are the limits of the rules about the place of an error.
type Thresholds struct {
	// Noise is the least ratio of an error to the distance of two references that makes an origin. NoiseGrowth is the
	// least ratio to the excess of the inputs. IntegerNoise is the rounding error of integers, in steps.
	Noise, NoiseGrowth, IntegerNoise float64
	// TooManyOrigins is the share of the rows (0 to 1), and FewOrigins the number of origins, from which on a graph
	// does not fit the data.
	TooManyOrigins float64
	FewOrigins     int
	// ApartCosine is the cosine below which two tensors have nothing in common.
	ApartCosine float64
	// Sure is the score, and SureShare the share of the values (0 to 1), from which on an error is too large to come
	// from known inputs.
	Sure, SureShare float64
	// Usual is the largest ratio of an inherited error to the median error of tensors of the same name.
	Usual float64
	// Excess: if differing rows were read, the expected error of the reader would be at least this factor larger than
	// its error.
	Excess float64
	// Passed is the largest ratio of the relative error of an output to the relative error of its worst input.
	Passed float64
}

// DefaultThresholds are the thresholds in use. They were set on simulated networks.
var DefaultThresholds = Thresholds{
	Noise: 6, NoiseGrowth: 3, IntegerNoise: 0.3, TooManyOrigins: 0.1, FewOrigins: 5,
	ApartCosine: 0.9, Sure: 8, SureShare: 0.1, Usual: 4, Excess: 10, Passed: 8,
}

var limits = &DefaultThresholds
