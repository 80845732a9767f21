package statistics

import (
	"cmp"
	"math"
	"slices"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

const (
	// unknownNoise is the expected noise, as a share of the root mean square, above which only zeros, constants and NaN
	// are judged.
	unknownNoise = 0.5
	// The limits of an output with expected noise e and n elements: norm and mean may differ by inPhase*e (all noise
	// may be in phase) + sigmas*e/sqrt(n) (three standard deviations), max and min by extremes*e (the largest of a
	// few samples). Gradients have lateRatio of these limits.
	inPhase   = 0.8
	sigmas    = 3.0
	extremes  = 4.0
	lateRatio = 0.8
	// floor is the relative difference that the printed digits alone make.
	floor = 2e-6
	// certain is the minimum score of an origin with high confidence.
	certain = 10
	// reserve: an output of a forward call is wrong if it uses more of its limit than reserve times the largest share
	// that forward calls used so far. Each further call multiplies this share by fades.
	reserve   = 6
	fadeRatio = 0.98
	// narrowShare: if an operator fails, an input that passed with a score above narrow is the origin.
	narrowShare = 0.4
	// If there are at least crowd elements for each index, and the noise of the inputs is below noisyIndex, near ties
	// cannot explain that an index does not occur any more.
	crowd      = 16.0
	noisyIndex = 0.05
)

// roundingError returns the rounding error of an operator that passes noise in the given way, relative to the output.
func (v *value) roundingError(way optype.Noise) float64 {
	u := v.grid()
	if v.isFloat() {
		u = max(u, resolved)
	}
	if way == optype.NoiseSums || way == optype.NoiseAttention || way == optype.NoiseUnknown && v.op.module {
		u = max(u, products)
	}
	return u
}

// output judges a tensor that a call produced. The first case that holds decides.
func (j *judge) output(c *call, v *value) {
	v.noise, v.taint = 0, c.taint
	v.isTied = c.followsTie && (c.noise == optype.NoiseMove || !slices.ContainsFunc(c.ins, func(in *value) bool { return in.isPaired() && !in.isTied }))
	switch {
	case v.row.Status == record.Fail: // an error that came in inside this module, see reportHiddenOrigin
		v.setConsequence(origin)
	case c.noise == optype.NoiseGarbage:
		v.taint = unread
	case v.isMeasured:
		v.noise, v.taint = v.measuredNoise()
	case v.hasOtherShape && c.typ.Sized && c.taint != origin && c.largestNoise() > 0:
		j.startTaint(v, cmp.Or(c.taint, flip))
		v.setEvidence(string(finding.Flip))
	case v.hasOtherShape && c.taint == clean:
		j.reportOrigin(v, string(finding.ShapeDiffers), finding.High, v.text())
	case v.hasOtherShape:
		v.setConsequence(cmp.Or(c.taint, origin))
	case !v.ref.hasRange():
		v.noise = c.largestNoise()
	case c.noise == optype.NoiseRandom && !c.backward && c.hasOtherRandoms(v):
		j.startTaint(v, random)
		v.setEvidence("RANDOM")
	case !v.isFloat():
		j.judgeIntegers(c, v)
	default:
		j.judgeFloats(c, v)
	}
}

// largestNoise returns the largest noise of the inputs.
func (c *call) largestNoise() float64 { return largestOf(c.entries, noiseIn) }

// hasOtherRandoms reports whether the output of a random operator holds other random numbers. Dropout outside of training
// draws none: it passes its input on.
func (c *call) hasOtherRandoms(v *value) bool {
	if v.isSame || slices.ContainsFunc(c.ins, func(in *value) bool { return isSameReading(in.ref, v.ref) }) {
		return false
	}
	noise := c.largestNoise()
	return !v.isFloat() || max(v.norm, v.mean)*math.Sqrt(v.ref.n) > 0.05+float64(5*noise) || v.z > maxDrift*max(v.roundingError(c.noise), noise)
}

// judgeIntegers judges an output of integers or bools.
func (j *judge) judgeIntegers(c *call, v *value) {
	noise := c.largestNoise() // of floating-point and of integer inputs
	floats := slices.ContainsFunc(c.entries, func(e entry) bool { return e.isFloat() })
	step := v.max == v.min && v.max != 0 && !v.ref.isConstant() && v.max == math.Trunc(v.max) && v.ref.dtype != tensor.Bool && (!v.ref.Mean.IsDefined() || math.Abs(v.shift-v.max) <= 0.1*math.Abs(v.max))
	few := float64(10*v.ref.n*noise) < 0.02 // too little noise for another choice
	v.isTied = v.isTied || floats && !few && !v.ref.Mean.IsDefined() && v.ref.Digest == "" && (c.typ.Indices != 0 || c.typ.Class == optype.Index)
	switch {
	case v.isSame && c.taint == origin && v.mayDiffer():
		j.damagedChoice = true
	case v.isSame:
		v.noise, v.taint = 0, clean
	case c.taint != clean:
		v.setConsequence(c.taint)
	case step && v.ref.n >= 2:
		j.reportOrigin(v, string(finding.Offset), finding.High, lang.Say("every index is off by %g: %s", v.max, v.text()))
	case (c.typ.Indices != 0 || c.typ.Class == optype.Index) && (v.npu.Min.Value() < 0 && v.ref.Min.Value() >= 0 || v.npu.Max.Value() >= c.longest(v) && v.ref.Max.Value() < c.longest(v)):
		j.reportOrigin(v, string(finding.Exact), finding.High, lang.Say("an index is outside of the input: %s", v.text()))
	case c.typ.Indices != 0 && noise < noisyIndex && (v.max != 0 || v.min != 0) && v.ref.n >= crowd*(1+v.ref.Max.Value()-v.ref.Min.Value()):
		j.reportOrigin(v, string(finding.Exact), finding.Low, lang.Say("the output has at least %.0f elements for each possible index, but the largest or smallest index of the reference does not occur: %s", crowd, v.text()))
	case !floats && !c.followsTie && c.noise != optype.NoiseRandom:
		j.reportOrigin(v, string(finding.Exact), finding.High, lang.Say("the integer inputs are equal on both sides, but the integer output differs: %s", v.text()))
	case floats && few && !c.followsTie && !j.taintsSoFar[flip]:
		j.reportOrigin(v, string(finding.Exact), finding.Low, lang.Say("the inputs differ by only %.1g, too little to change the choice: %s", noise, v.text()))
	default:
		j.startTaint(v, flip)
		v.setEvidence("FLIP")
	}
}

// mayDiffer reports whether elements of an integer tensor may differ although its statistics are equal, because these
// are only the largest and the smallest element.
func (v *value) mayDiffer() bool { return v.ref.Digest == "" && !v.ref.Mean.IsDefined() }

// longest returns the largest dimension of the inputs; for an index operator the number of elements from which each
// index is chosen.
func (c *call) longest(v *value) float64 {
	longest := int64(1)
	for _, in := range c.ins {
		if in.npu == nil || len(in.npu.shape) == 0 {
			continue
		}
		longest = max(longest, slices.Max(in.npu.shape))
		if c.typ.Class == optype.Index {
			longest = int64(in.npu.n / max(1, v.ref.n))
		}
	}
	return float64(longest)
}

// judgeFloats judges a floating-point output.
func (j *judge) judgeFloats(c *call, v *value) {
	made := j.producers(v.ref)
	switch {
	case v.npu.hasRange() && v.isLost:
		j.judgeNonFinite(c, v, made)
		return
	case !v.ref.isFinite():
		v.noise = c.largestNoise()
		return
	case (c.noise == optype.NoiseMove || c.noise == optype.NoiseRandom) && !c.unreliable && c.taint != origin && j.judgeMoved(c, v), len(made) > 0 && j.judgeRepeated(c, v, made):
		return
	}
	e, hard := c.expectCapped(v), v.constantPattern(c)
	v.expected = e
	vague := c.noise == optype.NoiseLipschitz || c.noise == optype.NoiseUnknown || c.noise == optype.NoiseMove
	if j.isLowCoverage { // the noise of operators without a partner is not known
		e = max(e, unknownNoise)
	}
	switch {
	case hard != "" && (c.taint == clean || !c.module && !c.isLate() && c.taint != origin && c.noise != optype.NoiseLipschitz) &&
		!(vague && v.expected >= unknownNoise) && v.ref.magnitude() > 3e-7:
		j.reportOrigin(v, hard, finding.High, lang.Say("%s; the operator's inputs are not constant", v.text()))
	case c.taint != clean:
		v.setConsequence(c.taint)
		v.expected = max(j.forward, j.backward)
	case j.isFarGradient(v) && (len(j.origins) > 0 || j.peers.AreDamaged(v.row)):
		v.setConsequence(origin)
		v.expected = j.typical()
	case j.isFarGradient(v):
		v.expected = j.typical()
		j.reportOrigin(v, string(finding.CameIn), finding.Medium, lang.Say("no dumped operator produced this gradient; relative difference %.2g, of outputs of the run typically %.2g", v.z, j.typical()))
	case e >= unknownNoise:
		v.noise = v.noiseOfPassed(e, j.largest)
	default:
		j.testDifferences(c, v, e)
	}
}

// judgeNonFinite judges an output with NaN or infinities on the NPU where the reference is finite.
func (j *judge) judgeNonFinite(c *call, v *value, made []*value) {
	switch {
	case len(made) > 0 && isSameReading(made[0].npu, v.npu), c.taint == origin, j.peers.AreDamaged(v.row), len(c.ins) == 0 && j.past.Damaged:
		v.setConsequence(origin)
	case c.hasPole(v):
		v.setConsequence(came)
		v.set(record.Warn, finding.NPUNaN, finding.Medium, lang.Say("NaN or infinities result from an input that rounds to 0 on the NPU: %s", v.text()))
	case !c.hasNaN && !(j.nan && (c.isLate() || c.module)):
		j.nan = true
		j.reportOrigin(v, "NAN", finding.High, lang.Say("the operator's output has NaN or infinities: %s; its inputs are finite", v.text()))
	default:
		v.setConsequence(cmp.Or(c.taint, origin))
	}
}

// hasPole reports whether the NaN and infinities of an output follow from an input that reaches 0 on the NPU alone. A
// function of one input, such as a logarithm, is infinite at 0, not NaN.
func (c *call) hasPole(v *value) bool {
	i := slices.IndexFunc(c.ins, (*value).reachesZero)
	return i >= 0 && !(len(c.ins) == 1 && c.ins[i].npu.Min.Value() == 0 && math.IsNaN(v.npu.Max.Value()))
}

// reachesZero reports whether noise explains that an input reaches 0 on the NPU alone: a quotient is infinite there.
func (v *value) reachesZero() bool {
	return v.isPaired() && v.isFloat() && v.taint == clean && v.ref.Min.Value() > 0 && v.noise*v.ref.rms() >= v.ref.Min.Value() && v.npu.Min.Value() <= 0
}

// constantPattern returns the pattern of an output whose elements are all equal (ZERO_OUTPUT, CONSTANT) although the
// elements of the reference and of the inputs are not; empty otherwise.
func (v *value) constantPattern(c *call) string {
	constant := func(in *value) bool {
		return in.npu != nil && in.npu.hasRange() && in.npu.isFloat() && (in.npu.isConstant() || in.npu.magnitude() == 0)
	}
	switch {
	case v.ref.n <= 1 || !v.npu.hasRange() || v.npu.Max.Value() != v.npu.Min.Value() || v.ref.Max.Value() == v.ref.Min.Value() || v.ref.magnitude() == 0,
		slices.ContainsFunc(c.ins, constant):
		return ""
	case v.npu.Max.Value() == 0:
		return string(finding.ZeroOutput)
	case v.z > 4*v.roundingError(c.noise):
		return "CONSTANT"
	}
	return ""
}

// judgeMoved handles operators that only move elements, or pass them on as dropout does outside of training: an input
// and an output that are equal in the reference must be equal on the NPU. It reports whether they are not.
func (j *judge) judgeMoved(c *call, v *value) bool {
	for _, in := range c.ins {
		if !in.isPaired() || in.ref.dtype != v.ref.dtype || in.npu.dtype != v.npu.dtype || in.ref.n <= 1 ||
			!isSameReading(in.ref, v.ref) || !in.npu.isFinite() || in.row.Output != 0 && !c.backward || in.taint == unread {
			continue
		}
		d := differenceOf(in.npu, v.npu)
		if isSameReading(in.npu, v.npu) || d.z <= copied+float64(2*max(in.npu.normRounding, v.npu.normRounding)) {
			return false
		}
		j.reportOrigin(v, cmp.Or(errorPattern(in.npu, v.npu, &d), string(finding.NotCopied)), finding.High, lang.Say("in the reference this operator leaves its input unchanged; on the NPU it reads %s and writes %s", in.npu.text(), v.npu.text()))
		return true
	}
	return false
}

// judgeRepeated judges an output that equals an earlier tensor in the reference: the output of a module often is the
// output of an operator inside. It reports whether the output was judged.
func (j *judge) judgeRepeated(c *call, v *value, made []*value) bool {
	from := made[0]
	intact := slices.IndexFunc(made, func(p *value) bool { return isSameReading(p.npu, v.npu) })
	switch {
	case intact >= 0:
		v.noise, v.taint = made[intact].noise, made[intact].taint
	case !c.module && c.noise != optype.NoiseMove:
		return false
	case cmp.Or(c.taint, from.taint) != clean:
		v.setConsequence(cmp.Or(c.taint, from.taint))
	case v.z > maxDrift*max(from.noise, v.roundingError(c.noise), resolved):
		j.reportOrigin(v, cmp.Or(v.faultPattern(), string(finding.NotCopied)), finding.High, lang.Say("in the reference this tensor is the unchanged output of %s: %s", from.op.name, v.text()))
	default:
		v.noise, v.taint = max(from.noise, v.z), clean
	}
	return true
}

// testDifferences compares the differences of an output with the limits that follow from the expected noise e.
func (j *judge) testDifferences(c *call, v *value, e float64) {
	u, magnitude := v.roundingError(c.noise), v.ref.magnitude()
	coarse, ratio, wide := max(v.ref.normRounding, v.npu.normRounding), 1.0, 1.0
	if c.isLate() {
		ratio = lateRatio
	}
	if magnitude > 0 {
		wide = max(1, 3*v.ref.rms()/magnitude)
	}
	share := 1.0
	if !c.isLate() {
		share = min(1, reserve*j.largestShare)
	}
	for in := range j.peers.Of(v.row) {
		if of := in.Largest() / v.ref.rms(); of < 1 {
			e += of
		}
	}
	e = max(e*share, min(e, largestOf(c.entries, func(in entry) float64 { return in.z })))
	limit := float64(ratio*(float64(inPhase*e)+float64(sigmas*e)/math.Sqrt(max(v.ref.n, 1)))) + float64(2*coarse) + floor
	bounds := float64(ratio*extremes*e*wide) + floor
	if v.ref.n < 4 || c.noise == optype.NoiseMove { // no earlier statistics show the extremes of a part
		bounds += float64(2 * u)
	}
	score := max(v.norm/limit, v.mean/limit, v.bounds/bounds)
	if v.ref.isMask() {
		f := v.ref.scale()
		limit = 3 * (float64(e*f)/max(v.ref.rms(), 1e-300) + float64(2*u))
		bounds = float64(4*u) + float64(3*extremes*e*f)/magnitude
		score = max(v.norm/limit, v.mean/limit, math.Abs(v.min)/magnitude/bounds, math.Abs(v.max)/(3*extremes*e*f))
	}
	v.score, v.isJudged = score, true
	switch {
	case score <= 1:
		if score > 0 && !c.isLate() {
			j.largestShare = max(fadeRatio*j.largestShare, score*share)
		}
		v.noise, v.taint = v.noiseOfPassed(v.expected, j.largest), clean
		v.expected = e
		return
	case c.followsTie && (score*share <= certain || c.readsTiedRows(v)):
		j.startTaint(v, flip)
		v.setEvidence(string(finding.Flip))
		return
	}
	v.expected = e
	if j.peers.AreDamaged(v.row) {
		v.setConsequence(origin)
		return
	}
	if i := slices.IndexFunc(c.ins, func(in *value) bool { return in.isDoubtful }); i >= 0 {
		v.setConsequence(origin)
		j.reportHiddenOrigin(c.ins[i], j.noiseAt(c.op))
		return
	}
	if from := j.findNarrowInput(c); from != nil {
		v.setConsequence(origin)
		j.reportOrigin(from, cmp.Or(from.faultPattern(), "VALUE"), finding.Low, lang.Say("the difference is %.2g of this tensor's limit, more than for any earlier tensor; for %s, which reads this tensor, it is %.2g of the limit: %s", from.score, c.name, score, from.text()))
		return
	}
	kind, confidence := cmp.Or(v.faultPattern(), "VALUE"), finding.Medium
	if _, sure := kindOf(kind); sure || score > certain {
		confidence = finding.High
	}
	why := lang.Say("relative difference %.3g of the norm, %.3g of the mean (relative to the rms), %.3g of max or min; expected %.2g: %s", v.norm, v.mean, v.bounds, e, v.text())
	if j.isLookup(c) {
		why = lang.Say("%s; only the largest and smallest index are known, and agree: other indices, or a wrong lookup", why)
	}
	if c.noise == optype.NoiseRanks {
		why = lang.Say("%s; the inputs of this rank agree: check the other ranks, or the collective", why)
	}
	j.reportOrigin(v, kind, confidence, why)
}

// findNarrowInput returns a tensor that passed by a narrow margin and is an input of a wrong output, nil if there is none.
func (j *judge) findNarrowInput(c *call) *value {
	for _, in := range c.ins {
		if !in.isPaired() {
			continue
		}
		for _, from := range j.producers(in.ref) {
			if from.isJudged && from.score > narrowShare && from.row.Status == record.Pass {
				return from
			}
		}
	}
	return nil
}

// isLookup reports whether an operator moves elements by indices without a producer, and only max and min of the
// indices are known.
func (j *judge) isLookup(c *call) bool {
	return c.noise == optype.NoiseMove && slices.ContainsFunc(c.ins, func(in *value) bool {
		return in.isPaired() && in.from == nil && !in.isFloat() && in.ref.hasRange() && !in.ref.Mean.IsDefined() && in.ref.Digest == "" && in.ref.n > 1
	})
}

// tiedRows is the maximum relative difference of the norm and the mean of rows that were gathered by indices that may
// differ by ties.
const tiedRows = 0.05

// readsTiedRows reports whether an output differs as if a few of its rows were selected by tied indices.
func (c *call) readsTiedRows(v *value) bool {
	return c.noise == optype.NoiseMove && max(v.norm, v.mean) <= tiedRows && slices.ContainsFunc(c.ins, func(in *value) bool { return in.isTied && !in.isFloat() })
}

// noiseOfPassed returns the noise of an output that passed: the expected noise e, lowered to the noise that the output's
// own numbers show, but not below half of the rounding error.
func (v *value) noiseOfPassed(e, rounding float64) float64 {
	mask, moved := v.ref.isMask(), v.max != 0 || v.min != 0
	largest := 0.0
	if !mask {
		largest = max(math.Abs(v.max), math.Abs(v.min)) / max(v.ref.rms(), 1e-300)
	}
	seen := max(v.norm, v.mean, min(largest, 4*v.bounds))
	if v.ref.n < 32 || mask {
		return min(1, max(e, min(seen, 1)))
	}
	part := 2.0
	if moved {
		part *= 2
	}
	if v.ref.n >= 1024 {
		part *= 2
	}
	all := seen
	if !moved || v.op.isLate() {
		all = max(seen, max(v.norm, v.mean)*math.Sqrt(v.ref.n))
	}
	return min(1, max(min(e, max(3*all, e/part)), seen, min(max(v.roundingError(v.op.noise), rounding)/2, e)))
}
