package diagnose

import (
	"math"
	"slices"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/record"
	"dumptool/internal/compare/verdict"
	"dumptool/internal/optype"
)

// Rule is a row of the ordered list of rules that judge a tensor by its place in the network, after the rules of the
// tensor itself (verdict.Rules).
type Rule struct {
	// Name is unique. Says describes when the rule holds and what follows, in the words of docs/verdict.md.
	Name, Description string
	// Group: only the first rule of a group that holds acts. A rule without a group acts whenever it holds.
	Group string
	// act applies the rule if it holds, and reports whether it holds.
	act func(*ruleState) bool
}

// ruleState is a row while the rules are applied.
type ruleState struct {
	*evidenceRow
	j              *Judgement
	op             *verdict.Operator
	hasInnerOrigin bool // an origin inside the module explains the row
	isCarriedInput bool // an input without a compared producer, behind the first operator of the run
}

// apply applies rules in their order.
func (s *ruleState) apply(rules []Rule) {
	done := ""
	for i := range rules {
		if r := &rules[i]; (r.Group == "" || r.Group != done) && r.act(s) {
			done = r.Group
			s.rules = append(s.rules, r.Name)
		}
	}
}

// setVerdict sets the level and the kind of the verdict, and returns true.
func (s *ruleState) setVerdict(level verdict.Level, kind verdict.Kind) bool {
	s.verdict.Level, s.verdict.Kind = level, kind
	return true
}

// Rules lists the rules in their order.
func Rules() []Rule { return slices.Concat(hypothesisRules(), excuseRules(), placeRules()) }

// The rules that are switched on.
var (
	hypotheses = enabledRules(hypothesisRules())
	excuses    = enabledRules(excuseRules())
	places     = enabledRules(placeRules())
)

func enabledRules(rules []Rule) []Rule {
	return slices.DeleteFunc(rules, func(r Rule) bool { return verdict.IsSwitchedOff(r.Name) })
}

// hypothesisRules are the rules that judge a tensor as the output of an operator other than its type says.
func hypothesisRules() []Rule {
	return []Rule{
		{"other-function", "the error is not explained by the type's bound, but it is if the operator reads only a part of a larger input, or is a fused function whose slope, as the reference shows it, is steeper than its name implies: explained", "", (*ruleState).hasOtherFunction},
		{"inputs-by-values", "no graph names the inputs or the type: both are inferred from the values of the reference, and the tensor is judged again with them", "", (*ruleState).judgeByValues},
	}
}

