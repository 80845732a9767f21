package statistics

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// taint is the reason why a tensor may differ from the reference. If there are several reasons, the first one in the
// list below counts.
type taint uint8

const (
	clean  taint = iota
	origin       // an operator upstream is wrong
	start        // the runs did not start alike
	random       // other random numbers were drawn
	flip         // another choice among values that nearly tie
	came         // produced by an operator without a partner
	unread       // garbage that no operator reads
)

// earlierTaint returns the taint that is first in the list, clean if both are clean.
func earlierTaint(a, b taint) taint {
	if a == clean || b != clean && b < a {
		return b
	}
	return a
}

// value is a tensor of a call, in both runs.
type value struct {
	row   *record.Row
	index int // number of the row
	place *record.Statistics
	leaf  int // position among the tensors of the call of the reference
	op    *op
	ref   *sideStatistics
	npu   *sideStatistics // nil without a partner
	from  *value          // the producer of an input, nil if it is not known
	difference
	// noise is the relative error that the tensor may have, taint the reason why it may have a larger one.
	noise float64
	taint taint
	// isMeasured: the elements were compared, and a bound for their error is known.
	isMeasured bool
	// expected is the noise that was predicted for an output before its own numbers were considered. score is the
	// difference divided by its limit. judged reports whether the limits were applied.
	expected, score float64
	isJudged        bool
	// isTied: the tensor holds indices chosen among noisy numbers, or was computed from such indices.
	// It may differ although the printed indices agree.
	isTied bool
	// isDoubtful: the difference of this input is explained only if values cancel between two modules.
	isDoubtful bool
}

func (v *value) kind() tensor.Kind { return tensor.Kind(v.row.Kind) }

// isPaired reports whether both runs have the tensor.
func (v *value) isPaired() bool { return v.ref != nil && v.npu != nil }

// setConsequence marks a tensor as damaged by an earlier tensor.
func (v *value) setConsequence(t taint) { v.noise, v.taint = 1, t }

// op is a call or an operator of the reference, and the NPU's of the same name.
type op struct {
	name      string
	call      msprobe.Name
	typ       optype.Type
	noise     optype.Noise
	ins, outs []*value
	// module: the call has other calls inside. backward: a backward call. gradients: the gradients of the parameters
	// of a module.
	module, backward, gradients bool
	// optimiser: a forward call after the last backward call.
	optimiser        bool
	hasPair          bool // any tensor has a partner
	refCall, npuCall int  // positions in execution order, -1 on a side without the call
	modules          []string
	// api is the name of the called function, without numbers; empty for operators of a graph.
	api string
	// unreliable: the two sides call the function a different number of times, so that the same call number may mean
	// different calls.
	unreliable bool
	bad        bool // of digests: an input or output differs
}

// isLate reports whether the operator belongs to the backward pass.
func (o *op) isLate() bool { return o.backward || o.gradients }

// trait returns the trait of a function. Names of modules are chosen by users and have none.
func (o *op) trait() optype.Trait {
	if o.api == "" || o.module {
		return optype.NoTrait
	}
	return o.typ.Trait
}

// memory finds tensors of the reference by their marks.
type memory map[mark][]*value

func (m memory) add(v *value) { m[v.ref.memoryKey()] = append(m[v.ref.memoryKey()], v) }

// maxAlike limits the search among tensors with one mark to the latest ones: if many tensors have the same bounds, a
// full search takes quadratic time.
const maxAlike = 256

// nearTensors returns the tensors that are near x, the latest first.
func (m memory) nearTensors(x *sideStatistics) (found []*value) {
	all := m[x.memoryKey()]
	for _, v := range slices.Backward(all[max(0, len(all)-maxAlike):]) {
		if isSameReading(v.ref, x) {
			found = append(found, v)
		}
	}
	return found
}

// judge is the state of a walk over the operators in the order of the reference.
type judge struct {
	values          []*value
	ops             []*op
	byName          map[string]*op
	modules         bool        // only modules were dumped
	isLowCoverage   bool        // fewer than half of the operators have a partner
	isPartial       func() bool // operators were left out, by options or in the dump
	past            *record.Past
	peers           *record.Peers
	typical         func() float64 // see typicalDifference
	hasDriftedApart bool           // the weights drifted apart: the compared step is a later one

	outputs     memory            // outputs so far
	orphans     memory            // outputs so far of operators without a partner
	damaged     []*sideStatistics // overwritten tensors that were reported
	byModule    map[string]taint  // taints of the operators inside, by module
	taintsSoFar [came]bool        // taints that arose so far

	// forward and backward are the noise of the run so far in each pass, largest is the largest rounding error of its
	// types.
	forward, backward, largest float64
	// largestShare is the largest share of its limits (0 to 1) that a forward call used so far; the share of older calls
	// fades.
	largestShare               float64
	anyFloat, noisyChoice, nan bool
	// damagedChoice: integers were chosen from damaged values, and their statistics do not show which.
	damagedChoice bool

	origins []*value
	starts  []*value
	// noVerdict says why the rows cannot be judged, empty if they can.
	noVerdict lang.Sentence
}

