package diagnose

import (
	"context"
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Tensors is a failing pair of tensors, open for reading.
type Tensors struct {
	// Result and Request are the metrics of the pair and how they were computed. A
	// nil Result means that the shapes differ: only the axis order is inspected
	// then.
	Result  *metrics.Result
	Request metrics.Request
	// Ref and NPU give single elements and short runs of them; some thousand
	// elements are read of each.
	Ref, NPU metrics.Reader
	// NPUShape is the shape of the NPU tensor where it is not the request's,
	// which is that of the reference then; empty where it is.
	NPUShape tensor.Shape
}

// Examine inspects the tensors of a failing pair: the known ways in which they are bad,
// the most specific one first, and the axis along which the errors are most uneven, nil
// where they are even. It names no operators. The error is one of reading.
func Examine(ctx context.Context, in Tensors) (found []record.Finding, uneven *record.Unevenness, err error) {
	p, err := newPair(ctx, &in)
	if err != nil {
		return nil, nil, err
	}
	for _, pattern := range patterns() {
		if p.result == nil && pattern.code != record.Layout || pattern.test == nil || !pattern.applies(found) {
			continue
		}
		p.facts, p.confidence = nil, pattern.confidence
		text := pattern.test(p)
		if err := p.err(); err != nil {
			return nil, nil, err
		}
		if !text.IsZero() {
			found = append(found, record.Finding{Code: pattern.code, Confidence: p.confidence, Evidence: text, Facts: p.facts})
		}
	}
	return found, mostUneven(p.result), nil
}

// single is a finding, or none without evidence.
func single(code record.Code, confidence record.Confidence, evidence lang.Sentence) []record.Finding {
	if evidence.IsZero() {
		return nil
	}
	return []record.Finding{{Code: code, Confidence: confidence, Evidence: evidence}}
}

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
		{record.Swapped, "two tensors, each in the place of the other", readsRows, record.Medium, nil, nil},
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
