package recompute

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Status is the verdict on an operator.
type Status string

// The verdicts. An operator is LOW if its errors lie within the wide bound but not within the narrow one, and MISFIT
// if its output disagrees with the formula without proof that the operator is wrong.
const (
	OK        Status = "OK"
	Low       Status = "LOW"
	Wrong     Status = "WRONG"
	Misfit    Status = "MISFIT"
	Undecided Status = "UNDECIDED"
	// Crashed: dumptool itself failed at this operator; nothing is known about the operator.
	Crashed Status = "CRASHED"
)

// Key returns the status as it is written in JSON and in flags.
func (s Status) Key() string { return strings.ToLower(string(s)) }

// Reason says why an operator is wrong or undecided. The kind of wrong values is found by comparing the output with
// the computed one.
type Reason = finding.Code

// Values of Reason.
const (
	NoReason       Reason = ""
	ByCalcError    Reason = "CALC_ERROR"
	ByShape        Reason = "SHAPE"
	ByScale        Reason = "SCALE"
	ByPrecision    Reason = "PRECISION_LOSS"
	ByOverflow     Reason = "INNER_OVERFLOW"
	ByOperandBits  Reason = "OPERAND_BITS"
	ByUnwritten    Reason = "UNWRITTEN"
	NoType         Reason = "TYPE"
	NoInputs       Reason = "INPUTS"
	NoOutputs      Reason = "OUTPUTS"
	NoDType        Reason = "DTYPE"
	NoAttributes   Reason = "ATTRS"
	InPlace        Reason = "IN_PLACE"
	IllConditioned Reason = "ILL_CONDITIONED"
	InputChanged   Reason = "INPUT_CHANGED"
	InputDiffers   Reason = "INPUT_DIFFERS_FROM_DUMP_JSON"
	OverBudget     Reason = "BUDGET"
	NotCompared    Reason = "NOT_COMPARED"
)

// Extent says how much of an output is wrong.
type Extent string

// The extents: the whole output, or a part.
const (
	All  Extent = "all"
	Part Extent = "part"
)

// Suspect is the confidence of a MISFIT.
const Suspect finding.Confidence = "suspect"

// Note is a remark on a verdict.
type Note string

// Values of Note.
const (
	// UnusualAttribute: the value of an attribute was fitted to the elements and is in no list of usual values.
	UnusualAttribute Note = "ATTR_UNUSUAL"
	// Coarse: the elements fit a type with fewer bits than the output has.
	Coarse Note = "COARSE"
	// LostSums: sums of products have larger errors than any healthy matrix unit makes.
	LostSums Note = "PRECISION"
	// StandIn: inputs that were not dumped were replaced by the outputs of their producers.
	StandIn Note = "INPUT_OF_PRODUCER"
	// ByPeers: the formula was taken from most other calls of the same kind, in other layers, ranks or steps.
	ByPeers Note = "FORMULA_OF_PEERS"
	// Autocast: the inputs were rounded to the type of the output first.
	Autocast Note = "AUTOCAST"
	// OfInnerCalls: outputs of the module are outputs of calls inside it.
	OfInnerCalls Note = "OUTPUT_OF_INSIDE"
	// OperandBits: the factors were rounded to 8 bits, as in most products of the run.
	OperandBits Note = "OPERAND_BITS"
)

