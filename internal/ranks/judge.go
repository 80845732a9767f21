package ranks

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Options say what is judged.
type Options struct {
	// Groups are groups that the dump does not name.
	Groups Groups
	// NoComm and NoReplicas leave communication and replicas out.
	NoComm, NoReplicas bool
	// StrictReplicas makes different roundings of one sum a finding.
	StrictReplicas bool
	// Accused are operators that computed something else than their inputs say.
	Accused []Accused
	// Outcomes are operators whose integers differ from those of the reference.
	Outcomes []Outcome
	// Apart is how far the weights of an operator are from the reference, false where that is
	// not known; nil without a reference.
	Apart func(at dumpdir.Coordinates, op string) (rms float64, known bool)
	// Given is what ranks were given of a reference, by steps.
	Given []*Given
	// Version is the dump container, 0 for what the files say; Workers the number of
	// communications that are looked at at a time, 0 for one a CPU.
	Version, Workers int
}

// Accused is an operator that computed something else than its inputs say.
type Accused struct {
	At       dumpdir.Coordinates
	Op       string
	Evidence lang.Sentence
	// Own is set where the operator was computed again from what it read itself, Right where it
	// computes what that says and differs from the reference all the same.
	Own, Right bool
}

// accuse adds the operators that computed wrong, and drops what was said of them and of
// those that they may be confused with.
func (r *Report) accuse(run *Run, all []Accused) {
	for _, a := range all {
		c := run.callOf(a.At, a.Op)
		if c == nil || c.Comm != nil || r.hasWeight(c.Step, c.Rank, a.Op) {
			continue
		}
		r.Findings = slices.DeleteFunc(r.Findings, func(f *Finding) bool {
			return f.Kind == Compute && f.call.Step == c.Step && f.call.Name == a.Op && (f.Rank == c.Rank || slices.Contains(f.Alt, c.Rank))
		})
		f := &Finding{Kind: Compute, Rank: c.Rank, Confidence: high, Own: a.Own, Members: []int{c.Rank}, Evidence: a.Evidence, call: c, right: a.Right}
		if a.Right {
			f.Confidence = medium
		}
		r.Findings = append(r.Findings, f)
	}
}

// farther is how much farther from the reference the wrong one of replicas is.
const farther = 1.2

// settle decides by the reference which of replicas is wrong, where they themselves do not
// say it. Experts are no replicas where each is that of the reference.
func (r *Report) settle(opt Options) {
	r.Findings = slices.DeleteFunc(r.Findings, func(f *Finding) bool {
		expert := f.call.expert()
		if MeaningOf(f.Kind).Class != ParameterClass || len(f.Alt) == 0 && expert < 0 {
			return false
		}
		worst, most, second := -1, 0.0, 0.0
		for _, rank := range f.Members {
			rms, known := opt.Apart(f.call.Step.of(rank), f.call.Name)
			switch {
			case !known:
				return false
			case worst < 0 || rms > most:
				worst, most, second = rank, rms, most
			default:
				second = max(second, rms)
			}
		}
		if most <= farther*second || most == 0 {
			return expert >= 0
		}
		if len(f.Alt) > 0 {
			f.Rank, f.Alt, f.Confidence = worst, nil, medium
		}
		return false
	})
}

// hasWeight reports whether the weights of an operator are wrong, in its step or before: that
// explains what it computes.
func (r *Report) hasWeight(s *Step, rank int, op string) bool {
	return slices.ContainsFunc(r.Findings, func(f *Finding) bool {
		return MeaningOf(f.Kind).Class == ParameterClass && f.Rank == rank && f.call.Step.program() == s.program() && f.call.Step.index <= s.index && f.call.Name == op
	})
}

// Checked reports whether anything was.
func (r *Report) Checked() bool { return r.Events.Checked+r.Replicas.Sets > 0 }

// Unjudged is the report of a run that is not judged.
func (r *Run) Unjudged() *Report {
	out := &Report{Mesh: []Axis{}, Groups: []Group{}, World: len(r.Ranks), Steps: len(r.Steps), Findings: []*Finding{}, Notes: []*Note{}}
	out.Events.Reasons = []Reason{}
	return out
}

