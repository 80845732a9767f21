package recompute

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Status is the verdict of an operator.
type Status string

// The verdicts.
const (
	OK        Status = "OK"
	Low       Status = "LOW"
	Wrong     Status = "WRONG"
	Misfit    Status = "MISFIT"
	Undecided Status = "UNDECIDED"
	// Crashed is that of an operator at which the program has a bug: nothing is said of the operator.
	Crashed Status = "CRASHED"
)

// Key is the status as documents and flags have it.
func (s Status) Key() string { return strings.ToLower(string(s)) }

// Reason says why an operator is wrong or undecided. Those of wrong ones are codes of
// causes; what is wrong in the values of outputs shows by comparing them with what was
// computed.
type Reason string

// The reasons.
const (
	NoReason       Reason = ""
	ByCalcError    Reason = "CALC_ERROR"
	ByShape        Reason = "SHAPE"
	ByScale        Reason = "SCALE"
	ByPrecision    Reason = "PRECISION_LOSS"
	ByOverflow     Reason = "INNER_OVERFLOW"
	ByOperandBits  Reason = "OPERAND_BITS"
	NoType         Reason = "TYPE"
	NoInputs       Reason = "INPUTS"
	NoOutputs      Reason = "OUTPUTS"
	NoDType        Reason = "DTYPE"
	NoAttributes   Reason = "ATTRS"
	InPlace        Reason = "IN_PLACE"
	IllConditioned Reason = "ILL_CONDITIONED"
	InputChanged   Reason = "INPUT_CHANGED"
	InputDiffers   Reason = "INPUT_DIFFERS_FROM_DUMP_JSON"
	IsRandom       Reason = "RANDOM"
	OverBudget     Reason = "BUDGET"
	NotCompared    Reason = "NOT_COMPARED"
)

// Extent says how much of an output is wrong.
type Extent string

// The extents.
const (
	All  Extent = "all"
	Part Extent = "part"
)

// Confidence says how sure a verdict is.
type Confidence string

// The confidences.
const (
	High    Confidence = "high"
	Medium  Confidence = "medium"
	Suspect Confidence = "suspect"
)

// Note is a remark on a verdict.
type Note string

// The notes.
const (
	// UnusualAttribute: a number was fitted that no list has.
	UnusualAttribute Note = "ATTR_UNUSUAL"
	// Coarse: the output has fewer bits than its type.
	Coarse Note = "COARSE"
	// LostSums: sums of products have more error than any healthy unit makes.
	LostSums Note = "PRECISION"
	// StandIn: outputs of producers stood in for inputs that were not dumped.
	StandIn Note = "INPUT_OF_PRODUCER"
	// ByPeers: what it computes is what most others of its kind compute, in other layers, on other
	// ranks and in other steps.
	ByPeers Note = "FORMULA_OF_PEERS"
	// Autocast: the inputs were rounded to the type of the output first.
	Autocast Note = "AUTOCAST"
	// OfInside: a module gives outputs of calls inside of it.
	OfInside Note = "OUTPUT_OF_INSIDE"
	// OperandBits: the factors are rounded to 8 bits, as in most products of the run.
	OperandBits Note = "OPERAND_BITS"
)

// Output is what was found in an output.
type Output struct {
	// Index is that among the outputs of the formula.
	Index int
	// Elements are those of the output, Checked those that were computed again.
	Elements, Checked int64
	// How says how they were checked: all, projected or sampled.
	How string
	// Bad are the elements beyond the wide bound, Beyond those beyond the narrow one.
	Bad, Beyond int64
	// Worst is the largest error beside the wide bound, the error itself where there is no
	// bound; RMS is the root of the mean of squares.
	Worst, RMS float64
	// Width is the root of the mean of squares of the wide bound beside that of the narrow one.
	Width float64
	// Overflow counts elements that the inputs really put beyond the type, Skipped those
	// beside NaN and infinities of the inputs.
	Overflow, Skipped int64
	// First is the offset of the first bad element, -1 for none; Spots are the worst ones.
	First int64
	Spots []Spot
	// Chi and MaxZ are those of a projection, 0 for none.
	Chi, MaxZ float64
}

