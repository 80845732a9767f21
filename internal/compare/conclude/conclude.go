package conclude

import (
	"context"
	"slices"
	"strconv"

	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/execute"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/compare/statistics"
	"dumptool/internal/filename"
	"dumptool/internal/finding"
	"dumptool/internal/graph"
	"dumptool/internal/lang"
)

// Report returns the report of the finished rows, which are in the order of the plan: it judges each round and sums
// up, without reading tensors. If rows are missing, the run counts as interrupted and is not judged, unless a failure
// ended it. The report reuses the rows of the plan, so a plan can be concluded only once.
func Report(p *plan.Plan, opt *Options, parts []execute.Part) *record.Report {
	rep := &record.Report{
		Origin: opt.Origin, Args: opt.Args,
		Profile: string(opt.Judge.Limits.Profile), NaNPolicy: string(opt.Judge.Verdict.NaN), TolMode: limits.TolModes()[opt.Judge.Mode],
		Verdict: string(opt.Judge.Verdict.Mode), VerdictWhy: opt.Judge.Verdict.ModeReason,
		Standard: string(opt.Standard.Name), Listed: p.Listed,
		Rows: p.Rows[:len(parts)],
	}
	rep.FailedFast = len(parts) > 0 && opt.FailsFast(parts[len(parts)-1].Row)
	rep.Listing, rep.Interrupted = p.Listing(), len(parts) < len(p.Pairs) && !rep.FailedFast
	rep.Coverage.Unused = p.Unused
	rep.Rounds = p.Records()
	if len(parts) < len(p.Pairs) {
		addUnreached(p, rep, parts) // before rows are moved
	}
	for i := range parts {
		rep.Rows[i] = *parts[i].Row
		parts[i].Row = &rep.Rows[i]
	}
	if len(parts) == len(p.Pairs) {
		rep.Calls = p.Calls
	}
	ranges := roundRanges(rep)
	for i, round := range p.Rounds {
		rep.Rounds[i].Pairing.Flow = round.AddRankFlow(producersByOperator(round.Graph, rep.Rows[ranges[i].first:ranges[i].end]), p.Rounds)
	}
	opt.judgeRounds(rep)
	opt.setTotals(rep, newSumsOf(rep))
	if rep.Shard == nil && !rep.IsUnfinished() {
		rep.Argv = nil
	}
	return rep
}

// LeaveOutMasked measures origins again without the positions that masks exclude (execute.ReadMasked), and repeats the
// judgement if any row changed.
func LeaveOutMasked(ctx context.Context, p *plan.Plan, opt *Options, rep *record.Report, parts []execute.Part) {
	if rep.Interrupted || opt.Standard.Name != "" || opt.Judge.Verdict.Mode != limits.ByEvidence {
		return
	}
	if execute.ReadMasked(ctx, p, &opt.Options, rep, parts) {
		opt.judgeRounds(rep)
		opt.setTotals(rep, newSumsOf(rep))
	}
}

// addUnreached adds the reference tensors that an interrupted run did not reach to the
// candidates.
func addUnreached(p *plan.Plan, rep *record.Report, parts []execute.Part) {
	reached := map[int]bool{}
	for i := range parts {
		reached[parts[i].Pair] = true
	}
	for i := range p.Pairs {
		x := &p.Pairs[i]
		if reached[i] || x.Row.RefFile == "" || x.Row.Pair.Status == record.Skip {
			continue
		}
		if k := slices.Index(p.Rounds, x.Round); k >= 0 {
			rep.Rounds[k].Pairing.Candidates = append(rep.Rounds[k].Pairing.Candidates, x.Row.RefFile)
		}
	}
}

// judgeRounds sets the verdicts of the rows of each round: origins of errors and reasons. Row
// indexes are indexes in the report afterwards. The verdict of a round is a function of its
// rows and their data flow. An interrupted run is not judged; a standard judges each operator
// alone.
func (o *Options) judgeRounds(rep *record.Report) {
	resetVerdicts(rep.Rows)
	if rep.Interrupted || o.Standard.Name != "" {
		return
	}
	inputs := newCommInputs(rep)
	o.judgeEachRound(rep, inputs)
	// An error of one rank reaches the ranks that communicate with it: these are judged again with this error.
	if inputs.findDamaged(rep.Rows) {
		resetVerdicts(rep.Rows)
		o.judgeEachRound(rep, inputs)
	}
}

