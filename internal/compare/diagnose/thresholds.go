package diagnose

// Thresholds are the limits of the rules about the place of an error.
type Thresholds struct {
	// Noise is the minimum ratio of the error of an origin to the distance between two references. NoiseGrowth is the
	// minimum factor between this ratio and the ratio of any input. IntegerNoise is the rounding error of integers,
	// in steps.
	Noise, NoiseGrowth, IntegerNoise float64
	// A graph does not fit the data if more than the share TooManyOrigins (0 to 1) of the rows, and at least
	// FewOrigins, are origins.
	TooManyOrigins float64
	FewOrigins     int
	// ApartCosine is the cosine (-1 to 1) of the angle between two tensors below which they have nothing in common.
	ApartCosine float64
	// An error is too large to come from known inputs above the score Sure if it also exceeds the share SureShare (0
	// to 1) of the values.
	Sure, SureShare float64
	// FirstInput is the error, as a share (0 to 1) of the values, that a network may bring along to the first dumped
	// operator of a partial dump; bfloat16 may bring 32 roundings (6 %).
	FirstInput float64
	// Usual is the maximum ratio of an inherited error to the median error of tensors of the same name.
	Usual float64
	// A gradient of a weight is off by more than rounding if its relative error exceeds GradientShare (0 to 1) of the
	// values and GradientGrowth times the median relative error of the outputs of the run; or FineGradientShare and
	// FineGradientGrowth. In 48 healthy trainings by PyTorch the largest errors were 12 % and 120 medians.
	GradientShare, GradientGrowth, FineGradientShare, FineGradientGrowth float64
	// Excess is the minimum ratio of the error that a reader of differing rows should have to the error that it has;
	// then it did not read these rows.
	Excess float64
	// Passed is the maximum ratio of the relative error of an output to the relative error of its worst input for an
	// error that was passed on.
	Passed float64
}

// DefaultThresholds are the thresholds in use. They were set on simulated networks.
var DefaultThresholds = Thresholds{
	Noise: 6, NoiseGrowth: 3, IntegerNoise: 0.3, TooManyOrigins: 0.1, FewOrigins: 5,
	ApartCosine: 0.9, Sure: 8, SureShare: 0.1, FirstInput: 0.03, Usual: 4,
	GradientShare: 0.25, GradientGrowth: 100, FineGradientShare: 0.01, FineGradientGrowth: 1000, Excess: 10, Passed: 8,
}

var limits = &DefaultThresholds
