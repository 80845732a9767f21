package recompute

import (
	"math"
	"slices"
	"strings"

	"dumptool/internal/exact"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// hasAllAttributes reports whether every attribute is known.
func (j *judge) hasAllAttributes() bool {
	return !slices.ContainsFunc(j.formula.attrs, func(a attribute) bool { return !j.isKnown(a) })
}

// decideBad judges an operator with elements beyond the wide bound.
func (j *judge) decideBad(v *Verdict, r *result) error {
	bad, n := r.countBad(), r.countChecked()
	share := 1 - float64(bad)/float64(n)
	v.Extent = Part
	if share < .05 { // of the elements are right
		v.Extent = All
	}
	inPlace, err := j.isInPlace()
	switch {
	case err != nil:
		return err
	case inPlace:
		*v = *NewUndecidedVerdict(InPlace, lang.Sentence{})
		return nil
	}
	v.Status, v.Reason, v.Confidence = Wrong, ByCalcError, finding.Medium
	if j.hasAllAttributes() || v.Extent == Part {
		v.Confidence = finding.High
	}
	if is, err := j.isExplainedByBFloat16(r); is || err != nil {
		v.Reason, v.Confidence, v.Why = ByOperandBits, finding.High, eightBits
		return err
	}
	few, err := j.hasFewDependents(r)
	if err != nil {
		return err
	}
	overflows := j.overflows(r)
	proven := overflows || !few && j.isDecided(r)
	if !proven && !few {
		if proven, err = j.isPart(r); err != nil {
			return err
		}
	}
	switch {
	case overflows:
		v.Reason = ByOverflow
	case proven && !r.length.IsZero():
		v.Reason, v.Why = ByShape, r.length
	case j.machine.lacksInput: // another form of the formula needs the missing input
		*v = *NewUndecidedVerdict(NoInputs, lang.Sentence{})
	case proven:
	case few:
		*v = *NewUndecidedVerdict(NoAttributes, lang.Say("too few elements to infer %s: give it by --attr, or the graph by -f", j.unknownNames()))
	default:
		v.Set(Misfit, NoReason, Suspect)
		if open := j.unknownNames(); open != "" {
			v.Why = lang.Say("no value of %s explains the output: give it by --attr, or the graph by -f", open)
		}
	}
	return nil
}

// hasFewDependents reports whether bad elements may depend on an unknown number that changes too few finite elements
// to be fitted to them. The elements around the worst one are counted.
func (j *judge) hasFewDependents(r *result) (bool, error) {
	j.fitOffset = j.worstOffset
	defer func() { j.fitOffset = 0 }()
	for _, a := range j.formula.attrs {
		x, ok := r.attrs[a.names[0]].Value.Number()
		if a.fit == nil || j.isKnown(a) || !ok {
			continue
		}
		if a.fit.log {
			x = exact.Log(max(x, 1e-12))
		}
		s, err := j.slopesAt(r.attrs, &a, x, nil)
		if err != nil {
			return false, err
		}
		if s == nil || len(s.wantedSteps()) >= 2*minFitElements {
			continue
		}
		for i, v := range s.v {
			if !(math.Abs(s.got[i]-v) <= s.tol[i]) && s.slope[i] != 0 {
				return true, nil
			}
		}
	}
	return false, nil
}

// unknownNames lists the unknown attributes, separated by commas.
func (j *judge) unknownNames() string {
	var names []string
	for _, a := range j.formula.attrs {
		for _, name := range a.names {
			if _, ok := j.op.Attributes[name]; !ok && !j.isKnown(a) {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// overflows reports whether products or sums exceed float16 although all outputs lie far inside its range.
func (j *judge) overflows(r *result) bool {
	largest := 0.0
	for _, t := range r.tallies {
		largest = max(largest, t.largest)
	}
	return j.op.Outputs[0].DType == tensor.Float16 && r.maxMagnitude > tensor.MaxFloat16 && largest < tensor.MaxFloat16 && slices.Contains([]Class{Norm, Reduced, Tabled, Plain}, j.formula.class)
}

// The rule of proof: an operator is WRONG if all its attributes are decided, or if usual values of the open
// attributes explain most elements and the remaining ones form a part: rows, channels, a tile, a tail, or single
// elements. A number that was fitted to the output proves nothing.

// isDecided reports whether every attribute is known or was tried with all of its values: all values of a closed
// list, and the fitted values of at most one number.
func (j *judge) isDecided(r *result) bool {
	numbers := 0
	for _, a := range j.formula.attrs {
		switch {
		case r.attrs[a.names[0]].Source == FromFit, a.kind == fixedKind && !j.isGiven(a) && !j.mayUseDefaults():
			return false
		case j.isKnown(a):
		case a.kind == openKind || slices.Contains(a.names, "activation") && j.op.mayBeFused():
			return false
		case a.fit != nil:
			numbers++
		}
	}
	return numbers < 2 && !j.implausibleFit && !j.machine.lacksInput && !j.op.Open && (!j.formula.open || j.isGiven(poolGeometry) && !j.op.mayBeFused())
}

// isPart reports whether usual values of the attributes explain all elements except a part of the output.
func (j *judge) isPart(r *result) (bool, error) {
	share, single := 1-float64(r.countBad())/float64(r.countChecked()), !j.op.Open
	for _, a := range j.formula.attrs {
		if r.attrs[a.names[0]].Source == FromFit {
			return false, nil
		}
		single = single && (a.kind != fixedKind || j.isGiven(a) || j.mayUseDefaults()) // constants rarely differ from their defaults and change few elements then
	}
	// fewChecked: fewer elements form no pattern. most is the least explained share, 0 to 1, for which the rest may
	// be a part; nearlyAll the explained share with which scattered elements count as a part.
	const fewChecked, most, nearlyAll = 8, .5, .99
	switch {
	case r.countChecked() < fewChecked || share < most && r.countBad() > 1 || j.mayLackKeys(r):
		return false, nil
	case single && (share >= nearlyAll || r.countBad() == 1):
		return true, nil
	}
	if r.damage != nil {
		return r.damage.isPart(), nil
	}
	output := slices.IndexFunc(r.tallies, func(t *tally) bool { return t.bad > 0 })
	j.damage = newDamage(output, j.op.Outputs[output].Shape)
	defer func() { j.damage = nil }()
	_, err := j.evaluateAttributes(r.attrs, false)
	return err == nil && j.damage.isPart(), err
}
