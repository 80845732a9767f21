package inspect

import (
	"dumptool/internal/dumpdir"
	"dumptool/internal/tensor"
)

// Statistics are what a table says about a tensor of an operator.
type Statistics struct {
	Op string
	// Tensor has no kind where the table names only the operator.
	Tensor
	Norm   *float64
	Digest string
}

func newStatistics(op *dumpdir.Op, t *dumpdir.Tensor) Statistics {
	s := t.Statistics
	if s == nil {
		s = &dumpdir.Statistics{}
	}
	row := Statistics{Op: op.Names()[0], Digest: s.Digest, Tensor: Tensor{Kind: t.Kind, Index: t.Index, Stats: &tensor.Stats{}}}
	row.DType, row.Shape, row.Size, row.Format = s.DType, s.Shape, s.Size, tensor.ND
	if format, ok := tensor.ParseFormat(s.Format); ok {
		row.Format = format
	}
	number := func(what dumpdir.Statistic) *float64 {
		if v, ok := s.Values[what]; ok {
			return &v
		}
		return nil
	}
	count := func(what dumpdir.Statistic) int64 {
		if v := s.Values[what]; v > 0 && v < 1<<62 {
			return int64(v)
		}
		return 0
	}
	row.Stats.Min, row.Stats.Max, row.Stats.Mean = number(dumpdir.Min), number(dumpdir.Max), number(dumpdir.Mean)
	row.Norm = number(dumpdir.Norm)
	row.Stats.NaN, row.Stats.PosInf, row.Stats.NegInf = count(dumpdir.NaNs), count(dumpdir.PositiveInfs), count(dumpdir.NegativeInfs)
	return row
}
