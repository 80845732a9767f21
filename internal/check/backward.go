package check

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/lang"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// A backward call reads the gradients of the outputs of its forward call and returns the gradients of the
// positional arguments. It also reads tensors that the forward call has saved: the arguments and the first
// output.

// maxForwards limits the forward calls that are tried for a backward call.
const maxForwards = 8

// forwardCalls lists the forward calls of a round by the function or module that they call.
func forwardCalls(round *dumpdir.Round) map[string][]*dumpdir.Op {
	all := map[string][]*dumpdir.Op{}
	for _, op := range round.Ops {
		if name := msprobe.ParseName(op.Names()[0]); name.Direction == msprobe.Forward {
			all[name.Callee] = append(all[name.Callee], op)
		}
	}
	return all
}

// isBackward reports whether the operator is a call of the backward pass.
func isBackward(op *dumpdir.Op) bool {
	return op.Call != nil && msprobe.ParseName(op.Call.API).Direction == msprobe.Backward
}

// leafAt returns the tensor of a kind at a path in a call, nil for none.
func leafAt(call *dumpdir.Call, kind tensor.Kind, place string) *msprobe.Leaf {
	i := slices.IndexFunc(call.Leaves, func(l msprobe.Leaf) bool { return l.Kind == kind && l.Path == place && l.Tensor != nil })
	if i < 0 {
		return nil
	}
	return &call.Leaves[i]
}

// fitsShapes reports whether the shapes of a forward call fit a backward call: each output has the shape of
// the gradient that comes in, each argument the shape of its gradient.
func fitsShapes(forward, backward *dumpdir.Call) bool {
	for i := range backward.Leaves {
		l := &backward.Leaves[i]
		if l.Tensor == nil {
			continue
		}
		kind := tensor.Output
		if l.Kind == tensor.Output {
			kind = tensor.Input
		}
		other := leafAt(forward, kind, l.Path)
		if other == nil || l.Tensor.DType != "" && other.Tensor.DType != "" && !l.Tensor.Shape.Equal(other.Tensor.Shape) {
			return false
		}
	}
	return true
}

// candidateForwards lists the forward calls that a backward call may belong to, the likeliest first: the call with
// the same number, then other calls by the distance of their numbers. A backward call of a function has the number of
// its forward call. Modules number their backward calls separately, starting at the last forward call.
func (x *execution) candidateForwards() (all []*dumpdir.Op) {
	name := msprobe.ParseName(x.op.Call.API)
	number, _ := strconv.Atoi(name.Number)
	distance := func(op *dumpdir.Op) int {
		n, _ := strconv.Atoi(msprobe.ParseName(op.Names()[0]).Number)
		return max(n-number, number-n)
	}
	for _, op := range x.forwardsByName[x.round][name.Callee] {
		if op = withCall(op); op.Call != nil && fitsShapes(op.Call, x.op.Call) {
			all = append(all, op)
		}
	}
	slices.SortStableFunc(all, func(a, b *dumpdir.Op) int { return cmp.Compare(distance(a), distance(b)) })
	most := maxForwards
	if len(all) > 0 && distance(all[0]) == 0 && !msprobe.IsModule(x.op.Call.API) {
		most = 1
	}
	return all[:min(len(all), most)]
}

// gradient is a judged gradient of a backward call.
type gradient struct {
	*execution
	op *recompute.Operator
	v  *recompute.Verdict
}

// judgeBackward judges each gradient of a backward call separately. If several forward calls fit the backward call, the
// forward call with the best status counts.
func (x *execution) judgeBackward(ctx context.Context) error {
	forwards := x.candidateForwards()
	if x.guess != nil || len(forwards) == 0 {
		v := recompute.NewUndecidedVerdict(recompute.NoInputs, lang.Say("no forward call of these shapes was dumped"))
		if rows := x.formulaRows(x.op.Call.API); x.guess != nil || rows == nil {
			v.Reason, v.Why = recompute.NoType, lang.Sentence{}
		}
		x.setVerdict(v)
		return nil
	}
	var best []*gradient
	defer func() { closeGradients(best) }()
	for _, forward := range forwards {
		parts, err := x.judgeGradients(ctx, forward)
		if err != nil {
			closeGradients(parts)
			return err
		}
		if best == nil || worstSeverity(parts) < worstSeverity(best) && countJudged(parts) >= countJudged(best) {
			parts, best = best, parts
		}
		closeGradients(parts)
		if worstSeverity(best) <= severityOf(recompute.Low) {
			break
		}
	}
	return x.joinGradients(ctx, best, len(forwards) > 1 && msprobe.IsModule(x.op.Call.API))
}

