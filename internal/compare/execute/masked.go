package execute

import (
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

const (
	// maxMaskedOrigins is the largest number of origins whose masks are read.
	maxMaskedOrigins = 64
	// maxMaskPositions is the largest size of a mask that is read, in positions.
	maxMaskPositions = 1 << 24
	// additive: an element of an additive mask (added to scores) below this number excludes its position.
	additiveMaskLimit = -9000
)

// mask selects the positions of an output that count, such as the tokens that are not padding.
type mask struct {
	// positions is the number of positions. Each element of the mask covers a line of equally many positions.
	positions int64
	// isCounted reports whether a position of a line counts, given the element of the line.
	isCounted func(element float64, position int64) bool
}

// ReadMasked measures origins again without the positions that a mask excludes, as for padded prompts: elements at
// excluded positions are arbitrary. A mask is another input of the operator, equal on both sides, with the leading
// axes of the output. It holds 0 and 1 (attention_mask), 0 and large negative numbers (an additive mask), or the
// length of each line. ReadMasked sets Row.Masked and returns whether it set any; if a tensor cannot be read the
// report gets a warning.
func ReadMasked(ctx context.Context, p *plan.Plan, opt *Options, rep *record.Report, parts []Part) (found bool) {
	defer p.ClosePools()
	e := newExecutor(p, opt)
	for _, i := range rep.Origins[:min(len(rep.Origins), maxMaskedOrigins)] {
		row := rep.Row(i)
		if ctx.Err() != nil || row.Result == nil || row.Kind != string(tensor.Output) {
			continue
		}
		k := slices.IndexFunc(parts, func(part Part) bool {
			return part.Row.Op == row.Op && part.Row.Round == row.Round && maskOf(part.Row, row) != nil
		})
		if k < 0 {
			continue
		}
		masked, err := e.measureMasked(ctx, &parts[i], &parts[k])
		if err != nil {
			rep.Warnings = append(rep.Warnings, lang.Say("%s: could not be measured without the positions that the mask %s excludes: %v", row.Name(), parts[k].Row.Name(), err))
			continue
		}
		row.Masked, found = masked, true
	}
	return found
}

// maskOf interprets an input as a mask of the leading axes of an output, ignoring axes of length 1; nil if it is no
// mask.
func maskOf(in, output *record.Row) *mask {
	r := in.Result
	if r == nil || in.Kind == string(tensor.Output) || in.Noise == nil || r.StrictErrors() > 0 || !r.Ref.Min.IsDefined() {
		return nil
	}
	axes := slices.DeleteFunc(slices.Clone(in.Shape), func(n int64) bool { return n == 1 })
	if len(axes) == 0 || len(axes) >= len(output.Shape) || !slices.Equal(axes, output.Shape[:len(axes)]) {
		return nil
	}
	least, most, isInteger, m := r.Ref.Min.Value(), r.Ref.Max.Value(), in.Noise.Type.Integer, &mask{positions: axes.Elements()}
	switch next := output.Shape[len(axes)]; {
	case isInteger && least == 0 && most == 1:
		m.isCounted = func(element float64, _ int64) bool { return element != 0 }
	case !isInteger && most == 0 && (least < additiveMaskLimit || r.Ref.NegInf > 0):
		m.isCounted = func(element float64, _ int64) bool { return element >= additiveMaskLimit }
	case isInteger && len(axes) == 1 && least >= 1 && least < float64(next) && most <= float64(next):
		m.positions *= next
		m.isCounted = func(element float64, position int64) bool { return float64(position) < element }
	}
	if m.isCounted == nil || m.positions > maxMaskPositions {
		return nil
	}
	return m
}

// measureMasked measures the differences of an output at the positions that a mask keeps.
func (e *executor) measureMasked(ctx context.Context, output, by *Part) (*record.MaskedError, error) {
	var elements []float64
	err := e.withPair(by, func(a *align.Alignment, r *align.Readers) (err error) {
		elements, err = readDecoded(r.NPU, a.NPU.DType, 0, by.Row.Result.Total)
		return err
	})
	if err != nil {
		return nil, err
	}
	of := maskOf(by.Row, output.Row)
	m, line := &record.MaskedError{By: by.Row.Name(), Positions: of.positions}, max(of.positions/max(int64(len(elements)), 1), 1)
	kept := make([]bool, m.Positions)
	for i := range kept {
		if kept[i] = of.isCounted(elements[int64(i)/line], int64(i)%line); !kept[i] {
			m.Excluded++
		}
	}
	each := output.Row.Shape.Elements() / max(m.Positions, 1)
	var squares, refs float64
	err = e.withPair(output, func(a *align.Alignment, r *align.Readers) error {
		if err := checkSameShape(a, output); err != nil {
			return err
		}
		return decodeBoth(ctx, a, r, func(first int64, ref, npu []float64) {
			for i, x := range ref {
				if kept[(first+int64(i))/each] {
					d := npu[i] - x
					squares, refs = squares+float64(d*d), refs+float64(x*x)
				}
			}
		})
	})
	if err != nil {
		return nil, err
	}
	count := float64(max((m.Positions-m.Excluded)*each, 1))
	m.RMS, m.RefRMS = math.Sqrt(squares/count), math.Sqrt(refs/count)
	return m, nil
}

// checkSameShape returns an error if the tensors of a part have another shape than when they were compared.
func checkSameShape(a *align.Alignment, part *Part) error {
	if a.Status != "" || !a.Shape.Equal(part.Row.Shape) {
		return lang.Errorf("the tensors differ from the compared ones: shape %s, want %s", a.Shape, part.Row.Shape)
	}
	return nil
}

// decodeBoth calls visit with the elements of both sides, block by block; first is the offset of a block.
func decodeBoth(ctx context.Context, a *align.Alignment, r *align.Readers, visit func(first int64, ref, npu []float64)) error {
	total := a.Shape.Elements()
	for first := int64(0); first < total; first += metrics.ReadElements {
		if err := ctx.Err(); err != nil {
			return err
		}
		count := min(metrics.ReadElements, total-first)
		ref, err := readDecoded(r.Ref, a.Ref.DType, first, count)
		if err != nil {
			return err
		}
		npu, err := readDecoded(r.NPU, a.NPU.DType, first, count)
		if err != nil {
			return err
		}
		visit(first, ref, npu)
	}
	return nil
}

// readDecoded reads elements of a side and decodes them.
func readDecoded(from metrics.Reader, d tensor.DType, first, count int64) ([]float64, error) {
	raw := make([]byte, int(count)*d.UnitSize())
	if err := from.ReadElements(raw, first); err != nil {
		return nil, err
	}
	return metrics.Decode(d, raw)
}
