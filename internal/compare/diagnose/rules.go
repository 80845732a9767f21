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
	Name, Says string
	// Group: only the first rule of a group that holds acts. A rule without a group acts whenever it holds.
	Group string
	// act applies the rule if it holds, and reports whether it holds.
	act func(*step) bool
}

// step is a row while the rules are applied.
type step struct {
	*judged
	j         *Judgement
	op        *verdict.Operator
	badInside bool // an origin inside the module explains the row
	start     bool // an input without a compared producer, behind the first operator
}

// apply applies rules in their order.
func (s *step) apply(rules []Rule) {
	done := ""
	for i := range rules {
		if r := &rules[i]; (r.Group == "" || r.Group != done) && r.act(s) {
			done = r.Group
			s.rules = append(s.rules, r.Name)
		}
	}
}

// to sets the level and the kind of the verdict, and returns true.
func (s *step) to(level verdict.Level, kind verdict.Kind) bool {
	s.verdict.Level, s.verdict.Kind = level, kind
	return true
}

// Rules lists the rules in their order.
func Rules() []Rule { return slices.Concat(allHypotheses(), allExcuses(), allPlaces()) }

// The rules that are switched on.
var (
	hypotheses = on(allHypotheses())
	excuses    = on(allExcuses())
	places     = on(allPlaces())
)

func on(rules []Rule) []Rule {
	return slices.DeleteFunc(rules, func(r Rule) bool { return verdict.IsOff(r.Name) })
}

// allHypotheses are the rules that judge a tensor as the output of an operator other than its type says.
func allHypotheses() []Rule {
	return []Rule{
		{"other-function", "the operator reads a part of a larger input, or a fused function that is steeper than its name says, and that explains the error", "", (*step).otherFunction},
		{"inputs-by-values", "no graph names the inputs or the type; the reference values reveal them", "", (*step).byValues},
	}
}

