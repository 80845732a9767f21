package ranks

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// piece is a run of elements that a member ought to hold: n elements of what another
// member put in, from first on.
type piece struct {
	from     int // a member
	first, n int64
}

// plan says what members ought to hold.
type plan struct {
	// pieces are those of each member, joined; nil for a member that gets nothing.
	pieces [][]piece
	// ranges are the parts of the reduction of all inputs that each member ought to hold,
	// for communications that reduce; an empty one for a member that gets nothing.
	ranges []piece
}

// errSplits is that of parts that do not add up.
var errSplits = errors.New("parts do not add up")

// plan says what the members of an event ought to hold.
func (e *Event) plan() (*plan, error) {
	n := len(e.Group)
	p := &plan{}
	size := func(i int) int64 { return count(e.comms[i].In) }
	all := func() (joined []piece) {
		for j := range n {
			joined = append(joined, piece{j, 0, size(j)})
		}
		return joined
	}
	for i := range n {
		root := e.member(e.root())
		switch e.api().pattern {
		case allReduce:
			p.ranges = append(p.ranges, piece{n: size(0)})
		case reduceRoot:
			whole := piece{n: size(0)}
			if i != root {
				whole.n = 0
			}
			p.ranges = append(p.ranges, whole)
		case reduceScatter:
			part, err := e.part(0, i)
			if err != nil {
				return nil, err
			}
			p.ranges = append(p.ranges, part)
		case allGather:
			p.pieces = append(p.pieces, all())
		case gatherRoot:
			if i == root {
				p.pieces = append(p.pieces, all())
			} else {
				p.pieces = append(p.pieces, nil)
			}
		case broadcast:
			p.pieces = append(p.pieces, []piece{{root, 0, size(root)}})
		case scatterRoot:
			part, err := e.part(root, i)
			if err != nil {
				return nil, err
			}
			p.pieces = append(p.pieces, []piece{part})
		case allToAll:
			var parts []piece
			for j := range n {
				part, err := e.part(j, i)
				if err != nil {
					return nil, err
				}
				parts = append(parts, part)
			}
			p.pieces = append(p.pieces, parts)
		case send, receive:
			if i == 0 {
				p.pieces = append(p.pieces, nil)
			} else {
				p.pieces = append(p.pieces, []piece{{0, 0, size(0)}})
			}
		}
	}
	return p, e.fits(p)
}

// fits reports an error for a member whose output has another size than it ought to.
func (e *Event) fits(p *plan) error {
	for i := range e.Group {
		var want int64
		switch {
		case p.ranges != nil:
			want = p.ranges[i].n
		default:
			for _, part := range p.pieces[i] {
				want += part.n
			}
			if p.pieces[i] == nil {
				continue
			}
		}
		if got := count(e.comms[i].Out); got != want && (p.ranges == nil || want != 0) {
			return fmt.Errorf("%w: rank %d holds %d elements, want %d", errSplits, e.Group[i], got, want)
		}
	}
	return nil
}

// part is part i of what member j puts in: an element of its list, a split of its first
// axis, or an equal part.
func (e *Event) part(j, i int) (piece, error) {
	m, n := e.comms[j], len(e.Group)
	switch {
	case len(m.In) == n && n > 1 && (len(m.In) > 1 && m.Sent == nil):
		var first int64
		for _, t := range m.In[:i] {
			first += t.elements()
		}
		return piece{j, first, m.In[i].elements()}, nil
	case len(m.In) != 1:
		return piece{}, fmt.Errorf("%w: rank %d puts in %d tensors, want 1 or %d", errSplits, e.Group[j], len(m.In), n)
	}
	t := m.In[0]
	rows, row := int64(0), int64(1)
	if len(t.Shape) > 0 {
		rows = t.Shape[0]
		for _, d := range t.Shape[1:] {
			row *= d
		}
	}
	if m.Sent == nil {
		if rows%int64(n) != 0 {
			return piece{}, fmt.Errorf("%w: %d rows of rank %d among %d", errSplits, rows, e.Group[j], n)
		}
		each := rows / int64(n) * row
		return piece{j, int64(i) * each, each}, nil
	}
	var total, before int64
	for k, s := range m.Sent {
		if s < 0 {
			return piece{}, fmt.Errorf("%w: rank %d sends %d rows", errSplits, e.Group[j], s)
		}
		total += s
		if k < i {
			before += s
		}
	}
	if len(m.Sent) != n || total != rows {
		return piece{}, fmt.Errorf("%w: rank %d sends %v of %d rows to %d ranks", errSplits, e.Group[j], m.Sent, rows, n)
	}
	if r := e.comms[i].Received; r != nil && (len(r) != n || r[j] != m.Sent[i]) {
		return piece{}, fmt.Errorf("%w: rank %d sends %d rows and rank %d receives %v", errSplits, e.Group[j], m.Sent[i], e.Group[i], r)
	}
	return piece{j, before * row, m.Sent[i] * row}, nil
}

