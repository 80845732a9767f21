package conclude

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/pair"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/ranks"
	"dumptool/internal/tensor"
	"dumptool/internal/unshard"
)

// JudgeRanks judges the ranks of a run that is sharded differently from the reference: communication, replicas, and
// the findings from the reference, in causal order. Other runs get no such report; the report of a shard gets only
// the maps.
func JudgeRanks(ctx context.Context, p *plan.Plan, o *Options, rep *record.Report) error {
	if p.Sharding == nil || rep.Interrupted || o.Standard.Name != "" {
		return nil
	}
	if o.Shard.IsSharded() {
		return storeMaps(p, rep)
	}
	run := p.Sharding.Run
	summands, err := findWrongSummands(ctx, p, o, rep)
	if err != nil {
		return err
	}
	judged, err := run.Judge(ctx, ranks.Options{Version: o.Version, Workers: o.Workers, Groups: o.Groups, Distance: weightErrors(rep),
		Others: slices.Concat(run.FindMisplaced(p.Sharding.Given), findOrigins(run, rep), summands)})
	if err != nil {
		return err
	}
	judged.Located, judged.Maps = countLocated(rep), unshard.FoldMaps(p.Sharding.Maps)
	for _, failed := range judged.Errs {
		rep.Listed.Warnings = append(rep.Listed.Warnings, lang.Error(failed))
	}
	if rep.Ranks, err = json.Marshal(judged); err != nil {
		return err
	}
	o.setTotals(rep, newSumsOf(rep))
	return nil
}

// findOrigins returns the operators in which an error begins, and the operators whose integers differ: these may be
// routers that sent tokens to other experts than in the reference.
func findOrigins(run *ranks.Run, rep *record.Report) (found []*ranks.Finding) {
	rounds := coordinatesByName(rep)
	for _, row := range rep.AllRows() {
		at, op := rounds[row.Round], row.NPUName()
		if row.Result != nil && row.Result.Differ > 0 && row.NPUDType.Host().Integer() && tensor.Kind(row.Kind) == tensor.Output {
			if f := run.Claim(at, op, ranks.RoutingFlip, finding.High, lang.Sentence{}); f != nil {
				found = append(found, f)
			}
		}
		if !row.IsOrigin() || row.NPUPath == "" || tensor.Kind(row.Kind) == tensor.Input {
			continue
		}
		f := run.Claim(at, op, ranks.Compute, finding.High, lang.Sentence{})
		if f == nil {
			continue
		}
		if f.Own = row.Self.IsWrong(); len(row.Reasons) > 0 {
			f.Evidence = row.Reasons[0].Evidence
		}
		if row.FirstCode() == finding.ReferenceDiffers {
			f.Consistent, f.Confidence = true, finding.Medium
		}
		found = append(found, f)
	}
	return found
}

// countLocated counts the tensors that were located in the reference.
func countLocated(rep *record.Report) *ranks.LocatedCount {
	n := &ranks.LocatedCount{}
	for _, row := range rep.AllRows() {
		if row.Rule == string(pair.RuleValues) {
			n.Of++
			if row.Pair.Status != record.Skip || !finding.Has(row.Pair.Reasons, finding.NotLocated) {
				n.Tensors++
			}
		}
	}
	return n
}

// storeMaps stores the maps of tensors to parts of the reference in the report of a shard.
func storeMaps(p *plan.Plan, rep *record.Report) (err error) {
	unjudged := p.Sharding.Run.NewReport()
	unjudged.Located, unjudged.Maps = countLocated(rep), unshard.FoldMaps(p.Sharding.Maps)
	rep.Ranks, err = json.Marshal(unjudged)
	return err
}

// findWrongSummands returns the operators that computed a wrong summand: where an error begins in a sum over ranks,
// or the sum uses all of its expected error, the operators of all ranks whose results are summed are recomputed from
// their own inputs. A sum is smaller than its summands, so its expected error hides large errors.
func findWrongSummands(ctx context.Context, p *plan.Plan, o *Options, rep *record.Report) (all []*ranks.Finding, err error) {
	sharded := p.ShardedSteps()
	var names []string
	for _, row := range rep.AllRows() {
		s := sharded[row.Round]
		e := row.Evidence
		isDoubtful := e != nil && (row.IsOrigin() || row.Pair.Status == record.Fail && e.Judged && e.Score > fullScore)
		if !isDoubtful || s == nil {
			continue
		}
		rank, _ := strconv.Atoi(row.RoundCoordinates.Rank)
		for _, from := range s.Reads[plan.CallOfRank{Rank: rank, Name: row.NPUName()}] {
			if !slices.Contains(names, from.Name) && len(names) < maxSuspects {
				names = append(names, from.Name)
			}
		}
	}
	if len(names) == 0 || o.Check != CheckAll && o.Check != CheckSuspects {
		return nil, nil
	}
	found, _, err := o.recomputeOperators(ctx, p, true, names, nil)
	if err != nil {
		return nil, err
	}
	rounds := coordinatesByName(rep)
	for _, row := range rep.AllRows() {
		if self := found[row.NPUOutput()]; row.FirstCode() == finding.PartialSum && self.IsWrong() {
			if f := p.Sharding.Run.Claim(rounds[row.Round], row.NPUName(), ranks.Compute, finding.High, self.Why[0].Evidence); f != nil {
				all = append(all, f)
			}
		}
	}
	return all, nil
}

