package verdict

import (
	"math"
	"slices"
	"strings"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/optype"
)

// Rule is a row of the ordered list of rules that judge a tensor. The first rule that holds decides.
type Rule struct {
	// Name is unique. Says describes when the rule holds, in the words of docs/verdict.md.
	Name, Says string
	// On selects the operators that the rule applies to.
	On    Scope
	Level Level
	Kind  Kind
	holds func(*judgement) bool
}

// Scope selects operators by how sharp their bound is.
type Scope uint8

// Values of Scope.
const (
	AnyBound   Scope = iota
	ExactBound       // the inputs bound the error of every element: Move, Lipschitz
	RoughBound       // the bound is known up to a factor
)

// String names the scope as docs/verdict.md does.
func (s Scope) String() string { return [...]string{"any", "exact", "rough"}[s] }

// judgement is a tensor with the properties that several rules read.
type judgement struct {
	*Operator
	v *Verdict
	// exact: the inputs bound the error of every element. root: no input is known. rough: the relative error of an
	// input is so large that no first-order bound holds.
	exact, root, rough bool
	// bounded: nothing amplifies the error beyond the bound.
	bounded bool
	// limit is the score up to which rounding explains the error.
	limit    float64
	partKind Kind // cache of localKind
	found    bool // partKind is set
}

// Off lists the names of rules that are switched off, separated by commas. The linker sets it in the program that
// measures how much each rule contributes.
var Off string

// IsSwitchedOff reports whether a rule is switched off.
func IsSwitchedOff(name string) bool { return slices.Contains(strings.Split(Off, ","), name) }

// rules are the rules that are switched on.
var rules = slices.DeleteFunc(Rules(), func(r Rule) bool { return IsSwitchedOff(r.Name) })