// excuseRules are the rules about differences that may be no faults, and about faults that the error alone
// does not show.
func excuseRules() []Rule {
	return []Rule{
		{"numbers-lost", "the reference has NaN or infinity where the NPU has a number, and no input has such elements: origin NONFINITE", "lost", func(s *ruleState) bool {
			return s.losesNumbers() && !slices.ContainsFunc(s.inputs(), s.j.mayLose) && s.setVerdict(verdict.Origin, verdict.NonFinite)
		}},
		{"numbers-lost-before", "the reference has NaN or infinity where the NPU has a number, as in an input: INPUT_NAN", "lost", func(s *ruleState) bool {
			return s.losesNumbers() && s.setVerdict(s.verdict.Level, verdict.InputNaN)
		}},
		{"second-reference", "with `--noise`: the error exceeds 6 x the distance of the two references, and its ratio to this distance is 3 x larger than for any input (9 x behind an origin): origin NOISE", "second", (*ruleState).judgeBySecondReference},
		{"within-second", "with `--noise`: suspected, but the error is below 3 x the distance of the two references: explained", "second", func(s *ruleState) bool {
			return s.hasSecondReference() && s.verdict.Level == verdict.Suspect && s.secondRatio < limits.NoiseGrowth && s.setVerdict(verdict.Clean, verdict.None)
		}},
		{"unread", "some rows have entirely different values, but the outputs of all operators that read the tensor agree: UNREAD, suspected", "excuse", func(s *ruleState) bool {
			return !s.isInput && s.j.unread != nil && s.j.unread[s.index] && s.setVerdict(verdict.Suspect, verdict.Unread)
		}},
		{"unwritten", "rows of memory that no operator wrote differ, and the error of the written rows is explained: UNWRITTEN, suspected", "excuse", func(s *ruleState) bool {
			return s.unwritten.rows > 0 && s.noise.RMS > 0 && s.verdict.Level != verdict.Origin && s.setVerdict(verdict.Suspect, verdict.Unwritten)
		}},
		{"unwritten-read", "the error of the written rows is explained only if the operator reads rows of an input that were never written: origin UNWRITTEN", "excuse", func(s *ruleState) bool {
			return s.verdict.Kind == verdict.Unwritten
		}},
		{"masked", "the error is in positions that a mask excludes, and the error of all other positions is within the limit: UNREAD, suspected", "excuse", func(s *ruleState) bool {
			m := s.source.Masked
			return m != nil && m.RMS <= max(s.verdict.Limit*s.verdict.Sum, s.noise.Rounding) && s.setVerdict(verdict.Suspect, verdict.Unread)
		}},
		{"rounded-on-one-side", "a float32 input without a producer has values of float16 or bfloat16 on one side only: COARSE, suspected", "excuse", func(s *ruleState) bool {
			return s.isStart() && s.isRoundedOnOneSide(s.j) && s.setVerdict(verdict.Suspect, verdict.Coarse)
		}},
		{"batch-mixed", "rows were matched by --match-rows, and the output is beyond its limit and depends on all rows: it has no row axis, or the operator normalises over rows: BATCH_MIXED, suspected", "excuse", func(s *ruleState) bool {
			return s.verdict.Level != verdict.Clean && s.isMixed() && s.setVerdict(verdict.Suspect, verdict.Mixed)
		}},
		{"random", "the operator draws random numbers; its type is otherwise unknown, or more than 10 % of the elements are 0 on one side only, as after dropout: RANDOM, suspected", "excuse", func(s *ruleState) bool {
			return s.computes() && s.typ.Random && (s.typ.Class == optype.Unknown || s.verdict.Level == verdict.Origin && 10*s.noise.OneSided > s.noise.Count) && s.setVerdict(verdict.Suspect, verdict.Drawn)
		}},
		{"sized-by-values", "the length of the output depends on values (nonzero, a boolean index) and differs: INDEX_TIE, suspected", "excuse", func(s *ruleState) bool {
			return s.computes() && s.source.Common != nil && !s.isMatched() && s.isSizedByValues() && s.setVerdict(verdict.Suspect, verdict.Tied)
		}},
		{"indices-behind", "indices differ, and an input is or depends on an origin: INDEX, explained", "excuse", func(s *ruleState) bool {
			return s.choosesIndices() && s.op.Tainted && s.setVerdict(verdict.Clean, verdict.Selected)
		}},
		{"indices-wrong", "indices differ without ties: more than half of them although the values are not close, all by the same number, with wrong selected values, or from equal inputs: origin INDEX", "excuse", func(s *ruleState) bool {
			return s.choosesIndices() && s.hasWrongIndices() && s.setVerdict(verdict.Origin, verdict.Selected)
		}},
		{"indices-tie", "indices differ, and indices-behind and indices-wrong do not hold: the values are equal within rounding: INDEX_TIE, suspected", "excuse", func(s *ruleState) bool {
			return s.choosesIndices() && s.setVerdict(verdict.Suspect, verdict.Tied)
		}},
		{"fewer-bits", "within the limits, but with fewer mantissa bits than one or two float32 tensors of the same operator type: COARSE, suspected", "", (*ruleState).warnOfPrecision},
	}
}

