package ranks

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// Options are the options of Run.Judge.
type Options struct {
	// Groups has groups that the dump does not name.
	Groups Groups
	// NoComm and NoReplicas skip the checks of communication and replicas.
	NoComm, NoReplicas bool
	// StrictReplicas reports different roundings of the same sum as a finding.
	StrictReplicas bool
	// Others are findings from elsewhere about single operators: from check, which computes them again, or from a
	// comparison with a reference. See Run.Claim and Run.Misplaced.
	Others []*Finding
	// Distance returns the relative RMS error of the weights of an operator against the reference; known is false
	// without such weights. Nil without a reference.
	Distance func(at dumpdir.Coordinates, op string) (rms float64, known bool)
	// Version is the container of dumps, 0 to detect it. Workers is the number of communications that are judged at a
	// time, 0 for one per CPU.
	Version, Workers int
}

// Claim makes a finding about an operator of a rank, nil if the run does not have the operator.
func (r *Run) Claim(at dumpdir.Coordinates, op string, k Kind, sure finding.Confidence, why lang.Sentence) *Finding {
	c := r.callOf(at, op)
	if c == nil || c.Comm != nil {
		return nil
	}
	return newFinding(c, k, sure, why)
}

// addExternal adds findings from elsewhere. The last of several findings about the result or the stale input of an
// operator counts. An operator with wrong weights is no COMPUTE finding.
func (r *Report) addExternal(others []*Finding) {
	for _, f := range others {
		switch {
		case f.Kind == RoutingFlip:
			if isRouter(f.call) {
				r.Notes = append(r.Notes, newNote(f.call.Step, f.Kind, f.call.Name, []int{f.Rank}))
			}
			continue
		case f.Kind == Compute && r.hasWrongWeight(f.call.Step, f.Rank, f.call.Name):
			continue
		case f.Kind == Compute || f.Kind == StaleInput:
			r.Findings = slices.DeleteFunc(r.Findings, func(o *Finding) bool {
				return o.Kind == f.Kind && o.call.Step == f.call.Step && o.call.Name == f.call.Name && (o.Rank == f.Rank || slices.Contains(o.Alt, f.Rank))
			})
		}
		if !f.refuted {
			r.Findings = append(r.Findings, f)
		}
	}
}

// minErrorRatio is the minimum ratio between the largest and the second largest error of replicas that identifies the
// wrong replica; errors from rounding are closer to each other.
const minErrorRatio = 1.2

// identifyReplicas names the wrong replica by its error from the reference if the replicas alone do not identify it.
// Experts without an outstanding error are not replicas of each other: their findings are dropped.
func (r *Report) identifyReplicas(opt Options) {
	r.Findings = slices.DeleteFunc(r.Findings, func(f *Finding) bool {
		expert := f.call.Expert()
		if MeaningOf(f.Kind).Class != ParameterClass || len(f.Alt) == 0 && expert < 0 {
			return false
		}
		worst, most, second := -1, 0.0, 0.0
		for _, rank := range f.Members {
			rms, known := opt.Distance(f.call.Step.RoundOf(rank), f.call.Name)
			switch {
			case !known:
				return false
			case worst < 0 || rms > most:
				worst, most, second = rank, rms, most
			default:
				second = max(second, rms)
			}
		}
		if most <= minErrorRatio*second || most == 0 {
			return expert >= 0
		}
		if len(f.Alt) > 0 {
			f.Rank, f.Alt, f.Confidence = worst, nil, medium
		}
		return false
	})
}

// hasWrongWeight reports whether the weights of an operator are wrong in its step or before, which explains a wrong
// output.
func (r *Report) hasWrongWeight(s *trace.Step, rank int, op string) bool {
	return slices.ContainsFunc(r.Findings, func(f *Finding) bool {
		return MeaningOf(f.Kind).Class == ParameterClass && f.Rank == rank && f.call.Step.Program() == s.Program() && f.call.Step.Index <= s.Index && f.call.Name == op
	})
}