// Rules lists all rules in their order.
func Rules() []Rule {
	return []Rule{
		{"input-nan", "an input has NaN or infinity", AnyBound, Clean, InputNaN, func(c *judgement) bool {
			return !c.AnyClass && slices.ContainsFunc(c.Inputs, func(in *noise.Noise) bool { return in.NonFinite > 0 })
		}},
		{"damage-makes-nan", "the NPU has NaN or infinity where the reference has a different value, the operator is behind an origin, and it divides, takes an exponential or has an unknown type", AnyBound, Clean, InputBad, func(c *judgement) bool {
			return !c.AnyClass && c.Out.NonFinite > 0 && c.Tainted && (c.v.Class == optype.Divide || c.v.Class == optype.Exponential || c.v.Class == optype.Unknown)
		}},
		{"zero-divisor", "the output of a division or of an operator of unknown type has NaN or infinity that the reference lacks, and the same share of an input's elements is 0 on one side only: divisors too small for their type", AnyBound, Suspect, AtPole, func(c *judgement) bool {
			return !c.AnyClass && c.ZeroDivisor() != nil
		}},
		{"nan", "the NPU has NaN or infinity where the reference has a different value", AnyBound, Origin, NonFinite, func(c *judgement) bool {
			return !c.AnyClass && c.Out.NonFinite > 0
		}},
		{"overflow", "the NPU has infinity or the largest number of its type where the reference is beyond the range of that type, and no input overflows", AnyBound, Origin, Overflow, func(c *judgement) bool {
			return !c.AnyClass && c.Out.Overflows > 0 && !slices.ContainsFunc(c.Inputs, func(in *noise.Noise) bool { return in.Overflows > 0 })
		}},
		{"stored", "only the rounding of the type: the rms error is at most 1.5 x its rounding error, and no element is off by more than 2 epsilon x the largest element of its row and channel", AnyBound, Clean, None, func(c *judgement) bool { return c.hasOnlyRounding() }},
		{"indices", "the tensor holds indices, as argmax returns: the values that they select decide", AnyBound, Clean, Selected, func(c *judgement) bool { return c.v.Class == optype.Index }},
		{"integers", "integers differ, although all inputs are equal on both sides and the operator computes integers without rounding", AnyBound, Origin, Value, func(c *judgement) bool {
			return c.Out.Type.Integer && c.copiesIntegers() && len(c.Inputs) > 0 && !slices.ContainsFunc(c.Inputs, func(in *noise.Noise) bool { return in.RMS > 0 })
		}},
		{"steps", "quantised numbers differ by one step at most, but in more elements than the errors of the inputs explain: SCORE > 4", AnyBound, Origin, Step, func(c *judgement) bool {
			return c.isWithinOneStep() && c.v.Score > limits.Steps
		}},
		{"one-step", "quantised numbers differ by one step at most: values halfway between two steps", AnyBound, Clean, None, (*judgement).isWithinOneStep},
		{"zero-rows", "some rows (of 8 or more elements), but not all, are 0 on the NPU only, where the reference exceeds 8 times its rounding error; no input has such a row, or a row whose error exceeds half of its spread", AnyBound, Origin, ZeroRows, func(c *judgement) bool { return c.hasZeroRows() }},
		{"lone", "at most 1 % of the elements are off by more than 32 ulp, and all others by 1 ulp at most", AnyBound, Origin, Sparse, func(c *judgement) bool { return c.hasLoneErrors(c.v) }},

		{"element", "the SCORE of an element exceeds 1.6, the SCORE of the whole tensor does not", ExactBound, Origin, Sparse, func(c *judgement) bool {
			return c.v.PeakScore > limits.Exact && c.v.Exact && c.v.Score < limits.Exact
		}},
		{"elements", "the SCORE of an element exceeds 1.6, and the whole tensor reaches 1.6 too", ExactBound, Origin, Value, func(c *judgement) bool { return c.v.PeakScore > limits.Exact && c.v.Exact }},
		{"beyond-exact", "the SCORE of the tensor exceeds 1.6; of a function with a bounded slope (Relu, Add) also the SCORE of any row, if no mask excludes elements", ExactBound, Origin, Value, (*judgement).exceedsExactBound},
		{"factor-exact", "NPU = reference x a factor: the factor is more than 20 standard deviations from 1 and explains more than half of the error; SCORE > 0.6", ExactBound, Origin, Scaled, func(c *judgement) bool {
			return c.isScaled(c.v) && c.v.Score > limits.Scaled
		}},
		{"within-exact", "no rule above holds", ExactBound, Clean, None, func(*judgement) bool { return true }},

		{"zero-in-theory", "the exact result is 0 (a gradient whose terms cancel), or an input has an error larger than its values; SCORE > limit", RoughBound, Suspect, Amplified, func(c *judgement) bool {
			return c.lacksFirstOrderBound() && c.v.Score > c.limit
		}},
		{"rounding-left", "as zero-in-theory, but SCORE <= limit", RoughBound, Clean, None, (*judgement).lacksFirstOrderBound},
		{"factor", "a factor as in factor-exact, and no input has a relative error above 0.2; if the type is unknown, the error must be in many elements (0.9 quantile above half of the expected error) or the operator combines elements", RoughBound, Origin, Scaled, func(c *judgement) bool {
			return c.isScaled(c.v) && c.v.Score > limits.Scaled && !c.rough && (c.v.Class != optype.Unknown || c.root || c.isErrorWidespread() || c.mixesElements())
		}},
		{"constant", "all elements on the NPU are equal (16 or more), but neither the reference nor an input is constant; SCORE > 1.5", RoughBound, Origin, Constant, (*judgement).isConstant},
		{"bits", "the NPU's values use at least 2 mantissa bits fewer than their type has, and fewer than every input uses; SCORE > 0.8, 64 elements or more", RoughBound, Origin, Coarse, func(c *judgement) bool { return classes[c.v.Class].judgesBits && c.isCoarse(c.v) }},
		{"beyond", "SCORE > limit, and the type of the operator does not amplify errors", RoughBound, Origin, Value, func(c *judgement) bool { return c.bounded && c.v.Score > c.limit }},
		{"pole", "the type is unknown and SCORE > limit, but few elements are off (0.9 quantile below half of the expected error, no part stands out) or an input has more than 2 % subnormal numbers: perhaps a function like 1/x near 0", RoughBound, Suspect, Amplified, func(c *judgement) bool {
			return c.hasPole() && c.v.Score > c.limit
		}},
		{"within", "as pole, but SCORE <= limit; or the type does not amplify errors, and no row, channel or element stands out", RoughBound, Clean, None, func(c *judgement) bool {
			return c.hasPole() || c.bounded && c.localKind() == None
		}},
		{"rows", "a row stands out: its SCORE exceeds 6 x the SCORE of the tensor (6 x the median row, if that is less), and 5 (if the limit is 2: 4)", RoughBound, Origin, Rows, func(c *judgement) bool { return c.localKind() == Rows }},
		{"channels", "a channel stands out: its SCORE exceeds 6 x the SCORE of the tensor (6 x the median channel, if that is less), and 5 (if the limit is 2: 4)", RoughBound, Origin, Channels, func(c *judgement) bool { return c.localKind() == Channels }},
		{"peaks", "an element stands out: its SCORE exceeds 2 and 2 x the SCORE of the tensor, and the largest error exceeds 8 x the rms error and 2.5 x the same ratio of any input", RoughBound, Origin, Sparse, func(c *judgement) bool { return c.localKind() == Sparse }},
		formRule("factor-alone", "a factor as in factor-exact, but SCORE > 1.6; the further conditions of factor are not needed", func(c *judgement) bool { return c.isScaled(c.v) }),
		formRule("factor-per-group", "a factor for each row or channel explains more than half of the squared error (in each input less than a quarter); SCORE > 1.6", func(c *judgement) bool {
			return c.isFormOfOperator(c.Out.GroupScale > 0.5 && c.largestOfInputs(func(in *noise.Noise) float64 { return in.GroupScale }) < 0.25)
		}),
		formRule("offset-per-group", "an offset for each row or channel explains more than half of the squared error (in each input less than a quarter); SCORE > 1.6", func(c *judgement) bool {
			return c.isFormOfOperator(c.Out.GroupMean > 0.5 && c.largestOfInputs(func(in *noise.Noise) float64 { return in.GroupMean }) < 0.25)
		}),
		formRule("factor-by-sign", "one factor for positive and another for negative elements explain more than 30 % of the squared error (in each input less than 10 %); SCORE > 1.6", func(c *judgement) bool {
			return c.isFormOfOperator(c.Out.ScaleBySign > 0.3 && c.largestOfInputs(func(in *noise.Noise) float64 { return in.ScaleBySign }) < 0.1)
		}),
		formRule("toward-zero", "most errors point toward 0, or most away from it: the mean of error x sign exceeds 0.35 x the rms error (in each input less than 0.15); SCORE > 1.6", func(c *judgement) bool {
			return c.isFormOfOperator(c.Out.TowardZero > 0.35 && c.largestOfInputs(func(in *noise.Noise) float64 { return in.TowardZero }) < 0.15)
		}),
		formRule("small-factor", "a factor more than 2 % and 8 standard deviations from 1 explains more than 12 % of the error; SCORE > 1.6", func(c *judgement) bool {
			return c.isFormOfOperator(c.v.ScaleZ > 8 && c.v.ScaleShare > 0.12 && math.Abs(c.Out.Scale) > 0.02)
		}),
		formRule("offset", "the mean error exceeds half of the rms error, and 4 x the mean errors of all inputs together; SCORE > 1.6", func(c *judgement) bool {
			mean := math.Abs(c.Out.Mean)
			return c.isFormOfOperator(mean > 0.5*c.Out.RMS && sumOf(c.Inputs, func(in *noise.Noise) float64 { return math.Abs(in.Mean) }) < 0.25*mean)
		}),
		formRule("large", "the rms error exceeds 25 % of the rms of the reference; SCORE > 2 x limit", func(c *judgement) bool {
			return c.isFormOfOperator(ratio(c.Out.RMS, c.Out.RefRMS) > 0.25 && c.v.Score > 2*c.limit)
		}),
		{"far", "SCORE > 32: healthy operators do not amplify errors so much", RoughBound, Origin, Value, func(c *judgement) bool { return c.v.Score > limits.Noise }},
		{"sure", "SCORE > 8, and the rms error exceeds 10 % of the rms of the reference; no input has a relative error above 0.2, or depends on random numbers or tied indices", RoughBound, Origin, Value, (*judgement).isSure},
		{"amplified", "SCORE > limit (matrix products with known inputs: > 1.8); unknown weights may have amplified the error", RoughBound, Suspect, Amplified, func(c *judgement) bool {
			if c.v.Class == optype.Linear && !c.root {
				return c.v.Score > limits.LinearSuspect
			}
			return c.v.Score > c.limit
		}},
		{"explained", "no rule above holds", RoughBound, Clean, None, func(*judgement) bool { return true }},
	}
}

