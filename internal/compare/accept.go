package compare

import (
	"context"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/compare/standard"
	"dumptool/internal/lang"
)

// accept compares a pair and judges it by the standard of the run. A tensor that the
// standard cannot be applied to is skipped.
func (e *executor) accept(ctx context.Context, x *Pair, a *align.Alignment, part *Part) error {
	req := standard.Request{Options: e.opt.Standard, OpType: part.Row.OpType, Total: a.Shape.Elements(),
		RefDType: a.Ref.DType, NPUDType: a.NPU.DType, Effective: a.NPU.DType}
	if !req.Applies() {
		skipRow(part.Row, lang.Sayf("%s has no thresholds for %s, the reference being %s", "%s 没有 %s 的阈值(标杆为 %s)", req.Name, a.NPU.DType, a.Ref.DType))
		return nil
	}
	var other *align.Alignment
	if req.UsesThird() {
		var why lang.Sentence
		var err error
		if other, why, err = e.alignThird(ctx, x, a); err != nil {
			return err
		}
		if other == nil {
			skipRow(part.Row, why)
			return nil
		}
		defer other.Close()
		req.ThirdDType = other.NPU.DType
	}
	used, res, err := e.byOrder(ctx, a, part)
	if err != nil {
		return err
	}
	if res.Noise != nil {
		if held, ok := res.Noise.Held(); ok {
			req.Effective = held
		}
		res.Noise = nil
	}
	if part.Row.Standard, err = e.judgeStandard(ctx, req, res, used, other); err != nil {
		return err
	}
	part.Row.Pair.Status, part.Row.Pair.Reasons = part.Row.Standard.Status, standard.Reasons(part.Row.Standard)
	downgrade(part.Row)
	e.keep(res, part.Row)
	return nil
}

// judgeStandard reads the tensors of a pair once more, and those of the third result.
func (e *executor) judgeStandard(ctx context.Context, req standard.Request, res *metrics.Result, a, other *align.Alignment) (*record.Standard, error) {
	r, err := a.Readers(&e.buffers)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if other == nil {
		return standard.Judge(ctx, req, res, r.Ref, r.NPU, nil)
	}
	x, err := other.Readers(&e.buffers)
	if err != nil {
		return nil, ofThird(err)
	}
	defer x.Close()
	return standard.Judge(ctx, req, res, r.Ref, r.NPU, x.NPU)
}

// skipRow skips a row that the standard cannot be applied to.
func skipRow(row *record.Row, why lang.Sentence) {
	row.Pair.Status, row.Shape = record.Skip, nil
	row.Pair.Reasons = append(row.Pair.Reasons, record.Finding{Code: record.NotStandard, Confidence: record.High, Evidence: why})
}