// Judge judges a run of several ranks.
func (r *Run) Judge(ctx context.Context, opt Options) (*Report, error) {
	out := r.Unjudged()
	out.Mesh = slices.Clone(opt.Groups.Mesh)
	for i := range out.Mesh {
		out.Mesh[i].Count = worldOf(out.Mesh) / out.Mesh[i].Size
	}
	groups := r.Read()
	out.Groups = groups.from(FromDump)
	f := &files{version: opt.Version}
	defer f.Close()
	for _, err := range r.describe(f) {
		out.failed(err)
	}
	inferred := !opt.NoComm && (len(groups) == 0 || r.inferred)
	if inferred {
		r.infer(f, opt.Groups.Mesh)
		groups = r.Read()
		out.Groups = groups.from(FromValues)
		if opt.Groups.Mesh != nil {
			out.Groups = groups.from(FromMesh)
		}
	}
	if out.Mesh == nil {
		out.Mesh = groups.Axes()
	}
	for _, s := range r.Steps {
		s.putInOrder(&digests{files: f})
	}
	var events []*Event
	byStep := make(map[*Step][]*Event)
	for _, s := range r.Steps {
		byStep[s] = r.events(s, &opt.Groups)
		events = append(events, byStep[s]...)
	}
	link(events)
	if !opt.NoComm {
		if err := out.judgeEvents(ctx, events, opt); err != nil {
			return nil, err
		}
		for _, s := range r.Steps {
			out.Findings = append(out.Findings, callsDiffer(byStep[s], inferred)...)
		}
	}
	if !opt.NoReplicas {
		if err := r.judgeReplicas(ctx, out, opt); err != nil {
			return nil, err
		}
	}
	if opt.Apart != nil {
		out.settle(opt)
	}
	out.misplace(r, opt.Given)
	out.accuse(r, opt.Accused)
	out.Notes = append(out.Notes, r.routed(opt.Outcomes)...)
	r.clocks(events)
	out.conclude(r, byStep)
	return out, ctx.Err()
}

// judgeEvents computes all communications again.
func (r *Report) judgeEvents(ctx context.Context, events []*Event, opt Options) error {
	judged := make([]judgement, len(events))
	readers := sync.Pool{New: func() any { return &files{version: opt.Version} }}
	err := batch.Run(ctx, batch.Options{Workers: opt.Workers, Budget: memoryBudget}, events,
		func(e *Event) int64 { return windowMemory },
		func(_ context.Context, e *Event) (j judgement) {
			f := readers.Get().(*files)
			defer readers.Put(f)
			defer f.Close()
			if err := guard.Do(func() error { j = f.judge(e); return nil }); err != nil {
				return failed(err)
			}
			return j
		},
		func(i int, j judgement) { judged[i] = j })
	if err != nil {
		return err
	}
	distrust(events, judged)
	lowPrecision(events, judged)
	for i := range judged {
		j := &judged[i]
		r.Notes = append(r.Notes, j.notes...)
		r.failed(j.err)
		if !j.skip.IsZero() {
			r.Events.skip(j)
			continue
		}
		r.Events.Checked++
		if len(j.found) > 0 {
			r.Events.Wrong++
			r.Findings = append(r.Findings, j.found...)
		}
	}
	return nil
}

const (
	// windowMemory is about what judging an event takes, in bytes; see window.
	windowMemory = 8 * 8 * window
	memoryBudget = 96 << 20
)

// distrust leaves events out whose group nobody has said, of functions of which most
// such events are wrong: the group is another one.
func distrust(events []*Event, judged []judgement) {
	wrong, all := make(map[string]int), make(map[string]int)
	for i, e := range events {
		if e.assumed && judged[i].skip.IsZero() {
			all[e.api().names[0]]++
			wrong[e.api().names[0]] += min(len(judged[i].found), 1)
		}
	}
	for i, e := range events {
		if name := e.api().names[0]; e.assumed && len(judged[i].found) > 0 && 2*wrong[name] >= all[name] {
			judged[i] = judgement{skip: lang.Sayf("the group is not known", "组未知")}
		}
	}
}

const (
	// A function has a lower precision than its type if lowShare of its reductions, and at least
	// lowCount, are wrong on all members, by relative errors up to lowLargest whose median is at
	// most lowFactors of the smallest. Reductions of few numbers are exact in few bits too.
	lowShare, lowCount     = 0.25, 4
	lowLargest, lowFactors = 0.1, 4
)

// lowPrecision makes a note of functions all of whose reductions are wrong everywhere by
// a similar error: they are quantised or compressed. Those that are worse than the others
// stay wrong.
func lowPrecision(events []*Event, judged []judgement) {
	type key struct {
		api   string
		dtype tensor.DType
	}
	places := make(map[*Event]int)
	for i, e := range events {
		places[e] = i
	}
	for _, same := range alike(slices.Values(events), func(e *Event) (key, bool) {
		if j := &judged[places[e]]; !j.floats || !j.skip.IsZero() {
			return key{}, false
		}
		d, _ := dtypeOf(e.comms[0].In)
		return key{e.api().names[0], d}, true
	}) {
		var errs []float64
		for _, e := range same {
			if err := judged[places[e]].everywhere; err > 0 {
				errs = append(errs, err)
			}
		}
		slices.Sort(errs)
		if len(errs) < lowCount || float64(len(errs)) < lowShare*float64(len(same)) {
			continue
		}
		usual := errs[len(errs)/2]
		for _, e := range same {
			if j := &judged[places[e]]; j.everywhere > 0 && usual <= lowLargest && usual <= lowFactors*errs[0] && j.everywhere <= lowFactors*usual {
				j.found, j.notes = nil, append(j.notes, e.note(LowPrecisionComm))
			}
		}
	}
}

