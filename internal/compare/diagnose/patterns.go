package diagnose

import (
	"slices"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
)

// reads is what a pattern reads of the tensors of a pair; the rest is in the
// metrics.
type reads uint8

// What is read. Errors are read by readsSample too.
const (
	readsNothing reads = iota
	readsErrors        // the first errors that the metrics list
	readsSample        // elements all over the tensor, and runs of them
	readsRows          // the metrics of other rows: Conclude looks for it
)

// pattern is one known way in which a tensor is bad.
type pattern struct {
	code record.Code
	// looks says what the pattern looks for.
	looks      string
	reads      reads
	confidence record.Confidence // unless the test has another one
	// test returns the evidence, none where the pattern is not there. It is nil for
	// readsRows.
	test func(*pair) lang.Sentence
	// beside are the codes of earlier findings beside which this one counts; any
	// other finding explains it.
	beside []record.Code
}

// patterns are the tests in their order: what explains the whole tensor and
// leaves least to chance comes first. A cause is added here and in the test of
// the table.
func patterns() []pattern {
	return []pattern{
		{record.ModelNaN, "no errors, and NaN or the same infinity on both sides", readsNothing, record.High, onlyModelNaN, nil},
		{record.ZeroOutput, "zeros only", readsNothing, record.High, zeroOutput, nil},
		{record.Wrap, "integers modulo 2^bits", readsNothing, record.Medium, wrapped, nil},
		{record.Saturation, "numbers at the limit of their type", readsNothing, record.Medium, saturated, nil},
		{record.ConstOutput, "one value only", readsNothing, record.High, constOutput, nil},
		{record.ModelNaN, "NaN and infinities of the reference as the only errors", readsNothing, record.High, onlyReferenceNaN, []record.Code{record.Saturation}},
		{record.Endian, "elements with their bytes reversed", readsSample, record.Medium, byteSwapped, nil},
		{record.DTypeMisread, "elements of another type of the same size", readsSample, record.Medium, misread, nil},
		{record.BitFlip, "few errors, each one bit away from the reference", readsErrors, record.Medium, bitFlips, nil},
		{record.OverflowFP16, "NaN, infinities and limits where numbers exceed float16", readsNothing, record.High, overflowed, []record.Code{record.Saturation}},
		{record.NPUNaN, "NaN and infinities where the reference is finite", readsNothing, record.High, onlyNPUNaN, []record.Code{record.BitFlip}},
		{record.Negated, "the reference times -1", readsSample, record.Medium, negated, nil},
		{record.Scale, "the reference times a factor", readsSample, record.Medium, scaled, nil},
		{record.Offset, "the reference plus a number", readsSample, record.Medium, displaced, []record.Code{record.Scale}},
		{record.Shift, "the reference moved by some elements or a row", readsSample, record.Medium, shifted, nil},
		{record.Layout, "the reference in another order of axes", readsSample, record.Medium, permuted, nil},
		// A tensor that is made of its own reference is not another one: the operator
		// behind it may pass it on as it is.
		{record.Duplicate, "the tensor of another operator", readsRows, record.Medium, nil, []record.Code{record.OverflowFP16, record.NPUNaN}},
		{record.ZeroTail, "zeros at the end", readsNothing, record.Medium, zeroTail, nil},
		{record.Tail, "errors from one offset to the end", readsSample, record.Medium, tail, []record.Code{record.ModelNaN, record.OverflowFP16, record.NPUNaN}},
		{record.Stride, "errors at offsets with a common step", readsErrors, record.Medium, strided, []record.Code{record.ModelNaN, record.OverflowFP16, record.NPUNaN, record.BitFlip}},
		{record.Underflow, "zeros and subnormal numbers for small numbers", readsErrors, record.Medium, underflow, []record.Code{record.ZeroOutput}},
		{record.Bias, "differences of one sign", readsNothing, record.Low, biased, nil},
	}
}

// applies reports whether the pattern has something to add to the findings.
func (t *pattern) applies(findings []record.Finding) bool {
	return !slices.ContainsFunc(findings, func(f record.Finding) bool { return !slices.Contains(t.beside, f.Code) })
}

// firstError is the lowest offset of an error, -1 without errors.
func (p *pair) firstError() int64 {
	if len(p.result.ErrorOffsets) == 0 {
		return -1
	}
	return p.result.ErrorOffsets[0]
}
