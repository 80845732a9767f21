package statistics

import (
	"math"
	"slices"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
)

const (
	// unknown is the noise from which on nothing but the order of magnitude is judged.
	unknown = 0.5
	// tainted and noisy are the factors that are too large where the input is tainted, and
	// where it is only noisy.
	tainted = 10
	noisy   = 3
	// inPhase, sigmas and extremes bound the norm and the mean, those of few elements, and
	// the largest element, beside the noise: all of it may be in phase, three standard
	// deviations, and the largest of a few samples beside the root mean square. Gradients
	// have lateRatio of that.
	inPhase   = 0.8
	sigmas    = 3.0
	extremes  = 4.0
	lateRatio = 0.8
	// floor is the difference that the printed digits alone make.
	floor = 2e-6
	// certain is the score from which on an origin is sure.
	certain = 10
)

// own is the rounding of an operator.
func (j *judge) own(v *value, way optype.Noise) float64 {
	u := v.rounding()
	if v.ref.float() {
		u = max(u, resolved)
	}
	if isFloat16(v.ref) || isFloat16(v.npu) {
		u += 0x1p-25 / max(v.ref.rms(), 0x1p-25)
	}
	if way == optype.NoiseSums || way == optype.NoiseAttention || way == optype.NoiseUnknown && v.op.module {
		u = max(u, products)
	}
	return u
}

// output judges a tensor that a call made. The first rule that holds decides.
func (j *judge) output(c *call, v *value) {
	made := j.producers(v.ref)
	v.noise, v.taint = 0, c.taint
	switch {
	case c.noise == optype.NoiseGarbage:
		v.taint = unread
	case v.measured():
		v.noise, v.taint = v.seenNoise()
	case v.shape:
		v.noise = 1
		if c.taint == clean && !c.accused {
			j.accuse(v, string(record.ShapeDiffers), record.High, v.text())
		} else if c.taint == clean {
			v.taint = origin
		}
	case !v.ref.known():
		v.noise = c.most()
	case c.noise == optype.NoiseRandom && !c.backward && j.drawn(c, v):
		v.noise, v.taint, j.seen[random] = 1, random, true
		v.note("RANDOM")
	case !v.ref.float():
		j.whole(c, v, made)
	default:
		j.floats(c, v, made)
	}
}

// most is the largest noise of the inputs.
func (c *call) most() float64 {
	most := 0.0
	for _, e := range c.entries {
		most = max(most, e.noise)
	}
	return most
}

// drawn reports whether the output of a random operator holds other random numbers: one
// that passes its input on, as dropout outside of training, does not.
func (j *judge) drawn(c *call, v *value) bool {
	if v.same || slices.ContainsFunc(c.ins, func(in *value) bool { return near(in.ref, v.ref) }) {
		return false
	}
	noise := c.most()
	return !v.ref.float() || max(v.norm, v.mean)*math.Sqrt(v.ref.n) > 0.05+float64(5*noise) || v.z > follows*max(j.own(v, c.noise), noise)
}

// consequence makes an output one of what is upstream.
func (v *value) consequence(t taint) { v.noise, v.taint = 1, t }

