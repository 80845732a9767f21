package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/record"
	"dumptool/internal/compare/verdict"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// orderedOutputs returns the outputs in the order of judgement: indices last, because their verdict depends on the verdict on
// the numbers that they select.
func (o *operator) orderedOutputs() (outputs []*row) {
	for _, indices := range []bool{false, true} {
		for _, r := range o.outputs {
			if r.isIndices == indices {
				outputs = append(outputs, r)
			}
		}
	}
	return outputs
}

// leaveOutSelected leaves out the worst rows, as many as tied indices among the inputs may have selected differently.
// It returns the number of elements left out.
func (x *evidenceRow) leaveOutSelected(op *verdict.Operator) (leftOut int64) {
	if !x.typ.Gathers || x.isInput || op.Out.Type.Integer {
		return 0
	}
	op.Inputs = nil
	var ties, indices int64
	for _, in := range x.inputs() {
		switch n := in.noise; {
		case n == nil:
		case n.Type.Integer:
			ties, indices = max(ties, n.Differing), max(indices, n.Elements)
		default:
			op.Inputs = append(op.Inputs, n)
		}
	}
	if ties == 0 {
		return 0
	}
	op.Behind = true
	out := *op.Out
	rows := ties * max(1, out.Rows.Count/max(indices, 1))
	switch {
	case x.typ.Form == optype.Ordered: // a differing index moves all rows after it
		rows = out.Rows.Count
	case x.typ.Class != optype.Move: // a misplaced row is also missing at its own position
		rows *= 2
	}
	leftOut = out.ExcludeWorstRows(rows)
	op.Out = &out
	return leftOut
}

// isDense reports whether the sorted numbers of a row are no further apart than its errors, so
// that ties are common.
func (r *row) isDense() bool {
	res, shape := r.result(), r.noise.Shape
	if res == nil || !res.Ref.Min.IsDefined() || len(shape) == 0 || r.picksOne() {
		return false
	}
	steps := float64(max(shape[len(shape)-1]-1, 1))
	return res.Ref.Max.Value()-res.Ref.Min.Value() <= 2*r.noise.Max*steps
}

// picksOne reports whether the operator picks one element of each line of its input, as max does, instead of ordering
// several.
func (r *row) picksOne() bool {
	for _, in := range r.operator.inputs {
		if in.noise == nil || in.noise.Type.Integer {
			continue
		}
		from, to := in.noise.Shape, r.noise.Shape
		if len(from) != len(to) {
			return true
		}
		for k := range from {
			if from[k] != to[k] {
				return to[k] == 1
			}
		}
		return false
	}
	return false
}

// isStart reports whether no operator produced the tensor: it is an input of the model, a parameter, or comes from
// outside.
func (r *row) isStart() bool { return r.isInput && r.producer == nil || r.typ.Start }

// isParameter reports whether a tensor is a weight or bias by its kind or position. File names do not tell the order of
// the inputs: wide integers in the place of a weight are indices.
func (r *row) isParameter() bool {
	return r.source.Kind == string(tensor.Parameter) || r.typ.IsParameter(r.source.Output) && !r.isWideInteger()
}

// isOutside reports whether a tensor comes from outside the run: a parameter before any step of an
// optimiser, integers, or an input of the first operator. Every other tensor without a producer is
// carried over from an operator that was not dumped.
func (j *Judgement) isOutside(x *evidenceRow) bool {
	r := x.row
	if !r.isStart() || r.noise.Apart == nil || len(x.inputs()) > 0 && !x.hasGuessedInputs {
		return false
	}
	isParameter := r.isParameter()
	switch {
	case j.firstUpdate >= 0 && (!j.IsOrdered || r.place > j.firstUpdate), isParameter && j.IsLaterStep:
		return false
	case isParameter || r.typ.Start:
		return true
	case !j.IsOrdered || r.operator.isKnown && len(r.operator.sources) > 0:
		return false
	}
	return r.noise.Type.Integer && !j.hasChosenIndices || r.place < j.firstOutput && !j.IsPartial
}