// placeRules are the rules about the place of an error: whether it begins at the row.
func placeRules() []Rule {
	return []Rule{
		{"pattern", "it fails with a pattern that only a fault causes (SHIFT, SWAPPED, LAYOUT, ZERO_TAIL, ...) and that no input has; SCORE > 1.5: origin", "", func(s *ruleState) bool {
			holds := !s.isOrigin && !s.hasInnerOrigin && s.row.status == record.Fail && s.verdict.Kind < verdict.Drawn && s.hasSpecificPattern(s.op)
			s.isOrigin = s.isOrigin || holds
			return holds
		}},
		{"usual-error", "the absolute or relative error of an input without a producer is at most 4 x the median of tensors with its name (4 or more tensors): no origin; see carried for gradients of weights", "", func(s *ruleState) bool {
			return s.isOrigin && s.isInput && s.producer == nil && !s.isExternal && !s.isFarGradient() && s.hasUsualError() && s.acceptRow()
		}},
		{"cancelling-sum", "an input without a producer and with one axis, such as the gradient of a bias, is off by at most 3 x the error of the sum of a gradient of the backward pass over all its other axes: no origin", "place", func(s *ruleState) bool {
			return s.isOrigin && s.isInput && s.producer == nil && !s.isExternal && s.isCancellingSum() && s.acceptRow()
		}},
		{"unpaired-before", "an input without a producer is far off (SCORE > 8, rms error > 10 %), and between it and the last compared output are only operators that one side alone ran: origin, named by these operators", "place", (*ruleState).isBehindUnpaired},
		{"renumbered", "integers from outside the run, or an input such as a cache without a producer, differ entirely, but all operators that read them agree: INDEX_DIFFERS, suspected", "place", func(s *ruleState) bool {
			return s.isInput && s.j.unread != nil && s.j.unread[s.index] && s.setVerdict(verdict.Suspect, verdict.Renumbered) && s.acceptRow()
		}},
		{"same-tensor", "an input without a producer equals, on both sides, an origin before it: read again, as by a module and by the call inside, no origin of its own", "place", func(s *ruleState) bool {
			at := slices.IndexFunc(s.j.origins, func(o *evidenceRow) bool { return o.isStart() && s.isRepeatOf(o.row) })
			if at < 0 || !s.isStart() {
				return false
			}
			s.addOrigins(s.j.origins[at])
			return s.acceptRow()
		}},
		{"kept", "both sides hold an input without a producer that equals a tensor of the step before, such as the state of an optimiser: judged there, no origin", "place", func(s *ruleState) bool {
			past := &s.j.Past
			return past.Known && past.Carried[s.index] && s.isInput && s.producer == nil && s.setVerdict(verdict.Clean, verdict.None) && s.acceptRow()
		}},
		{"step-before", "the reference reads an output of the step before, such as a cache or a state: origin STARTED_APART if the error exceeds 3 %, 1.5 x the error of that output and 4 x its rounding, because the NPU read another tensor; else no origin", "place", (*ruleState).isOfStepBefore},
		{"trained", "a parameter of a later step is off by at most 1.5 x (single elements 3 x) the change that training made in the reference since the first compared step, plus the rounding of its type, or an earlier step has an origin: no origin; the NPU alone did not change it since the step before, or it is further off: origin STARTED_APART", "place", (*ruleState).isTrained},
		{"outside", "it comes from outside the run (parameters of the first step, integers, inputs of the first operator): origin STARTED_APART, unless both sides are equal after one rounding to the coarser type", "place", func(s *ruleState) bool {
			holds := s.isExternal && !(s.noise.Type.Integer && len(s.j.origins) > 0)
			if holds {
				s.compareStart()
			}
			return holds
		}},
		{"behind-origins", "its inputs are unknown or guessed, or it is an input and chosen indices differ before it, and an earlier tensor is an origin or depends on an origin in another rank: no origin", "place", func(s *ruleState) bool {
			before := slices.Concat(s.j.origins, s.j.gaps)
			holds := (len(before) > 0 || s.j.isReached) && ((s.hasGuessedInputs || s.j.IsOrdered && len(s.inputs()) == 0 || s.isInput && s.j.hasChosenIndices) && s.isOrigin && s.verdict.Kind != verdict.ZeroRows || s.isCarriedInput)
			if holds {
				s.addOrigins(before...)
			}
			return holds && s.acceptRow()
		}},
		{"behind-random", "an input without a producer is another tensor (cosine < 0.9), and random numbers differed before it: RANDOM, suspected", "place", func(s *ruleState) bool {
			return s.isCarriedInput && s.j.hasRandom && s.isOrigin && s.isOtherTensor() && s.setVerdict(verdict.Suspect, verdict.Drawn) && s.acceptRow()
		}},
		{"carried", "an input without a producer, not of the first operator of the network: origin only if the order is known and it has NaN or infinities of one side, or is another tensor (cosine < 0.9), or its rms error exceeds 3 % and it is read by the first operator of a dump that leaves operators out, or if it is the gradient of a weight (2 axes or more) with a relative error above 25 % and 100 x the median of the outputs, or above 1 % and 1000 x this median", "place", func(s *ruleState) bool {
			s.isOrigin = s.isOrigin && (!s.isCarriedInput || s.j.IsOrdered && (s.verdict.Kind == verdict.NonFinite || s.isOtherTensor() || s.hasLargeStartError() || s.isFarGradient()))
			return s.isCarriedInput
		}},
		{"no-producers", "neither its inputs nor the order of the operators is known: origin only if the error has a form that rounding does not have, or exceeds 25 % of the reference (rms)", "place", func(s *ruleState) bool {
			o := s.operator
			holds := !o.isKnown && len(o.inputs) == 0 && (!s.j.IsOrdered || len(s.j.operators) < 2)
			s.isOrigin = s.isOrigin && (!holds || isOriginWithoutInputs(s.op, &s.verdict))
			return holds
		}},
		{"undumped-inputs", "a module that was dumped without inputs: origin only if it has NaN, overflows or is constant, or if the error exceeds 25 % of the reference (rms)", "place", func(s *ruleState) bool {
			holds := s.operator.lacksInputs() && !s.isInput
			s.isOrigin = s.isOrigin && (!holds || slices.Contains([]verdict.Kind{verdict.NonFinite, verdict.Overflow, verdict.Constant}, s.verdict.Kind) || hasLargeError(s.op))
			return holds
		}},
		{"known-by-statistics", "an input, or the producer of an input, has no elements but statistics, and they differ: the statistics of the row judge it, unless it has NaN or overflows", "", (*ruleState).isUnbounded},
		{"inside-module", "the producer of an input runs inside a module whose output differs, and was not dumped: the input is no origin, the module is (see gap)", "", (*ruleState).isInsideModule},
		{"not-independent", "its own error is unexplained, but a rule above finds that it is no origin: explained if an origin is before it, else suspected", "", (*ruleState).isNotIndependent},
		{"gap", "the output of a module in which the error of an input begins (see inside-module): origin, CAME_IN", "", (*ruleState).isGap},
		{"computed-wrong", "computed again from its dumped inputs, the output is wrong on the NPU, and it is unexplained, fails or differs from the reference; or no attributes explain the output, and its error exceeds the limits and 1.5 x the expected error: origin", "again", func(s *ruleState) bool {
			self := s.source.Self
			isMisfit := self.IsMisfit() && s.hasFailed() && s.verdict.Score > 1.5 && len(s.inputRows) == 0
			holds := s.mayStandAlone() && (isMisfit || self.IsWrong() && (s.verdict.Level != verdict.Clean || s.hasFailed() || !s.agreesWithReference()))
			s.isOrigin = s.isOrigin || holds
			return holds && s.setVerdict(verdict.Origin, s.verdict.Kind)
		}},
		{"right-behind", "computed again, the output is right, and its inputs depend on an origin or have another length: explained", "again", func(s *ruleState) bool {
			return s.isRight() && s.isOrigin && (len(s.inputRows) > 0 || slices.ContainsFunc(s.inputs(), (*row).hasOtherLength)) && s.setVerdict(verdict.Clean, s.verdict.Kind) && s.acceptRow()
		}},
		{"right-not-finite", "computed again, the output is right, and its NaN and infinities come from known inputs that differ only by rounding, unless the reference has other attributes: POLE, suspected", "again", func(s *ruleState) bool {
			return s.isRight() && s.isOrigin && s.verdict.Kind == verdict.NonFinite && s.source.Argument == nil && !s.source.Self.OtherArguments && !s.hasGuessedInputs && !s.operator.hasUnmadeInput && len(s.findBadInputs()) == 0 && s.hasOtherInput() && s.setVerdict(verdict.Suspect, verdict.AtPole) && s.acceptRow()
		}},
		{"right-at-pole", "computed again, the output is right; few elements of a division or of an operator of unknown type are off: AMPLIFIED, suspected", "again", func(s *ruleState) bool {
			return s.isRight() && s.isOrigin && s.verdict.Kind == verdict.Sparse && (s.verdict.Class == optype.Unknown || s.verdict.Class == optype.Divide) && len(s.findBadInputs()) == 0 && s.setVerdict(verdict.Suspect, verdict.Amplified) && s.acceptRow()
		}},
		{"right-and-usual", "computed again, the output is right, and its error is at most 4 x the median error of tensors with its name: AMPLIFIED, suspected", "again", func(s *ruleState) bool {
			return s.isRight() && s.isOrigin && s.hasUsualError() && s.setVerdict(verdict.Suspect, verdict.Amplified) && s.acceptRow()
		}},
		{"right-on-both-sides", "computed again, the outputs of the NPU and of the reference are right for their inputs, with the same attributes, and rounding explains their inputs: AMPLIFIED, suspected", "again", func(s *ruleState) bool {
			return s.isRight() && s.isOrigin && s.source.Self.BothRight && s.source.Argument == nil && !slices.ContainsFunc(s.inputs(), s.j.isUnexplained) && s.hasOtherInput() && s.setVerdict(verdict.Suspect, verdict.Amplified) && s.acceptRow()
		}},
		{"right-with-trained", "computed again, the output is right, and it reads a parameter that differs since an earlier step, see kept and trained: explained", "again", func(s *ruleState) bool {
			return s.isRight() && s.isOrigin && slices.ContainsFunc(s.inputs(), s.j.isTrainedParameter) && s.setVerdict(verdict.Clean, s.verdict.Kind) && s.acceptRow()
		}},
		{"right-with-other-inputs", "computed again, the output is right for the NPU's inputs, and no rule above explains its difference from the reference: origin INPUT_DIFFERS, ARGUMENTS_DIFFER or REFERENCE_DIFFERS", "again", func(s *ruleState) bool {
			s.isCleared = s.isRight() && s.isOrigin
			return s.isCleared
		}},
		{"suspect-right", "suspected, but computed again the output is right: explained", "again", func(s *ruleState) bool {
			return s.isRight() && s.verdict.Level == verdict.Suspect && s.verdict.Kind < verdict.Drawn && len(s.operator.bypassed) == 0 && s.setVerdict(verdict.Clean, s.verdict.Kind)
		}},
		{"other-expert", "the operator read rows, of another expert of a mixture of experts, that the reference's operator did not read: INDEX, suspected, no origin", "", func(s *ruleState) bool {
			return s.isOrigin && !s.isInput && s.operator.lacksReference && !s.source.Part.IsLost() && s.setVerdict(verdict.Suspect, verdict.Selected) && s.acceptRow()
		}},
		{"another-tensor", "an origin without a producer has nothing in common with the reference (cosine < 0.9): STARTED_APART", "", func(s *ruleState) bool {
			return s.isOrigin && s.isStart() && s.isOtherTensor() && s.setVerdict(s.verdict.Level, verdict.Apart)
		}},
	}
}

