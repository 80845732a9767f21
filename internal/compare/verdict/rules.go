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

// The scopes.
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
	limit float64
	part  Kind // see local
	found bool // part was computed
}

// Off lists the names of rules that are switched off, separated by commas. The linker sets it in the program that
// measures how much each rule contributes.
var Off string

// IsOff reports whether a rule is switched off.
func IsOff(name string) bool { return slices.Contains(strings.Split(Off, ","), name) }

// rules are the rules that are switched on.
var rules = slices.DeleteFunc(Rules(), func(r Rule) bool { return IsOff(r.Name) })

// Rules lists all rules in their order.
func Rules() []Rule {
	return []Rule{
		{"input-nan", "NaN and infinities count, and an input has some", AnyBound, Clean, InputNaN, func(c *judgement) bool {
			return !c.AnyClass && slices.ContainsFunc(c.Inputs, func(in *noise.Noise) bool { return in.NonFinite > 0 })
		}},
		{"damage-makes-nan", "NaN of a quotient, an exponential or an operator of unknown type behind an origin", AnyBound, Clean, InputBad, func(c *judgement) bool {
			return !c.AnyClass && c.Out.NonFinite > 0 && c.Tainted && (c.v.Class == optype.Divide || c.v.Class == optype.Exponential || c.v.Class == optype.Unknown)
		}},
		{"zero-divisor", "as many NaN and infinities, of a quotient or an unknown operator, as an input has elements that are 0 on one side alone: small divisors that a type does not hold", AnyBound, Suspect, AtPole, func(c *judgement) bool {
			return !c.AnyClass && c.ZeroDivisor() != nil
		}},
		{"nan", "NaN or infinity where the reference has a number", AnyBound, Origin, NonFinite, func(c *judgement) bool {
			return !c.AnyClass && c.Out.NonFinite > 0
		}},
		{"overflow", "the limit of the type or infinity where the reference has a larger number, of inputs without any", AnyBound, Origin, Overflow, func(c *judgement) bool {
			return !c.AnyClass && c.Out.Overflows > 0 && !slices.ContainsFunc(c.Inputs, func(in *noise.Noise) bool { return in.Overflows > 0 })
		}},
		{"stored", "no error but the rounding of the type, in the whole and in each row and channel", AnyBound, Clean, None, func(c *judgement) bool { return c.stores() }},
		{"indices", "indices: the numbers behind them decide", AnyBound, Clean, Selected, func(c *judgement) bool { return c.v.Class == optype.Index }},
		{"integers", "integers that are copied or follow without rounding from equal inputs", AnyBound, Origin, Value, func(c *judgement) bool {
			return c.Out.Type.Integer && c.copies() && len(c.Inputs) > 0 && !slices.ContainsFunc(c.Inputs, func(in *noise.Noise) bool { return in.RMS > 0 })
		}},
		{"steps", "more quantised numbers one step off than the errors of the inputs explain", AnyBound, Origin, Step, func(c *judgement) bool {
			return c.oneStep() && c.v.Score > limits.Steps
		}},
		{"one-step", "quantised numbers one step off: ties", AnyBound, Clean, None, (*judgement).oneStep},
		{"zero-rows", "some rows are 0 on the NPU, and no row of an input", AnyBound, Origin, ZeroRows, func(c *judgement) bool { return c.hasZeroRows() }},
		{"lone", "few elements are far off, all others right", AnyBound, Origin, Sparse, func(c *judgement) bool { return c.lone(c.v) }},

		{"element", "an element exceeds its bound, the tensor as a whole does not", ExactBound, Origin, Sparse, func(c *judgement) bool {
			return c.v.PeakScore > limits.Exact && c.v.Exact && c.v.Score < limits.Exact
		}},
		{"elements", "elements exceed their bounds", ExactBound, Origin, Value, func(c *judgement) bool { return c.v.PeakScore > limits.Exact && c.v.Exact }},
		{"beyond-exact", "the tensor, or a row of a continuous function, exceeds its bound", ExactBound, Origin, Value, (*judgement).beyondExact},
		{"factor-exact", "a common factor is most of the error", ExactBound, Origin, Scaled, func(c *judgement) bool {
			return c.scaled(c.v) && c.v.Score > limits.Scaled
		}},
		{"within-exact", "otherwise", ExactBound, Clean, None, func(*judgement) bool { return true }},

		{"zero-in-theory", "a sum that is 0 in theory, or an input of which nothing but its error is left, beyond the bound", RoughBound, Suspect, Amplified, func(c *judgement) bool {
			return c.leavesNoise() && c.v.Score > c.limit
		}},
		{"rounding-left", "the same within the bound", RoughBound, Clean, None, (*judgement).leavesNoise},
		{"factor", "a common factor is most of the error", RoughBound, Origin, Scaled, func(c *judgement) bool {
			return c.scaled(c.v) && c.v.Score > limits.Scaled && !c.rough && (c.v.Class != optype.Unknown || c.root || c.sharesError() || c.mixes())
		}},
		{"constant", "all elements are equal, not of the reference nor of an input", RoughBound, Origin, Constant, (*judgement).isConstant},
		{"bits", "fewer mantissa bits than the type and the inputs have", RoughBound, Origin, Coarse, func(c *judgement) bool { return classes[c.v.Class].bits && c.coarse(c.v) }},
		{"beyond", "the tensor exceeds the bound of a class that does not amplify", RoughBound, Origin, Value, func(c *judgement) bool { return c.bounded && c.v.Score > c.limit }},
		{"pole", "few elements are off, as near the pole of an unknown function, beyond the bound", RoughBound, Suspect, Amplified, func(c *judgement) bool {
			return c.hasPole() && c.v.Score > c.limit
		}},
		{"within", "the same within the bound, or a class that does not amplify and no part that stands out", RoughBound, Clean, None, func(c *judgement) bool {
			return c.hasPole() || c.bounded && c.local() == None
		}},
		{"rows", "some rows are far beyond the others", RoughBound, Origin, Rows, func(c *judgement) bool { return c.local() == Rows }},
		{"channels", "some channels are far beyond the others", RoughBound, Origin, Channels, func(c *judgement) bool { return c.local() == Channels }},
		{"peaks", "some elements are far beyond the others", RoughBound, Origin, Sparse, func(c *judgement) bool { return c.local() == Sparse }},
		form("factor-alone", "a common factor is most of the error, and small", func(c *judgement) bool { return c.scaled(c.v) }),
		form("factor-per-group", "groups of rows or channels have a factor each", func(c *judgement) bool {
			return c.isHidden(c.Out.GroupScale > 0.5 && c.ofInputs(func(in *noise.Noise) float64 { return in.GroupScale }) < 0.25)
		}),
		form("offset-per-group", "groups of rows or channels have an offset each", func(c *judgement) bool {
			return c.isHidden(c.Out.GroupMean > 0.5 && c.ofInputs(func(in *noise.Noise) float64 { return in.GroupMean }) < 0.25)
		}),
		form("factor-by-sign", "positive and negative elements have factors of their own", func(c *judgement) bool {
			return c.isHidden(c.Out.ScaleBySign > 0.3 && c.ofInputs(func(in *noise.Noise) float64 { return in.ScaleBySign }) < 0.1)
		}),
		form("toward-zero", "most elements are nearer to 0 than the reference", func(c *judgement) bool {
			return c.isHidden(c.Out.TowardZero > 0.35 && c.ofInputs(func(in *noise.Noise) float64 { return in.TowardZero }) < 0.15)
		}),
		form("small-factor", "a significant factor of more than 2 % is an eighth of the error", func(c *judgement) bool {
			return c.isHidden(c.v.ScaleZ > 8 && c.v.ScaleShare > 0.12 && math.Abs(c.Out.Scale) > 0.02)
		}),
		form("offset", "half of the error is an offset that no input has", func(c *judgement) bool {
			mean := math.Abs(c.Out.Mean)
			return c.isHidden(mean > 0.5*c.Out.RMS && total(c.Inputs, func(in *noise.Noise) float64 { return math.Abs(in.Mean) }) < 0.25*mean)
		}),
		form("large", "the error is more than a quarter of the values and twice beyond the bound", func(c *judgement) bool {
			return c.isHidden(ratio(c.Out.RMS, c.Out.RefRMS) > 0.25 && c.v.Score > 2*c.limit)
		}),
		{"far", "no healthy operator amplifies so much", RoughBound, Origin, Value, func(c *judgement) bool { return c.v.Score > limits.Noise }},
		{"sure", "beyond the bound by 8 and a tenth of the values, of inputs that are nearly right", RoughBound, Origin, Value, (*judgement).isSure},
		{"amplified", "beyond the bound, of a class that may amplify", RoughBound, Suspect, Amplified, func(c *judgement) bool {
			if c.v.Class == optype.Linear && !c.root {
				return c.v.Score > limits.LinearSuspect
			}
			return c.v.Score > c.limit
		}},
		{"explained", "otherwise", RoughBound, Clean, None, func(*judgement) bool { return true }},
	}
}

