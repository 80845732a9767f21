package check

import (
	"context"

	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/recompute"
	"dumptool/internal/sidefile"
)

// OpenRun opens a run of a comparison, with everything that may give attributes. files are the side files of the
// comparison.
func OpenRun(ctx context.Context, path string, files sidefile.Files, opt dumpdir.Options) (*dumpdir.Run, error) {
	in, err := (&sidefile.Files{Fusion: files.Fusion, Execution: files.Execution, Consumers: files.Consumers, Attributes: true}).Load()
	if err != nil {
		return nil, err
	}
	opt.NoRaw, opt.Graphs, opt.Attributes = true, true, true
	opt.Sources = dumpdir.Sources{Execution: in.Execution, Fusion: in.Fusion, Consumers: in.Consumers}
	return dumpdir.Open(ctx, []string{path}, opt)
}

// RecomputeOperators computes the operators of a run again for a comparison. It returns the judgement of each output,
// and what could not be read. Operators without dumped inputs and operators of unknown types are left out, except on
// ranks that are judged together.
func RecomputeOperators(ctx context.Context, run *dumpdir.Run, opt Options, together func(dumpdir.Coordinates) bool) (all map[record.OutputKey]*record.RecomputedOutput, unread []lang.Sentence, err error) {
	all, opt.Only = map[record.OutputKey]*record.RecomputedOutput{}, []string{Operators}
	opt.forComparison = true
	opt.peers = func(o *Operator) string { // steps are judged independently
		if !together(o.At) {
			return ""
		}
		return o.At.Step + "\n" + o.At.Graph + "\n" + o.At.Model + "\n" + o.Op + "\n" + o.Type
	}
	r, err := Run(ctx, run, opt)
	if err != nil {
		return nil, nil, err
	}
	for i := range r.Operators {
		o := &r.Operators[i]
		for k := range o.Outputs {
			if out := &o.Outputs[k]; len(o.Inputs) > 0 && o.appliesTo(out) {
				all[record.OutputKey{File: out.file, Op: o.Op, Output: out.Index}] = o.outputJudgement(out)
			}
		}
	}
	for i := range r.Operators {
		if o := &r.Operators[i]; o.Status == recompute.Crashed {
			unread = append(unread, lang.Say("not computed again: %s: %s: %v", o.File, o.Op, o.Evidence))
		}
	}
	for _, p := range r.Problems {
		if p.Kind != "" { // a problem with the folders: the comparison reports it itself
			continue
		}
		unread = append(unread, lang.Say("not computed again: %s: %v", p.File, p.Err))
	}
	return all, unread, nil
}

// appliesTo reports whether the verdict of the operator applies to an output. OK, and UNDECIDED because of another
// output, do not apply to an output that was not computed again.
func (o *Operator) appliesTo(out *Output) bool {
	right := o.IsRight() || o.Reason == recompute.NotCompared
	return !right || out.Checked > 0 || out.Elements == 0
}

// isRight reports whether an output is right although its operator is not OK: other outputs are wrong or were not
// compared.
func (o *Operator) isRight(out *Output) bool {
	bad := int64(0)
	for i := range o.Outputs {
		bad += o.Outputs[i].Bad
	}
	switch o.Status {
	case recompute.Wrong:
		return bad > 0 && out.Bad == 0
	case recompute.Undecided:
		return bad == 0 && out.Checked > 0 && o.Reason != recompute.InputChanged
	}
	return false
}

// outputJudgement returns the judgement of an output. If the operator is WRONG, an output without wrong elements is OK.
func (o *Operator) outputJudgement(out *Output) *record.RecomputedOutput {
	status := o.Status
	if o.isRight(out) {
		if status = recompute.OK; out.Beyond > 0 {
			status = recompute.Low
		}
	}
	s := &record.RecomputedOutput{Status: status.Key(), Bad: out.Bad, Elements: out.Elements, Width: jsonpos.Float(out.Width), Beyond: out.Beyond, Worst: float64(out.Worst), Adds: o.Adds, Attributes: o.Attributes.Arguments()}
	switch status {
	case recompute.Wrong:
		s.Reason = string(o.Reason)
		s.Why = []finding.Finding{{Code: o.Reason, Confidence: o.Confidence, Evidence: o.Evidence, Facts: o.Facts}}
	case recompute.Undecided:
		s.Reason, s.Bad = string(o.Reason), 0
	case recompute.Misfit, recompute.Crashed:
		s.Bad = 0
	}
	return s
}
