package execute

import (
	"cmp"
	"context"
	"math"
	"slices"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// excludePadding makes an alignment of log probabilities read zeros at the positions that its mask excludes, and names
// the mask. A mask that does not fit is an error if the user named it, else a warning of the row.
func (e *executor) excludePadding(ctx context.Context, x *plan.Pair, a *align.Alignment, row *record.Row) (mask string, err error) {
	if len(x.Masks) == 0 || a.Status != "" || !isFloat(a.Ref.DType) || !isFloat(a.NPU.DType) {
		return "", nil
	}
	for _, t := range x.Masks {
		kept, failed := e.readMask(ctx, x, a, t)
		if failed == nil {
			a.Kept = kept
			return t.String(), nil
		}
		err = cmp.Or(err, failed)
	}
	if e.opt.Mask == "" && !isContextEnd(err) {
		row.Warnings = append(slices.Clip(row.Warnings), lang.Say("%v; padding counts", err))
		err = nil
	}
	return "", err
}

// isFloat reports whether a type holds floating-point numbers.
func isFloat(d tensor.DType) bool {
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
	if m.Shape.Elements() > maxMaskPositions {
		return nil, lang.Errorf("the mask %s has %d elements, want at most %d", t, m.Shape.Elements(), maxMaskPositions)
	}
	kept, counted := make([]bool, 0, m.Shape.Elements()), 0
	var bad error
	err = e.withReaders(m, func(r *align.Readers) error {
		return decodeBoth(ctx, m, r, func(_ int64, elements, _ []float64) {
			for _, v := range elements {
				if v != 0 && v != 1 && bad == nil {
					bad = lang.Errorf("the mask %s holds %v at (%s), want 0 or 1", t, v, tensor.Shape(record.Coordinates(m.Shape, int64(len(kept)))).Join(", "))
				}
				if kept = append(kept, v == 1); v == 1 {
					counted++
				}
			}
		})
	})
	switch {
	case err != nil:
		return nil, err
	case bad != nil:
		return nil, bad
	case counted == 0:
		return nil, lang.Errorf("the mask %s excludes all %d tokens of %s %s: each of its elements is 0", t, len(kept), x.Row.Op, a.Shape)
	}
	return kept, nil
}

// countTokens computes the numbers of tokens.
func (e *executor) countTokens(ctx context.Context, a *align.Alignment, mask string, row *record.Row) error {
	c := metrics.NewTokenCounter(a.Shape, a.Kept)
	if err := e.withReaders(a, func(r *align.Readers) error { return decodeBoth(ctx, a, r, c.Add) }); err != nil {
		return err
	}
	row.Tokens = c.Finish()
	row.Tokens.Mask = mask
	row.Notes = slices.Insert(slices.Clone(row.Notes), 0, lang.Say("%d of %d elements are padding by %s: both sides count as 0 there", row.Tokens.Positions-row.Tokens.Counted, row.Tokens.Positions, mask))
	return nil
}

// LocateTokens finds, for log probabilities, the first failing tensor of the round in execution order whose row for the
// worst token is beyond its limits: in tensors that pass, rounding alone may exceed them. Such tensors have the axes of
// the tokens first, or one axis with all tokens. Tensors that cannot be read are warnings of the report.
func LocateTokens(p *plan.Plan, opt *Options, rep *record.Report, parts []Part) {
	defer p.ClosePools()
	e := newExecutor(p, opt)
	for i := range parts {
		own := parts[i].Row
		if own.Tokens == nil || own.Tokens.Worst == nil ||
			!slices.ContainsFunc(rep.Rounds, func(r record.Round) bool { return r.Name == own.Round && r.OrderKnown }) {
			continue
		}
		var earlier []*Part
		for k := range parts {
			row := parts[k].Row
			if row.Round == own.Round && row.Kind == string(tensor.Output) && row.Order < own.Order && row.Status.IsBad() && row.IsCompared() && !row.Result.Complex && hasTokens(row.Shape, own.Tokens.Shape) {
				earlier = append(earlier, &parts[k])
			}
		}
		slices.SortStableFunc(earlier, func(a, b *Part) int { return a.Row.Order - b.Row.Order })
		for _, part := range earlier {
			apart, err := e.isBeyondLimits(part, own.Tokens)
			if err != nil {
				rep.Warnings = append(rep.Warnings, lang.Say("%s: the row of its worst token could not be compared: %v", part.Row.Name(), err))
			}
			if apart {
				own.Tokens.First = part.Row.TensorName()
				break
			}
		}
	}
}

// hasTokens reports whether a shape begins with sequences and positions, or with one axis for all tokens.
func hasTokens(s tensor.Shape, tokens [2]int64) bool {
	return len(s) > 2 && slices.Equal(s[:2], tokens[:]) || len(s) > 1 && s[0] == tokens[0]*tokens[1]
}

// isBeyondLimits reports whether the worst token is beyond the limits in its row of a tensor.
func (e *executor) isBeyondLimits(part *Part, x *metrics.Tokens) (apart bool, err error) {
	err = e.withPair(part, func(a *align.Alignment, r *align.Readers) error {
		count := part.Row.Result.Total / x.Positions
		first := (x.Worst.Sequence*x.Shape[1] + x.Worst.Position) * count
		ref, err := readDecoded(r.Ref, a.Ref.DType, first, count)
		if err != nil {
			return err
		}
		npu, err := readDecoded(r.NPU, a.NPU.DType, first, count)
		for i, v := range npu {
			bound := part.Row.Limits.Atol + float64(part.Row.Limits.Rtol*math.Abs(ref[i]))
			apart = apart || v != ref[i] && !(math.Abs(v-ref[i]) <= bound) && !(math.IsNaN(v) && math.IsNaN(ref[i]))
		}
		return err
	})
	return apart, err
}
