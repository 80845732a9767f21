package dumptest

import "dumptool/internal/compare/record"

// Stage is a step of a comparison, which gives rows their codes.
type Stage uint8

// The stages.
const (
	Pairing   Stage = iota // before anything is read: no partner, skipped, ambiguous
	Alignment              // of two opened tensors: types, shapes, what cannot be read
	Verdict                // from the numbers of the row alone
	Diagnosis              // from the pattern of the errors and the network
)

// Cause says what a code means.
type Cause struct {
	Code    record.Code
	Meaning string
	// Stages are those that give the code.
	Stages []Stage
}

// Causes is the table of all codes.
func Causes() []Cause {
	return []Cause{
		{record.CalcError, "the operator calculates something else: its error jumps or gathers in a part of the tensor", []Stage{Diagnosis}},
		{record.Accumulated, "rounding that grew along the network", []Stage{Diagnosis}},
		{record.OverflowFP16, "values beyond the largest finite number of the NPU's type", []Stage{Diagnosis}},
		{record.Underflow, "small values became 0 or subnormal", []Stage{Diagnosis}},
		{record.ModelNaN, "NaN or infinities at the same places on both sides", []Stage{Verdict, Diagnosis}},
		{record.NPUNaN, "NaN or infinities on the NPU side only", []Stage{Verdict, Diagnosis}},
		{record.Layout, "the axes are in another order", []Stage{Alignment, Diagnosis}},
		{record.ZeroOutput, "the NPU tensor is all zeros", []Stage{Diagnosis}},
		{record.ConstOutput, "the NPU tensor is constant", []Stage{Diagnosis}},
		{record.ZeroTail, "the NPU tensor ends with zeros", []Stage{Diagnosis}},
		{record.Tail, "errors from one offset to the end", []Stage{Diagnosis}},
		{record.Stride, "errors at regular distances", []Stage{Diagnosis}},
		{record.Scale, "the NPU tensor is the reference times a constant", []Stage{Diagnosis}},
		{record.Offset, "the NPU tensor is the reference plus a constant", []Stage{Diagnosis}},
		{record.Negated, "the NPU tensor is the reference with the other sign", []Stage{Diagnosis}},
		{record.Shift, "elements are moved by a constant distance", []Stage{Diagnosis}},
		{record.Saturation, "elements are at the limit of the type", []Stage{Verdict, Diagnosis}},
		{record.Wrap, "integers overflowed and wrapped around", []Stage{Diagnosis}},
		{record.Duplicate, "another operator has the same NPU tensor", []Stage{Diagnosis}},
		{record.BitFlip, "single bits differ", []Stage{Diagnosis}},
		{record.Endian, "the bytes of the elements are in the other order", []Stage{Diagnosis}},
		{record.DTypeMisread, "the elements were read as another type", []Stage{Diagnosis}},
		{record.Bias, "differences lean to one side", []Stage{Verdict, Diagnosis}},
		{record.LayerInputBad, "the inputs of the operator are bad", []Stage{Diagnosis}},
		{record.PrecisionLoss, "the operator computes with fewer bits than its type has", []Stage{Diagnosis}},
		{record.Amplified, "the error of the inputs grew by more than rounding explains; the operator may amplify it", []Stage{Diagnosis}},
		{record.Random, "random numbers were drawn with another seed", []Stage{Diagnosis}},
		{record.IndexTie, "indices differ among numbers that are the same but for rounding", []Stage{Diagnosis}},
		{record.Unread, "rows differ that no operator reads", []Stage{Diagnosis}},
		{record.StartedApart, "the runs did not read the same input or weights", []Stage{Diagnosis}},
		{record.Memory, "the NPU read another tensor than the reference", []Stage{Diagnosis}},
		{record.Unrelated, "the tensors have nothing in common: other input, step, weights, or another tensor", []Stage{Diagnosis}},
		{record.CameIn, "a tensor that no operator in the dump made differs by more than what came before it", []Stage{Verdict}},
		{record.NotCopied, "an operator that only moves elements changes them", []Stage{Verdict}},
		{record.Magnitude, "the tensor is larger or smaller by a factor that nothing before it explains", []Stage{Verdict}},
		{record.Exact, "integers differ that must be exact", []Stage{Verdict}},
		{record.Flip, "another choice was made among values that nearly tie", []Stage{Verdict}},
		{record.Drifted, "a weight has drifted apart since the runs began", []Stage{Verdict}},
		{record.Unknown, "no rule explains the row, or its partner is not known", []Stage{Pairing, Diagnosis}},
		{record.InnerOverflow, "computed again from its inputs the operator overflows inside: its output would fit its type", []Stage{Diagnosis}},
		{record.SelfWrong, "computed again from its own inputs the operator is wrong, and the reference agrees with it", []Stage{Diagnosis}},
		{record.ReferenceDiffers, "the operator computes what its own inputs say: weights or attributes of the reference are others", []Stage{Diagnosis}},
		{record.InputDiffers, "the operator computes what its own inputs say, and these are not those of the reference", []Stage{Diagnosis}},
		{record.Gate, "an extra gate, such as --min-cos, does not hold", []Stage{Verdict}},
		{record.NotStandard, "the acceptance standard (--standard) is not met, or cannot be applied", []Stage{Verdict}},
		{record.BeyondLimits, "elements beyond atol and rtol", []Stage{Verdict}},
		{record.StatisticsDiffer, "the statistics of the tensors differ, of which not all elements are there", []Stage{Verdict}},
		{record.DigestDiffers, "the digests of the elements differ", []Stage{Verdict}},
		{record.Margin, "passes, but within a factor 2 of the limit", []Stage{Verdict}},
		{record.ShapeDiffers, "as many elements in another shape", []Stage{Alignment, Verdict}},
		{record.DTypeDiffers, "another element type (--strict-dtype)", []Stage{Alignment}},
		{record.SizeMismatch, "another number of elements, or padding that is not zero", []Stage{Pairing, Alignment}},
		{record.StatisticsOnly, "only statistics are known, and gates and standards judge elements", []Stage{Alignment}},
		{record.SkipKey, "skipped by --skip-keys", []Stage{Pairing}},
		{record.Excluded, "skipped by --exclude-node-list", []Stage{Pairing}},
		{record.BadHex, "a hex text that is none", []Stage{Pairing}},
		{record.MissingPiece, "a piece of a tensor is missing", []Stage{Pairing}},
		{record.DuplicatePiece, "a piece of a tensor is there twice", []Stage{Pairing}},
		{record.ConcatShape, "pieces of a tensor whose shapes do not fit together", []Stage{Pairing}},
		{record.NotInModel, "the reference has no such tensor", []Stage{Pairing}},
		{record.PartialSum, "a summand: the reference has the sum of the ranks, which is compared where it is made", []Stage{Pairing}},
		{record.NotLocated, "the values do not say which part of the reference the tensor is", []Stage{Pairing}},
		{record.ReadError, "the file cannot be read", []Stage{Pairing, Alignment}},
		{record.UnsupportedDType, "an element type without a decoder", []Stage{Pairing, Alignment}},
	}
}
