package recompute

import (
	"math"
	"slices"

	"dumptool/internal/tensor"
)

// hypotheses lists the possible attributes: known values, combined with the choices of every unknown
// attribute. The choices of the first attribute of the list change quickest.
func (j *judge) hypotheses() []Attributes {
	all := []Attributes{j.op.Attributes}
	p := &problem{ctx: j.ctx, Operator: j.op}
	if j.formula.each {
		p = p.parts()
		part := *j.op
		part.Outputs = part.Outputs[:1]
		p.Operator = &part
	}
	for _, a := range j.formula.attrs {
		if a.choices == nil || j.says(a) {
			continue
		}
		choices := a.choices(p)
		if len(choices) == 1 && len(choices[0]) == 0 {
			j.moot = append(j.moot, a.names[0])
		}
		if a.kind == fixedKind && !j.op.Open || a.kind == usualKind && j.op.Known {
			choices = choices[:1]
		}
		choices = j.besideSaid(a, choices)
		var next []Attributes
		for _, h := range all {
			for _, c := range choices {
				if len(next) < mostHypotheses {
					next = append(next, h.with(c))
				}
			}
		}
		all = next
	}
	if d, ok := j.castTo(); ok {
		wide := all
		all = nil
		for _, h := range wide {
			all = append(all, h.with(operandsOf(d)))
		}
		all = append(all, wide...)
	}
	if d, ok := j.scalarType(); ok {
		for _, h := range all {
			all = append(all, h.with(Attributes{scalars: {Text(d.String()), FromValues}}))
		}
	}
	for i, h := range all {
		all[i] = j.asPassed(j.fromFront(h))
	}
	return all
}

// fromFront counts axes that count from the last one on from the first one on. Attributes of
// formulas are said in this way only, so that no formula has to ask.
func (j *judge) fromFront(h Attributes) Attributes {
	rank := j.op.rank()
	if j.formula.ofOutput {
		rank = len(j.op.Outputs[0].Shape)
	}
	for _, name := range []string{"axis", "axes", "perm"} {
		a, ok := h[name]
		all, whole := a.Value.Integers()
		if !ok || !whole || !slices.ContainsFunc(all, func(k int64) bool { return k < 0 }) {
			continue
		}
		a.Value.Numbers = make([]float64, len(all))
		for i, k := range all {
			a.Value.Numbers[i] = float64(inRank(k, rank))
		}
		if rank == 0 && len(all) == 1 && all[0] == -1 { // the axis that PyTorch gives a number
			a.Value.Numbers = []float64{}
		}
		h = h.with(Attributes{name: a})
	}
	return h
}

// besideSaid returns the choices of a group of attributes that agree with the known values of the group.
// Without such a choice the known values do not fit the shapes.
func (j *judge) besideSaid(a attribute, choices []Attributes) []Attributes {
	said := Attributes{}
	for _, name := range a.names {
		if x, ok := j.op.Attributes[name]; ok {
			said[name] = x
		}
	}
	if len(said) == 0 || len(choices) == 0 {
		return choices
	}
	var beside []Attributes
	for _, c := range choices {
		same := true
		for name, x := range said {
			same = same && c[name].Value.String() == x.Value.String()
		}
		if same {
			beside = append(beside, c.with(said))
		}
	}
	if beside == nil {
		return []Attributes{choices[0].with(said)}
	}
	return beside
}

// asPassed are attributes as a kernel gets them: as float32, unless it computes float64.
func (j *judge) asPassed(h Attributes) Attributes {
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

// knows reports whether attributes of a formula are known: something says them, or they
// have their default.
func (j *judge) knows(a attribute) bool {
	return a.choices == nil || j.says(a) || a.kind == fixedKind || a.kind == usualKind && j.op.Known || slices.Contains(j.moot, a.names[0])
}

// defaults reports whether unknown attributes have their defaults, which holds if some attributes are known.
func (j *judge) defaults() bool { return j.op.Known || len(j.op.Attributes) > 0 }

// says reports whether attributes of a formula are said.
func (j *judge) says(a attribute) bool {
	return !slices.ContainsFunc(a.names, func(name string) bool {
		_, ok := j.op.Attributes[name]
		return !ok
	})
}