// judgeEachRound judges the rounds in their order.
func (o *Options) judgeEachRound(rep *record.Report, inputs *commInputs) {
	ranges := roundRanges(rep)
	known := knownRows{newHistory(rep, inputs), inputs}
	for i := 0; i < len(ranges); {
		end := i + 1
		for rep.Rounds[i].Pairing.Across && end < len(ranges) && rep.Rounds[end].Pairing.Across && isSameStep(&rep.Rounds[i], &rep.Rounds[end]) {
			end++
		}
		if rep.Rounds[i].Pairing.Across {
			o.judgeRanksTogether(rep, i, end, ranges, known)
		} else {
			round, at := &rep.Rounds[i], ranges[i]
			o.judgeRound(round, rep.Rows[at.first:at.end], nil, known)
			shiftRows(round, rep.Rows[at.first:at.end], at.first)
		}
		i = end
	}
}

// knownRows are the rows of other rounds that a round depends on: earlier steps, and other ranks of the step.
type knownRows struct {
	history *history
	inputs  *commInputs
}

// shiftRows converts row indexes of a round to indexes in the report.
func shiftRows(round *record.Round, rows []record.Row, first int) {
	round.Shift(first)
	for k := range rows {
		rows[k].Verdict.Shift(first)
	}
}

// judgeRound judges the rows of a round by evidence, or by limits with the evidence added.
// across is the network of several rounds, nil for a single round. The rows are added to the history.
func (o *Options) judgeRound(round *record.Round, rows []record.Row, across *diagnose.Network, other knownRows) {
	defer other.history.add(rows)
	mode := o.Judge.Verdict.Mode
	network := diagnose.Network{IsLaterStep: isLaterStep(round.Step), Past: other.history.factsOf(rows), Peers: other.inputs.peers(rows), IsPartial: o.Pair.Ops != nil || o.Pair.Exclude != nil, Graph: round.Pairing.Flow, InnerOperators: plan.OperatorsByModule(rows), IsOrdered: round.OrderKnown, IgnoresClass: !o.Judge.Verdict.FailsOnClass(), HF32: o.Judge.Verdict.HF32, Flow: o.Judge.Verdict.Flow}
	if across != nil {
		network.Graph, network.InnerOperators, network.HasSeveralRounds = across.Graph, across.InnerOperators, true
	}
	known := statistics.Known{Partial: network.IsPartial, LaterStep: network.IsLaterStep, Past: network.Past, Peers: network.Peers}
	hasStatistics := slices.ContainsFunc(rows, func(row record.Row) bool { return row.Statistics != nil && row.IsJudged() })
	hasElements := slices.ContainsFunc(rows, func(row record.Row) bool { return row.IsCompared() })
	if mode == limits.ByStatistics || mode == limits.ByEvidence && hasStatistics && !hasElements {
		for k := range rows {
			rows[k].Inputs = nil // set by an earlier verdict
		}
		round.Findings, round.NoVerdict = statistics.Judge(rows, known)
		round.Origins = slices.Clone(round.Findings.Origins) // both are shifted
		return
	}
	if mode != limits.ByEvidence {
		c := diagnose.Conclude(rows, network)
		round.Findings = c.Findings
		for k := range rows {
			explainRow(&rows[k], c.Reasons(k))
		}
	}
	if hasStatistics && !hasElements {
		return // limits are the only evidence
	}
	hasStatistics = hasStatistics && mode == limits.ByEvidence
	for k := range rows {
		if row := &rows[k]; hasStatistics && row.Statistics != nil && row.IsJudged() {
			row.Verdict = record.Verdict{Status: record.Pass} // statistics.Judge replaces it
		}
	}
	j := diagnose.Judge(rows, network)
	if round.Unfit = j.Unfit; mode == limits.ByEvidence {
		round.Findings = j.Apply()
	} else {
		j.MoveFirstBad(&round.Findings)
	}
	j.Write()
	if n, of := j.CountByContent(); round.GraphSource.IsZero() && n > 0 {
		round.GraphSource = lang.Say("equal tensors, %d of %d operators known", n, of)
	}
	round.Origins = j.Origins()
	if hasStatistics {
		known.Unbounded = j.Unbounded()
		round.AddFindings(statistics.Judge(rows, known))
	}
	for k := range rows {
		for i := range rows[k].Reasons {
			if reason := &rows[k].Reasons[i]; len(reason.Facts) == 0 {
				reason.Facts = diagnose.ResultFacts(reason.Code, rows[k].Result)
			}
		}
	}
}