// formRule makes a rule for errors in a form that rounding cannot have. The score may be a little below the limit of the
// operator; see Thresholds.Shaped.
func formRule(name, says string, holds func(*judgement) bool) Rule {
	return Rule{name, says, RoughBound, Origin, Value, func(c *judgement) bool {
		c.v.Structured = c.v.Score > min(c.limit, limits.Shaped*c.limit/c.Operator.limit(c.v.Class)) && holds(c)
		return c.v.Structured
	}}
}

// Judge says whether the operator adds an error that rounding does not explain.
func (o *Operator) Judge() Verdict {
	leftOut := o.excludeFlips()
	v := o.scoreErrors()
	v.LeftOut = leftOut
	c := o.judgement(&v)
	i := slices.IndexFunc(rules, func(r Rule) bool { return (r.On == AnyBound || (r.On == ExactBound) == c.exact) && r.holds(c) })
	if i < 0 { // only with rules switched off
		return v
	}
	if v.Level, v.Kind, v.Rule = rules[i].Level, rules[i].Kind, rules[i].Name; rules[i].On != AnyBound {
		v.Limit = c.limit
	}
	return v
}

// judgement computes the properties that several rules read.
func (o *Operator) judgement(v *Verdict) *judgement {
	c := &judgement{Operator: o, v: v, exact: v.Class.Exact() && len(o.Inputs) > 0, root: len(o.Inputs) == 0, limit: limits.Exact}
	if c.exact {
		return c
	}
	c.rough = v.Class != optype.Dequantise && slices.ContainsFunc(o.Inputs, func(in *noise.Noise) bool { return relativeSpread(in) > limits.RoughInput }) && !v.Class.Exact()
	c.bounded = !classes[v.Class].mayAmplify && !c.root
	if c.limit = o.limit(v.Class); c.rough {
		c.limit *= limits.Rough
	}
	if o.Tainted {
		c.limit *= limits.Tainted
	}
	return c
}

