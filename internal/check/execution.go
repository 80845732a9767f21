package check

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/graph"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// execution is the check of an operator, with its open files.
type execution struct {
	*checker
	job
	*outcome
	guess       []recompute.Call // rows of the table to try, nil for the row of its type
	furtherRows []recompute.Call // further rows of the table, to try if the first row explains nothing
	open        []*tensorfile.File
	// forward is the forward call of a backward call, nil for none.
	forward *dumpdir.Op
	// inputs and outputs are the opened tensors; missing tensors are nil.
	inputs, outputs []*recompute.Tensor
	// bias is an output that is the unchanged bias, nil for none.
	bias *recompute.Tensor
	// outputIndexes maps positions in out to output indexes of the operator, nil if they are equal.
	outputIndexes []int
	// hasStates: surplus outputs are states of the kernel, no results.
	hasStates   bool
	graphs      []*graph.Op // the operator in graphs
	stored      map[*recompute.Tensor]*tensorfile.Tensor
	leaves      map[*recompute.Tensor]*msprobe.Leaf // inputs in msprobe's dump.json
	substituted map[*recompute.Tensor]string        // the producer whose output substitutes an input
	watched     []*statisticsSource
}

// close closes the files.
func (x *execution) close() {
	for _, f := range x.open {
		_ = f.Close() // only read
	}
}

// judge opens the tensors, binds them to a formula and judges the operator.
func (x *execution) judge(ctx context.Context) error {
	x.lookUpGraphs()
	bind := x.bindDump
	switch {
	case isBackward(x.op):
		return x.judgeBackward(ctx)
	case x.op.Call != nil && x.op.Call.API != "":
		bind = x.bindCall
	}
	op, v, err := x.bindAndJudge(ctx, bind)
	if err == nil && x.row.Status == recompute.Undecided && x.guess == nil {
		return x.judgeModule(ctx)
	}
	if err != nil || op == nil || x.readsOtherRanks() {
		return err
	}
	if x.guess != nil { // a guessed formula may be wrong: extract nothing
		return x.explain(ctx, op, v)
	}
	return cmp.Or(x.explain(ctx, op, v), x.extract(ctx, op, v))
}