// Output is the result for one output.
type Output struct {
	// Elements counts all elements, Checked the elements that were computed again. How is the method: all, projected
	// or sampled; empty if none was computed.
	Elements int64  `json:"elements"`
	Checked  int64  `json:"checked"`
	How      string `json:"how"`
	// Bad counts the elements beyond the wide bound, Beyond the elements beyond the narrow bound.
	Bad    int64 `json:"bad"`
	Beyond int64 `json:"beyond_narrow"`
	// Worst is the largest error in units of the wide bound, or the error itself where the bound is 0. RMS is the root
	// mean square of the errors, in the same unit.
	Worst tensor.Number `json:"worst_ratio"`
	RMS   tensor.Number `json:"rms_ratio"`
	// Overflow counts elements that overflow the type with these inputs. Skipped counts elements that NaN or infinite
	// inputs affect.
	Overflow int64 `json:"overflow"`
	Skipped  int64 `json:"skipped"`
	// FirstBad is the first bad element, Elems are the elements with the largest errors, at most 3.
	FirstBad *Element  `json:"first_bad"`
	Elems    []Element `json:"worst"`
	// Chi and MaxZ are the statistics of a projection: the root mean square of the z-scores (1 for rounding alone)
	// and the largest z-score.
	Chi  float64 `json:"chi,omitempty"`
	MaxZ float64 `json:"max_z,omitempty"`
	// Width is the ratio of the wide to the narrow bound, each as root mean square over the elements.
	Width float64 `json:"-"`
}

// Element is an element of an output. Judge leaves its coordinates empty: the output may have been dumped in another
// shape.
type Element struct {
	// Offset is the number of the element in row-major order, Coord its coordinates. Computed is the
	// expected value, NPU the dumped value.
	Offset   int64          `json:"offset"`
	Coord    []int64        `json:"coord"`
	Computed *tensor.Number `json:"computed,omitempty"`
	NPU      *tensor.Number `json:"npu,omitempty"`
}

// NewRightOutput returns the result for an output of n elements that are all right.
func NewRightOutput(n int64) Output {
	return Output{Elements: n, Checked: n, How: "all", Elems: []Element{}}
}

// Verdict is the result of judging an operator.
type Verdict struct {
	// Status is the verdict. Reason and Extent describe the fault, or Reason the lack of a verdict. Confidence is the
	// confidence in the verdict.
	Status     Status             `json:"status"`
	Reason     Reason             `json:"reason,omitempty"`
	Extent     Extent             `json:"extent,omitempty"`
	Confidence finding.Confidence `json:"confidence,omitempty"`
	// Attributes are the attributes with which the formula explains most elements. Hypotheses counts the values that
	// were tried for attributes that no file states.
	Attributes Attributes `json:"attributes"`
	Hypotheses int        `json:"hypotheses"`
	Outputs    []Output   `json:"-"`
	// Why names what does not fit, which option decides a MISFIT, or with which value a WRONG operator computed; zero
	// if there is nothing to add.
	Why lang.Sentence `json:"-"`
	// Notes are remarks.
	Notes []Note `json:"notes,omitempty"`
	// Headroom lists the largest numbers between the inputs and the outputs.
	Headroom []LargestIntermediate `json:"headroom,omitempty"`
	// IsFloat32Product: the operator is a product of two float32 factors with a float32 output.
	IsFloat32Product bool `json:"-"`
	// Adds: the formula adds up elements, so that the order of the additions may change the outputs.
	Adds bool `json:"-"`
}

// Set changes the verdict, without an extent.
func (v *Verdict) Set(status Status, reason Reason, confidence finding.Confidence) {
	v.Status, v.Reason, v.Confidence, v.Extent = status, reason, confidence, ""
}

// IsRight reports whether the operator is OK or LOW.
func (v *Verdict) IsRight() bool { return v.Status == OK || v.Status == Low }

// NewUndecidedVerdict returns an UNDECIDED verdict.
func NewUndecidedVerdict(reason Reason, why lang.Sentence) *Verdict {
	return &Verdict{Status: Undecided, Reason: reason, Why: why}
}

// IsMostlyRight reports whether at least three quarters of the elements of each output are within their bounds.
func (v *Verdict) IsMostlyRight() bool {
	for i := range v.Outputs {
		if o := &v.Outputs[i]; 4*o.Bad > o.Checked {
			return false
		}
	}
	return true
}