// isRepeatOf reports whether the row has the tensors of another row on both sides.
func (s *ruleState) isRepeatOf(other *row) bool {
	a, known := s.source.Contents()
	b, _ := other.source.Contents()
	return known && a == b
}

// isOfStepBefore judges an input that the reference took from the step before.
func (s *ruleState) isOfStepBefore() bool {
	row := s.j.Past.OfStepBefore(s.index)
	if row == nil || row.Noise == nil || row.Noise.NonFinite > 0 || s.producer != nil || s.isParameter() || s.noise.Type.Integer {
		return false
	}
	before := row.Noise
	near := float64(1.5*before.RMS) + float64(4*max(s.noise.Rounding, before.Rounding))
	if s.isOrigin = s.noise.RMS > max(near, record.Changed*s.noise.RefRMS); s.isOrigin {
		s.isExternal = true
		s.setVerdict(verdict.Origin, verdict.Apart)
	}
	return true
}

// isTrained judges a parameter of a later step by its change since the first compared step.
func (s *ruleState) isTrained() bool {
	past := &s.j.Past
	near := float64(record.Trained * past.Change(s.index))
	if near == 0 || !s.isStart() || !s.isParameter() {
		return false
	}
	// A parameter that is stored in few bits is rounded in each step. The largest elements have the largest rounding.
	lost := s.noise.Rounding
	outdated := past.Unchanged[s.index] && s.noise.RMS > 8*lost
	s.isExternal = !past.Damaged && (outdated || s.noise.RMS > near+float64(4*lost) || s.noise.Max > float64(2*near)+float64(16*lost))
	if s.isOrigin = s.isExternal; s.isOrigin {
		return s.setVerdict(verdict.Origin, verdict.Apart)
	}
	return s.setVerdict(verdict.Clean, verdict.None)
}

