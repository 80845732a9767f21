package statistics

import (
	"math"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
)

const (
	// copied is how far a tensor and its copy may be apart, and copies is the least number
	// of elements of which equal numbers say that one is the copy of another.
	copied = 1e-4
	copies = 8
	// candidates is how many outputs an input may have been made by.
	candidates = 6
	// mostAlike is how many tensors with the same bounds are looked at.
	mostAlike = 256
	// follows is the multiple of the noise of a run within which a tensor that nobody made
	// follows from it, and sums that of gradients, which are summed without a call.
	follows = 8
	sums    = 12
	// module is the difference within which what comes into a module may have been made
	// between two of them.
	betweenModules = 0.1
)

// input says of a tensor that a call reads how noisy it may be, and where it came from. The
// first rule that holds decides.
func (j *judge) input(o *op, v *value) {
	switch {
	case o.noise == optype.NoiseGarbage || v.place.Unread:
		v.taint = unread
		return
	case v.measured():
		v.noise, v.taint = v.seenNoise()
		return
	}
	if !v.ref.known() && (v.ref.Digest == "" || v.npu.Digest == "") {
		return
	}
	if made := j.producers(v.ref); len(made) > 0 {
		j.produced(o, v, made)
		return
	}
	if j.changed(o, v) || j.orphaned(o, v) {
		return
	}
	if !v.ref.float() {
		j.integers(o, v)
		return
	}
	j.nobody(o, v)
}

// last are the last of many tensors with the same bounds: ever more of them would be looked
// through in vain where bounds say nothing.
func last(all []*value) []*value { return all[max(0, len(all)-mostAlike):] }

// producers are the outputs that a tensor may be, the latest first.
func (j *judge) producers(x *numbers) []*value {
	var all []*value
	made := last(j.made[x.mark()])
	for i := len(made) - 1; i >= 0 && len(all) < candidates; i-- {
		if near(made[i].ref, x) {
			all = append(all, made[i])
		}
	}
	return all
}

// produced is for a tensor that somebody made: the NPU must read what it wrote.
func (j *judge) produced(o *op, v *value, made []*value) {
	from, intact := made[0], false
	for _, p := range made {
		if near(p.npu, v.npu) {
			from, intact = p, true
			break
		}
	}
	v.noise, v.taint = from.noise, from.taint
	if v.ref.float() {
		v.noise = max(from.noise, min(v.z, 1))
	}
	switch {
	case from.taint != clean || intact || !v.ref.float() && v.same || from.npu == nil:
	case j.isUnreliable(o) || j.isUnreliable(from.op):
		v.noise, v.taint = 1, flip
	case j.overwritten(o, v, from):
		v.noise, v.taint = 1, origin
		if j.known(v.npu) {
			return
		}
		why := lang.Sayf("the reference reads here what %s wrote; the NPU reads %s, and %[1]s wrote %[3]s",
			"标杆在此读取 %s 的输出；NPU 读到 %s，而 %[1]s 写出 %[3]s", from.op.name, v.npu.text(), from.npu.text())
		if between := j.wrote(from.op, o, v.npu); between != "" {
			why = lang.Sayf("%s; %s, between them, wrote just that: in place", "%s；其间的 %s 恰好写出该值：原地写入", why, between)
		}
		j.accuse(v, string(record.Memory), record.Medium, why)
	}
}

// isUnreliable reports whether the numbers of the calls of a function differ by side.
func (j *judge) isUnreliable(o *op) bool { return !o.module && j.unreliable[o.api] }

// overwritten reports whether the NPU does not read what was written for it.
func (j *judge) overwritten(o *op, v, from *value) bool {
	if from.npu.dtype != v.npu.dtype || v.same || !v.ref.known() || v.ref.n < copies || v.ref.flat() {
		return false
	}
	if !v.ref.float() || v.shape {
		return !(o.backward && from.op.module)
	}
	between := differ(from.npu, v.npu).z
	return between > max(copied+float64(2*max(from.npu.coarse, v.npu.coarse)), 4*from.z) &&
		!(o.backward && (from.op.module || between <= 4*j.own(v, optype.NoiseProduct)))
}

// known reports whether what an operator reads in place of something else was told, and
// remembers it.
func (j *judge) known(x *numbers) bool {
	for _, other := range j.damaged {
		if near(other, x) {
			return true
		}
	}
	j.damaged = append(j.damaged, x)
	return false
}

