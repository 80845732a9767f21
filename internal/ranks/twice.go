package ranks

import (
	"context"
	"math"
	"slices"
	"strconv"

	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/trace"
)

// differingCalls finds operators that several ranks run with equal inputs and parameters, but with different results.
type differingCalls struct {
	*trace.Digests
	run *Run
	// equal and unequal count the sets of calls with equal inputs by role: with equal results, and with different
	// results.
	equal, unequal map[string]int
	found          []*Finding
	notes          []*Note
	sets           int
}

// compare compares the operators of all steps.
func (t *differingCalls) compare(ctx context.Context, workers int) error {
	t.equal, t.unequal = make(map[string]int), make(map[string]int)
	alike := t.groupByName()
	if err := t.ReadAll(ctx, workers, tensorsOf(alike, inputsOf)); err != nil {
		return err
	}
	var same [][]*trace.Call // calls with equal inputs
	for _, calls := range alike {
		for _, some := range trace.EqualSets(t.Digests, calls, inputsOf) {
			if len(some) > 1 {
				same = append(same, some)
			}
		}
	}
	if err := t.ReadAll(ctx, workers, tensorsOf(same, outputsOf)); err != nil {
		return err
	}
	var suspects [][][]*trace.Call
	for _, calls := range same {
		classes := trace.EqualSets(t.Digests, calls, outputsOf)
		switch role := calls[0].Role; {
		case len(slices.Concat(classes...)) < 2:
		case len(classes) == 1:
			t.equal[role]++
			t.sets++
		default:
			t.unequal[role]++
			t.sets++
			suspects = append(suspects, classes)
		}
	}
	for _, classes := range suspects {
		t.judge(classes)
	}
	return nil
}

// inputsOf and outputsOf return the tensors that a call reads and writes.
func inputsOf(c *trace.Call) []*trace.Tensor { return slices.Concat(c.In, c.Params) }

func outputsOf(c *trace.Call) []*trace.Tensor { return c.Out }

// tensorsOf collects the tensors of calls; of selects them.
func tensorsOf(groups [][]*trace.Call, of func(*trace.Call) []*trace.Tensor) (all []*trace.Tensor) {
	for _, calls := range groups {
		for _, c := range calls {
			all = append(all, of(c)...)
		}
	}
	return all
}

// groupByName groups the operators of a step and stage by name.
func (t *differingCalls) groupByName() (all [][]*trace.Call) {
	for _, s := range t.run.Steps {
		stages := s.Stages()
		for _, calls := range trace.GroupBy(s.AllCalls(), func(c *trace.Call) (string, bool) {
			return strconv.Itoa(stages[c.Rank]) + " " + c.Name, c.Comm == nil && len(c.In) > 0 && len(c.Out) > 0
		}) {
			if len(calls) > 1 {
				all = append(all, calls)
			}
		}
	}
	return all
}

// judge decides whether different results are a fault: ranks may do different things by design, and results of one
// device may differ by rounding. classes groups calls with equal inputs by result, the largest class first.
func (t *differingCalls) judge(classes [][]*trace.Call) {
	good, bad := classes[0], classes[1][0]
	ranks := func(calls []*trace.Call) (all []int) {
		for _, c := range calls {
			all = append(all, c.Rank)
		}
		return all
	}
	members := slices.Concat(classes...)
	all := ranks(members)
	slices.Sort(all)
	tie := len(classes[0]) == len(classes[1])
	role := bad.Role
	byDesign := t.unequal[role] > t.equal[role] && (tie || len(classes) > 2 || t.unequal[role] > 2)
	if byDesign || len(good[0].Out) != len(bad.Out) {
		return
	}
	index := slices.IndexFunc(bad.Out, func(x *trace.Tensor) bool {
		other := good[0].Out[slices.Index(bad.Out, x)]
		equal, known := t.Digests.Equal(x, other)
		return known && !equal
	})
	if index < 0 || !bad.Out[index].Shape.Equal(good[0].Out[index].Shape) {
		return
	}
	d, known := t.measure(good[0].Out[index], bad.Out[index])
	if known && d.rounding {
		t.notes = append(t.notes, newNote(bad.Step, NotDeterministic, bad.Name, all))
		return
	}
	f := newFinding(bad, Compute, high, lang.Sentence{})
	f.Members = all
	if tie {
		f.Confidence = low
		if known && d.notFinite < 0 {
			f.Rank, f.call = good[0].Rank, good[0]
		}
		f.Alt = slices.DeleteFunc(slices.Clone(all), func(r int) bool { return r == f.Rank })
		if known && d.notFinite != 0 {
			f.Confidence, f.Alt = high, nil
		}
	}
	f.Evidence = lang.Say("equal inputs on %s, but output %d differs on rank %d", trace.RankText(all), index, f.Rank)
	if known {
		f.Facts = finding.Facts{}.Int("elements", d.count).Int("of", d.total)
		f.Evidence = lang.Say("equal inputs on %s, but %d of %d elements of output %d differ on rank %d",
			trace.RankText(all), d.count, d.total, index, f.Rank)
	}
	t.found = append(t.found, f)
	for _, more := range classes[1:] {
		for _, c := range more {
			if c != bad && !tie {
				g := *f
				g.Rank, g.call = c.Rank, c
				t.found = append(t.found, &g)
			}
		}
	}
}

