package execute

import (
	"context"
	"math"
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

const (
	// mostMasked is the number of origins whose masks are read.
	mostMasked = 64
	// mostPositions is the number of positions of a mask that is read.
	mostPositions = 1 << 24
)

// ReadMasked measures origins again without the positions that a mask excludes: another input of the
// operator, equal on both sides, that holds 0 and 1 for each position of the leading axes of the output,
// as attention_mask of padded prompts does. What stands at excluded positions is arbitrary. It sets
// Row.Masked and returns whether it set any; a tensor that cannot be read gives a warning.
func ReadMasked(ctx context.Context, p *plan.Plan, opt *Options, rep *record.Report, parts []Part) (found bool) {
	defer p.ClosePools()
	e := newExecutor(p, opt)
	for _, i := range rep.Origins[:min(len(rep.Origins), mostMasked)] {
		row := rep.Row(i)
		if ctx.Err() != nil || row.Result == nil || row.Kind != string(tensor.Output) {
			continue
		}
		k := slices.IndexFunc(parts, func(part Part) bool {
			return part.Row.Op == row.Op && part.Row.Round == row.Round && isMaskOf(part.Row, row)
		})
		if k < 0 {
			continue
		}
		masked, err := e.masked(ctx, &parts[i], &parts[k])
		if err != nil {
			rep.Warnings = append(rep.Warnings, lang.Sayf("%s: not measured without the positions that %s excludes: %v", "%s：未能排除 %s 屏蔽的位置再测量：%v", row.Name(), parts[k].Row.Name(), err))
			continue
		}
		row.Masked, found = masked, true
	}
	return found
}

// isMaskOf reports whether a row is a mask of the leading axes of an output, axes of length 1 apart.
func isMaskOf(mask, output *record.Row) bool {
	if mask.Result == nil || mask.Kind == string(tensor.Output) || mask.Noise == nil || !mask.Noise.Type.Integer || mask.Result.StrictErrors() > 0 ||
		!mask.Result.Ref.Min.Defined() || mask.Result.Ref.Min.Value() != 0 || mask.Result.Ref.Max.Value() != 1 {
		return false
	}
	axes := slices.DeleteFunc(slices.Clone(mask.Shape), func(n int64) bool { return n == 1 })
	return len(axes) > 0 && len(axes) < len(output.Shape) && slices.Equal(axes, output.Shape[:len(axes)]) && mask.Result.Total <= mostPositions
}

// masked measures the differences of an output at the positions that a mask keeps.
func (e *executor) masked(ctx context.Context, output, mask *Part) (*record.Masked, error) {
	kept, err := e.elements(mask)
	if err != nil {
		return nil, err
	}
	a, err := e.reopen(output)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if a.Status != "" || !a.Shape.Equal(output.Row.Shape) {
		return nil, lang.Errorf("the tensors are not those that were compared: shape %s, want %s", a.Shape, output.Row.Shape)
	}
	r, err := a.Readers(&e.buffers)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	m := &record.Masked{By: mask.Row.Name(), Positions: int64(len(kept))}
	for _, keep := range kept {
		if keep == 0 {
			m.Excluded++
		}
	}
	total, _ := a.Shape.Count()
	each := total / max(m.Positions, 1)
	var squares, refs float64
	for first := int64(0); first < total; first += metrics.ReadElements {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		count := min(metrics.ReadElements, total-first)
		ref, err := decoded(r.Ref, a.Ref.DType, first, count)
		if err != nil {
			return nil, err
		}
		npu, err := decoded(r.NPU, a.NPU.DType, first, count)
		if err != nil {
			return nil, err
		}
		for i, x := range ref {
			if kept[(first+int64(i))/each] != 0 {
				d := npu[i] - x
				squares, refs = squares+float64(d*d), refs+float64(x*x)
			}
		}
	}
	count := float64(max((m.Positions-m.Excluded)*each, 1))
	m.RMS, m.RefRMS = math.Sqrt(squares/count), math.Sqrt(refs/count)
	return m, nil
}

// elements reads all elements of the NPU's side of a part.
func (e *executor) elements(part *Part) ([]float64, error) {
	a, err := e.reopen(part)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	r, err := a.Readers(&e.buffers)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return decoded(r.NPU, a.NPU.DType, 0, part.Row.Result.Total)
}

// decoded reads elements of a side.
func decoded(from metrics.Reader, d tensor.DType, first, count int64) ([]float64, error) {
	raw := make([]byte, int(count)*d.UnitSize())
	if err := from.ReadElements(raw, first); err != nil {
		return nil, err
	}
	return metrics.Decode(d, raw)
}
