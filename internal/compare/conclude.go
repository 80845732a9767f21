package compare

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"path/filepath"
	"slices"

	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/record"
	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Conclude makes the report of the rows that were finished: where what is bad
// began and why, what was not compared, and what the baseline says. It is a
// function of the plan and the parts, which are in the order of the plan, and
// reads no tensor. Rows that are missing make an interrupted run, which is not
// diagnosed, unless a failure ended it. The report takes the rows of the plan over,
// so a plan is concluded once.
func (p *Plan) Conclude(parts []Part) *record.Report {
	rep := &record.Report{
		Tool: p.opt.Tool, Args: p.opt.Args,
		Profile: string(p.opt.Judge.Limits.Profile), NaNPolicy: string(p.opt.Judge.Verdict.NaN), TolMode: TolModes()[p.opt.Judge.Mode],
		Verdict: string(p.opt.Judge.Verdict.Mode), VerdictWhy: p.opt.Judge.Verdict.Why,
		Standard:    string(p.opt.Standard.Name),
		OrderSource: p.OrderSource, Coverage: p.Coverage, Warnings: slices.Clone(p.Warnings),
		Findings: record.NoFindings(), Rows: p.rows[:len(parts)], FailedFast: p.failedFast,
		Interrupted: len(parts) < len(p.Pairs) && !p.failedFast,
	}
	for i := range parts {
		rep.Rows[i] = *parts[i].Row
		parts[i].Row = &rep.Rows[i]
	}
	if len(parts) == len(p.Pairs) {
		rep.Calls = p.calls
	}
	begin(rep.Rows)
	p.cover(rep)
	p.checkTranspose(rep)
	for _, round := range p.rounds {
		rep.Rounds = append(rep.Rounds, round.Round)
	}
	if rep.Interrupted {
		p.countRounds(rep)
	} else {
		p.explain(rep)
	}
	rep.Count()
	rep.Effective = effective(rep)
	rep.Warnings = append(rep.Warnings, p.opt.Warnings...)
	return rep
}

// effective is the type that all arrays of float32 of the NPU hold that say it, empty
// where they differ or hold float32.
func effective(rep *record.Report) string {
	held, any := "", false
	for _, row := range rep.All() {
		n := row.Noise
		if n == nil || n.Grid == nil || n.MayHold(tensor.Float16) || n.MayHold(tensor.BFloat16) {
			continue
		}
		if any && row.Type != held {
			return ""
		}
		held, any = row.Type, true
	}
	return held
}

// begin sets the verdicts on rows to what their pairs alone say.
func begin(rows []record.Row) {
	for i := range rows {
		rows[i].Verdict = record.Verdict{Status: rows[i].Pair.Status, Reasons: slices.Clone(rows[i].Pair.Reasons)}
	}
}

// explain says where what is bad began and why, and what the baseline says of it.
func (p *Plan) explain(rep *record.Report) {
	for _, row := range rep.All() {
		if !row.Undiagnosed.IsZero() {
			rep.Warnings = append(rep.Warnings, row.Undiagnosed)
		}
	}
	if p.opt.Standard.Name == "" {
		p.diagnose(rep)
	} else { // the rows are operators of their own
		p.countRounds(rep)
	}
	if b := p.opt.Baseline; b != nil {
		rep.Baseline = b.apply(rep, p.selection, p.opt.Slack)
		rep.Baseline.File = filepath.ToSlash(p.opt.BaselineFile)
		if rep.FailedFast {
			rep.Baseline.Missing = nil // not known: the rest was not reached
		}
	}
}

// cover fills in what was compared and what was not. A tensor of the reference
// counts once, in however many rounds it was compared.
func (p *Plan) cover(rep *record.Report) {
	c := &rep.Coverage
	var compared [][sha256.Size]byte // sums, since there may be many
	for _, row := range rep.All() {
		switch row.Status {
		case record.UnmatchedRef:
			c.RefOnly = append(c.RefOnly, row.Name())
		case record.UnmatchedNPU:
			c.NPUOnly = append(c.NPUOnly, row.Name())
		case record.Error:
			c.Unread = append(c.Unread, row.Name())
		case record.Skip:
			if record.Has(row.Reasons, record.NotStandard) { // the others are known
				c.Skipped = append(c.Skipped, row.Name())
			}
		}
		if row.RefFile != "" && row.Judged() {
			compared = append(compared, sha256.Sum256([]byte(row.RefFile)))
		}
	}
	slices.SortFunc(compared, func(a, b [sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) })
	c.Compared = len(slices.Compact(compared))
}

// checkTranspose warns of operators of --transpose that no row has.
func (p *Plan) checkTranspose(rep *record.Report) {
	if rep.Interrupted || rep.FailedFast {
		return
	}
	found := map[string]bool{}
	if len(p.opt.Shape.Transpose) > 0 {
		for _, row := range rep.All() {
			found[row.Op] = true
		}
	}
	for _, op := range slices.Sorted(maps.Keys(p.opt.Shape.Transpose)) {
		if !found[op] {
			rep.Warnings = append(rep.Warnings, lang.Sayf("--transpose: no operator of the reference is called %s", "--transpose：标杆中没有名为 %s 的算子", op))
		}
	}
}