// Verdict is what was found about an operator.
type Verdict struct {
	Status     Status
	Reason     Reason
	Extent     Extent
	Confidence Confidence
	// Attributes are those that explain most, Hypotheses how many were tried.
	Attributes Attributes
	Hypotheses int
	Outputs    []Output
	// Why says what does not fit, what decides a MISFIT, or which value a WRONG operator computed
	// with; zero where there is nothing to say.
	Why   lang.Sentence
	Notes []Note
	// Singles is set for a product of factors of float32 in float32.
	Singles bool
	// Adds is set for a formula with sums: the order of additions may change its outputs.
	Adds bool
	// Inside are the largest values between inputs and outputs.
	Inside []Inside
}

func undecided(reason Reason, why lang.Sentence) *Verdict {
	return &Verdict{Status: Undecided, Reason: reason, Why: why}
}

// Judge computes an operator again and compares its outputs. The error is one of reading.
func Judge(ctx context.Context, op *Operator) (*Verdict, error) {
	f := formulaOf(op.Formula)
	if f == nil {
		return undecided(NoType, lang.Sentence{}), nil
	}
	if v := refuse(f, op); v != nil {
		return v, nil
	}
	if overwritten, err := f.isOverwritten(ctx, op); overwritten || err != nil {
		return undecided(InPlace, lang.Sentence{}), err
	}
	v, err := newJudge(ctx, op, f).decide()
	if errors.Is(err, errTooLarge) {
		return undecided(OverBudget, lang.Error(err)), nil
	}
	return v, err
}

// newJudge judges an operator by its formula; integers are exact.
func newJudge(ctx context.Context, op *Operator, f *formula) *judge {
	j := &judge{ctx: ctx, op: op, formula: f}
	if op.Known {
		op.Attributes = op.usual.with(op.Attributes)
	}
	j.machine.ctx = ctx
	if d := op.Outputs[0].DType; isFloat(d) {
		j.machine.narrow, j.machine.wide = narrowBounds, wideBounds(d)
		if op.Open || f.steps {
			j.machine.between = math.Ldexp(1, -formatOf(d).Mantissa-1)
		}
	}
	return j
}

// refuse returns the verdict of operators of which something is missing.
func refuse(f *formula, op *Operator) *Verdict {
	if missing, name := f.missing(op); missing != NoReason {
		return undecided(missing, lang.Plain(name))
	}
	for _, t := range append(slices.Clip(op.Inputs), op.Outputs...) {
		if t == nil {
			continue
		}
		if _, err := tensor.NewDecoder(t.Stored); err != nil || t.Stored.Host().Complex() {
			return undecided(NoDType, lang.Plain(t.Stored.String()))
		}
	}
	if f.writes && op.Overlap == nil && !op.Called {
		return undecided(InPlace, lang.Sentence{})
	}
	if op.unread {
		return undecided(NoAttributes, lang.Say("an input is given that the formula does not read"))
	}
	if op.Outputs[0].elements() == 0 && !f.sized {
		return &Verdict{Status: OK, Confidence: High}
	}
	if slices.ContainsFunc(op.Inputs, func(t *Tensor) bool { return t != nil && t.elements() == 0 }) && f.class != Move {
		return undecided(NoInputs, lang.Sentence{})
	}
	return nil
}