// whole judges integers and bools.
func (j *judge) whole(c *call, v *value, made []*value) {
	floats, noise := false, 0.0
	for _, e := range c.entries {
		floats, noise = floats || e.ref.float(), max(noise, e.noise)
	}
	// Of all entries the noise counts, also that of integers.
	step := v.max == v.min && v.max != 0 && !v.ref.flat() && v.max == math.Trunc(v.max) && v.ref.dtype.String() != "bool" && (!v.ref.Mean.Defined || math.Abs(v.shift-v.max) <= 0.1*math.Abs(v.max))
	switch {
	case v.same:
		v.noise, v.taint = 0, clean
	case c.accused || c.taint == origin:
		v.consequence(origin)
	case len(made) > 0 && made[0].taint != clean:
		v.consequence(made[0].taint)
	case c.taint != clean:
		v.consequence(c.taint)
	case step && v.ref.n >= 2:
		j.accuse(v, string(record.Offset), record.High, lang.Sayf("every index is off by %g: %s", "所有索引均偏移 %g：%s", v.max, v.text()))
	case c.typ.Indices != 0 && (v.npu.Min.Value < 0 && v.ref.Min.Value >= 0 || v.npu.Max.Value >= c.longest() && v.ref.Max.Value < c.longest()):
		j.accuse(v, string(record.Exact), record.High, lang.Sayf("an index is outside of the input: %s", "索引超出输入范围：%s", v.text()))
	case !floats && c.noise != optype.NoiseRandom:
		j.accuse(v, string(record.Exact), record.High, lang.Sayf("integers of equal integers differ: %s", "相同整数的结果不同：%s", v.text()))
	case floats && c.typ.Indices != 0 && 10*v.ref.n*noise < 0.02 && !j.seen[flip]:
		j.accuse(v, string(record.Exact), record.Low, lang.Sayf("the inputs differ by %.1g only, too little for another choice: %s", "输入仅相差 %.1g，不足以改变选择：%s", noise, v.text()))
	case floats && c.exact && noise == 0:
		j.accuse(v, string(record.Exact), record.Low, lang.Sayf("the inputs are equal as printed: %s", "输入的打印值相同：%s", v.text()))
	default:
		v.consequence(flip)
		j.seen[flip] = true
		v.note("FLIP")
	}
}

// longest is the largest dimension of the inputs.
func (c *call) longest() float64 {
	longest := int64(1)
	for _, in := range c.ins {
		if in.npu == nil {
			continue
		}
		for _, d := range in.npu.shape {
			longest = max(longest, d)
		}
		if len(in.npu.shape) > 0 && c.typ.Class == optype.Index {
			longest = max(longest, int64(in.npu.n)) // of a flat index
		}
	}
	return float64(longest)
}

// floats judges floating-point numbers.
func (j *judge) floats(c *call, v *value, made []*value) {
	if v.npu.known() && !v.npu.finite() && v.ref.finite() {
		j.nonFinite(c, v, made)
		return
	}
	if !v.ref.finite() {
		v.noise = c.most()
		return
	}
	hard := v.hard(c, j.own(v, c.noise))
	if c.noise == optype.NoiseMove && !j.isUnreliable(c.op) && !c.accused && j.notCopied(c, v) {
		return
	}
	if len(made) > 0 && j.again(c, v, made) {
		return
	}
	if c.accused {
		v.consequence(origin)
		return
	}
	e := min(1, j.expect(c, v))
	v.expected = e
	vague := c.noise == optype.NoiseLipschitz || c.noise == optype.NoiseUnknown || c.noise == optype.NoiseMove
	if hard != "" && (c.taint == clean || !c.module && !c.late() && c.taint != origin && c.noise != optype.NoiseLipschitz) &&
		!(vague && e >= unknown) && v.ref.magnitude() > 3e-7 {
		j.accuse(v, hard, record.High, lang.Sayf("%s; its inputs are not constant", "%s；其输入并非常数", v.text()))
		return
	}
	if j.few { // the noise of what has no partner is not known
		e = max(e, unknown)
	}
	if c.taint != clean || e >= unknown {
		j.magnitude(c, v, e)
		return
	}
	j.test(c, v, e)
}

// nonFinite is for a tensor of the NPU with NaN or infinities where the reference has none.
func (j *judge) nonFinite(c *call, v *value, made []*value) {
	switch {
	case len(made) > 0 && near(made[0].npu, v.npu), c.taint == origin:
		v.consequence(origin)
	case !c.nan && !(j.nan && (c.late() || c.module)):
		j.nan = true
		j.accuse(v, "NAN", record.High, lang.Sayf("NaN or infinities appear here: %s; its inputs are finite", "NaN 或 inf 在此出现：%s；其输入均为有限值", v.text()))
	default:
		if v.consequence(c.taint); c.taint == clean {
			v.taint = origin
		}
	}
}