// isSure reports whether the error is large and far beyond the error that any operator makes from known inputs.
func (x *evidenceRow) isSure() bool {
	return x.verdict.Score > limits.Sure && x.noise.RMS > limits.SureShare*x.noise.RefRMS
}

// findUnpairedBefore returns the outputs of operators that only the NPU ran between the last compared output and an
// input, followed by the outputs of operators that only the reference ran. It returns nil if the NPU ran none. Moves
// do not count: they make no error.
func (j *Judgement) findUnpairedBefore(r *row) (rows []*row) {
	for _, before := range slices.Backward(j.order[:r.place]) {
		switch {
		case before.isInput:
		case before.source.Status == record.UnmatchedNPU && before.typ.Class != optype.Move:
			rows = append(rows, before)
		case before.isCompared:
			if len(rows) == 0 {
				return nil
			}
			for _, other := range j.order {
				if other.source.Status == record.UnmatchedRef && !other.isInput && other.typ.Class != optype.Move {
					rows = append(rows, other)
				}
			}
			return rows
		}
	}
	return nil
}

// containerOf returns the output of the innermost module around the operator of an input, nil if no such output
// differs: the producer of the input runs inside that module and was not dumped.
func (j *Judgement) containerOf(r *row) *evidenceRow {
	c := r.operator.container
	if c == nil || len(c.outputs) == 0 {
		return nil
	}
	out := c.outputs[0]
	if j.judgementOf(out) != nil || out.noise == nil || out.noise.RMS == 0 {
		return nil
	}
	return &j.evidence[out.index]
}

// hasUsualError reports whether the error of a row is the usual one of tensors of its name. NaN and infinities of one
// side are never usual.
func (s *ruleState) hasUsualError() bool {
	absolute, relative := s.j.usualErrors(s.row)
	return s.noise.NonFinite == 0 && (s.noise.RMS <= limits.Usual*absolute || s.row.relativeError() <= limits.Usual*relative)
}

// relativeError is the root mean square error relative to the reference; 0 without an error, infinite beside zeros.
func (r *row) relativeError() float64 {
	if r.noise.RMS == 0 {
		return 0
	}
	return r.noise.RMS / r.noise.RefRMS
}

// isFarGradient reports whether the gradient of a weight is off by more than rounding in the backward pass can cause,
// which was not dumped. Gradients with one axis are sums that may cancel.
func (s *ruleState) isFarGradient() bool {
	if s.source.Kind != string(tensor.Gradient) || len(s.noise.Shape) < 2 || s.noise.NonFinite > 0 {
		return false
	}
	if s.j.outputErrors == nil {
		s.j.outputErrors = []float64{}
		for i := range s.j.rows {
			if r := &s.j.rows[i]; !r.isInput && r.noise != nil && !r.noise.Type.Integer && r.noise.Count > 1 {
				s.j.outputErrors = append(s.j.outputErrors, r.relativeError())
			}
		}
		slices.Sort(s.j.outputErrors)
	}
	const leastOutputs = 5
	n := len(s.j.outputErrors)
	if n < leastOutputs {
		return false
	}
	usual, relative := s.j.outputErrors[n/2], s.relativeError()
	return relative > max(limits.GradientShare, limits.GradientGrowth*usual) ||
		relative > max(limits.FineGradientShare, limits.FineGradientGrowth*usual)
}