// form makes a rule for errors in a form that rounding does not have; they must not be far below the bound.
func form(name, says string, holds func(*judgement) bool) Rule {
	return Rule{name, says, RoughBound, Origin, Value, func(c *judgement) bool {
		c.v.Structured = c.v.Score > min(c.limit, limits.Shaped*c.limit/c.Operator.limit(c.v.Class)) && holds(c)
		return c.v.Structured
	}}
}

// Judge says whether the operator adds an error that rounding does not explain.
func (o *Operator) Judge() Verdict {
	leftOut := o.leaveOut()
	v := o.measure()
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
	c.bounded = !classes[v.Class].amplifies && !c.root
	if c.limit = o.limit(v.Class); c.rough {
		c.limit *= limits.Rough
	}
	if o.Tainted {
		c.limit *= limits.Tainted
	}
	return c
}

// oneStep reports whether quantised numbers differ by at most one step.
func (c *judgement) oneStep() bool {
	return c.Out.Type.Integer && c.Out.Max <= 1 && c.v.Class == optype.Quantise
}

// beyondExact reports whether the tensor or one of its rows exceeds the bound. The error of a row of which a mask
// excludes elements is that of few elements, its bound that of all.
func (c *judgement) beyondExact() bool {
	if c.Type.Form == optype.LogSoftmax {
		return false
	}
	rows := c.v.Class == optype.Lipschitz && c.Out.Count == c.Out.Elements
	return c.v.Score > limits.Exact || rows && c.v.RowScore > limits.Exact*byChance(&c.Out.Rows)
}

