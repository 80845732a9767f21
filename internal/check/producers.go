package check

import (
	"context"
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/finding"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/graph"
	"dumptool/internal/lang"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// producerOutput opens the output that a producer in the graph wrote before this operator ran; nil if it was not
// dumped or is ambiguous.
func (x *execution) producerOutput(p graph.Producer, images bool) (*recompute.Tensor, error) {
	op := x.op.LastBefore(x.operatorsByFile[x.round][filename.Normalise(p.Op)])
	if op == nil || op == x.op {
		return nil, nil
	}
	var output *dumpdir.Tensor
	for i := range op.Tensors {
		t := &op.Tensors[i]
		if t.Kind != tensor.Output || p.Output >= 0 && t.Index != p.Output {
			continue
		}
		if output != nil || t.Table || t.IsWholeFile() || t.File.Err != nil {
			return nil, nil //nolint:nilerr // an unreadable output is reported at its own operator
		}
		output = t
	}
	if output == nil {
		return nil, nil
	}
	return x.openTensor(output, images)
}

// substituteInputs substitutes missing inputs by the outputs of their producers. It substitutes all missing inputs or
// none: an operator without its bias computes something else.
func (x *execution) substituteInputs(images bool) error {
	if x.opt.forComparison {
		return nil
	}
	noneDumped := !slices.ContainsFunc(x.inputs, func(t *recompute.Tensor) bool { return t != nil })
	for _, node := range x.graphs {
		if !noneDumped && (len(node.Producers()) != len(node.Inputs) || len(x.inputs) > len(node.Inputs)) {
			continue // unknown which inputs are missing
		}
		all, producers := make([]*recompute.Tensor, len(node.Inputs)), map[*recompute.Tensor]string{}
		copy(all, x.inputs)
		complete := true
		for i, p := range node.Inputs {
			if all[i] != nil || p.Op == "" {
				continue
			}
			t, err := x.producerOutput(p, images)
			if err != nil {
				return err
			}
			if t == nil {
				complete = false
				break
			}
			all[i], producers[t] = t, p.Op
		}
		if complete && len(producers) > 0 {
			x.inputs, x.substituted = all, producers
			return nil
		}
	}
	return nil
}

// judgeModule judges a module without a formula whose outputs all equal outputs of calls inside the module: it is
// right if nothing undumped runs between these calls.
func (x *execution) judgeModule(ctx context.Context) error {
	if x.opt.forComparison || x.op.Call == nil || !msprobe.IsModule(x.op.Call.API) || len(x.outputs) == 0 || slices.Contains(x.outputs, nil) || !x.isSelfContained() {
		return nil
	}
	v := &recompute.Verdict{Status: recompute.OK, Confidence: finding.High, Notes: []recompute.Note{recompute.OfInnerCalls}}
	for _, out := range x.outputs {
		made, err := x.isComputedInside(ctx, out)
		if err != nil || !made {
			return err
		}
		v.Outputs = append(v.Outputs, recompute.NewRightOutput(out.Shape.Elements()))
	}
	x.row.setEvidenceText(lang.Sentence{}, lang.Sentence{})
	x.setVerdict(v)
	return nil
}

// readsOtherRanks reports whether the module does not have the result of its formula because a communication inside
// it reads tensors of other ranks; such a module is not judged.
func (x *execution) readsOtherRanks() bool {
	if x.op.Call == nil || x.row.Status != recompute.Misfit && x.row.Status != recompute.Wrong {
		return false
	}
	for _, op := range x.round.Ops {
		if op.Call != nil && trace.IsCommunication(op) && slices.Contains(op.Call.Modules, x.op.Call.API) {
			x.row.setEvidenceText(lang.Sentence{}, lang.Sentence{})
			x.setVerdict(recompute.NewUndecidedVerdict(recompute.NoInputs, lang.Say("%s inside it reads tensors of other ranks", op.Names()[0])))
			return true
		}
	}
	return false
}

// isSelfContained reports whether the calls inside the module read only its inputs, parameters and outputs of each
// other. Tensors are recognised by shape and statistics in dump.json.
func (x *execution) isSelfContained() bool {
	type content struct {
		shape   string
		numbers [4]msprobe.Number
	}
	var read []content
	available := map[content]bool{}
	add := func(op *dumpdir.Op, inside bool) {
		noise := recompute.TypeOfCall(op.Call.API)
		for i := range op.Tensors {
			t := &op.Tensors[i]
			if t.Leaf == nil || t.Leaf.Tensor == nil {
				continue
			}
			c := content{t.Leaf.Tensor.Shape.String(), t.Leaf.Tensor.Numbers()}
			switch {
			case (t.Kind == tensor.Output) == inside, t.Kind == tensor.Parameter:
				available[c] = true
			case inside && t.Kind == tensor.Input && !noise.IsParameter(t.Index) && t.Leaf.Tensor.Shape.Elements() > 1:
				read = append(read, c)
			}
		}
	}
	for _, op := range x.round.Ops {
		if op.Call != nil && slices.Contains(op.Call.Modules, x.op.Call.API) {
			add(op, true)
		}
	}
	add(x.op, false)
	return !slices.ContainsFunc(read, func(c content) bool { return !available[c] })
}

// isComputedInside reports whether a call inside the module has an output with the same bytes as out.
func (x *execution) isComputedInside(ctx context.Context, out *recompute.Tensor) (bool, error) {
	for i := len(x.round.Ops) - 1; i >= 0; i-- {
		op := x.round.Ops[i]
		if op.Call == nil || op.Place >= x.op.Place || !slices.Contains(op.Call.Modules, x.op.Call.API) {
			continue
		}
		for k := range op.Tensors {
			t := &op.Tensors[k]
			if t.Kind != tensor.Output || t.Table || t.IsWholeFile() || t.File.Err != nil || t.Leaf == nil || t.Leaf.Tensor == nil || !t.Leaf.Tensor.Shape.Equal(out.Shape) {
				continue
			}
			one, err := x.openTensor(t, false)
			if err != nil || one.Stored != out.Stored || !one.Shape.Equal(out.Shape) {
				continue // an unreadable output is reported at its own operator
			}
			if same, err := recompute.HaveSameBytes(ctx, one, out); same || err != nil {
				return same, err
			}
		}
	}
	return false, nil
}

// inputProducers returns the producers of the dumped inputs, in their order; nil if unknown.
func (x *execution) inputProducers() []graph.Producer {
	for _, node := range x.graphs {
		for _, all := range [][]graph.Producer{node.Inputs, node.Producers()} {
			if len(all) == len(x.inputs) {
				return all
			}
		}
	}
	return nil
}

// checkInputs withdraws a verdict if a dumped input differs from the input that the operator read. Inputs are dumped
// after the operator ran; another operator may have overwritten them by then. A result that is wrong everywhere or fits
// nothing may come from such an input. For a result with some wrong elements the verdict is withdrawn only if the
// operator is right with the outputs of its producers as inputs.
func (x *execution) checkInputs(ctx context.Context, op *recompute.Operator, v *recompute.Verdict) (*recompute.Verdict, error) {
	if len(x.substituted) > 0 {
		v.Notes = append(v.Notes, recompute.StandIn)
		if v.Confidence == finding.High {
			v.Confidence = finding.Medium
		}
	}
	if v.Status != recompute.Wrong && v.Status != recompute.Misfit || v.Reason == recompute.ByShape {
		return v, nil
	}
	written, changed, producer, err := x.changedInputs(ctx, op.Inputs)
	if err != nil || producer == "" {
		return v, err
	}
	if v.Status == recompute.Wrong && v.Extent != recompute.All {
		again, err := recompute.Judge(ctx, op.WithInputs(written))
		if err != nil || again.Status != recompute.OK && again.Status != recompute.Low {
			return v, err
		}
	}
	x.row.setEvidenceText(lang.Say("input %d differs from the output of %s: it changed after it was read, or before it was dumped", changed, producer), lang.Sentence{})
	return &recompute.Verdict{Status: recompute.Undecided, Reason: recompute.InputChanged, Attributes: v.Attributes, Hypotheses: v.Hypotheses, Outputs: v.Outputs, Notes: v.Notes}, nil
}

// changedInputs looks for inputs that differ from the outputs of their producers. It returns the inputs of the formula
// replaced by the producers' outputs, and the index and producer of the first difference; producer is empty if there
// is no difference.
func (x *execution) changedInputs(ctx context.Context, inputs []*recompute.Tensor) (written []*recompute.Tensor, first int, producer string, err error) {
	written = slices.Clone(inputs)
	formula := recompute.FormulaOf(x.row.Type)
	for i, p := range x.inputProducers() {
		if p.Op == "" || x.inputs[i] == nil || x.substituted[x.inputs[i]] != "" {
			continue
		}
		out, err := x.producerOutput(p, formula.IsOfImages)
		if err != nil || out == nil || out.Stored != x.inputs[i].Stored || !out.Shape.Equal(x.inputs[i].Shape) {
			continue // an unreadable output is reported at its own operator
		}
		same, err := recompute.HaveSameBytes(ctx, x.inputs[i], out)
		if err != nil {
			return nil, 0, "", err
		}
		if same {
			continue
		}
		if k := slices.Index(written, x.inputs[i]); k >= 0 {
			written[k] = out
		}
		if producer == "" {
			first, producer = i, p.Op
		}
	}
	return written, first, producer, nil
}
