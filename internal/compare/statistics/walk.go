package statistics

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"dumptool/internal/compare/record"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// taint says why a tensor may hold other numbers than the reference. The first of several
// counts.
type taint uint8

const (
	clean  taint = iota
	origin       // an operator upstream is wrong
	start        // the runs did not start alike
	random       // other random numbers were drawn
	flip         // another choice among values that nearly tie
	came         // made by what has no partner
	unread       // garbage that nobody reads
)

// first is the one of two taints that counts.
func first(a, b taint) taint {
	if a == clean || b != clean && b < a {
		return b
	}
	return a
}

// value is a tensor of a call, in both runs.
type value struct {
	row   *record.Row
	index int // of the row
	place *record.Statistics
	op    *op
	ref   *numbers
	npu   *numbers // nil without a partner
	difference
	// noise is the level that the tensor may have, and taint why it may be off by more.
	noise float64
	taint taint
	// expected is the level that was expected of an output before its numbers were seen,
	// and score what it is off by beside that; judged is set where it was.
	expected, score float64
	judged          bool
}

func (v *value) kind() tensor.Kind { return tensor.Kind(v.row.Kind) }

// op is a call or an operator of the reference, and of the NPU under its name.
type op struct {
	name      string
	typ       optype.Type
	noise     optype.Noise
	ins, outs []*value
	// module is set for a call with others inside, backward for one of gradients, and
	// gradients for those of the parameters of a module.
	module, backward, gradients bool
	paired                      bool // any tensor has a partner
	refCall, npuCall            int  // places, -1 where there is none
	modules                     []string
	// api is the name of what is called, without numbers; empty for operators of a graph.
	api string
}

// late reports whether the operator is of the backward pass.
func (o *op) late() bool { return o.backward || o.gradients }

// judge walks over the operators of the reference.
type judge struct {
	ops    []*op
	byName map[string]*op
	// unreliable are the functions that the two sides call in different numbers: a call
	// number may be that of another call.
	unreliable map[string]bool
	modules    bool // nothing but modules was dumped
	few        bool // fewer than half of the operators have a partner
	drifted    bool // the weights have drifted apart: the runs are some steps old

	made     map[mark][]*value // outputs so far
	orphans  map[mark][]*value // outputs so far of operators without a partner
	read     map[mark][]*value // inputs so far that nobody made
	damaged  []*numbers        // what was read where memory was overwritten
	byModule map[string]taint  // what is inside of modules
	seen     [unread + 1]bool  // the taints so far

	// forward and backward are the noise of the run so far, largest the largest rounding
	// of its types.
	forward, backward, largest float64
	anyFloat, noisyChoice, nan bool

	origins []*value
	starts  []*value
	// noVerdict says why nothing can be said, where it cannot.
	noVerdict lang.Sentence
}

// newJudge makes operators of rows.
func newJudge(rows []record.Row) *judge {
	j := &judge{byName: map[string]*op{}, unreliable: map[string]bool{}, made: map[mark][]*value{}, orphans: map[mark][]*value{},
		read: map[mark][]*value{}, byModule: map[string]taint{}}
	for i := range rows {
		j.add(&rows[i], i)
	}
	j.order()
	j.coarse()
	j.count()
	j.drifted = j.drift()
	return j
}

// add adds the tensors of a row.
func (j *judge) add(row *record.Row, index int) {
	s := statisticsOf(row)
	if s == nil || row.Pair.Status == record.Skip {
		return
	}
	o := j.byName[row.Op]
	if o == nil {
		o = newOp(row)
		j.byName[row.Op] = o
		j.ops = append(j.ops, o)
	}
	v := &value{row: row, index: index, op: o, place: s}
	if row.RefFile != "" {
		v.ref = newNumbers(s.Ref, row.RefDType, row.RefShape)
		o.refCall = place(s.Ref.Call, s, row)
	}
	if row.NPUFile != "" {
		v.npu = newNumbers(s.NPU, row.NPUDType, row.NPUShape)
		o.npuCall = place(s.NPU.Call, s, row)
	}
	if v.ref != nil && v.npu != nil {
		o.paired = true
		v.difference = differ(v.ref, v.npu)
	}
	if v.kind().IsInput() {
		o.ins = append(o.ins, v)
	} else {
		o.outs = append(o.outs, v)
	}
}