// decide tries the attributes that are possible and judges the best of them.
func (j *judge) decide() (*Verdict, error) {
	all := j.hypotheses()
	if err := j.ctx.Err(); err != nil { // the list is not whole
		return nil, err
	}
	best, tried, why, err := j.choose(all)
	if err != nil {
		return nil, err
	}
	if best == nil {
		v := undecided(NoAttributes, why)
		v.Hypotheses = tried
		return v, nil
	}
	v := &Verdict{Attributes: best.attrs, Hypotheses: tried, Adds: j.formula.adds(j.op, best.attrs)}
	if !best.explains() {
		if spots := best.tallies[0].spots; len(spots) > 0 {
			j.worst = spots[0].Offset
		}
		fitted, err := j.fit(best, all)
		if err != nil {
			return nil, err
		}
		// A number so large that most of what it makes might overflow explains anything.
		if fitted != nil && 2*fitted.tallies[0].overflow < fitted.checked() {
			if j.machine.lacks { // a fitted number proves nothing where another way needs an input that is missing
				return undecided(NoInputs, lang.Sentence{}), nil
			}
			best, v.Attributes = fitted, fitted.attrs
			v.Notes = append(v.Notes, UnusualAttribute)
		}
	}
	j.fill(v, best)
	v.Singles = j.ofSingles()
	if _, ok := best.attrs[operands]; ok {
		v.Notes = append(v.Notes, Autocast)
	}
	if j.isInexact(best) {
		d := j.op.Outputs[0].DType
		return undecided(NoDType, lang.Say("%s beyond 2^53: float64 does not hold all of these integers", d)), nil
	}
	if best.bad() > 0 {
		err = j.accuse(v, best)
	} else {
		err = j.excuse(v, best)
	}
	if v.Status != Misfit { // else the formula does not hold
		v.Inside = best.insides()
	}
	return v, err
}

// isInexact reports whether integers were computed with numbers beyond 2^53: float64 does not say
// whether these are right. Elements that are only moved or chosen are compared as float64.
func (j *judge) isInexact(r *result) bool {
	if isFloat(j.op.Outputs[0].DType) || !j.machine.inexact && r.top <= maxInteger {
		return false
	}
	c := j.formula.class
	return c != Move && c != Converted && !(c == Exact && j.machine.selects)
}

// mostFull is how many of the hypotheses that were sampled together are computed in full.
const mostFull = 2

// choose runs the hypotheses and returns the best; nil if none goes with the shapes.
func (j *judge) choose(all []Attributes) (best *result, tried int, why lang.Sentence, err error) {
	for tried < len(all) && (best == nil || !best.explains()) {
		var candidates []*result
		for more := true; tried < len(all) && more; tried++ {
			r, err := j.run(all[tried], len(all) > 1)
			if err != nil {
				return nil, tried, lang.Sentence{}, err
			}
			if !r.why.IsZero() {
				why = cmp.Or(why, r.why)
				continue
			}
			candidates = append(candidates, r)
			more = r.beyond() > 0 || r.checked() == 0
		}
		slices.SortStableFunc(candidates, func(r, s *result) int { return r.compare(s) })
		for i, r := range candidates[:min(len(candidates), mostFull)] {
			if i > 0 && !r.explains() {
				break // the sample says that it is no better
			}
			if r.cells < r.of {
				if r, err = j.run(r.attrs, false); err != nil {
					return nil, tried, lang.Sentence{}, err
				}
			}
			if best == nil || r.compare(best) < 0 && (r.how == best.how || r.explains()) { // shares of other rows say nothing
				best = r
			}
			if best.explains() {
				break
			}
		}
	}
	return best, tried, why, nil
}

// explains reports whether nothing is left that accuses the operator.
func (r *result) explains() bool { return r.bad() == 0 && r.shape.reason == NoReason }

// compare orders results by how much they leave unexplained.
func (r *result) compare(s *result) int {
	sizes := func(r *result) (n float64) {
		for _, t := range r.tallies {
			n += t.sizes
		}
		return n
	}
	x, y := float64(r.bad())/float64(max(1, r.checked())), float64(s.bad())/float64(max(1, s.checked()))
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
	case r.bad() == 0 && r.beyond() == 0 && s.beyond() > 0:
		return -1
	case s.bad() == 0 && s.beyond() == 0 && r.beyond() > 0:
		return 1
	case sizes(r) < sizes(s):
		return -1
	case sizes(r) > sizes(s):
		return 1
	}
	return 0
}