// judgeReplicas sets replicas of weights and of results beside each other.
func (r *Run) judgeReplicas(ctx context.Context, out *Report, opt Options) error {
	f := &files{version: opt.Version}
	defer f.Close()
	d := &digests{files: f}
	rep := &replicas{digests: d, run: r}
	for _, n := range out.Notes {
		if n.Kind == RoundingPerRank {
			rep.rounded = append(rep.rounded, n)
		}
	}
	rep.collect()
	if err := d.readAll(ctx, opt.Workers, rep.tensors()); err != nil {
		return err
	}
	rep.learn()
	rep.compare()
	two := &twice{digests: d, run: r}
	if err := two.compare(ctx, opt.Workers); err != nil {
		return err
	}
	two.staleInputs()
	out.Replicas = rep.count
	out.Replicas.Sets += two.sets
	out.Replicas.Wrong += len(two.found)
	out.Findings = append(append(out.Findings, rep.found...), two.found...)
	out.Notes = append(append(out.Notes, rep.notes...), two.notes...)
	for _, err := range d.errs {
		out.failed(err)
	}
	for _, nan := range r.makesNaN(d) {
		if !slices.ContainsFunc(out.Findings, func(f *Finding) bool { return f.call == nan.call }) {
			out.Findings = append(out.Findings, nan)
		}
	}
	if opt.StrictReplicas {
		out.strict(r)
	}
	return nil
}

// strict makes findings of sums that ranks hold in different roundings.
func (r *Report) strict(run *Run) {
	for _, n := range r.Notes {
		if n.Kind != RoundingPerRank {
			continue
		}
		calls := run.Steps[n.step].Calls[n.Ranks[0]]
		if i := slices.IndexFunc(calls, func(c *Call) bool { return c.Name == n.Op }); i >= 0 {
			f := calls[i].finding(n.Kind, medium, lang.Sayf("%s", "%s", MeaningOf(n.Kind).Short))
			f.Alt, f.Members = slices.Clone(n.Ranks[1:]), n.Ranks
			r.Findings = append(r.Findings, f)
		}
	}
}

// conclude puts findings into the order of cause, and folds notes.
func (r *Report) conclude(run *Run, events map[*Step][]*Event) {
	for _, f := range r.Findings {
		f.Class = MeaningOf(f.Kind).Class
		f.Step, f.Op, f.Module, f.Script = f.call.Step.At.Step, f.call.Name, f.call.Module, f.call.Script
		f.Chinese = f.Evidence.Text().ZH
		if f.Alt == nil {
			f.Alt = []int{}
		}
	}
	order(r.Findings)
	reached, all := make(map[*Finding]map[int]int), r.Findings
	r.Findings = []*Finding{}
	spread := func(f *Finding) map[int]int {
		if f.Spread == nil && len(r.Findings) < maxSpread {
			f.Spread, reached[f] = run.spread(f, events)
		}
		return reached[f]
	}
	for i, f := range all {
		damages := func(g *Finding) bool { return g.reaches(f, spread(g)) }
		late := func(g *Finding) bool { // which may have come before what nobody knows the place of
			return f.call.unplaced && g.Own && g.Weight() != "weak" && g.call.Step == f.call.Step && !f.call.isSooner(g.call) &&
				(damages(g) || slices.ContainsFunc(events[f.call.Step], func(e *Event) bool { return e.brings(f.call, g.Rank) }))
		}
		if f.Class == ComputeClass && !f.Own && (slices.ContainsFunc(r.Findings, damages) || slices.ContainsFunc(all[i+1:], late)) {
			continue // it is part of what the other one damaged
		}
		spread(f)
		r.Findings = append(r.Findings, f)
	}
	r.Matrix = run.matrix(r.Findings, reached)
	r.Notes = foldNotes(r.Notes)
}

// reaches reports whether an operator comes after what a finding may have damaged, in the order
// of cause: inStep is where that begins on each rank in its own step.
func (f *Finding) reaches(g *Finding, inStep map[int]int) bool {
	switch {
	case f.Spread == nil || f.Weight() == "weak" || !f.call.Step.isOrdered() || f.call == g.call:
		return false
	case f.call.Step.program() != g.call.Step.program():
		return false
	case f.call.Step != g.call.Step:
		return slices.Contains(f.Spread.Ranks, g.Rank)
	}
	from, ok := inStep[g.Rank]
	return ok && (g.call.unplaced || g.call.place >= from)
}

// maxSpread is of how many findings it is said what they may have damaged.
const maxSpread = 20

// foldNotes leaves one note of a kind for the same ranks.
func foldNotes(all []*Note) []*Note {
	folded := []*Note{}
	for _, n := range all {
		i := slices.IndexFunc(folded, func(o *Note) bool { return o.Kind == n.Kind && slices.Equal(o.Ranks, n.Ranks) })
		if i >= 0 {
			folded[i].Count += n.Count
			continue
		}
		folded = append(folded, n)
	}
	slices.SortStableFunc(folded, func(a, b *Note) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), slices.Compare(a.Ranks, b.Ranks))
	})
	return folded
}
