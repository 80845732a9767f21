package recompute

import (
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// listHypotheses lists the possible sets of attributes: the known values, combined with every choice of each unknown
// attribute. The choices of the first attribute of the list vary fastest.
func (j *judge) listHypotheses() []Attributes {
	all := []Attributes{j.op.Attributes}
	p := &problem{ctx: j.ctx, Operator: j.op}
	if j.formula.hasSeparateOutputs {
		p = p.withSingleOutputs()
		part := *j.op
		part.Outputs = part.Outputs[:1]
		p.Operator = &part
	}
	for _, a := range j.formula.attrs {
		if a.choices == nil || j.isGiven(a) {
			continue
		}
		choices := a.choices(p)
		if len(choices) == 1 && len(choices[0]) == 0 {
			j.irrelevant = append(j.irrelevant, a.names[0])
		}
		if a.kind == fixedKind && !j.op.Open || a.kind == usualKind && j.op.AttributesComplete {
			choices = choices[:1]
		}
		choices = j.restrictToGiven(a, choices)
		var next []Attributes
		for _, h := range all {
			for _, c := range choices {
				if len(next) < maxHypotheses {
					next = append(next, h.merge(c))
				}
			}
		}
		all = next
	}
	if d, ok := j.autocastType(); ok {
		wide := all
		all = nil
		for _, h := range wide {
			all = append(all, h.merge(operandsOf(d)))
		}
		all = append(all, wide...)
	}
	if d, ok := j.scalarType(); ok {
		for _, h := range all {
			all = append(all, h.merge(Attributes{scalars: {Text(d.String()), FromValues}}))
		}
	}
	for i, h := range all {
		all[i] = j.roundAttributes(j.normaliseAxes(h))
	}
	return all
}

// normaliseAxes replaces negative axes by axes counted from the first one, so that formulas see no negative axis.
func (j *judge) normaliseAxes(h Attributes) Attributes {
	rank := j.op.rank()
	if j.formula.axisOfOutput {
		rank = len(j.op.Outputs[0].Shape)
	}
	for _, name := range []string{"axis", "axes", "perm"} {
		a, ok := h[name]
		all, whole := a.Value.Integers()
		if !ok || !whole || rank > 0 && !slices.ContainsFunc(all, func(k int64) bool { return k < 0 }) {
			continue
		}
		a.Value.Numbers = make([]float64, len(all))
		for i, k := range all {
			a.Value.Numbers[i] = float64(normaliseAxis(k, rank))
		}
		if rank == 0 && len(all) == 1 && (all[0] == 0 || all[0] == -1) { // PyTorch accepts these axes of a number
			a.Value = Numbers()
		}
		h = h.merge(Attributes{name: a})
	}
	return h
}

// restrictToGiven keeps the choices of a group of attributes that agree with the known values of the group. If there
// is none, the known values do not fit the shapes, and one choice with these values remains.
func (j *judge) restrictToGiven(a attribute, choices []Attributes) []Attributes {
	given := Attributes{}
	for _, name := range a.names {
		if x, ok := j.op.Attributes[name]; ok {
			given[name] = x
		}
	}
	if len(given) == 0 || len(choices) == 0 {
		return choices
	}
	var matching []Attributes
	for _, c := range choices {
		same := true
		for name, x := range given {
			same = same && c[name].Value.String() == x.Value.String()
		}
		if same {
			matching = append(matching, c.merge(given))
		}
	}
	if matching == nil {
		return []Attributes{choices[0].merge(given)}
	}
	return matching
}

// roundAttributes rounds attributes as they are passed to a kernel: to float32, unless it computes float64.
func (j *judge) roundAttributes(h Attributes) Attributes {
	if j.op.Outputs[0].DType == tensor.Float64 {
		return h
	}
	round := func(x float64) float64 { return float64(float32(x)) }
	if d, ok := tensor.ParseDType(h[scalars].Value.Text); ok && j.hasThresholds() {
		f := formatOf(d)
		round = f.Round
	}
	passed := make(Attributes, len(h))
	for name, a := range h {
		a.Value.Numbers = slices.Clone(a.Value.Numbers)
		for i, x := range a.Value.Numbers {
			if x != math.Trunc(x) {
				a.Value.Numbers[i] = round(x)
			}
		}
		passed[name] = a
	}
	return passed
}

// isKnown reports whether an attribute is known: it is given, has its default, or does not matter.
func (j *judge) isKnown(a attribute) bool {
	return a.choices == nil || j.isGiven(a) || a.kind == fixedKind || a.kind == usualKind && j.op.AttributesComplete || slices.Contains(j.irrelevant, a.names[0])
}

// mayUseDefaults reports whether unknown attributes have their defaults, which holds if some attributes are known.
func (j *judge) mayUseDefaults() bool { return j.op.AttributesComplete || len(j.op.Attributes) > 0 }

// isGiven reports whether the user, a graph, the call or an input gives every name of the attribute.
func (j *judge) isGiven(a attribute) bool {
	return !slices.ContainsFunc(a.names, func(name string) bool {
		_, ok := j.op.Attributes[name]
		return !ok
	})
}