// fill takes the numbers of a result.
func (j *judge) fill(v *Verdict, r *result) {
	for k, t := range r.tallies {
		o := Output{Index: k, Elements: j.op.Outputs[k].elements(), Checked: t.checked, How: "all", Bad: t.bad, Beyond: t.beyond, Worst: t.worst,
			RMS: t.root(t.wide), Width: t.width(), Overflow: t.overflow, Skipped: t.skipped, First: t.first, Spots: t.spots}
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
			o.Worst = math.Inf(1)
		}
		v.Outputs = append(v.Outputs, o)
	}
}

// inPlace reports whether the output lies where an input was.
func (j *judge) inPlace() (bool, error) {
	switch f := j.formula; {
	case j.op.Called || f.repeats:
		return false, nil
	case j.op.Overlap != nil:
		return *j.op.Overlap, nil
	case slices.Contains([]Class{Move, Converted, Integral}, f.class):
		return false, nil
	}
	const few = 8
	x, y := j.op.Inputs[0], j.op.Outputs[0]
	if x == nil || x.Stored != y.Stored || !x.Shape.Equal(y.Shape) || x.elements() <= few {
		return false, nil
	}
	return SameBytes(j.ctx, x, y)
}

// excuse judges an operator with all elements within the wide bound.
func (j *judge) excuse(v *Verdict, r *result) error {
	v.Status, v.Confidence = OK, High
	if r.beyond() == 0 && !r.strictly() {
		return nil
	}
	v.Status, v.Confidence = Low, Medium
	if other, name, err := j.otherUsual(r); other != nil || err != nil {
		if err == nil {
			v.Status, v.Reason, v.Confidence, v.Extent = Wrong, ByCalcError, High, All
			v.Why = lang.Say("%s=%s gives all elements, %s does not", name, other.attrs[name].Value, r.attrs[name].Value)
		}
		return err
	}
	shape := r.shape
	if shape.reason == NoReason {
		if r.loose() > mostLoose {
			*v = *undecided(IllConditioned, lang.Sentence{})
			return nil
		}
		coarse, err := j.coarse()
		if err != nil || !coarse {
			return err
		}
		shape = structure{reason: ByPrecision, note: Coarse}
	}
	v.Status, v.Reason = Wrong, shape.reason
	if j.isKnown() {
		v.Confidence = High
	}
	if shape.note != "" {
		v.Notes = append(v.Notes, shape.note)
	}
	return nil
}

