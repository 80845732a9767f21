package diagnose

import (
	"context"
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Tensors is a failing pair of tensors, open for reading.
type Tensors struct {
	// Result has the metrics of the pair, Request how they were computed. A nil Result
	// means that the shapes differ; then only the axis order is
	// inspected.
	Result  *metrics.Result
	Request metrics.Request
	// Ref and NPU read single elements and short runs; some thousand elements of each
	// side are read.
	Ref, NPU metrics.Reader
	// NPUShape is the shape of the NPU tensor if it differs from the request's, which is then
	// the shape of the reference.
	NPUShape tensor.Shape
}

// Examine inspects the tensors of a failing pair. It returns the known faults, the most specific
// one first, and the axis along which the errors are most uneven, nil if they are even. It names
// no operators. err is an error of reading.
func Examine(ctx context.Context, in Tensors) (found []finding.Finding, uneven *record.Unevenness, err error) {
	p, err := newPair(ctx, &in)
	if err != nil {
		return nil, nil, err
	}
	for _, pattern := range listPatterns() {
		if p.result == nil && pattern.code != finding.Layout || pattern.test == nil || !pattern.applies(found) {
			continue
		}
		p.facts, p.confidence = nil, pattern.confidence
		text := pattern.test(p)
		if err := p.err(); err != nil {
			return nil, nil, err
		}
		if !text.IsZero() {
			found = append(found, finding.Finding{Code: pattern.code, Confidence: p.confidence, Evidence: text, Facts: p.facts})
		}
	}
	return found, findMostUneven(p.result), nil
}

// newFindings returns one finding, none without evidence.
func newFindings(code finding.Code, confidence finding.Confidence, evidence lang.Sentence) []finding.Finding {
	if evidence.IsZero() {
		return nil
	}
	return []finding.Finding{{Code: code, Confidence: confidence, Evidence: evidence}}
}

// reads says which elements of a pair a pattern reads, in addition to the
// metrics.
type reads uint8

// The values of reads. readsSample includes readsErrors.
const (
	readsNothing reads = iota
	readsErrors        // the first errors, listed in the metrics
	readsSample        // elements and runs all over the tensor
	readsRows          // the metrics of other rows: found by Conclude
)

// pattern is a known kind of fault.
type pattern struct {
	code        finding.Code
	description string
	needs       reads
	confidence  finding.Confidence // unless the test sets another one
	// test returns the evidence, zero if the pattern does not apply. nil for
	// readsRows.
	test func(*pair) lang.Sentence
	// compatible are the codes of earlier findings with which the pattern is also reported; any other earlier finding
	// explains the pair already.
	compatible []finding.Code
}

// listPatterns lists the tests in order: first the patterns that explain the whole tensor and are least likely by chance.
// A new cause needs a line here and an example in the test of the table.
func listPatterns() []pattern {
	return []pattern{
		{finding.ModelNaN, "no errors, and NaN or the same infinity on both sides", readsNothing, finding.High, testModelNaN, nil},
		{finding.ZeroOutput, "zeros only", readsNothing, finding.High, testZeroOutput, nil},
		{finding.Wrap, "integers modulo 2^bits", readsNothing, finding.Medium, testWrapped, nil},
		{finding.Saturation, "numbers at the limit of their type", readsNothing, finding.Medium, testSaturated, nil},
		{finding.ConstOutput, "one value only", readsNothing, finding.High, testConstOutput, nil},
		{finding.ModelNaN, "NaN and infinities of the reference as the only errors", readsNothing, finding.High, testReferenceNaN, []finding.Code{finding.Saturation}},
		{finding.Endian, "elements with their bytes reversed", readsSample, finding.Medium, testByteSwapped, nil},
		{finding.DTypeMisread, "elements of another type of the same size", readsSample, finding.Medium, testOtherType, nil},
		{finding.BitFlip, "few errors, each one bit away from the reference", readsErrors, finding.Medium, testBitFlips, nil},
		{finding.OverflowFP16, "NaN, infinities and limits where numbers exceed float16", readsNothing, finding.High, testOverflow, []finding.Code{finding.Saturation}},
		{finding.NPUNaN, "NaN and infinities where the reference is finite", readsNothing, finding.High, testNPUNaN, []finding.Code{finding.BitFlip}},
		{finding.Negated, "the reference times -1", readsSample, finding.Medium, testNegated, nil},
		{finding.Scale, "the reference times a factor", readsSample, finding.Medium, testScaled, nil},
		{finding.Offset, "the reference plus a number", readsSample, finding.Medium, testDisplaced, []finding.Code{finding.Scale}},
		{finding.Shift, "the reference moved by some elements or a row", readsSample, finding.Medium, testShifted, nil},
		{finding.Layout, "the reference in another order of axes", readsSample, finding.Medium, testPermuted, nil},
		{finding.Permuted, "the reference with the positions of an axis in another order", readsSample, finding.Medium, testRegrouped, nil},
		{finding.Swapped, "two tensors, each in the place of the other", readsRows, finding.Medium, nil, nil},
		// A tensor that a pattern explains from its own reference is no copy: the next operator may pass it on unchanged.
		{finding.Duplicate, "the tensor of another operator", readsRows, finding.Medium, nil, []finding.Code{finding.OverflowFP16, finding.NPUNaN}},
		{finding.ZeroTail, "zeros at the end", readsNothing, finding.Medium, testZeroTail, nil},
		{finding.Tail, "errors from one offset to the end", readsSample, finding.Medium, testTail, []finding.Code{finding.ModelNaN, finding.OverflowFP16, finding.NPUNaN}},
		{finding.Stride, "errors at offsets with a common step", readsErrors, finding.Medium, testStrided, []finding.Code{finding.ModelNaN, finding.OverflowFP16, finding.NPUNaN, finding.BitFlip}},
		{finding.Underflow, "zeros and subnormal numbers for small numbers", readsErrors, finding.Medium, testUnderflow, []finding.Code{finding.ZeroOutput}},
		{finding.Bias, "differences of one sign", readsNothing, finding.Low, testBiased, nil},
	}
}

// applies reports whether the pattern adds something to the findings.
func (t *pattern) applies(findings []finding.Finding) bool {
	return !slices.ContainsFunc(findings, func(f finding.Finding) bool { return !slices.Contains(t.compatible, f.Code) })
}

// firstError returns the lowest offset of an error, -1 without errors.
func (p *pair) firstError() int64 {
	if len(p.result.ErrorOffsets) == 0 {
		return -1
	}
	return p.result.ErrorOffsets[0]
}
