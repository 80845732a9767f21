package check

import (
	"context"

	"dumptool/internal/recompute"
)

// Case is a WRONG or MISFIT operator with its tensors, to be run again elsewhere.
type Case struct {
	Row *Operator
	// Whole is the operator, Piece a part small enough to export, nil if there is none.
	Whole *recompute.Operator
	Piece *recompute.Piece
}

// extract passes a WRONG or MISFIT operator to Options.Extract.
func (x *execution) extract(ctx context.Context, op *recompute.Operator, v *recompute.Verdict) error {
	if x.opt.Extract == nil || v.Status != recompute.Wrong && v.Status != recompute.Misfit {
		return nil
	}
	piece, err := recompute.PieceOf(ctx, op, v, x.opt.ExtractMost)
	if err != nil {
		return err
	}
	x.extracting.Lock()
	defer x.extracting.Unlock()
	x.opt.Extract(&Case{Row: &x.row, Whole: op, Piece: piece})
	return nil
}