// isTrainedParameter reports whether a row is a parameter that differs since an earlier step and is no origin.
func (j *Judgement) isTrainedParameter(r *row) bool {
	x := j.judgementOf(r)
	return x != nil && !x.isOrigin && r.isParameter() && r.isStart() && r.noise != nil && r.noise.RMS > 0 && j.Past.Change(r.index) > 0
}

// isCancellingSum reports whether a vector differs by no more than a sum of a gradient over all other axes. The gradient
// of a bias in front of a normalisation is such a sum, and 0 in theory.
func (s *ruleState) isCancellingSum() bool {
	shape := s.noise.Shape
	if len(shape) != 1 || s.noise.NonFinite > 0 {
		return false
	}
	return slices.ContainsFunc(s.j.rows, func(r row) bool {
		return r.noise != nil && r.isInUpdate() && len(r.noise.Shape) > 1 && slices.Contains(r.noise.Shape, shape[0]) &&
			s.noise.RMS <= 3*r.noise.RMS*math.Sqrt(float64(r.noise.Elements)/float64(shape[0]))
	})
}

// hasLargeStartError reports whether an input of the first dumped operator has a larger error than rounding brings along.
func (s *ruleState) hasLargeStartError() bool {
	return s.place < s.j.firstOutput && s.noise.RMS > max(limits.FirstInput*s.noise.RefRMS, 32*s.noise.Rounding)
}