// Judge computes an operator again and compares its outputs. An error is an error of reading a tensor, or of the
// context.
func Judge(ctx context.Context, op *Operator) (*Verdict, error) {
	f := formulaOf(op.Formula)
	if f == nil {
		return NewUndecidedVerdict(NoType, lang.Sentence{}), nil
	}
	if v := findUnjudgeable(f, op); v != nil {
		return v, nil
	}
	if overwritten, err := f.isOverwritten(ctx, op); overwritten || err != nil {
		return NewUndecidedVerdict(InPlace, lang.Sentence{}), err
	}
	v, err := newJudge(ctx, op, f).decide()
	if errors.Is(err, errTooLarge) {
		return NewUndecidedVerdict(OverBudget, lang.Error(err)), nil
	}
	return v, err
}

// newJudge returns a judge of an operator. Bounds are set for floating point only: integers have to be exact.
func newJudge(ctx context.Context, op *Operator, f *formula) *judge {
	j := &judge{ctx: ctx, op: op, formula: f}
	if op.AttributesComplete {
		op.Attributes = op.graphDefaults.merge(op.Attributes)
	}
	j.machine.ctx = ctx
	if d := op.Outputs[0].DType; isFloat(d) {
		j.machine.narrow, j.machine.wide = narrowBounds, wideBounds(d)
		if op.Open || f.hasSteps {
			j.machine.stepRounding = math.Ldexp(1, -formatOf(d).Mantissa-1)
		}
	}
	return j
}

// findUnjudgeable returns the verdict on an operator that lacks something or has nothing to compare, nil if it can be judged.
func findUnjudgeable(f *formula, op *Operator) *Verdict {
	if missing, name := f.findMissing(op); missing != NoReason {
		return NewUndecidedVerdict(missing, lang.Plain(name))
	}
	for _, t := range append(slices.Clip(op.Inputs), op.Outputs...) {
		if t == nil {
			continue
		}
		if _, err := tensor.NewDecoder(t.Stored); err != nil || t.Stored.Host().Complex() {
			return NewUndecidedVerdict(NoDType, lang.Plain(t.Stored.String()))
		}
	}
	if f.overwritesInput && op.Overlap == nil && !op.Called {
		return NewUndecidedVerdict(InPlace, lang.Sentence{})
	}
	if op.hasUnreadInput {
		return NewUndecidedVerdict(NoAttributes, lang.Say("an input is given that the formula does not read"))
	}
	if op.Outputs[0].elements() == 0 && !f.hasDynamicLength {
		return &Verdict{Status: OK, Confidence: finding.High}
	}
	if slices.ContainsFunc(op.Inputs, func(t *Tensor) bool { return t != nil && t.elements() == 0 }) && f.class != Move {
		return NewUndecidedVerdict(NoInputs, lang.Sentence{})
	}
	return nil
}