// difference is the difference of two results.
type difference struct {
	count, total int64
	rounding     bool // not more than rounding
	// notFinite is 1 if only the second result has NaN or infinities, -1 if only the first has, else 0.
	notFinite int
}

// measure compares two results.
func (t *differingCalls) measure(a, b *trace.Tensor) (d difference, known bool) {
	if !trace.AllStored([]*trace.Tensor{a, b}) {
		return d, false
	}
	var largest, squares float64
	var odd [2]bool
	var p precision
	err := t.Windows(a, b, func(x, y []float64, first bool) bool {
		if first {
			p, _ = precisionOf(a, x, y)
		}
		for k := range x {
			odd[0], odd[1] = odd[0] || !trace.IsFinite(x[k]), odd[1] || !trace.IsFinite(y[k])
			if math.Float64bits(x[k]) != math.Float64bits(y[k]) {
				d.count++
			}
			largest = max(largest, math.Abs(x[k]-y[k]))
			squares += float64(x[k] * x[k])
		}
		return true
	})
	d.total = a.Elements()
	switch {
	case odd[1] && !odd[0]:
		d.notFinite = 1
	case odd[0] && !odd[1]:
		d.notFinite = -1
	}
	d.rounding = p.spacing > 0 && !odd[0] && !odd[1] && largest < p.spacing*math.Sqrt(squares/float64(max(d.total, 1)))
	return d, err == nil
}

// staleInputs finds ranks that read the same data as in the previous step, while other ranks do not. The data are
// integers, read by the first operator with integer inputs.
func (t *differingCalls) staleInputs() {
	for _, next := range t.run.Steps {
		s := next.Before
		if s == nil {
			continue
		}
		type read struct {
			c    *trace.Call
			same bool
		}
		var all []read
		for _, rank := range next.Ranks() {
			now, before := firstReader(next.Calls[rank]), firstReader(s.Calls[rank])
			if now == nil || before == nil || now.Name != before.Name {
				continue
			}
			if same, known := t.Digests.Equal(integerInput(now), integerInput(before)); known {
				all = append(all, read{now, same})
			}
		}
		if !slices.ContainsFunc(all, func(r read) bool { return !r.same }) {
			continue
		}
		for _, r := range all {
			if r.same {
				t.found = append(t.found, newFinding(r.c, StaleInput, medium, lang.Say("its data are the same as in the previous step; on the other ranks the data changed")))
			}
		}
	}
}

// firstReader returns the first operator with an integer input, nil for none.
func firstReader(calls []*trace.Call) *trace.Call {
	i := slices.IndexFunc(calls, func(c *trace.Call) bool { return c.Comm == nil && integerInput(c) != nil })
	if i < 0 {
		return nil
	}
	return calls[i]
}

// integerInput returns the first integer input of a call, nil for none.
func integerInput(c *trace.Call) *trace.Tensor {
	for _, t := range c.In {
		if t.IsInteger() {
			return t
		}
	}
	return nil
}
