package recompute

import (
	bits "encoding/binary"
	"math"
	"slices"
	"strings"

	"dumptool/internal/tensor"
)

// constantSource is a tensor whose elements are one number.
type constantSource float64

// ReadElements implements layout.Source.
func (x constantSource) ReadElements(dst []byte, _ int64) error {
	for ; len(dst) >= 8; dst = dst[8:] {
		bits.LittleEndian.PutUint64(dst, math.Float64bits(float64(x)))
	}
	return nil
}

// Constant is a number in place of a tensor.
func Constant(x float64) *Tensor {
	return &Tensor{DType: tensor.Float64, Stored: tensor.Float64, Shape: tensor.Shape{}, Source: constantSource(x)}
}

// BindCall makes an operator of a formula of the tensors of a call, by the names of the
// inputs of the formula, and of the arguments that are known, by those of its attributes;
// better ones go before them.
func BindCall(name string, named map[string][]*Tensor, outputs []*Tensor, raw, better Attributes) (op *Operator, warnings []string) {
	op = &Operator{Formula: name, Outputs: outputs, Attributes: Attributes{}, Called: true, Fused: new(bool)}
	f := formulaOf(name)
	if f == nil {
		op.Formula = ""
		return op, nil
	}
	for spec := range strings.FieldsSeq(f.inputs) {
		given := named[strings.TrimRight(spec, "?*")]
		switch {
		case strings.HasSuffix(spec, "*"):
			op.Inputs = append(op.Inputs, given...)
		case len(given) > 0:
			op.Inputs = append(op.Inputs, given[0])
		default:
			op.Inputs = append(op.Inputs, nil)
		}
	}
	for len(op.Inputs) > 0 && op.Inputs[len(op.Inputs)-1] == nil {
		op.Inputs = op.Inputs[:len(op.Inputs)-1]
	}
	if len(op.Inputs) == 0 || op.Inputs[0] == nil {
		return op, nil
	}
	return op, op.adopt(f, op.ofCall(raw.with(better)))
}

// IsInput reports whether a formula has an input of a name.
func IsInput(name, input string) bool {
	f := formulaOf(name)
	return f != nil && slices.ContainsFunc(strings.Fields(f.inputs), func(spec string) bool { return strings.TrimRight(spec, "?*") == input })
}

// ofCall makes attributes of arguments that PyTorch has in another form: the paddings from
// the last axis on, and two axes that change places.
func (o *Operator) ofCall(raw Attributes) Attributes {
	raw, rank := raw.with(nil), o.rank()
	if last, ok := raw["last_pads"]; ok {
		pairs := last.Value.Numbers
		if before := make([]float64, rank); len(pairs)%2 == 0 && len(pairs) <= 2*rank {
			for i := range len(pairs) / 2 {
				before[rank-1-i] = pairs[2*i]
			}
			raw["before"] = Attribute{Numbers(before...), last.Source}
		}
	}
	first, ok := raw["swap0"].Value.Integers()
	second, too := raw["swap1"].Value.Integers()
	if perm := upTo(rank); ok && too && len(first) == 1 && len(second) == 1 {
		i, j := inRank(first[0], rank), inRank(second[0], rank)
		if min(i, j) >= 0 && max(i, j) < rank {
			perm[i], perm[j] = perm[j], perm[i]
			raw["perm"] = Attribute{integers(perm...), raw["swap0"].Source}
		}
	}
	if perm, ok := raw["perm"].Value.Integers(); ok && len(perm) == rank {
		all := make([]int, rank)
		for i, k := range perm {
			all[i] = inRank(k, rank)
		}
		raw["perm"] = Attribute{integers(all...), raw["perm"].Source}
	}
	return raw
}

// inRank counts an axis from the front.
func inRank(k int64, rank int) int {
	if k < 0 {
		k += int64(rank)
	}
	return int(k)
}