// newJudge makes operators from rows, and sorts them and their tensors in the order of the reference.
func newJudge(rows []record.Row) *judge {
	j := &judge{byName: map[string]*op{}, outputs: memory{}, orphans: memory{}, byModule: map[string]taint{}, largestShare: 1.0 / reserve}
	for i := range rows {
		j.add(&rows[i], i)
	}
	slices.SortStableFunc(j.ops, func(a, b *op) int { return cmp.Compare(a.refCall, b.refCall) })
	byLeaf := func(a, b *value) int { return cmp.Compare(a.leaf, b.leaf) }
	for _, o := range j.ops {
		slices.SortStableFunc(o.ins, byLeaf)
		slices.SortStableFunc(o.outs, byLeaf)
	}
	j.markCoarse(func(v *value) *sideStatistics { return v.ref })
	j.markCoarse(func(v *value) *sideStatistics { return v.npu })
	for _, v := range j.values {
		if v.isPaired() {
			v.difference = differenceOf(v.ref, v.npu)
		}
	}
	j.countCalls()
	j.hasDriftedApart = j.hasDrifted()
	return j
}

func (j *judge) add(row *record.Row, index int) {
	s := row.Numbers()
	if s == nil || row.Pair.Status == record.Skip {
		return
	}
	o := j.byName[row.Op]
	if o == nil {
		o = newOp(row)
		j.byName[row.Op] = o
		j.ops = append(j.ops, o)
	}
	v := &value{row: row, index: index, op: o, place: s, leaf: math.MaxInt}
	j.values = append(j.values, v)
	refCall, npuCall := s.Ref.Call, s.NPU.Call
	if s.Tensor == "" {
		refCall, npuCall = row.Order, row.Order
	}
	if row.RefFile != "" {
		v.ref, o.refCall = newSideStatistics(s.Ref, row.RefDType, row.RefShape), refCall
		if s.Tensor != "" {
			v.leaf = s.Ref.Leaf
		}
	}
	if row.NPUFile != "" {
		v.npu, o.npuCall = newSideStatistics(s.NPU, row.NPUDType, row.NPUShape), npuCall
	}
	o.hasPair = o.hasPair || v.isPaired()
	if v.kind().IsInput() {
		o.ins = append(o.ins, v)
	} else {
		o.outs = append(o.outs, v)
	}
}

func newOp(row *record.Row) *op {
	o := &op{name: row.Op, refCall: -1, npuCall: -1, modules: row.Modules}
	if row.OpType != "" {
		o.typ = recompute.TypeOf(row.OpType)
		o.noise = o.typ.NoiseWay()
		return o
	}
	words := strings.Split(row.Op, ".")
	o.typ, o.module = recompute.TypeOfCall(row.Op), msprobe.IsModule(row.Op)
	o.noise = o.typ.NoiseWay()
	o.call = msprobe.ParseName(row.Op)
	o.backward, o.gradients = o.call.Direction == msprobe.Backward, o.call.Direction == msprobe.Gradients
	if len(words) > 2 {
		o.api = words[0] + "." + words[1]
	}
	return o
}

// markCoarse marks all tensors of 16 bits of a side if their statistics were computed in 16 bits: nearly all norms of
// float16 are numbers of float16.
func (j *judge) markCoarse(side func(*value) *sideStatistics) {
	norms, half := 0, 0
	float16, _ := tensor.FloatOf(tensor.Float16)
	for _, v := range j.values {
		if x := side(v); x != nil && x.dtype == tensor.Float16 && x.hasNorm() && x.n > 1 && x.Norm.Value() != 0 {
			norms++
			if float16.Has(x.Norm.Value()) {
				half++
			}
		}
	}
	if norms < 4 || 10*half <= 9*norms {
		return
	}
	for _, v := range j.values {
		if x := side(v); x != nil && (x.dtype == tensor.Float16 || x.dtype == tensor.BFloat16) {
			x.normRounding = rounding[x.dtype]
		}
	}
}