// judgement is what an event is found to be.
type judgement struct {
	found []*Finding
	notes []*Note
	// skip says why it was not checked.
	skip lang.Sentence
	err  error // of reading
	// everywhere is the relative error of a reduction of floats that is wrong on all members
	// without a reason, 0 for others.
	everywhere float64
	// floats is set for a reduction of floats.
	floats bool
}

// judge computes an event again.
func (f *files) judge(e *Event) judgement {
	if !e.skip.IsZero() {
		return judgement{skip: e.skip}
	}
	p, err := e.plan()
	if err != nil {
		return judgement{skip: lang.Plain(err.Error())}
	}
	if p.ranges != nil {
		return f.judgeReduction(e, p)
	}
	return f.judgeCopies(e, p)
}

// readable reports whether the elements of all tensors are there.
func readable(lists ...[]*Tensor) bool {
	for _, list := range lists {
		for _, t := range list {
			if !t.Stored() {
				return false
			}
		}
	}
	return true
}

// noElements is why an event is not checked whose tensors are known by their digests or
// statistics alone.
func noElements() judgement {
	return judgement{skip: lang.Sayf("no tensors, and no digests that say enough", "没有张量，摘要也不足以判断")}
}

// member is what is found of the output of a member of a reduction.
type member struct {
	total    int64
	bad      int64 // elements beyond the bound
	overflow int64 // that are not compared, since the sum may have overflowed
	first    int64 // the first bad one
	worst    float64
	differs  bool // in bits from the first member
	// apart and size are the sums of squares of the errors and of the exact reduction.
	apart, size float64
}

// judgeReduction sums again.
func (f *files) judgeReduction(e *Event, p *plan) judgement {
	op := e.comms[0].Op
	for i, m := range e.comms {
		if !readable(m.In) || p.ranges[i].n > 0 && !readable(m.Out) {
			return noElements()
		}
		if m.Op != op {
			return judgement{skip: lang.Sayf("members ask for different reductions", "成员请求的归约方式不同")}
		}
	}
	if op == noReduction {
		return judgement{skip: lang.Sayf("a reduction that is not known", "未知的归约方式")}
	}
	r := &reducer{files: f, event: e, plan: p, op: op}
	if err := r.prepare(); err != nil {
		return failed(err)
	}
	if r.skip.IsZero() {
		if err := r.check(); err != nil {
			return failed(err)
		}
	}
	if !r.skip.IsZero() {
		return judgement{skip: r.skip}
	}
	return r.conclude()
}

// failed is the judgement of an event whose tensors cannot be read.
func failed(err error) judgement {
	var unsupported *tensor.UnsupportedType
	if errors.As(err, &unsupported) {
		return judgement{skip: lang.Sayf("elements of %s", "%s 类型的元素", unsupported.DType)}
	}
	return judgement{skip: lang.Sayf("a tensor cannot be read", "张量无法读取"), err: err}
}

// reducer computes the reduction of an event again, a window of elements after the
// other.
type reducer struct {
	*files
	event *Event
	plan  *plan
	op    reduction
	skip  lang.Sentence

	precision precision
	growth    float64 // see precision.growth
	members   []member
	// exact and size are the reduction of the window and the sum of absolute values, or of
	// products the product of them; x is what one member put in or holds.
	exact, size, x, y, first []float64
}

// prepare finds out how exact the elements are: those that are stored in float32 may be
// numbers of a shorter type.
func (r *reducer) prepare() error {
	in := r.event.comms[0].In
	d, _ := dtypeOf(in)
	if d == tensor.Undefined || d == tensor.Float32 {
		var all [][]float64
		n := min(count(in), 1<<12)
		for i, m := range r.event.comms {
			x := make([]float64, n)
			if err := r.floats(x, m.In, 0); err != nil {
				return err
			}
			y := make([]float64, min(n, r.plan.ranges[i].n))
			if err := r.floats(y, m.Out, 0); err != nil {
				return err
			}
			all = append(all, x, y)
		}
		if d == tensor.Undefined {
			v, err := r.values(in[0])
			if err != nil {
				return err
			}
			d = v.DType
		}
		d = effective(d, all...)
	}
	var ok bool
	if r.precision, ok = precisions[d]; !ok || r.precision.bits != 0 && r.op == avg {
		r.skip = lang.Sayf("elements of %s", "%s 类型的元素", d)
		return nil
	}
	r.growth = r.precision.growth(len(r.event.Group))
	return nil
}