// bindAndJudge judges the operator that bind returns, and records the verdict in the row. The operator is nil if it was
// not computed again.
func (x *execution) bindAndJudge(ctx context.Context, bind func(context.Context) (*recompute.Operator, []lang.Sentence, *recompute.Verdict, error)) (*recompute.Operator, *recompute.Verdict, error) {
	op, warnings, v, err := bind(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range warnings {
		x.warnings = append(x.warnings, lang.Say("%s: %v", x.row.Op, w))
	}
	if v != nil {
		x.setVerdict(v)
		return nil, v, nil
	}
	op.Seed, op.Full, op.Budget = x.opt.Seed, x.opt.Full, x.opt.Budget
	op.Transforms = x.opt.forComparison
	judge := x.opt.recompute
	if judge == nil {
		judge = recompute.Judge
	}
	if v, err = judge(ctx, op); err != nil {
		return nil, nil, x.wrapError(err)
	}
	if op, v, err = x.tryFurtherRows(ctx, op, v); err != nil {
		return nil, nil, x.wrapError(err)
	}
	if err = x.verify(); err != nil {
		return nil, nil, err
	}
	if v, err = x.crossCheck(ctx, v); err != nil {
		return nil, nil, err
	}
	if v, err = x.checkInputs(ctx, op, v); err != nil {
		return nil, nil, err
	}
	x.hasStates = recompute.HasStates(op.Formula)
	x.setVerdict(v)
	return op, v, nil
}

// tryFurtherRows tries further rows of the table if the first row does not explain the output or does not fit the
// shapes, and the dump lacks the arguments of the call, which would select the row: a.div(b) may have a rounding
// mode. File names of other programs than msprobe do not tell the order of the inputs: then WRONG becomes MISFIT
// unless three quarters of the elements are right.
func (x *execution) tryFurtherRows(ctx context.Context, op *recompute.Operator, v *recompute.Verdict) (*recompute.Operator, *recompute.Verdict, error) {
	if x.op.Call == nil || !x.op.Call.NamesOnly || x.guess != nil {
		return op, v, nil
	}
	for (v.Status == recompute.Misfit || v.Status == recompute.Wrong || v.Reason == recompute.NoAttributes) && len(x.furtherRows) > 0 {
		other := *x
		other.guess = x.furtherRows
		next, _, none, err := other.bindCall(ctx)
		x.open, x.furtherRows, x.tensorWarnings = other.open, other.furtherRows, other.tensorWarnings
		if err != nil {
			return op, v, err
		}
		if none != nil {
			break
		}
		next.Seed, next.Full, next.Budget = op.Seed, op.Full, op.Budget
		w, err := recompute.Judge(ctx, next)
		if err != nil {
			return op, v, err
		}
		if w.IsRight() || w.Status == recompute.Wrong && w.IsMostlyRight() && !(v.Status == recompute.Wrong && v.IsMostlyRight()) {
			*x, op, v = other, next, w
			x.guess = nil
		}
	}
	if v.Status == recompute.Wrong && x.op.Call.API != x.op.Names()[0] && !v.IsMostlyRight() {
		v.Set(recompute.Misfit, recompute.NoReason, recompute.Suspect)
	}
	return op, v, nil
}

// verify compares the files of the tensors with their checksums.
func (x *execution) verify() error {
	for _, t := range slices.Concat(x.inputs, x.outputs) {
		if s := x.stored[t]; s != nil {
			if err := s.Verify(); err != nil {
				return lang.Errorf("%s: %w", s, err)
			}
		}
	}
	return nil
}

// bindDump opens the tensors of a CANN dump and binds them to the formula of the type, or returns the reason why the
// operator cannot be judged.
func (x *execution) bindDump(context.Context) (op *recompute.Operator, warnings []lang.Sentence, v *recompute.Verdict, err error) {
	formula := recompute.FormulaOf(x.row.Type)
	if x.inputs, err = x.openTensors(tensor.Input, formula.IsOfImages); err != nil {
		return nil, nil, nil, err
	}
	if x.outputs, err = x.openTensors(tensor.Output, formula.IsOfImages); err != nil {
		return nil, nil, nil, err
	}
	if len(x.outputs) > 1 { // the index of a single dumped output is unknown
		x.moveOutputsFirst(formula.Outputs)
	}
	if formula.Name != "" && len(x.outputs) > 0 {
		if err = x.substituteInputs(formula.IsOfImages); err != nil {
			return nil, nil, nil, err
		}
	}
	x.row.Inputs = x.listTensors(x.inputs)
	if v := x.findRefusal(formula.Name, len(x.inputs) > 0); v != nil {
		return nil, nil, v, nil
	}
	if op, warnings, err = recompute.Bind(formula, x.placeInputs(x.inputs), x.outputs, x.attributes()); err == nil {
		op.Overlap, op.Fused = x.overlapsInput(), x.row.Fused
		op.AttributesComplete = len(x.graphs) > 0 && op.Fused != nil && !*op.Fused
	}
	return op, warnings, nil, err
}

// moveOutputsFirst moves the outputs at the given positions to the front.
func (x *execution) moveOutputsFirst(first []int) {
	for k := range x.outputs {
		if !slices.Contains(first, k) {
			first = append(slices.Clip(first), k)
		}
	}
	out := make([]*recompute.Tensor, len(first))
	for i, k := range first {
		if k < len(x.outputs) {
			out[i] = x.outputs[k]
		}
	}
	x.outputs, x.outputIndexes = out, first
}

// findRefusal returns the verdict on an operator without a formula, inputs or outputs, nil otherwise.
func (x *execution) findRefusal(formula string, hasInputs bool) *recompute.Verdict {
	switch {
	case formula == "":
		return recompute.NewUndecidedVerdict(recompute.NoType, lang.Sentence{})
	case !hasInputs:
		return recompute.NewUndecidedVerdict(recompute.NoInputs, lang.Sentence{})
	case len(x.outputs) == 0:
		return recompute.NewUndecidedVerdict(recompute.NoOutputs, lang.Sentence{})
	}
	return nil
}

// wrapError adds the kind and index of the tensor to an error.
func (x *execution) wrapError(err error) error {
	if t, ok := errors.AsType[*recompute.TensorError](err); ok {
		return lang.Errorf("%s %d: %w", t.Kind, t.Index, err)
	}
	return err
}

// openTensors opens the inputs or outputs in their order; missing tensors are nil.
func (x *execution) openTensors(kind tensor.Kind, images bool) (all []*recompute.Tensor, err error) {
	for i := range x.op.Tensors {
		t := &x.op.Tensors[i]
		if t.Kind != kind || t.Table || t.IsWholeFile() || t.File.Err != nil {
			continue
		}
		one, err := x.openTensor(t, images)
		if err != nil {
			return nil, lang.Errorf("%s %d: %w", t.Kind, t.Index, err)
		}
		for len(all) <= t.Index {
			all = append(all, nil)
		}
		all[t.Index] = one
	}
	return all, nil
}

// openTensor opens a tensor and converts it to a host layout.
func (x *execution) openTensor(t *dumpdir.Tensor, images bool) (*recompute.Tensor, error) {
	f, err := x.files.Open(t.File.Path(), t.Member, tensorfile.Options{Name: t.File.Name, Version: x.opt.Version})
	if err != nil {
		return nil, err
	}
	x.open = append(x.open, f)
	for _, w := range f.AllWarnings() {
		x.tensorWarnings = append(x.tensorWarnings, lang.Say("%s: %s", t.File.Path(), w))
	}
	s, err := f.FindOrOnly(t.Kind, t.Index)
	if err == nil {
		err = s.Err
	}
	if err != nil {
		return nil, err
	}
	host, err := x.toHost(s, t, images)
	if err == nil {
		err = x.watchSource(host, t, s)
	}
	if err == nil && !statesType(f, s, t) {
		host.DType, err = host.HeldType()
	}
	if t.Leaf != nil && t.Kind != tensor.Output {
		if x.leaves == nil {
			x.leaves = map[*recompute.Tensor]*msprobe.Leaf{}
		}
		x.leaves[host] = t.Leaf
	}
	return host, err
}

// statesType reports whether dump.json or the file states the element type on the NPU. An array of numpy does not state
// it: numpy has no bfloat16.
func statesType(f *tensorfile.File, s *tensorfile.Tensor, t *dumpdir.Tensor) bool {
	if t.Leaf != nil && t.Leaf.Tensor != nil {
		return t.Leaf.Tensor.DType != ""
	}
	return s.Origin != tensor.Undefined || !f.IsArray && f.Container != "npz"
}

// toHost converts a tensor to a host layout; images become channels-first.
func (x *execution) toHost(s *tensorfile.Tensor, t *dumpdir.Tensor, images bool) (*recompute.Tensor, error) {
	host := &recompute.Tensor{DType: cmp.Or(s.Origin, s.DType), Stored: s.DType}
	if t.Leaf != nil && t.Leaf.Tensor != nil {
		host.DType = cmp.Or(t.Leaf.Tensor.ElementType(), host.DType)
	}
	stored, err := s.StoredShape()
	if unsupported, ok := errors.AsType[*tensor.UnsupportedType](err); ok {
		host.Stored, host.Shape = unsupported.DType, s.Shape
		return x.recordStorage(host, s), nil
	} else if err != nil {
		return nil, err
	}
	host.Shape, host.Source = stored, s.Elements()
	if leaf := t.Leaf; layout.IsHost(s.Format) && leaf != nil && leaf.Tensor != nil && len(leaf.Tensor.Shape) > 0 && leaf.Tensor.Shape.Elements() == stored.Elements() {
		host.Shape = leaf.Tensor.Shape // a view
	}
	target := tensor.NCHW
	if layout.IsHost(s.Format) && (!images || s.Format == tensor.ND || s.Format == target) {
		return x.recordStorage(host, s), nil
	}
	plan, err := hostPlan(s, stored, images)
	if err != nil {
		return nil, err
	}
	host.Shape = plan.Shape
	if plan.Copies() {
		return x.recordStorage(host, s), nil
	}
	buffers := new(layout.Buffers)
	host.Source, err = plan.Reader(host.Source, s.DType.UnitSize(), buffers)
	return x.recordStorage(host, s), err
}

// recordStorage records how a tensor is stored.
func (x *execution) recordStorage(host *recompute.Tensor, s *tensorfile.Tensor) *recompute.Tensor {
	if x.stored == nil {
		x.stored = map[*recompute.Tensor]*tensorfile.Tensor{}
	}
	x.stored[host] = s
	return host
}

// overlapsInput reports whether an output lay in the memory of an input; nil if the dumps have no addresses.
func (x *execution) overlapsInput() *bool {
	var result *bool
	for _, in := range x.inputs {
		for _, out := range x.outputs {
			if in == nil || out == nil || x.substituted[in] != "" || x.stored[in].Address == 0 || x.stored[out].Address == 0 {
				continue
			}
			a, b := x.stored[in], x.stored[out]
			overlaps := a.Address < b.Address+uint64(b.Size) && b.Address < a.Address+uint64(a.Size)
			if result == nil {
				result = new(bool)
			}
			*result = *result || overlaps
		}
	}
	return result
}

// hostPlan plans the conversion of a device layout to a host layout.
func hostPlan(s *tensorfile.Tensor, stored tensor.Shape, images bool) (plan *layout.Plan, first error) {
	var orders []tensor.Format
	if f := s.OriginalFormat; f != nil && layout.IsHost(*f) && !images {
		orders = append(orders, *f)
	}
	orders = append(orders, tensor.NCHW, tensor.NCDHW, tensor.ND)
	if len(s.OriginalShape) != 4 && len(s.OriginalShape) != 5 && len(s.OriginalShape) > 0 {
		orders = append([]tensor.Format{tensor.ND}, orders...)
	}
	for _, target := range orders {
		plan, err := layout.NewPlan(layout.Request{DType: s.DType, Source: s.Format, Shape: stored, C0: s.C0, Groups: s.Groups,
			Original: s.OriginalShape, OriginalFormat: s.OriginalFormat, Target: target})
		if err == nil {
			return plan, nil
		}
		first = cmp.Or(first, err)
	}
	return nil, first
}

// listTensors lists tensors for the report.
func (x *execution) listTensors(tensors []*recompute.Tensor) []Tensor {
	all := []Tensor{}
	for i, t := range tensors {
		if t == nil {
			continue
		}
		one := Tensor{Index: i, DType: t.DType.String(), Shape: append(tensor.Shape{}, t.Shape...), Format: x.stored[t].Format.String(), From: x.substituted[t]}
		if l := x.leaves[t]; l != nil {
			one.Name = strings.TrimPrefix(l.Name, x.row.Op+".")
		}
		all = append(all, one)
	}
	return all
}

// fileOf returns the file of an output.
func (x *execution) fileOf(output int) string {
	i := slices.IndexFunc(x.op.Tensors, func(t dumpdir.Tensor) bool { return t.Kind == tensor.Output && t.Index == output })
	if i < 0 {
		return x.row.File
	}
	return x.op.Tensors[i].File.Path()
}

// setVerdict writes a verdict into the row.
func (x *execution) setVerdict(v *recompute.Verdict) {
	r := &x.row
	r.Verdict, r.Verdict.Outputs, r.Attributes = *v, nil, recompute.Attributes{}
	maps.Copy(r.Attributes, v.Attributes)
	switch {
	case v.Why.IsZero():
	case v.Status == recompute.Undecided:
		r.setEvidenceText(lang.Say("%v: %s", reasonTexts[v.Reason], v.Why), lang.Sentence{})
	case v.Status == recompute.Misfit:
		r.setEvidenceText(v.Why, lang.Sentence{})
	}
	r.Outputs = []Output{}
	for i, t := range x.listOutputs() {
		out := x.unjudgedOutput(t)
		switch {
		case i < len(v.Outputs):
			out.Output = v.Outputs[i]
			out.setCoordinates()
		case x.bias != nil && x.outputIndexes == nil && x.outputs[t.Index] == x.bias:
			out.Output = recompute.NewRightOutput(out.Elements)
		}
		r.Outputs = append(r.Outputs, out)
	}
	if r.IsRight() && !x.hasStates {
		r.requireCompared()
	}
}

// setCoordinates sets the coordinates of the listed elements.
func (o *Output) setCoordinates() {
	if o.FirstBad != nil {
		o.FirstBad.Coord = o.Shape.Coordinates(o.FirstBad.Offset)
	}
	for i := range o.Elems {
		o.Elems[i].Coord = o.Shape.Coordinates(o.Elems[i].Offset)
	}
}

// unjudgedOutput returns an output that was not computed again.
func (x *execution) unjudgedOutput(t Tensor) Output {
	return Output{Tensor: t, Output: recompute.Output{Elements: t.Shape.Elements(), Elems: []recompute.Element{}}, file: x.fileOf(t.Index)}
}

// listOutputs lists the outputs for the report, with their indexes in the operator.
func (x *execution) listOutputs() []Tensor {
	all := x.listTensors(x.outputs)
	for i := range all {
		if x.outputIndexes != nil {
			all[i].Index = x.outputIndexes[all[i].Index]
		}
	}
	return all
}

// requireCompared makes an operator UNDECIDED if one of its outputs was not compared.
func (o *Operator) requireCompared() {
	i := slices.IndexFunc(o.Outputs, func(t Output) bool { return t.Checked == 0 && t.Elements > 0 })
	if i >= 0 {
		o.Status, o.Reason, o.Confidence = recompute.Undecided, recompute.NotCompared, ""
		o.setEvidenceText(lang.Say("%v: output %d", reasonTexts[recompute.NotCompared], o.Outputs[i].Index), lang.Sentence{})
	}
}
