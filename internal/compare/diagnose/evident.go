package diagnose

import (
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/record"
	"dumptool/internal/compare/verdict"
	"dumptool/internal/finding"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lists"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// evidenceRow is a row during the judgement by evidence.
type evidenceRow struct {
	*row
	verdict   verdict.Verdict
	inputRows []*evidenceRow
	// secondRatio is the error divided by the noise of the second reference, 0 without a second
	// reference.
	secondRatio      float64
	depth            int    // number of operators on the longest path to the row
	outputsBefore    int    // number of outputs judged before it
	hasLostNumbers   bool   // some pairs have NaN or infinity only in the reference
	hasGuessedInputs bool   // the inputs are assumed to be the rows before it
	inferredInputs   []*row // the inputs, if they were identified by their values
	isOrigin         bool
	hasNoBound       bool // statistics judge it, see isUnbounded
	isDamaged        bool
	followsChoice    bool  // an input is random, or selected by tied indices
	isCoarser        bool  // it computes in a coarser type, while a few operators of its kind do not
	usesHF32         bool  // a product of inputs rounded to 11 bits
	countLeftOut     int64 // number of elements not judged, since an index within its error selects them
	// hasBiasOfInputs: the inputs have a bias of the same sign as the row.
	hasBiasOfInputs bool
	isDownstream    bool   // it fails because an input fails
	unpaired        []*row // outputs of operators that only one side ran before this input, which is far off
	gap             *row   // an input inside a module that starts apart there, since its producer was not dumped
	isExternal      bool   // it comes from outside the run, see isOutside
	isCleared       bool   // right for its own inputs, but different from the reference
	unwritten       unwritten
	rules           []string // names of the rules of the network that hold
}

// guessedInputs is the number of preceding rows that are assumed to be the inputs of a row if no graph names its inputs.
const guessedInputs = 12

// inputs returns the known rows from which the row was computed.
func (x *evidenceRow) inputs() []*row {
	n, o := x.network, x.operator
	switch {
	case x.producer != nil:
		return []*row{x.producer}
	case x.copiedFrom != nil:
		return []*row{x.copiedFrom}
	case x.isInput && o.isKnown && len(o.inputs) > 1: // unknown which input it was computed from
		return nil
	case len(x.inferredInputs) > 0:
		return x.inferredInputs
	case !x.isInput && len(o.inputs) > 0:
		return slices.Concat(o.readRows(), x.childOutputs())
	case x.hasGuessedInputs:
		return slices.Clip(n.judgedOutputs[max(0, x.outputsBefore-guessedInputs):x.outputsBefore])
	case o.isKnown:
		return o.sources
	}
	return nil
}

// Judgement has the verdicts by evidence on the rows of a round.
type Judgement struct {
	*dataFlow
	// Unfit: the graph was not used, because too many operators would have been origins.
	Unfit      bool
	evidence   []evidenceRow    // by row index
	commonType tensor.DType     // the type whose values most float32 arrays hold
	tallies    map[string]tally // float32 arrays by type of operator
	// oneSidedTypes holds the types that some row stores on one side only, as after autocast.
	oneSidedTypes    map[tensor.DType]bool
	hf32             map[optype.Form]bool      // kinds of products whose inputs are rounded to 11 bits
	unread           []bool                    // rows that no operator reads, nil if there are none
	judgedRows       int                       // number of judged rows
	gaps             []*evidenceRow            // modules with an error that begins inside, behind their inputs and before any dumped output
	isReached        bool                      // an earlier communication brought an error of another rank
	hasRandom        bool                      // an earlier row holds other random numbers
	usualByPlace     map[string]*errorsOfPlace // errors of inputs without a producer, see usualErrors
	outputErrors     []float64                 // sorted relative errors of outputs, see isFarGradient
	hasChosenIndices bool                      // an earlier output of integers differs
	origins          []*evidenceRow
	isApplied        bool // the statuses are set by evidence
	rounder          verdict.Rounder
}

// Judge judges all rows of a round by the errors that their operators add.
func Judge(rows []record.Row, known Network) *Judgement {
	j := judge(newNetwork(rows, known))
	hasFlow := len(known.Graph) > 0 || slices.ContainsFunc(j.operators, func(o *operator) bool { return o.isKnown })
	if n := j.countUnproven(); known.IsOrdered && hasFlow && n >= limits.FewOrigins && float64(n) > limits.TooManyOrigins*float64(j.judgedRows) {
		if len(known.Graph) == 0 {
			known.Flow = FlowFiles
		}
		known.Graph = nil
		j = judge(newNetwork(rows, known))
		j.Unfit = true
	}
	for i := range j.evidence {
		if x := &j.evidence[i]; x.hasBiasOfInputs && x.status == record.Warn && !x.source.Forced &&
			len(x.source.Pair.Reasons) > 0 && len(finding.WithoutCode(x.source.Pair.Reasons, finding.Bias)) == 0 {
			x.status = record.Pass
		}
	}
	return j
}

// CountByContent returns the number of operators whose inputs were found by equal elements, and the number of all
// operators.
func (j *Judgement) CountByContent() (known, total int) { return j.countByContent(), len(j.operators) }

// Write sets the fields of the rows from the judgement.
func (j *Judgement) Write() {
	for i := range j.rows {
		to, x := j.rows[i].source, &j.evidence[i]
		to.Inputs = j.rows[i].inputRows()
		var reasons []finding.Finding
		if x.row != nil {
			to.Status, to.Evidence, to.Type = x.status, x.toRecord(), x.heldType
			if x.hasBiasOfInputs && finding.Has(to.Reasons, finding.Bias) {
				to.Reasons = finding.WithoutCode(to.Reasons, finding.Bias)
			}
			switch {
			case j.isApplied:
				reasons = x.withFacts(x.explain())
			case x.isOrigin: // the limits may have accused an input
				reasons = x.withFacts(x.explain())
				to.Reasons = finding.WithoutCode(finding.WithoutCode(to.Reasons, finding.LayerInputBad), finding.Unknown)
			}
			if j.isApplied && x.isCompared {
				to.Downstream = x.isDownstream
			}
		}
		to.Reasons = finding.Merge(reasons, to.Reasons)
	}
}

// judgementOf returns the judgement of a row, nil until it has been walked.
func (j *Judgement) judgementOf(r *row) *evidenceRow {
	if x := &j.evidence[r.index]; x.row != nil {
		return x
	}
	return nil
}

// Origins returns the rows where an independent error begins, in the order of the data
// flow.
func (j *Judgement) Origins() []int {
	return lists.Map(j.origins, func(x *evidenceRow) int { return x.index })
}

// judge judges the rows of a network. It repeats the walk if the first walk shows that products
// have inputs of fewer bits, or that nothing reads some wrong rows.
func judge(n *dataFlow) *Judgement {
	n.walkOrder = n.walk()
	j := walk(&Judgement{dataFlow: n})
	if j.hf32 = j.findHF32(); len(j.hf32) > 0 {
		j = walk(&Judgement{dataFlow: n, hf32: j.hf32})
	}
	if j.unread = j.findUnread(); j.unread != nil {
		j = walk(&Judgement{dataFlow: n, hf32: j.hf32, unread: j.unread})
	}
	readers := j.readers()
	for _, x := range j.origins {
		if x.mayBeOtherStart(readers[x.operator.index]) {
			x.verdict.Kind = verdict.Apart
		}
	}
	return j
}

// walk judges the rows one after the other.
func walk(j *Judgement) *Judgement {
	n := j.dataFlow
	n.judgedOutputs, j.evidence = nil, make([]evidenceRow, len(n.rows))
	for i := range n.rows {
		if n.rows[i].heldType = ""; n.rows[i].isCompared {
			n.rows[i].noise = n.rows[i].source.Noise
		}
	}
	j.countHeldTypes()
	for _, o := range n.walkOrder {
		for _, r := range slices.Concat(o.inputs, o.orderedOutputs()) {
			x := &j.evidence[r.index]
			*x = j.judge(r)
			j.judgedRows++
			if x.isOrigin && !slices.ContainsFunc(j.origins, func(o *evidenceRow) bool { return o.operator == x.operator && !o.isInput && !x.isInput }) {
				j.origins = append(j.origins, x)
			}
		}
		for _, r := range o.outputs {
			if r.noise != nil {
				if j.judgedOutputs = append(j.judgedOutputs, r); len(j.judgedOutputs) > searchedRows {
					j.judgedOutputs[len(j.judgedOutputs)-1-searchedRows].sourceCache = nil
				}
			}
		}
	}
	return j
}

// judge judges a row whose inputs have been judged.
func (j *Judgement) judge(r *row) evidenceRow {
	x := evidenceRow{row: r, depth: 1, outputsBefore: len(j.judgedOutputs)}
	o, source, dumpedInputs := r.operator, r.source, r.operator.inputs
	op := verdict.Operator{Type: r.typ, AnyClass: j.IgnoresClass, Output: source.Output, Known: o.isKnown, HF32: r.isProduct() && (j.HF32 == HF32On || j.hf32[r.product()])}
	switch {
	case r.producer != nil || r.copiedFrom != nil:
		op.Type = optype.Type{Class: optype.Move}
	case !r.isInput && len(dumpedInputs) > 0:
	case o.isKnown:
		op.Hidden = len(o.bypassed) > 0
		if r.isInput || o.isLooped || op.Hidden {
			op.Type = optype.Type{}
		}
	case j.IsOrdered:
		x.hasGuessedInputs = len(j.judgedOutputs) > 0
		op.Type = optype.Type{}
	default:
		op.Type = optype.Type{}
	}
	op.Guessed, x.usesHF32 = x.hasGuessedInputs || len(x.childOutputs()) > 0, op.HF32
	if o.forward != nil && !r.isInput {
		op.Gradients = len(dumpedInputs)
	}
	x.findHeldType(j)
	op.Out = r.noise
	bad, isSuspect := false, false // an input has another shape; an input differs beyond rounding
	inputs := x.inputs()
	op.Inputs = make([]*noise.Noise, 0, len(inputs))
	for _, in := range inputs {
		if before := j.judgementOf(in); before != nil { // nil in a cycle
			x.depth = max(x.depth, before.depth+1)
			op.Behind = op.Behind || before.followsChoice
			isSuspect = isSuspect || before.verdict.Level >= verdict.Suspect
			x.dependOn(before, !before.isEqual())
		}
		if in.noise != nil {
			op.Inputs = append(op.Inputs, in.noise)
		} else {
			bad = bad || !in.isCompared
			op.Type = optype.Type{}
		}
	}
	for peer := range j.Peers.Of(source) {
		if !r.isInput && peer.IsCompared() && peer.Noise != nil {
			op.Inputs = append(op.Inputs, peer.Noise)
		}
	}
	if j.Peers.AreDamaged(source) {
		j.isReached = true
	}
	op.Tainted = len(x.inputRows) > 0 || j.Peers.AreDamaged(source)
	badInside := false // a bad operator inside this one explains the row
	for _, in := range r.innerOutputs() {
		if before := j.judgementOf(in); before != nil && before.isBad() {
			badInside = true
			x.dependOn(before, true)
		}
	}
	switch {
	case !r.isCompared:
		if n := len(j.origins); r.isInput && len(inputs) == 0 && n > 0 && j.origins[n-1].source.Round == source.Round {
			x.dependOn(j.origins[n-1], true) // the size is not wrong in the input, but in an unknown producer
		}
		switch {
		case !r.hasFailed() || badInside:
		case source.Self.IsWrong():
			x.isOrigin = true
		case r.isInput:
			x.isOrigin = !bad && len(x.inputRows) == 0 && (j.IsOrdered || len(inputs) > 0)
		default:
			x.isOrigin = !bad && len(x.inputRows) == 0 && !(isSuspect && source.Self.IsRight())
		}
		return x
	case r.noise == nil:
		x.isOrigin = r.hasFailed() && !op.Tainted && !badInside
		return x
	}
	x.countLeftOut = x.leaveOutSelected(&op)
	x.verdict = x.judgeWritten(j, &op)
	x.isExternal = j.isOutside(&x)
	s := &ruleState{evidenceRow: &x, j: j, op: &op, hasInnerOrigin: badInside, isCarriedInput: r.isInput && len(x.inputs()) == 0 && (j.judgedRows > 0 || j.IsPartial)}
	s.apply(hypotheses)
	x.countLeftOut += x.verdict.LeftOut
	x.hasBiasOfInputs = op.BiasOfInputs()
	x.hasLostNumbers = lostNumbers(r.result()) > 0
	s.apply(excuses)
	x.isOrigin = !badInside && x.verdict.Level == verdict.Origin
	s.apply(places)
	j.hasRandom = j.hasRandom || x.verdict.Kind == verdict.Drawn
	j.hasChosenIndices = j.hasChosenIndices || !r.isInput && r.noise.Type.Integer && r.noise.RMS > 0
	x.followsChoice = op.Behind || x.verdict.Level == verdict.Suspect && x.verdict.Kind >= verdict.Drawn
	if len(x.inputRows) > 0 && !x.isOrigin {
		newNaN := op.Out.NonFinite > 0 || x.hasLostNumbers
		x.isDamaged = x.verdict.Kind == verdict.InputNaN && newNaN || op.IsDamaged(&j.rounder)
	}
	return x
}

// Unbounded returns the rows with elements that statistics judge.
func (j *Judgement) Unbounded() (rows []int) {
	for i := range j.evidence {
		if x := &j.evidence[i]; x.hasNoBound && !x.isOrigin {
			rows = append(rows, i)
		}
	}
	return rows
}

// isEqual reports whether the tensor equals the reference. No error passes through such a tensor, whatever its inputs
// are.
func (x *evidenceRow) isEqual() bool {
	return x.noise != nil && !x.hasLostNumbers && x.noise.RMS == 0 && x.noise.NonFinite == 0
}

// lostNumbers counts the pairs with NaN or infinity in the reference and a number on the NPU,
// except an infinity beside the limit of the NPU's type.
func lostNumbers(res *metrics.Result) int64 {
	finite := &res.Classes[metrics.Finite]
	return finite[metrics.NaN] + max(finite[metrics.PosInf]+finite[metrics.NegInf]-res.SaturatedErrors, 0)
}

// isBad reports whether the row is an origin or depends on one.
func (x *evidenceRow) isBad() bool { return x.isOrigin || len(x.inputRows) > 0 }

// mayLose reports whether a row has NaN or infinities that may turn numbers into NaN downstream.
func (j *Judgement) mayLose(in *row) bool {
	before := j.judgementOf(in)
	return before != nil && (before.hasLostNumbers || before.verdict.Kind == verdict.NonFinite)
}

// isUnexplained reports whether a row fails by limits and rounding does not explain its error.
func (j *Judgement) isUnexplained(r *row) bool {
	x := j.judgementOf(r)
	return r.hasFailed() && (x == nil || x.noise == nil || x.isBad() || x.verdict.Level > verdict.Clean)
}

// dependOn adds before to the origins that the row depends on, if before is an origin. With passesOn (the errors of
// before pass through) it also adds the origins that before depends on.
func (x *evidenceRow) dependOn(before *evidenceRow, passesOn bool) {
	if passesOn {
		x.addOrigins(before.inputRows...)
	}
	if before.isOrigin {
		x.addOrigins(before)
	}
}

// addOrigins adds origins that the row depends on, each once. Most rows have the same origins as an
// input, and share its slice.
func (x *evidenceRow) addOrigins(origins ...*evidenceRow) {
	if len(x.inputRows) == 0 {
		x.inputRows = slices.Clip(origins)
		return
	}
	for _, o := range origins {
		if !slices.Contains(x.inputRows, o) {
			x.inputRows = append(x.inputRows, o)
		}
	}
}

// isOriginWithoutInputs reports whether a row is an origin even if its producers are unknown: its error has a form that
// rounding cannot have, or is large.
func isOriginWithoutInputs(op *verdict.Operator, v *verdict.Verdict) bool {
	formed := []verdict.Kind{verdict.NonFinite, verdict.Overflow, verdict.Scaled, verdict.Constant, verdict.BeyondNoise}
	return slices.Contains(formed, v.Kind) || v.Structured || hasLargeError(op)
}

// hasLargeError reports whether the error of an output exceeds a quarter of the reference (rms).
func hasLargeError(op *verdict.Operator) bool { return op.Out.RMS > 0.25*op.Out.RefRMS }

// hasSpecificPattern reports whether a failing row has a pattern of faultsOnly that no input has.
func (x *evidenceRow) hasSpecificPattern(op *verdict.Operator) bool {
	if x.verdict.Score <= 1.5 || x.verdict.Exact || op.Tainted {
		return false
	}
	return slices.ContainsFunc(x.patterns(), func(f finding.Finding) bool {
		return slices.Contains(faultsOnly, f.Code) && !x.isInherited(f.Code)
	})
}

// faultsOnly are patterns that only a fault causes.
var faultsOnly = []finding.Code{finding.Duplicate, finding.Swapped, finding.Shift, finding.Layout, finding.Endian, finding.DTypeMisread, finding.ZeroTail, finding.Wrap, finding.Saturation}

// Apply sets the statuses of all rows, and their reasons, by evidence. Like Conclude it returns
// where the errors begin; FirstBad and FirstDamaged are the first origin, if the order or the
// data flow is known.
func (j *Judgement) Apply() (v record.Findings) {
	for i := range j.evidence {
		if x := &j.evidence[i]; x.row != nil && x.isCompared {
			// A row always fails if a gate rejects it, or if the policy for NaN leaves nothing to compare.
			source := x.source
			gate := finding.Has(source.Pair.Reasons, finding.Gate) || x.hasFailed() && finding.Has(source.Pair.Reasons, finding.NPUNaN)
			x.status = x.evidenceOfStatus().Status(x.status, source, gate)
			x.isDownstream = x.status == record.Fail && !x.isOrigin && !gate
		}
	}
	j.isApplied = true
	v = record.NoFindings()
	v.Origins = j.Origins()
	if len(j.origins) > 0 && (j.IsOrdered || len(j.Graph) > 0 || j.countByContent() > 0) {
		v.FirstBad, v.FirstDamaged = v.Origins[0], v.Origins[0]
		if j.IsOrdered {
			j.findLastGood(&v, func(r *row) bool { return r.status.Passes() })
		}
		j.findDependentRows(&v)
	}
	if j.IsOrdered {
		j.findFirsts(&v)
	}
	if j.findLargestJump(&v); v.LargestJump >= 0 && !j.evidence[v.LargestJump].isOrigin {
		v.LargestJump, v.Jump = -1, 0 // meaningless if nothing is wrong
	}
	return v
}

// MoveFirstBad makes the first origin that fails by limits the first bad row of a round, so that
// limits and evidence name the same operator; the first origin if all of them are within the limits.
func (j *Judgement) MoveFirstBad(v *record.Findings) {
	if v.FirstBad < 0 || len(j.origins) == 0 {
		return
	}
	i := max(0, slices.IndexFunc(j.origins, func(x *evidenceRow) bool { return x.hasFailed() }))
	if j.origins[i].index == v.FirstBad {
		return
	}
	v.FirstBad, v.FirstDamaged = j.origins[i].index, j.origins[i].index
	v.LastGood, v.Suspects, v.Chain, v.OutputsBad = -1, nil, nil, false
	j.findLastGood(v, (*row).isGood)
	j.findDependentRows(v)
}

// evidenceOfStatus returns the evidence from which the status follows.
func (x *evidenceRow) evidenceOfStatus() *record.Evidence {
	e := &record.Evidence{FedBy: []int{}, Damaged: x.isDamaged, BiasOfInputs: x.hasBiasOfInputs, Level: int(x.verdict.Level), Kind: x.verdict.Kind.String()}
	for _, o := range x.inputRows {
		e.FedBy = append(e.FedBy, o.index)
	}
	slices.Sort(e.FedBy)
	if x.isOrigin {
		e.Level = record.IsOrigin
	}
	return e
}

// toRecord returns the evidence for reports, nil for a row that was not compared.
func (x *evidenceRow) toRecord() *record.Evidence {
	if !x.isCompared {
		return nil
	}
	e := x.evidenceOfStatus()
	e.Noise = jsonpos.Float(x.secondRatio)
	if n := x.noise; n != nil {
		v := &x.verdict
		e.Class, e.RMS, e.RefRMS, e.Rounding = v.Class.String(), jsonpos.Float(n.RMS), jsonpos.Float(n.RefRMS), jsonpos.Float(n.Rounding)
		e.Expected, e.Propagated, e.Own = jsonpos.Float(v.Sum), jsonpos.Float(v.Propagated), jsonpos.Float(v.Expectation.Own)
		if n.RefRMS == 0 && n.RMS == 0 {
			e.Expected = 0 // the score is divided by the sum, which has a minimum
		}
		e.Score, e.Rows, e.Channels = jsonpos.Float(v.Score), jsonpos.Float(v.RowScore), jsonpos.Float(v.ChannelScore)
		e.Peak, e.ScaleZ = jsonpos.Float(v.PeakScore), jsonpos.Float(v.ScaleZ)
		if power, ok := v.Power(n); ok {
			e.Power, e.Judged = metrics.NumberOf(power), power <= record.MostPower
		}
		e.LeftOut, e.HF32 = x.countLeftOut, x.usesHF32
		e.Rules = append([]string{v.Rule}, x.rules...)
	}
	e.Start = x.isExternal
	return e
}
