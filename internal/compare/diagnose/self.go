package diagnose

import (
	"slices"

	"dumptool/internal/compare/record"
	"dumptool/internal/compare/verdict"
	"dumptool/internal/lang"
)

// A reference says that an output differs; computed again from its own inputs an operator
// says whose fault it is.

// standBySelf makes an origin of a row that is wrong by itself, if it differs from the
// reference at all, and no suspect of one that computes what its inputs say. What is right by
// itself and yet differs was made of other inputs, weights or attributes: damaged where an
// origin is before it, else the difference comes in here. A suspect stays one behind operators
// without a dump: what they add is in its inputs.
func (x *judged) standBySelf(within bool) {
	self, v := x.source.Self, &x.verdict
	switch {
	case x.isInput || within:
	case self.IsWrong() && (v.Level != verdict.Clean || x.failed() || !x.agrees()):
		x.origin, v.Level = true, verdict.Origin
	case !self.IsRight():
	case x.origin && len(x.fedBy) > 0:
		x.origin, v.Level = false, verdict.Clean
	case x.origin:
		x.cleared = true
	case v.Level == verdict.Suspect && v.Kind < verdict.Drawn && len(x.operator.through) == 0:
		v.Level = verdict.Clean
	}
}

// agrees reports whether the row is the reference but for storing it in the type of the NPU.
func (x *judged) agrees() bool {
	n := x.noise
	return n != nil && n.NonFinite == 0 && n.RMS <= 2*n.Rounding
}

// unproven counts the origins that only the flow of the data makes one.
func (j *Judgement) unproven() (n int) {
	for _, x := range j.origins {
		if !x.source.Self.IsWrong() {
			n++
		}
	}
	return n
}

// bySelf puts before what is seen of an origin beside the reference what it is by itself.
func (x *judged) bySelf(seen []record.Finding) []record.Finding {
	self := x.source.Self
	switch {
	case self.IsWrong():
		own := slices.Clone(self.Why)
		own[0].Confidence = record.High
		own[0].Evidence = joined(lang.Sayf("computed again from its own inputs: %s", "用其自身输入重新计算：%s", own[0].Evidence), x.excess())
		return record.Merge(own, seen)
	case x.cleared && x.readsOthers():
		return record.Merge(single(record.InputDiffers, self.Confidence(), lang.Sayf("it computes what its own inputs say, and %s of the reference differ beyond rounding",
			"其结果与自身输入相符，而 %s 与标杆的差异超出舍入", someOf(x.inputs()))), seen)
	case x.cleared:
		return record.Merge(single(record.ReferenceDiffers, self.Confidence(), lang.Sayf("it computes what its own inputs say: compare the weights and attributes of both sides",
			"其结果与自身输入相符：请比对两侧的权重和属性")), seen)
	}
	return seen
}

// readsOthers reports whether an input that the reference has too differs by more than its
// rounding.
func (x *judged) readsOthers() bool {
	return slices.ContainsFunc(x.inputs(), func(in *row) bool {
		n := in.noise
		return n != nil && (n.NonFinite > 0 || n.RMS > 2*n.Rounding)
	})
}

// agreed says that a row is wrong by itself though the reference agrees.
func (x *judged) agreed() []record.Finding {
	own := x.source.Self.Why
	return record.Merge(single(record.SelfWrong, own[0].Confidence, lang.Sayf("computed again from its own inputs: %s; the reference agrees with the NPU",
		"用其自身输入重新计算：%s；标杆与 NPU 一致", own[0].Evidence)), own)
}