// weightErrors returns a function that returns the root mean square error of the weights of an operator.
func weightErrors(rep *record.Report) func(dumpdir.Coordinates, string) (float64, bool) {
	type operator struct {
		at   dumpdir.Coordinates
		name string
	}
	parameters, inputs := make(map[operator]float64), make(map[operator]float64)
	rounds := coordinatesByName(rep)
	for _, row := range rep.AllRows() {
		if row.Noise == nil {
			continue
		}
		key := operator{rounds[row.Round], row.NPUName()}
		switch kind := tensor.Kind(row.Kind); {
		case kind == tensor.Parameter:
			parameters[key] = max(parameters[key], row.Noise.RMS)
		case kind == tensor.Input && row.Output > 0: // CANN dumps weights as inputs
			inputs[key] = max(inputs[key], row.Noise.RMS)
		}
	}
	return func(at dumpdir.Coordinates, op string) (float64, bool) {
		key := operator{at, op}
		if rms, ok := parameters[key]; ok {
			return rms, true
		}
		rms, ok := inputs[key]
		return rms, ok
	}
}

// countRankFindings counts the findings between ranks.
func countRankFindings(rep *record.Report) int {
	if rep.Ranks == nil {
		return 0
	}
	r, err := ranks.Read(rep.Ranks)
	if err != nil {
		return 0
	}
	return r.CountFindings()
}

// isSameStep reports whether two rounds are ranks of the same step.
func isSameStep(a, b *record.Round) bool {
	x, y := a.RoundCoordinates, b.RoundCoordinates
	x.Rank, y.Rank = "", ""
	return x == y && a.Pairing.Folder == b.Pairing.Folder
}

// coordinatesByName returns the coordinates of all rounds on the NPU by their names.
func coordinatesByName(rep *record.Report) map[string]dumpdir.Coordinates {
	all := make(map[string]dumpdir.Coordinates, len(rep.Rounds))
	for i := range rep.Rounds {
		r := &rep.Rounds[i]
		at := coordinates(r.RoundCoordinates)
		at.Folder = r.Pairing.Folder
		all[r.Name] = at
	}
	return all
}

// judgeRanksTogether judges the rounds from index from to end, all ranks of a step, together: the data flow from an
// error to the tensors that it damages crosses ranks.
func (o *Options) judgeRanksTogether(rep *record.Report, from, end int, ranges []rowRange, other knownRows) {
	rounds := rep.Rounds[from:end]
	first, last := len(rep.Rows), 0
	merged := record.Round{Findings: record.NoFindings(), OrderKnown: true, RoundCoordinates: record.RoundCoordinates{Step: rounds[0].Step}}
	network := &diagnose.Network{Graph: record.Flow{}, InnerOperators: map[string][]string{}}
	for i := range rounds {
		r, at := &rounds[i], ranges[from+i]
		if at.first < at.end {
			first, last = min(first, at.first), max(last, at.end)
		}
		merged.OrderKnown = merged.OrderKnown && r.OrderKnown
		if merged.GraphSource.IsZero() {
			merged.GraphSource = r.GraphSource
		}
		for op, sources := range r.Pairing.Flow {
			network.Graph[diagnose.OperatorKey(op, r.Name)] = withRoundKeys(sources, r.Name)
		}
		for op, inside := range plan.OperatorsByModule(rep.Rows[at.first:at.end]) {
			for _, name := range inside {
				key := diagnose.OperatorKey(op, r.Name)
				network.InnerOperators[key] = append(network.InnerOperators[key], diagnose.OperatorKey(name, r.Name))
			}
		}
	}
	if first >= last {
		return
	}
	rows := rep.Rows[first:last]
	o.judgeRound(&merged, rows, network, other)
	shiftRows(&merged, rows, first)
	for i := range rounds {
		r, at := &rounds[i], ranges[from+i]
		r.Unfit, r.NoVerdict = merged.Unfit, merged.NoVerdict
		if r.GraphSource.IsZero() {
			r.GraphSource = merged.GraphSource
		}
		r.Findings, r.Origins = selectFindings(&merged, at)
	}
}

// withRoundKeys returns sources with keys, which include the round, as the names of their operators.
func withRoundKeys(sources []record.Source, round string) []record.Source {
	all := make([]record.Source, len(sources))
	for i, s := range sources {
		operatorRound := round
		if s.Round != "" {
			operatorRound = s.Round
		}
		all[i] = record.Source{Op: diagnose.OperatorKey(s.Op, operatorRound), Output: s.Output}
	}
	return all
}

// selectFindings returns the findings of a step in the rows of one of its rounds. Findings in other rounds are dropped.
func selectFindings(all *record.Round, at rowRange) (record.Findings, []int) {
	isInRound := func(row int) bool { return row >= at.first && row < at.end }
	inRound := func(rows []int) []int {
		return slices.DeleteFunc(slices.Clone(rows), func(row int) bool { return !isInRound(row) })
	}
	f := all.Findings
	for _, row := range []*int{&f.FirstBad, &f.FirstDamaged, &f.FirstNaN, &f.FirstOverflow, &f.LargestJump} {
		if !isInRound(*row) {
			*row = -1
		}
	}
	f.Origins, f.Chain, f.Suspects = inRound(f.Origins), inRound(f.Chain), inRound(f.Suspects)
	if f.FirstBad < 0 {
		f.LastGood, f.Suspects = -1, nil
	}
	return f, inRound(all.Origins)
}
