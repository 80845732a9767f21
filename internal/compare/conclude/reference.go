package conclude

import (
	"context"
	"slices"

	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/tensor"
)

// recomputeReference recomputes operators of the reference for rows that differ although recomputation shows that the
// operator of the NPU is right. If the operator of the reference is right, too, the operator amplified the errors of
// its inputs, or has other attributes: then computeReference judges the rounds again, and more is true. An unreadable
// input leaves a row as it is.
func (a *recomputation) recomputeReference(ctx context.Context) (more bool, err error) {
	var rows []*record.Row
	var names []string
	for _, row := range a.rep.AllRows() {
		if code := row.FirstCode(); (code == finding.ReferenceDiffers || code == finding.Pole) && row.RefPath != "" && row.Self.IsRight() && !a.refComputed[row.Op] {
			rows, names = append(rows, row), append(names, row.Op)
		}
	}
	if len(rows) == 0 {
		return false, nil
	}
	found, _, err := a.opt.recomputeOperators(ctx, a.Plan, false, names, nil)
	if err == nil {
		err = a.recomputeGolden(ctx, rows, found)
	}
	if err != nil {
		a.rep.Interrupted = ctx.Err() != nil
		return false, err
	}
	for _, name := range names {
		a.refComputed[name] = true
	}
	for _, row := range a.rep.AllRows() {
		ref, self := found[row.ReferenceOutput()], row.Self
		if !ref.IsRight() || !self.IsRight() || self.BothRight || self.OtherArguments {
			continue
		}
		self.BothRight = ref.Attributes == self.Attributes
		self.OtherArguments, more = !self.BothRight, true
	}
	if more {
		a.opt.judgeRounds(a.rep)
		a.opt.setTotals(a.rep, newSumsOf(a.rep))
	}
	return more, nil
}

// recomputeGolden recomputes the operators of rows whose reference holds outputs only, and adds their judgements to
// found. Each input is the reference's tensor that corresponds to the input on the NPU, or the NPU's tensor if no dumped
// operator produced the input. The attributes are the attributes on the NPU.
func (a *recomputation) recomputeGolden(ctx context.Context, rows []*record.Row, found map[record.OutputKey]*record.RecomputedOutput) error {
	operators := map[suspectedOperator]bool{}
	var names []string
	for _, row := range rows {
		if found[row.ReferenceOutput()] == nil {
			operators[suspectedOperator{round: row.Round, name: row.NPUName()}] = true
			names = append(names, row.NPUName())
		}
	}
	outputs := map[record.OutputKey]*record.Row{}
	for _, row := range a.rep.AllRows() {
		if operators[suspectedOperator{round: row.Round, name: row.NPUName()}] && row.Kind == string(tensor.Output) && row.IsCompared() && row.RefPath == row.RefFile {
			outputs[record.OutputKey{File: row.NPUPath, Output: row.Output}] = row
		}
	}
	if len(outputs) == 0 {
		return nil
	}
	selves, _, err := a.opt.recomputeOperators(ctx, a.Plan, true, names, func(op *dumpdir.Op) {
		var rows []*record.Row
		for i := range op.Tensors {
			t := &op.Tensors[i]
			if row := outputs[record.OutputKey{File: t.File.Path(), Output: t.Index}]; row != nil && t.Kind == tensor.Output {
				rows = append(rows, row)
			}
		}
		if len(rows) > 0 {
			a.replaceInputs(op, rows)
		}
	})
	for _, row := range outputs {
		if self := selves[record.OutputKey{File: row.RefPath, Op: row.NPUName(), Output: row.Output}]; self != nil {
			found[row.ReferenceOutput()] = self
		}
	}
	return err
}

// replaceInputs replaces the tensors of an operator of the NPU by the reference's tensors. rows are its outputs. The
// outputs of the reference may be as inexact as the NPU's type: an input of the NPU is rounded to it.
func (a *recomputation) replaceInputs(op *dumpdir.Op, rows []*record.Row) {
	for i := range op.Tensors {
		t := &op.Tensors[i]
		switch t.Kind {
		case tensor.Output:
			for _, row := range rows {
				if row.Output == t.Index {
					*t = dumpdir.NewTensor(t.Kind, t.Index, row.RefPath, row.NPUDType, nil)
				}
			}
		case tensor.Input:
			if p, shape := a.producerOf(rows, t.Index); p != nil {
				*t = dumpdir.NewTensor(t.Kind, t.Index, p.RefPath, p.RefDType, shape)
			}
		}
	}
}

// producerOf returns the latest output before an operator that equals an input of it on the NPU, and the shape of the
// input; nil if no dumped operator produced the input. rows are the outputs of the operator.
func (a *recomputation) producerOf(rows []*record.Row, input int) (latest *record.Row, shape tensor.Shape) {
	operator := rows[0]
	for _, row := range rows { // only one of the outputs lists the inputs
		i := slices.IndexFunc(row.Reads, func(read record.InputRead) bool { return read.NPU && read.Input == input && !read.Constant })
		if i < 0 {
			continue
		}
		read := &row.Reads[i]
		count, _ := read.Shape.Count()
		for _, p := range a.rep.AllRows() {
			if p.IsCompared() && p.Round == operator.Round && p.Op != operator.Op && p.Order <= operator.Order && p.Result.NPUCRC == read.CRC && p.Result.Total == count &&
				p.NPUDType.String() == read.DType && p.RefPath == p.RefFile && (latest == nil || p.Order > latest.Order) {
				latest, shape = p, read.Shape
			}
		}
	}
	return latest, shape
}