// allExcuses are the rules about differences that may be no faults, and about faults that the error alone
// does not show.
func allExcuses() []Rule {
	return []Rule{
		{"numbers-lost", "NaN on the reference side alone, which no input has: origin NONFINITE", "lost", func(s *step) bool {
			return s.losesNumbers() && !slices.ContainsFunc(s.inputs(), s.j.mayLose) && s.to(verdict.Origin, verdict.NonFinite)
		}},
		{"numbers-lost-before", "the same behind an input that has it: INPUT_NAN", "lost", func(s *step) bool {
			return s.losesNumbers() && s.to(s.verdict.Level, verdict.InputNaN)
		}},
		{"second-reference", "the error exceeds the distance of the two references: origin NOISE", "second", (*step).beyondSecond},
		{"within-second", "suspected, but within the distance of the two references: clean", "second", func(s *step) bool {
			return s.hasSecond() && s.verdict.Level == verdict.Suspect && s.beyond < limits.NoiseGrowth && s.to(verdict.Clean, verdict.None)
		}},
		{"unread", "rows of other numbers that no operator reads: UNREAD", "excuse", func(s *step) bool {
			return !s.isInput && s.j.unread != nil && s.j.unread[s.index] && s.to(verdict.Suspect, verdict.Unread)
		}},
		{"unwritten", "unwritten rows differ, and the others are within the bound: UNWRITTEN, suspected", "excuse", func(s *step) bool {
			return s.unwritten.rows > 0 && s.noise.RMS > 0 && s.verdict.Level != verdict.Origin && s.to(verdict.Suspect, verdict.Unwritten)
		}},
		{"unwritten-read", "unwritten rows in an input, and nothing else, explain the error of the others: origin UNWRITTEN", "excuse", func(s *step) bool {
			return s.verdict.Kind == verdict.Unwritten
		}},
		{"masked", "the error stands at positions that a mask excludes, and the others are within the bound: UNREAD", "excuse", func(s *step) bool {
			m := s.source.Masked
			return m != nil && m.RMS <= max(s.verdict.Limit*s.verdict.Sum, s.noise.Rounding) && s.to(verdict.Suspect, verdict.Unread)
		}},
		{"rounded-on-one-side", "an input that one side alone rounded to a coarser type: COARSE, suspected", "excuse", func(s *step) bool {
			return s.isStart() && s.isRoundedOnOneSide(s.j) && s.to(verdict.Suspect, verdict.Coarse)
		}},
		{"batch-mixed", "rows were matched, and the output follows from all rows: it has no axis of them, or the operator normalises over them: BATCH_MIXED", "excuse", func(s *step) bool {
			return s.isMixed() && s.to(verdict.Suspect, verdict.Mixed)
		}},
		{"random", "the operator draws random numbers, and other elements are 0: RANDOM", "excuse", func(s *step) bool {
			return s.computes() && s.typ.Random && (s.typ.Class == optype.Unknown || s.verdict.Level == verdict.Origin && 10*s.noise.OneSided > s.noise.Count) && s.to(verdict.Suspect, verdict.Drawn)
		}},
		{"sized-by-values", "the size of the output depends on values and differs: INDEX_TIE", "excuse", func(s *step) bool {
			return s.computes() && s.source.Common != nil && !s.isMatched() && s.isSizedByValues() && s.to(verdict.Suspect, verdict.Tied)
		}},
		{"indices-behind", "indices that differ behind an origin: INDEX, no origin", "excuse", func(s *step) bool {
			return s.choosesIndices() && s.op.Tainted && s.to(verdict.Clean, verdict.Selected)
		}},
		{"indices-wrong", "most indices differ although the numbers do not tie, all by one number, or the numbers are wrong: origin INDEX", "excuse", func(s *step) bool {
			return s.choosesIndices() && s.hasWrongIndices() && s.to(verdict.Origin, verdict.Selected)
		}},
		{"indices-tie", "other indices that differ: INDEX_TIE", "excuse", func(s *step) bool {
			return s.choosesIndices() && s.to(verdict.Suspect, verdict.Tied)
		}},
		{"fewer-bits", "fewer mantissa bits than the few others of its kind, within the limits: COARSE, suspected", "", (*step).warnOfPrecision},
	}
}