// wrote is the operator between two others that wrote a tensor on the NPU, if any.
func (j *judge) wrote(from, to *op, x *numbers) string {
	for _, o := range j.ops {
		if o.module || o.npuCall <= from.npuCall || o.npuCall >= to.npuCall {
			continue
		}
		for _, v := range o.outs {
			if near(v.npu, x) {
				return o.name
			}
		}
	}
	return ""
}

// changed finds a tensor that was read before, and is another one now on the NPU alone.
func (j *judge) changed(o *op, v *value) bool {
	m := v.ref.mark()
	var before *value
	for _, old := range last(j.read[m]) {
		if near(old.ref, v.ref) {
			before = old
			break
		}
	}
	if before == nil {
		if v.ref.known() && v.ref.n >= copies && !v.ref.flat() {
			j.read[m] = append(j.read[m], v)
		}
		return false
	}
	if near(before.npu, v.npu) || v.shape || !v.ref.float() || before.npu.dtype != v.npu.dtype || j.isUnreliable(o) || o.backward || j.tainted() ||
		!(differ(before.npu, v.npu).z > copied) || before.z > follows*max(j.own(v, optype.NoiseProduct), resolved) {
		return false
	}
	v.noise, v.taint = 1, origin
	if !j.known(v.npu) {
		j.accuse(v, string(record.Memory), record.Medium, lang.Sayf("the reference reads the tensor that %s (%s) read before; on the NPU it has changed since: %s, then %s",
			"标杆读取的是 %s(%s)读过的张量；NPU 上其后发生了变化：现为 %s，当时为 %s", before.op.name, before.place.Tensor, v.npu.text(), before.npu.text()))
	}
	return true
}

// tainted reports whether anything in the run is, but by origins.
func (j *judge) tainted() bool {
	return j.seen[start] || j.seen[random] || j.seen[flip] || j.seen[came]
}

// orphaned is for a tensor that an operator without a partner made.
func (j *judge) orphaned(o *op, v *value) bool {
	if !v.ref.float() {
		return false
	}
	for _, made := range last(j.orphans[v.ref.mark()]) {
		if !near(made.ref, v.ref) {
			continue
		}
		run := j.forward
		if o.backward {
			run = j.backward
		}
		run = max(run, 2*v.rounding(), resolved)
		switch {
		case v.same:
		case !v.shape && v.z <= follows*run:
			v.noise = max(run, v.z)
		default:
			v.noise, v.taint = 1, came
		}
		return true
	}
	return false
}

// rounding is that of the coarser of the two types.
func (v *value) rounding() float64 { return max(rounding(v.ref.dtype), rounding(v.npu.dtype)) }

// integers is for integers that nobody made.
func (j *judge) integers(o *op, v *value) {
	switch t := j.any(0, true, 0); {
	case v.same:
	case t != clean:
		v.noise, v.taint = 1, t
	case len(j.origins) > 0:
		v.noise, v.taint = 1, origin
	case j.noisyChoice:
		v.noise, v.taint, j.seen[flip] = 1, flip, true
	default:
		j.begin(o, v, false)
	}
}

// nobody is for a tensor of floating-point numbers that no call made.
func (j *judge) nobody(o *op, v *value) {
	u := 0.0
	if v.ref.dtype != v.npu.dtype {
		u = v.rounding()
	}
	coarse := max(v.ref.coarse, v.npu.coarse)
	equal := v.same || !v.shape && v.norm <= alike+coarse+u && v.mean <= alike+coarse+float64(u/4)+float64(4*u)/math.Sqrt(max(v.ref.n, 1)) && v.bounds <= alike+u
	j.largest = max(j.largest, v.rounding())
	run := j.runAt(o)
	parameter := j.isParameter(o, v)
	switch {
	case j.few && !parameter:
		if v.noise = max(u, v.z, 2*j.largest); !equal && v.shape {
			v.noise, v.taint = 1, came
		}
	case parameter || !j.anyFloat:
		switch {
		case equal:
			v.noise = u
		case o.backward:
			v.noise = max(v.z, run)
		default:
			j.begin(o, v, parameter)
		}
	case equal:
		switch {
		case v.same:
			v.noise = u
		case o.backward || j.modules:
			v.noise = max(u, run, v.z)
		default:
			v.noise = max(u, v.z)
		}
	case j.any(v.z, v.shape, run) != clean:
		v.noise, v.taint = 1, j.any(v.z, v.shape, run)
	case len(j.origins) > 0:
		v.noise, v.taint = 1, origin
	case o.backward:
		j.gradient(v, max(run, u))
	case run > 0 && !v.shape && v.z <= follows*run, j.modules && !v.shape && v.z < betweenModules:
		v.noise = max(run, v.z)
	case j.modules, v.place.RequiresGrad && run > 0:
		confidence := record.Medium
		if j.modules {
			confidence = record.Low
		}
		j.accuse(v, string(record.CameIn), confidence, lang.Sayf("no operator that was dumped made it; it differs by %.2g, what was dumped before by %.2g at most",
			"没有已 dump 的算子产生它；其差异为 %.2g，此前的差异至多为 %.2g", v.z, run))
	default:
		j.begin(o, v, false)
	}
}

