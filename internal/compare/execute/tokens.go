package execute

import (
	"context"
	"slices"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// leaveOutPadding makes an alignment of log probabilities read zeros at the positions that its mask excludes, and names
// the mask. A mask that does not fit is an error if the user named it, else a warning of the row.
func (e *executor) leaveOutPadding(ctx context.Context, x *plan.Pair, a *align.Alignment, row *record.Row) (mask string, err error) {
	if len(x.Masks) == 0 || a.Status != "" || !isReal(a.Ref.DType) || !isReal(a.NPU.DType) {
		return "", nil
	}
	for _, t := range x.Masks {
		if a.Kept, err = e.readMask(ctx, x, a, t); err == nil {
			return t.String(), nil
		}
	}
	if e.opt.Mask == "" && !isContextEnd(err) {
		row.Warnings = append(slices.Clip(row.Warnings), lang.Say("%v; padding counts", err))
		err = nil
	}
	return "", err
}

// isReal reports whether a type holds floating-point numbers.
func isReal(d tensor.DType) bool {
	_, ok := tensor.FloatOf(d)
	return ok && !d.Host().Complex()
}

// readMask reads a mask of 0 and 1 with the shape of an alignment, apart from axes of length 1.
func (e *executor) readMask(ctx context.Context, x *plan.Pair, a *align.Alignment, t *plan.Tensor) ([]bool, error) {
	if t.Err != nil {
		return nil, t.Err
	}
	m, err := e.aligner.Align(align.Pair{Op: x.Row.Op, Ref: &t.Ref, NPU: &t.Ref})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	long := func(s tensor.Shape) tensor.Shape {
		return slices.DeleteFunc(slices.Clone(s), func(n int64) bool { return n == 1 })
	}
	if !slices.Equal(long(m.Shape), long(a.Shape)) {
		return nil, lang.Errorf("the mask %s has shape %s, %s has %s: want the same", t, m.Shape, x.Row.Op, a.Shape)
	}
	if m.Shape.Elements() > mostPositions {
		return nil, lang.Errorf("the mask %s has %d elements, want at most %d", t, m.Shape.Elements(), mostPositions)
	}
	kept, counted := make([]bool, 0, m.Shape.Elements()), 0
	var bad error
	err = e.decodeBoth(ctx, m, func(_ int64, elements, _ []float64) {
		for _, v := range elements {
			if v != 0 && v != 1 && bad == nil {
				bad = lang.Errorf("the mask %s holds %v at (%s), want 0 or 1", t, v, tensor.Shape(record.Coordinates(m.Shape, int64(len(kept)))).Join(", "))
			}
			if kept = append(kept, v == 1); v == 1 {
				counted++
			}
		}
	})
	switch {
	case err != nil:
		return nil, err
	case bad != nil:
		return nil, bad
	case counted == 0:
		return nil, lang.Errorf("the mask %s counts none of the %d tokens of %s %s: all of it is 0", t, len(kept), x.Row.Op, a.Shape)
	}
	return kept, nil
}

// countTokens computes the numbers of tokens.
func (e *executor) countTokens(ctx context.Context, a *align.Alignment, mask string, row *record.Row) error {
	c := metrics.NewTokenCounter(a.Shape, a.Kept)
	if err := e.decodeBoth(ctx, a, c.Add); err != nil {
		return err
	}
	row.Tokens = c.Finish()
	row.Tokens.Mask = mask
	row.Notes = slices.Insert(slices.Clone(row.Notes), 0, lang.Say("%d of %d elements are padding by %s: both sides count as 0 there", row.Tokens.Positions-row.Tokens.Counted, row.Tokens.Positions, mask))
	return nil
}