// acceptRow records that the row is no origin, and returns true.
func (s *ruleState) acceptRow() bool {
	s.isOrigin = false
	return true
}

func (s *ruleState) hasOtherFunction() bool {
	if s.verdict.Level == verdict.Clean {
		return false
	}
	other, differs := s.op.Reclassify()
	if !differs {
		return false
	}
	v := other.Judge()
	if v.Level != verdict.Clean {
		return false
	}
	s.verdict, *s.op = v, other
	return true
}

// judgeByValues judges a row of an unknown operator, or with guessed inputs, once more: with the operator and the inputs
// that the values of the references show. If the level differs, the second verdict counts.
func (s *ruleState) judgeByValues() bool {
	x, o := s.evidenceRow, s.operator
	dumped := len(o.inputs) > 0 && s.op.Type == (optype.Type{}) // known inputs, unknown type
	if x.isInput || o.isLooped || !x.hasGuessedInputs && !(o.isKnown && len(o.inputs) == 0) && !dumped || s.op.IsAlwaysClean() {
		return false
	}
	inputs, op, found := x.inputs(), *s.op, s.op.Type.Class == optype.Unknown
	op.Guessed, op.Inputs, op.Tainted = false, nil, false
	if x.hasGuessedInputs {
		inputs, op.Type, found = s.j.inferInputs(x.row)
		// The second root of a first step of Adam equals the size of the gradient: a coincidence of values.
		found = found && (s.typ.Class == optype.Unknown || s.typ.Class == op.Type.Class)
	}
	for _, in := range inputs {
		if in.noise == nil {
			return false
		}
		op.Inputs = append(op.Inputs, in.noise)
		before := s.j.judgementOf(in) // nil in a cycle
		op.Tainted = op.Tainted || before != nil && before.isBad()
	}
	if found && !x.hasGuessedInputs {
		op.Type, found = verdict.Relate(x.noise, op.Inputs...)
	}
	if !found {
		return false
	}
	v := op.Judge()
	if v.Level == x.verdict.Level {
		return false
	}
	if x.verdict, *s.op = v, op; x.hasGuessedInputs {
		x.inferredInputs = inputs
	}
	return true
}

