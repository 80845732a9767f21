package diagnose

import (
	"slices"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/verdict"
	"dumptool/internal/optype"
)

// The rows before a row among which its inputs are looked for by their values; of
// two inputs one is among the last few.
const (
	lookedAt = 64
	lastFew  = 8
)

// feedOf finds the inputs of a row by the values of the references, where no graph
// says which they are, and what the operator does. Of several ways to make the
// tensor the one with the largest errors counts.
func (j *Judgement) feedOf(r *row) (inputs []*row, op optype.Type, found bool) {
	out, worst := r.noise, -1.0
	in := make([]*noise.Noise, 0, 2) // of all tries
	try := func(rows ...*row) {
		in = in[:0]
		var errors float64
		for _, row := range rows {
			in = append(in, row.noise)
			errors += row.noise.RMS
		}
		if errors <= worst {
			return
		}
		if t, ok := verdict.Relate(out, in...); ok && !t.Fitted && (!found || t == op) {
			inputs, op, found, worst = slices.Clone(rows), t, true, errors
		}
	}
	before := j.made[max(0, len(j.made)-lookedAt):]
	for _, row := range slices.Backward(before) {
		if !sameReference(out, row.noise) {
			try(row)
		}
	}
	if found {
		return inputs, op, true
	}
	for i := len(before) - 1; i >= max(0, len(before)-lastFew); i-- {
		for _, other := range slices.Backward(before[:i]) {
			try(before[i], other)
		}
	}
	return inputs, op, found
}

// sameReference reports whether two references are the same: the second may have been
// computed again.
func sameReference(a, b *noise.Noise) bool {
	return a.Count == b.Count && a.RefMax == b.RefMax && a.RefRMS == b.RefRMS && a.RefMean == b.RefMean
}

// byValues judges a row of an unknown operator, or of inputs that are guessed, once
// more by what the values of the references say of it. That counts where it comes to
// another end, since it knows more.
func (j *Judgement) byValues(x *judged, op *verdict.Operator) {
	inputs, known, found := x.inputs(), *op, op.Type.Class == optype.Unknown
	known.Guessed, known.Inputs, known.Tainted = false, nil, false
	if x.guessed {
		inputs, known.Type, found = j.feedOf(x.row)
	}
	for _, in := range inputs {
		if in.noise == nil {
			return
		}
		known.Inputs = append(known.Inputs, in.noise)
		before := j.of(in) // nil in a cycle
		known.Tainted = known.Tainted || before != nil && before.isBad()
	}
	if found && !x.guessed {
		known.Type, found = verdict.Relate(x.noise, known.Inputs...)
	}
	if !found {
		return
	}
	if v := known.Judge(); v.Level != x.verdict.Level {
		x.verdict, *op = v, known
		if x.guessed {
			x.related = inputs
		}
	}
}
