package overflow

import (
	"math"

	"dumptool/internal/dumpdir"
	"dumptool/internal/tensor"
)

// fromTable returns what a table of statistics says about tensors. It leaves out
// those of a table that could not be read.
func fromTable(tensors []dumpdir.Tensor) []Tensor {
	all := make([]Tensor, 0, len(tensors))
	for _, t := range tensors {
		s := t.Statistics
		if s == nil {
			continue
		}
		all = append(all, Tensor{Kind: t.Kind, Index: t.Index, DType: s.DType, Format: s.TensorFormat(), Shape: s.Shape, Size: s.Size,
			Stats: tableStats(s), Statistics: s, file: t.File})
	}
	return all
}

// tableStats is what a table says about the elements of a tensor. What it shows
// and does not count is there once.
func tableStats(s *dumpdir.Statistics) *tensor.Stats {
	stats := &tensor.Stats{Count: elements(s), NaN: s.CountOf(dumpdir.NaNs),
		PosInf: s.CountOf(dumpdir.PositiveInfs), NegInf: s.CountOf(dumpdir.NegativeInfs)}
	stats.Max, stats.Min, stats.Mean = finite(s, dumpdir.Max), finite(s, dumpdir.Min), finite(s, dumpdir.Mean)
	for _, what := range shown {
		v, ok := s.Values.Get(what)
		switch {
		case !ok:
		case math.IsNaN(v):
			stats.NaN = max(1, stats.NaN)
		case math.IsInf(v, 1) && what != dumpdir.Norm:
			stats.PosInf = max(1, stats.PosInf)
		case math.IsInf(v, -1):
			stats.NegInf = max(1, stats.NegInf)
		case (what == dumpdir.Max || what == dumpdir.Min) && atLimit(s.DType, v):
			stats.Saturated = 1
		}
	}
	return stats
}

// shown are the statistics that show NaN and infinities, the extremes first. A norm
// that is infinite shows only that the squares are too large for its type.
var shown = []dumpdir.Statistic{dumpdir.Max, dumpdir.Min, dumpdir.Mean, dumpdir.Norm}

// BadStatistic returns the statistic that shows that a tensor is bad, false unless
// it is, and comes from a table.
func (t *Tensor) BadStatistic() (v float64, ok bool) {
	if t.Statistics == nil || !t.Bad() {
		return 0, false
	}
	return firstShown(t), true
}

// firstShown returns the first statistic that shows that a tensor is bad.
func firstShown(t *Tensor) float64 {
	for _, what := range shown {
		v, ok := t.Statistics.Values.Get(what)
		if ok && (math.IsNaN(v) || math.IsInf(v, 0)) {
			return v
		}
	}
	switch {
	case t.Stats.NaN > 0:
		return math.NaN()
	case t.Stats.PosInf > 0:
		return math.Inf(1)
	case t.Stats.NegInf > 0:
		return math.Inf(-1)
	case t.Stats.Max != nil && atLimit(t.DType, *t.Stats.Max):
		return *t.Stats.Max
	}
	return *t.Stats.Min
}

// elements is how many elements the tensor has, by the table or its shape.
func elements(s *dumpdir.Statistics) int64 {
	if n := s.CountOf(dumpdir.Count); n > 0 || s.Shape == nil {
		return n
	}
	n, _ := s.Shape.Count()
	return n
}

// finite is a statistic of the finite elements, nil where the table has none.
func finite(s *dumpdir.Statistics, what dumpdir.Statistic) *float64 {
	v := s.Number(what)
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return nil
	}
	return v
}

// atLimit reports whether a value is at the limit of a type. Tables have values
// with six digits and more.
func atLimit(d tensor.DType, v float64) bool {
	const digits = 2e-6
	low, high := tensor.Limits(d)
	if weakLimits(d) {
		return v == low || v == high
	}
	return math.Abs(v-high) <= digits*high || math.Abs(v-low) <= -digits*low
}