// losesNumbers reports whether some pairs have NaN or infinity only in the reference, and no rule has
// found an origin.
func (s *ruleState) losesNumbers() bool {
	return s.hasLostNumbers && !s.j.IgnoresClass && s.verdict.Level != verdict.Origin
}

// hasSecondReference reports whether a second reference shows how large the noise of the row is. Equal integers show nothing
// about ties.
func (s *ruleState) hasSecondReference() bool {
	second := s.source.Second
	nonFinite := func(in *row) bool { return in.noise != nil && in.noise.NonFinite > 0 }
	return second != nil && !slices.ContainsFunc(s.inputs(), nonFinite) && !(s.op.Out.Type.Integer && second.RMS == 0)
}

// judgeBySecondReference judges the error by the distance of two healthy references. It needs neither the type of
// the operator nor a bound.
func (s *ruleState) judgeBySecondReference() bool {
	second, out := s.source.Second, s.op.Out
	if second == nil {
		return false
	}
	floor := out.Rounding
	if out.Type.Integer {
		floor = limits.IntegerNoise
	}
	rms, most := float64(second.RMS), float64(second.Max)
	distance := math.Sqrt(float64(rms*rms) + float64(floor*floor))
	s.secondRatio = max(ratioOrZero(out.RMS, distance), ratioOrZero(out.Max, max(most, 8*floor, 4*rms)))
	limit := 1.0
	for _, in := range s.inputs() {
		if before := s.j.judgementOf(in); before != nil {
			limit = max(limit, before.secondRatio)
		}
	}
	limit *= limits.NoiseGrowth
	if s.op.Tainted {
		limit *= limits.NoiseGrowth
	}
	return s.hasSecondReference() && s.secondRatio > limits.Noise && s.secondRatio > limit && (s.verdict.Level != verdict.Origin || s.verdict.Kind == verdict.Value) &&
		s.setVerdict(verdict.Origin, verdict.BeyondNoise)
}

// ratioOrZero returns a/b, 0 if a is 0, infinite if only b is 0.
func ratioOrZero(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return a / b
}

// computes reports whether the row is an output that differs.
func (s *ruleState) computes() bool { return !s.isInput && s.noise.RMS != 0 }