// hard is what is wrong with an output all of whose elements are the same, where the
// reference's are not and no input is such, empty for nothing.
func (v *value) hard(c *call, own float64) string {
	if v.ref.n <= 1 || !v.npu.known() || v.npu.Max.Value != v.npu.Min.Value || v.ref.Max.Value == v.ref.Min.Value || v.ref.magnitude() == 0 {
		return ""
	}
	for _, in := range c.ins {
		if in.npu != nil && in.npu.known() && in.npu.float() && (in.npu.flat() || in.npu.magnitude() == 0) {
			return ""
		}
	}
	switch {
	case v.npu.Max.Value == 0:
		return string(record.ZeroOutput)
	case v.z > 4*own:
		return "CONSTANT"
	}
	return ""
}

// notCopied is for operators that only move elements: what the output and an input of the
// reference have in common, those of the NPU must have.
func (j *judge) notCopied(c *call, v *value) bool {
	for _, in := range c.ins {
		if in.npu == nil || in.ref == nil || in.ref.dtype != v.ref.dtype || in.npu.dtype != v.npu.dtype || in.ref.n <= 1 ||
			!near(in.ref, v.ref) || !in.npu.finite() || in.row.Output != 0 && !c.backward || in.taint == unread {
			continue
		}
		d := differ(in.npu, v.npu)
		if near(in.npu, v.npu) || d.z <= copied+float64(2*max(in.npu.coarse, v.npu.coarse)) {
			return false
		}
		kind := pattern(in.npu, v.npu, &d)
		if kind == "" {
			kind = string(record.NotCopied)
		}
		j.accuse(v, kind, record.High, lang.Sayf("it only moves elements: the reference writes what it reads, the NPU reads %s and writes %s",
			"该算子只搬移元素：标杆读写一致，而 NPU 读到 %s，写出 %s", in.npu.text(), v.npu.text()))
		return true
	}
	return false
}

// again is for an output that is a tensor that was there before, as those of modules are.
func (j *judge) again(c *call, v *value, made []*value) bool {
	for _, p := range made {
		if near(p.npu, v.npu) {
			v.noise, v.taint = p.noise, p.taint
			return true
		}
	}
	if !c.module && c.noise != optype.NoiseMove {
		return false
	}
	from := made[0]
	switch {
	case c.taint != clean:
		v.consequence(c.taint)
	case from.taint != clean:
		v.consequence(from.taint)
	case c.accused:
		v.consequence(origin)
	case v.z > follows*max(from.noise, j.own(v, c.noise), resolved):
		kind := v.pattern()
		if kind == "" {
			kind = string(record.NotCopied)
		}
		j.accuse(v, kind, record.High, lang.Sayf("in the reference it is the output of %s unchanged: %s", "标杆中它就是 %s 的输出：%s", from.op.name, v.text()))
	default:
		v.noise, v.taint = max(from.noise, v.z), clean
	}
	return true
}

// magnitude judges an output of which only the size can be: it is tainted, or its noise may
// be anything.
func (j *judge) magnitude(c *call, v *value, e float64) {
	limit := float64(noisy)
	if c.taint != clean {
		limit = tainted
	}
	judged := false
	switch c.noise {
	case optype.NoiseSums, optype.NoiseProduct, optype.NoiseLipschitz, optype.NoiseFunction, optype.NoiseMove, optype.NoiseNorm, optype.NoiseRanks, optype.NoiseAttention:
		judged = v.ref.n >= 16 && !c.late() && c.taint != origin && !math.IsInf(v.factor(), 0)
	}
	if judged && v.factor() > limit*c.growth*c.growth {
		kind := v.pattern()
		if kind == "" {
			kind = string(record.Magnitude)
		}
		j.accuse(v, kind, record.Low, lang.Sayf("the norm is %.3g x that of the reference, those of the inputs up to %.3g x", "范数为标杆的 %.3g 倍，输入至多为 %.3g 倍", v.ratio, c.growth))
		return
	}
	if c.taint != clean {
		v.consequence(c.taint)
		v.expected = j.untainted(c, v)
		return
	}
	v.noise = j.corrected(v, e)
}

// untainted is the noise that an output might have if nothing that it is made of were
// tainted.
func (j *judge) untainted(c *call, v *value) float64 {
	other := *c
	other.entries = slices.Clone(c.entries)
	for i := range other.entries {
		if e := &other.entries[i]; e.taint != clean {
			e.noise = min(e.noise, max(j.forward, j.backward))
		}
	}
	return min(1, j.expect(&other, v))
}