// usualErrors returns the median absolute and relative errors of the outputs, or of the inputs without a producer, at
// the same position of calls with the same name, such as the gradients that an optimiser reads. An input with an
// error of this size inherited it: layers have gradients of different sizes, and some gradients are 0 in theory. The
// results are 0 for fewer than leastAlike tensors.
func (j *Judgement) usualErrors(r *row) (absolute, relative float64) {
	if j.usualByPlace == nil {
		j.usualByPlace = map[string]*errorsOfPlace{}
		for i := range j.rows {
			if r := &j.rows[i]; (!r.isInput || r.producer == nil) && r.noise != nil && r.noise.Count > 1 { // the counters of an optimiser are exact
				e := j.usualByPlace[r.placeKey()]
				if e == nil {
					e = &errorsOfPlace{}
					j.usualByPlace[r.placeKey()] = e
				}
				e.absolute, e.relative = append(e.absolute, r.noise.RMS), append(e.relative, r.relativeError())
			}
		}
		for _, e := range j.usualByPlace {
			slices.Sort(e.absolute)
			slices.Sort(e.relative)
		}
	}
	const leastAlike = 4
	e := j.usualByPlace[r.placeKey()]
	if e == nil || len(e.absolute) < leastAlike {
		return 0, 0
	}
	return e.absolute[len(e.absolute)/2], e.relative[len(e.relative)/2]
}

// errorsOfPlace are the errors of tensors at the same position of calls with the same name, sorted.
type errorsOfPlace struct{ absolute, relative []float64 }

// placeKey returns a key for the position of a tensor in all calls of a type whose names differ by digits only.
func (r *row) placeKey() string {
	letters := strings.Map(func(c rune) rune {
		if unicode.IsDigit(c) {
			return -1
		}
		return c
	}, r.source.Op)
	return fmt.Sprint(letters, r.source.OpType, r.source.Kind, r.source.Output)
}

// compareStart judges a tensor from outside the run: either both sides are equal after rounding to the coarser of
// their types, or the runs started apart.
func (x *evidenceRow) compareStart() {
	x.isOrigin = false
	switch count := x.countRoundedDifferences(); {
	case count > 0:
		x.isOrigin, x.verdict.Level, x.verdict.Kind = true, verdict.Origin, verdict.Apart
	case x.verdict.Level == verdict.Origin || x.verdict.Level == verdict.Suspect && x.verdict.Kind < verdict.Drawn:
		x.verdict.Level, x.verdict.Kind = verdict.Clean, verdict.None
	}
}

// countRoundedDifferences counts the elements that differ after one rounding. A tensor of few elements does not show its type: it
// has the type of the other inputs of its operator.
func (x *evidenceRow) countRoundedDifferences() int64 {
	count, _ := x.noise.Apart.Count()
	if count == 0 || x.noise.Elements >= tensor.LeastFine || x.noise.Type.Integer {
		return count
	}
	for _, in := range x.operator.inputs {
		if in.noise == nil || in.noise.Apart == nil {
			continue
		}
		switch _, by := in.noise.Apart.Count(); by {
		case tensor.BFloat16:
			count = min(count, x.noise.Apart.BFloat16)
		case tensor.Float16:
			count = min(count, x.noise.Apart.Float16)
		}
	}
	return count
}

// isRoundedOnOneSide reports whether both sides store an input as float32, but the values of one side alone fit a
// coarser type. It is false if most float32 arrays hold values of this type, or if some array is stored in this type
// on one side only.
func (x *evidenceRow) isRoundedOnOneSide(j *Judgement) bool {
	a := x.noise.Apart
	if a == nil || a.Ref == a.NPU || x.source.RefDType != tensor.Float32 || x.source.NPUDType != tensor.Float32 {
		return false
	}
	count, by := a.Count()
	return count == 0 && by != j.commonType && !j.oneSidedTypes[by]
}

// isOtherTensor reports whether the two sides are different tensors.
func (r *row) isOtherTensor() bool {
	res := r.result()
	return res != nil && res.Cosine.IsDefined() && res.Cosine.Value() < limits.ApartCosine
}

