package statistics

import (
	"strings"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
)

// The two runs are repeats of one, on one kind of device, where so many operators of equal
// inputs have equal outputs: only then a digest that differs is a fault.
const (
	repeatShare = 0.95
	repeatLeast = 20
)

// onlyDigests reports whether nothing but digests is known of the reference.
func (j *judge) onlyDigests() bool {
	digests := false
	for _, v := range j.all {
		if v.float() && v.ref.known() {
			return false
		}
		digests = digests || v.ref != nil && v.ref.Digest != ""
	}
	return digests
}

// digests judges where nothing else is known: a tensor is equal or not. An output of equal
// inputs that is not is a candidate.
type digests struct {
	*judge
	any      bool     // an output so far differs
	computed int      // operators that compute, of equal inputs
	equal    int      // those of them with equal outputs
	types    bool     // a type differs
	found    []*value // candidates
}

// byDigests walks over all operators.
func (j *judge) byDigests() {
	d := &digests{judge: j}
	for _, o := range j.ops {
		if o.refCall >= 0 && o.paired {
			d.visit(o)
		}
	}
	repeat := d.computed >= repeatLeast && float64(d.equal) >= repeatShare*float64(d.computed)
	confidence := record.Low
	if repeat {
		confidence = record.Medium
	}
	for _, v := range d.found {
		if repeat || !v.ref.float() || v.op.noise == optype.NoiseMove {
			j.accuse(v, string(record.DigestDiffers), confidence, lang.Sayf("its inputs have equal digests, the output has not: %s", "输入的摘要相同，输出的不同：%s", v.text()))
		}
	}
	switch {
	case len(j.origins)+len(j.starts) > 0:
	case d.computed == 0 && d.types:
		j.noVerdict = lang.Sayf("digests of different types or kinds cannot be compared; dump statistics to judge", "类型或种类不同，摘要无法比较；请 dump 统计量再判定")
	case len(d.found) > 0:
		j.noVerdict = lang.Sayf("bits differ from %s on, as they do between devices (%d of %d outputs of equal inputs are equal); dump statistics to judge",
			"自 %s 起各位不同，不同设备之间即如此(输入相同的输出中 %[2]d/%[3]d 个相同)；请 dump 统计量再判定", d.found[0].op.name, d.equal, d.computed)
	}
	if len(j.origins) == 0 {
		return
	}
	for _, v := range j.all {
		if v.op.noise == optype.NoiseGarbage || v.place.Unread {
			v.taint = unread
		} else if v.paired() && v.taint == clean && !v.same && v.op.refCall >= j.origins[0].op.refCall {
			v.taint = origin
		}
	}
}

// comparable reports whether the digests of a tensor say anything: they are of one kind, and
// of elements of one type.
func (v *value) comparable() bool {
	return v.paired() && sameKind(v.ref, v.npu) && v.ref.dtype == v.npu.dtype
}

// sameKind reports whether two tensors have digests of one kind, such as MD5.
func sameKind(a, b *numbers) bool { return a.Digest != "" && len(a.Digest) == len(b.Digest) }

// otherKind reports whether they have digests of two kinds.
func otherKind(a, b *numbers) bool { return a.Digest != "" && b.Digest != "" && !sameKind(a, b) }

// makers are the outputs of the reference with the digest of a tensor, and whether one of
// them differs.
func (d *digests) makers(v *value) (makers []*value, differ bool) {
	for _, p := range d.made[v.ref.mark()] {
		if p.ref.Digest == v.ref.Digest {
			makers, differ = append(makers, p), differ || !p.same
		}
	}
	return makers, differ
}

func (d *digests) visit(o *op) {
	if forward := d.byName[strings.Replace(o.name, "backward", "forward", 1)]; o.backward {
		o.bad = forward != nil && forward.bad || (forward == nil || !forward.paired) && d.any
	}
	seen := 0
	for _, v := range o.ins {
		d.types = d.types || v.paired() && (v.ref.dtype != v.npu.dtype || otherKind(v.ref, v.npu))
		if !v.comparable() {
			continue
		}
		seen++
		if !v.same && o.noise != optype.NoiseGarbage && !v.place.Unread {
			o.bad = true
			d.readOther(v)
		}
	}
	bad := o.bad || (o.gradients || seen == 0) && d.any
	for _, v := range o.outs {
		if !v.comparable() {
			continue
		}
		_, passed := d.makers(v)
		d.any = d.any || !v.same
		d.made.add(v)
		if passed || !v.same && o.module && d.inside(o) != clean {
			continue
		}
		if !v.same {
			d.around(o, origin)
		}
		switch {
		case bad || o.noise == optype.NoiseGarbage:
		case o.noise == optype.NoiseRandom && !v.same:
			v.taint = random
			v.note(string(record.Random))
		default:
			if o.noise != optype.NoiseMove && v.float() {
				if d.computed++; v.same {
					d.equal++
				}
			}
			if !v.same {
				o.bad, d.found = true, append(d.found, v)
			}
		}
	}
}

// readOther is for an input whose digest differs.
func (d *digests) readOther(v *value) {
	made, differ := d.makers(v)
	parameter := v.isParameter()
	switch {
	case len(made) > 0 && !differ:
		d.accuse(v, string(record.Memory), record.Medium, lang.Sayf("the reference reads here what %s wrote; on the NPU it is not what that wrote", "标杆在此读取 %s 的输出；NPU 上读到的并非其输出", made[len(made)-1].op.name))
	case len(made) > 0 || v.op.backward:
	case !parameter && v.float() && (d.computed > 0 || d.types): // made between the calls that were dumped
	case parameter || !d.any:
		d.begin(v, parameter)
	}
}
