package diagnose

import (
	"slices"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/verdict"
	"dumptool/internal/tensor"
)

// heldTypes are the types whose numbers arrays of float32 may hold, the coarsest first.
var heldTypes = []tensor.DType{tensor.BFloat16, tensor.Float16}

// mostHeld is the type that most arrays of float32 of the round hold, of those that say
// it; undefined where that is float32.
func (n *network) mostHeld() tensor.DType {
	counts, all := map[tensor.DType]int{}, 0
	for i := range n.rows {
		if r := &n.rows[i]; r.noise != nil && r.noise.Grid != nil {
			if held, ok := r.noise.Held(); ok {
				counts[held]++
			}
			if !mayHoldAny(r.noise) {
				all++
			}
		}
	}
	for _, d := range heldTypes {
		if 2*counts[d] > all {
			return d
		}
	}
	return tensor.Undefined
}

// settle finds out which type an array of float32 of the NPU holds: by its own bits, or,
// where it has too few different values to tell, by what its inputs hold.
func (x *judged) settle(j *Judgement) {
	n := x.row.noise
	if n == nil || n.Grid == nil {
		return
	}
	held, ok := n.Held()
	plain := j.plain[x.source.OpType]
	isOf, _ := n.IsOf(x.source.Said)
	switch {
	case isOf:
		held, ok = x.source.Said, true
	case !ok || 2*plain.plain < plain.all:
	case plain.plain >= leastPlain:
		return // others of its kind keep all bits of float32
	default:
		x.coarser = plain.plain > 0
	}
	if !ok {
		inputs := slices.DeleteFunc(slices.Clone(x.inputs()), func(in *row) bool { return in.noise == nil || in.noise.Type.Integer })
		for _, d := range heldTypes {
			of := func(in *row) bool { return in.noise.Type.Name == d.String() }
			if n.MayHold(d) && (slices.ContainsFunc(inputs, of) || len(inputs) == 0 && d == j.most) {
				held, ok = d, true
				break
			}
		}
	}
	if ok {
		x.row.noise, x.row.held = n.As(held), held.String()
	}
}

// warnOfPrecision warns of a tensor that keeps fewer bits than the few others of its kind, of
// which the limits allow the error.
func (x *judged) warnOfPrecision(op *verdict.Operator) {
	if !x.coarser || x.failed() || x.verdict.Level != verdict.Clean || op.Tainted || len(op.Inputs) == 0 {
		return
	}
	as := *op
	as.Out = x.source.Noise
	if as.Judge().Level == verdict.Origin {
		x.verdict.Level, x.verdict.Kind = verdict.Suspect, verdict.Coarse
	}
}

// leastPlain is the number of tensors of one type of operators from which they say what
// the others are.
const leastPlain = 3

// mayHoldAny reports whether an array of float32 has too few values to tell its type.
func mayHoldAny(n *noise.Noise) bool { return n.MayHold(tensor.Float16) || n.MayHold(tensor.BFloat16) }

// tally counts arrays of float32 of a type of operators: all of them, and those that hold
// float32.
type tally struct{ all, plain int }

// plainTypes counts the arrays of float32 by the type of their operator.
func (n *network) plainTypes() map[string]tally {
	counts := map[string]tally{}
	for i := range n.rows {
		r := &n.rows[i]
		if r.isInput || r.source.Noise == nil || r.source.Noise.Grid == nil || r.source.OpType == "" {
			continue
		}
		t := counts[r.source.OpType]
		t.all++
		if _, held := r.source.Noise.Held(); !held && !mayHoldAny(r.source.Noise) {
			t.plain++
		}
		counts[r.source.OpType] = t
	}
	return counts
}
