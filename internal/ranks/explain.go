package ranks

import (
	"cmp"
	"math"
	"slices"

	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/trace"
)

const (
	// Hypotheses are tried on at most maxWindows windows of windowElements elements, evenly spread over a tensor.
	windowElements = 1 << 12
	maxWindows     = 64
	// maxViolators limits the wrong members on which hypotheses are tried.
	maxViolators = 8
)

// hypothesis is a fault that may explain the output of a member of a reduction.
type hypothesis struct {
	kind Kind
	// suspect is the suspected member, -1 for the member whose output is wrong.
	suspect int
	// value computes element k that the member holds if the hypothesis is true.
	value func(w *sampleWindow, k int) float64
	// order breaks ties between hypotheses: the lowest wins.
	order int

	explainedCount int     // number of members that the hypothesis explains
	rms            float64 // sum over these members of the relative RMS error that remains
}

// sampleWindow is a window of elements of all members.
type sampleWindow struct {
	x           [][]float64
	exact, size []float64
	me          int // the examined member
}

// explain returns findings for the hypothesis that explains most of the wrong members; of several, the hypothesis
// with the smallest remaining error.
func (r *reducer) explain(violating []int) ([]*Finding, error) {
	e := r.event
	asked := violating[:min(len(violating), maxViolators)]
	all := r.hypotheses()
	for _, i := range asked {
		if err := r.countExplained(all, i); err != nil {
			return nil, err
		}
	}
	if !slices.ContainsFunc(asked, func(i int) bool { return !r.holdsPrevious(e, i) }) {
		return r.findingPerMember(violating, Stale), nil
	}
	all = slices.DeleteFunc(all, func(h *hypothesis) bool { return h.explainedCount == 0 })
	if len(all) == 0 {
		return r.corruptFindings(violating), nil
	}
	slices.SortFunc(all, func(a, b *hypothesis) int {
		return cmp.Or(cmp.Compare(b.explainedCount, a.explainedCount), cmp.Compare(a.rms, b.rms), cmp.Compare(a.order, b.order))
	})
	best := all[0]
	if best.suspect < 0 {
		return r.findingPerMember(violating, best.kind), nil
	}
	found := r.newFinding(best.kind, best.suspect, violating)
	for _, h := range all[1:] {
		if h.kind == best.kind && h.explainedCount == best.explainedCount && h.suspect >= 0 {
			found.Alt = append(found.Alt, e.Group[h.suspect])
		}
	}
	if slices.Sort(found.Alt); len(found.Alt) > 0 {
		found.Confidence = medium
	}
	return []*Finding{found}, nil
}

// hypotheses lists the possible faults of a reduction.
func (r *reducer) hypotheses() []*hypothesis {
	var all []*hypothesis
	for k := range r.event.Group {
		all = append(all, &hypothesis{kind: MissingRank, suspect: k, order: 2, value: func(w *sampleWindow, i int) float64 { return r.reduceWithout(w, k, i) }})
		if r.op == trace.Sum || r.op == trace.Avg {
			all = append(all, &hypothesis{kind: DoubleRank, suspect: k, order: 3, value: func(w *sampleWindow, i int) float64 { return 2*w.exact[i] - r.reduceWithout(w, k, i) }})
		}
	}
	n := float64(len(r.event.Group))
	switch r.op {
	case trace.Sum:
		all = append(all, &hypothesis{kind: Averaged, suspect: -1, order: 4, value: func(w *sampleWindow, i int) float64 { return w.exact[i] / n }})
	case trace.Avg:
		all = append(all, &hypothesis{kind: NotAveraged, suspect: -1, order: 4, value: func(w *sampleWindow, i int) float64 { return w.exact[i] * n }})
	}
	if r.event.api().Pattern == trace.AllReduce {
		all = append(all, &hypothesis{kind: NotReduced, suspect: -1, order: 1, value: func(w *sampleWindow, i int) float64 { return w.x[w.me][i] }})
	}
	if r.event.api().Pattern == trace.ReduceScatter {
		all = append(all, &hypothesis{kind: WrongPart, suspect: -1, order: 5})
	}
	return all
}