// isLaterStep reports whether a step is not the first one.
func isLaterStep(step string) bool {
	n, err := strconv.Atoi(step)
	return err == nil && n > 0
}

// resetVerdicts resets the verdicts of rows to the verdicts of their pairs, keeping Self.
func resetVerdicts(rows []record.Row) {
	for i := range rows {
		rows[i].Verdict = record.Verdict{Status: rows[i].Pair.Status, Reasons: slices.Clone(rows[i].Pair.Reasons), Self: rows[i].Self}
		if c := rows[i].Common; c != nil && c.Matched == 0 {
			rows[i].Common = &record.CommonPart{Axis: c.Axis, Ref: c.Ref, NPU: c.NPU, Trailing: c.Trailing}
			rows[i].Status = record.ShapeMismatch
		}
	}
}

// explainRow adds the reasons of the diagnosis to a failing row.
func explainRow(row *record.Row, reasons []finding.Finding) {
	if row.Status == record.Fail || row.Status == record.ShapeMismatch {
		row.Reasons = finding.Merge(reasons, row.Reasons)
	}
	if row.Status == record.Fail && len(row.Reasons) == 0 {
		row.Reasons = []finding.Finding{{Code: finding.Unknown, Confidence: finding.Low, Evidence: lang.Say("no rule explains the errors")}}
	}
}

// rowRange is a range of rows, end excluded.
type rowRange struct{ first, end int }

// roundRanges returns the range of rows of each round of a report, empty for a round without
// rows.
func roundRanges(rep *record.Report) []rowRange {
	byName := map[string]rowRange{}
	for _, x := range roundRuns(rep.Rows) {
		byName[rep.Rows[x.first].Round] = x
	}
	all := make([]rowRange, len(rep.Rounds))
	for i := range all {
		all[i] = byName[rep.Rounds[i].Name]
	}
	return all
}

// roundRuns returns the runs of consecutive rows with the same round, in order.
func roundRuns(rows []record.Row) (all []rowRange) {
	for first, end := 0, 0; first < len(rows); first = end {
		for end = first; end < len(rows) && rows[end].Round == rows[first].Round; end++ {
		}
		all = append(all, rowRange{first, end})
	}
	return all
}

// producersByOperator returns the producers of each operator in the rows, nil without a graph.
func producersByOperator(g *graph.Graph, rows []record.Row) record.Flow {
	if g == nil {
		return nil
	}
	// The graph names producers; rows have names of the reference.
	names, aliases := map[string]string{}, map[string]string{}
	var queue []string
	for i := range rows {
		row := &rows[i]
		if i > 0 && row.Op == rows[i-1].Op && row.NPUOp == rows[i-1].NPUOp {
			continue
		}
		queue = append(queue, row.Op)
		names[filename.Normalise(row.Op)] = row.Op
		if row.NPUOp != "" {
			names[filename.Normalise(row.NPUOp)], aliases[row.Op] = row.Op, row.NPUOp
		}
	}
	network := record.Flow{}
	for ; len(queue) > 0; queue = queue[1:] {
		op := queue[0]
		if _, done := network[op]; done {
			continue
		}
		search := []string{op}
		if alias := aliases[op]; alias != "" {
			search = append(search, alias)
		}
		node := g.Find(search...)
		if node == nil {
			continue
		}
		network[op] = nil
		for _, producer := range node.Producers() {
			name := producer.Op
			if known, ok := names[filename.Normalise(name)]; ok {
				name = known
			}
			network[op] = append(network[op], record.Source{Op: name, Output: producer.Output})
			queue = append(queue, name)
		}
	}
	return network
}