// countCalls finds the functions that the two sides call a different number of times, and whether most operators have
// partners.
func (j *judge) countCalls() {
	calls := map[string]int{}
	ref, npu, paired := 0, 0, 0
	j.modules = true
	for _, o := range j.ops {
		function := o.api != "" && !o.isLate() && !o.module
		if o.refCall >= 0 {
			ref++
			j.modules = j.modules && o.module
			if function {
				calls[o.api]++
			}
		}
		if o.npuCall >= 0 {
			npu++
			if function {
				calls[o.api]--
			}
		}
		if o.hasPair {
			paired++
		}
	}
	last := len(j.ops)
	for i, o := range j.ops {
		if o.backward {
			last = i
		}
	}
	for i, o := range j.ops {
		o.unreliable = calls[o.api] != 0
		o.optimiser = i > last && !o.module && !o.isLate()
	}
	j.isLowCoverage = 2*paired < max(ref, npu)
}

// entry is a tensor that adds noise to an output.
type entry struct {
	*value
	noise    float64
	gradient bool // the tensor is an incoming gradient of a backward call
}

// isFloat reports whether a tensor of the reference has floating-point numbers.
func (v *value) isFloat() bool { return v.ref != nil && v.ref.isFloat() }

// call is an operator under judgement with the tensors that add noise to its outputs.
type call struct {
	*op
	entries []entry
	// outputs are the outputs of the forward call that belongs to a backward call.
	outputs    []*value
	taint      taint
	hasNaN     bool // an input on the NPU is not finite
	followsTie bool // an input may result from another choice
}

// add adds a tensor whose noise reaches the outputs.
func (c *call) add(v *value, gradient bool) {
	c.entries, c.taint = append(c.entries, entry{v, v.noise, gradient}), earlierTaint(c.taint, v.taint)
}

// assumeInputNoise lets the first output stand for inputs that are not known, with the given noise.
func (c *call) assumeInputNoise(noise float64) {
	if len(c.outs) > 0 && c.outs[0].ref != nil {
		c.entries = append(c.entries, entry{c.outs[0], noise, false})
	}
}

// walk judges all operators in the order of the reference.
func (j *judge) walk() {
	for _, o := range j.ops {
		if o.refCall >= 0 && o.hasPair {
			j.judgeOperator(o)
			continue
		}
		for _, v := range o.outs {
			if v.ref != nil {
				j.orphans.add(v)
			}
		}
	}
}

// judgeOperator judges the inputs and outputs of an operator.
func (j *judge) judgeOperator(o *op) {
	c := &call{op: o}
	worst := 0.0
	for _, v := range o.ins {
		if !v.isPaired() {
			continue
		}
		if j.input(v); v.taint == unread {
			continue
		}
		if v.isFloat() {
			j.largest = max(j.largest, v.rounding())
			c.hasNaN = c.hasNaN || v.npu.hasRange() && !v.npu.isFinite()
			if v.taint == clean && !o.backward && !o.optimiser {
				j.forward = max(0.98*j.forward, min(v.z, 1))
			}
		}
		c.followsTie = c.followsTie || v.isTied
		c.add(v, o.backward && v.kind() == tensor.Input)
		worst = max(worst, v.z)
	}
	if o.isLate() {
		j.addForward(c)
	}
	if c.taint == clean {
		c.taint = j.innerTaint(o)
	}
	if c.taint == clean && c.hasUnknownInputs() {
		if len(c.entries) == 0 && len(o.outs) > 0 {
			worst = o.outs[0].z
		}
		if c.taint = j.hiddenTaint(worst, false, max(j.forward, j.backward)); c.taint == clean && len(j.origins) > 0 {
			c.taint = origin
		}
		c.assumeInputNoise(max(j.forward, j.backward, 2*j.largest))
	}
	j.noisyChoice = j.noisyChoice || c.isChoice()
	run := &j.forward
	if o.isLate() {
		run = &j.backward
	}
	passed := clean
	for _, v := range o.outs {
		if v.ref == nil {
			continue
		}
		if v.npu == nil {
			v.setConsequence(came)
			continue
		}
		if j.output(c, v); v.taint != unread {
			passed = earlierTaint(passed, v.taint)
		}
		if v.isFloat() {
			j.anyFloat, j.largest = true, max(j.largest, v.rounding())
			if v.taint == clean && !o.optimiser {
				*run = max(0.98**run, v.z, min(v.noise, 8*v.z))
			}
		}
	}
	if passed = cmp.Or(passed, c.taint); passed != clean {
		j.taintModules(o, passed)
	}
	for _, v := range o.outs {
		if v.ref != nil {
			j.outputs.add(v)
		}
	}
}