// reduceWithout reduces element i of a window without member k.
func (r *reducer) reduceWithout(w *sampleWindow, k, i int) float64 {
	switch r.op {
	case trace.Sum:
		return w.exact[i] - w.x[k][i]
	case trace.Avg:
		return w.exact[i] - w.x[k][i]/float64(len(w.x))
	}
	first, v := true, 0.0
	for j := range w.x {
		switch x := w.x[j][i]; {
		case j == k:
		case first:
			v, first = x, false
		default:
			v = r.op.Combine(v, x)
		}
	}
	return v
}

// tally counts the elements that exceed the bound of a hypothesis.
type tally struct {
	violations, n int64
	squares       float64
}

func (t *tally) add(y, value, bound float64) {
	d := math.Abs(y - value)
	t.n++
	if !(d <= bound) {
		t.violations++
	}
	if trace.IsFinite(d) {
		t.squares += float64(d * d)
	}
}

// countExplained counts a member for each hypothesis that explains it.
func (r *reducer) countExplained(all []*hypothesis, i int) error {
	part := r.plan.ranges[i]
	tallies := make([]tally, len(all))
	parts := make([]tally, len(r.event.Group)) // tallies of the parts of other members
	for _, from := range windows(part.n, r.members[i].first) {
		n := min(windowElements, part.n-from)
		y := make([]float64, n)
		if err := r.Floats(y, r.event.comms[i].Out, from); err != nil {
			return err
		}
		w, err := r.readWindow(part.first+from, n)
		if err != nil {
			return err
		}
		w.me = i
		for h, hyp := range all {
			for k := 0; k < len(y) && hyp.value != nil; k++ {
				if !trace.IsFinite(w.exact[k]) {
					continue
				}
				value := hyp.value(w, k)
				bound := r.bound(w.exact[k], w.size[k]) + float64(r.precision.spacing*math.Abs(value))
				if r.precision.bits != 0 {
					value = r.precision.wrapInteger(value)
				}
				tallies[h].add(y[k], value, bound)
			}
		}
		if err := r.testParts(parts, i, from, y); err != nil {
			return err
		}
	}
	for h, hyp := range all {
		hyp.count(&tallies[h])
	}
	if other := all[len(all)-1]; other.kind == WrongPart {
		for j := range parts {
			if other.count(&parts[j]) {
				break
			}
		}
	}
	return nil
}

// count counts a member if the hypothesis explains it, and reports whether it does.
func (h *hypothesis) count(t *tally) bool {
	if t.n == 0 || t.violations > 0 {
		return false
	}
	h.explainedCount++
	h.rms += math.Sqrt(t.squares / float64(t.n))
	return true
}

// testParts compares the output of a member of a reduce-scatter with the parts of the other members.
func (r *reducer) testParts(parts []tally, i int, from int64, y []float64) error {
	if r.event.api().Pattern != trace.ReduceScatter {
		return nil
	}
	for j := range parts {
		if j == i || r.plan.ranges[j].n != r.plan.ranges[i].n {
			continue
		}
		w, err := r.readWindow(r.plan.ranges[j].first+from, int64(len(y)))
		if err != nil {
			return err
		}
		for k := range y {
			parts[j].add(y[k], w.exact[k], r.bound(w.exact[k], w.size[k])+float64(r.precision.spacing*math.Abs(w.exact[k])))
		}
	}
	return nil
}

// windows returns the first elements of the windows that hypotheses are tried on: an even sample of at most samples
// windows, and the window with the element at place.
func windows(n, place int64) (all []int64) {
	count := (n + windowElements - 1) / windowElements
	step := max(1, (count+maxWindows-1)/maxWindows)
	for k := int64(0); k < count; k += step {
		all = append(all, k*windowElements)
	}
	if at := place / windowElements * windowElements; !slices.Contains(all, at) {
		all = append(all, at)
	}
	return all
}

