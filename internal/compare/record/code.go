package record

// Code names a reason of a status, or a cause that the diagnosis found.
type Code string

// The codes. Causes says what each means.
const (
	CalcError     Code = "CALC_ERROR"
	Accumulated   Code = "ACCUMULATED"
	OverflowFP16  Code = "OVERFLOW_FP16"
	Underflow     Code = "UNDERFLOW"
	ModelNaN      Code = "MODEL_NAN"
	NPUNaN        Code = "NPU_NAN"
	Layout        Code = "LAYOUT"
	ZeroOutput    Code = "ZERO_OUTPUT"
	ConstOutput   Code = "CONST_OUTPUT"
	ZeroTail      Code = "ZERO_TAIL"
	Tail          Code = "TAIL"
	Stride        Code = "STRIDE"
	Scale         Code = "SCALE"
	Offset        Code = "OFFSET"
	Negated       Code = "NEGATED"
	Shift         Code = "SHIFT"
	Saturation    Code = "SATURATION"
	Wrap          Code = "WRAP"
	Duplicate     Code = "DUPLICATE"
	BitFlip       Code = "BITFLIP"
	Endian        Code = "ENDIAN"
	DTypeMisread  Code = "DTYPE_MISREAD"
	Bias          Code = "BIAS"
	LayerInputBad Code = "LAYER_INPUT_BAD"
	PrecisionLoss Code = "PRECISION_LOSS"
	Amplified     Code = "AMPLIFIED"
	Unknown       Code = "UNKNOWN"

	Gate             Code = "GATE"
	NotStandard      Code = "STANDARD"
	BeyondLimits     Code = "LIMITS"
	StatisticsDiffer Code = "STATISTICS"
	DigestDiffers    Code = "DIGEST"
	Margin           Code = "MARGIN"
	ShapeDiffers     Code = "SHAPE"
	DTypeDiffers     Code = "DTYPE"
	SizeMismatch     Code = "SIZE_MISMATCH"
	SkipKey          Code = "SKIP_KEY"
	Excluded         Code = "EXCLUDED"
	BadHex           Code = "BAD_HEX"
	MissingPiece     Code = "MISSING_PIECE"
	DuplicatePiece   Code = "DUPLICATE_PIECE"
	ConcatShape      Code = "CONCAT_SHAPE"
	NotInModel       Code = "NOT_IN_MODEL"
	ReadError        Code = "READ_ERROR"
	UnsupportedDType Code = "UNSUPPORTED_DTYPE"
)

// Stage is a step of a comparison, which gives rows their codes.
type Stage uint8

// The stages.
const (
	Pairing   Stage = iota // before anything is read: no partner, skipped, ambiguous
	Alignment              // of two opened tensors: types, shapes, what cannot be read
	Judging                // from the numbers of the row alone
	Diagnosis              // from the pattern of the errors and the network
)

// Cause says what a code means.
type Cause struct {
	Code    Code
	Meaning string
	// Stages are those that give the code.
	Stages []Stage
}

// Causes is the table of all codes.
func Causes() []Cause {
	return []Cause{
		{CalcError, "the operator calculates something else: its error jumps or gathers in a part of the tensor", []Stage{Diagnosis}},
		{Accumulated, "rounding that grew along the network", []Stage{Diagnosis}},
		{OverflowFP16, "values beyond the largest finite number of the NPU's type", []Stage{Diagnosis}},
		{Underflow, "small values became 0 or subnormal", []Stage{Diagnosis}},
		{ModelNaN, "NaN or infinities at the same places on both sides", []Stage{Judging, Diagnosis}},
		{NPUNaN, "NaN or infinities on the NPU side only", []Stage{Judging, Diagnosis}},
		{Layout, "the axes are in another order", []Stage{Alignment, Diagnosis}},
		{ZeroOutput, "the NPU tensor is all zeros", []Stage{Diagnosis}},
		{ConstOutput, "the NPU tensor is constant", []Stage{Diagnosis}},
		{ZeroTail, "the NPU tensor ends with zeros", []Stage{Diagnosis}},
		{Tail, "errors from one offset to the end", []Stage{Diagnosis}},
		{Stride, "errors at regular distances", []Stage{Diagnosis}},
		{Scale, "the NPU tensor is the reference times a constant", []Stage{Diagnosis}},
		{Offset, "the NPU tensor is the reference plus a constant", []Stage{Diagnosis}},
		{Negated, "the NPU tensor is the reference with the other sign", []Stage{Diagnosis}},
		{Shift, "elements are moved by a constant distance", []Stage{Diagnosis}},
		{Saturation, "elements are at the limit of the type", []Stage{Judging, Diagnosis}},
		{Wrap, "integers overflowed and wrapped around", []Stage{Diagnosis}},
		{Duplicate, "another operator has the same NPU tensor", []Stage{Diagnosis}},
		{BitFlip, "single bits differ", []Stage{Diagnosis}},
		{Endian, "the bytes of the elements are in the other order", []Stage{Diagnosis}},
		{DTypeMisread, "the elements were read as another type", []Stage{Diagnosis}},
		{Bias, "differences lean to one side", []Stage{Judging, Diagnosis}},
		{LayerInputBad, "the inputs of the operator are bad", []Stage{Diagnosis}},
		{PrecisionLoss, "the operator computes with fewer bits than its type has", []Stage{Diagnosis}},
		{Amplified, "the error of the inputs grew by more than rounding explains; the operator may amplify it", []Stage{Diagnosis}},
		{Unknown, "no rule explains the row, or its partner is not known", []Stage{Pairing, Diagnosis}},
		{Gate, "an extra gate, such as --min-cos, does not hold", []Stage{Judging}},
		{NotStandard, "the acceptance standard (--standard) is not met, or cannot be applied", []Stage{Judging}},
		{BeyondLimits, "elements beyond atol and rtol", []Stage{Judging}},
		{StatisticsDiffer, "the statistics of the tensors differ, of which not all elements are there", []Stage{Judging}},
		{DigestDiffers, "the digests of the elements differ", []Stage{Judging}},
		{Margin, "passes, but within a factor 2 of the limit", []Stage{Judging}},
		{ShapeDiffers, "as many elements in another shape", []Stage{Alignment, Judging}},
		{DTypeDiffers, "another element type (--strict-dtype)", []Stage{Alignment}},
		{SizeMismatch, "another number of elements, or padding that is not zero", []Stage{Pairing, Alignment}},
		{SkipKey, "skipped by --skip-keys", []Stage{Pairing}},
		{Excluded, "skipped by --exclude-node-list", []Stage{Pairing}},
		{BadHex, "a hex text that is none", []Stage{Pairing}},
		{MissingPiece, "a piece of a tensor is missing", []Stage{Pairing}},
		{DuplicatePiece, "a piece of a tensor is there twice", []Stage{Pairing}},
		{ConcatShape, "pieces of a tensor whose shapes do not fit together", []Stage{Pairing}},
		{NotInModel, "the reference has no such tensor", []Stage{Pairing}},
		{ReadError, "the file cannot be read", []Stage{Pairing, Alignment}},
		{UnsupportedDType, "an element type without a decoder", []Stage{Pairing, Alignment}},
	}
}