// hasUnknownInputs reports whether a call produces floating-point numbers but none of its inputs is known.
func (c *call) hasUnknownInputs() bool {
	known := func(e entry) bool { return e.isFloat() && (e.gradient || !c.backward) }
	switch {
	case c.gradients || !slices.ContainsFunc(c.outs, (*value).isFloat) || slices.ContainsFunc(c.entries, known):
		return false
	case c.noise == optype.NoiseRandom || c.noise == optype.NoiseGarbage:
		return false
	}
	return c.backward || c.module || c.noise != optype.NoiseMove && c.noise != optype.NoiseFunction
}

// isChoice reports whether a call makes discrete values from noisy ones: integers, or results that were not dumped.
func (c *call) isChoice() bool {
	noisy := func(e entry) bool { return e.isFloat() && e.noise > 0 }
	whole := func(v *value) bool { return v.ref != nil && !v.ref.isFloat() }
	return !c.isLate() && slices.ContainsFunc(c.entries, noisy) &&
		(len(c.outs) == 0 || c.typ.Class == optype.Quantise || slices.ContainsFunc(c.outs, whole))
}

// addForward adds the inputs of the forward call to a backward call. The gradients of a module's parameters also get
// the incoming gradients of its backward call.
func (j *judge) addForward(c *call) {
	forward := j.byName[c.call.InDirection(msprobe.Forward)]
	if c.gradients {
		if back := j.byName[c.call.InDirection(msprobe.Backward)]; back != nil && back.hasPair {
			for _, v := range back.ins {
				if v.isPaired() && v.taint != unread {
					c.add(v, true)
				}
			}
		}
	}
	known := forward != nil && forward.hasPair && forward != c.op
	switch {
	case c.gradients && !slices.ContainsFunc(c.entries, func(e entry) bool { return e.gradient }):
		c.assumeInputNoise(1)
	case c.backward && !known:
		c.assumeInputNoise(4 * max(j.forward, j.backward, 2*j.largest))
	}
	if !known {
		return
	}
	for _, v := range forward.ins {
		if v.isPaired() && v.isFloat() && v.taint != unread {
			c.add(v, false)
		}
	}
	c.outputs = forward.outs
}

// taintModules taints the modules around a call.
func (j *judge) taintModules(o *op, t taint) {
	names := o.modules
	if words := strings.Split(o.name, "."); o.module && len(names) == 0 {
		for i := 2; i < len(words)-2; i++ {
			names = append(names, strings.Join(words[:i], ".")+"|")
		}
	}
	for _, name := range names {
		j.byModule[name] = cmp.Or(j.byModule[name], t)
	}
}

// innerTaint returns the taint of the operators inside a module.
func (j *judge) innerTaint(o *op) taint {
	if !o.module {
		return clean
	}
	path := o.name
	for _, direction := range [...]string{".forward", ".backward"} {
		if at := strings.LastIndex(o.name, direction); at >= 0 {
			path = o.name[:at]
			break
		}
	}
	return cmp.Or(j.byModule[o.name], j.byModule[path[:max(0, strings.LastIndex(path, "."))]+"|"])
}

// hiddenTaint returns a taint of the run that may have reached a tensor through operators that were not dumped, clean
// if there is none. z and shape tell by how much the tensor differs, run is the noise of the run.
func (j *judge) hiddenTaint(z float64, shape bool, run float64) taint {
	switch {
	case j.taintsSoFar[start]:
		return start
	case j.taintsSoFar[random]:
		return random
	case j.taintsSoFar[flip] && (shape || z > maxDrift*max(run, 2*j.largest, resolved)):
		return flip
	}
	return clean
}

// startTaint makes a tensor the start of a taint.
func (j *judge) startTaint(v *value, t taint) {
	v.setConsequence(t)
	j.taintsSoFar[t] = true
}

// reportStart reports an input that should be equal and is not: the runs did not start alike.
func (j *judge) reportStart(v *value, kind string, why lang.Sentence) {
	j.starts = append(j.starts, v)
	v.fail(finding.StartedApart, kind, finding.High, why)
}

// reportOrigin makes a tensor an origin.
func (j *judge) reportOrigin(v *value, kind string, confidence finding.Confidence, why lang.Sentence) {
	v.setConsequence(origin)
	j.origins = append(j.origins, v)
	code, _ := kindOf(kind)
	v.fail(code, kind, confidence, why)
}
