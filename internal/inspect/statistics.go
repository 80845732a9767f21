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
	row.DType, row.Shape, row.Size, row.Format = s.DType, s.Shape, s.Size, s.TensorFormat()
	row.Stats.Min, row.Stats.Max, row.Stats.Mean = s.Number(dumpdir.Min), s.Number(dumpdir.Max), s.Number(dumpdir.Mean)
	row.Norm = s.Number(dumpdir.Norm)
	row.Stats.NaN, row.Stats.PosInf, row.Stats.NegInf = s.CountOf(dumpdir.NaNs), s.CountOf(dumpdir.PositiveInfs), s.CountOf(dumpdir.NegativeInfs)
	return row
}
