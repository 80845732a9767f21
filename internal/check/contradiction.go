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

// statisticsSource gathers statistics of a tensor while its elements are read in order, to compare them with the
// statistics in dump.json.
type statisticsSource struct {
	layout.Source
	entry       *dumpdir.Tensor
	file        *tensorfile.Tensor
	stats       *tensor.Accumulator
	unit        int64 // bytes of an element
	next, count int64 // in elements: the first unread element, and the total
}

// ReadElements implements layout.Source.
func (w *statisticsSource) ReadElements(dst []byte, first int64) error {
	if err := w.Source.ReadElements(dst, first); err != nil {
		return err
	}
	if end := first + int64(len(dst))/w.unit; first <= w.next && w.next < end {
		w.stats.Add(dst[(w.next-first)*w.unit:])
		w.next = end
	}
	return nil
}

// readRemaining reads the remaining elements.
func (w *statisticsSource) readRemaining(ctx context.Context) error {
	block := make([]byte, min(w.count-w.next, layout.BlockElements)*w.unit)
	for w.next < w.count && ctx.Err() == nil {
		if err := w.ReadElements(block[:min(w.count-w.next, layout.BlockElements)*w.unit], w.next); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// watchSource wraps the source of a tensor in a statisticsSource if dump.json has statistics of it.
func (x *execution) watchSource(one *recompute.Tensor, of *dumpdir.Tensor, in *tensorfile.Tensor) error {
	if of.Statistics == nil || one.Source == nil {
		return nil
	}
	stats, err := tensor.NewNormAccumulator(one.Stored)
	if err != nil {
		return err
	}
	w := &statisticsSource{Source: one.Source, entry: of, file: in, stats: stats, unit: int64(one.Stored.UnitSize()), count: one.Shape.Elements()}
	one.Source, x.watched = w, append(x.watched, w)
	return nil
}

// crossCheck makes a verdict UNDECIDED if dump.json contradicts a file of the operator, such as a file of another
// step. Unless the verdict is OK, unread elements are read first, to have complete statistics.
func (x *execution) crossCheck(ctx context.Context, v *recompute.Verdict) (*recompute.Verdict, error) {
	for _, w := range x.watched {
		if w.next < w.count && v.Status != recompute.OK {
			if err := w.readRemaining(ctx); err != nil {
				return nil, lang.Errorf("%s: %w", w.entry.Statistics.Spot.Tensor, err)
			}
		}
		var all *tensor.Stats
		if w.next >= w.count {
			all = new(w.stats.Stats())
		}
		differs := w.entry.Statistics.Contradiction(w.file, all)
		if differs == nil {
			continue
		}
		x.warnings = append(x.warnings, lang.Say("%s: %v", w.entry.File.Path(), differs))
		if v.Reason != recompute.InputDiffers {
			v = &recompute.Verdict{Status: recompute.Undecided, Reason: recompute.InputDiffers, Why: lang.Error(differs), Attributes: v.Attributes}
		}
	}
	return v, nil
}