func closeGradients(parts []*gradient) {
	for _, p := range parts {
		p.close()
	}
}

// formulaRows returns the rows of the table for the forward call of a backward call.
func (x *execution) formulaRows(api string) []recompute.Call {
	_, rows := recompute.CallsOf(msprobe.ParseName(api).InDirection(msprobe.Forward), x.round.Header.Framework)
	return rows
}

// severityOf ranks the statuses of gradients, 0 for OK. The worst status of a gradient is the status of the call.
func severityOf(s recompute.Status) int {
	return slices.Index([]recompute.Status{recompute.OK, recompute.Low, recompute.Undecided, recompute.Misfit, recompute.Wrong}, s)
}

func worstSeverity(parts []*gradient) (most int) {
	for _, p := range parts {
		most = max(most, severityOf(p.row.Status))
	}
	return most
}

// countJudged counts the gradients that are not UNDECIDED.
func countJudged(parts []*gradient) (n int) {
	for _, p := range parts {
		if p.row.Status != recompute.Undecided {
			n++
		}
	}
	return n
}

// judgeGradients judges the gradients of a backward call with the saved tensors of a forward call.
func (x *execution) judgeGradients(ctx context.Context, forward *dumpdir.Op) (parts []*gradient, err error) {
	c := boundCall{}
	if rows := x.formulaRows(x.op.Call.API); rows != nil {
		c, _ = bindFormula(rows, forward.Call)
	}
	for i := range x.op.Call.Leaves {
		l := &x.op.Call.Leaves[i]
		place, err := strconv.Atoi(l.Path)
		if l.Kind != tensor.Output || l.Tensor == nil || err != nil {
			continue
		}
		one := outcome{row: x.row}
		p := &gradient{execution: &execution{checker: x.checker, job: x.job, outcome: &one, forward: forward}}
		p.row.Inputs = []Tensor{}
		p.outputIndexes = []int{place}
		parts = append(parts, p)
		p.op, p.v, err = p.bindAndJudge(ctx, func(ctx context.Context) (*recompute.Operator, []lang.Sentence, *recompute.Verdict, error) {
			return p.bindOrSkip(ctx, &c, l)
		})
		if err == nil && p.op != nil {
			err = p.explain(ctx, p.op, p.v)
		}
		p.withdrawZeros(leafAt(forward.Call, tensor.Input, l.Path))
		if err != nil {
			return parts, err
		}
	}
	return parts, nil
}

// bindOrSkip binds a gradient like bindGradient. A gradient of zeros for an argument that needs no gradient is a
// placeholder and OK.
func (x *execution) bindOrSkip(ctx context.Context, c *boundCall, gradient *msprobe.Leaf) (*recompute.Operator, []lang.Sentence, *recompute.Verdict, error) {
	input := leafAt(x.forward.Call, tensor.Input, gradient.Path)
	if input == nil || isFloat(input.Tensor.ElementType()) && (input.Tensor.RequiresGrad == nil || *input.Tensor.RequiresGrad) {
		return x.bindGradient(ctx, c, gradient)
	}
	opened, v, err := x.openLeaf(gradient)
	if v != nil || err != nil {
		return nil, nil, v, err
	}
	switch zero, err := recompute.IsZero(ctx, opened); {
	case err != nil:
		return nil, nil, nil, err
	case !zero:
		return x.bindGradient(ctx, c, gradient)
	}
	x.outputs = []*recompute.Tensor{opened}
	return nil, nil, &recompute.Verdict{Status: recompute.OK, Confidence: finding.High, Outputs: []recompute.Output{recompute.NewRightOutput(opened.Shape.Elements())}}, nil
}

func isFloat(d tensor.DType) bool {
	_, is := tensor.ScalarFloat(d)
	return is
}

