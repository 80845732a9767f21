package diagnose

import (
	"dumptool/internal/compare/verdict"
	"dumptool/internal/optype"
)

// HF32 says how to judge products of float32: the cubes of Atlas A2 and A3 round the
// inputs of convolutions to 11 bits of the fraction unless told otherwise.
type HF32 string

// The ways, of which none is HF32Auto: what all products of a kind show.
const (
	HF32Auto HF32 = "auto"
	HF32On   HF32 = "on"
	HF32Off  HF32 = "off"
)

// HF32s are all of them.
func HF32s() []HF32 { return []HF32{HF32Auto, HF32On, HF32Off} }

// The share of 2^-12 that errors of products have that are made of 11 bits.
const (
	hf32Least, hf32Most = 0.1, 3
	hf32Factor          = 1 << 12
)

// isHF32 reports whether the row is a product of a kind that is made of fewer bits.
func (j *Judgement) isHF32(r *row) bool {
	return r.isProduct() && (j.HF32 == HF32On || j.hf32[r.product()])
}

// product is the kind of a product: a convolution or another one.
func (r *row) product() optype.Form {
	if r.typ.Form == optype.Convolution {
		return optype.Convolution
	}
	return optype.Plain
}

// isProduct reports whether the row is a product of float32.
func (r *row) isProduct() bool {
	return !r.isInput && r.typ.Class == optype.Linear && r.noise != nil && r.noise.RefRMS > 0 && r.noise.Type.Name == "float32"
}

// findHF32 finds the kinds of products none of which has less than the error of inputs of 11
// bits, and most of which no more, nor a form that rounding does not have: others may be
// faults. That of one product alone is no kind if anything else is wrong.
func (j *Judgement) findHF32() map[optype.Form]bool {
	found := map[optype.Form]bool{}
	if j.HF32 == HF32On || j.HF32 == HF32Off {
		return found
	}
	for _, form := range []optype.Form{optype.Plain, optype.Convolution} {
		all, least, more, less := 0, 0, 0, 0
		for i := range j.all {
			x := &j.all[i]
			if x.row == nil || !x.isProduct() || x.product() != form || x.verdict.Expectation.Own == 0 {
				continue
			}
			all++
			switch share := x.noise.RMS / x.verdict.Expectation.Own / hf32Factor; {
			case share < hf32Least:
				less++
			case x.origin && (share > hf32Most || x.verdict.Kind != verdict.Value || x.verdict.Structured):
				more++
			case x.origin:
				least++
			}
		}
		if less == 0 && least > 0 && 2*more < all && (all > 1 || len(j.origins) <= 1) {
			found[form] = true
		}
	}
	return found
}