// check compares what the members hold with the reduction.
func (r *reducer) check() error {
	r.members = make([]member, len(r.event.Group))
	total := count(r.event.comms[0].In)
	for from := int64(0); from < total; from += window {
		n := min(window, total-from)
		if err := r.reduce(from, n); err != nil {
			return err
		}
		r.first = r.first[:0]
		for i := range r.members {
			lo, hi := r.overlap(i, from, n)
			if lo >= hi {
				continue
			}
			r.y = resize(r.y, hi-lo)
			if err := r.floats(r.y, r.event.comms[i].Out, lo-r.plan.ranges[i].first); err != nil {
				return err
			}
			r.compare(i, lo, from)
		}
	}
	return nil
}

// overlap is the part of a window that a member ought to hold.
func (r *reducer) overlap(i int, from, n int64) (lo, hi int64) {
	part := r.plan.ranges[i]
	return max(from, part.first), min(from+n, part.first+part.n)
}

func resize(s []float64, n int64) []float64 { return slices.Grow(s[:0], int(n))[:n] }

// reduce computes a window of the reduction.
func (r *reducer) reduce(from, n int64) error {
	r.exact, r.size, r.x = resize(r.exact, n), resize(r.size, n), resize(r.x, n)
	for i, m := range r.event.comms {
		if err := r.floats(r.x, m.In, from); err != nil {
			return err
		}
		if i == 0 {
			for k, x := range r.x {
				r.exact[k], r.size[k] = x, math.Abs(x)
			}
			continue
		}
		r.fold()
	}
	n64 := float64(len(r.event.Group))
	for k := range r.exact {
		if r.op == avg {
			r.exact[k] /= n64
			r.size[k] /= n64
		}
		if r.precision.bits != 0 && r.size[k] < exactIntegers {
			r.exact[k] = r.precision.wrap(r.exact[k])
		}
	}
	return nil
}

// fold takes in what a further member put in.
func (r *reducer) fold() {
	for k, x := range r.x {
		switch r.op {
		case maximum:
			r.exact[k] = max(r.exact[k], x)
			r.size[k] = max(r.size[k], math.Abs(x))
		case minimum:
			r.exact[k] = min(r.exact[k], x)
			r.size[k] = max(r.size[k], math.Abs(x))
		case product:
			r.exact[k] *= x
			r.size[k] *= math.Abs(x)
		default:
			r.exact[k] += x
			r.size[k] += math.Abs(x)
		}
	}
}

// bound is how far a result may be from the exact one.
func (r *reducer) bound(exact, size float64) float64 {
	p, n := &r.precision, float64(len(r.event.Group))
	switch {
	case p.bits != 0 || r.op == maximum || r.op == minimum:
		return 0
	case r.op == product:
		return float64(r.growth*math.Abs(exact)) + float64(n*p.smallest)
	}
	// What float64 itself rounds in the sum here is of the order of its own spacing.
	return float64(r.growth*size) + float64(p.spacing*math.Abs(exact)) + float64(n*p.smallest) + float64(n*0x1p-52*size)
}

// verdict of an element.
type element uint8

const (
	good element = iota
	wrong
	overflowed
)

// judge sets an element beside the exact one: NaN and infinities belong where the exact
// one has them, or where a partial sum may have been beyond the range. A device that
// saturates has the largest number in their place.
func (r *reducer) judge(y, exact, size, bound float64) element {
	p := &r.precision
	finite := !math.IsNaN(y) && !math.IsInf(y, 0)
	saturated := p.largest != 0 && math.Abs(y) >= p.largest
	switch {
	case p.bits != 0 && size >= exactIntegers:
		return overflowed
	case math.IsNaN(exact) || math.IsInf(exact, 0):
		if finite && !saturated {
			return wrong
		}
		return good
	case p.largest != 0 && float64(r.partial(size)*(1+r.growth)) > p.largest:
		return overflowed
	case !finite, !(math.Abs(y-exact) <= bound):
		return wrong
	}
	return good
}

// partial is how large a partial result may be on the way to one.
func (r *reducer) partial(size float64) float64 {
	if r.op == avg {
		return size * float64(len(r.event.Group))
	}
	return size
}

