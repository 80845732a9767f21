package check

import (
	"context"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// watched are the elements of a tensor that dump.json describes. Statistics of them are gathered
// while they are read in their order.
type watched struct {
	layout.Source
	of          *dumpdir.Tensor
	in          *tensorfile.Tensor
	stats       *tensor.Accumulator
	unit        int64 // bytes of an element
	next, count int64 // elements: the first that was not read, and all
}

// ReadElements implements layout.Source.
func (w *watched) ReadElements(dst []byte, first int64) error {
	if err := w.Source.ReadElements(dst, first); err != nil {
		return err
	}
	if end := first + int64(len(dst))/w.unit; first <= w.next && w.next < end {
		w.stats.Add(dst[(w.next-first)*w.unit:])
		w.next = end
	}
	return nil
}

// rest reads the elements that are left.
func (w *watched) rest(ctx context.Context) error {
	block := make([]byte, min(w.count-w.next, layout.BlockElements)*w.unit)
	for w.next < w.count && ctx.Err() == nil {
		if err := w.ReadElements(block[:min(w.count-w.next, layout.BlockElements)*w.unit], w.next); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// watch looks at the elements of a tensor while they are read, where dump.json describes it.
func (x *execution) watch(one *recompute.Tensor, of *dumpdir.Tensor, in *tensorfile.Tensor) error {
	if of.Statistics == nil || one.Source == nil {
		return nil
	}
	stats, err := tensor.NewNormAccumulator(one.Stored)
	if err != nil {
		return err
	}
	w := &watched{Source: one.Source, of: of, in: in, stats: stats, unit: int64(one.Stored.UnitSize()), count: one.Shape.Elements()}
	one.Source, x.watched = w, append(x.watched, w)
	return nil
}

// doubt makes a verdict undecided if dump.json contradicts a file of the operator: a file of
// another step, perhaps. What was not read of the tensors counts where something may be wrong.
func (x *execution) doubt(ctx context.Context, v *recompute.Verdict) (*recompute.Verdict, error) {
	for _, w := range x.watched {
		if w.next < w.count && v.Status != recompute.OK {
			if err := w.rest(ctx); err != nil {
				return nil, lang.Errorf("%s: %w", w.of.Statistics.Spot.Tensor, err)
			}
		}
		var all *tensor.Stats
		if w.next >= w.count {
			all = new(w.stats.Stats())
		}
		differs := w.of.Statistics.Contradiction(w.in, all)
		if differs == nil {
			continue
		}
		x.warnings = append(x.warnings, lang.Say("%s: %v", w.of.File.Path(), differs))
		if v.Reason != recompute.InputDiffers {
			v = &recompute.Verdict{Status: recompute.Undecided, Reason: recompute.InputDiffers, Why: lang.Error(differs), Attributes: v.Attributes}
		}
	}
	return v, nil
}