// HasChecks reports whether anything was checked.
func (r *Report) HasChecks() bool { return r.Events.Checked+r.Replicas.Sets > 0 }

// NewReport returns the empty report of a run.
func (r *Run) NewReport() *Report {
	out := &Report{Mesh: []Axis{}, Groups: []Group{}, World: len(r.Ranks), Steps: len(r.Steps), Findings: []*Finding{}, Notes: []*Note{}}
	out.Events.Reasons = []Reason{}
	return out
}

// Judge judges a run of several ranks.
func (r *Run) Judge(ctx context.Context, opt Options) (*Report, error) {
	out := r.NewReport()
	out.Mesh = slices.Clone(opt.Groups.Mesh)
	for i := range out.Mesh {
		out.Mesh[i].Count = worldSize(out.Mesh) / out.Mesh[i].Size
	}
	groups := r.NamedGroups()
	out.Groups = groups.withSource(FromDump)
	f := newReader(opt.Version)
	defer f.Close()
	for _, err := range f.DescribeAll(r.Steps) {
		out.addFailure(err)
	}
	inferred := !opt.NoComm && (len(groups) == 0 || r.inferred)
	if inferred {
		r.inferSteps(f, r.Steps, opt.Groups.Mesh)
		groups = r.NamedGroups()
		out.Groups = groups.withSource(FromValues)
		if opt.Groups.Mesh != nil {
			out.Groups = groups.withSource(FromMesh)
		}
	}
	if out.Mesh == nil {
		out.Mesh = groups.Axes()
	}
	for _, s := range r.Steps {
		d := &trace.Digests{Files: f.Files}
		s.PutInOrder(d)
		if !opt.NoReplicas {
			s.FindParameters(d)
		}
	}
	var events []*Event
	byStep := make(map[*trace.Step][]*Event)
	for _, s := range r.Steps {
		byStep[s] = r.events(s, &opt.Groups)
		events = append(events, byStep[s]...)
	}
	linkPrevious(events)
	if !opt.NoComm {
		if err := out.judgeEvents(ctx, events, opt); err != nil {
			return nil, err
		}
		for _, s := range r.Steps {
			out.Findings = append(out.Findings, callsDiffer(byStep[s], inferred)...)
		}
	}
	if !opt.NoReplicas {
		if err := r.judgeReplicas(ctx, out, opt, events); err != nil {
			return nil, err
		}
	}
	if opt.Distance != nil {
		out.identifyReplicas(opt)
	}
	out.addExternal(opt.Others)
	out.conclude(r, byStep, lamportClocks(r.Steps, events))
	return out, ctx.Err()
}