// allPlaces are the rules about the place of an error: whether it begins at the row.
func allPlaces() []Rule {
	return []Rule{
		{"pattern", "it fails with a pattern that only a fault causes and that no input has: origin", "", func(s *step) bool {
			holds := !s.origin && !s.badInside && s.row.status == record.Fail && s.verdict.Kind < verdict.Drawn && s.specific(s.op)
			s.origin = s.origin || holds
			return holds
		}},
		{"usual-error", "what was carried over arrives with the error that tensors of its name usually have: no origin", "", func(s *step) bool {
			return s.origin && s.isInput && s.producer == nil && !s.outside && s.hasUsualError() && s.acquit()
		}},
		{"unpaired-before", "operators of one side stand between the last equal output and an input that is far off: origin, named by them", "place", (*step).isBehindUnpaired},
		{"renumbered", "integers from outside differ, or a tensor that was carried over is another one, and all that reads it agrees: INDEX_DIFFERS, suspected", "place", func(s *step) bool {
			return s.isInput && s.j.unread != nil && s.j.unread[s.index] && s.to(verdict.Suspect, verdict.Renumbered) && s.acquit()
		}},
		{"outside", "it comes from outside: equal after one rounding, or origin STARTED_APART", "place", func(s *step) bool {
			holds := s.outside && !(s.noise.Type.Integer && len(s.j.origins) > 0)
			if holds {
				s.compareStart()
			}
			return holds
		}},
		{"behind-origins", "its inputs are not known and an origin precedes it: no origin", "place", func(s *step) bool {
			before := slices.Concat(s.j.origins, s.j.gaps)
			holds := len(before) > 0 && ((s.guessed || s.j.Ordered && len(s.inputs()) == 0) && s.origin && s.verdict.Kind != verdict.ZeroRows || s.start)
			if holds {
				s.feed(before...)
			}
			return holds && s.acquit()
		}},
		{"behind-random", "nothing made it among the dumps, and random numbers differ: RANDOM", "place", func(s *step) bool {
			return s.start && s.j.drawn && s.origin && s.apart() && s.to(verdict.Suspect, verdict.Drawn) && s.acquit()
		}},
		{"carried", "nothing made it among the dumps: origin only if it is another tensor", "place", func(s *step) bool {
			s.origin = s.origin && (!s.start || s.j.Ordered && s.apart())
			return s.start
		}},
		{"no-producers", "no inputs are known and there is no order: origin only by a form or a large error", "place", func(s *step) bool {
			o := s.operator
			holds := !o.known && len(o.inputs) == 0 && (!s.j.Ordered || len(s.j.operators) < 2)
			s.origin = s.origin && (!holds || unordered(s.op, &s.verdict))
			return holds
		}},
		{"inside-module", "what made it runs inside a module that differs and was not dumped: the module is the origin, CAME_IN", "", (*step).isInsideModule},
		{"not-independent", "the tensor is beyond its bound and no origin: clean behind an origin, else suspected", "", (*step).isNotIndependent},
		{"gap", "an input inside the module starts apart: origin, CAME_IN", "", (*step).isGap},
		{"computed-wrong", "computed again from its inputs it is wrong, and differs from the reference: origin", "again", func(s *step) bool {
			holds := s.mayStandAlone() && s.source.Self.IsWrong() && (s.verdict.Level != verdict.Clean || s.failed() || !s.agrees())
			s.origin = s.origin || holds
			return holds && s.to(verdict.Origin, s.verdict.Kind)
		}},
		{"right-behind", "computed again it is right, behind an origin or an input of another length: clean", "again", func(s *step) bool {
			return s.isRight() && s.origin && (len(s.fedBy) > 0 || slices.ContainsFunc(s.inputs(), (*row).hasOtherLength)) && s.to(verdict.Clean, s.verdict.Kind) && s.acquit()
		}},
		{"right-not-finite", "computed again it is right, and its NaN and infinities follow from inputs that differ by rounding: POLE", "again", func(s *step) bool {
			return s.isRight() && s.origin && s.verdict.Kind == verdict.NonFinite && s.source.Argument == nil && len(s.badInputs()) == 0 && s.hasOtherInput() && s.to(verdict.Suspect, verdict.AtPole) && s.acquit()
		}},
		{"right-at-pole", "computed again it is right, and few elements of a quotient or an unknown function are off: AMPLIFIED", "again", func(s *step) bool {
			return s.isRight() && s.origin && s.verdict.Kind == verdict.Sparse && (s.verdict.Class == optype.Unknown || s.verdict.Class == optype.Divide) && len(s.badInputs()) == 0 && s.to(verdict.Suspect, verdict.Amplified) && s.acquit()
		}},
		{"right-and-usual", "computed again it is right, and its error is the usual one: AMPLIFIED", "again", func(s *step) bool {
			return s.isRight() && s.origin && s.hasUsualError() && s.to(verdict.Suspect, verdict.Amplified) && s.acquit()
		}},
		{"right-with-other-inputs", "computed again it is right, and differs from the reference: origin, INPUT_DIFFERS, ARGUMENTS_DIFFER or REFERENCE_DIFFERS", "again", func(s *step) bool {
			s.cleared = s.isRight() && s.origin
			return s.cleared
		}},
		{"suspect-right", "computed again a suspected row is right: clean", "again", func(s *step) bool {
			return s.isRight() && s.verdict.Level == verdict.Suspect && s.verdict.Kind < verdict.Drawn && len(s.operator.through) == 0 && s.to(verdict.Clean, s.verdict.Kind)
		}},
		{"other-expert", "the operator read rows that the reference's operator did not read: INDEX", "", func(s *step) bool {
			return s.origin && !s.isInput && s.operator.lost && !s.source.Part.IsLost() && s.to(verdict.Suspect, verdict.Selected) && s.acquit()
		}},
		{"another-tensor", "an origin that comes from outside and has nothing in common with the reference: STARTED_APART", "", func(s *step) bool {
			return s.origin && s.isStart() && s.apart() && s.to(s.verdict.Level, verdict.Apart)
		}},
	}
}