// readWindow reads a window of all members.
func (r *reducer) readWindow(from, n int64) (*sampleWindow, error) {
	if err := r.reduce(from, n); err != nil {
		return nil, err
	}
	w := &sampleWindow{exact: slices.Clone(r.exact), size: slices.Clone(r.size)}
	for _, m := range r.event.comms {
		x := make([]float64, n)
		if err := r.Floats(x, m.In, from); err != nil {
			return nil, err
		}
		w.x = append(w.x, x)
	}
	return w, nil
}

// holdsPrevious reports whether the output of a member equals its output of the previous event of the
// same role.
func (f *reader) holdsPrevious(e *Event, i int) bool {
	now := e.comms[i].Out
	return slices.ContainsFunc(e.previousOutputs(i), func(before []*trace.Tensor) bool { return f.SurelySame(before, 0, now, 0, trace.CountElements(now)) })
}

// maxPrevious is the number of previous events that are tried if modules are unknown: events of several roles
// alternate.
const maxPrevious = 8

// previousOutputs returns the outputs of a member in previous events of the same role, if their sizes equal the present
// output: of the last event, or of maxPrevious events if modules are unknown.
func (e *Event) previousOutputs(i int) (all [][]*trace.Tensor) {
	b := e.previous
	for n := 0; b != nil && (n == 0 || n < maxPrevious && e.Calls[i].Module == ""); n++ {
		if at := b.memberIndex(e.Group[i]); at >= 0 && b.comms[at] != nil && trace.CountElements(b.comms[at].Out) == trace.CountElements(e.comms[i].Out) {
			all = append(all, b.comms[at].Out)
		}
		b = b.previous
	}
	return all
}

// findingPerMember returns a finding for every member with a wrong output.
func (r *reducer) findingPerMember(violating []int, k Kind) (all []*Finding) {
	for _, i := range violating {
		all = append(all, r.newFinding(k, i, []int{i}))
	}
	return all
}

// corruptFindings returns findings about outputs that no hypothesis explains. If all members are wrong, each may be the
// cause.
func (r *reducer) corruptFindings(violating []int) []*Finding {
	if len(violating) < len(r.event.Group) {
		return r.findingPerMember(violating, Corrupt)
	}
	f := r.newFinding(Corrupt, violating[0], violating)
	f.Confidence = medium
	for _, i := range violating[1:] {
		f.Alt = append(f.Alt, r.event.Group[i])
	}
	return []*Finding{f}
}

// newFinding makes a finding about a member of a reduction.
func (r *reducer) newFinding(k Kind, who int, violating []int) *Finding {
	e, m := r.event, &r.members[violating[0]]
	f := e.newFinding(k, who)
	ranks := make([]int, len(violating))
	for n, i := range violating {
		ranks[n] = e.Group[i]
	}
	share := 100 * float64(m.bad) / float64(m.total)
	f.Facts = finding.Facts{}.Int("elements", m.bad).Int("of", m.total).Int("first_bad", m.first).Number("worst_ratio", m.worst).List("violating", ranks)
	f.Evidence = lang.Say("%s: %d of %d elements (%.3g %%) exceed the bound of the %s",
		trace.RankText(ranks), m.bad, m.total, share, r.opText())
	return f
}

// opText returns the reduction in words.
func (r *reducer) opText() lang.Text {
	return map[trace.Reduction]lang.Text{
		trace.Sum: {EN: "ranks¦sum"}, trace.Avg: {EN: "average"}, trace.Maximum: {EN: "maximum"},
		trace.Minimum: {EN: "minimum"}, trace.Product: {EN: "product"},
	}[r.op]
}

// newFinding makes a finding about a member of an event.
func (e *Event) newFinding(k Kind, who int) *Finding {
	return &Finding{Kind: k, Rank: e.Group[who], Confidence: high, Own: true, Members: e.Group, call: e.Calls[who]}
}
