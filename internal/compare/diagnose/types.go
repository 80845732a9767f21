package diagnose

import (
	"slices"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/verdict"
	"dumptool/internal/tensor"
)

const (
	// leastPlain is the number of tensors of one type of operators from which they say what
	// the others are.
	leastPlain = 3
	// leastValues is the number of different values from which those of a whole round say
	// which type they are of, where no tensor has as many.
	leastValues = 64
)

// tally counts arrays of float32 of a type of operators: all of them, and those that hold
// float32.
type tally struct{ all, plain int }

// tally finds the type that most arrays of float32 of the round hold, of those that say it,
// undefined where that is float32, and counts the arrays by the type of their operator. Where
// no array has enough different values to say it, all of them together may.
func (j *Judgement) tally() {
	counts, all := map[tensor.DType]int{}, 0
	values, every := map[tensor.DType]int{}, 0 // of arrays with few of them
	j.kinds = map[string]tally{}
	for i := range j.rows {
		r := &j.rows[i]
		if r.noise == nil || r.noise.Grid == nil {
			continue
		}
		held, ok := r.noise.Held()
		few := slices.ContainsFunc(noise.Coarser, r.noise.MayHold) // different values
		if ok {
			counts[held]++
		}
		if !few {
			all++
		}
		every += r.noise.Grid.Distinct
		for _, d := range noise.Coarser {
			if r.noise.MayHold(d) {
				values[d] += r.noise.Grid.Distinct
			}
		}
		if op := r.source.OpType; op != "" && !r.isInput {
			t := j.kinds[op]
			t.all++
			if !ok && !few {
				t.plain++
			}
			j.kinds[op] = t
		}
	}
	j.most = tensor.Undefined
	if i := slices.IndexFunc(noise.Coarser, func(d tensor.DType) bool {
		return 2*counts[d] > all || all == 0 && every >= leastValues && values[d] == every
	}); i >= 0 {
		j.most = noise.Coarser[i]
	}
}

// settle finds out which type an array of float32 of the NPU holds: by its own bits, or,
// where it has too few different values to tell, by what its inputs hold.
func (x *judged) settle(j *Judgement) {
	n := x.row.noise
	if n == nil || n.Grid == nil {
		return
	}
	held, ok := n.Held()
	kind := j.kinds[x.source.OpType]
	isOf, _ := n.IsOf(x.source.Said)
	switch {
	case isOf:
		held, ok = x.source.Said, true
	case !ok || 2*kind.plain < kind.all:
	case kind.plain >= leastPlain:
		return // others of its kind keep all bits of float32
	default:
		x.coarser = kind.plain > 0
	}
	if !ok {
		inputs := slices.DeleteFunc(slices.Clone(x.inputs()), func(in *row) bool { return in.noise == nil || in.noise.Type.Integer })
		for _, d := range noise.Coarser {
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