// compare sets what a member holds of a window beside the reduction.
func (r *reducer) compare(i int, lo, from int64) {
	m := &r.members[i]
	m.total += int64(len(r.y))
	for k, y := range r.y {
		exact, size := r.exact[lo-from+int64(k)], r.size[lo-from+int64(k)]
		bound := r.bound(exact, size)
		if d := y - exact; !math.IsNaN(d) && !math.IsInf(d, 0) {
			m.apart += float64(d * d)
			m.size += float64(exact * exact)
		}
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
	if r.event.api().pattern != allReduce {
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

// conclude says what is wrong with the members, if anything is.
func (r *reducer) conclude() judgement {
	e := r.event
	j := judgement{floats: r.precision.bits == 0}
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
		j.notes = append(j.notes, e.note(OverflowInSum))
	}
	if len(violating) == 0 {
		if differ {
			j.notes = append(j.notes, e.note(RoundingPerRank))
		}
		return j
	}
	if !differ && e.api().pattern == allReduce {
		late, err := r.isLate()
		if err != nil {
			return failed(err)
		}
		if late {
			j.notes = append(j.notes, e.note(InputTooLate))
			j.skip = lang.Sayf("the inputs were dumped after the communication", "输入在通信之后才被 dump")
			return j
		}
	}
	found, err := r.explain(violating)
	if err != nil {
		return failed(err)
	}
	j.found = found
	if j.floats && len(violating) == len(e.Group) && len(found) == 1 && found[0].Kind == Corrupt {
		for i := range r.members {
			if m := &r.members[i]; m.size > 0 {
				j.everywhere = max(j.everywhere, math.Sqrt(m.apart/m.size))
			}
		}
	}
	return j
}

// isLate reports whether the input of every member is what it holds afterwards.
func (r *reducer) isLate() (bool, error) {
	for _, m := range r.event.comms {
		same, err := r.same(m.In, 0, m.Out, 0, count(m.In))
		if err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

// note is a note about an event.
func (e *Event) note(k Kind) *Note {
	return &Note{Kind: k, Step: e.Step.At.Text().EN, Op: e.Calls[e.someone()].Name, Ranks: e.Group, Count: 1, step: e.Step.index}
}

// same reports whether runs of elements are equal bit by bit.
func (f *files) same(a []*Tensor, firstA int64, b []*Tensor, firstB, n int64) (bool, error) {
	if equal, known := sameDigests(a, firstA, b, firstB, n); known {
		return equal, nil
	}
	differ, err := f.differences(a, firstA, b, firstB, n, 1)
	return differ.count == 0, err
}

// sameDigests compares runs that are one whole tensor each by their digests, where both
// have one of the same kind.
func sameDigests(a []*Tensor, firstA int64, b []*Tensor, firstB, n int64) (equal, known bool) {
	s, t := wholeTensor(a, firstA, n), wholeTensor(b, firstB, n)
	if s == nil || t == nil || s.Digest == "" || len(s.Digest) != len(t.Digest) || s.DType != t.DType {
		return false, false
	}
	return s.Digest == t.Digest, true
}

// wholeTensor is the tensor that a run of elements is, nil where it is none.
func wholeTensor(list []*Tensor, first, n int64) *Tensor {
	for _, t := range list {
		if first == 0 && t.elements() == n && n > 0 {
			return t
		}
		if first -= t.elements(); first < 0 {
			break
		}
	}
	return nil
}

// difference is how two runs of elements differ.
type difference struct {
	total, count int64
	first, last  int64
	size         int    // of an element, in bytes
	xor          uint64 // of the first that differs
}

// differences compares runs of elements bit by bit, until so many differ; 0 for all.
func (f *files) differences(a []*Tensor, firstA int64, b []*Tensor, firstB, n int64, limit int64) (difference, error) {
	d := difference{total: n}
	var x, y []byte
	for from := int64(0); from < n; from += window {
		some := min(window, n-from)
		var size, other int
		var err error
		if x, size, err = f.bytes(x, a, firstA+from, some); err != nil {
			return d, err
		}
		if y, other, err = f.bytes(y, b, firstB+from, some); err != nil {
			return d, err
		}
		if size != other {
			return d, fmt.Errorf("%s and %s: elements of %d and of %d bytes", a[0].Name, b[0].Name, size, other)
		}
		d.size = size
		d.add(x, y, from)
		if limit > 0 && d.count >= limit {
			break
		}
	}
	return d, nil
}

// add compares elements, the first of which has a place.
func (d *difference) add(x, y []byte, from int64) {
	for k := 0; k < len(x); k += d.size {
		p, q := x[k:k+d.size], y[k:k+d.size]
		if string(p) == string(q) {
			continue
		}
		at := from + int64(k/d.size)
		if d.count == 0 {
			d.first = at
			for i := range p {
				d.xor |= uint64(p[i]^q[i]) << (8 * (i % 8))
			}
		}
		d.last = at
		d.count++
	}
}
