package inspect

import (
	"dumptool/internal/dumpdir"
	"dumptool/internal/tensor"
)

// Statistics are what a table says about a tensor of an operator.
type Statistics struct {
	// Op is the name of the operator.
	Op string `json:"op_name"`
	// Tensor has no kind where the table names only the operator.
	Tensor
	// Norm is the square root of the sum of the squares, Digest that of the bytes.
	Norm   *tensor.Number `json:"norm,omitempty"`
	Digest string         `json:"digest,omitempty"`
}

func newStatistics(op *dumpdir.Op, t *dumpdir.Tensor) Statistics {
	s := t.Statistics
	if s == nil {
		s = &dumpdir.Statistics{}
	}
	return Statistics{Op: op.Names()[0], Digest: s.Digest, Norm: (*tensor.Number)(s.Number(dumpdir.Norm)), Tensor: Tensor{
		KindInFile: t.Kind, Kind: t.Kind, Index: t.Index, DType: s.DType.String(), Format: new(s.TensorFormat()),
		Shape: Shape(s.Shape), OriginalShape: tensor.Shape{}, Groups: new(int64), Size: s.Size,
		Stats: newStats(&tensor.Stats{Min: s.Number(dumpdir.Min), Max: s.Number(dumpdir.Max), Mean: s.Number(dumpdir.Mean),
			NaN: s.CountOf(dumpdir.NaNs), PosInf: s.CountOf(dumpdir.PositiveInfs), NegInf: s.CountOf(dumpdir.NegativeInfs)}),
	}}
}