// isWithinOneStep reports whether quantised numbers differ by at most one step.
func (c *judgement) isWithinOneStep() bool {
	return c.Out.Type.Integer && c.Out.Max <= 1 && c.v.Class == optype.Quantise
}

// exceedsExactBound reports whether the tensor or one of its rows exceeds the bound. If a mask excludes
// elements of a row, its error is measured on few elements, and its bound on all.
func (c *judgement) exceedsExactBound() bool {
	if c.Type.Form == optype.LogSoftmax {
		return false
	}
	rows := c.v.Class == optype.Lipschitz && c.Out.Count == c.Out.Elements
	return c.v.Score > limits.Exact || rows && c.v.RowScore > limits.Exact*chanceRatio(&c.Out.Rows)
}

// lacksFirstOrderBound reports whether no first-order bound holds: the exact value of the output is 0, so that only its
// rounding error is left, or an input consists of errors.
func (c *judgement) lacksFirstOrderBound() bool {
	return c.Gradients > 0 && c.v.Own > c.Out.RefRMS/8 || slices.ContainsFunc(c.Inputs, isNoise)
}

// isErrorWidespread reports whether many elements share the error: the 0.9 quantile of the errors exceeds half of the
// expected error.
func (c *judgement) isErrorWidespread() bool { return c.Out.P90 > 0.5*c.v.Sum }

func (c *judgement) isConstant() bool {
	s := c.Out
	return s.Constant && s.RefStd > 0 && s.Count >= 16 && c.v.Score > 1.5 && (c.root || !slices.ContainsFunc(c.Inputs, func(in *noise.Noise) bool { return in.Constant }))
}

// hasPole reports whether the operator may be a function with a pole: a few elements near the pole are far off, or
// subnormal numbers are divided.
func (c *judgement) hasPole() bool {
	faint := !c.isSure() && !c.Tainted && !c.Guessed && slices.ContainsFunc(c.Inputs, func(in *noise.Noise) bool { return in.Subnormal > 0.02 })
	return c.v.Class == optype.Unknown && !c.root && (c.localKind() == None && c.Out.P90 < 0.5*c.v.Sum || faint) && !c.mixesElements()
}

// isSure reports whether the error is far beyond the bound and not small.
func (c *judgement) isSure() bool {
	return c.v.Score > limits.Sure && c.Out.RMS > limits.SureShare*c.Out.RefRMS && !c.rough && !c.Behind
}

// localKind returns the kind of the part whose error stands out from the error of the whole tensor, None without such a
// part.
func (c *judgement) localKind() Kind {
	if !c.found {
		c.found = true
		if !c.rough {
			c.partKind = c.Operator.findLocalError(c.v, c.limit)
		}
	}
	return c.partKind
}

// isFormOfOperator reports whether a form was found that belongs to the operator. If no input is known, and some
// inputs were not compared, the form may come from these inputs.
func (c *judgement) isFormOfOperator(found bool) bool { return found && !(c.root && c.Hidden) }

// largestOfInputs returns the largest value of a property among the inputs that have an error.
func (c *judgement) largestOfInputs(number func(*noise.Noise) float64) float64 {
	return largest(c.Inputs, func(in *noise.Noise) float64 {
		if in.RMS == 0 {
			return 0
		}
		return number(in)
	})
}