// place is that of the call of a row in its run.
func place(call int, s *record.Statistics, row *record.Row) int {
	if s.Tensor == "" {
		return row.Order
	}
	return call
}

// newOp is the operator of a row.
func newOp(row *record.Row) *op {
	o := &op{name: row.Op, refCall: -1, npuCall: -1, modules: row.Modules}
	if row.OpType != "" {
		o.typ = optype.Of(row.OpType)
		o.noise = o.typ.NoiseWay()
		return o
	}
	words := strings.Split(row.Op, ".")
	o.typ, o.module = optype.OfCall(row.Op), msprobe.IsModule(row.Op)
	o.noise = o.typ.NoiseWay()
	o.backward, o.gradients = slices.Contains(words, "backward"), slices.Contains(words, "parameters_grad")
	if len(words) > 2 {
		o.api = words[0] + "." + words[1]
	}
	return o
}

// order puts operators and their tensors in the order of the reference.
func (j *judge) order() {
	slices.SortStableFunc(j.ops, func(a, b *op) int { return cmp.Compare(a.refCall, b.refCall) })
	leaf := func(v *value) int {
		if v.ref != nil && v.place.Tensor != "" {
			return v.place.Ref.Leaf
		}
		return 1 << 30
	}
	for _, o := range j.ops {
		for _, list := range [][]*value{o.ins, o.outs} {
			slices.SortStableFunc(list, func(a, b *value) int { return cmp.Compare(leaf(a), leaf(b)) })
		}
	}
}

