package compare

import (
	"dumptool/internal/compare/engine"
	"dumptool/internal/tensor"
)

// Status is the outcome of a row.
type Status string

// The outcomes. Shape, dtype and ambiguous rows were not compared.
const (
	Pass          Status = "PASS"
	Warn          Status = "WARN"
	Fail          Status = "FAIL"
	ShapeMismatch Status = "SHAPE_MISMATCH"
	DTypeMismatch Status = "DTYPE_MISMATCH"
	Ambiguous     Status = "AMBIGUOUS"
	UnmatchedRef  Status = "UNMATCHED_REF"
	UnmatchedNPU  Status = "UNMATCHED_NPU"
	Skip          Status = "SKIP"
	Partial       Status = "PARTIAL"
	Error         Status = "ERROR"
)

// Statuses lists all outcomes, in the order of summaries.
func Statuses() []Status {
	return []Status{Pass, Warn, Fail, ShapeMismatch, DTypeMismatch, Ambiguous, Error, Partial, Skip, UnmatchedRef, UnmatchedNPU}
}

// Code names a reason of a status, or a cause that the diagnosis found.
type Code string

// The causes of bad tensors.
const (
	CalcError       Code = "CALC_ERROR"
	Accumulated     Code = "ACCUMULATED"
	OverflowFP16    Code = "OVERFLOW_FP16"
	Underflow       Code = "UNDERFLOW"
	ModelNaN        Code = "MODEL_NAN"
	NPUNaN          Code = "NPU_NAN"
	LayoutCode      Code = "LAYOUT"
	ZeroOutput      Code = "ZERO_OUTPUT"
	ConstOutput     Code = "CONST_OUTPUT"
	ZeroTail        Code = "ZERO_TAIL"
	Tail            Code = "TAIL"
	Stride          Code = "STRIDE"
	Scale           Code = "SCALE"
	Offset          Code = "OFFSET"
	Negated         Code = "NEGATED"
	Shift           Code = "SHIFT"
	Saturation      Code = "SATURATION"
	Wrap            Code = "WRAP"
	Duplicate       Code = "DUPLICATE"
	BitFlip         Code = "BITFLIP"
	Endian          Code = "ENDIAN"
	DTypeMisread    Code = "DTYPE_MISREAD"
	BiasCode        Code = "BIAS"
	LayerInputBad   Code = "LAYER_INPUT_BAD"
	UnknownCode     Code = "UNKNOWN"
	GateBroken      Code = "GATE"   // an extra gate, such as --min-cos
	LimitsBroken    Code = "LIMITS" // elements beyond atol and rtol
	MarginCode      Code = "MARGIN" // passes, but within a factor 2 of the limit
	ShapeCode       Code = "SHAPE"  // as many elements in another shape
	DTypeCode       Code = "DTYPE"  // another element type (--strict-dtype)
	SkipKey         Code = "SKIP_KEY"
	Excluded        Code = "EXCLUDED"
	BadHex          Code = "BAD_HEX"
	SizeMismatch    Code = "SIZE_MISMATCH" // another number of elements
	MissingPiece    Code = "MISSING_PIECE"
	ConcatShape     Code = "CONCAT_SHAPE"
	NotInModel      Code = "NOT_IN_MODEL"
	ReadError       Code = "READ_ERROR"
	UnsupportedCode Code = "UNSUPPORTED_DTYPE"
)

// Confidence says where a reason comes from: high for a fact or a documented
// rule, medium and low for rules of ours.
type Confidence string

// The confidences.
const (
	High   Confidence = "high"
	Medium Confidence = "medium"
	Low    Confidence = "low"
)

// Reason explains a status, with what was measured and against what.
type Reason struct {
	Code       Code
	Confidence Confidence
	Evidence   string
}

// Limits are the limits of a row: an element is good if |d| <= Atol + Rtol*|r|,
// or as the tolerance mode of the run says.
type Limits struct {
	Atol, Rtol             float64
	AtolSource, RtolSource string // op_config, command line, profile dtype, ...
}

// Row is one output of an operator: the pair, its numbers and the verdict.
type Row struct {
	// Op is the name of the operator as the reference has it, as the NPU has it
	// when the reference has none.
	Op string
	// NPUOp is the operator's name on the NPU side where it is another one.
	NPUOp  string
	OpType string // empty when unknown
	Kind   string // "output", or "input" where inputs are compared
	Output int    // the index
	// Round tells apart rows of one output from several rounds, steps or cards:
	// the folders of the NPU's file, usually empty.
	Round string

	Status  Status
	Reasons []Reason
	// Notes say how the pair was made comparable or what to know about it:
	// squeezed, forced, converted NC1HWC0 to NCHW, empty, ...
	Notes []string
	// Partial is set when not all elements were compared, Forced when the shapes
	// differ and the elements were compared in their order all the same. Neither
	// can pass.
	Partial, Forced bool

	// RefFile and NPUFile are empty on a side that is missing. A file of
	// several tensors is followed by the tensor: FILE:output:1.
	RefFile, NPUFile string
	// RefPath and NPUPath are the files alone, as they are opened.
	RefPath, NPUPath string
	// Rule is the pairing rule that made the pair.
	Rule string
	// Shape is the shape that was compared. RefShape and NPUShape are those of
	// the sides in host order, nil where they were not read.
	Shape, RefShape, NPUShape tensor.Shape
	RefDType, NPUDType        tensor.DType
	// Order is the place of the row in the execution order, from 0; rows
	// without a place have the largest.
	Order int

	Limits Limits
	// Result is nil for a pair that was not compared.
	Result *engine.Result
	// Errors is the number of errors under the NaN policy of the run, by which
	// the verdict goes.
	Errors int64
	// First is the first element of Errors, nil when there is none.
	First *engine.Element
	// Err tells why a row has the status Error.
	Err error
	// Known is set when the baseline lists the failure.
	Known bool
}

// Compared reports whether the tensors of the row were compared.
func (r *Row) Compared() bool { return r.Result != nil }