// mayBeOtherStart reports whether an operator without known inputs made an entirely
// different tensor, and everything that reads it differs entirely too: the input data differed,
// or the operator is wrong.
func (x *evidenceRow) mayBeOtherStart(readers []*operator) bool {
	if x.isStart() || len(x.inputs()) > 0 || x.noise == nil || !x.isUnrelated() || len(x.patterns()) > 0 {
		return false
	}
	read := 0
	for _, o := range readers {
		for _, r := range o.outputs {
			if r.result() != nil && !r.isOtherTensor() {
				return false
			}
			read++
		}
	}
	return read > 0
}

// isGarbage reports whether the rows that differ hold entirely different numbers.
func isGarbage(n *noise.Noise) bool {
	off := float64(n.RowsOff * n.Rows.Size)
	all, others := float64(float64(n.Count)*float64(n.RMS*n.RMS)), float64((float64(n.Count)-off)*float64(n.OtherRowsRMS*n.OtherRowsRMS))
	return off > 0 && n.RowsOff < n.Rows.Count && all-others >= off*float64(n.RefRMS*n.RefRMS)/4
}

// findUnread finds tensors that differ although all their readers are right: outputs that differ in some
// rows only, and inputs from outside such as a block table. It is nil if there are none.
func (j *Judgement) findUnread() []bool {
	unread, found := make([]bool, len(j.evidence)), false
	readers := j.readers()
	for i := range j.evidence {
		x := &j.evidence[i]
		if x.row == nil || !x.isCompared || x.noise == nil || x.hasLostNumbers && !x.isInput || !x.isOrigin && len(x.inputRows) == 0 {
			continue
		}
		n, reading := x.noise, readers[x.operator.index]
		switch {
		case x.isInput && !x.mayBeRenumbered(),
			!x.isInput && (n.NonFinite > 0 || n.Overflows > 0 || n.OtherRowsRMS > max(2*n.Rounding, x.verdict.Sum) || !isGarbage(n)):
			continue
		case x.isInput:
			reading = []*operator{x.operator}
		}
		unread[i] = j.differOnlyByRounding(reading, x.isInput)
		found = found || unread[i]
	}
	if !found {
		return nil
	}
	return unread
}

// mayBeRenumbered reports whether an input may have another numbering with the same meaning: integers from outside,
// or an entirely different tensor that an earlier run left, such as a cache with its blocks in another order, or
// memory that was never written and may hold NaN, such as the first argument of baddbmm(beta=0). Integers of few bits
// are quantised numbers.
func (x *evidenceRow) mayBeRenumbered() bool {
	if x.isExternal {
		return x.noise.Type.Integer && (x.noise.Type.Mantissa >= 31 || x.noise.Type.Mantissa == 1)
	}
	return x.isStart() && (x.isOtherTensor() || x.noise.NonFinite > 0)
}

// differOnlyByRounding reports whether operators have compared outputs that all differ by rounding alone. With passesOn
// the outputs may also differ by the errors that the floating-point inputs pass on, not counting inputs that are
// different tensors.
func (j *Judgement) differOnlyByRounding(operators []*operator, passesOn bool) bool {
	outputs := 0
	for _, o := range operators {
		for _, r := range o.outputs {
			x := j.judgementOf(r)
			if x == nil || r.noise == nil || o.isInferred && !passesOn {
				continue
			}
			e := &x.verdict.Expectation
			most := 4 * max(e.Own, r.noise.Rounding)
			if passesOn {
				most = max(most, limits.Passed*largestRelativeError(o.inputs)*r.noise.RefRMS)
			} else {
				most = min(most, e.Propagated/limits.Excess)
			}
			if r.noise.NonFinite > 0 || r.noise.RMS > most {
				return false
			}
			outputs++
		}
	}
	return outputs > 0
}

// largestRelativeError returns the largest relative error of the floating-point inputs.
func largestRelativeError(inputs []*row) (most float64) {
	for _, in := range inputs {
		if n := in.noise; n != nil && !n.Type.Integer && n.RefRMS > 0 && !in.isOtherTensor() {
			most = max(most, in.relativeError())
		}
	}
	return most
}
