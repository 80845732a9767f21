package check

import (
	"context"
	"maps"
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/recompute"
	"dumptool/internal/trace"
)

const (
	// minPeers is the least number of operators of a kind that are compared with each other. usualShare is the share, 0
	// to 1, of the judged operators that must fit a formula before deviating operators are suspected.
	minPeers   = 4
	usualShare = 0.75
	// probeCount is how many operators of a kind are tried first.
	probeCount = 4
)

// judgePeers compares operators of the same kind: the same layer in other blocks, ranks and steps, or in a single
// round all operators of a type. A type without a formula gets the formula that most of its operators fit. An
// operator that does not fit is WRONG if most others fit, and if the same operator in other rounds fits.
func (c *checker) judgePeers(ctx context.Context, jobs []job) error {
	several := len(c.Rounds) > 1
	kindOf := c.opt.peers
	switch {
	case kindOf != nil && !several:
		return nil
	case kindOf == nil && several:
		kindOf = func(o *Operator) string { return trace.RoleOf(o.Op) + " " + o.Type }
	case kindOf == nil:
		kindOf = func(o *Operator) string { return o.Type }
	}
	indexOf := make(map[string]int)
	var kinds [][]int
	for i := range c.Operators {
		key := kindOf(&c.Operators[i])
		if key == "" {
			continue
		}
		k, ok := indexOf[key]
		if !ok {
			k = len(kinds)
			indexOf[key], kinds = k, append(kinds, nil)
		}
		kinds[k] = append(kinds[k], i)
	}
	for _, kind := range kinds {
		if len(kind) < minPeers {
			continue
		}
		unknown := !slices.ContainsFunc(kind, func(i int) bool {
			return c.Operators[i].Reason != recompute.NoType || jobs[i].op.Call == nil
		})
		if unknown {
			if err := c.guessFormula(ctx, jobs, kind); err != nil {
				return err
			}
		}
		if several || unknown {
			c.judgeKind(kind, unknown)
		}
	}
	return nil
}

// matchesFormula reports whether the output of an operator agrees with its formula.
func (o *Operator) matchesFormula() bool {
	return o.IsRight() && slices.ContainsFunc(o.Outputs, func(t Output) bool { return t.Checked > 0 })
}

// guessFormula guesses the formula of a type that has none, and judges its operators with the guess.
func (c *checker) guessFormula(ctx context.Context, jobs []job, kind []int) error {
	for _, guess := range recompute.Guesses() {
		rows := []recompute.Call{guess}
		if !c.fitsProbes(ctx, jobs, kind, rows) {
			continue
		}
		if c.fitsProbes(ctx, jobs, kind, []recompute.Call{recompute.Half()}) {
			return nil
		}
		some := make([]job, len(kind))
		for k, i := range kind {
			some[k] = jobs[i]
		}
		return batch.Run(ctx, batch.Options{Workers: c.opt.Workers}, some, job.size,
			func(ctx context.Context, j job) outcome { return c.checkOperator(ctx, j, rows) },
			func(k int, o outcome) {
				if o.row.Status != recompute.Undecided {
					o.row.Notes = append(o.row.Notes, recompute.ByPeers)
					c.Operators[kind[k]] = o.row
				}
				c.Problems, c.Warnings = append(c.Problems, o.problems...), append(c.Warnings, o.warnings...)
			})
	}
	return nil
}

// fitsProbes reports whether at most one of the first operators of a kind deviates from the formulas in rows.
func (c *checker) fitsProbes(ctx context.Context, jobs []job, kind []int, rows []recompute.Call) bool {
	fit := 0
	for k := range probeCount {
		i := kind[k*(len(kind)-1)/(probeCount-1)]
		switch o := c.checkOperator(ctx, jobs[i], rows); {
		case o.row.matchesFormula():
			fit++
		case o.row.Status == recompute.Crashed:
			c.Operators[i] = o.row
		}
		if k-fit > 0 { // one probe may fail, and k-fit counts the failed ones
			break
		}
	}
	return fit >= probeCount-1
}

// judgeKind decides about operators that deviate from most operators of their kind: they are WRONG if the same operator
// is right elsewhere. With a learned formula, an operator that ran once is a suspect, and other deviating operators
// become UNDECIDED again.
func (c *checker) judgeKind(kind []int, learned bool) {
	fit, judged := 0, 0
	tallies := make(map[string][2]int) // by name: how many fit, and how many do not
	for _, i := range kind {
		o := &c.Operators[i]
		if o.Status == recompute.Undecided || o.Status == recompute.Crashed {
			continue
		}
		n := tallies[o.Op]
		judged++
		if o.matchesFormula() {
			fit++
			n[0]++
		} else {
			n[1]++
		}
		tallies[o.Op] = n
	}
	for _, i := range kind {
		o := &c.Operators[i]
		if o.Status != recompute.Misfit && (!learned || o.Status != recompute.Wrong) {
			continue
		}
		n := tallies[o.Op]
		most := fit >= minPeers-1 && float64(fit) >= usualShare*float64(judged)
		switch {
		case most && (n[0] >= n[1] || learned && n[0]+n[1] == 1):
			o.Status, o.Confidence = recompute.Wrong, finding.Medium
			if o.Reason == "" {
				o.Reason = recompute.ByCalcError
			}
			if n[0] == 0 { // never right: possibly another function than the other operators
				o.Set(recompute.Misfit, recompute.NoReason, recompute.Suspect)
			}
			o.setEvidence(lang.Say("%d of %d operators of this kind compute the right result from their inputs", fit, judged))
		case learned:
			o.makeUndecided()
		}
	}
	if learned && float64(fit) < usualShare*float64(judged) {
		for _, i := range kind {
			c.Operators[i].makeUndecided()
		}
	}
}

