package diagnose

import (
	"path/filepath"
	"slices"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/verdict"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

const (
	// minPlain is the number of float32 tensors of one operator type from which on they decide about the other
	// tensors of this type.
	minPlain = 3
	// minValues is the number of different values of all tensors of a round together that show their type, if no
	// single tensor has enough.
	minValues = 64
)

// tally counts the float32 arrays of an operator type: all arrays, and the arrays whose values need float32.
type tally struct{ all, plain int }

// countHeldTypes finds the type whose values most float32 arrays of the round hold, undefined if it is float32, and counts the
// arrays by operator type. Only arrays with enough different values count. If there are none, all arrays together
// decide.
func (j *Judgement) countHeldTypes() {
	counts, all := map[tensor.DType]int{}, 0
	values, distinct := map[tensor.DType]int{}, 0 // of arrays with few different values
	j.tallies, j.oneSidedTypes = map[string]tally{}, map[tensor.DType]bool{}
	for i := range j.rows {
		r := &j.rows[i]
		if ref, npu := r.source.RefDType, r.source.NPUDType; ref != npu {
			j.oneSidedTypes[ref], j.oneSidedTypes[npu] = true, true
		}
		if r.noise == nil || r.noise.Grid == nil {
			continue
		}
		held, ok := r.noise.HeldType()
		hasFewValues := slices.ContainsFunc(noise.Coarser, r.noise.MayHold) // it has few different values
		if ok {
			counts[held]++
		}
		if !hasFewValues {
			all++
		}
		distinct += r.noise.Grid.Distinct
		for _, d := range noise.Coarser {
			if r.noise.MayHold(d) {
				values[d] += r.noise.Grid.Distinct
			}
		}
		if op := r.typeOfTally(); op != "" && !r.isInput {
			t := j.tallies[op]
			t.all++
			if !ok && !hasFewValues {
				t.plain++
			}
			j.tallies[op] = t
		}
	}
	j.commonType = tensor.Undefined
	if i := slices.IndexFunc(noise.Coarser, func(d tensor.DType) bool {
		return 2*counts[d] > all || all == 0 && distinct >= minValues && values[d] == distinct
	}); i >= 0 {
		j.commonType = noise.Coarser[i]
	}
}

// typeOfTally returns the operator type under which the type of an output is counted, empty for none: the type of a
// node of a graph, or the called function if the file is PyTorch's, which names bfloat16 where an array of numpy cannot.
func (r *row) typeOfTally() string {
	if r.source.OpType != "" || r.typ.Class.Exact() || filepath.Ext(r.source.NPUPath) != ".pt" {
		return r.source.OpType
	}
	if call := msprobe.ParseName(r.source.Op); call.Direction == msprobe.Forward && !msprobe.IsModule(r.source.Op) {
		return call.Callee
	}
	return ""
}

// findHeldType finds the type whose values a float32 array of the NPU holds: by its own bits, or by the types of its
// inputs if it has too few different values.
func (x *evidenceRow) findHeldType(j *Judgement) {
	n := x.row.noise
	if n == nil || n.Grid == nil {
		return
	}
	held, ok := n.HeldType()
	kind := j.tallies[x.typeOfTally()]
	isOf, _ := n.IsOf(x.source.DeclaredType)
	switch {
	case isOf:
		held, ok = x.source.DeclaredType, true
	case n.Apart != nil && slices.Contains(noise.Coarser, n.Apart.NPU):
		held, ok = n.Apart.NPU, true
	case !ok || 2*kind.plain < kind.all:
	case kind.plain >= minPlain:
		return // others of this operator type use all bits of float32
	default:
		x.isCoarser = kind.plain > 0
	}
	if !ok {
		inputs := slices.DeleteFunc(slices.Clone(x.inputs()), func(in *row) bool { return in.noise == nil || in.noise.Type.Integer })
		for _, d := range noise.Coarser {
			holds := func(in *row) bool { return in.noise.Type.Name == d.String() }
			if n.MayHold(d) && (slices.ContainsFunc(inputs, holds) || len(inputs) == 0 && d == j.commonType) {
				held, ok = d, true
				break
			}
		}
	}
	if ok {
		x.row.noise, x.row.heldType = n.WithType(held), held.String()
	}
}

// warnOfPrecision suspects a tensor with fewer mantissa bits than a few others of the same operator type, if the
// limits allow its error.
func (s *ruleState) warnOfPrecision() bool {
	if !s.isCoarser || s.hasFailed() || s.verdict.Level != verdict.Clean || s.op.Tainted || len(s.op.Inputs) == 0 {
		return false
	}
	asFloat32 := *s.op
	asFloat32.Out = s.source.Noise
	return asFloat32.Judge().Level == verdict.Origin && s.setVerdict(verdict.Suspect, verdict.Coarse)
}

// precision describes a floating-point format.
type precision struct {
	epsilon   float64 // distance from 1 to the next larger number
	minNormal float64
}

// precisionOf returns the precision of a type, or of the parts of complex numbers; ok is false for integers, scale
// types and types below 8 bits. The precision of hifloat8 varies with the magnitude: the precision of its middle
// range counts.
func precisionOf(d tensor.DType) (p precision, ok bool) {
	if d == tensor.HiFloat8 {
		return precision{0x1p-3, 0x1p-15}, true
	}
	f, ok := tensor.FloatOf(d)
	if !ok || f.Bits() < 8 {
		return precision{}, false
	}
	return precision{f.Epsilon(), f.Normal()}, true
}

// HF32 says how to judge products of float32: the cubes of Atlas A2 and A3 round the
// inputs of convolutions to 11 bits of the fraction unless told otherwise.
type HF32 string

// The ways. HF32Auto is the default: all products of a kind together decide.
const (
	HF32Auto HF32 = "auto"
	HF32On   HF32 = "on"
	HF32Off  HF32 = "off"
)

// HF32Modes lists the ways.
func HF32Modes() []HF32 { return []HF32{HF32Auto, HF32On, HF32Off} }

// Errors of products with inputs of 11 bits, as a multiple of 2^-12 times the expected error: least and most.
const (
	hf32Least, hf32Most = 0.1, 3
	hf32Factor          = 1 << 12
)

// product returns the kind of a product: convolution or other.
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

// findHF32 finds the kinds of products whose inputs are rounded to 11 bits: no product has a smaller error than such
// inputs cause, and most have neither a larger one nor a form that rounding does not have; the exceptions may be
// faults. A single product decides only if nothing else is wrong.
func (j *Judgement) findHF32() map[optype.Form]bool {
	found := map[optype.Form]bool{}
	if j.HF32 == HF32On || j.HF32 == HF32Off {
		return found
	}
	for _, form := range []optype.Form{optype.Plain, optype.Convolution} {
		total, within, above, below := 0, 0, 0, 0
		for i := range j.evidence {
			x := &j.evidence[i]
			if x.row == nil || !x.isProduct() || x.product() != form || x.verdict.Expectation.Own == 0 {
				continue
			}
			total++
			switch share := x.noise.RMS / x.verdict.Expectation.Own / hf32Factor; {
			case share < hf32Least:
				below++
			case x.isOrigin && (share > hf32Most || x.verdict.Kind != verdict.Value || x.verdict.Structured):
				above++
			case x.isOrigin:
				within++
			}
		}
		if below == 0 && within > 0 && 2*above < total && (total > 1 || len(j.origins) <= 1) {
			found[form] = true
		}
	}
	return found
}