// judgeEvents judges all communications.
func (r *Report) judgeEvents(ctx context.Context, events []*Event, opt Options) error {
	judged := make([]judgement, len(events))
	readers := sync.Pool{New: func() any { return newReader(opt.Version) }}
	err := batch.Run(ctx, batch.Options{Workers: opt.Workers, Budget: trace.MemoryBudget}, events,
		func(e *Event) int64 { return trace.WindowMemory },
		func(_ context.Context, e *Event) (j judgement) {
			f := readers.Get().(*reader)
			defer readers.Put(f)
			defer f.Close()
			if err := guard.Do(func() error { j = f.judge(e); return nil }); err != nil {
				return failedJudgement(err)
			}
			return j
		},
		func(i int, j judgement) { judged[i] = j })
	if err != nil {
		return err
	}
	skipWrongGroups(events, judged)
	noteLowPrecision(events, judged)
	for i := range judged {
		j := &judged[i]
		r.Notes = append(r.Notes, j.notes...)
		r.addFailure(j.err)
		if !j.skip.IsZero() {
			events[i].skip = j.skip
			r.Events.countSkipped(j)
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

// minAlike is the least number of wrong events with the same shapes that prove an assumed group wrong.
const minAlike = 3

// skipWrongGroups skips events with a wrong assumed group: most such events of a function are wrong, or most events
// with the same shapes if the dump has tensors only.
func skipWrongGroups(events []*Event, judged []judgement) {
	type count struct{ wrong, all int }
	counts := make(map[string]count)
	keys := func(e *Event) (function, shapes string) {
		function = e.api().Names[0]
		return function, function + shapesText(e.comms[e.firstPresent()])
	}
	for i, e := range events {
		if e.isAssumed && judged[i].skip.IsZero() {
			function, shapes := keys(e)
			for _, key := range []string{function, shapes} {
				n := counts[key]
				counts[key] = count{n.wrong + min(len(judged[i].found), 1), n.all + 1}
			}
		}
	}
	for i, e := range events {
		if !e.isAssumed || len(judged[i].found) == 0 {
			continue
		}
		function, shapes := keys(e)
		alike := counts[shapes]
		if 2*counts[function].wrong >= counts[function].all || e.comms[e.firstPresent()].ArgsMissing && alike.wrong >= minAlike && 2*alike.wrong >= alike.all {
			judged[i] = judgement{skip: lang.Say("the group is unknown")}
		}
	}
}

const (
	// A function reduces in lower precision than its type if the share of its reductions (0 to 1) that are wrong on
	// all members is at least lowShare, and their number at least lowCount. The median of the relative errors must be
	// at most lowLargest, and each error at most lowFactors times the median. Not all reductions are wrong: few numbers
	// may be exact in few bits too.
	lowShare, lowCount     = 0.25, 4
	lowLargest, lowFactors = 0.1, 4
)

// noteLowPrecision turns findings into notes for functions whose reductions are wrong on all members by similar errors:
// these are quantised or compressed. Reductions with larger errors than the others stay wrong.
func noteLowPrecision(events []*Event, judged []judgement) {
	type key struct {
		API   string
		dtype tensor.DType
	}
	places := make(map[*Event]int)
	for i, e := range events {
		places[e] = i
	}
	for _, same := range trace.GroupBy(slices.Values(events), func(e *Event) (key, bool) {
		if j := &judged[places[e]]; !j.isFloatReduction || !j.skip.IsZero() {
			return key{}, false
		}
		d, _ := trace.DTypeOf(e.comms[0].In)
		return key{e.api().Names[0], d}, true
	}) {
		var errs []float64
		for _, e := range same {
			if err := judged[places[e]].uniformError; err > 0 {
				errs = append(errs, err)
			}
		}
		slices.Sort(errs)
		if len(errs) < lowCount || float64(len(errs)) < lowShare*float64(len(same)) {
			continue
		}
		usual := errs[len(errs)/2]
		for _, e := range same {
			if j := &judged[places[e]]; j.uniformError > 0 && usual <= lowLargest && j.uniformError <= lowFactors*usual {
				j.found, j.notes = nil, append(j.notes, e.newNote(LowPrecisionComm))
			}
		}
	}
}

// judgeReplicas compares replicas of weights and of results.
func (r *Run) judgeReplicas(ctx context.Context, out *Report, opt Options, events []*Event) error {
	f := &trace.Files{Version: opt.Version}
	defer f.Close()
	d := &trace.Digests{Files: f}
	rep := &replicas{Digests: d, run: r}
	for _, n := range out.Notes {
		if n.Kind == RoundingPerRank {
			rep.rounded = append(rep.rounded, rounding{n.step, n.Ranks})
		}
	}
	for _, e := range events {
		if !e.skip.IsZero() && e.api().Pattern.Sums() {
			rep.rounded = append(rep.rounded, rounding{e.Step.Index, e.Group})
		}
	}
	rep.collectTensors()
	if err := d.ReadAll(ctx, opt.Workers, rep.tensors()); err != nil {
		return err
	}
	rep.countEqualRanks()
	rep.compare()
	two := &differingCalls{Digests: d, run: r}
	if err := two.compare(ctx, opt.Workers); err != nil {
		return err
	}
	two.staleInputs()
	out.Replicas = rep.count
	out.Replicas.Sets += two.sets
	out.Replicas.Wrong += len(two.found)
	out.Findings = append(append(out.Findings, rep.found...), two.found...)
	out.Notes = append(append(out.Notes, rep.notes...), two.notes...)
	for _, err := range d.Errs {
		out.addFailure(err)
	}
	for _, nan := range r.findNaNMakers(d) {
		if !slices.ContainsFunc(out.Findings, func(f *Finding) bool { return f.call == nan.call }) {
			out.Findings = append(out.Findings, nan)
		}
	}
	if opt.StrictReplicas {
		out.addRoundingFindings(r)
	}
	return nil
}

// addRoundingFindings makes findings of sums that ranks hold in different roundings.
func (r *Report) addRoundingFindings(run *Run) {
	for _, n := range r.Notes {
		if n.Kind != RoundingPerRank {
			continue
		}
		calls := run.Steps[n.step].Calls[n.Ranks[0]]
		if i := slices.IndexFunc(calls, func(c *trace.Call) bool { return c.Name == n.Op }); i >= 0 {
			f := newFinding(calls[i], n.Kind, medium, lang.Say("%s", MeaningOf(n.Kind).Short))
			f.Alt, f.Members = slices.Clone(n.Ranks[1:]), n.Ranks
			r.Findings = append(r.Findings, f)
		}
	}
}

// conclude sorts findings by cause and folds equal notes.
func (r *Report) conclude(run *Run, events map[*trace.Step][]*Event, clocks map[*trace.Call]int) {
	for _, f := range r.Findings {
		f.Class = MeaningOf(f.Kind).Class
		f.Step, f.Op, f.Module, f.Script = f.call.Step.At.Step, f.call.Name, f.call.Module, f.call.Script
		f.Chinese = f.Evidence.Text().Chinese()
		if f.Alt == nil {
			f.Alt = []int{}
		}
	}
	sortByCause(r.Findings, clocks)
	reached, all := make(map[*Finding]map[int]int), r.Findings
	r.Findings = []*Finding{}
	spread := func(f *Finding) map[int]int {
		if f.Spread == nil && len(r.Findings) < maxSpread {
			f.Spread, reached[f] = run.damagedCalls(f, events)
		}
		return reached[f]
	}
	for i, f := range all {
		damages := func(g *Finding) bool { return g.mayDamage(f, spread(g)) }
		late := func(g *Finding) bool { // g may be the cause of f: the position of f in the order is a guess
			return f.call.Unplaced && g.Own && g.Weight() != "weak" && g.call.Step == f.call.Step && !f.call.IsSooner(g.call) &&
				(damages(g) || slices.ContainsFunc(events[f.call.Step], func(e *Event) bool { return e.mayHaveCarried(f.call, g.Rank) }))
		}
		if f.Class == ComputeClass && !f.Own && (slices.ContainsFunc(r.Findings, damages) || slices.ContainsFunc(all[i+1:], late)) {
			continue // damaged by the other finding
		}
		spread(f)
		r.Findings = append(r.Findings, f)
	}
	r.Matrix = run.matrix(r.Findings, reached)
	r.Notes = foldNotes(r.Notes)
}

// mayDamage reports whether a finding may have damaged the operator of finding g. inStep has the first damaged call of
// each rank in the step of the finding.
func (f *Finding) mayDamage(g *Finding, inStep map[int]int) bool {
	switch {
	case f.Spread == nil || f.Weight() == "weak" || !f.call.Step.IsOrdered() || f.call == g.call:
		return false
	case f.call.Step.Program() != g.call.Step.Program():
		return false
	case f.call.Step != g.call.Step:
		return slices.Contains(f.Spread.Ranks, g.Rank)
	}
	from, ok := inStep[g.Rank]
	return ok && (g.call.Unplaced || g.call.Place >= from)
}

// maxSpread limits the findings with a Spread.
const maxSpread = 20

// foldNotes joins notes of the same kind and ranks.
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
