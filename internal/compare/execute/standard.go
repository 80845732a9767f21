package execute

import (
	"context"
	"errors"
	"slices"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/compare/standard"
	"dumptool/internal/finding"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// compareByStandard compares a pair and judges it by the standard of the run. It skips a tensor to which
// the standard does not apply.
func (e *executor) compareByStandard(ctx context.Context, x *plan.Pair, a *align.Alignment, part *Part) error {
	req := standard.Request{Options: e.opt.Standard, OpType: part.Row.OpType, Total: a.Shape.Elements(),
		RefDType: a.Ref.DType, NPUDType: a.NPU.DType, Effective: a.NPU.DType}
	if !req.Applies() {
		skipRow(part.Row, lang.Say("%s has no thresholds for %s, the reference being %s", req.Name, a.NPU.DType, a.Ref.DType))
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
	used, res, err := e.compareOrders(ctx, a, part)
	if err != nil {
		return err
	}
	if res.Noise != nil {
		if held, ok := res.Noise.HeldType(); ok {
			req.Effective = held
		}
		res.Noise = nil
	}
	// The pair is read again, together with the third result: thresholds depend on the type of the numbers, which the
	// metrics find.
	err = e.withReaders(used, func(r *align.Readers) (err error) {
		if other == nil {
			part.Row.Standard, err = standard.Judge(ctx, req, res, r.Ref, r.NPU, nil)
			return err
		}
		x, err := other.Readers(&e.buffers)
		if err != nil {
			return blameThird(err)
		}
		defer x.Close()
		part.Row.Standard, err = standard.Judge(ctx, req, res, r.Ref, r.NPU, x.NPU)
		return err
	})
	if err != nil {
		return err
	}
	part.Row.Pair.Status, part.Row.Pair.Reasons = part.Row.Standard.Status, standard.Reasons(part.Row.Standard)
	downgrade(part.Row)
	warnOfContradictions(x, a, res, part.Row)
	e.moveDetails(res, part.Row)
	return nil
}

// skipRow skips a row to which the standard does not apply.
func skipRow(row *record.Row, why lang.Sentence) {
	row.Shape = nil
	row.Pair.Set(record.Skip, finding.NotStandard, why)
}

// thirdName returns the name of the third side in messages.
func (e *executor) thirdName() lang.Text {
	if e.opt.Second != "" {
		return lang.Text{EN: "the second reference"}
	}
	return lang.Text{EN: "the third result"}
}

// third is the name of the third side in errors.
const third = "third"

// alignThird opens the third tensor of a pair and aligns it with the reference. If it cannot be compared, used is nil
// and why is the reason.
func (e *executor) alignThird(ctx context.Context, x *plan.Pair, a *align.Alignment) (used *align.Alignment, why lang.Sentence, err error) {
	if x.Third == nil {
		return nil, lang.Say("%s has no such tensor", e.thirdName()), nil
	}
	if x.Third.Err != nil {
		return nil, why, &align.SideError{Side: third, Err: x.Third.Err}
	}
	b, err := e.aligner.Align(align.Pair{Op: x.Row.Op, Ref: &x.Ref.Ref, NPU: &x.Third.Ref, Format: x.Format})
	if err != nil {
		return nil, why, blameThird(err)
	}
	b.Kept = a.Kept
	switch {
	case b.Status != "":
		why = lang.Say("%s is %v, the reference %v", e.thirdName(), b.NPU.Shape, b.Ref.Shape)
	case b.NPU.DType.Host().Complex():
		why = lang.Say("%s is %s", e.thirdName(), b.NPU.DType)
	case !b.Ref.Shape.Equal(a.Ref.Shape) || b.Shape.Elements() != a.Shape.Elements():
		why = lang.Say("%s has another axis order than the reference", e.thirdName())
	case b.Orders() > 1: // choose the order with the best agreement
		row := record.Row{Op: x.Row.Op, Limits: x.Row.Limits, Notes: slices.Clone(b.Notes)}
		used, _, err = e.compareOrders(ctx, b, &Part{Row: &row})
	default:
		used = b
	}
	if used == nil {
		b.Close()
	}
	return used, why, blameThird(err)
}

// blameThird changes the side in errors of the third result, which is aligned in place of the
// NPU tensor.
func blameThird(err error) error {
	var side *align.SideError
	if errors.As(err, &side) && side.Side == align.NPUSide {
		return &align.SideError{Side: third, Err: side.Err}
	}
	return err
}

// measureSecond measures the distance of the second reference from the reference. If the second has no
// such tensor, the row gets a note and is judged without it.
func (e *executor) measureSecond(ctx context.Context, x *plan.Pair, a *align.Alignment, part *Part) error {
	other, why, err := e.alignThird(ctx, x, a)
	if err != nil {
		return err
	}
	if other == nil {
		part.Row.Notes = append(slices.Clip(part.Row.Notes), lang.Say("--noise: %s", why))
		return nil
	}
	defer other.Close()
	res, err := e.measureNoise(ctx, other, part.Row, e.request(other, part.Row.Limits))
	if err == nil && res.Noise != nil {
		part.Row.Second = &record.Second{RMS: jsonpos.Float(res.Noise.RMS), Max: jsonpos.Float(res.Noise.Max)}
	}
	return err
}