// leavesNoise reports whether no first-order bound holds: the exact value of the output is 0, so that only its
// rounding error is left, or an input consists of errors.
func (c *judgement) leavesNoise() bool {
	return c.Gradients > 0 && c.v.Own > c.Out.RefRMS/8 || slices.ContainsFunc(c.Inputs, isNoise)
}

// sharesError reports whether many elements share the error: the 0.9 quantile of the errors exceeds half of the
// expected error.
func (c *judgement) sharesError() bool { return c.Out.P90 > 0.5*c.v.Sum }

func (c *judgement) isConstant() bool {
	s := c.Out
	return s.Constant && s.RefStd > 0 && s.Count >= 16 && c.v.Score > 1.5 && (c.root || !slices.ContainsFunc(c.Inputs, func(in *noise.Noise) bool { return in.Constant }))
}

// hasPole reports whether the operator may be a function with a pole: a few elements near the pole are far off, or
// subnormal numbers are divided.
func (c *judgement) hasPole() bool {
	faint := !c.isSure() && !c.Tainted && !c.Guessed && slices.ContainsFunc(c.Inputs, func(in *noise.Noise) bool { return in.Subnormal > 0.02 })
	return c.v.Class == optype.Unknown && !c.root && (c.local() == None && c.Out.P90 < 0.5*c.v.Sum || faint) && !c.mixes()
}

// isSure reports whether the error is far beyond the bound and not small.
func (c *judgement) isSure() bool {
	return c.v.Score > limits.Sure && c.Out.RMS > limits.SureShare*c.Out.RefRMS && !c.rough && !c.Behind
}

// local returns the kind of the part whose error stands out from the error of the whole tensor, None without such a
// part.
func (c *judgement) local() Kind {
	if !c.found {
		c.found = true
		if !c.rough {
			c.part = c.Operator.local(c.v, c.limit)
		}
	}
	return c.part
}

// isHidden reports whether a form was found, and does not come from inputs that are unknown.
func (c *judgement) isHidden(seen bool) bool { return seen && !(c.root && c.Hidden) }

// ofInputs returns the largest value of a property among the inputs that have an error.
func (c *judgement) ofInputs(number func(*noise.Noise) float64) float64 {
	return largest(c.Inputs, func(in *noise.Noise) float64 {
		if in.RMS == 0 {
			return 0
		}
		return number(in)
	})
}
