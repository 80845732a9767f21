package check

import (
	"context"

	"dumptool/internal/recompute"
)

// Case is an operator that is WRONG or a MISFIT with its tensors, for those who want to run it
// again.
type Case struct {
	Row *Operator
	// Formula is the name of what it should compute.
	Formula string
	// Inputs are those of the formula in their order, nil for one that is absent.
	Inputs, Outputs []*recompute.Tensor
	// Expected is nil for an operator that is too large.
	Expected *recompute.Expectation
}

// extract hands an operator to who wants it.
func (x *execution) extract(ctx context.Context, op *recompute.Operator, v *recompute.Verdict) error {
	if x.opt.Extract == nil || v.Status != recompute.Wrong && v.Status != recompute.Misfit {
		return nil
	}
	expected, err := recompute.Expected(ctx, op, v.Attributes)
	if err != nil {
		return err
	}
	x.extracting.Lock()
	defer x.extracting.Unlock()
	x.opt.Extract(&Case{Row: &x.row, Formula: op.Formula, Inputs: op.Inputs, Outputs: op.Outputs, Expected: expected})
	return nil
}
