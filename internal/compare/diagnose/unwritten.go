package diagnose

import (
	"slices"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/verdict"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
)

// unwritten describes rows of a tensor that no operator wrote: they hold earlier contents of the memory, which differ
// between the sides. Operators such as torch.empty return such memory, and rows that pad a batch are never written.
type unwritten struct {
	rows int64
	// memory is the output of the operator that returned the memory. partial is the first tensor computed from it
	// with some written rows, nil if there is none.
	memory, partial *row
}

// returnsMemory reports whether a row is the output of an operator that returns memory without writing it.
func (r *row) returnsMemory() bool {
	return !r.isInput && r.typ.NoiseWay() == optype.NoiseGarbage
}

// judgeWritten judges the rows that were written. If their error exceeds the bound from the written rows of the
// inputs, while the error of the whole tensor does not exceed the bound from the whole inputs, the operator reads
// unwritten rows: the kind of the verdict is Unwritten.
func (x *evidenceRow) judgeWritten(j *Judgement, op *verdict.Operator) verdict.Verdict {
	whole := op.Judge()
	if x.hasGuessedInputs || x.noise.Rows.Count == 0 {
		return whole
	}
	if x.returnsMemory() {
		x.unwritten = unwritten{rows: x.noise.Rows.Count, memory: x.row}
		whole.Level, whole.Kind = verdict.Clean, verdict.None
		return whole
	}
	share := 0. // share of the rows of an input
	for _, in := range x.inputs() {
		if before := j.judgementOf(in); before != nil && before.unwritten.rows > 0 {
			share = max(share, float64(before.unwritten.rows)/float64(in.noise.Rows.Count))
			x.unwritten = before.unwritten
		}
	}
	if share == 0 || whole.Level == verdict.Origin && op.Out.NonFinite == 0 {
		x.unwritten.rows = 0
		return whole
	}
	off, rows := countForeignRows(x.noise), x.noise.Rows.Count
	x.unwritten.rows = min(int64(share*float64(rows)), off)
	if x.unwritten.rows == rows && x.typ.NoiseWay() != optype.NoiseMove {
		x.unwritten.rows = 0 // a computed output has no unwritten rows
	}
	if x.unwritten.rows < rows && x.unwritten.partial == nil {
		x.unwritten.partial = x.row
	}
	inputs := slices.Clone(op.Inputs)
	for _, in := range x.inputs() {
		before := j.judgementOf(in)
		if i := slices.Index(inputs, in.noise); i >= 0 && before != nil && before.unwritten.rows > 0 {
			inputs[i] = dropRows(in.noise, before.unwritten.rows)
		}
	}
	op.Inputs, op.Out = inputs, dropRows(op.Out, x.unwritten.rows)
	v := op.Judge()
	if v.Level == verdict.Origin {
		x.unwritten.rows, v.Kind = 0, verdict.Unwritten
	}
	return v
}

// dropRows returns a copy without the errors of the worst rows, and without the NaN and infinities if the worst rows
// may hold all of them. Maxima shrink by the same factor as the root mean square.
func dropRows(n *noise.Noise, rows int64) *noise.Noise {
	kept := *n
	kept.ExcludeWorstRows(rows)
	if n.RMS > 0 {
		share := kept.RMS / n.RMS
		kept.MaxRelative, kept.MaxAbsolute, kept.View, kept.Residual = n.MaxRelative*share, n.MaxAbsolute*share, n.View*share, n.Residual*share
	}
	if n.NonFinite <= rows*n.Rows.Size {
		kept.NonFinite = 0
	}
	return &kept
}

// hasForeignRows reports whether the rows of a bin differ by more than half of their size.
func hasForeignRows(g *noise.Groups, bin int) bool { return g.RMS[bin] > g.RefRMS[bin]/2 }

// countForeignRows counts the rows that differ by more than half of their size, or are not finite.
func countForeignRows(n *noise.Noise) (count int64) {
	g := &n.Rows
	for i := range g.RMS {
		if hasForeignRows(g, i) {
			count += min(g.Fold, g.Count-int64(i)*g.Fold)
		}
	}
	size := max(g.Size, 1)
	return min(count+(n.NonFinite+size-1)/size, g.Count)
}

// describe names the rows and the operator that returned the memory.
func (u *unwritten) describe() lang.Sentence {
	memory := u.memory.source.Op
	if u.partial == nil || u.partial.noise.Rows.Fold > 1 {
		return lang.Say("the memory returned by %s was never written", memory)
	}
	g := &u.partial.noise.Rows
	first, last, all := -1, -1, 0
	for i := range g.RMS {
		if hasForeignRows(g, i) {
			if first < 0 {
				first = i
			}
			last, all = i, all+1
		}
	}
	if all == 0 || all != last-first+1 {
		return lang.Say("%d of %d rows of the memory that %s returned were not written", countForeignRows(u.partial.noise), g.Count, memory)
	}
	return lang.Say("rows %d to %d of the memory that %s returned were not written", first, last, memory)
}