// decide tries the possible attributes and judges the operator by the result that explains most elements.
func (j *judge) decide() (*Verdict, error) {
	all := j.listHypotheses()
	if err := j.ctx.Err(); err != nil { // the list may be incomplete
		return nil, err
	}
	best, tried, why, err := j.bestHypothesis(all)
	if err != nil {
		return nil, err
	}
	if best == nil {
		v := NewUndecidedVerdict(NoAttributes, why)
		v.Hypotheses = tried
		return v, nil
	}
	v := &Verdict{Attributes: best.attrs, Hypotheses: tried, Adds: j.formula.hasSums(j.op, best.attrs)}
	if !best.explains() {
		if spots := best.tallies[0].spots; len(spots) > 0 {
			j.worstOffset = spots[0].offset
		}
		fitted, err := j.fitAttribute(best, all)
		if err != nil {
			return nil, err
		}
		// With a fitted number so large that most computed elements overflow, every output would be explained. Divisors of
		// 0 overflow with any number.
		if before := best.tallies[0].overflow; fitted != nil && (2*fitted.tallies[0].overflow < fitted.countChecked() || fitted.tallies[0].overflow <= before) {
			if j.machine.lacksInput { // another form of the formula needs the missing input and may explain the output without this number
				return NewUndecidedVerdict(NoInputs, lang.Sentence{}), nil
			}
			best, v.Attributes = fitted, fitted.attrs
			v.Notes = append(v.Notes, UnusualAttribute)
		}
	}
	j.setCounts(v, best)
	v.IsFloat32Product = j.isFloat32Product()
	if _, ok := best.attrs[operands]; ok {
		v.Notes = append(v.Notes, Autocast)
	}
	if j.isInexact(best) {
		d := j.op.Outputs[0].DType
		return NewUndecidedVerdict(NoDType, lang.Say("%s beyond 2^53: float64 does not hold all of these integers", d)), nil
	}
	if best.countBad() > 0 {
		err = j.decideBad(v, best)
	} else {
		err = j.decideWithinBounds(v, best)
		if name, ok := j.findImplausible(best); ok {
			v.Set(Misfit, NoReason, Suspect)
			v.Why = lang.Say("only %s=%s explains the output, an implausible value", name, best.attrs[name].Value)
		}
	}
	if v.Status != Misfit { // else the formula does not hold
		v.Headroom = best.largestIntermediates()
	}
	return v, err
}

// isInexact reports whether integers beyond 2^53 were computed, which float64 cannot represent exactly. Elements that
// are only moved or selected are compared as float64 anyway, if their number does not depend on them.
func (j *judge) isInexact(r *result) bool {
	if isFloat(j.op.Outputs[0].DType) || !j.machine.inexact && r.maxMagnitude <= maxInteger {
		return false
	}
	c := j.formula.class
	return j.machine.dynamicLength || c != Move && c != Converted && !(c == Exact && j.machine.selects)
}

// maxFull is the number of hypotheses that are computed in full after several were compared on a sample.
const maxFull = 2

// bestHypothesis runs the hypotheses and returns the result that explains most elements; nil if no hypothesis fits the
// shapes, and why then says what did not fit.
func (j *judge) bestHypothesis(all []Attributes) (best *result, tried int, why lang.Sentence, err error) {
	for tried < len(all) && (best == nil || !best.explains()) {
		var candidates []*result
		j.fewestBad = 0
		for more := true; tried < len(all) && more; tried++ {
			r, err := j.evaluateAttributes(all[tried], len(all) > 1)
			if err != nil {
				return nil, tried, lang.Sentence{}, err
			}
			if !r.why.IsZero() {
				why = cmp.Or(why, r.why)
				continue
			}
			candidates = append(candidates, r)
			if bad := r.countBad(); j.fewestBad == 0 || bad < j.fewestBad {
				j.fewestBad = bad
			}
			more = r.countBeyond() > 0 || r.countChecked() == 0
		}
		j.fewestBad = 0
		slices.SortStableFunc(candidates, func(r, s *result) int { return r.compare(s) })
		for i, r := range candidates[:min(len(candidates), maxFull)] {
			if !r.explains() && (i > 0 || best != nil && (r.systematic.reason != NoReason || r.compare(best) > 0)) {
				break // the sample already shows that it is no better
			}
			if r.cells < r.total {
				if r, err = j.evaluateAttributes(r.attrs, false); err != nil {
					return nil, tried, lang.Sentence{}, err
				}
			}
			if best == nil || r.compare(best) < 0 && (r.how == best.how || r.explains()) { // shares of different sets of rows are not comparable
				best = r
			}
			if best.explains() {
				break
			}
		}
	}
	return best, tried, why, nil
}

// explains reports whether the result has no bad elements and no systematic error.
func (r *result) explains() bool { return r.countBad() == 0 && r.systematic.reason == NoReason }