// values are all tensors.
func (j *judge) values(yield func(*value) bool) {
	for _, o := range j.ops {
		for _, list := range [][]*value{o.ins, o.outs} {
			for _, v := range list {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// coarse finds the sides whose statistics of 16 bits were computed in 16 bits: nearly all
// norms of float16 are numbers of float16.
func (j *judge) coarse() {
	for _, side := range []func(*value) *numbers{func(v *value) *numbers { return v.ref }, func(v *value) *numbers { return v.npu }} {
		norms, half := 0, 0
		for v := range j.values {
			if x := side(v); x != nil && x.dtype == tensor.Float16 && x.normed() && x.n > 1 && x.Norm.Value != 0 {
				norms++
				if isHalf(x.Norm.Value) {
					half++
				}
			}
		}
		if norms < 4 || 10*half <= 9*norms {
			continue
		}
		for v := range j.values {
			if x := side(v); x != nil && (x.dtype == tensor.Float16 || x.dtype == tensor.BFloat16) {
				x.coarse = rounding(x.dtype)
			}
		}
	}
	for v := range j.values {
		if v.npu != nil && v.ref != nil {
			v.difference = differ(v.ref, v.npu)
		}
	}
}

// isHalf reports whether a number is one of float16.
func isHalf(x float64) bool {
	x = math.Abs(x)
	if x > largestHalf {
		return math.IsInf(x, 0)
	}
	_, exp := math.Frexp(x)
	unit := math.Ldexp(1, max(exp-11, -24))
	return math.Trunc(x/unit)*unit == x
}

// count finds the functions that the two sides call in different numbers, and whether most
// operators have partners.
func (j *judge) count() {
	calls := map[string]int{}
	ref, npu, paired := 0, 0, 0
	j.modules = true
	for _, o := range j.ops {
		d := 0
		if o.refCall >= 0 {
			ref, d = ref+1, d+1
			j.modules = j.modules && o.module
		}
		if o.npuCall >= 0 {
			npu, d = npu+1, d-1
		}
		if o.paired {
			paired++
		}
		if o.api != "" && !o.late() && !o.module {
			calls[o.api] += d
		}
	}
	for api, d := range calls {
		if d != 0 {
			j.unreliable[api] = true
		}
	}
	j.few = 2*paired < max(ref, npu)
}

// entry is a tensor that the noise of an output comes from.
type entry struct {
	*value
	noise    float64
	gradient bool // it is one that goes into a backward call
}

// walk judges all operators in their order.
func (j *judge) walk() {
	for _, o := range j.ops {
		switch {
		case o.refCall < 0:
		case !o.paired:
			for _, v := range o.outs {
				if v.ref != nil {
					j.orphans[v.ref.mark()] = append(j.orphans[v.ref.mark()], v)
				}
			}
		default:
			j.visit(o)
		}
	}
}

// call is an operator that is visited: what its inputs say.
type call struct {
	*op
	entries []entry
	// outputs are those of the forward call of a backward one.
	outputs []*value
	taint   taint
	accused bool    // an input was
	nan     bool    // an input of the NPU is not finite
	growth  float64 // the factors of all inputs together
	exact   bool    // all inputs are the same
}

// visit judges the inputs and outputs of an operator.
func (j *judge) visit(o *op) {
	before := len(j.origins)
	c := &call{op: o, exact: true, growth: 1}
	worst := 0.0
	for _, v := range o.ins {
		if v.npu == nil || v.ref == nil {
			continue
		}
		j.input(o, v)
		if v.taint == unread {
			continue
		}
		if v.ref.float() {
			c.nan = c.nan || v.npu.known() && !v.npu.finite()
			if v.taint == clean && !o.backward {
				j.forward = max(0.98*j.forward, min(v.z, 1))
			}
		}
		c.entries = append(c.entries, entry{v, v.noise, o.backward && v.kind() == tensor.Input})
		c.taint = first(c.taint, v.taint)
		c.growth, c.exact, worst = c.growth*v.factor(), c.exact && (v.same || v.z == 0), max(worst, v.z)
	}
	if o.late() {
		j.addForward(c)
	}
	if c.taint == clean {
		c.taint = j.inside(o)
	}
	c.accused = len(j.origins) > before
	if c.taint == clean && j.blind(c) {
		if len(c.entries) == 0 && len(o.outs) > 0 {
			worst = o.outs[0].z
		}
		if c.taint = j.any(worst, false, max(j.forward, j.backward)); c.taint == clean && len(j.origins) > 0 {
			c.taint = origin
		}
		c.guess(max(j.forward, j.backward, 2*j.largest))
	}
	j.noisyChoice = j.noisyChoice || c.chooses()
	passed := clean
	for _, v := range o.outs {
		if v.ref == nil {
			continue
		}
		if v.npu == nil {
			v.noise, v.taint = 1, came
			continue
		}
		j.output(c, v)
		if v.taint != unread {
			passed = first(passed, v.taint)
		}
		if v.ref.float() {
			j.anyFloat = true
			if noise := max(v.z, min(v.noise, 8*v.z)); v.taint == clean && o.late() {
				j.backward = max(0.98*j.backward, noise)
			} else if v.taint == clean {
				j.forward = max(0.98*j.forward, noise)
			}
		}
	}
	if passed == clean {
		passed = c.taint
	}
	if passed != clean {
		j.around(o, passed)
	}
	for _, v := range o.outs {
		if v.ref != nil {
			m := v.ref.mark()
			j.made[m] = append(j.made[m], v)
		}
	}
}

// guess gives a call whose inputs are not known a noise for what they stand for.
func (c *call) guess(noise float64) {
	if len(c.outs) > 0 && c.outs[0].ref != nil {
		c.entries = append(c.entries, entry{c.outs[0], noise, false})
	}
}

// blind reports whether nothing is known of what a call reads, though it makes numbers.
func (j *judge) blind(c *call) bool {
	if c.gradients || c.noise == optype.NoiseRandom || c.noise == optype.NoiseGarbage || !slices.ContainsFunc(c.outs, func(v *value) bool { return v.ref != nil && v.ref.float() }) {
		return false
	}
	for _, e := range c.entries {
		if e.ref.float() && (e.gradient || !c.backward) {
			return false
		}
	}
	return c.backward || c.module || c.noise != optype.NoiseMove && c.noise != optype.NoiseFunction
}

// chooses reports whether a call makes discrete values of noisy ones: integers, or nothing
// that was dumped.
func (c *call) chooses() bool {
	noisy := slices.ContainsFunc(c.entries, func(e entry) bool { return e.ref.float() && e.noise > 0 })
	return noisy && !c.late() && (len(c.outs) == 0 || c.typ.Class == optype.Quantise || slices.ContainsFunc(c.outs, func(v *value) bool { return v.ref != nil && !v.ref.float() }))
}

// addForward adds what the forward call of a backward one read, and what goes into the
// gradients of the parameters of a module.
func (j *judge) addForward(c *call) {
	forward := j.byName[strings.Replace(c.name, "backward", "forward", 1)]
	if c.gradients {
		module, _, _ := strings.Cut(c.name, ".parameters_grad")
		forward = j.byName[module+".forward.0"]
		if back := j.byName[module+".backward.0"]; back != nil && back.paired {
			for _, v := range back.ins {
				if v.npu != nil && v.ref != nil && v.taint != unread {
					c.entries, c.taint = append(c.entries, entry{v, v.noise, true}), first(c.taint, v.taint)
				}
			}
		}
	}
	if forward != nil && (!forward.paired || forward == c.op) {
		forward = nil
	}
	switch {
	case c.gradients && !slices.ContainsFunc(c.entries, func(e entry) bool { return e.gradient }):
		c.guess(1)
	case c.backward && forward == nil:
		c.guess(4 * max(j.forward, j.backward, 2*j.largest))
	}
	if forward == nil {
		return
	}
	for _, v := range forward.ins {
		if v.npu != nil && v.ref != nil && v.ref.float() && v.taint != unread {
			c.entries, c.taint = append(c.entries, entry{v, v.noise, false}), first(c.taint, v.taint)
		}
	}
	c.outputs = forward.outs
}

// around taints the modules around a call.
func (j *judge) around(o *op, t taint) {
	taint := func(module string) {
		if _, ok := j.byModule[module]; !ok {
			j.byModule[module] = t
		}
	}
	for _, module := range o.modules {
		taint(module)
	}
	if o.module && len(o.modules) == 0 {
		words := strings.Split(o.name, ".")
		for i := 2; i < len(words)-2; i++ {
			taint(strings.Join(words[:i], ".") + "|")
		}
	}
}

// inside is the taint of what is inside of a module.
func (j *judge) inside(o *op) taint {
	if !o.module {
		return clean
	}
	if t := j.byModule[o.name]; t != clean {
		return t
	}
	words := strings.Split(stem(o.name), ".")
	return j.byModule[strings.Join(words[:max(len(words)-1, 0)], ".")+"|"]
}

// stem is the name of a call without its direction and the number behind that.
func stem(name string) string {
	for _, direction := range [...]string{".forward", ".backward"} {
		if at := strings.LastIndex(name, direction); at >= 0 {
			return name[:at]
		}
	}
	return name
}

// any is a taint that something in the run has, and that a tensor may have got by a way
// that was not dumped: it differs by so much.
func (j *judge) any(z float64, shape bool, run float64) taint {
	for _, t := range [...]taint{start, random} {
		if j.seen[t] {
			return t
		}
	}
	if shape || z > 8*max(run, 2*j.largest, resolved) {
		for _, t := range [...]taint{flip, came} {
			if j.seen[t] {
				return t
			}
		}
	}
	return clean
}

// accuse makes a tensor an origin.
func (j *judge) accuse(v *value, kind string, confidence record.Confidence, why lang.Sentence) {
	v.noise, v.taint = 1, origin
	j.origins = append(j.origins, v)
	v.setOrigin(kind, confidence, why)
}