// otherUsual returns the result and the name of an attribute that is known, and with another usual or fitted
// value of which all elements lie within the narrow bound; nil where there is none.
func (j *judge) otherUsual(r *result) (*result, string, error) {
	if r.beyond() == 0 {
		return nil, "", nil
	}
	for _, a := range j.formula.attrs {
		if a.choices == nil || !j.says(a) || len(a.names) > 1 {
			continue
		}
		others, err := j.fitOther(r, a)
		if err != nil {
			return nil, "", err
		}
		for _, c := range append(a.choices(&problem{ctx: j.ctx, Operator: j.op}), others...) {
			for _, few := range []bool{true, false} {
				s, err := j.run(j.asPassed(j.fromFront(r.attrs.with(c))), few)
				if err != nil {
					return nil, "", err
				}
				if !s.why.IsZero() || !s.explains() || s.beyond() > 0 || s.strictly() {
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

// fitOther fits a number of few digits, as people choose them, to an output that is off nearly everywhere by more
// than the narrow bound; nothing for other attributes and outputs.
func (j *judge) fitOther(r *result, a attribute) ([]Attributes, error) {
	const nearlyAll, digits = 0.9, 2
	if a.fit == nil || float64(r.beyond()) < nearlyAll*float64(r.checked()) || r.checked() < 2*leastAsked {
		return nil, nil
	}
	wide := j.machine.wide
	j.machine.wide = j.machine.narrow // what elements allow
	x, ok, err := j.solve(r.attrs, a, false)
	j.machine.wide = wide
	if !ok || err != nil {
		return nil, err
	}
	return []Attributes{{a.names[0]: {Number(shortened(x, digits)), FromFit}}}, nil
}

// structure is what rounding cannot make of differences inside the wide bound: a reason and
// a note on it.
type structure struct {
	reason Reason
	note   Note
}

// mostLoose is the widest bound, beside the values, that says something.
const mostLoose = .1

// loose is how wide the widest bound is beside the values.
func (r *result) loose() (widest float64) {
	for _, t := range r.tallies {
		widest = max(widest, t.loose())
	}
	return widest
}

// structure looks at differences of which all are inside the wide bound, but not all inside
// the narrow one.
func (r *result) structure(d tensor.DType) structure {
	if r.bad() > 0 || r.beyond() == 0 && !r.strictly() {
		return structure{}
	}
	if r.loose() < mostLoose {
		if slices.ContainsFunc(r.tallies, (*tally).scaled) {
			return structure{reason: ByScale}
		}
	}
	if r.lost(d) {
		return structure{reason: ByPrecision, note: LostSums}
	}
	return structure{}
}

// strictly reports whether projections show more than the narrow bound.
func (r *result) strictly() bool {
	return r.scanned != nil && math.Sqrt(r.scanned.strict/max(1, r.scanned.cells)) > chiHit
}

// coarse reports whether the first output holds numbers of a coarser type although no input does.
func (j *judge) coarse() (bool, error) {
	d := j.op.Outputs[0].DType
	if slices.Contains([]Class{Move, Exact, Converted, Integral}, j.formula.class) || d != tensor.Float32 && d != tensor.Float16 {
		return false, nil
	}
	of, err := j.coarserType(j.op.Outputs[0])
	if err != nil || of == tensor.Undefined {
		return false, err
	}
	for _, t := range j.op.Inputs {
		if t == nil || !isFloat(t.DType) || t.elements() < leastCoarse {
			continue
		}
		if in, err := j.coarserType(t); err != nil || in != tensor.Undefined {
			return false, err
		}
	}
	return true, nil
}

const leastCoarse = 64

// coarserType is a type coarser than the tensor's that all its elements fit, Undefined without such a type
// and if too few elements tell.
func (j *judge) coarserType(t *Tensor) (tensor.DType, error) {
	v, err := t.numbers(t.elements())
	if err = cmp.Or(err, j.ctx.Err()); err != nil || t.elements() < leastCoarse || v.Fine < tensor.LeastFine {
		return tensor.Undefined, err
	}
	if of := v.Coarsest(0); formatOf(of).Mantissa < formatOf(t.DType).Mantissa {
		return of, nil
	}
	return tensor.Undefined, nil
}

// missing says what an operator lacks that the formula cannot do without: an input, also one of a
// list, by its name, or an output.
func (f *formula) missing(op *Operator) (r Reason, name string) {
	for k, spec := range strings.Fields(f.inputs) {
		switch {
		case strings.HasSuffix(spec, "?"):
		case op.input(k) == nil, strings.HasSuffix(spec, "*") && slices.Contains(op.Inputs[k:], nil):
			return NoInputs, strings.TrimSuffix(spec, "*")
		}
	}
	if len(op.Outputs) == 0 || slices.Contains(op.Outputs, nil) {
		return NoOutputs, ""
	}
	return NoReason, ""
}

// judged are the outputs that the formula has: those before one that was not dumped. Of a formula
// of all parts of an input none may be missing.
func (f *formula) judged(outputs []*Tensor) []*Tensor {
	n := slices.Index(outputs, nil)
	switch {
	case f.each && n >= 0:
		return nil
	case f.each:
		return outputs
	case n < 0:
		n = len(outputs)
	}
	return outputs[:min(n, max(1, f.outputs))]
}
