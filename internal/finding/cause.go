package finding

import (
	"slices"

	"dumptool/internal/lang"
)

// Code names a reason of a status, or a cause that the diagnosis found.
type Code string

// Codes. Each has a row in causes.
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
	Permuted      Code = "PERMUTED"
	Tail          Code = "TAIL"
	Stride        Code = "STRIDE"
	Scale         Code = "SCALE"
	Offset        Code = "OFFSET"
	Negated       Code = "NEGATED"
	Shift         Code = "SHIFT"
	Saturation    Code = "SATURATION"
	Wrap          Code = "WRAP"
	Duplicate     Code = "DUPLICATE"
	Swapped       Code = "SWAPPED"
	BitFlip       Code = "BITFLIP"
	Endian        Code = "ENDIAN"
	DTypeMisread  Code = "DTYPE_MISREAD"
	Bias          Code = "BIAS"
	LayerInputBad Code = "LAYER_INPUT_BAD"
	PrecisionLoss Code = "PRECISION_LOSS"
	Amplified     Code = "AMPLIFIED"
	Random        Code = "RANDOM"
	IndexDiffers  Code = "INDEX_DIFFERS"
	IndexTie      Code = "INDEX_TIE"
	Pole          Code = "POLE"
	Unread        Code = "UNREAD"
	Unwritten     Code = "UNWRITTEN"
	Rows          Code = "ROWS"
	BatchMixed    Code = "BATCH_MIXED"
	StartedApart  Code = "STARTED_APART"
	// ArgumentsDiffer: both sides call the operator with different arguments other than tensors.
	ArgumentsDiffer Code = "ARGUMENTS_DIFFER"
	Memory          Code = "MEMORY"
	Unrelated       Code = "UNRELATED"
	CameIn          Code = "CAME_IN"
	NotCopied       Code = "NOT_COPIED"
	Magnitude       Code = "MAGNITUDE"
	Exact           Code = "EXACT"
	Flip            Code = "FLIP"
	Drifted         Code = "DRIFTED"
	Unknown         Code = "UNKNOWN"

	// Codes that concern an operator by itself.
	InnerOverflow    Code = "INNER_OVERFLOW"
	OperandBits      Code = "OPERAND_BITS"
	SelfWrong        Code = "SELF_WRONG"
	ReferenceDiffers Code = "REFERENCE_DIFFERS"
	InputDiffers     Code = "INPUT_DIFFERS"

	Gate             Code = "GATE"
	NotStandard      Code = "STANDARD"
	BeyondLimits     Code = "LIMITS"
	StatisticsDiffer Code = "STATISTICS"
	StatisticsOnly   Code = "STATISTICS_ONLY"
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
	PartialSum       Code = "PARTIAL_SUM"
	NotLocated       Code = "NOT_LOCATED"
	ReadError        Code = "READ_ERROR"
	UnsupportedDType Code = "UNSUPPORTED_DTYPE"
)

// Cause describes a code in a few words.
type Cause struct {
	Code  Code
	Words lang.Text
}