// test judges an output by its numbers, beside the noise that is expected.
func (j *judge) test(c *call, v *value, e float64) {
	u := j.own(v, c.noise)
	coarse, ratio := max(v.ref.coarse, v.npu.coarse), 1.0
	if c.late() {
		ratio = lateRatio
	}
	wide := 1.0
	if m := v.ref.magnitude(); m > 0 {
		wide = max(1, 3*v.ref.rms()/m)
	}
	limit := float64(ratio*(float64(inPhase*e)+float64(sigmas*e)/math.Sqrt(max(v.ref.n, 1)))) + float64(2*coarse) + floor
	bounds := float64(ratio*extremes*e*wide) + floor
	if v.ref.n < 4 {
		bounds += float64(2 * u)
	}
	score := max(v.norm/limit, v.mean/limit, v.bounds/bounds)
	if v.ref.mask() {
		f := v.ref.scale()
		limit = 3 * (float64(e*f)/max(v.ref.rms(), 1e-300) + float64(2*u))
		bounds = float64(4*u) + float64(3*extremes*e*f)/v.ref.magnitude()
		score = max(v.norm/limit, v.mean/limit, math.Abs(v.min)/v.ref.magnitude()/bounds, math.Abs(v.max)/(3*extremes*e*f))
	}
	v.score, v.judged = score, true
	switch {
	case score <= 1:
		v.noise, v.taint = j.corrected(v, e), clean
	case c.noise == optype.NoiseMove && v.z < 0.9 && j.lookup(c) != nil:
		ids := j.lookup(c)
		v.consequence(start)
		j.seen[start] = true
		j.starts = append(j.starts, ids)
		ids.setStart(startInput, lang.Sayf("only the largest and smallest index are printed and agree; the rows that they select differ: other data, or a wrong lookup",
			"索引仅打印了最大、最小值且一致；所选的行不同：数据不同，或查表有误"))
	default:
		kind, confidence := v.pattern(), record.Medium
		if score > certain || certainKind(kind) {
			confidence = record.High
		}
		if kind == "" {
			kind = "VALUE"
		}
		why := lang.Sayf("differs by %.3g of the norm, %.3g of the mean (beside the rms), %.3g of max or min; expected %.2g: %s",
			"范数相差 %.3g，均值相差 %.3g(相对 rms)，最大/最小值相差 %.3g；预期 %.2g：%s", v.norm, v.mean, v.bounds, e, v.text())
		if c.noise == optype.NoiseRanks {
			why = lang.Sayf("%s; its inputs are alike on this rank: look at the other ranks, or at the collective", "%s；本 rank 的输入一致：请查看其他 rank 或集合通信", why)
		}
		j.accuse(v, kind, confidence, why)
	}
}

// lookup is the input of indices that nobody made, of which only the bounds are known.
func (j *judge) lookup(c *call) *value {
	for _, in := range c.ins {
		if in.npu != nil && in.ref != nil && !in.ref.float() && in.ref.known() && !in.ref.Mean.Defined && in.ref.Digest == "" && in.ref.n > 1 {
			if len(j.producers(in.ref)) == 0 {
				return in
			}
			return nil
		}
	}
	return nil
}

// corrected is the noise of an output that passed: what was expected, corrected down by what
// its own numbers show.
func (j *judge) corrected(v *value, e float64) float64 {
	mask, moved := v.ref.mask(), v.max != 0 || v.min != 0
	largest := 0.0
	if !mask {
		largest = max(math.Abs(v.max), math.Abs(v.min)) / max(v.ref.rms(), 1e-300)
	}
	seen := max(v.norm, v.mean, min(largest, 4*v.bounds))
	if v.ref.n < 32 || mask {
		return min(1, max(e, min(seen, 1)))
	}
	part := 2.0
	switch {
	case v.ref.n >= 1024 && moved:
		part = 8
	case v.ref.n >= 1024 || moved:
		part = 4
	}
	all := max(seen, max(v.norm, v.mean)*math.Sqrt(v.ref.n))
	return min(1, max(min(e, max(3*all, e/part)), seen, min(j.own(v, v.op.noise)/2, e)))
}