// compare orders results by the share of unexplained elements, the best first.
func (r *result) compare(s *result) int {
	sizes := func(r *result) (n float64) {
		for _, t := range r.tallies {
			n += t.sizes
		}
		return n
	}
	x, y := float64(r.countBad())/float64(max(1, r.countChecked())), float64(s.countBad())/float64(max(1, s.countChecked()))
	switch {
	case x != y && (x < y):
		return -1
	case x != y:
		return 1
	case r.explains() != s.explains():
		if r.explains() {
			return -1
		}
		return 1
	case r.countBad() == 0 && r.countBeyond() == 0 && s.countBeyond() > 0:
		return -1
	case s.countBad() == 0 && s.countBeyond() == 0 && r.countBeyond() > 0:
		return 1
	case sizes(r) < sizes(s):
		return -1
	case sizes(r) > sizes(s):
		return 1
	}
	return 0
}

// setCounts copies the counts of a result to the verdict.
func (j *judge) setCounts(v *Verdict, r *result) {
	for k, t := range r.tallies {
		o := Output{Elements: j.op.Outputs[k].elements(), Checked: t.checked, How: "all", Bad: t.bad, Beyond: t.beyond, Worst: tensor.Number(t.worst), RMS: tensor.Number(t.root(t.wideRatios)),
			Width: t.width(), Overflow: t.overflow, Skipped: t.skipped, Elems: []Element{}}
		switch {
		case t.checked == 0 && o.Elements > 0:
			o.How = ""
		case r.how != "":
			o.How = r.how
		}
		if r.scanned != nil {
			o.Chi, o.MaxZ = r.scanned.chi(), r.scanned.maxZ
		}
		if t.infinite && t.worst <= 1 {
			o.Worst = tensor.Number(math.Inf(1))
		}
		if t.firstBad >= 0 {
			o.FirstBad = &Element{Offset: t.firstBad}
		}
		for _, s := range t.spots {
			computed, npu := tensor.Number(s.computed), tensor.Number(s.npu)
			o.Elems = append(o.Elems, Element{s.offset, nil, &computed, &npu})
		}
		v.Outputs = append(v.Outputs, o)
	}
}

// isInPlace reports whether the output was written over an input, so that the dumped input is not the original one.
func (j *judge) isInPlace() (bool, error) {
	switch f := j.formula; {
	case j.op.Called || f.isIdempotent:
		return false, nil
	case j.op.Overlap != nil:
		return *j.op.Overlap, nil
	case slices.Contains([]Class{Move, Converted, Integral}, f.class):
		return false, nil
	}
	const few = 8 // elements may be equal by chance
	x, y := j.op.Inputs[0], j.op.Outputs[0]
	if x == nil || x.Stored != y.Stored || !x.Shape.Equal(y.Shape) || x.elements() <= few {
		return false, nil
	}
	return HaveSameBytes(j.ctx, x, y)
}

// decideWithinBounds judges an operator whose elements all lie within the wide bound.
func (j *judge) decideWithinBounds(v *Verdict, r *result) error {
	v.Status, v.Confidence = OK, finding.High
	isLow := r.countBeyond() > 0 || r.exceedsNarrow()
	isCoarse, err := false, error(nil)
	if isLow || j.formula.class == Norm || j.formula.class == Linear { // their results need all bits of their type
		isCoarse, err = j.isCoarse()
	}
	isCoarse = isCoarse && !j.op.ByEnding
	if err != nil || !isLow && !isCoarse {
		return err
	}
	v.Status, v.Confidence = Low, finding.Medium
	if other, name, err := j.findBetterValue(r); other != nil || err != nil {
		if err == nil {
			v.Status, v.Reason, v.Confidence, v.Extent = Wrong, ByCalcError, finding.High, All
			v.Why = lang.Say("%s=%s explains all elements, %s does not", name, other.attrs[name].Value, r.attrs[name].Value)
		}
		return err
	}
	shape := r.systematic
	if shape.reason == NoReason {
		if r.relativeBound() > maxRelativeBound {
			*v = *NewUndecidedVerdict(IllConditioned, lang.Sentence{})
			return nil
		}
		if !isCoarse {
			return nil
		}
		shape = systematic{reason: ByPrecision, note: Coarse}
	}
	v.Status, v.Reason = Wrong, shape.reason
	if j.hasAllAttributes() {
		v.Confidence = finding.High
	}
	if shape.note != "" {
		v.Notes = append(v.Notes, shape.note)
	}
	return nil
}