// causes has a row for every code.
var causes = []Cause{
	{CalcError, lang.Text{EN: "Calculation error"}},
	{Accumulated, lang.Text{EN: "Rounding that adds up"}},
	{OverflowFP16, lang.Text{EN: "Overflow of the NPU's type"}},
	{Underflow, lang.Text{EN: "Small values are lost"}},
	{ModelNaN, lang.Text{EN: "NaN or inf on both sides"}},
	{NPUNaN, lang.Text{EN: "NaN or inf on the NPU only"}},
	{Layout, lang.Text{EN: "The axes are in another order"}},
	{ZeroOutput, lang.Text{EN: "The output is all zeros"}},
	{ConstOutput, lang.Text{EN: "The output is constant"}},
	{ZeroTail, lang.Text{EN: "The output ends with zeros"}},
	{Tail, lang.Text{EN: "Errors from one element to the end"}},
	{Stride, lang.Text{EN: "Errors at regular distances"}},
	{Permuted, lang.Text{EN: "The same numbers in another order"}},
	{Scale, lang.Text{EN: "Times a constant"}},
	{Offset, lang.Text{EN: "Plus a constant"}},
	{Negated, lang.Text{EN: "The sign is wrong"}},
	{Shift, lang.Text{EN: "Elements are moved"}},
	{Saturation, lang.Text{EN: "At the limit of the type"}},
	{Wrap, lang.Text{EN: "Integers wrapped around"}},
	{Duplicate, lang.Text{EN: "The tensor of another operator"}},
	{Swapped, lang.Text{EN: "Swapped with another tensor"}},
	{BitFlip, lang.Text{EN: "Single bits differ"}},
	{Endian, lang.Text{EN: "The bytes are in the other order"}},
	{DTypeMisread, lang.Text{EN: "Read as another type"}},
	{Bias, lang.Text{EN: "Biased differences"}},
	{LayerInputBad, lang.Text{EN: "The inputs are bad"}},
	{PrecisionLoss, lang.Text{EN: "Too few bits"}},
	{Amplified, lang.Text{EN: "The error of the inputs grew"}},
	{Random, lang.Text{EN: "Other random numbers"}},
	{IndexDiffers, lang.Text{EN: "Other indices, the same results"}},
	{IndexTie, lang.Text{EN: "Indices of equal numbers"}},
	{Unwritten, lang.Text{EN: "Unwritten memory"}},
	{Pole, lang.Text{EN: "NaN of rounded inputs"}},
	{Unread, lang.Text{EN: "Rows that nothing reads"}},
	{Rows, lang.Text{EN: "The common rows were compared"}},
	{BatchMixed, lang.Text{EN: "Computed from all rows of a batch"}},
	{StartedApart, lang.Text{EN: "Other input or weights"}},
	{ArgumentsDiffer, lang.Text{EN: "Called with other arguments"}},
	{Memory, lang.Text{EN: "Another tensor was read"}},
	{Unrelated, lang.Text{EN: "Another tensor altogether"}},
	{CameIn, lang.Text{EN: "Came in from outside"}},
	{NotCopied, lang.Text{EN: "Changed by a copy"}},
	{Magnitude, lang.Text{EN: "Another magnitude"}},
	{Exact, lang.Text{EN: "Integers differ"}},
	{Flip, lang.Text{EN: "Another choice"}},
	{Drifted, lang.Text{EN: "Drifted apart"}},
	{Unknown, lang.Text{EN: "No rule explains it"}},
	{InnerOverflow, lang.Text{EN: "Overflow inside"}},
	{OperandBits, lang.Text{EN: "Factors of fewer bits"}},
	{SelfWrong, lang.Text{EN: "Wrong for its own inputs"}},
	{ReferenceDiffers, lang.Text{EN: "Right for its own inputs, the reference differs"}},
	{InputDiffers, lang.Text{EN: "Right for its own inputs, which differ"}},
	{Gate, lang.Text{EN: "A gate does not hold"}},
	{NotStandard, lang.Text{EN: "The standard is not met"}},
	{BeyondLimits, lang.Text{EN: "Beyond the limits"}},
	{StatisticsDiffer, lang.Text{EN: "The statistics differ"}},
	{StatisticsOnly, lang.Text{EN: "Only statistics are available"}},
	{DigestDiffers, lang.Text{EN: "The digests differ"}},
	{Margin, lang.Text{EN: "Near the limit"}},
	{ShapeDiffers, lang.Text{EN: "Another shape"}},
	{DTypeDiffers, lang.Text{EN: "Another element type"}},
	{SizeMismatch, lang.Text{EN: "Another number of elements"}},
	{SkipKey, lang.Text{EN: "Skipped by a key"}},
	{Excluded, lang.Text{EN: "Excluded by name"}},
	{BadHex, lang.Text{EN: "No hex text"}},
	{MissingPiece, lang.Text{EN: "A piece is missing"}},
	{DuplicatePiece, lang.Text{EN: "A piece is duplicated"}},
	{ConcatShape, lang.Text{EN: "Pieces do not fit together"}},
	{NotInModel, lang.Text{EN: "Not in the reference"}},
	{PartialSum, lang.Text{EN: "Summand of a sum of ranks"}},
	{NotLocated, lang.Text{EN: "Not found in the reference"}},
	{ReadError, lang.Text{EN: "The file cannot be read"}},
	{UnsupportedDType, lang.Text{EN: "No decoder for the type"}},
}

// Causes lists the descriptions of all codes.
func Causes() []Cause { return causes }

// Words describes a code in a few words, empty for an unknown code.
func (c Code) Words() (words lang.Text) {
	if i := slices.IndexFunc(causes, func(cause Cause) bool { return cause.Code == c }); i >= 0 {
		words = causes[i].Words
	}
	return words
}
