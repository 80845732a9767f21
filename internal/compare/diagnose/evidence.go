package diagnose

import (
	"context"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Evidence is what the tensors of a failing pair show: all that the conclusion
// needs beside the metrics. It names no operators.
type Evidence struct {
	// Patterns are the known ways in which the tensor is bad, the most specific one
	// first.
	Patterns []record.Finding
	// Uneven is the most uneven axis, nil where the errors are even.
	Uneven *Unevenness
	// Noise is how large the differences are beside rounding, empty where that is not
	// known; for a pair that does not fail too.
	Noise noise.Packed
	// Second is the noise of a second reference, if there is one.
	Second Second
}

// Second is how far a second reference, of a lower precision, is from the reference.
type Second struct {
	Known    bool
	RMS, Max float64
}

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

// Examine inspects the tensors of a failing pair. The error is one of reading.
func Examine(ctx context.Context, in Tensors) (Evidence, error) {
	p, err := newPair(ctx, &in)
	if err != nil {
		return Evidence{}, err
	}
	var e Evidence
	for _, pattern := range patterns() {
		if p.result == nil && pattern.code != record.Layout || pattern.test == nil || !pattern.applies(e.Patterns) {
			continue
		}
		p.facts = nil
		text := pattern.test(p)
		if err := p.err(); err != nil {
			return Evidence{}, err
		}
		for _, f := range single(pattern.code, pattern.confidence(p), text) {
			f.Facts = p.facts
			e.Patterns = append(e.Patterns, f)
		}
	}
	e.Uneven = mostUneven(p.result)
	return e, nil
}

// single is a finding, or none without evidence.
func single(code record.Code, confidence record.Confidence, evidence lang.Sentence) []record.Finding {
	if evidence.IsZero() {
		return nil
	}
	return []record.Finding{{Code: code, Confidence: confidence, Evidence: evidence}}
}
