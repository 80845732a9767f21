package statistics

import (
	"cmp"
	"math"
	"slices"

	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
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

// own is the rounding of an operator that passes noise in a way.
func (v *value) own(way optype.Noise) float64 {
	u := v.rounding()
	if v.float() {
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
	v.noise, v.taint = 0, c.taint
	switch {
	case c.noise == optype.NoiseGarbage:
		v.taint = unread
	case v.measured():
		v.noise, v.taint = v.seenNoise()
	case v.shape && c.taint == clean && !c.accused:
		j.accuse(v, string(finding.ShapeDiffers), finding.High, v.text())
	case v.shape:
		v.consequence(cmp.Or(c.taint, origin))
	case !v.ref.known():
		v.noise = c.most()
	case c.noise == optype.NoiseRandom && !c.backward && c.drawn(v):
		j.arises(v, random)
		v.note("RANDOM")
	case !v.float():
		j.whole(c, v)
	default:
		j.floats(c, v)
	}
}

// most is the largest noise of the inputs.
func (c *call) most() float64 { return most(c.entries, noiseIn) }

// drawn reports whether the output of a random operator holds other random numbers: one
// that passes its input on, as dropout outside of training, does not.
func (c *call) drawn(v *value) bool {
	if v.same || slices.ContainsFunc(c.ins, func(in *value) bool { return near(in.ref, v.ref) }) {
		return false
	}
	noise := c.most()
	return !v.float() || max(v.norm, v.mean)*math.Sqrt(v.ref.n) > 0.05+float64(5*noise) || v.z > follows*max(v.own(c.noise), noise)
}

// whole judges integers and bools.
func (j *judge) whole(c *call, v *value) {
	made, noise := j.producers(v.ref), c.most() // also that of integers
	floats := slices.ContainsFunc(c.entries, func(e entry) bool { return e.float() })
	step := v.max == v.min && v.max != 0 && !v.ref.flat() && v.max == math.Trunc(v.max) && v.ref.dtype != tensor.Bool && (!v.ref.Mean.Defined() || math.Abs(v.shift-v.max) <= 0.1*math.Abs(v.max))
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
		j.accuse(v, string(finding.Offset), finding.High, lang.Sayf("every index is off by %g: %s", "所有索引均偏移 %g：%s", v.max, v.text()))
	case c.typ.Indices != 0 && (v.npu.Min.Value() < 0 && v.ref.Min.Value() >= 0 || v.npu.Max.Value() >= c.longest() && v.ref.Max.Value() < c.longest()):
		j.accuse(v, string(finding.Exact), finding.High, lang.Sayf("an index is outside of the input: %s", "索引超出输入范围：%s", v.text()))
	case !floats && c.noise != optype.NoiseRandom:
		j.accuse(v, string(finding.Exact), finding.High, lang.Sayf("integers of equal integers differ: %s", "相同整数的结果不同：%s", v.text()))
	case floats && c.typ.Indices != 0 && 10*v.ref.n*noise < 0.02 && !j.seen[flip]:
		j.accuse(v, string(finding.Exact), finding.Low, lang.Sayf("the inputs differ by %.1g only, too little for another choice: %s", "输入仅相差 %.1g，不足以改变选择：%s", noise, v.text()))
	case floats && c.exact && noise == 0:
		j.accuse(v, string(finding.Exact), finding.Low, lang.Sayf("the inputs are equal as printed: %s", "输入的打印值相同：%s", v.text()))
	default:
		j.arises(v, flip)
		v.note("FLIP")
	}
}

// longest is the largest dimension of the inputs.
func (c *call) longest() float64 {
	longest := int64(1)
	for _, in := range c.ins {
		if in.npu == nil || len(in.npu.shape) == 0 {
			continue
		}
		longest = max(longest, slices.Max(in.npu.shape))
		if c.typ.Class == optype.Index {
			longest = max(longest, int64(in.npu.n)) // of a flat index
		}
	}
	return float64(longest)
}

// floats judges floating-point numbers.
func (j *judge) floats(c *call, v *value) {
	made := j.producers(v.ref)
	switch {
	case v.npu.known() && !v.npu.finite() && v.ref.finite():
		j.nonFinite(c, v, made)
		return
	case !v.ref.finite():
		v.noise = c.most()
		return
	case c.noise == optype.NoiseMove && !c.unreliable && !c.accused && j.notCopied(c, v), len(made) > 0 && j.again(c, v, made):
		return
	case c.accused:
		v.consequence(origin)
		return
	}
	e, hard := c.bounded(v), v.hard(c)
	v.expected = e
	vague := c.noise == optype.NoiseLipschitz || c.noise == optype.NoiseUnknown || c.noise == optype.NoiseMove
	if j.few { // the noise of what has no partner is not known
		e = max(e, unknown)
	}
	switch {
	case hard != "" && (c.taint == clean || !c.module && !c.late() && c.taint != origin && c.noise != optype.NoiseLipschitz) &&
		!(vague && v.expected >= unknown) && v.ref.magnitude() > 3e-7:
		j.accuse(v, hard, finding.High, lang.Sayf("%s; its inputs are not constant", "%s；其输入并非常数", v.text()))
	case c.taint != clean || e >= unknown:
		j.magnitude(c, v, e)
	default:
		j.test(c, v, e)
	}
}

// nonFinite is for a tensor of the NPU with NaN or infinities where the reference has none.
func (j *judge) nonFinite(c *call, v *value, made []*value) {
	switch {
	case len(made) > 0 && near(made[0].npu, v.npu), c.taint == origin:
		v.consequence(origin)
	case !c.nan && !(j.nan && (c.late() || c.module)):
		j.nan = true
		j.accuse(v, "NAN", finding.High, lang.Sayf("NaN or infinities appear here: %s; its inputs are finite", "NaN 或 inf 在此出现：%s；其输入均为有限值", v.text()))
	default:
		v.consequence(cmp.Or(c.taint, origin))
	}
}

// hard is what is wrong with an output all of whose elements are the same, where the
// reference's are not and no input is such, empty for nothing.
func (v *value) hard(c *call) string {
	constant := func(in *value) bool {
		return in.npu != nil && in.npu.known() && in.npu.float() && (in.npu.flat() || in.npu.magnitude() == 0)
	}
	switch {
	case v.ref.n <= 1 || !v.npu.known() || v.npu.Max.Value() != v.npu.Min.Value() || v.ref.Max.Value() == v.ref.Min.Value() || v.ref.magnitude() == 0,
		slices.ContainsFunc(c.ins, constant):
		return ""
	case v.npu.Max.Value() == 0:
		return string(finding.ZeroOutput)
	case v.z > 4*v.own(c.noise):
		return "CONSTANT"
	}
	return ""
}

// notCopied is for operators that only move elements: what the output and an input of the
// reference have in common, those of the NPU must have.
func (j *judge) notCopied(c *call, v *value) bool {
	for _, in := range c.ins {
		if !in.paired() || in.ref.dtype != v.ref.dtype || in.npu.dtype != v.npu.dtype || in.ref.n <= 1 ||
			!near(in.ref, v.ref) || !in.npu.finite() || in.row.Output != 0 && !c.backward || in.taint == unread {
			continue
		}
		d := differ(in.npu, v.npu)
		if near(in.npu, v.npu) || d.z <= copied+float64(2*max(in.npu.coarse, v.npu.coarse)) {
			return false
		}
		j.accuse(v, cmp.Or(pattern(in.npu, v.npu, &d), string(finding.NotCopied)), finding.High, lang.Sayf("it only moves elements: the reference writes what it reads, the NPU reads %s and writes %s",
			"该算子只搬移元素：标杆读写一致，而 NPU 读到 %s，写出 %s", in.npu.text(), v.npu.text()))
		return true
	}
	return false
}

// again is for an output that is a tensor that was there before, as those of modules are.
func (j *judge) again(c *call, v *value, made []*value) bool {
	from := made[0]
	intact := slices.IndexFunc(made, func(p *value) bool { return near(p.npu, v.npu) })
	switch {
	case intact >= 0:
		v.noise, v.taint = made[intact].noise, made[intact].taint
	case !c.module && c.noise != optype.NoiseMove:
		return false
	case c.taint != clean:
		v.consequence(c.taint)
	case from.taint != clean:
		v.consequence(from.taint)
	case c.accused:
		v.consequence(origin)
	case v.z > follows*max(from.noise, v.own(c.noise), resolved):
		j.accuse(v, cmp.Or(v.pattern(), string(finding.NotCopied)), finding.High, lang.Sayf("in the reference it is the output of %s unchanged: %s", "标杆中它就是 %s 的输出：%s", from.op.name, v.text()))
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
	switch factor := v.factor(); {
	case formulas[c.noise].sized && v.ref.n >= 16 && !c.late() && c.taint != origin && !math.IsInf(factor, 0) && factor > limit*c.growth*c.growth:
		j.accuse(v, cmp.Or(v.pattern(), string(finding.Magnitude)), finding.Low, lang.Sayf("the norm is %.3g x that of the reference, those of the inputs up to %.3g x", "范数为标杆的 %.3g 倍，输入至多为 %.3g 倍", v.ratio, c.growth))
	case c.taint != clean:
		v.consequence(c.taint)
		v.expected = j.untainted(c, v)
	default:
		v.noise = v.corrected(e)
	}
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
	return other.bounded(v)
}

// test judges an output by its numbers and the expected noise.
func (j *judge) test(c *call, v *value, e float64) {
	u, magnitude := v.own(c.noise), v.ref.magnitude()
	coarse, ratio, wide := max(v.ref.coarse, v.npu.coarse), 1.0, 1.0
	if c.late() {
		ratio = lateRatio
	}
	if magnitude > 0 {
		wide = max(1, 3*v.ref.rms()/magnitude)
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
		bounds = float64(4*u) + float64(3*extremes*e*f)/magnitude
		score = max(v.norm/limit, v.mean/limit, math.Abs(v.min)/magnitude/bounds, math.Abs(v.max)/(3*extremes*e*f))
	}
	v.score, v.judged = score, true
	if score <= 1 {
		v.noise, v.taint = v.corrected(e), clean
		return
	}
	if ids := j.lookup(c); ids != nil && v.z < 0.9 {
		j.arises(v, start)
		j.apart(ids, startInput, lang.Sayf("only the largest and smallest index are printed and agree; the rows that they select differ: other data, or a wrong lookup",
			"索引仅打印了最大、最小值且一致；所选的行不同：数据不同，或查表有误"))
		return
	}
	kind, confidence := cmp.Or(v.pattern(), "VALUE"), finding.Medium
	if _, sure := kindOf(kind); sure || score > certain {
		confidence = finding.High
	}
	why := lang.Sayf("differs by %.3g of the norm, %.3g of the mean (beside the rms), %.3g of max or min; expected %.2g: %s",
		"范数相差 %.3g，均值相差 %.3g(相对 rms)，最大/最小值相差 %.3g；预期 %.2g：%s", v.norm, v.mean, v.bounds, e, v.text())
	if c.noise == optype.NoiseRanks {
		why = lang.Sayf("%s; its inputs are alike on this rank: look at the other ranks, or at the collective", "%s；本 rank 的输入一致：请查看其他 rank 或集合通信", why)
	}
	j.accuse(v, kind, confidence, why)
}

// lookup is the input of indices of an operator that moves elements, which nobody made and of
// which only the bounds are known.
func (j *judge) lookup(c *call) *value {
	i := slices.IndexFunc(c.ins, func(in *value) bool {
		return in.paired() && !in.float() && in.ref.known() && !in.ref.Mean.Defined() && in.ref.Digest == "" && in.ref.n > 1
	})
	if c.noise != optype.NoiseMove || i < 0 || len(j.producers(c.ins[i].ref)) > 0 {
		return nil
	}
	return c.ins[i]
}

// corrected is the noise of an output that passed: what was expected, corrected down by what
// its own numbers show.
func (v *value) corrected(e float64) float64 {
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
	if moved {
		part *= 2
	}
	if v.ref.n >= 1024 {
		part *= 2
	}
	all := max(seen, max(v.norm, v.mean)*math.Sqrt(v.ref.n))
	return min(1, max(min(e, max(3*all, e/part)), seen, min(v.own(v.op.noise)/2, e)))
}