// gradient is for a gradient that no call made: gradients are summed without one.
func (j *judge) gradient(v *value, noise float64) {
	if !v.shape && v.z <= sums*max(noise, resolved) {
		v.noise = max(noise, v.z)
		return
	}
	j.accuse(v, string(record.CameIn), record.Medium, lang.Sayf("a gradient that no operator that was dumped made differs by %.2g; those before by %.2g",
		"没有已 dump 的算子产生该梯度，其差异为 %.2g；此前梯度的差异为 %.2g", v.z, noise))
}

// runAt is the noise of the run where a call reads.
func (j *judge) runAt(o *op) float64 {
	run := j.forward
	if o.backward {
		run = max(j.backward, j.forward)
	}
	if run > 0 || j.modules {
		least := resolved
		if j.modules {
			least = products
		}
		run = max(run, 2*j.largest, least)
	}
	if j.modules && o.backward { // the masks of activations between modules flip
		run = max(run, math.Sqrt(0.3*max(j.forward, j.largest)))
	}
	return run
}

// isParameter reports whether a tensor is a parameter of the network.
func (j *judge) isParameter(o *op, v *value) bool {
	switch {
	case v.row.Kind == "parameter":
		return true
	case o.backward || o.module:
		return false
	case v.row.Output < 8 && o.typ.Parameters>>v.row.Output&1 == 1:
		return true
	case o.noise != optype.NoiseProduct && o.noise != optype.NoiseLipschitz || len(v.ref.shape) != 1 || v.ref.n <= 1:
		return false
	}
	most := 0.0
	for _, other := range o.ins {
		if other.ref != nil && other.ref.float() {
			most = max(most, other.ref.n)
		}
	}
	return 4*v.ref.n <= most
}

// begin is for a tensor that should be equal and is not: the runs did not start alike, or
// they go other ways since a choice among values that nearly tie.
func (j *judge) begin(o *op, v *value, parameter bool) {
	if j.drifted && parameter && !v.shape && v.z <= mostDrift {
		v.noise = min(1, 3*v.z)
		v.note(string(record.Drifted))
		return
	}
	v.noise = 1
	if j.isUnreliable(o) && (j.noisyChoice || len(j.origins) > 0) {
		v.taint, j.seen[flip] = flip, true
		return
	}
	v.taint, j.seen[start] = start, true
	j.starts = append(j.starts, v)
	kind := startInput
	if parameter {
		kind = startParameter
	}
	v.setStart(kind, v.text())
}

const (
	// mostDrift is the largest difference of weights that have drifted apart, leastDrift is
	// how many of them it takes.
	mostDrift  = 0.01
	leastDrift = 4
)

// drift reports whether most parameters differ by a little and none by much: the runs began
// alike, and what is compared is a later step.
func (j *judge) drift() bool {
	parameters, differ := 0, 0
	for _, o := range j.ops {
		for _, v := range o.ins {
			if o.late() || v.ref == nil || v.npu == nil || !v.ref.float() || !j.isParameter(o, v) {
				continue
			}
			parameters++
			switch {
			case v.shape || v.z > mostDrift:
				return false
			case v.z > alike+v.rounding():
				differ++
			}
		}
	}
	return differ >= leastDrift && 2*differ > parameters
}
