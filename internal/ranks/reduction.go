package ranks

import (
	"errors"
	"math"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// member counts the wrong elements in the output of a member of a reduction.
type member struct {
	total    int64
	bad      int64 // elements beyond the bound
	overflow int64 // elements not compared, since the sum may have overflowed
	first    int64 // the first bad element
	worst    float64
	differs  bool // bits differ from the first member
	// apart and size are the sums of squares of the errors and of the exact reduction.
	apart, size float64
}

// judgeReduction reduces the inputs again and compares the outputs.
func (f *reader) judgeReduction(e *Event, p *outputPlan) judgement {
	op := e.comms[0].Op
	for i, m := range e.comms {
		if !trace.AllStored(m.In) || p.ranges[i].n > 0 && !trace.AllStored(m.Out) {
			return noElementsJudgement()
		}
		if m.Op != op {
			return judgement{skip: lang.Say("the ranks of the group use different reductions")}
		}
	}
	if op == trace.NoReduction {
		return judgement{skip: lang.Say("an unknown reduction")}
	}
	r, err := f.recomputeReduction(e, p, op)
	var average *reducer
	for _, other := range e.otherReductions() {
		if err != nil || !r.skip.IsZero() || r.countViolators() == 0 {
			break
		}
		if as, failed := f.recomputeReduction(e, p, other); failed == nil && as.skip.IsZero() {
			if other == trace.Avg {
				average = as
			}
			if as.explainsMore(r) {
				r = as
			}
		}
	}
	switch {
	case err != nil:
		return failedJudgement(err)
	case !r.skip.IsZero():
		return judgement{skip: r.skip}
	}
	j := r.conclude()
	if average != nil && len(j.found) > 0 && j.found[0].Kind == Corrupt { // perhaps an average without a member
		if as := average.conclude(); len(as.found) > 0 && as.found[0].Kind == MissingRank {
			return as
		}
	}
	return j
}

// recomputeReduction compares the outputs of the members of an event with a reduction of their inputs.
func (f *reader) recomputeReduction(e *Event, p *outputPlan, op trace.Reduction) (*reducer, error) {
	r := &reducer{reader: f, event: e, plan: p, op: op, reducedWindow: &f.reduced}
	if err := r.setPrecision(); err != nil || !r.skip.IsZero() {
		return r, err
	}
	return r, r.check()
}

// otherReductions lists the reductions besides the sum to try if the arguments of the calls are not in the dump.
func (e *Event) otherReductions() []trace.Reduction {
	if !e.comms[0].ArgsMissing {
		return nil
	}
	return []trace.Reduction{trace.Maximum, trace.Minimum, trace.Avg, trace.Product}
}

// countViolators counts the members that do not hold the reduction.
func (r *reducer) countViolators() (n int) {
	for i := range r.members {
		n += min(int(r.members[i].bad), 1)
	}
	return n
}

// explainsMore reports whether more members hold the reduction of r than of s, or whether r is an average in lower
// precision than its type, and s is far from the outputs.
func (r *reducer) explainsMore(s *reducer) bool {
	return r.countViolators() < s.countViolators() || r.op == trace.Avg && r.distance() <= lowLargest && distinctError*r.distance() < s.distance()
}

// distance returns the largest relative RMS error of the members.
func (r *reducer) distance() (largest float64) {
	for i := range r.members {
		if m := &r.members[i]; m.size > 0 {
			largest = max(largest, math.Sqrt(m.apart/m.size))
		}
	}
	return largest
}

// failedJudgement returns the judgement of an event whose tensors cannot be read.
func failedJudgement(err error) judgement {
	var unsupported *tensor.UnsupportedType
	if errors.As(err, &unsupported) {
		return judgement{skip: lang.Say("elements of %s", unsupported.DType)}
	}
	return judgement{skip: lang.Say("a tensor cannot be read"), err: err}
}

// reducer computes the reduction of an event again, in windows of elements.
type reducer struct {
	*reader
	event *Event
	plan  *outputPlan
	op    trace.Reduction
	skip  lang.Sentence

	precision precision
	growth    float64 // see precision.growth
	members   []member
	*reducedWindow
}

// reducedWindow is a window of a reduction.
type reducedWindow struct {
	// exact is the reduction, size the sum of absolute values (for products their product). x is the input of a
	// member, y its output, first the output of the first member. limits bounds the distance of y from exact; it is
	// negative where other rules decide.
	exact, size, limits, x, y, first []float64
}

// setPrecision determines the precision of the elements. Elements stored in float32 may have a shorter type.
func (r *reducer) setPrecision() error {
	in := r.event.comms[0].In
	d, _ := trace.DTypeOf(in)
	if d == tensor.Undefined || d == tensor.Float32 {
		var all [][]float64
		n := min(trace.CountElements(in), 1<<12)
		for i, m := range r.event.comms {
			x := make([]float64, n)
			if err := r.Floats(x, m.In, 0); err != nil {
				return err
			}
			y := make([]float64, min(n, r.plan.ranges[i].n))
			if err := r.Floats(y, m.Out, 0); err != nil {
				return err
			}
			all = append(all, x, y)
		}
		if d == tensor.Undefined {
			var err error
			if d, err = r.StoredType(in[0]); err != nil {
				return err
			}
		}
		d = effectiveType(d, all...)
	}
	var ok bool
	if r.precision, ok = newPrecision(d); !ok || r.precision.bits != 0 && r.op == trace.Avg {
		r.skip = lang.Say("elements of %s", d)
		return nil
	}
	r.growth = r.precision.sumGrowth(len(r.event.Group))
	return nil
}

// check compares the outputs of the members with the reduction.
func (r *reducer) check() error {
	r.members = make([]member, len(r.event.Group))
	total := trace.CountElements(r.event.comms[0].In)
	for from := int64(0); from < total; from += trace.Window {
		n := min(trace.Window, total-from)
		if err := r.reduce(from, n); err != nil {
			return err
		}
		r.setLimits()
		r.first = r.first[:0]
		for i := range r.members {
			lo, hi := r.memberPart(i, from, n)
			if lo >= hi {
				continue
			}
			r.y = trace.Resize(r.y, hi-lo)
			if err := r.Floats(r.y, r.event.comms[i].Out, lo-r.plan.ranges[i].first); err != nil {
				return err
			}
			r.compare(i, lo, lo-from)
		}
	}
	return nil
}

// memberPart returns the part of a window that a member should hold.
func (r *reducer) memberPart(i int, from, n int64) (lo, hi int64) {
	part := r.plan.ranges[i]
	return max(from, part.first), min(from+n, part.first+part.n)
}

// reduce computes a window of the reduction.
func (r *reducer) reduce(from, n int64) error {
	r.exact, r.size, r.x = trace.Resize(r.exact, n), trace.Resize(r.size, n), trace.Resize(r.x, n)
	for i, m := range r.event.comms {
		if err := r.Floats(r.x, m.In, from); err != nil {
			return err
		}
		if i == 0 {
			for k, x := range r.x {
				r.exact[k], r.size[k] = x, math.Abs(x)
			}
			continue
		}
		r.addInput()
	}
	n64 := float64(len(r.event.Group))
	for k := range r.exact {
		if r.op == trace.Avg {
			r.exact[k] /= n64
			r.size[k] /= n64
		}
		if r.precision.bits != 0 && r.size[k] < exactIntegers {
			r.exact[k] = r.precision.wrapInteger(r.exact[k])
		}
	}
	return nil
}

// addInput adds the input of another member to the reduction.
func (r *reducer) addInput() {
	sizes := r.op // reduction of the absolute values
	if r.op == trace.Minimum {
		sizes = trace.Maximum
	}
	for k, x := range r.x {
		r.exact[k], r.size[k] = r.op.Combine(r.exact[k], x), sizes.Combine(r.size[k], math.Abs(x))
	}
}

// bound returns how far a result may be from the exact result.
func (r *reducer) bound(exact, size float64) float64 {
	p, n := &r.precision, float64(len(r.event.Group))
	switch {
	case p.bits != 0 || r.op == trace.Maximum || r.op == trace.Minimum:
		return 0
	case r.op == trace.Product:
		return float64(r.growth*math.Abs(exact)) + float64(n*p.smallest)
	}
	// The last term is the rounding error of the variable exact: it is a float64 sum.
	return float64(r.growth*size) + float64(p.spacing*math.Abs(exact)) + float64(n*p.smallest) + float64(n*0x1p-52*size)
}

// elementVerdict is the verdict on an element.
type elementVerdict uint8

const (
	good elementVerdict = iota
	wrong
	overflowed
)

// judge compares an element with the exact one. NaN and infinities are right if the exact element has them, or if a
// partial sum may exceed the range. A device that saturates has the largest finite value instead.
func (r *reducer) judge(y, exact, size, bound float64) elementVerdict {
	p := &r.precision
	saturated := p.largest != 0 && math.Abs(y) >= p.largest
	switch {
	case p.bits != 0 && size >= exactIntegers:
		return overflowed
	case !trace.IsFinite(exact):
		if trace.IsFinite(y) && !saturated {
			return wrong
		}
		return good
	case p.largest != 0 && float64(r.maxPartialSum(size)*(1+r.growth)) > p.largest:
		return overflowed
	case !trace.IsFinite(y), !(math.Abs(y-exact) <= bound):
		return wrong
	}
	return good
}

// maxPartialSum returns the largest possible magnitude of a partial result.
func (r *reducer) maxPartialSum(size float64) float64 {
	if r.op == trace.Avg {
		return size * float64(len(r.event.Group))
	}
	return size
}

// setLimits sets the limits of a window. They are the same for all members, and most elements are within them.
func (r *reducer) setLimits() {
	r.limits = trace.Resize(r.limits, int64(len(r.exact)))
	for k, exact := range r.exact {
		r.limits[k] = -1
		if r.judge(exact, exact, r.size[k], 0) == good && trace.IsFinite(exact) {
			r.limits[k] = r.bound(exact, r.size[k])
		}
	}
}

// compare compares the output elements of member i from lo on with the reduction; place is their offset in the
// window.
func (r *reducer) compare(i int, lo, place int64) {
	m := &r.members[i]
	m.total += int64(len(r.y))
	exacts, limits := r.exact[place:][:len(r.y)], r.limits[place:][:len(r.y)]
	for k, y := range r.y {
		exact := exacts[k]
		d := y - exact
		if trace.IsFinite(d) {
			m.apart += float64(d * d)
			m.size += float64(exact * exact)
		}
		if math.Abs(d) <= limits[k] {
			continue
		}
		size := r.size[place+int64(k)]
		bound := r.bound(exact, size)
		switch r.judge(y, exact, size, bound) {
		case wrong:
			if m.bad == 0 {
				m.first = lo - r.plan.ranges[i].first + int64(k)
			}
			m.bad++
			if ratio := math.Abs(y-exact) / bound; ratio > m.worst && !math.IsInf(ratio, 0) {
				m.worst = ratio
			}
		case overflowed:
			m.overflow++
		}
	}
	if r.event.api().Pattern != trace.AllReduce {
		return
	}
	if len(r.first) == 0 {
		r.first = append(r.first, r.y...)
		return
	}
	for k, y := range r.y {
		if math.Float64bits(y) != math.Float64bits(r.first[k]) {
			m.differs = true
		}
	}
}

// conclude returns the findings about the members.
func (r *reducer) conclude() judgement {
	e := r.event
	j := judgement{isFloatReduction: r.precision.bits == 0}
	var violating []int
	overflow, differ := false, false
	for i := range r.members {
		if r.members[i].bad > 0 {
			violating = append(violating, i)
		}
		overflow = overflow || r.members[i].overflow > 0
		differ = differ || r.members[i].differs
	}
	if overflow {
		j.notes = append(j.notes, e.newNote(OverflowInSum))
	}
	if len(violating) == 0 {
		if differ {
			j.notes = append(j.notes, e.newNote(RoundingPerRank))
		}
		return j
	}
	if !differ && e.api().Pattern == trace.AllReduce {
		late, err := r.areInputsLate()
		if err != nil {
			return failedJudgement(err)
		}
		if late {
			j.notes = append(j.notes, e.newNote(InputTooLate))
			j.skip = lang.Say("the inputs were dumped after the communication")
			return j
		}
	}
	found, err := r.explain(violating)
	if err != nil {
		return failedJudgement(err)
	}
	j.found = found
	if j.isFloatReduction && len(violating) == len(e.Group) && len(found) == 1 && found[0].Kind == Corrupt {
		j.uniformError = r.distance()
	}
	return j
}

// areInputsLate reports whether the input of every member equals its output: the inputs were dumped after the call.
func (r *reducer) areInputsLate() (bool, error) {
	for _, m := range r.event.comms {
		same, err := r.HaveSameElements(m.In, 0, m.Out, 0, trace.CountElements(m.In))
		if err != nil || !same {
			return false, err
		}
	}
	return true, nil
}
