package statistics

import (
	"math"
	"slices"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

const (
	// copied is the maximum relative difference between the statistics of a tensor and of its copy. Only for tensors
	// of at least copies elements do equal statistics prove a copy.
	copied = 1e-4
	copies = 8
	// candidates is the largest number of outputs that are considered as producers of an input.
	candidates = 6
	// A tensor without a producer is a consequence, not a fault, if its relative difference is at most maxDrift times
	// the noise of the run. For gradients, which are accumulated without a call, the factor is sums.
	maxDrift = 8
	sums     = 12
	// The gradient of a weight is wrong if its relative difference exceeds gradientShare and gradientGrowth times the
	// typical difference of outputs, or fineGradientShare and fineGradientGrowth times. In 654 gradients of healthy runs
	// the largest difference was 5 %, with half of a batch lost it was at least 22 %.
	gradientShare      = 0.15
	gradientGrowth     = 30
	fineGradientShare  = 0.01
	fineGradientGrowth = 1000
	// betweenModules is the maximum relative difference of a module's input that cancellation between two modules
	// explains. The difference must also be less than cancelled times the noise of the run.
	betweenModules = 0.1
	cancelled      = 120
)

// input sets the noise and the taint of a tensor that a call reads, and its producer. The first rule that holds
// decides.
func (j *judge) input(v *value) {
	switch {
	case v.op.noise == optype.NoiseGarbage || v.place.Unread:
		v.taint = unread
	case v.isMeasured:
		v.noise, v.taint = v.measuredNoise()
	case !v.ref.hasRange() && (v.ref.Digest == "" || v.npu.Digest == ""):
	case j.judgeProduced(v), j.judgeOrphan(v):
	case !v.ref.isFloat():
		j.judgeInteger(v)
	default:
		j.judgeUnproduced(v)
	}
}

// producers returns the outputs that may have produced a tensor, the latest first.
func (j *judge) producers(x *sideStatistics) []*value {
	all := j.outputs.nearTensors(x)
	return all[:min(candidates, len(all))]
}

// judgeProduced judges a tensor with a producer, and reports whether the tensor has one. The NPU must read the values
// that the producer wrote.
func (j *judge) judgeProduced(v *value) bool {
	made := j.producers(v.ref)
	if len(made) == 0 {
		return false
	}
	from, intact := made[0], false
	if i := slices.IndexFunc(made, func(p *value) bool { return isSameReading(p.npu, v.npu) }); i >= 0 {
		from, intact = made[i], true
	}
	v.from = from
	v.noise, v.taint, v.isTied = from.noise, from.taint, from.isTied
	if v.isFloat() {
		v.noise = max(from.noise, min(v.z, 1))
	}
	switch {
	case from.taint != clean || intact || !v.isFloat() && v.isSame || from.npu == nil:
	case v.isOverwritten(from):
		why := lang.Say("the reference reads the output of %s here; the NPU reads %s, but %[1]s wrote %[3]s", from.op.name, v.npu.text(), from.npu.text())
		if between := j.writerBetween(from.op, v.op, v.npu); between != "" {
			why = lang.Say("%s; %s, which runs between the two operators, wrote exactly this value (overwritten in place)", why, between)
		}
		j.reportOverwritten(v, why)
	}
	return true
}

// isOverwritten reports whether the NPU reads values that differ from the values of the producer: something else wrote
// to the memory.
func (v *value) isOverwritten(from *value) bool {
	if from.npu.dtype != v.npu.dtype || v.isSame || !v.isDistinctive() {
		return false
	}
	module := v.op.backward && from.op.module
	if !v.isFloat() || v.hasOtherShape {
		return !module
	}
	between := differenceOf(from.npu, v.npu).z
	return between > max(copied+float64(2*max(from.npu.normRounding, v.npu.normRounding)), 4*from.z) &&
		!module && !(v.op.backward && between <= 4*v.roundingError(optype.NoiseProduct))
}

// isDistinctive reports whether statistics identify the tensor, so that equal statistics in the reference mean the
// same tensor.
func (v *value) isDistinctive() bool {
	return v.ref.hasRange() && v.ref.n >= copies && !v.ref.isConstant()
}

// reportOverwritten makes a tensor with overwritten memory an origin, unless the same memory was reported before.
func (j *judge) reportOverwritten(v *value, why lang.Sentence) {
	v.setConsequence(origin)
	if !slices.ContainsFunc(j.damaged, func(other *sideStatistics) bool { return isSameReading(other, v.npu) }) {
		j.damaged = append(j.damaged, v.npu)
		j.reportOrigin(v, string(finding.Memory), finding.Medium, why)
	}
}

// writerBetween returns the name of the operator that wrote the tensor x on the NPU and runs between two other
// operators; empty without such an operator.
func (j *judge) writerBetween(from, to *op, x *sideStatistics) string {
	wrote := func(v *value) bool { return isSameReading(v.npu, x) }
	for _, o := range j.ops {
		if !o.module && o.npuCall > from.npuCall && o.npuCall < to.npuCall && slices.ContainsFunc(o.outs, wrote) {
			return o.name
		}
	}
	return ""
}

// judgeOrphan judges a tensor that was produced by an operator without a partner, and reports whether it is such a
// tensor.
func (j *judge) judgeOrphan(v *value) bool {
	if !v.isFloat() || len(j.orphans.nearTensors(v.ref)) == 0 {
		return false
	}
	run := j.forward
	if v.op.backward {
		run = j.backward
	}
	run = max(run, 2*v.rounding(), resolved)
	switch {
	case v.isSame:
	case !v.hasOtherShape && v.z <= maxDrift*run:
		v.noise = max(run, v.z)
	default:
		v.setConsequence(came)
	}
	return true
}

// rounding returns the rounding error of the coarser of the two types.
func (v *value) rounding() float64 { return max(rounding[v.ref.dtype], rounding[v.npu.dtype]) }

// grid returns the rounding error of the coarser type relative to the size of the tensor. Below 2^-14 the spacing of
// float16 stays 2^-24, and a device may flush subnormal numbers to 0.
func (v *value) grid() float64 {
	u, step := v.rounding(), 0x1p-25
	if v.npu.magnitude() == 0 {
		step = 0x1p-14
	}
	if isFloat16(v.ref) || isFloat16(v.npu) {
		u += step / max(v.ref.rms(), step)
	}
	return u
}

// judgeInteger judges an integer tensor without a producer.
func (j *judge) judgeInteger(v *value) {
	switch t := j.hiddenTaint(0, true, 0); {
	case v.isSame && j.damagedChoice && v.mayDiffer():
		v.setConsequence(origin)
	case v.isSame:
		v.isTied = j.anyFloat && v.mayDiffer() && j.isPartial()
	case t != clean:
		v.setConsequence(t)
	case len(j.origins) > 0:
		v.setConsequence(origin)
	case j.noisyChoice:
		j.startTaint(v, flip)
	default:
		j.judgeStart(v, false)
	}
}

// judgeUnproduced judges a floating-point tensor without a producer.
func (j *judge) judgeUnproduced(v *value) {
	u := 0.0
	switch {
	case v.ref.dtype == v.npu.dtype:
	case v.isSame:
		u = v.rounding()
	default:
		u = v.grid()
	}
	coarse := max(v.ref.normRounding, v.npu.normRounding)
	equal := v.isSame || !v.hasOtherShape && !v.isLost && v.norm <= printedPrecision+coarse+u && v.mean <= printedPrecision+coarse+float64(u/4)+float64(4*u)/math.Sqrt(max(v.ref.n, 1)) && v.bounds <= printedPrecision+u
	run := j.noiseAt(v.op)
	parameter := v.isParameter()
	begins := parameter || !j.anyFloat
	switch t := j.hiddenTaint(v.z, v.hasOtherShape, run); {
	case !v.isSame && j.isTrained(v):
		v.noise = min(1, max(3*v.z, j.past.Change(v.index)/4/v.ref.rms()))
		v.setEvidence(trainedKind)
	case j.past.Damaged && v.isLost:
		v.setConsequence(origin)
	case parameter && j.isOutdated(v):
		j.judgeStart(v, true)
	case !v.isSame && j.past.Known && j.past.Carried[v.index]: // judged in the step before
		v.noise = max(u, run, v.z)
	case !v.isSame && !parameter && j.past.OfStepBefore(v.index) != nil:
		v.noise = max(u, run, v.z)
		if before := j.past.OfStepBefore(v.index); v.largest() > max(float64(1.5*before.Largest()), record.Changed*v.ref.rms()) {
			j.startTaint(v, start)
			j.reportStart(v, StartInput, lang.Say("the reference reads output %d of %s of the step before, the NPU another tensor", before.Output, before.Op))
		}
	case j.isLowCoverage && !parameter:
		v.noise = max(u, v.z, 2*j.largest)
	case equal && (v.isSame || begins):
		v.noise = u
	case equal:
		v.noise = max(u, run, v.z)
	case begins && v.op.backward:
		v.noise = max(v.z, run)
	case begins && !parameter && j.isPartial() && !v.hasOtherShape && !v.isLost:
		typical := j.typical()
		if v.noise = v.z; v.z > max(sums*u, min(maxDrift*typical, maxDriftShare)) {
			j.reportOrigin(v, string(finding.CameIn), finding.Medium, lang.Say("no dumped operator produced %s of %s; relative difference %.2g, of outputs of the run typically %.2g", v.place.Place(v.row), v.op.name, v.z, typical))
		}
	case begins:
		j.judgeStart(v, parameter)
	case t != clean:
		v.setConsequence(t)
	case len(j.origins) > 0:
		v.setConsequence(origin)
	case v.isLost:
		j.reportHiddenOrigin(v, run)
	case (v.op.backward || v.op.optimiser) && !v.hasOtherShape && v.z <= sums*max(run, u, resolved), v.op.optimiser && j.isCancelled(v):
		v.noise = max(run, u, v.z)
	case v.op.backward:
		j.reportOrigin(v, string(finding.CameIn), finding.Medium, lang.Say("no dumped operator produced this gradient; relative difference %.2g, of earlier gradients at most %.2g", v.z, max(run, u)))
	case run > 0 && !v.hasOtherShape && v.z <= maxDrift*run, j.modules && !v.hasOtherShape && v.z < min(betweenModules, cancelled*run):
		v.noise, v.isDoubtful = max(run, v.z), v.z > maxDrift*run
	case j.modules, v.op.optimiser, v.place.RequiresGrad && run > 0:
		j.reportHiddenOrigin(v, run)
	default:
		j.judgeStart(v, false)
	}
}

// isFarGradient reports whether the gradient of a weight differs by more than rounding in the backward pass can cause,
// which was not dumped: see diagnose.
func (j *judge) isFarGradient(v *value) bool {
	if v.kind() != tensor.Gradient || v.isSame || v.hasOtherShape || v.isLost || len(v.ref.shape) < 2 || v.z <= fineGradientShare {
		return false
	}
	return v.z > max(gradientShare, gradientGrowth*j.typical()) || v.z > fineGradientGrowth*j.typical()
}

// isCancelled reports whether a tensor with one axis, such as the gradient of a bias, differs by no more than the rounding
// error of a sum of gradients of a backward call over all other axes. The gradient of a bias in front of a
// normalisation is such a sum, and 0 in theory.
func (j *judge) isCancelled(v *value) bool {
	if v.hasOtherShape || v.isLost || len(v.ref.shape) != 1 {
		return false
	}
	size := float64(v.z * v.ref.rms())
	return slices.ContainsFunc(j.values, func(g *value) bool {
		return g.op.backward && g.isFloat() && g.isPaired() && slices.Contains(g.ref.shape, v.ref.shape[0]) &&
			size <= sums*g.rounding()*math.Sqrt(g.ref.n/v.ref.n)*g.ref.rms()
	})
}

// isIncomplete reports whether the dump leaves out operators of the forward pass.
func (j *judge) isIncomplete() bool {
	var c record.Completeness
	outputs := memory{}
	for _, o := range j.ops {
		if o.isLate() {
			break
		}
		open := false
		for _, v := range o.ins {
			if v.isPaired() && v.isFloat() && !v.isParameter() {
				if open = len(outputs.nearTensors(v.ref)) == 0; !open {
					break
				}
			}
		}
		if o.refCall >= 0 {
			c.Add(o.name, open)
		}
		for _, v := range o.outs {
			if v.ref != nil {
				outputs.add(v)
			}
		}
	}
	return c.IsPartial()
}

// typicalDifference returns the median of the differences of outputs of the forward pass.
func (j *judge) typicalDifference() float64 {
	var all []float64
	for _, v := range j.values {
		if !v.op.isLate() && !v.kind().IsInput() && v.isPaired() && v.isFloat() {
			all = append(all, v.z)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// reportHiddenOrigin makes an origin where an operator that was not dumped changed a tensor: at the innermost dumped module
// around the call that reads the tensor, else at the tensor itself.
func (j *judge) reportHiddenOrigin(v *value, run float64) {
	place, confidence := v, finding.Medium
	if j.modules {
		confidence = finding.Low
		for _, name := range v.op.modules {
			if m := j.byName[name]; m != nil && m.hasPair && len(m.outs) > 0 && m.outs[0].isPaired() {
				place = m.outs[0]
			}
		}
	}
	v.setConsequence(origin)
	if v.isLost {
		j.nan = true
		j.reportOrigin(place, string(finding.CameIn), confidence, lang.Say("NaN or infinities come from outside: no dumped operator produced %s of %s: %s", v.place.Place(v.row), v.op.name, v.text()))
		return
	}
	j.reportOrigin(place, string(finding.CameIn), confidence, lang.Say("no dumped operator produced %s of %s; relative difference %.2g, of earlier tensors at most %.2g", v.place.Place(v.row), v.op.name, v.z, run))
}

// noiseAt returns the noise of the run at a call.
func (j *judge) noiseAt(o *op) float64 {
	run, least := j.forward, resolved
	if o.backward || o.optimiser {
		run = max(j.backward, run)
	}
	if j.modules {
		least = products
	}
	if run > 0 || j.modules {
		run = max(run, 2*j.largest, least)
	}
	if j.modules && o.backward { // noise flips the masks of activations between modules
		run = max(run, math.Sqrt(0.3*max(j.forward, j.largest)))
	}
	return run
}

// isParameter reports whether a tensor is a parameter of the network: by its kind, by its position, or as a vector
// with at most a quarter of the elements of another input of an elementwise product or sum.
func (v *value) isParameter() bool {
	o := v.op
	switch {
	case v.row.Kind == string(tensor.Parameter):
		return true
	case o.backward || o.module:
		return false
	case o.typ.IsParameter(v.row.Output):
		return true
	case o.noise != optype.NoiseProduct && o.noise != optype.NoiseLipschitz || len(v.ref.shape) != 1 || v.ref.n <= 1:
		return false
	}
	most := 0.0
	for _, other := range o.ins {
		if other.isFloat() {
			most = max(most, other.ref.n)
		}
	}
	return 4*v.ref.n <= most
}

// judgeStart judges a tensor that should be equal on both sides and is not: the runs did not start alike, or they
// diverge since a choice among values that nearly tie.
func (j *judge) judgeStart(v *value, parameter bool) {
	kind, why := StartInput, v.text()
	switch {
	case parameter && j.isOutdated(v):
		kind, why = StartUpdate, lang.Say("the NPU still reads the parameter of the step before, which the reference updated")
	case parameter && j.past.Change(v.index) > 0:
		kind = StartUpdate
	case parameter:
		kind = startParameter
	}
	switch {
	case j.hasDriftedApart && parameter && !v.hasOtherShape && v.z <= maxDriftShare && !j.isOutdated(v):
		v.noise = min(1, 3*v.z)
		v.setEvidence(string(finding.Drifted))
	case v.op.unreliable && (j.noisyChoice || len(j.origins) > 0):
		j.startTaint(v, flip)
	default:
		j.startTaint(v, start)
		j.reportStart(v, kind, why)
	}
}

// isTrained reports whether a parameter of a later step differs by no more than training explains, or may be wrong
// since an earlier step has an origin. An outdated one is not.
func (j *judge) isTrained(v *value) bool {
	near := float64(record.Trained * j.past.Change(v.index))
	if near == 0 || v.hasOtherShape || v.isLost || !v.isParameter() {
		return false
	}
	near += float64(2 * v.grid() * max(v.ref.magnitude(), v.npu.magnitude())) // in each step, a parameter of few bits is rounded
	return j.past.Damaged || v.largest() <= near && !j.isOutdated(v)
}

// isOutdated reports whether the NPU still reads the parameter of the step before, which the reference updated by more
// than the spacing of the NPU's type.
func (j *judge) isOutdated(v *value) bool {
	return j.past.Known && !j.past.Damaged && j.past.Unchanged[v.index] && v.largest() > 8*v.grid()*v.ref.rms()
}

// largest returns the largest difference of max, min, mean and root mean square.
func (v *value) largest() float64 {
	return max(math.Abs(v.max), math.Abs(v.min), math.Abs(v.shift), float64(v.norm*v.ref.rms()))
}

const (
	// maxDriftShare is the maximum relative difference of weights that drifted apart in training. leastDrift is the
	// minimum number of parameters that must differ.
	maxDriftShare = 0.01
	leastDrift    = 4
)

// hasDrifted reports whether most parameters differ by a little and none by much: the runs started alike, and the compared
// step is a later one.
func (j *judge) hasDrifted() bool {
	parameters, differ := 0, 0
	for _, v := range j.values {
		if !v.kind().IsInput() || v.op.isLate() || !v.isPaired() || !v.isFloat() || !v.isParameter() {
			continue
		}
		parameters++
		switch {
		case v.hasOtherShape || v.z > maxDriftShare:
			return false
		case v.z > printedPrecision+v.rounding():
			differ++
		}
	}
	return differ >= leastDrift && 2*differ > parameters
}