// findBetterValue tries other values for each known attribute. It returns the first result with all elements within
// the narrow bound, and the name of the attribute; nil if there is none.
func (j *judge) findBetterValue(r *result) (*result, string, error) {
	if r.countBeyond() == 0 {
		return nil, "", nil
	}
	for _, a := range j.formula.attrs {
		if a.choices == nil || !j.isGiven(a) || len(a.names) > 1 {
			continue
		}
		others, err := j.fitOtherValue(r, a)
		if err != nil {
			return nil, "", err
		}
		for _, c := range append(a.choices(&problem{ctx: j.ctx, Operator: j.op}), others...) {
			for _, few := range []bool{true, false} {
				s, err := j.evaluateAttributes(j.roundAttributes(j.normaliseAxes(r.attrs.merge(c))), few)
				if err != nil {
					return nil, "", err
				}
				if !s.why.IsZero() || !s.explains() || s.countBeyond() > 0 || s.exceedsNarrow() {
					break
				}
				if !few {
					return s, a.names[0], nil
				}
			}
		}
	}
	return nil, "", nil
}

// fitOtherValue fits a number of two decimal digits, as people choose them, for an attribute whose known value leaves
// nearly all elements beyond the narrow bound. It returns nothing for other attributes and outputs.
func (j *judge) fitOtherValue(r *result, a attribute) ([]Attributes, error) {
	const nearlyAll, digits = 0.9, 2
	if a.fit == nil || float64(r.countBeyond()) < nearlyAll*float64(r.countChecked()) || r.countChecked() < 2*minFitElements {
		return nil, nil
	}
	wide := j.machine.wide
	j.machine.wide = j.machine.narrow // tolerances for the fit
	x, ok, err := j.solve(r.attrs, a, false)
	j.machine.wide = wide
	if !ok || err != nil {
		return nil, err
	}
	return []Attributes{{a.names[0]: {Number(roundDigits(x, digits)), FromFit}}}, nil
}

// systematic is a pattern of errors within the wide bound that rounding cannot cause: the reason, and a note on it.
type systematic struct {
	reason Reason
	note   Note
}

// maxRelativeBound is the largest ratio of the bound to the values, as root mean squares, with which a comparison
// still says something about the values.
const maxRelativeBound = .1

// relativeBound is the largest ratio of the wide bound to the values of an output.
func (r *result) relativeBound() (widest float64) {
	for _, t := range r.tallies {
		widest = max(widest, t.relativeBound())
	}
	return widest
}

// findSystematic looks for systematic errors if all elements lie within the wide bound and some beyond the narrow
// one.
func (r *result) findSystematic(d tensor.DType, class Class) systematic {
	if r.countBad() > 0 || r.countBeyond() == 0 && !r.exceedsNarrow() {
		return systematic{}
	}
	if r.relativeBound() < maxRelativeBound {
		shift := tableShift
		if class == Norm && d == tensor.Float32 {
			shift = normShift
		}
		if slices.ContainsFunc(r.tallies, func(t *tally) bool { return t.hasCommonFactor(shift) }) {
			return systematic{reason: ByScale}
		}
	}
	if r.losesPrecision(d) {
		return systematic{reason: ByPrecision, note: LostSums}
	}
	return systematic{}
}

// exceedsNarrow reports whether projections show larger errors than the narrow bound allows.
func (r *result) exceedsNarrow() bool {
	return r.scanned != nil && math.Sqrt(r.scanned.strict/max(1, r.scanned.cells)) > chiHit
}
