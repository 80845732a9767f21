package diagnose

import (
	"context"

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
