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
	type kind struct {
		all, first, more int
		no               bool
	}
	if j.HF32 == HF32On || j.HF32 == HF32Off {
		return nil
	}
	kinds := map[optype.Form]*kind{}
	for i := range j.all {
		x := &j.all[i]
		if x.row == nil || !x.isProduct() || x.verdict.Expectation.Own == 0 {
			continue
		}
		k := kinds[x.product()]
		if k == nil {
			k = &kind{}
			kinds[x.product()] = k
		}
		k.all++
		share := x.noise.RMS / x.verdict.Expectation.Own / hf32Factor
		switch {
		case share < hf32Least:
			k.no = true
		case x.origin && (share > hf32Most || x.verdict.Kind != verdict.Value || x.verdict.Structured):
			k.more++
		case x.origin:
			k.first++
		}
	}
	var found map[optype.Form]bool
	for form, k := range kinds {
		if k.no || k.first == 0 || 2*k.more >= k.all || k.all == 1 && len(j.origins) > 1 {
			continue
		}
		if found == nil {
			found = map[optype.Form]bool{}
		}
		found[form] = true
	}
	return found
}