// diagnose looks for the cause of what is bad, and for where it began, in each round:
// by the evidence of the errors that operators add, or of the rows that fail by
// limits, where the evidence stands beside. The findings of the report are those of
// the round that went wrong first: that of the earliest step, then of the lowest rank.
func (p *Plan) diagnose(rep *record.Report) {
	rep.GraphSource = inAll(p.rounds, func(r *plannedRound) lang.Sentence { return r.GraphSource })
	origins, ranges := make([][]int, len(rep.Rounds)), roundRanges(rep)
	for i := range rep.Rounds {
		first := ranges[i].first
		rep.Rounds[i].Findings, origins[i] = p.diagnoseRound(rep, p.rounds[i], rep.Rows[first:ranges[i].end])
		rep.Rounds[i].Findings.Shift(first)
		for k := range origins[i] {
			origins[i][k] += first
		}
		for k := first; k < ranges[i].end; k++ {
			rep.Rows[k].Verdict.Shift(first)
		}
	}
	p.countRounds(rep)
	if i := rep.HeadlineRound(); i >= 0 {
		rep.Findings, rep.Origins = rep.Rounds[i].Findings, origins[i]
	}
}

// diagnoseRound diagnoses the rows of a round.
func (p *Plan) diagnoseRound(rep *record.Report, round *plannedRound, rows []record.Row) (record.Findings, []int) {
	mode := p.opt.Judge.Verdict.Mode
	known := diagnose.Network{Graph: round.network(rows), Within: within(rows), Ordered: round.OrderKnown, AnyClass: !p.opt.Judge.Verdict.classes()}
	if mode == ByStatistics {
		judgeNorms(rows)
	}
	var findings record.Findings
	if mode != ByEvidence {
		c := diagnose.Conclude(rows, known)
		findings = c.Findings
		for k := range rows {
			explainRow(&rows[k], c.Reasons(k))
		}
		if mode == ByStatistics {
			for k := range rows {
				rows[k].Inputs = c.Inputs(k)
			}
			return findings, nil
		}
	}
	j := diagnose.Judge(rows, known)
	if j.Unfit {
		rep.Warnings = append(rep.Warnings, lang.Sayf("by the graph (%s) too many operators would be origins: it does not fit the data and is not used for the verdict",
			"按该图(%s)会有过多算子成为起源：图与数据不符，不用于判定", round.GraphSource))
	}
	if mode == ByEvidence {
		findings = j.Apply()
	}
	j.Write()
	for k := range rows {
		for i := range rows[k].Reasons {
			if reason := &rows[k].Reasons[i]; len(reason.Facts) == 0 {
				reason.Facts = diagnose.ResultFacts(reason.Code, rows[k].Result)
			}
		}
	}
	return findings, j.Origins()
}

// explainRow gives a row the reasons that the diagnosis found.
func explainRow(row *record.Row, reasons []record.Finding) {
	if row.Status == record.Fail || row.Status == record.ShapeMismatch {
		row.Reasons = record.Merge(reasons, row.Reasons)
	}
	if row.Status == record.Fail && len(row.Reasons) == 0 {
		row.Reasons = []record.Finding{{Code: record.Unknown, Confidence: record.Low, Evidence: lang.Sayf("no rule explains the errors", "没有规则可解释这些错误")}}
	}
}

// rowRange are the rows from first up to end.
type rowRange struct{ first, end int }

// roundRanges are the rows of each round, which stand together; empty for a round
// without rows.
func roundRanges(rep *record.Report) []rowRange {
	byName := map[string]rowRange{}
	for first, end := 0, 0; first < rep.Len(); first = end {
		name := rep.Rows[first].Round
		for end = first; end < rep.Len() && rep.Rows[end].Round == name; end++ {
		}
		byName[name] = rowRange{first, end}
	}
	all := make([]rowRange, len(rep.Rounds))
	for i := range all {
		all[i] = byName[rep.Rounds[i].Name]
	}
	return all
}

// countRounds counts the rows of the rounds by status.
func (p *Plan) countRounds(rep *record.Report) {
	for i, rows := range roundRanges(rep) {
		counts := map[record.Status]int{}
		for k := rows.first; k < rows.end; k++ {
			counts[rep.Rows[k].Status]++
		}
		rep.Rounds[i].Counts = counts
	}
}

// network is what the operators of the rows read, nil where nobody knows.
func (r *plannedRound) network(rows []record.Row) record.Flow {
	g := r.graph
	if g == nil {
		return nil
	}
	// Producers have the names of the graph; rows have those of the reference.
	names, aliases := map[string]string{}, map[string]string{}
	var queue []string
	for i := range rows {
		row := &rows[i]
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
