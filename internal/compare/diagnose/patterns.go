package diagnose

import (
	"context"
	"fmt"
	"slices"
)

// found is what a test says; without evidence it found nothing.
type found struct{ confidence, evidence string }

// foundf is a finding whose evidence is formatted.
func foundf(confidence, format string, args ...any) found {
	return found{confidence, fmt.Sprintf(format, args...)}
}

// pattern is one test.
type pattern struct {
	code string
	test func(*pair) (found, error)
	// beside names the earlier findings beside which this one is worth telling;
	// any other finding explains it away.
	beside []string
}

// patterns are the tests in their order: what explains the whole tensor and
// leaves least to chance comes first.
func patterns() []pattern {
	return []pattern{
		{ModelNaN, onlyModelNaN, nil},
		{ZeroOutput, zeroOutput, nil},
		{Wrap, wrapped, nil},
		{Saturation, saturated, nil},
		{ConstOutput, constOutput, nil},
		{ModelNaN, onlyReferenceNaN, []string{Saturation}},
		{Endian, byteSwapped, nil},
		{DTypeMisread, misread, nil},
		{BitFlip, bitFlips, nil},
		{OverflowFP16, overflowed, []string{Saturation}},
		{NPUNaN, npuNaN, []string{BitFlip}},
		{Negated, negated, nil},
		{Scale, scaled, nil},
		{Offset, displaced, []string{Scale}},
		{Shift, shifted, nil},
		{Layout, permuted, nil},
		// A tensor that is made of its own reference is not another one: the operator
		// behind it may pass it on as it is.
		{Duplicate, duplicate, []string{OverflowFP16, NPUNaN}},
		{ZeroTail, zeroTail, nil},
		{Tail, tail, []string{ModelNaN, OverflowFP16, NPUNaN}},
		{Stride, strided, []string{ModelNaN, OverflowFP16, NPUNaN, BitFlip}},
		{Underflow, underflow, []string{ZeroOutput}},
		{Bias, biased, nil},
	}
}

// Patterns says how a tensor is bad: the most specific finding first, after it
// those that may be true as well. It finds nothing in a pair without errors but
// NaN and infinities on both sides. The error is one of reading.
func Patterns(ctx context.Context, in Input) ([]Finding, error) {
	p, err := newPair(ctx, &in)
	if err != nil {
		return nil, err
	}
	if p.result == nil {
		return p.onlyLayout()
	}
	var findings []Finding
	for _, pattern := range patterns() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !pattern.applies(findings) {
			continue
		}
		f, err := pattern.test(p)
		if err != nil {
			return nil, err
		}
		if f.evidence != "" {
			findings = append(findings, Finding{pattern.code, f.confidence, f.evidence})
		}
	}
	// What the model makes is told beside everything else.
	if f := modelNaN(p.result); f.evidence != "" && !has(findings, ModelNaN) {
		findings = append(findings, Finding{ModelNaN, f.confidence, f.evidence})
	}
	return findings, nil
}

// applies reports whether the test has something to add to the findings.
func (t *pattern) applies(findings []Finding) bool {
	for _, f := range findings {
		if !slices.Contains(t.beside, f.Code) {
			return false
		}
	}
	return true
}

// onlyLayout is the diagnosis of a pair whose shapes differ.
func (p *pair) onlyLayout() ([]Finding, error) {
	f, err := permuted(p)
	if err != nil || f.evidence == "" {
		return nil, err
	}
	return []Finding{{Layout, f.confidence, f.evidence}}, nil
}

// firstError is the lowest offset of an error, -1 without errors.
func (p *pair) firstError() int64 {
	if len(p.result.ErrorOffsets) == 0 {
		return -1
	}
	return p.result.ErrorOffsets[0]
}
