package overflow

import (
	"cmp"
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
		one := newTensor(t.Kind, t.Index, s.DType, s.TensorFormat(), s.Shape, nil)
		one.file, one.FromStatistics = t.File, true
		stats := tableStats(s)
		one.holds(stats, s.DType, s.Shape)
		one.Count, one.NaN, one.PosInf, one.NegInf = counted(s, dumpdir.Count), counted(s, dumpdir.NaNs), counted(s, dumpdir.PositiveInfs), counted(s, dumpdir.NegativeInfs)
		one.Saturated = nil
		if one.excuse(s); one.Bad {
			shows := tensor.Number(firstShown(s, stats))
			one.BadStatistic = &shows
		}
		all = append(all, one)
	}
	return all
}

// tableStats is what a table says about the elements of a tensor. What it shows
// and does not count is there once.
func tableStats(s *dumpdir.Statistics) *tensor.Stats {
	stats := &tensor.Stats{Count: elements(s), NaN: s.CountOf(dumpdir.NaNs),
		PosInf: s.CountOf(dumpdir.PositiveInfs), NegInf: s.CountOf(dumpdir.NegativeInfs)}
	stats.Max, stats.Min, stats.Mean = cmp.Or(finite(s, dumpdir.Max), finite(s, dumpdir.FiniteMax)), cmp.Or(finite(s, dumpdir.Min), finite(s, dumpdir.FiniteMin)), finite(s, dumpdir.Mean)
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

// counted is a number of elements, nil where the table does not have it.
func counted(s *dumpdir.Statistics, what dumpdir.Statistic) *int64 {
	v, ok := s.Values.Get(what)
	if !ok {
		return nil
	}
	n := int64(v)
	return &n
}

// firstShown returns the first statistic that shows that a tensor is bad, which it is.
func firstShown(s *dumpdir.Statistics, stats *tensor.Stats) float64 {
	for _, what := range shown {
		v, ok := s.Values.Get(what)
		if ok && (math.IsNaN(v) || math.IsInf(v, 0)) {
			return v
		}
	}
	switch {
	case stats.NaN > 0:
		return math.NaN()
	case stats.PosInf > 0:
		return math.Inf(1)
	case stats.NegInf > 0:
		return math.Inf(-1)
	case stats.Max != nil && atLimit(s.DType, *stats.Max):
		return *stats.Max
	}
	return *stats.Min
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
