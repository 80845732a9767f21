package diagnose

import "slices"

// Finding is a cause that was found, and why it is believed.
type Finding struct {
	Code       string
	Confidence string // High, Medium or Low
	Evidence   string // what was measured, and against what
}

// The confidences: High for a fact or a documented rule, Medium and Low for
// rules of ours.
const (
	High   = "high"
	Medium = "medium"
	Low    = "low"
)

// The causes.
const (
	CalcError     = "CALC_ERROR"
	Accumulated   = "ACCUMULATED"
	OverflowFP16  = "OVERFLOW_FP16"
	Underflow     = "UNDERFLOW"
	ModelNaN      = "MODEL_NAN"
	NPUNaN        = "NPU_NAN"
	Layout        = "LAYOUT"
	ZeroOutput    = "ZERO_OUTPUT"
	ConstOutput   = "CONST_OUTPUT"
	ZeroTail      = "ZERO_TAIL"
	Tail          = "TAIL"
	Stride        = "STRIDE"
	Scale         = "SCALE"
	Offset        = "OFFSET"
	Negated       = "NEGATED"
	Shift         = "SHIFT"
	Saturation    = "SATURATION"
	Wrap          = "WRAP"
	Duplicate     = "DUPLICATE"
	BitFlip       = "BITFLIP"
	Endian        = "ENDIAN"
	DTypeMisread  = "DTYPE_MISREAD"
	Bias          = "BIAS"
	LayerInputBad = "LAYER_INPUT_BAD"
	Unknown       = "UNKNOWN"
)

// has reports whether one of the findings has the code.
func has(findings []Finding, code string) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Code == code })
}