// isMixed reports whether an output follows from all rows of a batch although common rows alone were compared: it, or
// another output of its operator, has no axis of rows, or the operator normalises over rows.
func (s *ruleState) isMixed() bool {
	if !s.network.hasMatchedRows || !s.computes() {
		return false
	}
	mixes := s.typ.Class == optype.BatchNormalise || slices.ContainsFunc(s.operator.outputs, func(r *row) bool { return !r.isMatched() && r.noise != nil && r.noise.RMS > 0 })
	reads := s.inputs()
	return mixes && (slices.ContainsFunc(reads, (*row).isMatched) || len(reads) == 0)
}

// choosesIndices reports whether the row holds indices that differ.
func (s *ruleState) choosesIndices() bool {
	return s.computes() && (s.isIndices || s.verdict.Class == optype.Index)
}

// hasWrongIndices reports whether differing indices are wrong. They are right if the known numbers that they select
// are right. If most indices differ, or all differ by the same number, ties do not explain it.
func (s *ruleState) hasWrongIndices() bool {
	n, op := s.noise, s.op
	hasValues, valuesRight, close := false, true, op.Behind
	inputsDiffer := len(op.Inputs) == 0 && !op.Known || slices.ContainsFunc(op.Inputs, func(in *noise.Noise) bool { return in.RMS > 0 })
	for _, other := range s.operator.outputs {
		if before := s.j.judgementOf(other); before != nil && !other.isIndices && other.noise != nil && !other.noise.Type.Integer {
			hasValues, valuesRight = true, valuesRight && before.verdict.Level == verdict.Clean
			close = close || other.isDense()
		}
	}
	return n.Shift != 0 && n.Differing == n.Elements || n.Elements >= minCopied && 2*n.Differing > n.Elements && !close || hasValues && !valuesRight || !hasValues && !inputsDiffer
}

func (s *ruleState) isBehindUnpaired() bool {
	if s.isOrigin && s.isStart() && !s.isExternal && len(s.j.origins) == 0 && s.isSure() {
		s.unpaired = s.j.findUnpairedBefore(s.row)
	}
	return len(s.unpaired) > 0
}

// isUnbounded reports whether the expected error of an origin does not count, because only the statistics of an input
// are known.
func (s *ruleState) isUnbounded() bool {
	inputs, kind := s.inputs(), s.verdict.Kind
	if len(inputs) == 0 && s.isInput {
		inputs = s.j.order // any of them
	}
	s.hasNoBound = s.isOrigin && kind != verdict.NonFinite && kind != verdict.Overflow && kind != verdict.Apart &&
		slices.ContainsFunc(inputs, func(in *row) bool { return in.source.DiffersByStatistics() })
	return s.hasNoBound && s.acceptRow()
}

func (s *ruleState) isInsideModule() bool {
	at := s.j.containerOf(s.row)
	if at == nil || !s.isOrigin || !s.isStart() || s.isExternal {
		return false
	}
	s.addOrigins(at)
	at.gap, s.j.gaps = s.row, append(s.j.gaps, at)
	return s.acceptRow()
}

func (s *ruleState) isNotIndependent() bool {
	if s.verdict.Level != verdict.Origin || s.isOrigin {
		return false
	}
	s.verdict.Level = verdict.Clean
	if len(s.inputRows) == 0 && !(s.source.Second != nil && s.secondRatio < limits.NoiseGrowth) {
		s.verdict.Level = verdict.Suspect
	}
	return true
}

func (s *ruleState) isGap() bool {
	self := &s.j.evidence[s.index]
	if self.gap == nil {
		return false
	}
	s.gap, s.isOrigin, s.verdict.Level = self.gap, true, verdict.Origin
	s.inputRows = slices.DeleteFunc(slices.Clone(s.inputRows), func(o *evidenceRow) bool { return o == self })
	return true
}

// mayStandAlone reports whether recomputation alone can judge the row: an output without a bad operator inside it.
func (s *ruleState) mayStandAlone() bool { return !s.isInput && !s.hasInnerOrigin }

// isRight reports whether recomputation shows that the row is right.
func (s *ruleState) isRight() bool {
	return s.mayStandAlone() && s.source.Self.IsRight() && !s.hasWrongSibling()
}