// bindGradient opens the tensors from which a gradient is computed and binds them to the formula of the gradient. The
// verdict says why the gradient cannot be judged.
func (x *execution) bindGradient(ctx context.Context, c *boundCall, gradient *msprobe.Leaf) (op *recompute.Operator, warnings []lang.Sentence, v *recompute.Verdict, err error) {
	one, v, err := x.openLeaf(gradient)
	if v != nil || err != nil {
		return nil, nil, v, err
	}
	x.outputs = []*recompute.Tensor{one}
	input := c.formulaInput(gradient.Path)
	g, ok := recompute.GradientOf(c.formula, input)
	if !ok {
		return nil, nil, recompute.NewUndecidedVerdict(recompute.NoType, lang.Sentence{}), nil
	}
	defer func() { x.row.Inputs = x.listTensors(x.inputs) }()
	if g.Formula == "" {
		return x.bindMove(ctx, c, input)
	}
	named := map[string][]*recompute.Tensor{}
	for _, own := range slices.Sorted(maps.Keys(g.Inputs)) {
		for _, l := range x.leavesOf(c, g.Inputs[own]) {
			one, v, err := x.openLeaf(l)
			if v != nil || err != nil {
				return nil, nil, v, err
			}
			named[own] = append(named[own], one)
		}
	}
	op, warnings = recompute.BindCall(g.Formula, named, x.outputs, c.attributes, x.attributes())
	op.Open = c.open
	if y := named[recompute.ForwardOutput]; len(y) > 0 && c.inputs[recompute.ForwardOutput] == nil {
		op.Saved = y[0]
	}
	if dy := named[g.Gradients]; recompute.IsProduct(c.formula) && len(dy) > 0 {
		op = op.CastTo(dy[0].DType)
	}
	return op, warnings, nil, nil
}

// withdrawZeros makes a gradient of zeros UNDECIDED, unless dump.json says that the argument requires a gradient.
func (p *gradient) withdrawZeros(input *msprobe.Leaf) {
	wanted := input != nil && input.Tensor.RequiresGrad != nil && *input.Tensor.RequiresGrad
	if p.row.Reason == finding.ZeroOutput && !wanted {
		p.op = nil
		p.setVerdict(recompute.NewUndecidedVerdict(recompute.NoOutputs, lang.Say("zeros for an input that needs no gradient")))
	}
}

// formulaInput returns the input of the formula for a positional argument of the call, empty for none.
func (c *boundCall) formulaInput(place string) string {
	for _, name := range slices.Sorted(maps.Keys(c.inputs)) {
		if slices.ContainsFunc(c.inputs[name].leaves, func(l *msprobe.Leaf) bool { return l.Kind == tensor.Input && l.Path == place }) {
			return name
		}
	}
	return ""
}

// leavesOf returns the tensors and numbers that an input of a gradient's formula stands for.
func (x *execution) leavesOf(c *boundCall, name string) (all []*msprobe.Leaf) {
	call, kind := x.op.Call, tensor.Input
	switch a := c.inputs[name]; {
	case a != nil:
		return a.leaves
	case name == recompute.ForwardOutput:
		call, kind = x.forward.Call, tensor.Output
	case name != recompute.OutputGradient:
		return nil
	}
	if l := leafAt(call, kind, "0"); l != nil {
		all = append(all, l)
	}
	return all
}

// openLeaf opens a tensor of the backward call or of its forward call; a number becomes a constant. The verdict names
// a tensor that was not dumped.
func (x *execution) openLeaf(l *msprobe.Leaf) (one *recompute.Tensor, v *recompute.Verdict, err error) {
	if l.Tensor == nil {
		n, _ := valueOf(l.Value).Number()
		return recompute.Constant(n), nil, nil
	}
	for _, op := range []*dumpdir.Op{x.op, x.forward} {
		i := slices.IndexFunc(op.Tensors, func(t dumpdir.Tensor) bool { return t.Leaf == l })
		if i < 0 || op.Tensors[i].Table || op.Tensors[i].File.Err != nil {
			continue
		}
		if one, err = x.openTensor(&op.Tensors[i], false); err != nil {
			return nil, nil, lang.Errorf("%s: %w", l.Name, err)
		}
		if l.Kind != tensor.Output || op != x.op {
			x.inputs = append(x.inputs, one)
		}
		return one, nil, nil
	}
	return nil, recompute.NewUndecidedVerdict(recompute.NoInputs, lang.Say("%s was not dumped", l.Name)), nil
}