// uniformAttributes lists attributes that a network sets to one value in all operators of a type, as a rule.
var uniformAttributes = []string{"approximate", "epsilon", "padding_mode", "transpose_x2"}

// judgeChoices compares the values found for unknown uniform attributes. An operator that is right only with
// another value than most operators of its type is a MISFIT: its weight was transposed, or the kernel adds another
// epsilon.
func (c *checker) judgeChoices(ctx context.Context, jobs []job) error {
	for _, name := range uniformAttributes {
		kinds := map[string][]int{} // by type
		for i := range c.Operators {
			if o := &c.Operators[i]; o.matchesFormula() && o.Attributes[name].Source != "" && o.Attributes[name].Source != recompute.FromDefault {
				kinds[o.Type] = append(kinds[o.Type], i)
			}
		}
		for _, opType := range slices.Sorted(maps.Keys(kinds)) {
			if c.judgeValues(ctx, jobs, kinds[opType], name); ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return nil
}

// judgeValues compares the values of an attribute of operators of one type.
func (c *checker) judgeValues(ctx context.Context, jobs []job, kind []int, name string) {
	count, common := map[string]int{}, recompute.Value{}
	for _, i := range kind {
		v := c.Operators[i].Attributes[name].Value
		if count[v.String()]++; count[v.String()] > count[common.String()] {
			common = v
		}
	}
	n := count[common.String()]
	if n < minPeers-1 {
		return
	}
	suspects := map[int]Operator{} // judged with the common value
	for _, i := range kind {
		a := c.Operators[i].Attributes[name]
		if a.Value.String() == common.String() || a.Source != recompute.FromValues && a.Source != recompute.FromFit {
			continue
		}
		switch other := c.withValue(ctx, jobs[i], &c.Operators[i], name, common); {
		case other.matchesFormula(): // the other value was the first that was tried
			n++
		case other.Status == recompute.Wrong || other.Status == recompute.Misfit:
			suspects[i] = other
		}
	}
	if float64(n) < usualShare*float64(len(kind)) {
		return
	}
	needed := map[string]bool{} // by the other value
	for _, i := range slices.Sorted(maps.Keys(suspects)) {
		value, other := c.Operators[i].Attributes[name].Value, suspects[i]
		if _, known := needed[value.String()]; !known {
			needed[value.String()] = c.needsOther(ctx, jobs, kind, name, value)
		}
		if !needed[value.String()] || c.isDeclared(name, value) {
			continue
		}
		other.Set(recompute.Misfit, recompute.NoReason, recompute.Suspect)
		other.setEvidence(lang.Say("wrong with %s=%s, as in %d of %d operators of this type; %s=%s explains all elements", name, common, n, len(kind), name, value))
		c.Operators[i] = other
	}
}

// isDeclared reports whether a call of the round has the value of an attribute as its argument in dump.json: a call
// inside a module declares an epsilon that the module's own entry does not show.
func (c *checker) isDeclared(name string, value recompute.Value) bool {
	return slices.ContainsFunc(c.Operators, func(o Operator) bool {
		a := o.Attributes[name]
		return a.Source == recompute.FromCall && a.Value.String() == value.String()
	})
}

// needsOther reports whether at least three of a few operators contradict a value of an attribute. The other operators
// may fit the value too, and have another one only because it was tried first.
func (c *checker) needsOther(ctx context.Context, jobs []job, kind []int, name string, value recompute.Value) bool {
	const few = 3 * minPeers
	tried, wrong := 0, 0
	for _, i := range kind {
		o := &c.Operators[i]
		if o.Attributes[name].Value.String() == value.String() {
			continue
		}
		if tried == few || wrong == minPeers-1 {
			break
		}
		tried++
		if other := c.withValue(ctx, jobs[i], o, name, value); !other.matchesFormula() { // UNDECIDED: the value does not fit the shapes
			wrong++
		}
	}
	return wrong == minPeers-1
}

// withValue judges an operator with another value of one of its attributes.
func (c *checker) withValue(ctx context.Context, j job, o *Operator, name string, value recompute.Value) Operator {
	before, opt := c.opt, *c.opt
	defer func() { c.opt = before }()
	opt.Attributes, opt.Extract = nil, nil
	for key, a := range o.Attributes {
		if key == name {
			a.Value = value
		}
		opt.Attributes = append(opt.Attributes, UserAttribute{Op: o.Op, Name: key, Value: a.Value})
	}
	c.opt = &opt
	other := c.checkOperator(ctx, j, nil).row
	for key, a := range other.Attributes {
		other.Attributes[key] = recompute.Attribute{Value: a.Value, Source: o.Attributes[key].Source}
	}
	return other
}

// makeUndecided makes an operator UNDECIDED again: no formula is known for its type.
func (o *Operator) makeUndecided() {
	if o.Status == recompute.Crashed {
		return
	}
	o.Verdict = recompute.Verdict{Status: recompute.Undecided, Reason: recompute.NoType, Attributes: recompute.Attributes{}}
	o.Inputs, o.Evidence, o.EvidenceZH, o.Facts = []Tensor{}, lang.Sentence{}, "", nil
	for k, t := range o.Outputs {
		o.Outputs[k] = Output{Tensor: t.Tensor, Output: recompute.Output{Elements: t.Elements, Elems: []recompute.Element{}}, file: t.file}
	}
}