// acquit makes the row no origin, and returns true.
func (s *step) acquit() bool {
	s.origin = false
	return true
}

func (s *step) otherFunction() bool {
	if s.verdict.Level == verdict.Clean {
		return false
	}
	other, differs := s.op.Relent()
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

// byValues judges a row of an unknown operator, or with guessed inputs, again by what the values
// of the references reveal. If the level differs, the second verdict counts, since it knows
// more.
func (s *step) byValues() bool {
	x, o := s.judged, s.operator
	dumped := len(o.inputs) > 0 && s.op.Type == (optype.Type{}) // the inputs are known, the type is not
	if x.isInput || o.looped || !x.guessed && !(o.known && len(o.inputs) == 0) && !dumped || s.op.Settled() {
		return false
	}
	inputs, known, found := x.inputs(), *s.op, s.op.Type.Class == optype.Unknown
	known.Guessed, known.Inputs, known.Tainted = false, nil, false
	if x.guessed {
		inputs, known.Type, found = s.j.feedOf(x.row)
	}
	for _, in := range inputs {
		if in.noise == nil {
			return false
		}
		known.Inputs = append(known.Inputs, in.noise)
		before := s.j.judgementOf(in) // nil in a cycle
		known.Tainted = known.Tainted || before != nil && before.isBad()
	}
	if found && !x.guessed {
		known.Type, found = verdict.Relate(x.noise, known.Inputs...)
	}
	if !found {
		return false
	}
	v := known.Judge()
	if v.Level == x.verdict.Level {
		return false
	}
	if x.verdict, *s.op = v, known; x.guessed {
		x.related = inputs
	}
	return true
}

// losesNumbers reports whether some pairs have NaN or infinity only in the reference, and no rule has
// found an origin.
func (s *step) losesNumbers() bool {
	return s.lost && !s.j.AnyClass && s.verdict.Level != verdict.Origin
}

// hasSecond reports whether a second reference shows how large the noise of the row is. Equal integers show nothing
// about ties.
func (s *step) hasSecond() bool {
	second := s.source.Second
	nonFinite := func(in *row) bool { return in.noise != nil && in.noise.NonFinite > 0 }
	return second != nil && !slices.ContainsFunc(s.inputs(), nonFinite) && !(s.op.Out.Type.Integer && second.RMS == 0)
}

// beyondSecond judges the error by the distance of two healthy references. It needs neither the type of
// the operator nor a bound.
func (s *step) beyondSecond() bool {
	second, out := s.source.Second, s.op.Out
	if second == nil {
		return false
	}
	floor := out.Rounding
	if out.Type.Integer {
		floor = limits.IntegerNoise
	}
	rms, most := float64(second.RMS), float64(second.Max)
	apart := math.Sqrt(float64(rms*rms) + float64(floor*floor))
	s.beyond = max(over(out.RMS, apart), over(out.Max, max(most, 8*floor, 4*rms)))
	limit := 1.0
	for _, in := range s.inputs() {
		if before := s.j.judgementOf(in); before != nil {
			limit = max(limit, before.beyond)
		}
	}
	limit *= limits.NoiseGrowth
	if s.op.Tainted {
		limit *= limits.NoiseGrowth
	}
	return s.hasSecond() && s.beyond > limits.Noise && s.beyond > limit && (s.verdict.Level != verdict.Origin || s.verdict.Kind == verdict.Value) &&
		s.to(verdict.Origin, verdict.BeyondNoise)
}

// over returns a/b, 0 if a is 0, infinite if only b is 0.
func over(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return a / b
}

// computes reports whether the row is an output that differs.
func (s *step) computes() bool { return !s.isInput && s.noise.RMS != 0 }

// isMixed reports whether an output follows from all rows of a batch although common rows alone were compared: it, or
// another output of its operator, has no axis of rows, or the operator normalises over rows.
func (s *step) isMixed() bool {
	if !s.computes() {
		return false
	}
	mixes := s.typ.Class == optype.BatchNormalise || slices.ContainsFunc(s.operator.outputs, func(r *row) bool { return !r.isMatched() && r.noise != nil && r.noise.RMS > 0 })
	reads := s.inputs()
	return mixes && (slices.ContainsFunc(reads, (*row).isMatched) || len(reads) == 0 && slices.ContainsFunc(s.network.rows, func(r row) bool { return r.isMatched() }))
}

// choosesIndices reports whether the row holds indices that differ.
func (s *step) choosesIndices() bool {
	return s.computes() && (s.indices || s.verdict.Class == optype.Index)
}

// hasWrongIndices reports whether differing indices are wrong. They are right if the known numbers that they select
// are right. If most indices differ, or all differ by the same number, ties do not explain it.
func (s *step) hasWrongIndices() bool {
	n, op := s.noise, s.op
	values, right, close := false, true, op.Behind
	rounds := len(op.Inputs) == 0 && !op.Known || slices.ContainsFunc(op.Inputs, func(in *noise.Noise) bool { return in.RMS > 0 })
	for _, other := range s.operator.outputs {
		if before := s.j.judgementOf(other); before != nil && !other.indices && other.noise != nil && !other.noise.Type.Integer {
			values, right = true, right && before.verdict.Level == verdict.Clean
			close = close || other.isClose()
		}
	}
	return n.Shift != 0 && n.Differing == n.Elements || n.Elements >= leastCopied && 2*n.Differing > n.Elements && !close || values && !right || !values && !rounds
}

func (s *step) isBehindUnpaired() bool {
	if s.origin && s.isStart() && !s.outside && len(s.j.origins) == 0 && s.isSure() {
		s.unpaired = s.j.unpairedBefore(s.row)
	}
	return len(s.unpaired) > 0
}

func (s *step) isInsideModule() bool {
	at := s.j.containerOf(s.row)
	if at == nil || !s.origin || !s.isStart() || s.outside {
		return false
	}
	s.feed(at)
	at.gap, s.j.gaps = s.row, append(s.j.gaps, at)
	return s.acquit()
}

func (s *step) isNotIndependent() bool {
	if s.verdict.Level != verdict.Origin || s.origin {
		return false
	}
	s.verdict.Level = verdict.Clean
	if len(s.fedBy) == 0 && !(s.source.Second != nil && s.beyond < limits.NoiseGrowth) {
		s.verdict.Level = verdict.Suspect
	}
	return true
}

func (s *step) isGap() bool {
	self := &s.j.all[s.index]
	if self.gap == nil {
		return false
	}
	s.gap, s.origin, s.verdict.Level = self.gap, true, verdict.Origin
	s.fedBy = slices.DeleteFunc(slices.Clone(s.fedBy), func(o *judged) bool { return o == self })
	return true
}

// mayStandAlone reports whether recomputation can judge the row: the reference shows that an output differs,
// recomputation shows whether the operator is at fault.
func (s *step) mayStandAlone() bool { return !s.isInput && !s.badInside }

// isRight reports whether recomputation shows that the row is right.
func (s *step) isRight() bool {
	return s.mayStandAlone() && s.source.Self.IsRight() && !s.hasWrongSibling()
}