// bindMove binds the gradient of a copy to a formula that moves the gradients of the outputs back to the input.
func (x *execution) bindMove(ctx context.Context, c *boundCall, input string) (op *recompute.Operator, warnings []lang.Sentence, v *recompute.Verdict, err error) {
	var outputs, grads []*recompute.Tensor
	for i := range x.forward.Call.Leaves {
		l := &x.forward.Call.Leaves[i]
		if l.Kind != tensor.Output || l.Tensor == nil {
			continue
		}
		one, v, err := x.openLeaf(l)
		if v != nil || err != nil {
			return nil, nil, v, err
		}
		var dy *recompute.Tensor
		if g := leafAt(x.op.Call, tensor.Input, l.Path); g != nil {
			if dy, v, err = x.openLeaf(g); v != nil || err != nil {
				return nil, nil, v, err
			}
		}
		outputs, grads = append(outputs, one), append(grads, dy)
	}
	named := map[string][]*recompute.Tensor{}
	for name := range c.inputs {
		for _, l := range c.inputs[name].leaves {
			one, v, err := x.openLeaf(l)
			if v != nil || err != nil {
				return nil, nil, v, err
			}
			named[name] = append(named[name], one)
		}
	}
	if len(named[input]) == 0 || len(outputs) == 0 {
		return nil, nil, recompute.NewUndecidedVerdict(recompute.NoInputs, lang.Sentence{}), nil
	}
	forward, warnings := recompute.BindCall(c.formula, named, outputs, c.attributes, x.attributes())
	op, reason, err := recompute.GradientOfMove(ctx, forward, named[input][0], grads, x.outputs[0])
	switch {
	case op != nil || err != nil:
	case reason == recompute.NoAttributes:
		v = recompute.NewUndecidedVerdict(reason, lang.Say("%s does not determine which input element each output element comes from", x.forward.Names()[0]))
	default:
		v = recompute.NewUndecidedVerdict(reason, lang.Sentence{})
	}
	return op, warnings, v, err
}

// joinGradients makes the row of a backward call from its gradients. isAmbiguous: several forward calls fit; then a
// gradient that is wrong for every forward call is a MISFIT.
func (x *execution) joinGradients(ctx context.Context, parts []*gradient, isAmbiguous bool) error {
	if len(parts) == 0 {
		x.setVerdict(recompute.NewUndecidedVerdict(recompute.NoOutputs, lang.Sentence{}))
		return nil
	}
	worst := slices.MaxFunc(parts, func(a, b *gradient) int { return cmp.Compare(severityOf(a.row.Status), severityOf(b.row.Status)) })
	outputs, inputs := []Output{}, []Tensor{}
	for _, p := range parts {
		outputs = append(outputs, p.row.Outputs...)
		for _, t := range p.row.Inputs {
			t.Index = len(inputs)
			inputs = append(inputs, t)
		}
		x.problems, x.warnings, x.tensorWarnings = append(x.problems, p.problems...), append(x.warnings, p.warnings...), append(x.tensorWarnings, p.tensorWarnings...)
		for name, a := range p.row.Attributes {
			if _, has := worst.row.Attributes[name]; !has {
				worst.row.Attributes[name] = a
			}
		}
	}
	x.row, x.row.Outputs, x.row.Inputs = worst.row, outputs, inputs
	if worstSeverity(parts) <= severityOf(recompute.Undecided) {
		return nil
	}
	switch isWrong, err := x.isForwardWrong(ctx, worst.forward); {
	case err != nil:
		return err
	case isWrong: // the saved tensors may be wrong too
		x.row.Status, x.row.Reason, x.row.Extent, x.row.Confidence, x.row.Facts = recompute.Undecided, recompute.InputChanged, "", "", nil
		x.row.setEvidenceText(lang.Say("%s computes a wrong result from its inputs", worst.forward.Names()[0]), lang.Sentence{})
		return nil
	case isAmbiguous && x.row.Status == recompute.Wrong:
		x.row.Set(recompute.Misfit, recompute.NoReason, recompute.Suspect)
		x.row.setEvidenceText(lang.Say("no forward call explains the gradient, and it is unknown which forward call belongs to it"), lang.Sentence{})
	}
	return x.extract(ctx, worst.op, worst.v)
}

// isForwardWrong reports whether the forward call of a backward call is WRONG or a MISFIT.
func (x *execution) isForwardWrong(ctx context.Context, forward *dumpdir.Op) (bool, error) {
	f := &execution{checker: x.checker, job: job{x.round, forward}, outcome: &outcome{row: Operator{Op: forward.Names()[0], Type: typeOf(forward)}}}
	defer f.close()
	_, v, err := f.bindAndJudge(ctx, f.bindCall)
	return err == nil && (v.Status == recompute.Wrong || v.Status == recompute.Misfit), err
}

// typeOfBackward returns the function and direction of a backward call, such as relu.backward; empty for an unknown
// function.
func typeOfBackward(api string) string {
	function, _ := recompute.CallsOf(msprobe.ParseName(api).InDirection(msprobe.Forward), "")
	if function == "" {
		return ""
	}
	return function + "." + strings.ToLower(string(msprobe.Backward))
}
