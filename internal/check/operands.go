package check

import (
	"dumptool/internal/lang"
	"dumptool/internal/recompute"
)

// Products of float32 that round their factors to 8 bits are a property of the run if at least minRounded products
// do so and their share of all judged products is at least minProductShare, 0 to 1.
const minRounded, minProductShare = 3, 0.75

// acceptOperandBits makes products with rounded factors OK if most products of the run round their factors.
func (r *Report) acceptOperandBits() {
	var rounded []*Operator
	products := 0
	for i := range r.Operators {
		o := &r.Operators[i]
		if !o.IsFloat32Product || o.Status == recompute.Undecided || o.Status == recompute.Crashed {
			continue
		}
		products++
		if o.Reason == recompute.ByOperandBits {
			rounded = append(rounded, o)
		}
	}
	if len(rounded) < minRounded || float64(len(rounded)) < minProductShare*float64(products) {
		return
	}
	for _, o := range rounded {
		o.Status, o.Reason, o.Extent = recompute.OK, "", ""
		o.Notes = append(o.Notes, recompute.OperandBits)
	}
	r.operandBits = lang.Say("%d of %d products of float32 round their factors to 8 bits (bfloat16)", len(rounded), products)
}
